# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The system calls that commands inside may not make: the same ones that a real supervisor
refuses. Source: the release's own list of filters (process handles, memory of other processes,
mounts, namespaces, filters of one's own, sockets beside TCP/IP and unix)."""

import ctypes
import errno
import os
import struct

import kernel

_X86 = {"memfd_create": 319, "ptrace": 101, "bpf": 321, "process_vm_readv": 310,
        "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424,
        "io_uring_setup": 425, "mount": 165, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
        "fspick": 433, "move_mount": 429, "open_tree": 428, "setns": 308, "umount2": 166,
        "pivot_root": 155, "userfaultfd": 323, "perf_event_open": 298, "execveat": 322,
        "unshare": 272, "clone": 56, "clone3": 435, "seccomp": 317, "socket": 41}
_ARM = {**_X86, "memfd_create": 279, "ptrace": 117, "bpf": 280, "process_vm_readv": 270,
        "process_vm_writev": 271, "mount": 40, "setns": 268, "umount2": 39, "pivot_root": 41,
        "userfaultfd": 282, "perf_event_open": 241, "execveat": 281, "unshare": 97, "clone": 220,
        "seccomp": 277, "socket": 198}
NUMBERS = _ARM if os.uname().machine == "aarch64" else _X86
ALWAYS = ("memfd_create", "ptrace", "bpf", "process_vm_readv", "process_vm_writev", "pidfd_open",
          "pidfd_getfd", "pidfd_send_signal", "io_uring_setup", "mount", "fsopen", "fsconfig",
          "fsmount", "fspick", "move_mount", "open_tree", "setns", "umount2", "pivot_root",
          "userfaultfd", "perf_event_open")
LOAD, EQUAL, BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PACKET, BLUETOOTH, VSOCK, NETLINK = 17, 31, 40, 16
AT_EMPTY_PATH, SET_MODE_FILTER = 0x1000, 1


def _rules():
    """(system call, conditions that must all hold, error): a condition is (argument, operation,
    value, wanted)."""
    rules = [("clone3", [], errno.ENOSYS)]
    rules += [(name, [], errno.EPERM) for name in ALWAYS]
    rules += [("socket", [(0, EQUAL, family, True)], errno.EPERM)
              for family in (PACKET, BLUETOOTH, VSOCK)]
    rules += [("socket", [(0, EQUAL, NETLINK, True), (2, EQUAL, 0, False)], errno.EPERM),
              ("execveat", [(4, BITS, AT_EMPTY_PATH, True)], errno.EPERM),
              ("unshare", [(0, BITS, kernel.NEWUSER, True)], errno.EPERM),
              ("clone", [(0, BITS, kernel.NEWUSER, True)], errno.EPERM),
              ("seccomp", [(0, EQUAL, SET_MODE_FILTER, True)], errno.EPERM)]
    return rules


def program():
    """The filter as the kernel reads it: what prctl() is given, and what keeps it alive."""
    code = []
    for name, conditions, error in _rules():
        # Loads the number, leaves for the next rule unless all of this one holds.
        steps = [(LOAD, 0, 0, 0), (EQUAL, NUMBERS[name], True, None)]
        for argument, operation, value, wanted in conditions:
            steps += [(LOAD, 16 + 8 * argument, 0, 0), (operation, value, wanted, None)]
        length = len(steps) + 1
        for index, (operation, value, wanted, _) in enumerate(steps):
            rest = length - index - 1
            if operation == LOAD:
                code.append((LOAD, 0, 0, value))
            elif wanted:
                code.append((operation, 0, rest, value))
            else:
                code.append((operation, rest, 0, value))
        code.append((RETURN, 0, 0, ERRNO | error))
    code.append((RETURN, 0, 0, ALLOW))
    text = b"".join(struct.pack("=HBBI", *step) for step in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    return ctypes.create_string_buffer(head, len(head)), buffer


def apply(filter_program):
    kernel.prctl(kernel.SET_SECCOMP, 2, ctypes.addressof(filter_program[0]))
