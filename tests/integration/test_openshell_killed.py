# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Kill points of a sandbox at OpenShell: the program, its `openshell` or both end in the middle of
a create, a verification, a change of folders or a delete, at a named state, at a moment of a call,
or at any moment. After the next start nothing of ours is left here or at the gateway, and nobody
else's sandbox was touched (REQ-W11; holes S21, A43).

Without --long only some of the points are run, drawn anew each time; OPENWORKER_TEST_SEED repeats
a draw and its delays."""

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from typing import NamedTuple

import pytest
from conftest import _account, _clean, scaled, wait_until
from container_engine import ContainerEngine
from engines import Up, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim

SEED = int(os.environ["OPENWORKER_TEST_SEED"])  # conftest.py draws it
CHOSEN = 8
POLICY = ("version: 1\nfilesystem_policy:\n  read_only: [/usr, /lib, /etc, /proc, /sandbox]\n"
          "  read_write: [/tmp, /dev/null]\nprocess:\n  run_as_user: \"{0}\"\n  run_as_group: \"{1}\"\n")
FOREIGN = {"ow-0123456789ab": ["openworker=1", "openworker-owner=0123456789abcdef"], "plain": []}
ANSWERS = ("while :; do if [ -e ask ]; then mv ask answer; fi; [ -e begun ] || touch begun; [ -e go ] && exit; "
           "sleep 0.05; done")


class Point(NamedTuple):
    """Where @who is killed: at @state; or up to @span seconds after the call @call was begun (@heard: its gateway
    has it) or after the start, with @slow stages. @recreate: in an engine that changes a session's folders."""

    who: str
    state: str = None
    call: tuple = None
    heard: bool = False
    span: float = 0.05
    slow: dict = {}
    fail: tuple = None
    before: str = None
    recreate: bool = False
    number: int = 0

    def __str__(self):
        where = self.state or "-".join([*(self.call or ["moment"]), *self.slow, *["heard"] * self.heard])
        words = ["again" if self.recreate else "", "reaper" if self.before else "", where, self.who,
                 str(self.number or "")]
        return "-".join(filter(None, words)).replace(":", ".")


CREATE, DELETE, EXEC = ("sandbox", "create"), ("sandbox", "delete"), ("sandbox", "exec")
START = ["registry-written", "home-made", "plan-made", "wall-starting", "openshell-reserved", "openshell-created",
         "openshell-verified", "mounts-proven", "stopping", "wall-stopped", "stopped"]
CALLING = ["openshell-creating", "openshell-progress", "openshell-progress:3", "wall-up", "channel-up", "mount-proving",
           "openshell-deleting"]
AGAIN = ["changing", "openshell-deleting", "old-wall-stopped", "old-wall-removed", "registry-written:2", "home-made:2",
         "plan-made:2", "wall-starting:2", "openshell-reserved:2", "openshell-creating:2", "openshell-progress:9",
         "openshell-created:2", "wall-up:2", "channel-up:2", "openshell-verified:2", "mounts-proven:2"]
AGAIN_CALLING = ["openshell-deleting", "openshell-creating:2", "wall-up:2"]
WHO = ["engine", "cli", "both"]
MOMENTS = [
    *[Point(who, call=CREATE, span=0.03, number=n) for who in WHO for n in (1, 2, 3)],
    *[Point(who, call=CREATE, heard=True, span=0.6, slow={"request": 0.8}, number=n) for who in WHO for n in (1, 2)],
    *[Point(who, call=CREATE, heard=True, span=1, slow={"image": 1}, number=n) for who in WHO for n in (1, 2)],
    *[Point(who, call=CREATE, heard=True, span=1, slow={"create": 1}, number=n) for who in WHO for n in (1, 2)],
    *[Point(who, call=DELETE, heard=True, span=1.2, slow={"delete": 1}, number=n) for who in WHO for n in (1, 2)],
    *[Point(who, call=EXEC, heard=True, span=0.8, slow={"exec": 0.5}) for who in WHO],
    *[Point("engine", span=2.5, number=n) for n in range(1, 9)], *[Point("both", span=2.5, number=n) for n in (1, 2)],
]
POINTS = [
    *[Point("engine", state) for state in START], *[Point(who, state) for state in CALLING for who in WHO],
    *[Point(who, "openshell-undone", fail=("create", "start")) for who in ("engine", "both")],
    *[Point("engine", state, before="openshell-created") for state in ("reaper-listed", "reaped")],
    *[Point(who, call=DELETE, heard=True, span=1.2, slow={"delete": 1}, before="openshell-created") for who in WHO],
    *[Point("engine", state, recreate=True) for state in AGAIN],
    *[Point(who, state, recreate=True) for state in AGAIN_CALLING for who in ("cli", "both")],
    *MOMENTS,
]
# Drawn or not, these are run.
ALWAYS = [
    Point("cli", "openshell-creating"), Point("engine", "mounts-proven"),
    Point("engine", "openshell-creating:2", recreate=True),
    Point("cli", call=CREATE, heard=True, span=0.6, slow={"request": 0.8}, number=1)]


