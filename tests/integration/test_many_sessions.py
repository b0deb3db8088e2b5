# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Many sessions at once in one engine: they take little, wake nothing while they wait, and all that
was theirs goes with them, also when the engine is killed."""

import signal
import time

import pytest
from conftest import scaled, wait_until
from engines import Up
from many_sessions import Many

N = {"bubblewrap": 20, "openshell": 5}
MIB = 2 ** 20


@pytest.fixture
def many(account, workspace, openworker, wall):
    up = Up(account, openworker)
    with Many(account, up, wall.name) as sessions:
        yield sessions
    if up.process.poll() is None:
        up.stop()


def test_many_sessions_take_little_and_wake_nothing(many, wall):
    n = N[wall.name]
    many.start(1)
    engine = many.memory()[1]
    many.start(n - 1)
    # Processes that wait for a next call are given up after five seconds.
    time.sleep(scaled(7))
    share, grown = many.memory()
    each = (share + max(0, grown - engine)) / n / MIB
    assert 0.3 < each <= 12, f"{each:.2f} MiB for each session"
    assert len(many.processes()) >= 3 * n
    if not wall.is_openshell:
        # A relay sends to be heard; nothing else has a reason to wake, and once is no clock.
        woke = many.wakings(scaled(4))
        assert sum(woke.values()) <= 2, woke
    many.end()
    wait_until(lambda: not many.processes(), 20, "the end of all processes")
    assert many.account.workspace.left() == []


def test_many_at_once_on_one_folder(many, account, workspace, wall):
    """Each has a sandbox of its own; what they do to one file is one after the other's."""
    folder = account.mkdir(workspace.folder)
    many.start(4, folders=[folder] * 4)
    assert (folder / "a.txt").read_text() == "a\n"
    assert len(set(many.sessions)) == 4
    many.end()
    wait_until(lambda: not many.processes(), 20, "the end of all processes")


def test_S21_engine_killed_with_many_sessions(many, account, workspace, openworker, wall):
    n = N[wall.name]
    many.start(n)
    many.engine.stop(signal.SIGKILL)
    begun = time.monotonic()
    second = Up(account, openworker)
    assert time.monotonic() - begun < scaled(60)
    wait_until(lambda: not many.processes(), 60, "the end of all processes")
    wait_until(lambda: workspace.left() == [], 60, "the end of all that was left")
    states = {entry["session"]: entry["state"] for entry in second.lines("sessions", "list")}
    assert {states[session] for session in many.sessions} == {"interrupted"}
    second.stop()
