# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The hands of test_loss.py: a session behind a wall, with a middle in its stream (middle.py), what can be
waited for in the life of a call, and what can then be done to it."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from conftest import scaled, wait_until
from middle import Middle

# A channel that hears nothing for so long attaches again (docs/runner-protocol.md).
SILENCE = 10
TASK = "Do both."


def command(number):
    """Its effects can be counted, its status is its own, and it says something all the time."""
    return (f"echo begin-{number} >> log; for i in 1 2 3 4 5 6; do echo line-$i; sleep 0.08; done; "
            f"echo end-{number} >> log; (exit {2 + number})")


# The first call, where it has to be another one. Each has the same effects and the same end.
COMMANDS = {
    "quiet": "echo begin-1 >> log; sleep 1.2; echo end-1 >> log; (exit 3)",
    "flood": "echo begin-1 >> log; head -c 60000000 /dev/zero | tr '\\0' 'y'; echo end-1 >> log; (exit 3)",
    "background": ("echo begin-1 >> log; (for i in $(seq 100); do echo $i >> ticks; sleep 0.1; done) & "
                   "echo end-1 >> log; (exit 3)"),
    "cancel": "echo begin-1 >> log; setsid sleep 4321 & echo line-1; sleep 4322; echo end-1 >> log; (exit 3)",
}


# ---- processes

def stat_of(pid):
    """(state, parent)"""
    fields = Path("/proc", str(pid), "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    return fields[0], int(fields[1])


def words_of(pid):
    return Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]


def below(*roots):
    """All that these have started and that lives, whatever it made of itself: {pid: words}."""
    children, found = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = stat_of(entry)
        except OSError:
            continue
        if state != "Z":
            children.setdefault(parent, []).append(int(entry))
    waiting = list(roots)
    while waiting:
        for pid in children.get(waiting.pop(), []):
            try:
                found[pid] = words_of(pid)
            except OSError:
                continue
            waiting.append(pid)
    return found


