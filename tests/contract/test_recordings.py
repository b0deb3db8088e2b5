# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The simulation answers every recorded call as the recorded build did: exit status, stdout and
stderr, with only ids, times, ports and counters made equal."""

import os
import random
import shutil
import string
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import replay                                   # noqa: E402
from accounts import make_account                # noqa: E402

CALLS = {call["scenario"]: call
         for call in replay.recorded("recordings") + replay.recorded("disturbances")}
LOGS = ("logs", "logs-sandbox")
KINDS = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]


def short_folder(uid, gid):
    """A folder whose path is as long as the recorded one's."""
    parent = "/srv" if os.geteuid() == 0 else "/tmp"
    while True:
        path = f"{parent}/" + "".join(random.choices(string.ascii_lowercase, k=3))
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            continue
        os.chown(path, uid, gid)
        assert len(path) == len(replay.FOLDER)
        return path


@pytest.fixture(scope="module", params=KINDS)
def answers(request):
    """(results of one whole run, the folder, who ran it)"""
    ids = (0, 0) if request.param == "root" else \
        (1000, 1000) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    inside = (1000, 1000) if request.param == "root" else ids
    home = tempfile.mkdtemp(prefix="ow-rp-", dir="/var/tmp")
    os.chmod(home, 0o755)
    os.chown(home, *ids)
    folder = short_folder(*inside)
    try:
        yield replay.Replay(make_account(home, *ids), folder, inside).run(), folder, request.param
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(home)


def expected(scenario, text, folder, kind):
    """What was recorded, for our folder."""
    text = text.replace(replay.FOLDER, folder)
    if kind == "ordinary":
        # An ordinary account's containers have one user only, and none of root's groups.
        uid, gid = (1000, 1000) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        text = text.replace("uid=1000 gid=1000 groups=1000,0(root)",
                            f"uid={uid} gid={gid} groups={gid}")
        text = text.replace('"1000"', f'"{uid}"').replace("'1000'", f"'{uid}'")
    return replay.normal(scenario, text)


@pytest.mark.parametrize("scenario", [name for name in CALLS if name not in LOGS])
def test_A_recorded_call_is_answered_alike(answers, scenario):
    results, folder, kind = answers
    call = CALLS[scenario]
    status, out, err = results[scenario]
    assert replay.normal(scenario, err) == expected(scenario, call["stderr"], folder, kind)
    assert replay.normal(scenario, out) == expected(scenario, call["stdout"], folder, kind)
    assert status == call["exit"]


def by_source(scenario, text):
    """{source: lines} of a log, made equal; the two sources come in no common order."""
    found = {}
    for line in replay.normal(scenario, text).splitlines():
        found.setdefault(line.split("] [")[1], []).append(line)
    return found


@pytest.mark.parametrize("scenario", LOGS)
def test_A_log_has_the_recorded_lines(answers, scenario):
    results, folder, kind = answers
    ours = by_source(scenario, results[scenario][1])
    theirs = by_source(scenario, expected(scenario, CALLS[scenario]["stdout"], folder, kind))
    assert ours.keys() == theirs.keys()
    assert results[scenario][0] == 0 and results[scenario][2] == ""
    count = min(len(ours["sandbox"]), len(theirs["sandbox"]))
    assert count >= 14
    assert ours["sandbox"][-count:] == theirs["sandbox"][-count:]
    if "gateway" in theirs:
        # In the recording itself these lines change places from call to call.
        assert set(ours["gateway"]) == set(theirs["gateway"])


def test_every_recording_is_replayed(answers):
    assert len(CALLS) == 94
    assert set(CALLS) <= set(answers[0])


@pytest.mark.parametrize("left, right", [
    ("Error:   × sandbox not found\n", "Error:   × sandbox not there\n"),
    ('"phase": "Ready"', '"phase": "Error"'),
    ('"current_policy_version": 1', '"current_policy_version": 2'),
    ("\x1b[32mReady\x1b[39m", "Ready"),
    ("[<time>] [sandbox] NET:OPEN [MED]", "[<time>] [sandbox] NET:OPEN [INFO]"),
    ("exceeds\n  │ 32768 byte", "exceeds 32768\n  │ byte"),
    ("Policy version 2 submitted (hash: bf3b5f3b6e51)",
     "Policy version 3 submitted (hash: bf3b5f3b6e51)"),
    ("hash: bf3b5f3b6e51", "hash: bf3b5f3b6e"),
    ("/usr/bin/bash(12) -> a.example:443", "/usr/bin/bash(12) -> b.example:443"),
    ("/usr/bin/bash(12)", "/usr/bin/dash(12)"),
    ("http://127.0.0.1:18080", "https://127.0.0.1:18080"),
    ("id=12", "id=13"),
    ("openshell 0.0.112", "openshell 0.0.116"),
    ("got:hello\r\n", "got:hello\n"),
])
def test_normal_does_not_hide_what_differs(left, right):
    for scenario in ("exec", "logs", "left-behind-processes"):
        assert replay.normal(scenario, left) != replay.normal(scenario, right)


@pytest.mark.parametrize("left, right", [
    ("created 2026-11-29 15:52:07", "created 2027-01-02 03:04:05"),
    ("[1795967534.252] [sandbox]", "[1800000000.001] [sandbox]"),
    ("(hash: bf3b5f3b6e51)", "(hash: 0b5cd67d4bb9)"),
    ("[0.0s] Sandbox", "[1.3s] Sandbox"),
    ("f6335689-35c1-431d-a53c-11a313feb5ec", "fe8e0e80-caf7-4a74-b41d-3775e3400262"),
])
def test_normal_makes_equal_what_changes_from_run_to_run(left, right):
    assert left != right
    assert replay.normal("exec", left) == replay.normal("exec", right)
