# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The rows of the table: the probes of escape-probe by name, with what they stand for."""

import ctypes
import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from common.skips import has_pidfd_getfd

KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_GET_KEYRING_ID = 0
KEY_SPEC_SESSION_KEYRING = -3


def _there(pattern, why):
    """None where the machine has one of @pattern, else why the probe cannot be tried here."""
    return lambda: None if any(Path("/").glob(pattern)) else why


def _family(family, kind):
    def lacks():
        try:
            socket.socket(family, kind).close()
        except OSError as error:
            if error.errno == errno.EAFNOSUPPORT:
                return f"this kernel has no {family.name}"
        return None
    return lacks


def _keyrings():
    """A container's filter of system calls may refuse them to everybody."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = KEYCTL.get(os.uname().machine)
    if number and libc.syscall(number, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) < 0 and \
            ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
        return "a filter of system calls refuses keyrings here"
    return None


@dataclass(frozen=True)
class Row:
    """@root: outside it takes root to do it, so only root has a control for it. @fact: it has no
    verdict. @lacks: says why this machine cannot have a control, or None."""
    name: str
    what: str
    root: bool = False
    fact: bool = False
    lacks: object = None


GROUPS = {
    "files": [
        Row("home-read", "a file of the home is read"),
        Row("home-write", "a file of the home is made"),
        Row("ssh-key", "a key in `~/.ssh` is read"),
        Row("state-read", "the program's own state is read"),
        Row("state-write", "the program's own state is written"),
        Row("beside-read", "a file beside the folder is read"),
        Row("beside-write", "a file beside the folder is made"),
        Row("dot-dot", "the same by `..` from the folder"),
        Row("tmp-read", "a file in `/tmp` is read"),
        Row("tmp-write", "a file in `/tmp` is made"),
        Row("usr-write", "a program is put into `/usr/local/bin`", root=True),
        Row("machine-id", "the machine's id is read"),
        Row("link-soft", "through a symbolic link in the folder"),
        Row("link-hard", "through a hard link made in the folder"),
        Row("moved-out", "by `..` when the folder it stands in is moved out of what is shared"),
        Row("swapped", "by the folder's name when that becomes a link to the home"),
        Row("by-handle", "by a file's number on the disk (`open_by_handle_at`)", root=True),
        Row("setuid-run", "a setuid program in the folder gives its owner's rights"),
        Row("setuid-left", "a setuid program is left in the folder"),
        Row("device-there", "devices of the machine are opened", root=True),
        Row("device-kmsg", "`/dev/kmsg` is read", root=True),
        Row("device-made", "a device file of the disk is made and read", root=True),
        Row("device-left", "a device file is left in the folder", root=True),
    ],
    "processes": [
        Row("environ", "the environment of a process is read"),
        Row("environ-first", "`/proc/1/environ` is the machine's", root=True),
        Row("environ-own", "a secret variable of who started it is handed on"),
        Row("roots", "`/proc/PID/root` and `cwd` lead to the home"),
        Row("root-first", "`/proc/1/root` leads to the home", root=True),
        Row("memory", "`/proc/PID/mem` is read"),
        Row("memory-call", "the same by `process_vm_readv`"),
        Row("trace", "a process is traced"),
        Row("above", "a process above it, which holds the wall up inside, is traced", root=True),
        Row("descriptor", "a descriptor of a process is taken (`pidfd_getfd`)",
            lacks=lambda: None if has_pidfd_getfd() else "pidfd_getfd is refused here"),
        Row("signal", "a process gets a signal"),
        Row("limits", "limits of a process are changed"),
        Row("join", "a namespace of a process is entered", root=True),
        Row("key-found", "a key in the session's keyring is read", lacks=_keyrings),
        Row("key-made", "keyrings can be used", lacks=_keyrings),
        Row("left-file", "a file that the parent left open is read"),
        Row("left-folder", "a folder that the parent left open leads to the home"),
        Row("left-elsewhere", "so does one of any process in sight"),
        Row("shared-file", "a file in `/dev/shm` is read"),
        Row("shared-segment", "shared memory (System V) is read"),
        Row("shared-queue", "a message queue (POSIX) is read"),
        Row("terminal-type", "letters are typed into the terminal (`TIOCSTI`)",
            lacks=lambda: None if _legacy_tiocsti() else "this kernel has no TIOCSTI for anybody"),
        Row("terminal-console", "the console obeys (`TIOCLINUX`)"),
    ],
    "kernel": [
        Row("core-pattern", "`core_pattern` can be written", root=True),
        Row("proc-sys", "other settings in `/proc/sys` can be written", root=True),
        Row("sysrq", "`/proc/sysrq-trigger` can be written", root=True,
            lacks=_there("proc/sysrq-trigger", "this kernel has no sysrq")),
        Row("kcore", "`/proc/kcore` can be read", root=True,
            lacks=_there("proc/kcore", "this kernel has no /proc/kcore")),
        Row("addresses", "addresses of the kernel can be read", root=True),
        Row("sys-write", "`/sys` can be written", root=True),
        Row("kernel-log", "the kernel's log is read", root=True),
        Row("cgroup-agent", "`release_agent` of a cgroup can be written", root=True,
            lacks=_there("sys/fs/cgroup/*/release_agent", "this machine has no cgroup of version 1")),
        Row("cgroup-move", "another cgroup can be joined", root=True),
        Row("mount", "a file system is mounted", root=True),
        Row("mount-new", "the same by the newer calls", root=True),
        Row("mount-copy", "a tree of mounts is copied", root=True),
        Row("mount-again", "`/` is mounted again", root=True),
        Row("chroot", "the root is changed", root=True),
        Row("user-spaces", "a user namespace is made"),
        Row("other-entrance", "the same by the kernel's 32-bit entrance"),
        Row("io-uring", "`io_uring` can be used"),
        Row("bpf", "`bpf` can be used", root=True),
        Row("perf", "`perf_event_open` can be used", root=True),
        Row("user-faults", "`userfaultfd` can be used"),
        Row("module", "the kernel reads a module", root=True,
            lacks=_there("proc/modules", "this kernel has no modules")),
        Row("host-name", "the machine's name is set", root=True),
        Row("raw-socket", "a raw socket is made", root=True),
        Row("packet-socket", "a packet socket is made", root=True),
        Row("vsock-socket", "a socket to the virtual machine's host is made",
            lacks=_family(socket.AF_VSOCK, socket.SOCK_STREAM)),
        Row("alg-socket", "a socket to the kernel's ciphers is made",
            lacks=_family(socket.AF_ALG, socket.SOCK_SEQPACKET)),
        Row("netlink-write", "an interface is changed", root=True),
        Row("netlink-others", "netlink beyond the list of interfaces"),
    ],
    "sockets and network": [
        Row("socket-abstract", "an abstract socket is spoken to"),
        Row("socket-path", "a socket in the runtime directory is spoken to"),
        Row("bus-path", "the session bus answers"),
        Row("bus-abstract", "a bus with an abstract address answers"),
        Row("screen-path", "the X server answers"),
        Row("screen-abstract", "the X server answers at its abstract address"),
        Row("wayland", "the Wayland server answers"),
        Row("ssh-agent", "the SSH agent answers"),
        Row("docker-socket", "a container engine's socket answers"),
        Row("loopback", "a server on the machine's loopback is reached"),
        Row("loopback-six", "the same over IPv6"),
        Row("loopback-udp", "the same over UDP"),
        Row("loopback-proxy", "the same through the wall's proxy, by nine names"),
        Row("metadata", "the metadata address is reached"),
        Row("metadata-proxy", "the same through the wall's proxy"),
        Row("outside", "a public address is reached"),
        Row("outside-proxy", "an address off the list through the wall's proxy"),
        Row("machine-address", "a server on another address of the machine is reached"),
        Row("dns-tcp", "a name server is asked over TCP"),
        Row("dns-direct", "a name server is asked over UDP"),
        Row("dns-resolver", "the servers in `resolv.conf` answer"),
        Row("dns-proxy", "the proxy looks up a name that is off the list"),
    ],
    "what runs later outside": [
        Row("later-git-hook", "a hook is put into `.git/hooks`"),
        Row("later-git-config", "`.git/config` names a command"),
        Row("later-git-nested", "so does a repository inside the folder"),
        Row("later-vscode", "`.vscode/tasks.json` is written"),
        Row("later-envrc", "`.envrc` is written"),
        Row("later-agent", "hooks of a coding agent are written"),
        Row("later-package", "scripts in `package.json` are written"),
    ],
    "floods": [
        Row("flood-tasks", "tasks at once", fact=True),
        Row("flood-memory", "memory", fact=True),
    ],
}
ROWS = {row.name: row for rows in GROUPS.values() for row in rows}
# It shows that the wall lets through what it should: a probe that can do nothing holds nothing.
SANITY = "folder-write"
TERMINAL, CONSOLE = "terminal-type", "terminal-console"
LATER = [row.name for row in GROUPS["what runs later outside"]]


def _legacy_tiocsti():
    try:
        return Path("/proc/sys/dev/tty/legacy_tiocsti").read_text().strip() != "0"
    except OSError:
        return True
