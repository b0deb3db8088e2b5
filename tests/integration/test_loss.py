# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a session is lost by, and what it is not, behind each wall. A point is a moment in the life
of a call, to the half message, and what happens there: its stream is cut, or half of it, or falls
silent; what carries it is killed or stands still; the runner, the wall, the proxy, the gateway or
the program is killed; the whole machine sleeps; or the person stops the turn. At each a call
happens at most once, its end says no more than what is known, agent and person are told what was
lost, the session goes on or says why it does not, and nothing is left (holes P03, P04, P10, P13,
A01).

The points of a test run side by side, each in a workspace of its own, for they wait most of the
time. All of them run with --long, else those of ALWAYS and more, drawn by OPENWORKER_TEST_SEED;
OPENWORKER_TEST_POINT (a pattern) chooses some. With OPENWORKER_TEST_OPENSHELL and its companions
(docs/openshell-contract.md) the rows of openshell are of that one, one point after the other."""

import json
import os
import random
import re
import select
import signal
import subprocess
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from conftest import _account, _clean, scaled, wait_until
from losses import (COMMANDS, HARMLESS, LOSSES, MOMENTS, ON_ITS_WAY, START, TASKS, Hand, command,
                    is_output, stat_of, wait_moment)
from model_server import ModelServer, calls
from walls import RealOpenshell, make_wall

SEED = int(os.environ["OPENWORKER_TEST_SEED"])  # conftest.py draws it
AT_ONCE = 8
SAID = "Go on where it stopped."
LOST = "Shell state was lost"
NEVER_GOT = "never got it"
# What the person stops, and what happens to the stream at that moment.
CANCELS = ("cancel", "cutcancel")
ENDED = "openworker-runner: it (ended|was killed)|sandbox has ended|container was removed"
CAUSES = {"runner": ENDED, "wall": ENDED, "proxy": "proxy",
          "term": "started anew|gateway|starts the sandbox again"}


class Point(NamedTuple):
    wall: str
    moment: str
    what: str
    face: str = "run"

    def __str__(self):
        return "-".join([self.wall, self.what, self.moment, *[self.face] * (self.face != "run")])


CALLING = [name for name in MOMENTS if name not in START]
# The host has the result, and its model was asked again.
HEARD = ("between", "background")
# Behind each wall what happens, at which moments, and how many of them without --long.
EXEC = ("asked", "asked-half", "output", "output-half", "result", "result-half", "again-hello", "again-resume")
TABLE = {
    "bubblewrap": {**dict.fromkeys(["cut", "up", "down", "deaf", "attach", "stop", "suspend", "runner", "wall", "proxy",
                                    "host"], tuple(MOMENTS)),
                   "shell": ("running", "output"), **dict.fromkeys(CANCELS, tuple(CALLING))},
    "openshell": {**dict.fromkeys(["cut", "up", "down", "deaf", "attach", "inner", "stop", "suspend", "gateway", "term",
                                   "runner", "wall", "host"], tuple(MOMENTS)),
                  "shell": ("running", "output"), **dict.fromkeys(CANCELS, tuple(CALLING))},
    "direct": dict.fromkeys(["cut", "deaf", "attach", "stop", "suspend", "runner", "host"], ()),
}
# Also by `sandbox exec`, which a person calls: there is no agent that could be told. Direct only
# so, for there each call of an agent is asked for.
BY_EXEC = ("cut", "deaf", "attach", "stop", "suspend", "runner", "host")
# Of a task in the background, and the call that waits for it.
BY_TASKS = ("cut", "attach", "deaf", "suspend", "gateway", "runner", "wall", "host")
ALWAYS = ("asked", "output")
# Of the wall that is raised when the folders of a session are changed, and the first call in it.
BY_FOLDERS = ("cut", "attach", "runner", "wall", "host", "gateway")
AGAIN = (*START, "asked", "output")
DRAWN = {"bubblewrap": 4, "openshell": 1, "direct": 3}
ROWS = [f"{wall}-{what}" for wall, whats in TABLE.items() for what in whats]


def points_of(wall, what):
    return [*[Point(wall, moment, what) for moment in TABLE[wall][what]],
            *[Point(wall, moment, what, "exec") for moment in EXEC if what in BY_EXEC],
            *[Point(wall, moment, what, "tasks") for moment in TASKS
              if what in BY_TASKS and wall != "direct"],
            *[Point(wall, moment, what, "folders") for moment in AGAIN
              if what in BY_FOLDERS and wall != "direct"]]


def drawn(wall, what):
    points = points_of(wall, what)
    others = [point for point in points if point.moment not in ALWAYS]
    chosen = random.Random(f"{SEED} {wall} {what}").sample(others, min(DRAWN[wall], len(others)))
    return [point for point in points if point.moment in ALWAYS and point.face == "run" or point in chosen]


# ---- what must hold

def json_of(hand, *argv):
    done = hand.account.run([hand.openworker, *argv, "--json"])
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events_of(hand):
    sessions = json_of(hand, "sessions", "list")
    if not sessions:
        return []
    hand.session = sessions[0]["session"]
    return json_of(hand, "sessions", "show", hand.session)


def check_calls(hand, events):
    """Record, folder and events agree, and no end says more than what happened; the ends, by number."""
    written = hand.lines()
    assert len(set(written)) == len(written), f"an effect happened twice: {written}"
    begun = {event["call"]: event["arguments"]["command"] for event in events
             if event["type"] == "tool-started" and event["tool"] == "shell"}
    ended = [event for event in events if event["type"] == "tool-ended" and event["tool"] == "shell"]
    assert len({event["call"] for event in ended}) == len(ended), "a call ended twice"
    assert {event["call"] for event in ended} >= set(begun), "a call has no end"
    assert len(set(begun.values())) == len(begun), "a call was begun twice"
    numbers = {call: 2 if "end-2" in words else 1 for call, words in begun.items()}
    assert {f"begin-{number}" for number in numbers.values()} >= {word for word in written if word[0] == "b"}
    found = {}
    for event in ended:
        number = numbers.get(event["call"])
        if number is None:
            assert event["outcome"] != "ok", event
            continue
        found[number] = event
        if event["outcome"] == "ok" and event.get("signal") is None:
            assert f"end-{number}" in written and event["exit_status"] == 2 + number, (event, written)
        elif event["outcome"] == "ok":
            assert "exit_status" not in event and f"end-{number}" not in written, (event, written)
        else:
            assert event["outcome"] in ("interrupted", "failed", "cancelled"), event
    [verified] = json_of(hand, "audit", "verify")
    assert verified["clean"] and verified["open"] == [], verified
    if hand.session:
        recorded = [line["event"] for line in json_of(hand, "audit", "show", hand.session)]
        assert {event["call"] for event in recorded
                if event["type"] == "tool-started" and event["tool"] == "shell"} == set(begun)
    return found


def results_told(hand):
    """The texts of the results that the model was given."""
    return [message["content"] for request in hand.server.requests for message in request.messages
            if message["role"] == "tool"]


def check_ended_well(hand, point, status, ends):
    """The stream was made again, and nothing of the session was lost by it."""
    assert status == 0 and set(ends) == {1, 2}, (status, ends, hand.said())
    # Where nothing holds the first one's result the second one may be on its way already.
    late = MOMENTS[point.moment].way == "up" or point.moment in (*HEARD, "result", "result-half")
    assert ends[2]["outcome"] == "ok" or (
        late and ends[2]["outcome"] == "interrupted" and NEVER_GOT in results_told(hand)[-1]
        and "begin-2" not in hand.lines()), (ends[2], hand.lines())
    assert not any(event.get("state_lost") for event in ends.values()), ends
    assert LOST not in str([request.messages for request in hand.server.requests])
    first, told = ends[1], results_told(hand)[0]
    on_way = point.moment in ON_ITS_WAY
    if on_way and (point.what in ("cut", "deaf") or first["outcome"] != "ok"):
        assert first["outcome"] == "interrupted" and NEVER_GOT in told, (first, told)
        assert "begin-1" not in hand.lines(), hand.lines()
        return
    assert first["outcome"] == "ok", first
    # What was on its way when the stream broke was not seen live, and is here.
    if MOMENTS[point.moment].text is None:
        assert re.findall(r"line-\d", told) == [f"line-{i}" for i in range(1, 7)], told


def cause_of(hand):
    [said] = re.findall("(?m)^openworker: (.*)$", hand.said())
    return said


def check_first(hand, point, ends):
    """How the first call ended for who lost its runner, or was killed: a result that had come, or was on its way,
    may be there; where the runner was not given the call nothing was begun."""
    first = ends[1]
    assert first["outcome"] in (["ok"] if point.moment in HEARD else ["ok", "interrupted"]), first
    # What is on its way when the host is killed may still arrive at a sandbox that outlives it.
    outlives = point.what == "proxy" or (point.what, point.wall) == ("host", "openshell")
    if point.moment in ON_ITS_WAY and not outlives:
        assert first["outcome"] == "interrupted" and hand.lines() == [], (first, hand.lines())
    assert 2 not in ends or (first["outcome"] == "ok" and ends[2]["outcome"] != "ok"), ends


def check_lost(hand, point, status, events, ends):
    """The session says what it was lost by; what was open is interrupted."""
    assert status == 1 and events[-1]["type"] == "session-ended" and events[-1]["outcome"] == "failed", (
        status, events[-1], hand.said())
    said = cause_of(hand)
    assert re.search(CAUSES[point.what], said) and events[-1]["message"] in said, said
    check_first(hand, point, ends)
    assert ends[1]["outcome"] == "ok" or ends[1]["state_lost"], ends


def check_refused(hand, status, events, ends):
    """It never began: nothing was run, and why is said."""
    assert status in (1, 69) and ends == {} and hand.lines() == [], (status, ends)
    assert cause_of(hand)
    if events:
        assert events[-1]["type"] == "session-ended" and events[-1]["outcome"] in ("refused", "failed"), events[-1]


def check(hand, point, status):
    events = events_of(hand)
    ends = check_calls(hand, events)
    outcomes = {number: event["outcome"] for number, event in ends.items()}
    hand.notes += [f"status {status}", outcomes, *hand.said().strip().splitlines()[-1:]]
    if point.what == "host":
        assert not events or events[-1]["type"] == "session-ended", events[-1]
        if point.moment not in START:
            check_first(hand, point, ends)
    elif point.what in CANCELS:
        check_cancelled(hand, point, status, events, ends)
    elif point.what == "shell":
        told = [LOST in str(request.messages) for request in hand.server.requests]
        assert status == 0 and any(told[1:]), (status, hand.said())
    elif point.moment in START and status != 0:
        check_refused(hand, status, events, ends)
    elif point.what in LOSSES:
        check_lost(hand, point, status, events, ends)
    else:
        check_ended_well(hand, point, status, ends)
    return events


def check_cancelled(hand, point, status, events, ends):
    """The person's stop is what a call ended by, unless it had ended already."""
    assert status in (0, 1, 130), status
    reasons = [event["reason"] for event in events if event["type"] == "turn-ended"]
    assert reasons == ["stopped"], reasons
    came = point.moment in ("flood", "result", "result-half", *HEARD)
    assert ends[1]["outcome"] in (["cancelled", "ok"] if came else ["cancelled"]), ends
    assert "end-1" not in hand.lines() or came
    assert 2 not in ends or ends[2]["outcome"] == "cancelled" or point.moment in HEARD, ends


