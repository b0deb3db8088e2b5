# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The programs that the build makes, and what ./dev says without building anything."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("program", ["openworker", "runner", "proxy"])
def test_programs_tell_their_version(program, request, ordinary_user):
    path = request.getfixturevalue(program)
    done = ordinary_user.run([path, "--version"])
    assert (done.returncode, done.stdout) == (0, f"{path.name} 0.1.0\n")


def test_runner_needs_no_library(runner):
    listed = subprocess.run(["ldd", runner], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False).stdout
    assert "not a dynamic executable" in listed or "statically linked" in listed


@pytest.mark.parametrize("argv,status,word", [
    ([], 2, "Usage"),
    (["no-such-command"], 2, "no command 'no-such-command'"),
    (["desktop"], 69, "no desktop program yet"),
    (["help"], 0, "Usage"),
    (["bench"], 2, "Known: "),
    (["bench", "nothing"], 2, "Known: "),
])
def test_dev_says_what_is_wrong(argv, status, word):
    done = subprocess.run([ROOT / "dev", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == status
    assert word in done.stdout + done.stderr
