# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The process that has the engine is killed with -9 at fifty points of a turn: after a restart the
store opens, the record verifies, no effect is without a record, nothing happened twice, and the
session goes on and says what was interrupted (REQ-E01, REQ-A01; holes R02, P09, P13)."""

import json
import os
import select
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from model_server import ModelServer, calls
from replays import replay, shell

CALLS = 6
# In the order in which a turn passes them; the rest of the fifty points are moments in time.
STATES = ["session-stored", "wall-starting", "wall-up", "channel-up", "mounts-proven",
          "turn-started", "model-asked", "model-answered", "call-asked", "call-consented",
          "call-recorded", "call-running", "call-ended", "turn-ended", "stopping", "stopped",
          "session-ended"]
MOMENTS = 50 - len(STATES)
# States in which a call has begun, so that the session has to say that it was interrupted.
OPEN_STATES = {"call-recorded", "call-running"}
TASK = "Write the lines."
SAID = "Go on where it stopped."


def command(number):
    """One effect that can be counted: a line of its own."""
    return f"echo line-{number} >> lines; sleep 0.15"


def recording(account, workspace):
    """Three rounds of two calls; any result is taken, for some are "interrupted". The last words
    are there for each turn that may still come."""
    rounds = [[shell(command(2 * i), "."), shell(command(2 * i + 1), ".")]
              for i in range(CALLS // 2)]
    path = replay(account, workspace, *rounds, last="Done.")
    more = json.dumps({"type": "model-message", "text": "Done again."}) + "\n"
    return account.write(path, Path(path).read_text() + more * 2)


def start(account, workspace, openworker, state=None, provider="bubblewrap"):
    return account.popen(
        [openworker, "run", "--provider", provider, "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording(account, workspace)}", TASK],
        env={"OPENWORKER_TEST_STATE": state}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=open(workspace.path / "stderr", "wb"))


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def lines(workspace):
    path = Path(workspace.folder) / "lines"
    return path.read_text().split() if path.exists() else []


def json_lines(account, argv):
    done = account.run(argv)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_record(account, workspace, openworker, session):
    """What holds at any time after a start: record, effects and events agree."""
    verified = json_lines(account, [openworker, "audit", "verify", "--json"])[0]
    assert verified["clean"] and verified["open"] == [], verified
    recorded = [record["event"] for record in
                json_lines(account, [openworker, "audit", "show", session, "--json"])]
    begun = [event for event in recorded if event["type"] == "tool-started"]
    allowed = [f"line-{i}" for event in begun for i in range(CALLS)
               if event["arguments"].get("command") == command(i)]
    assert len(set(allowed)) == len(allowed), "a call was begun twice"
    written = lines(workspace)
    assert len(set(written)) == len(written), "an effect happened twice"
    assert set(written) <= set(allowed), "an effect has no record"
    events = json_lines(account, [openworker, "sessions", "show", session, "--json"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    started = [event["call"] for event in events if event["type"] == "tool-started"]
    ended = [event["call"] for event in events if event["type"] == "tool-ended"]
    assert started == [call for call in ended if call in set(started)]
    assert len(set(started)) == len(started), "a call began twice"
    assert len(set(ended)) == len(ended), "a call ended twice"
    assert {event["call"] for event in begun} >= set(started)
    return events


def read_until(process, wanted, seconds=60):
    """Events of a command's JSON lines, until one is @wanted."""
    events, rest = [], b""
    deadline = time.monotonic() + scaled(seconds)
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], 0.2)
        piece = os.read(process.stdout.fileno(), 65536) if ready else b""
        if ready and not piece:
            break
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            events.append(json.loads(line))
            if wanted(events):
                return events
    raise AssertionError(f"it did not come; the last events were {events[-3:]}")


def go_on(account, openworker, session):
    """The session is told something, by a command that becomes its engine; its events until the
    turn has ended."""
    process = account.popen([openworker, "attach", session, "--say", SAID, "--json"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)

    def answered(events):
        said = [i for i, event in enumerate(events)
                if event["type"] == "user-message" and event["text"] == SAID]
        return said and any(event["type"] == "turn-ended" for event in events[said[0]:])
    try:
        events = read_until(process, answered)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=scaled(60))
    return [event for event in events if event["seq"] > 0]


def check_interrupted(before, after):
    """What was open when the program was killed is said to person and agent."""
    interrupted = [event for event in before
                   if event["type"] == "tool-ended" and event["outcome"] == "interrupted"]
    resumed = next(i for i, event in enumerate(after) if event["type"] == "session-resumed")
    notice = after[resumed + 1]
    assert notice["type"] == "notice" and "Shell state was lost" in notice["text"]
    arguments = {event["call"]: event["arguments"] for event in before
                 if event["type"] == "tool-started"}
    for event in interrupted:
        assert f"- shell: {arguments[event['call']]['command']}" in notice["text"]
    assert ("effect is not known" in notice["text"]) == bool(interrupted)
    return interrupted