def sharing_pids(of):
    """All in the namespace of a process of @of: {pid: words}."""
    found = {}
    try:
        marks = {os.readlink(f"/proc/{pid}/ns/pid") for pid in of}
    except OSError:
        return {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/ns/pid") in marks:
                found[int(entry)] = words_of(entry)
        except OSError:
            continue
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


# ---- a session

class Hand:
    """One session of @account behind @wall, and what disturbs it."""

    def __init__(self, account, openworker, wall, server):
        self.account, self.workspace, self.openworker = account, account.workspace, openworker
        self.wall, self.server = wall, server
        self.process, self.middle, self.session, self.walls = None, None, None, 0

    def begin(self, words):
        """Starts it, and stands in its stream before anything is said there."""
        self.process = self.account.popen(
            [self.openworker, *words], stdin=subprocess.DEVNULL,
            env={"OPENWORKER_TEST_STATE": "wall-up", "OPENWORKER_SANDBOX_PATIENCE": round(scaled(4))},
            stdout=open(self.workspace.path / "out", "wb"), stderr=open(self.workspace.path / "err", "wb"))
        self.step_between()

    def step_between(self):
        """Into the stream of the wall that has just been raised; the program waits."""
        self.walls += 1
        self.wait(lambda: self.said().count("state wall-up") == self.walls
                  and stat_of(self.process.pid)[0] in "Tt", "the wall")
        self.close()
        self.middle = Middle(self.account, wait_until(self.socket, 20, "the runner's socket"))

    def go(self):
        self.process.send_signal(signal.SIGCONT)

    def run(self):
        self.begin(["run", *self.wall.argv, "--approve", "sandboxed", "--folder", self.workspace.folder, "--model",
                    "openai:any", "--base-url", self.server.url, TASK])

    def exec(self, text):
        self.begin(["sandbox", "exec", *self.wall.argv, "--folder", self.workspace.folder, "--", "bash", "-c", text])

    def said(self):
        return (self.workspace.path / "err").read_text(errors="replace")

    def lines(self, name="log"):
        path = Path(self.workspace.folder) / name
        return path.read_text().split() if path.exists() else []

    def wait(self, condition, what, seconds=60):
        def look():
            assert self.process.poll() is None or condition(), (
                f"it ended before {what}: {self.said()} {(self.workspace.path / 'out').read_text()[-600:]}")
            return condition()
        return wait_until(look, seconds, what)

    def end(self, seconds=120):
        """Its exit status."""
        return self.process.wait(timeout=scaled(seconds))

    def close(self):
        if self.middle is not None:
            self.middle.close()
            self.middle = None

    # --- who is there ---

    def box(self):
        """The name of its sandbox."""
        return self.wall.sim.box_of(self.workspace)

    def serving(self):
        """The processes that `serve` is, and its children that wait for the next file tool."""
        folder, found = str(self.workspace.folder), []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = words_of(entry)
            except OSError:
                continue
            if words and words[0].endswith("openworker-runner") and words[1:2] == ["serve"] and folder in words:
                found.append(int(entry))
        return found

    def socket(self):
        if self.wall.is_openshell:
            paths = [Path(f"/proc/{pid}/root/tmp/.openworker.sock") for pid in self.serving()[:1]]
        else:
            paths = list((self.workspace.runtime / "coworker").glob("*/runner.sock"))
        return next((path for path in paths if path.exists()), None)

    def members(self):
        """The processes inside: {pid: words}."""
        if self.wall.is_openshell:
            return sharing_pids(self.serving()[:1])
        every = below(self.process.pid)
        if self.wall.name == "direct":
            return {pid: words for pid, words in every.items() if words[1:2] != ["attach"]}
        return below(*[pid for pid, words in every.items() if words and words[0].endswith("bwrap")])

    def runner(self):
        """None when it has ended already."""
        pids = self.serving()
        for pid in pids:
            try:
                if stat_of(pid)[1] not in pids:
                    return pid
            except OSError:
                continue
        return None

    def relays(self):
        """What carries the stream on the host's side."""
        return [pid for pid, words in below(self.process.pid).items()
                if "attach" in words and (words[0].endswith("openworker-runner") or "exec" in words)
                and pid not in self.members()]

    def commands(self, word):
        """Processes of a call, by a word of theirs."""
        return [pid for pid, words in self.members().items() if word in words]

    # --- what is done; each returns when it is done ---

    def do_cut(self, link):
        link.cut()

    def do_up(self, link):
        link.cut_half("up")

    def do_down(self, link):
        link.cut_half("down")

    def wait_another(self, number):
        """Until there are more than @number connections, or nobody waits for one."""
        wait_until(lambda: len(self.middle.links) > number or self.process.poll() is not None, 60, "another attach")

    def do_deaf(self, link):
        """Until another attach has come, which takes the place of this one."""
        number = len(self.middle.links)
        link.fall_silent()
        self.wait_another(number)

    def do_attach(self, link):
        send(self.relays(), signal.SIGKILL)

    def do_inner(self, link):
        send([pid for pid, words in self.members().items() if "attach" in words and "serve" not in words][-1:],
             signal.SIGKILL)

    def do_stop(self, link):
        """It stands still until another one has come, and then goes on."""
        relays, number = self.relays(), len(self.middle.links)
        send(relays, signal.SIGSTOP)
        try:
            self.wait_another(number)
        finally:
            send(relays, signal.SIGCONT)

    def do_suspend(self, link):
        """All of it stands still for longer than any silence, as in a machine that sleeps."""
        every = [self.process.pid, *below(self.process.pid), *self.members()]
        send(every, signal.SIGSTOP)
        time.sleep(SILENCE + 1.5)
        send(reversed(every), signal.SIGCONT)

    def do_runner(self, link):
        send(filter(None, [self.runner()]), signal.SIGKILL)

    def do_wall(self, link):
        if self.wall.is_openshell:
            self.wall.sim.kill_container(self.box())
            return
        every = below(self.process.pid)
        outer = [pid for pid, words in every.items() if words and words[0].endswith("bwrap")]
        send([*outer, *self.members()], signal.SIGKILL)

    def do_shell(self, link):
        """The runner's, which may not have been begun yet; a relay has one of its own."""
        def shells():
            return [pid for pid, words in below(self.runner()).items()
                    if words and re.search(r"(^|/)bash$", words[0])]
        send(wait_until(shells, 20, "the shell")[-1:], signal.SIGKILL)

    def do_proxy(self, link):
        send([pid for pid, words in below(self.process.pid).items()
              if words and words[0].endswith("openworker-proxy")], signal.SIGKILL)

    def do_host(self, link):
        send([self.process.pid], signal.SIGKILL)
        self.process.wait()

    def do_term(self, link):
        self.wall.sim.restart()

    def do_gateway(self, link):
        self.wall.sim.kill()
        self.wall.sim.start()

    def do_cancel(self, link):
        self.process.send_signal(signal.SIGINT)

    def do_cutcancel(self, link):
        link.cut()
        self.process.send_signal(signal.SIGINT)


# ---- when: (way, which message, how much of it is let through)

def is_hello(link, message):
    return message.get("method") == "notifications/openworker/hello"


def is_method(name):
    return lambda link, message: message.get("method") == name


def is_first_call(link, message):
    """As it is asked for the first time, or joined."""
    return message.get("method") == "tools/call" and message["params"]["name"] in ("shell", "exec")


def is_output(link, message):
    return message.get("method") == "notifications/openworker/output"


def is_result(link, message):
    return "exit_status" in (message.get("result") or {}).get("structuredContent", {})


def is_initialized(link, message):
    return "serverInfo" in (message.get("result") or {})


def is_call_of(name):
    return lambda link, message: message.get("method") == "tools/call" and message["params"]["name"] == name


def is_task(ended):
    """What `task_start` gave, or `task_wait`."""
    def fits(link, message):
        facts = (message.get("result") or {}).get("structuredContent", {})
        return "task" in facts and ended == (facts["state"] == "ended")
    return fits


def on_second(fits):
    return lambda link, message: link.number == 2 and fits(link, message)


class Moment:
    """@first: the stream is cut in the middle of the first call's output before that."""

    def __init__(self, way, fits, part, text=None, first=False):
        self.way, self.fits, self.part, self.text, self.first = way, fits, part, text, first


MOMENTS = {
    # Before there is a session.
    "hello": Moment("down", is_hello, 0), "hello-half": Moment("down", is_hello, 0.5),
    "initialize": Moment("up", is_method("initialize"), 0.5), "initialized": Moment("down", is_initialized, 0.5),
    # A call on its way there.
    "asked": Moment("up", is_first_call, 0), "asked-half": Moment("up", is_first_call, 0.5),
    # It runs.
    "running": Moment("up", is_first_call, 1, "quiet"), "output": Moment("down", is_output, 0),
    "output-half": Moment("down", is_output, 0.5), "flood": Moment("down", is_output, 0.5, "flood"),
    # Its result is on its way back, and is there.
    "result": Moment("down", is_result, 0), "result-half": Moment("down", is_result, 0.5),
    "between": Moment("down", is_result, 1), "background": Moment("down", is_result, 1, "background"),
    # While the stream is made again.
    "again-hello": Moment("down", on_second(is_hello), 0, first=True),
    "again-initialize": Moment("up", on_second(is_method("initialize")), 0.5, first=True),
    "again-resume": Moment("up", on_second(is_method("openworker/resume")), 0.5, first=True),
    "again-join": Moment("up", on_second(is_first_call), 0.5, first=True),
}
# Of a task that runs in the background.
TASKS = {
    "start": Moment("up", is_call_of("task_start"), 0), "start-half": Moment("up", is_call_of("task_start"), 0.5),
    "started": Moment("down", is_task(False), 0.5),
    "wait": Moment("up", is_call_of("task_wait"), 0), "waiting": Moment("up", is_call_of("task_wait"), 1),
    "waited": Moment("down", is_task(True), 0.5),
}
START = ("hello", "hello-half", "initialize", "initialized")
# The runner was not given the whole of it.
ON_ITS_WAY = ("asked", "asked-half")
# What the same runner outlives: each call goes on, and is heard again.
HARMLESS = ("cut", "up", "down", "deaf", "attach", "inner", "stop", "suspend", "gateway")
LOSSES = ("runner", "wall", "proxy", "term")


def wait_moment(hand, moment):
    """The link at the moment and its trap, which is not released."""
    if moment.first:
        first = hand.middle.trap("down", is_output)
        trap = hand.middle.trap(moment.way, moment.fits, moment.part)
        hand.go()
        first.wait(60).cut()
        first.release()
    else:
        trap = hand.middle.trap(moment.way, moment.fits, moment.part)
        hand.go()
    hand.wait(trap.is_reached, "the moment")
    return trap.link, trap