def pytest_generate_tests(metafunc):
    if "point" not in metafunc.fixturenames:
        return
    points, fixed = POINTS, {str(point) for point in ALWAYS}
    if not metafunc.config.getoption("--long"):
        others = [point for point in POINTS if str(point) not in fixed]
        points = [*ALWAYS, *random.Random(SEED).sample(others, CHOSEN - len(ALWAYS))]
    metafunc.parametrize("point", points, ids=str)


class Instance:
    """One program of @account: with directories of its own below @place, or the account's usual ones."""

    def __init__(self, account, openworker, sim, ids, place=None):
        self.account, self.openworker, self.sim, self.ids = account, openworker, sim, ids
        workspace = account.workspace
        home = place or workspace.home
        self.state = (place / "state" if place else home / ".local/state") / "coworker"
        self.config = (place / "config" if place else home / ".config") / "coworker"
        self.runtime = (place / "run" if place else workspace.runtime) / "coworker"
        self.folder = place / "folder" if place else workspace.folder
        self.other = (place or workspace.path) / "other"
        self.env = {}
        if place:
            self.env = {"XDG_STATE_HOME": place / "state", "XDG_CONFIG_HOME": place / "config",
                        "XDG_DATA_HOME": place / "data", "XDG_RUNTIME_DIR": place / "run"}
            for path in self.env.values():
                account.mkdir(path, 0o700)
            (place / "config/openshell").symlink_to(workspace.home / ".config/openshell")
        for path in (self.folder, self.other):
            account.mkdir(path)
            # Nothing in a sandbox of OpenShell runs as root: the folders are another account's.
            os.chown(path, *ids)

    def words(self, command):
        return ["sandbox", "exec", "--provider", "openshell", "--folder", self.folder, "--", *command]

    def popen(self, *command, env=None):
        return self.account.popen(
            [self.openworker, *self.words(command)], env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run(self, *argv, env=None, **options):
        return self.account.run([self.openworker, *argv], env={**self.env, **(env or {})},
                                **options)

    def exec(self, *command, **options):
        return self.run(*self.words(command), **options)

    def start(self):
        """The next start. What it is for succeeds too."""
        done = self.exec("true")
        assert done.returncode == 0, done.stderr
        return done

    def hold(self):
        """A session that answers until it is told to go on or is killed."""
        process = self.popen("sh", "-c", ANSWERS)
        wait_until(lambda: (self.folder / "begun").exists() or process.poll() is not None, 30, "it")
        assert process.poll() is None, process.stderr.read()
        return process

    def answers(self):
        self.account.write(self.folder / "ask.new", "").rename(self.folder / "ask")
        wait_until((self.folder / "answer").exists, 30, "an answer from inside")
        (self.folder / "answer").unlink()

    def release(self, process):
        self.account.write(self.folder / "go", "")
        assert process.wait(scaled(60)) == 0, process.stderr.read()
        for name in ("go", "begun"):
            (self.folder / name).unlink()

    # --- what is left ---

    def boxes(self):
        """The gateway's, of everybody: {name: whose}."""
        done = self.sim.run("sandbox", "list", "-o", "json")
        assert done.returncode == 0, done.stderr
        return {item["name"]: item["labels"].get("openworker-owner") for item in json.loads(done.stdout)}

    def left_here(self):
        def names(place, *allowed):
            return [f"{place}/{name}" for name in (os.listdir(place) if place.exists() else []) if name not in allowed]
        ocsf = self.state / "ocsf"
        return [*names(self.config / "sandbox-runtime"), *names(self.state / "registry", "reserve.lock"),
                *names(self.runtime, "engine", "engine.lock"),
                *[name for name in names(ocsf) if not re.fullmatch(r"[A-Za-z0-9._-]+\.log", os.path.basename(name))]]

    def processes(self):
        """Of this program and of its commands."""
        mark = os.fsencode(self.env.get("XDG_CONFIG_HOME", self.account.workspace.home / ".config"))
        found = {}
        for pid, command in self.account.workspace.processes().items():
            try:
                with open(f"/proc/{pid}/environ", "rb") as stream:
                    if b"XDG_CONFIG_HOME=" + mark in stream.read().split(b"\0"):
                        found[pid] = command
            except OSError:
                continue
        return found

    def check_clean(self, others=()):
        """Nothing of this program: @others are the sandboxes that stay."""
        kept = sorted([*FOREIGN, *others])
        assert self.left_here() == []
        assert sorted(self.boxes()) == kept
        wait_until(lambda: sorted(self.sim.containers()) == kept, 10, f"the containers {kept}")
        wait_until(lambda: not self.processes(), 10, "the end of every process")
        assert self.left_here() == [] and sorted(self.boxes()) == kept


def make_foreign(account, sim, ids):
    """Somebody else's sandboxes at the same gateway."""
    policy = account.write(account.workspace.path / "policy.yaml", POLICY.format(*ids))
    for name, labels in FOREIGN.items():
        done = sim.run("sandbox", "create", "--name", name, "--from", "ghcr.io/x/y", "--no-tty", "--detach",
                       "--no-auto-providers", "--policy", policy,
                       *[word for label in labels for word in ("--label", label)],
                       "--", "/bin/sleep", "600")
        assert done.returncode == 0, done.stderr


def make_sim(account, ids):
    sim = OpenshellSim(account, speed=0).install()
    sim.start()
    ContainerEngine(account, sim.programs)
    make_foreign(account, sim, ids)
    return sim


@pytest.fixture
def first(account, openworker, ordinary_ids):
    print(f"seed {SEED}")
    sim = make_sim(account, ordinary_ids)
    yield Instance(account, openworker, sim, ordinary_ids)
    sim.stop()


@pytest.fixture
def second(account, openworker, ordinary_ids, first):
    """Another program of the same account at the same gateway, with directories of its own."""
    return Instance(account, openworker, first.sim, ordinary_ids, account.workspace.path / "second")


# ---- killing

def commands_of(pid):
    """The `openshell` commands that the program @pid runs: {pid: its arguments}."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stream:
                fields = stream.read().rsplit(")", 1)[1].split()
            with open(f"/proc/{entry}/cmdline", "rb") as stream:
                words = stream.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z" and any(word.endswith("/openshell") for word in words[:3]):
            found[int(entry)] = words
    return found


def signal_one(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
        return stream.read().rsplit(")", 1)[1].split()[0] in "Tt"


def kill(process, point):
    """Kills who the point says; one that lives on goes on."""
    if point.state:
        wait_until(lambda: is_stopped(process.pid), 20, "the stop at the state, which it has told")
    if point.who in ("cli", "both"):
        for pid, words in commands_of(process.pid).items():
            if point.call is None or " ".join(point.call) in " ".join(words):
                signal_one(pid, signal.SIGKILL)
    if point.who in ("engine", "both"):
        signal_one(process.pid, signal.SIGKILL)
        process.wait()
    elif process.poll() is None:
        os.kill(process.pid, signal.SIGCONT)


def delay(point):
    seconds = random.Random(f"{SEED} {point}").uniform(0, point.span)
    print(f"{point}: {seconds:.3f} s")
    return seconds


def wait_call(sim, process, point, known):
    """Until the call of the point has begun, or is heard by the gateway."""
    def begun():
        if point.heard:
            return any(tuple(argv[:2]) == point.call for _, _, argv in sim.calls()[known:])
        return any(" ".join(point.call) in " ".join(words) for words in commands_of(process.pid).values())
    deadline = time.monotonic() + scaled(30)
    while not begun() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, "it ended before the call"


def once(state):
    """Without a number it would stop each time, also after it was sent on."""
    return state if state is None or ":" in state else f"{state}:1"


def begin(instance, point):
    """A start that is killed at the point. What goes on to its end is waited for."""
    sim, known = instance.sim, len(instance.sim.calls())
    for stage, seconds in point.slow.items():
        sim.slow(stage, scaled(seconds))
    if point.fail:
        sim.fail(*point.fail)
    process = instance.popen("true", env={"OPENWORKER_TEST_STATE": once(point.state)})
    if point.state:
        line = process.stderr.readline().decode()
        assert line == f"state {point.state.split(':')[0]}\n", line + process.stderr.read().decode()
    elif point.call:
        wait_call(sim, process, point, known)
    time.sleep(scaled(delay(point)))
    kill(process, point)
    if point.fail:
        sim.fail(point.fail[0], None)
    process.communicate(timeout=scaled(120))
    wait_until(lambda: not instance.processes(), 10, "the end of its commands, before any other start")


def begin_again(instance, point):
    """A session whose folders are changed: its engine is killed at the point."""
    account, workspace = instance.account, instance.account.workspace
    up = Up(account, instance.openworker, env={"OPENWORKER_TEST_STATE": once(point.state)})
    wait = ("shell", {"command": "touch begun; while ! [ -e go ]; do sleep 0.05; done"})
    # The second call waits for the new sandbox.
    with ModelServer([calls(wait), calls(("shell", {"command": "true"})), {"text": "Done."}]) as server:
        session = up.detach(server, provider="openshell")
        wait_begun(workspace)
        assert up.lines("sessions", "folders", session, "--add", str(instance.other))[0]["pending"]
        account.write(instance.folder / "go", "")
        wait_until(lambda: f"state {point.state.split(':')[0]}\n" in up.log, 30, f"state {point.state}")
        time.sleep(scaled(delay(point)))
        kill(up.process, point)
        if point.who == "cli":
            up.wait_end(session, 60)
            up.stop()
    for name in ("begun", "go"):
        (instance.folder / name).unlink()


def loses_create(point):
    making = (point.state or "").startswith(("openshell-creating", "openshell-progress"))
    return point.who == "cli" and not point.recreate and (making or point.call == CREATE)


def test_S21_A43_kill_point(first, point):
    """After the next start nothing is left, here or at the gateway; others' sandboxes stay."""
    if point.before:
        begin(first, Point("engine", point.before))
    (begin_again if point.recreate else begin)(first, point)
    if loses_create(point):
        # The program lived, so it took away itself what its gateway had heard.
        time.sleep(scaled(max(point.slow.values(), default=0)))
        first.check_clean()
    first.start()
    # What the gateway was still at comes and goes now.
    time.sleep(scaled(max(point.slow.values(), default=0)))
    for stage in point.slow:
        first.sim.slow(stage, 0)
    first.check_clean()


def test_S21_points_are_many_and_pass_every_state():
    """A hundred and more, and every state that a sandbox of OpenShell passes is among them."""
    assert len(POINTS) >= 100 and len({str(point) for point in POINTS}) == len(POINTS)
    passed = {point.state.split(":")[0] for point in POINTS if point.state}
    source = os.path.join(os.path.dirname(__file__), "../../src/sandbox")
    reached = set()
    for name in sorted(os.listdir(source)):
        if re.match(r"ow-(openshell|reaper|sandbox|mount).*\.c$", name):
            with open(os.path.join(source, name), encoding="utf-8") as stream:
                reached |= set(re.findall(r'ow_state_reach \("([a-z-]+)"\)', stream.read()))
    assert reached - passed == {"wall-checking"}


# ---- two users

def some(number, **kinds):
    """@number points without an engine that changes folders, the same for a seed."""
    fitting = [point for point in POINTS
               if not point.recreate and not point.before and not point.fail
               and all(getattr(point, name) == value for name, value in kinds.items())]
    return random.Random(f"{SEED} {kinds}").sample(fitting, number)


def live(instance):
    """A session that is held, and its sandbox's name."""
    before = set(instance.boxes())
    process = instance.hold()
    (name,) = set(instance.boxes()) - before
    return process, name


def test_S21_two_programs_at_one_gateway(first, second):
    """Kills of one, its starts and its reaps take nothing of the other: neither what lives nor what is dead."""
    for dying, living in ((first, second), (second, first)):
        process, name = live(living)
        for point in some(2, heard=False):
            begin(dying, point)
            living.answers()
            assert living.run("sandbox", "reap").returncode == 0
            assert name in dying.boxes()
            dying.start()
            dying.check_clean([name])
            living.answers()
        signal_one(process.pid, signal.SIGKILL)
        process.wait()
        for _ in range(2):
            dying.start()
            assert dying.run("sandbox", "reap").returncode == 0
        assert name in dying.boxes() and name in living.sim.containers()
        (living.folder / "begun").unlink()
        living.start()
        living.check_clean()


def test_S21_other_account_at_its_own_gateway(account, first, openworker, programs, ordinary_ids):
    """Two people of one machine, each with a gateway."""
    ids = (0, 0) if os.geteuid() == 0 and not account.is_root else ordinary_ids
    other = _account(*ids, programs)
    sim = make_sim(other, ordinary_ids)
    try:
        living = Instance(other, openworker, sim, ordinary_ids)
        process, name = live(living)
        for point in some(2, heard=False):
            begin(first, point)
            living.answers()
            first.start()
            first.check_clean()
            living.answers()
        assert name in living.boxes()
        living.release(process)
        living.check_clean()
    finally:
        sim.stop()
        left = _clean(other)
    assert not left, f"processes were left behind: {left}"


def test_S21_reaps_beside_creates(first):
    """Reapers that run all the time never take what is just being made, nor keep anybody from it."""
    over, reaps = threading.Event(), []

    def reap():
        while not over.is_set():
            reaps.append(first.run("sandbox", "reap"))

    threads = [threading.Thread(target=reap) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        starts = [first.popen("sh", "-c", "sleep 0.2; exit 7") for _ in range(4)]
        starts += [first.popen("sh", "-c", "exit 7") for _ in range(4)]
        said = [(process.communicate(timeout=scaled(120))[1].decode(), process.returncode)
                for process in starts]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert [status for _, status in said] == [7] * 8, said
    assert len(reaps) >= 2
    assert {done.returncode for done in reaps} == {0}, [done.stdout + done.stderr for done in reaps]
    first.check_clean()


def test_W11_others_are_not_counted(first, second):
    """How many there may be is of one program: another one's and a stranger's sandboxes take no place."""
    process, name = live(second)
    assert first.exec("true", env={"OPENWORKER_SANDBOX_MAX": "1"}).returncode == 0
    refused = second.exec("true", env={"OPENWORKER_SANDBOX_MAX": "1"})
    assert refused.returncode == 69 and "1 sandboxes run already" in refused.stderr, refused.stderr
    # One that was killed takes no place either.
    begin(first, Point("engine", "openshell-created"))
    assert first.exec("true", env={"OPENWORKER_SANDBOX_MAX": "1"}).returncode == 0
    first.check_clean([name])
    second.answers()
    second.release(process)
    second.check_clean()


# ---- what cannot be taken away now, and what comes late

@pytest.mark.parametrize("account_kind", ["ordinary"], indirect=True)
@pytest.mark.parametrize("state", ["openshell-creating", "openshell-created", "openshell-deleting"])
def test_S21_gateway_is_down_at_the_next_start(first, state):
    """The entry stays with all it names, it is said, and it goes at the start after the gateway is back."""
    begin(first, Point("both", state))
    (left,) = set(first.boxes()) - set(FOREIGN) or {None}
    first.sim.kill()
    for _ in range(2):
        done = first.exec("true")
        assert done.returncode == 69 and "gateway does not answer" in done.stderr, done.stderr
        kept = [os.path.basename(path) for path in first.left_here() if "registry" in path]
        assert len(kept) == 2 and len({name.split(".")[0] for name in kept}) == 1, kept
        assert not left or f"{left.removeprefix('ow-')}.json" in kept
    reaped = first.run("sandbox", "reap", "--json")
    assert reaped.returncode == 1 and len(json.loads(reaped.stdout)["kept"]) == 1, reaped.stdout + reaped.stderr
    engine = Up(first.account, first.openworker)
    wait_until(lambda: "could not be removed" in (json.loads(engine.run("status", "--json").stdout)["notice"] or ""),
               20, "the notice")
    assert engine.stop() == 0
    first.sim.start()
    wait_until(lambda: set(FOREIGN) <= set(first.sim.containers()), 30, "the gateway")
    first.start()
    first.check_clean()


@pytest.mark.parametrize("account_kind", ["ordinary"], indirect=True)
def test_S21_comes_later_than_anybody_waits(first):
    """A gateway that was so slow that the start after the kill had to go on: the one after that takes it."""
    first.sim.slow("request", scaled(8))
    begin(first, Point("engine", call=CREATE, heard=True, slow={}))
    known = set(first.boxes())
    first.sim.slow("request", 0)
    first.start()
    assert first.left_here() == []
    wait_until(lambda: set(first.boxes()) - known, 30, "the sandbox that nobody waits for")
    first.start()
    wait_until(lambda: set(first.boxes()) == set(FOREIGN), 20, "its end")
    first.check_clean()


@pytest.mark.parametrize("account_kind", ["ordinary"], indirect=True)
def test_S21_half_written_entry_is_removed(first):
    """Killed while it wrote its entry: what is not whole yet goes too, but not that of one that lives."""
    process, name = live(first)
    registry = first.state / "registry"
    dead = first.account.write(registry / ".0123456789ab.json.00000001.tmp", "{")
    alive = first.account.write(registry / f".{name.removeprefix('ow-')}.json.00000002.tmp", "{")
    first.start()
    assert not dead.exists() and alive.exists()
    alive.unlink()
    first.release(process)
    first.check_clean()
