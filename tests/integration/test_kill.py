# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A run that is killed at any moment leaves nothing: after the next start there is no process
and no private folder of it, the store opens, the record verifies, and a call that was open is
"interrupted" (REQ-E01, REQ-W08, REQ-W11; holes R02, P13, S21)."""

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from replays import replay, shell

SOURCE = Path(__file__).resolve().parents[2] / "src"

# The states a run passes, in their order; a test below holds the list to the source.
STATES = [
    "session-created", "session-stored", "wall-checking", "registry-written", "home-made",
    "plan-made", "wall-starting", "proxy-started", "bwrap-started", "wall-up", "channel-up",
    "mount-proving", "mounts-proven", "turn-started", "model-asked", "model-answered",
    "call-asked", "call-consented", "call-recorded", "call-running", "call-ended", "turn-ended",
    "stopping", "wall-stopped", "stopped", "session-ended",
]
# Passed by other commands than `run` behind a wall.
OTHER_STATES = {
    "config-backed-up", "direct-started", "proven",
    # test_folders.py
    "changing", "old-wall-stopped", "old-wall-removed",
    # test_credentials.py
    "credential-folder", "credential-made", "credential-part", "credential-written",
    "credentials-copied",
    # those of OpenShell
    "openshell-reserved", "openshell-creating", "openshell-created", "openshell-progress", "openshell-verified",
    "openshell-undone", "openshell-deleting", "reaped", "reaper-listed",
}
OPEN_STATES = {"call-recorded", "call-running"}
RANDOM_MOMENTS = 20
SEED = int(os.environ["OPENWORKER_TEST_SEED"])  # conftest.py draws it


def reached_states():
    found = set()
    for file in SOURCE.rglob("*.c"):
        found.update(re.findall(r'ow_state_reach \("([a-z-]+)"\)', file.read_text()))
    return found


def test_states_are_those_of_the_source():
    assert len(STATES) >= 20
    assert set(STATES) <= reached_states() <= set(STATES) | OTHER_STATES


def start(account, workspace, openworker, state=None, command="sleep 0.4; echo done > made"):
    recording = replay(account, workspace, [shell(command)], ("list", {"path": "."}, "made"))
    return account.popen(
        [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording}", "Make a file."],
        env={"OPENWORKER_TEST_STATE": state}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=open(workspace.path / "stderr", "wb"))


def stopped_at(process, workspace, state):
    def look():
        assert process.poll() is None, (workspace.path / "stderr").read_text()
        return f"state {state}" in (workspace.path / "stderr").read_text()
    wait_until(look, 30, f"state {state}")


def check_clean(account, workspace, openworker):
    """The next start: nothing of the killed run is left, and what is recorded is whole."""
    listed = account.run([openworker, "sessions", "list", "--json"])
    assert listed.returncode == 0, listed.stderr
    wait_until(lambda: not workspace.processes(), 10, "the end of every process")
    for place in (workspace.private_homes, workspace.state / "registry"):
        assert not place.exists() or os.listdir(place) == [], place
    # The engine's own name and lock stay: the next engine takes them over.
    left = {path.name for path in (workspace.runtime / "coworker").glob("*")} - {"engine", "engine.lock"}
    assert not left, left
    verified = json.loads(account.run([openworker, "audit", "verify", "--json"]).stdout)
    assert verified["clean"] and verified["open"] == [], verified
    sessions = [json.loads(line) for line in listed.stdout.splitlines()]
    events = []
    for session in sessions:
        shown = account.run([openworker, "sessions", "show", session["session"], "--json"])
        assert shown.returncode == 0, shown.stderr
        events += [json.loads(line) for line in shown.stdout.splitlines()]
    return sessions, events


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("state", STATES)
def test_killed_at_a_state(ordinary_user, workspace, openworker, state):
    process = start(ordinary_user, workspace, openworker, state)
    stopped_at(process, workspace, state)
    kill(process)
    sessions, events = check_clean(ordinary_user, workspace, openworker)
    outcomes = [event["outcome"] for event in events if event["type"] == "tool-ended"]
    begun = [event for event in events if event["type"] == "tool-started"]
    assert len(begun) == len(outcomes)
    if state in OPEN_STATES:
        assert outcomes == ["interrupted"]
    if state != "session-created":
        assert len(sessions) == 1
        assert sessions[0]["state"] == ("done" if state == "session-ended" else "interrupted")
        assert events[-1]["type"] == "session-ended"


@pytest.mark.parametrize("number", range(RANDOM_MOMENTS))
def test_killed_at_a_random_moment(ordinary_user, workspace, openworker, number):
    delay = random.Random(SEED * 1000 + number).uniform(0, 1.2)
    print(f"seed {SEED}, moment {number}: {delay:.3f} s")
    process = start(ordinary_user, workspace, openworker)
    time.sleep(scaled(delay))
    kill(process)
    _, events = check_clean(ordinary_user, workspace, openworker)
    begun = [event["call"] for event in events if event["type"] == "tool-started"]
    ended = [event["call"] for event in events if event["type"] == "tool-ended"]
    assert begun == ended


@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
@pytest.mark.root
@pytest.mark.parametrize("state", ["proxy-started", "bwrap-started", "call-running"])
def test_killed_as_root(account, workspace, openworker, ordinary_ids, state):
    os.chown(workspace.folder, *ordinary_ids)
    process = start(account, workspace, openworker, state)
    stopped_at(process, workspace, state)
    kill(process)
    check_clean(account, workspace, openworker)


def test_direct_leaves_no_process(ordinary_user, workspace, openworker):
    """Where no wall ends them, the runner does, also for what left its process group."""
    recording = replay(ordinary_user, workspace,
                       [shell("setsid -f sleep 300; nohup sleep 301 & sleep 302")])
    process = ordinary_user.popen(
        [openworker, "run", "--provider", "direct", "--approve", "ask", "--folder", workspace.folder,
         "--model", f"replay:{recording}", "Wait."], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.wait()  # nobody is there to be asked: denied, and the replay ends
    process = ordinary_user.popen(
        [openworker, "sandbox", "exec", "--provider", "direct", "--folder", workspace.folder, "--",
         "sh", "-c", "setsid -f sleep 300; nohup sleep 301 & sleep 302"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: sum("sleep 30" in c for c in workspace.processes().values()) >= 3, 20,
               "three sleeping processes")
    kill(process)
    check_clean(ordinary_user, workspace, openworker)


def test_live_session_of_another_run_is_left_alone(ordinary_user, workspace, openworker):
    """The clean-up takes only what has no owner (REQ-W11)."""
    process = start(ordinary_user, workspace, openworker, command="sleep 3; echo done > made")
    wait_until(lambda: workspace.private_homes.exists() and os.listdir(workspace.private_homes), 20)
    for _ in range(3):
        listed = ordinary_user.run([openworker, "sessions", "list", "--json"])
        assert json.loads(listed.stdout.splitlines()[0])["state"] == "running"
    assert process.wait(timeout=scaled(60)) == 0, (workspace.path / "stderr").read_text()
