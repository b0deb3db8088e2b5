# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Commands longer than a program's arguments may be (hole P07): they go by frame, as a file or on
stdin, never as an argument, behind each wall and through OpenShell's relay."""

import hashlib
import subprocess

import pytest
from model_server import ModelServer, calls
from openshells import RUNNER

KIB = 1024
MARK = "marked-by-the-test"
# Looks for itself where other processes could read it, in words that are not its own.
LOOK = r"cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -c 'marked-by-the-[t]est'"


def check_arguments(wall):
    """What `openshell` was called with holds nothing of a command."""
    if not wall.is_openshell:
        return
    inside = [argv for _, _, argv in wall.sim.calls() if RUNNER in argv]
    assert inside
    for argv in inside:
        assert MARK not in " ".join(argv) and sum(map(len, argv)) < 4 * KIB, argv


# Over what one argument of OpenShell's may be, over all of them together, over one of the kernel's,
# and near to what a frame may hold; once one line, once many.
@pytest.mark.parametrize("size", [100 * KIB, 300 * KIB, 700 * KIB])
@pytest.mark.parametrize("filler", ["x", "é \n'\""], ids=["one-line", "many"])
def test_P07_long_command_of_an_agent(ordinary_user, workspace, openworker, wall, size, filler):
    text = MARK + (filler * size)[:size]
    command = f"cat <<'END-OF-IT' | sha256sum\n{text}\nEND-OF-IT\n{LOOK}; echo over >> log"
    with ModelServer([calls(("shell", {"command": command}), split=8192), {"text": "Done."}]) as server:
        done = ordinary_user.run(
            [openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder", workspace.folder, "--model",
             "openai:any", "--base-url", server.url, "Do it."], timeout=120)
        assert done.returncode == 0 and server.faults == [], (done.stderr, server.faults)
        [told] = [message["content"] for message in server.requests[1].messages if message["role"] == "tool"]
    assert told.splitlines()[:2] == [hashlib.sha256((text + "\n").encode()).hexdigest() + "  -", "0"], told
    assert (workspace.folder / "log").read_text() == "over\n"
    check_arguments(wall)


def test_P07_long_arguments_of_a_person(ordinary_user, workspace, openworker, wall):
    """Each as it was given, more than OpenShell takes of one and of all."""
    words = [MARK, "", "two\nlines", "'\" \\", *["z" * 100 * KIB] * 5]
    process = ordinary_user.popen(
        [openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--", "sh", "-c",
         "shift; printf '%s\\0' \"$@\" | sha256sum", "sh", *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    expected = hashlib.sha256(b"".join(word.encode() + b"\0" for word in words[1:])).hexdigest()
    assert (out.decode(), process.returncode) == (f"{expected}  -\n", 0), err
    check_arguments(wall)