def check_restart(account, workspace, openworker, remote=False):
    """Everything after the kill; returns what was interrupted. @remote: the wall is OpenShell's, which
    is asked to take away what is there before it is asked for a sandbox again."""
    sessions = json_lines(account, [openworker, "sessions", "list", "--json"])
    assert len(sessions) == 1, sessions
    session = sessions[0]["session"]
    if not remote:
        wait_until(lambda: not workspace.processes(), 20, "the end of every process")
    before = check_record(account, workspace, openworker, session)
    assert sessions[0]["state"] == before[-1]["outcome"]
    after = go_on(account, openworker, session)
    assert after[:len(before)] == before, "what was stored has changed"
    interrupted = check_interrupted(before, after)
    assert after[-1]["reason"] == "done", after[-1]
    wait_until(lambda: not workspace.processes() and not workspace.left(), 20, "the end of everything")
    check_record(account, workspace, openworker, session)
    return before, interrupted


# What a kill there leaves of the wall differs; others are in test_openshell_killed.py.
OPENSHELL_STATES = ["wall-starting", "wall-up", "call-running", "call-ended", "stopping", "stopped"]


@pytest.mark.parametrize("wall,state", [*[("bubblewrap", state) for state in STATES],
                                        *[("openshell", state) for state in OPENSHELL_STATES]],
                         indirect=["wall"])
def test_killed_at_a_state(ordinary_user, workspace, openworker, wall, state):
    process = start(ordinary_user, workspace, openworker, state, wall.name)

    def stopped():
        assert process.poll() is None, (workspace.path / "stderr").read_text()
        return f"state {state}" in (workspace.path / "stderr").read_text()
    wait_until(stopped, 30, f"state {state}")
    kill(process)
    before, interrupted = check_restart(ordinary_user, workspace, openworker, wall.is_openshell)
    assert len(interrupted) == (state in OPEN_STATES)
    if state == "session-stored":
        return
    assert any(event["type"] == "user-message" and event["text"] == TASK for event in before)


@pytest.fixture(scope="module")
def whole_turn():
    """How long a turn takes that nobody kills, measured once."""
    return {}


@pytest.mark.parametrize("number", range(MOMENTS))
def test_killed_at_a_moment(ordinary_user, workspace, openworker, whole_turn, number):
    if not whole_turn:
        begun = time.monotonic()
        start(ordinary_user, workspace, openworker).wait(timeout=scaled(60))
        whole_turn["seconds"] = time.monotonic() - begun
        assert lines(workspace) == [f"line-{i}" for i in range(CALLS)]
        (Path(workspace.folder) / "lines").unlink()
        session = json_lines(ordinary_user, [openworker, "sessions", "list", "--json"])[0]
        removed = ordinary_user.run([openworker, "sessions", "delete", session["session"]])
        assert removed.returncode == 0, removed.stderr
    process = start(ordinary_user, workspace, openworker)

    def is_stored():
        assert process.poll() is None, (workspace.path / "stderr").read_text()
        return stored(workspace)
    # The first instants have no session yet.
    wait_until(is_stored, 20, "the session")
    time.sleep(whole_turn["seconds"] * number / MOMENTS)
    kill(process)
    before, interrupted = check_restart(ordinary_user, workspace, openworker)
    assert len(interrupted) <= 1
    # What the model was told was done is done: nothing that ended well is missing.
    well = [event for event in before
            if event["type"] == "tool-ended" and event["tool"] == "shell"
            and event["outcome"] == "ok"]
    assert len(lines(workspace)) >= len(well)


@pytest.mark.parametrize("words", [False, True], ids=["in-calls", "in-words"])
@pytest.mark.parametrize("request_number", [1, 2])
def test_killed_while_the_model_speaks(ordinary_user, workspace, openworker, request_number,
                                       words):
    """In the middle of an answer: nothing of it ran, it is not in the history, and the next
    request is one that the server takes."""
    slow = {"delay": 0.05, "split": 1}
    asked = [calls(*[("shell", {"command": command(2 * i + j)}) for j in range(2)],
                   **(slow if i + 1 == request_number else {})) for i in range(2)]
    if words:
        asked[request_number - 1] = {"text": list("Half of what it has to say."), "delay": 0.2}
    with ModelServer([*asked, {"text": "Done."}]) as server:
        process = ordinary_user.popen(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
             workspace.folder, "--model", "openai:any", "--base-url", server.url, TASK],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: len(server.requests) == request_number, 30, "the request")
        time.sleep(0.5)
        kill(process)
        before, interrupted = check_restart(ordinary_user, workspace, openworker)
        assert interrupted == []
        messages = [event for event in before if event["type"] == "model-message"]
        assert len(messages) == request_number - 1
        assert server.faults == []
        said = [message["content"] for message in server.requests[-1].messages
                if message["role"] == "user"]
        assert said[0].startswith(TASK) and said[-1].endswith(SAID)
        assert "Shell state was lost" in said[-1]


def stored(workspace):
    """A session is in the store, whoever keeps that open."""
    path = workspace.data / "sessions.sqlite"
    if not path.exists():
        return False
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as database:
            return database.execute("SELECT count(*) FROM sessions").fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False