def go_on(hand):
    """It is told something and goes on in another sandbox: its agent knows what was lost."""
    before, known = len(hand.server.requests), max(event["seq"] for event in events_of(hand))
    process = hand.account.popen([hand.openworker, "attach", hand.session, "--say", SAID, "--json"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    ended = False
    for line in process.stdout:
        event = json.loads(line)
        if ended := event["type"] == "turn-ended" and event["seq"] > known:
            break
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=scaled(60))
    assert ended and event["reason"] == "done", (event, process.stderr.read())
    assert LOST in str(hand.server.requests[before].messages), hand.server.requests[before].messages
    check_calls(hand, events_of(hand))


def check_nothing_left(hand):
    """After the next start there is nothing of it: process, home, entry, sandbox."""
    if hand.wall.is_openshell and hand.wall.sim.gateway.poll() is not None:
        hand.wall.sim.start()
    wait_until(lambda: hand.account.run([hand.openworker, "sandbox", "reap"]).returncode == 0, 30, "the reaper")
    assert hand.workspace.left() == []
    if hand.wall.is_openshell:
        assert hand.wall.sandboxes() == []
        wait_until(lambda: hand.wall.sim.containers() == {}, 10, "the end of the containers")
    wait_until(lambda: not hand.workspace.processes(), 10, "the end of every process")
    runtime = hand.workspace.runtime / "coworker"
    left = [path.name for path in runtime.iterdir() if path.name not in ("engine", "engine.lock")]
    assert left == [], left


# ---- a point

def first_command(point):
    if point.what in CANCELS and point.moment not in ("flood", "result", "result-half", *HEARD):
        return COMMANDS["cancel"]
    return COMMANDS.get(MOMENTS[point.moment].text, command(1))


def answer_of(point):
    if point.face == "tasks":
        return [calls(("task_start", {"command": command(1)})),
                calls(("task_wait", {"task": "t1", "timeout_s": 60})), {"text": "Done."}]
    late = 1.0 if point.moment in HEARD else 0
    script = [calls(("shell", {"command": first_command(point)})),
              calls(("shell", {"command": command(2)}), wait=late), {"text": "Done."}]

    def answer(request):
        return script[min(sum(message["role"] == "tool" for message in request.messages), 2)]
    return answer


def hold_command(hand):
    """Handles on the processes of the command that runs, to see them end at that moment."""
    return [os.pidfd_open(pid) for word in ("4322", "/dev/zero") for pid in hand.commands(word)]


def wait_cancelled(hand, point, running):
    """Until the command is gone: in ten times of what is meant, and where something is to be made
    again first in some more."""
    begun = time.monotonic()
    for handle in running:
        assert select.select([handle], [], [], scaled(60))[0]
        os.close(handle)
    took = time.monotonic() - begun
    wait_until(lambda: not hand.commands("4322") and not hand.commands("/dev/zero"), 60, "its end")
    if running:
        hand.notes.append(f"gone after {took * 1000:.0f} ms")
    assert took < scaled(1 if point.what == "cancel" and not point.moment.startswith("again") else 3), took


def run_point(hand, point):
    hand.run()
    link, trap = wait_moment(hand, MOMENTS[point.moment])
    if point.moment in HEARD:
        hand.wait(lambda: len(hand.server.requests) == 2, "the second request")
    running = hold_command(hand) if point.what in CANCELS else []
    begun = time.monotonic()
    getattr(hand, f"do_{point.what}")(link)
    trap.release()
    if point.what in CANCELS:
        wait_cancelled(hand, point, running)
    status = hand.end()
    hand.notes.append(f"ended after {time.monotonic() - begun:.1f} s")
    events = check(hand, point, status)
    hand.close()
    if events and (point.what in LOSSES or point.what == "host") and point.moment not in START:
        go_on(hand)
    assert hand.server.faults == [], hand.server.faults
    check_nothing_left(hand)


def exec_point(hand, point):
    hand.exec(command(1))
    link, trap = wait_moment(hand, MOMENTS[point.moment])
    getattr(hand, f"do_{point.what}")(link)
    trap.release()
    status = hand.end()
    written = hand.lines()
    hand.notes += [f"status {status}", written, *hand.said().strip().splitlines()[-1:]]
    assert len(set(written)) == len(written), written
    if status == 3:
        assert written == ["begin-1", "end-1"] and (point.what in HARMLESS or point.moment not in ON_ITS_WAY), written
    else:
        assert status == 1 or point.what == "host", (status, hand.said())
        assert point.what not in HARMLESS or (
            point.moment in ON_ITS_WAY and NEVER_GOT in hand.said()), hand.said()
        assert point.what != "runner" or re.search(CAUSES["runner"], cause_of(hand)), hand.said()
    hand.close()
    check_nothing_left(hand)


def tasks_point(hand, point):
    """It goes on whatever becomes of the stream, and what it wrote is told once and whole."""
    hand.run()
    link, trap = wait_moment(hand, TASKS[point.moment])
    getattr(hand, f"do_{point.what}")(link)
    trap.release()
    status = hand.end()
    told, said = results_told(hand), hand.said()
    ends = [event for event in events_of(hand)
            if event["type"] == "tool-ended" and event["tool"].startswith("task_")]
    outcomes = [event["outcome"] for event in ends]
    hand.notes += [f"status {status}", outcomes, *said.strip().splitlines()[-1:]]
    begun = len(hand.lines()) > 0
    assert hand.lines() in ([], ["begin-1"], ["begin-1", "end-1"]), hand.lines()
    if point.what in HARMLESS:
        assert status == 0 and len(ends) == 2, (status, ends, said)
        assert not any(end.get("state_lost") for end in ends), ends
        assert outcomes[0] == "ok" if begun else NEVER_GOT in told[0], (outcomes, told)
        if outcomes == ["ok", "ok"]:
            assert re.findall(r"line-\d", told[-1]) == [f"line-{i}" for i in range(1, 7)], told
            assert hand.lines() == ["begin-1", "end-1"] and ends[1]["exit_status"] == 3, ends[1]
        else:
            assert point.moment in ("start", "start-half", "wait", "started"), outcomes
    elif status == 0:
        # Nothing holds the last result there, or nothing any more: all may be over before.
        assert point.moment in ("waiting", "waited") and outcomes == ["ok", "ok"], (outcomes, said)
    else:
        assert point.what == "host" or status == 1 and re.search(CAUSES[point.what], said), said
        assert "ok" not in outcomes[1:] or point.moment in ("waiting", "waited"), outcomes
    hand.close()
    check_nothing_left(hand)


def change_folders(hand):
    """While the first call runs, so that another wall is raised behind it."""
    first = hand.middle.trap("down", is_output)
    hand.go()
    first.wait(60)
    other = hand.account.mkdir(hand.workspace.path / "other")
    [session] = json_of(hand, "sessions", "list")
    [changed] = json_of(hand, "sessions", "folders", session["session"], "--add", str(other))
    assert changed["pending"], changed
    first.release()
    hand.step_between()


def folders_point(hand, point):
    """What was done in the old wall stays done, whatever becomes of the new one."""
    hand.run()
    change_folders(hand)
    link, trap = wait_moment(hand, MOMENTS[point.moment])
    getattr(hand, f"do_{point.what}")(link)
    trap.release()
    status = hand.end()
    events = events_of(hand)
    ends = check_calls(hand, events)
    outcomes = {number: event["outcome"] for number, event in ends.items()}
    hand.notes += [f"status {status}", outcomes, *hand.said().strip().splitlines()[-1:]]
    assert outcomes[1] == "ok", outcomes
    if status == 0:
        assert set(outcomes) == {1, 2} and point.what in HARMLESS, outcomes
        assert outcomes[2] == "ok" or point.moment == "asked" and NEVER_GOT in results_told(hand)[-1]
    else:
        assert outcomes.get(2) != "ok" and (point.what not in HARMLESS or point.moment in START)
        assert events[-1]["type"] == "session-ended", events[-1]
        assert point.what == "host" or events[-1]["message"] in cause_of(hand)
    hand.close()
    if status != 0:
        go_on(hand)
    check_nothing_left(hand)


def try_point(point, account, openworker, ids, said):
    """The point in a workspace of its own; @said grows by what is worth knowing of it."""
    real = point.wall == "openshell" and RealOpenshell.COMMAND
    made = RealOpenshell(account) if real else make_wall(
        point.wall, account, ids, speed=0.1, drain=0.06)
    try:
        with ModelServer(answer_of(point)) as server:
            hand = Hand(account, openworker, made, server)
            hand.notes = said
            try:
                {"exec": exec_point, "tasks": tasks_point, "folders": folders_point,
                 "run": run_point}[point.face](hand, point)
            finally:
                if hand.process is not None and hand.process.poll() is None and stat_of(hand.process.pid)[0] in "Tt":
                    hand.process.send_signal(signal.SIGCONT)
                hand.close()
    finally:
        made.end()


def attempt(point, openworker, programs, ids):
    """(what was said, what failed)"""
    # Only root can look into the containers of a real engine.
    who = (0, 0) if RealOpenshell.COMMAND and os.geteuid() == 0 and point.wall == "openshell" else ids
    account, error, begun = _account(*who, programs), None, time.monotonic()
    said = []
    try:
        try_point(point, account, openworker, ids, said)
    except (Exception, pytest.fail.Exception):  # whatever it was, the other points go on
        error = traceback.format_exc(limit=-3)
    left = _clean(account)
    if left:
        error = f"{error or ''}processes were left behind: {left}"
    return f"{time.monotonic() - begun:.1f} s; " + "; ".join(map(str, said)), error


@pytest.mark.parametrize("row", ROWS)
def test_P13_P10_P04_P03_A01_loss(request, programs, ordinary_ids, row):
    wall_name, what = row.split("-")
    only = os.environ.get("OPENWORKER_TEST_POINT")
    points = points_of(wall_name, what) if only or request.config.getoption("--long") else drawn(wall_name, what)
    points = [point for point in points if not only or re.fullmatch(only, str(point))]
    print(f"OPENWORKER_TEST_SEED={SEED}")
    # A real gateway is the same for all.
    alone = RealOpenshell.COMMAND and wall_name == "openshell"
    with ThreadPoolExecutor(1 if alone else AT_ONCE) as pool:
        tried = [pool.submit(attempt, point, programs / "openworker", programs, ordinary_ids) for point in points]
    failed = {}
    for point, future in zip(points, tried):
        said, error = future.result()
        print(f"--- {point}: {'FAILED' if error else 'ok'}\n{said}")
        if error:
            failed[str(point)] = error
    assert not failed, "\n".join(f"{point}: {error}" for point, error in failed.items())


def test_points_are_fifty_and_more_behind_each_wall():
    for wall in ("bubblewrap", "openshell"):
        points = [point for what in TABLE[wall] for point in points_of(wall, what)]
        assert len(set(map(str, points))) == len(points) >= 50
