# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The kernel's calls that the standard library has no function for (Python 3.11)."""

import ctypes
import errno
import os
import signal
import struct

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18)
PDEATHSIG, SET_NAME, SET_NO_NEW_PRIVS, CAPBSET_DROP, SET_SECCOMP = 1, 15, 38, 24, 22

_libc = ctypes.CDLL(None, use_errno=True)
_PIVOT_ROOT, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 155, 444, 445, 446
if os.uname().machine == "aarch64":
    _PIVOT_ROOT = 41


def _checked(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def unshare(flags):
    _checked(_libc.unshare(flags), "unshare")


def setns(fd, kind):
    _checked(_libc.setns(fd, kind), "setns")


def prctl(option, value=0, more=0):
    _checked(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0), "prctl")


def mount(source, target, kind=None, flags=0, data=None):
    encode = lambda text: None if text is None else os.fsencode(text)  # noqa: E731
    _checked(_libc.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags),
                         encode(data)), f"mount {target}")


def unmount(target, flags=2):
    _checked(_libc.umount2(os.fsencode(target), flags), f"umount {target}")


def pivot_root(new, old):
    _checked(_libc.syscall(_PIVOT_ROOT, os.fsencode(new), os.fsencode(old)), "pivot_root")


def sethostname(name):
    name = os.fsencode(name)
    _checked(_libc.sethostname(name, len(name)), "sethostname")


def bind(source, target, read_only):
    """Shows @source at @target, with all that is mounted below it."""
    mount(source, target, None, BIND | REC)
    if read_only:
        # Flags that the outer namespace set are locked: they have to be said again.
        kept = os.statvfs(target).f_flag & (NOSUID | NODEV | NOEXEC | 1024 | 2048 | 4096)
        keep = kept & (NOSUID | NODEV | NOEXEC)
        keep |= (kept & 1024) | (kept & 2048) | ((1 << 21) if kept & 4096 else 0)
        mount(None, target, None, BIND | REMOUNT | RDONLY | keep)


# --- Landlock ---

_READ = (1 << 0) | (1 << 2) | (1 << 3)          # execute, read a file, read a directory
_FILE = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14)
_ALL_1 = (1 << 13) - 1


def landlock_abi():
    """The version that this kernel does, 0 for none."""
    result = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    return max(result, 0)


def landlock_ruleset(read_only, read_write):
    """(descriptor of a ruleset, rules applied, paths that are not there)"""
    abi = landlock_abi()
    handled = _ALL_1 | ((1 << 13) if abi >= 2 else 0)
    attributes = struct.pack("Q", handled)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = _checked(_libc.syscall(_LANDLOCK_CREATE, buffer, len(attributes), 0), "landlock")
    applied, missing = 0, []
    for paths, access in ((read_only, _READ), (read_write, handled)):
        for path in paths:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError as error:
                missing.append((path, error))
                continue
            wanted = access & handled
            if not os.path.isdir(f"/proc/self/fd/{fd}"):
                wanted &= _FILE
            rule = ctypes.create_string_buffer(struct.pack("=Qi", wanted, fd), 12)
            _checked(_libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), f"landlock {path}")
            os.close(fd)
            applied += 1
    return ruleset, applied, missing


def landlock_restrict(ruleset):
    _checked(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock_restrict_self")


def drop_bounding_set():
    for capability in range(64):
        if _libc.prctl(CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break


def rename_process(command):
    """Shows @command (a list) as this process's command line: same length as the real one."""
    with open("/proc/self/stat", "rb") as stream:
        fields = stream.read().rsplit(b")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    text = b"".join(os.fsencode(word) + b"\0" for word in command)
    ctypes.memmove(start, text[:end - start].ljust(end - start, b"\0"), end - start)
    name = ctypes.create_string_buffer(os.fsencode(os.path.basename(command[0]))[:15])
    _libc.prctl(SET_NAME, name, 0, 0, 0)


# --- network devices, by netlink ---

def _attribute(kind, payload):
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def _netlink(kind, flags, payload):
    import socket
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.bind((0, 0))
        length = 16 + len(payload)
        link.send(struct.pack("=IHHII", length, kind, flags | 5, 1, 0) + payload)
        answer = link.recv(65536)
    error = struct.unpack_from("=i", answer, 16)[0]
    if error:
        raise OSError(-error, f"netlink {kind}: {os.strerror(-error)}")


def veth(name, peer, namespace):
    """A pair of devices: @name here, @peer in the network namespace of that descriptor."""
    link = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
    other = link + _attribute(3, peer.encode() + b"\0") + \
        _attribute(28, struct.pack("=I", namespace))
    info = _attribute(1, b"veth") + _attribute(2, _attribute(1, other))
    _netlink(16, 0x600, link + _attribute(3, name.encode() + b"\0") + _attribute(18, info))


def device_up(name, address=None, prefix=24):
    import socket
    index = socket.if_nametoindex(name)
    if address:
        packed = socket.inet_aton(address)
        _netlink(20, 0x600, struct.pack("=BBBBI", 2, prefix, 0, 0, index) +
                 _attribute(2, packed) + _attribute(1, packed))
    _netlink(16, 0, struct.pack("=BBHiII", 0, 0, 0, index, 1, 1))


def own_network():
    """Into a network of the caller's own, its loopback up. A container's root may have no say
    over networks, and then has one over those of a user namespace that it made."""
    unshare(NEWNET)
    try:
        device_up("lo")
        return
    except PermissionError:
        pass
    made, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            unshare(NEWUSER | NEWNET)
            os.write(tell, b"x")
            signal.pause()
        finally:
            os._exit(1)
    os.close(tell)
    try:
        if not os.read(made, 1):
            raise PermissionError(errno.EPERM, "a network of its own: " + os.strerror(errno.EPERM))
        with open(f"/proc/{child}/ns/net", "rb") as network:
            setns(network.fileno(), NEWNET)
    finally:
        os.close(made)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    device_up("lo")
