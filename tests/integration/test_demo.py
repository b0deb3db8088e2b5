# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The demonstration holds, and each of its checks can fail: a thing spoiled on purpose is
found by the check of its name and by no other (REQ-N02: the refused host is shown)."""

import shutil
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "data/demo"
TESTS = Path(__file__).resolve().parents[1]
CHECKS = ["shell", "fix", "wall", "host", "diff", "same", "audit"]


@pytest.fixture
def demo(account, workspace, openworker):
    # Trees are cloned to paths with spaces in them, too.
    target = workspace.path / "a tree" / "demo"
    shutil.copytree(DEMO, target)
    program = target.parent / "openworker"
    program.symlink_to(openworker)
    account.give(target.parent)
    account.give(target)
    # The tree itself may lie where only its owner can go.
    tests = target.parent / "tests"
    for name in ("fakes", "integration"):
        shutil.copytree(TESTS / name, tests / name, ignore=shutil.ignore_patterns("__pycache__"))
    account.give(tests)

    def run(*argv, env=None):
        return account.run([target / "run", *argv],
                           env={"OPENWORKER": program, "OPENWORKER_DEMO_DIR": workspace.path,
                                "OPENWORKER_DEMO_OPENSHELL": tests / "fakes/stage.py",
                                **(env or {})}, timeout=120)
    return run


def results(done):
    return {line.split()[1].rstrip(":"): line.split()[2] for line in done.stdout.splitlines()
            if line.startswith("check ")}


def test_demo_shows_the_whole_path(demo):
    done = demo()
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(done) == dict.fromkeys(CHECKS, "ok")
    assert done.stdout.count("[bubblewrap]") >= 14
    for text in ["not ok - 2000 should be yes", "ok - 2000 is yes", "+  if", "% 400",
                 "No such file or directory", "blocked site example.com:443",
                 "The audit record is verified", "All checks hold."]:
        assert text in done.stdout, text


@pytest.mark.parametrize("name", ["wall", "host", "audit", "fix", "shell", "same"])
def test_demo_finds_what_is_broken(demo, name):
    done = demo("--break", name)
    assert done.returncode == 1, done.stdout + done.stderr
    failed = [check for check, state in results(done).items() if state == "FAILED"]
    assert failed == [name], done.stdout + done.stderr
    assert f'The check "{name}" failed, as it should' in done.stdout
    assert "All checks hold" not in done.stdout


def test_demo_claims_nothing_it_did_not_try(demo, workspace):
    """A refused session: no step was reached, and none is called ok."""
    done = demo(env={"OPENWORKER_LIBEXEC": workspace.path / "nothing"})
    assert done.returncode == 1
    states = results(done)
    assert states.pop("run") == "FAILED" and "Sessions on this machine are refused" in done.stderr
    assert states.pop("audit") == "ok"
    assert set(states.values()) == {"not"}, states
    assert "Failed: run." in done.stdout


@pytest.mark.parametrize("argv", [["--break"], ["--break", "door"], ["extra"], ["--break", "wall", "x"]])
def test_demo_usage(demo, argv):
    done = demo(*argv)
    assert (done.returncode, "Usage" in done.stderr) == (2, True)


def test_demo_help(demo):
    done = demo("--help")
    assert (done.returncode, done.stdout) == (
        0, "Usage: ./dev demo [--break wall|host|audit|fix|shell|same]\n")
