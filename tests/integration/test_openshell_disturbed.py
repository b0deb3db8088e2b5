# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session behind the simulated openshell while what carries it is disturbed: the gateway is
stopped, killed, started again or held, its command is killed, and so are `attach`, the runner and
the shell inside; the container is removed, killed, paused, or gone behind a phase that says Ready.
At each of these points a call ends finished, once, or interrupted; no call begins twice and none
succeeds by accident; the session goes on or says what became of its wall; and nothing is left at
the end (holes P03, P04, P10, P13, A01).

All points run with --long, else the ones of KEPT and some more, drawn by OPENWORKER_TEST_SEED."""

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
from model_server import ModelServer, calls
from walls import make_wall

SEED = int(os.environ["OPENWORKER_TEST_SEED"])  # conftest.py draws it
DRAWN = 4
TASK, SAID = "Do both.", "Go on where it stopped."
HOST = "wanted.example"
# How long a session waits for a gateway that is gone; a person's setting.
PATIENCE = 4
LOST = "Shell state was lost"


def command(number):
    """Its effects can be counted, its status is its own, and it says something all the time."""
    return (f"echo begin-{number} >> log; for i in 1 2 3 4 5 6 7 8 9 10; do echo line-$i; sleep 0.08; done; "
            f"echo end-{number} >> log; (exit {2 + number})")


def lines(workspace):
    path = Path(workspace.folder) / "log"
    return path.read_text().split() if path.exists() else []


# ---- what is done

def parent_of(pid):
    return int(Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[1])


class Disturbed:
    """One session, and the hands that disturb it."""

    def __init__(self, account, workspace, openworker, wall, server, seed):
        self.account, self.workspace, self.openworker = account, workspace, openworker
        self.sim, self.server, self.random = wall.sim, server, random.Random(seed)
        self.process, self.session, self.aside = None, None, []

    # --- who is there ---

    def start(self):
        self.process = self.account.popen(
            [self.openworker, "run", "--provider", "openshell", "--approve", "sandboxed", "--folder",
             self.workspace.folder, "--model", "openai:any", "--base-url", self.server.url, TASK],
            env={"OPENWORKER_SANDBOX_PATIENCE": round(scaled(PATIENCE))}, stdin=subprocess.DEVNULL,
            stdout=open(self.workspace.path / "out", "wb"), stderr=open(self.workspace.path / "err", "wb"))

    def said(self):
        return (self.workspace.path / "err").read_text(errors="replace")

    def wait(self, condition, what):
        def look():
            assert self.process.poll() is None or condition(), f"it ended before {what}: {self.said()}"
            return condition()
        wait_until(look, 60, what)

    def asked(self, *words):
        """How often openshell was called so."""
        return sum(all(word in argv for word in words) for _, _, argv in self.sim.calls())

    def box(self):
        return next(iter(self.sim.containers()))

    def members(self, word):
        """The processes inside whose command has @word, the newest last."""
        found = self.sim.members(self.box())
        return [pid for pid, line in sorted(found.items()) if re.search(word, line)]

    def kill_member(self, word):
        pids = wait_until(lambda: self.members(word), 10, word)
        os.kill(pids[-1], signal.SIGKILL)

    def kill_command(self, words="sandbox exec .* attach "):
        """The command on the host's side that carries the stream, or another."""
        def find():
            return [pid for pid, line in self.workspace.processes().items() if re.search(f"openshell {words}", line)]
        for pid in wait_until(find, 20, "the command"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    # --- when ---

    def when_before(self):
        self.wait(lambda: len(self.server.requests) == 1, "the first request")

    def when_output(self):
        self.wait(lambda: "begin-1" in lines(self.workspace), "the first call")
        time.sleep(self.random.uniform(0, 0.75))

    def when_end(self):
        self.wait(lambda: "end-1" in lines(self.workspace), "the end of the first call")
        time.sleep(self.random.choice([0, 0, 0.002, 0.01]))

    def when_between(self):
        self.wait(lambda: len(self.server.requests) == 2, "the second request")

    def when_attach(self):
        """While the stream is made again."""
        self.when_output()
        before = self.asked("attach")
        self.kill_command()
        self.wait(lambda: self.asked("attach") > before, "another attach")
        time.sleep(self.random.uniform(0, 0.06))

    def when_create(self):
        self.wait(lambda: self.asked("sandbox", "create"), "the create")
        time.sleep(self.random.uniform(0, 0.9))

    def when_delete(self):
        self.wait(lambda: self.asked("sandbox", "delete"), "the delete")
        time.sleep(self.random.uniform(0, 0.9))

    def when_policy(self):
        """While the policy of the sandbox is changed, and the first call runs."""
        self.when_output()
        name = self.box()
        self.aside.append(self.account.popen(
            [self.sim.programs / "openshell", "policy", "update", name, "--add-endpoint", f"{HOST}:443:full",
             "--binary", "/**", "--wait"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL))
        self.wait(lambda: self.asked("policy", "update"), "the change of the policy")
        time.sleep(self.random.uniform(0, 0.3))

    # --- what ---

    def do_term(self):
        self.sim.restart()

    def do_kill(self):
        self.sim.kill()
        time.sleep(self.random.choice([0, 0.1, 0.6]))
        self.sim.start()

    def do_never(self):
        self.sim.kill()

    def do_hold(self):
        os.kill(self.sim.gateway.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(self.sim.gateway.pid, signal.SIGCONT)

    def do_command(self):
        self.kill_command()

    def do_deletion(self):
        self.kill_command("sandbox delete ")

    def do_inside(self):
        self.kill_member(r"runner attach ")

    def do_runner(self):
        """The runner itself, and not its child that waits for the next file tool."""
        pids = wait_until(lambda: self.members(r"runner serve "), 10, "the runner")
        [runner] = [pid for pid in pids if parent_of(pid) not in pids]
        os.kill(runner, signal.SIGKILL)

    def do_shell(self):
        self.kill_member(r"(^|/)bash\b(?!.*runner)")

    def do_remove(self):
        self.sim.remove_container(self.box())

    def do_death(self):
        self.sim.kill_container(self.box())

    def do_pause(self):
        self.sim.pause(self.box())

    def do_phantom(self):
        self.sim.phantom(self.box())


GATEWAY = ["before", "output", "output", "output", "output", "end", "between", "attach", "create", "delete", "policy"]
INSIDE = {"command": ["before", "output", "output", "end", "between", "attach"],
          "deletion": ["delete"],
          "inside": ["output", "output", "end", "between"],
          "runner": ["before", "output", "output", "end", "between", "attach"],
          "shell": ["output", "output", "between"],
          "remove": ["before", "output", "end", "between", "attach"],
          "death": ["output", "end", "between"],
          "pause": ["output", "between"],
          "phantom": ["output", "between"]}
POINTS = [f"{what}-{when}-{number}" for what, moments in
          [*((what, GATEWAY) for what in ("term", "kill", "never", "hold")), *INSIDE.items()]
          for number, when in enumerate(moments)]
# One of each kind that differs, for each run; guards name some of them.
KEPT = ["term-output-1", "kill-output-1", "kill-end-5", "never-output-1", "command-output-1", "runner-output-1",
        "remove-between-3", "kill-delete-9", "kill-create-8"]
# After these the same runner is there, and each call is joined: the session goes on as if nothing
# had been.
HARMLESS = {"kill", "hold", "command", "inside", "shell"}
# What is said where the wall is lost: who is to blame, in words of a person.
CAUSES = {"term": "started anew|gateway|OpenShell starts the sandbox again", "never": "gateway",
          "runner": "sandbox has ended", "death": "sandbox has ended", "remove": "container was removed",
          "pause": "paused", "phantom": "stream to the sandbox broke"}
# The work is done, and the sandbox is left to the next start.
NOT_ENDED = "The sandbox could not be ended"


def pytest_generate_tests(metafunc):
    if "point" not in metafunc.fixturenames:
        return
    points = POINTS
    if not metafunc.config.getoption("--long"):
        others = [point for point in POINTS if point not in KEPT and point.split("-")[0] not in ("pause", "phantom")]
        points = KEPT + random.Random(SEED).sample(others, DRAWN)
    metafunc.parametrize("point", points)


# ---- what must hold

def events_of(hand):
    listed = hand.account.run([hand.openworker, "sessions", "list", "--json"])
    assert listed.returncode == 0, listed.stderr
    sessions = [json.loads(line) for line in listed.stdout.splitlines()]
    if not sessions:
        return []
    hand.session = sessions[0]["session"]
    shown = hand.account.run([hand.openworker, "sessions", "show", hand.session, "--json"])
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


def check_calls(hand, events):
    """Record, folder and events agree, and no end says more than what happened; the ends, by number."""
    written = lines(hand.workspace)
    assert len(set(written)) == len(written), f"an effect happened twice: {written}"
    begun = {event["call"]: event["arguments"]["command"] for event in events
             if event["type"] == "tool-started" and event["tool"] == "shell"}
    ended = [event for event in events if event["type"] == "tool-ended" and event["tool"] == "shell"]
    assert len({event["call"] for event in ended}) == len(ended), "a call ended twice"
    assert {event["call"] for event in ended} >= set(begun), "a call has no end"
    assert len(set(begun.values())) == len(begun), "a call was begun twice"
    numbers = {call: number for call, words in begun.items() for number in (1, 2)
               if words == command(number)}
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
            assert event["outcome"] in ("interrupted", "failed"), event
            assert "exit_status" not in event, event
    verified = json.loads(hand.account.run([hand.openworker, "audit", "verify", "--json"]).stdout)
    assert verified["clean"] and verified["open"] == [], verified
    if hand.session:
        shown = hand.account.run([hand.openworker, "audit", "show", hand.session, "--json"])
        recorded = [json.loads(line)["event"] for line in shown.stdout.splitlines()]
        assert {event["call"] for event in recorded
                if event["type"] == "tool-started" and event["tool"] == "shell"} == set(begun)
    return found


def check_told(hand, point, status, events, ends):
    """Agent and person know of it: what a session that goes on was told, and why one ended."""
    what, when, _ = point.split("-")
    if events and events[-1]["outcome"] == "done":
        assert status == 0 and set(ends) == {1, 2}, (status, ends)
        told = any(LOST in str(request.messages) for request in hand.server.requests)
        # A call that was on its way when the stream broke has cost nothing else.
        lost = [event for event in ends.values() if event.get("state_lost")]
        assert told == bool(lost), ends
        assert what != "runner", "the runner was killed, and nothing came of it"
        return
    cause = CAUSES.get(what) if when != "delete" else NOT_ENDED
    if when == "create" and status == 69:
        cause = "gateway|stream to the sandbox broke"
    else:
        assert status == 1 and (what not in HARMLESS or when == "delete"), (status, ends, hand.said())
    [said] = re.findall("(?m)^openworker: (.*)$", hand.said())
    assert re.search(cause, said), said
    if events:
        assert events[-1]["type"] == "session-ended", events[-1]
        assert events[-1]["outcome"] == ("refused" if status == 69 else "failed"), events[-1]
        assert events[-1]["message"] in said, (events[-1], said)


def go_on(hand):
    """The session is told something and goes on in another sandbox: its agent knows what was lost, and what is
    asked of it is done."""
    before = len(hand.server.requests)
    process = hand.account.popen([hand.openworker, "attach", hand.session, "--say", SAID, "--json"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    ended = False
    for line in process.stdout:
        event = json.loads(line)
        if ended := event["type"] == "turn-ended" and len(hand.server.requests) > before:
            break
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=scaled(60))
    assert ended and event["reason"] == "done", process.stderr.read()
    assert hand.server.faults == []
    assert LOST in str(hand.server.requests[before].messages), hand.server.requests[before].messages


def check_nothing_left(hand, wall):
    """The gateway is there again; the next start, or `sandbox reap`, takes away what is left."""
    if hand.sim.gateway.poll() is not None:
        hand.sim.start()
    wait_until(lambda: hand.account.run([hand.openworker, "sandbox", "reap"]).returncode == 0, 30, "the reaper")
    assert wall.sandboxes() == []
    assert hand.workspace.left() == []
    wait_until(lambda: hand.sim.containers() == {}, 10, "the end of the containers")
    wait_until(lambda: not hand.workspace.processes(), 10, "the end of every process")


@pytest.fixture
def openshell(ordinary_user, ordinary_ids):
    made = make_wall("openshell", ordinary_user, ordinary_ids, speed=0.1, drain=0.06)
    yield made
    made.end()


def test_P10_P13_A01_P04_disturbed(ordinary_user, workspace, openworker, openshell, point):
    what, when, _ = point.split("-")
    seed = f"{SEED} {point}"
    print(f"OPENWORKER_TEST_SEED={SEED} {point}")
    script = [calls(("shell", {"command": command(1)}), wait=1.2 if when == "before" else 0),
              calls(("shell", {"command": command(2)}), wait=1.2 if when == "between" else 0),
              {"text": "Done."}]

    def answer(request):
        done = sum(message["role"] == "tool" for message in request.messages)
        return script[min(done, 2)]
    if when in ("create", "delete"):
        openshell.sim.slow(when, 1)
    with ModelServer(answer) as server:
        hand = Disturbed(ordinary_user, workspace, openworker, openshell, server, seed)
        hand.start()
        getattr(hand, f"when_{when}")()
        getattr(hand, f"do_{what}")()
        begun = time.monotonic()
        status = hand.process.wait(timeout=scaled(120))
        took = time.monotonic() - begun
        openshell.sim.slow(when, 0)
        events = events_of(hand)
        ends = check_calls(hand, events)
        check_told(hand, point, status, events, ends)
        print(f"{point}: status {status} after {took:.1f} s, ends "
              f"{ {number: event['outcome'] for number, event in ends.items()} }, "
              f"{hand.said().strip().splitlines()[-1:]}")
        for process in hand.aside:
            process.wait(timeout=scaled(60))
        check_nothing_left(hand, openshell)
        if events and events[-1]["outcome"] == "failed" and ends:
            go_on(hand)
            check_calls(hand, events_of(hand))
            check_nothing_left(hand, openshell)


def test_points_are_fifty_and_more():
    assert len(set(POINTS)) == len(POINTS) >= 50
    assert set(KEPT) <= set(POINTS)
