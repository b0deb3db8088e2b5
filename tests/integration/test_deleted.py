# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session that another program takes out of the database while it runs ends with a sentence and
a status, and leaves nothing behind; what it did stays in the record."""

import json
import sqlite3
import subprocess

import pytest
from conftest import scaled, wait_until
from replays import replay, shell


def database(workspace):
    return sqlite3.connect(workspace.data / "sessions.sqlite", timeout=10)


def run(account, workspace, openworker, *more):
    recording = replay(account, workspace, [shell("echo begun > begun; sleep 2; echo x > made")])
    return account.popen(
        [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording}", *more, "Make a file."],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def take_out(workspace, *statements):
    """While the session's call runs; the session's id."""
    wait_until(lambda: (workspace.folder / "begun").exists(), 30, "the call")
    with database(workspace) as data:
        session = data.execute("SELECT id FROM sessions").fetchone()[0]
        for statement in statements:
            data.execute(statement)
    return session


def check_left(account, workspace, openworker, n_open):
    """@n_open: begins whose end could not be stored and so stands nowhere."""
    wait_until(lambda: not workspace.processes(), 20, "the end of every process")
    verified = account.run([openworker, "audit", "verify", "--json"])
    assert verified.returncode == 0
    assert json.loads(verified.stdout)["clean"]
    assert len(json.loads(verified.stdout)["open"]) == n_open


@pytest.mark.parametrize("form", ["text", "json"])
def test_deleted_while_it_runs(ordinary_user, workspace, openworker, form):
    process = run(ordinary_user, workspace, openworker, *(["--json"] if form == "json" else []))
    session = take_out(workspace, "DELETE FROM events", "DELETE FROM sessions")
    out, err = process.communicate(timeout=scaled(60))
    assert process.returncode == 1
    said = err
    if form == "json":
        last = json.loads(out.splitlines()[-1])
        assert last["type"] == "session-ended"
        assert last["outcome"] == "failed" and last["exit"] == 1
        said = last["message"]
    assert "was deleted from the store while it ran. Start another one." in said
    listed = ordinary_user.run([openworker, "sessions", "list", "--json"])
    assert listed.returncode == 0 and listed.stdout == ""
    gone = ordinary_user.run([openworker, "attach", session])
    assert gone.returncode == 2 and "There is no session" in gone.stderr
    check_left(ordinary_user, workspace, openworker, 1)


@pytest.mark.parametrize("statement", ["DELETE FROM events", "UPDATE events SET seq = seq + 1000"])
def test_torn_while_it_runs(ordinary_user, workspace, openworker, statement):
    """What it has in memory goes on; what is stored says that it is damaged, and is left alone."""
    process = run(ordinary_user, workspace, openworker)
    session = take_out(workspace, statement)
    process.communicate(timeout=scaled(60))
    assert process.returncode == 0
    for command in (["sessions", "show", session], ["sessions", "resume", session]):
        shown = ordinary_user.run([openworker, *command])
        assert shown.returncode == 1 and session in shown.stderr, (command, shown.stderr)
    check_left(ordinary_user, workspace, openworker, 0)
