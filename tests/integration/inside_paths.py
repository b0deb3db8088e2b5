# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Tries paths, for test_explain.py: run inside a wall, and outside as the control.

    inside_paths.py LIST [write]

LIST holds JSON texts, one a line. For each a line of JSON comes out: what stat(2) says, where its
links lead, and whether it could be opened for reading, for writing (only with `write`; nothing is
written) and listed; a name is the errno."""

import errno
import json
import os
import stat
import sys


def attempt(call, *words):
    """True, or the name of the errno."""
    try:
        result = call(*words)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    if isinstance(result, int):
        os.close(result)
    return True


def make_in(path):
    name = os.path.join(path, f".tried-{os.getpid()}")
    os.mkdir(name)
    os.rmdir(name)


def real_of(path):
    """Where its links lead, as far as they can be read."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def look(path, may_write):
    try:
        info = os.stat(path)
    except OSError as error:
        return {"path": path, "there": errno.errorcode.get(error.errno, str(error.errno)),
                "real": real_of(path)}
    kind = {stat.S_IFREG: "file", stat.S_IFDIR: "folder"}.get(stat.S_IFMT(info.st_mode), "other")
    seen = {"path": path, "there": True, "kind": kind, "id": [info.st_dev, info.st_ino], "real": path}
    real = real_of(path)
    try:
        if os.path.samestat(os.stat(real), info):
            seen["real"] = real
    except OSError:
        pass
    flags = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    if kind == "file":
        seen["read"] = attempt(os.open, path, os.O_RDONLY | flags)
        if may_write:
            seen["write"] = attempt(os.open, path, os.O_WRONLY | flags)
    elif kind == "folder":
        seen["list"] = attempt(os.listdir, path)
        if may_write:
            seen["write"] = attempt(make_in, path)
    return seen


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            print(json.dumps(look(json.loads(line), "write" in sys.argv[2:])))


if __name__ == "__main__":
    main()
