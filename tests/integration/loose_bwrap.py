# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A bwrap whose wall does not hold, for test_prove_broken.py: changes one thing of what it is asked
for and starts the real one. write(place, home, way) makes the program."""

import os
import shutil
import sys

HEAD = """#!/usr/bin/python3 -IS
import os, sys
sys.path.insert(0, {here!r})
from loose_bwrap import main
main({real!r}, {home!r}, {way!r})
"""


def write(place, home, way):
    """The program at @place/bwrap, which the real one is beside."""
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    shutil.copy2("/usr/bin/bwrap", place / "real")
    shutil.copy(__file__, place / "loose_bwrap.py")
    (place / "file").write_text("writable\n", encoding="ascii")
    (place / "file").chmod(0o666)
    program = place / "bwrap"
    program.write_text(HEAD.format(here=str(place), real=str(place / "real"), home=str(home), way=way),
                       encoding="utf-8")
    program.chmod(0o755)
    return program


def drop_landlock(command):
    """Its scopes hold abstract sockets where the network does not."""
    while "--landlock" in command:
        command.remove("--landlock")
    for at in reversed(range(len(command))):
        if command[at].startswith("--landlock-"):
            del command[at:at + 2]


def loosen(options, command, place, home, way):
    """Changes @options and @command as @way says; they are lists of words."""
    def find(end):
        """The place of the mount whose target ends so."""
        return next((i - 2 for i, word in enumerate(options) if word.endswith(end) and i > 1 and
                     options[i - 2] in ("--bind-fd", "--ro-bind-fd")), None)

    first, inner = find("/run/ow"), command.index("--proxy-socket") if "--proxy-socket" in command else None
    if first is None or inner is None:
        return
    last = options.index("--chdir")
    if way == "home":
        options[first:first] = ["--bind", home, home]
        command[inner:inner] = ["--landlock-ro", home]
    elif way == "folder":
        options[last:last] = ["--ro-bind", "/etc/hostname", options[find("/writable") + 2] + "/known"]
    elif way == "empty-folder":
        options[last:last] = ["--tmpfs", options[find("/writable") + 2]]
    elif way == "read-only":
        options[find("/read-only")] = "--bind-fd"
        command[command.index(options[find("/read-only") + 2], command.index("--landlock")) - 1] = "--landlock-rw"
    elif way == "proc-sys":
        options[last:last] = ["--bind", os.path.join(place, "file"), "/proc/sys/kernel/core_pattern"]
        command[inner:inner] = ["--landlock-rw", "/proc"]
        again = [i for i in range(len(options) - 1) if options[i:i + 2] == ["--remount-ro", "/proc"]]
        for at in again:
            del options[at:at + 2]
    elif way == "network":
        options.insert(options.index("--unshare-all") + 1, "--share-net")
        drop_landlock(command)


def main(real, home, way):
    words = sys.argv[1:]
    at = words.index("--args") + 1
    text = b""
    while more := os.read(int(words[at]), 1 << 20):
        text += more
    options = [os.fsdecode(word) for word in text.split(b"\0")[:-1]]
    split = words.index("--") + 1
    before, command = words[:split], words[split:]
    loosen(options, command, os.path.dirname(real), home, way)
    fd = os.memfd_create("args", 0)
    os.write(fd, b"".join(os.fsencode(word) + b"\0" for word in options))
    os.lseek(fd, 0, os.SEEK_SET)
    before[at] = str(fd)
    os.execv(real, [real, *before, *command])
