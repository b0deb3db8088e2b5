# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The tests that are not run, as docs/testing.md lists them, against those that were not.

The list is the table between the two marks `<!-- skips -->` and `<!-- /skips -->`:
    | test | when | reason |
`when` is one of the words below, or several joined with `+` that must all hold. A test that
ends with `*]` stands for all cases of a table that begin so, one that ends with `::*` for all of a
file.
"""

import ctypes
import os
import re

from .tree import ROOT

CONDITIONS = {
    "always": lambda long: True,
    "short": lambda long: not long,
    "root": lambda long: os.geteuid() == 0,
    "user": lambda long: os.geteuid() != 0,
    "proc-sys-read-only": lambda long: proc_sys_is_read_only(),
    "no-landlock": lambda long: not _has_landlock(),
    "no-pidfd-getfd": lambda long: not has_pidfd_getfd(),
    "no-fuse": lambda long: not os.path.exists("/dev/fuse"),
    "no-cgroups": lambda long: not has_cgroups(),
    # A real openshell, and no program that may disturb its gateway.
    "no-control": lambda long: bool(os.environ.get("OPENWORKER_TEST_OPENSHELL")
                                    and not os.environ.get("OPENWORKER_TEST_OPENSHELL_CONTROL")),
    # Programs that not every machine of tests has.
    "no-aws": lambda long: not os.path.exists("/usr/bin/aws"),
    "no-npm": lambda long: not os.path.exists("/usr/bin/npm"),
    # A registry that cannot be asked: OPENWORKER_TEST_OFFLINE=1 says so.
    "offline": lambda long: os.environ.get("OPENWORKER_TEST_OFFLINE") == "1",
}


def _has_landlock():
    """Whether landlock_create_ruleset (444 on every architecture) tells its version: the
    list of security modules says nothing of a container's own filter."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1) >= 1


def proc_sys_is_read_only():
    """As a mount, whoever asks."""
    return bool(os.statvfs("/proc/sys").f_flag & os.ST_RDONLY)


def has_pidfd_getfd():
    """Whether a process may take a descriptor of another (434 pidfd_open, 438 pidfd_getfd)."""
    libc = ctypes.CDLL(None)
    own = libc.syscall(434, os.getpid(), 0)
    with open(os.devnull, "rb") as file:
        taken = libc.syscall(438, own, file.fileno(), 0)
    for fd in (own, taken):
        if fd >= 0:
            os.close(fd)
    return taken >= 0


def has_cgroups():
    """Whether this account may make cgroups that limit memory, of version 1 or 2."""
    old, new = "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cgroup.subtree_control"
    if os.path.isdir(old):
        return os.access(old, os.W_OK) and not os.statvfs(old).f_flag & os.ST_RDONLY
    try:
        with open(new, encoding="ascii") as file:
            return "memory" in file.read().split() and os.access(os.path.dirname(new), os.W_OK)
    except OSError:
        return False


def _cases(test, known):
    """The tests that a row stands for; one that stands for none stays, and so is missed."""
    if not test.endswith(("*]", "::*")):
        return [test]
    prefix = test[:-2] if test.endswith("*]") else test[:-1]
    return [name for name in known if name.startswith(prefix)] or [test]


def read_list(text):
    """[(test, [condition…], reason)] of the table; a line that is none is an error."""
    found = re.search(r"<!-- skips -->\n(.*?)<!-- /skips -->", text, re.DOTALL)
    if not found:
        raise ValueError("docs/testing.md has no table of skipped tests")
    rows = []
    for line in found.group(1).splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not line.strip() or cells[0] in ("test", "") or set(line) <= set("|- "):
            continue
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"not a row of three cells: {line}")
        conditions = cells[1].split("+")
        for condition in conditions:
            if condition not in CONDITIONS:
                raise ValueError(f"unknown condition '{condition}' in: {line}")
        rows.append((cells[0], conditions, cells[2]))
    return rows


def compare(skipped, ran, long, text=None):
    """Sentences on what differs between the list and the run; suites not run are left out."""
    if text is None:
        text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    try:
        rows = read_list(text)
    except ValueError as error:
        return [str(error)]
    expected = {name for test, conditions, _ in rows
                if all(CONDITIONS[condition](long) for condition in conditions)
                for name in _cases(test, skipped + ran)}
    suites = {name.split(":", 1)[0] for name in skipped + ran}
    problems = [f"skipped and not listed: {name}" for name in sorted(set(skipped) - expected)]
    for name in sorted(expected - set(skipped)):
        if name.split(":", 1)[0] in suites:
            problems.append(f"listed as skipped and not skipped: {name}")
    return problems
