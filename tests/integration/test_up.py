# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker up` and `openworker status`: one engine a user and machine, what stands in its place,
how it stops, and what it does where nothing is set (REQ-M01)."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import scaled, wait_until
from engine_client import EngineClient
from engines import Up, said
from fake_engine import HELLO, Error, FakeEngine
from model_server import ModelServer, calls

LONG = [calls(("shell", {"command": "touch begun; while ! [ -e go ]; do sleep 0.05; done; touch made"})),
        {"text": "Done."}]


@pytest.fixture
def up(ordinary_user, openworker):
    started = []

    def start(**how):
        started.append(Up(ordinary_user, openworker, **how))
        return started[-1]
    yield start
    for engine in started:
        if engine.process.poll() is None:
            engine.stop()


def wait_begun(workspace):
    wait_until((workspace.folder / "begun").exists, 20, "the command")


# ---- there or not

def test_status_without_an_engine(ordinary_user, workspace, openworker):
    done = ordinary_user.run([openworker, "status"])
    assert done.returncode == 1 and "No engine runs on this machine" in done.stdout, done.stderr
    assert f"{workspace.runtime}/coworker/engine" in done.stdout
    answer = json.loads(ordinary_user.run([openworker, "status", "--json"]).stdout)
    assert answer["engine"] is False


def test_engine_starts_is_seen_and_stops(account, workspace, openworker):
    """REQ-M01: without a desktop."""
    engine = Up(account, openworker)
    assert engine.ready == f"ready {workspace.runtime}/coworker/engine\n"
    path = workspace.runtime / "coworker/engine"
    assert path.stat().st_mode & 0o777 == 0o600
    done = engine.run("status")
    assert done.returncode == 0, done.stderr
    for words in ("The engine runs by itself", f"process {engine.process.pid}", str(path), "0 sessions run"):
        assert words in done.stdout, done.stdout
    answer = engine.lines("status")[0]
    assert answer["engine"] is True and answer["host"] == "up" and answer["pid"] == engine.process.pid
    assert f"It listens on {path}" in engine.log
    assert engine.stop() == 0
    assert "Stopping" in engine.log
    assert engine.run("status").returncode == 1
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_engine_is_refused(up, ordinary_user, openworker, number):
    engine = up()
    said(ordinary_user.run([openworker, "up"]), 69, "another one runs already", "openworker status")
    assert engine.run("status").returncode == 0
    assert engine.stop(number) == 0


def test_engines_of_two_accounts_do_not_meet(up, workspace, openworker):
    """A directory that is another one's is not used: each finds its own place or says why not."""
    engine = up()
    home = workspace.path / "elsewhere"
    done = subprocess.run([openworker, "status"],
                          env={"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8",
                               "XDG_RUNTIME_DIR": str(workspace.runtime)},
                          capture_output=True, text=True, timeout=scaled(30), check=False)
    assert not home.exists(), "a look around left something behind"
    if os.geteuid() == engine.account.uid:
        assert done.returncode == 0
    else:
        assert done.returncode != 0 and str(engine.process.pid) not in done.stdout, done.stdout


def test_killed_engine_leaves_no_hindrance(up, workspace):
    """A stale socket is nobody's engine, and the next one takes its place."""
    engine = up()
    assert engine.stop(signal.SIGKILL) == -signal.SIGKILL
    assert (workspace.runtime / "coworker/engine").exists()
    assert engine.run("status").returncode == 1
    assert engine.run("sessions", "list").returncode == 0
    assert up().run("status").returncode == 0


@pytest.mark.parametrize("kind", ["file", "directory", "link", "fifo"])
def test_something_else_in_the_sockets_place(ordinary_user, workspace, openworker, kind):
    place = ordinary_user.mkdir(workspace.runtime / "coworker", 0o700)
    if kind == "file":
        ordinary_user.write(place / "engine", "mine")
    elif kind == "directory":
        ordinary_user.mkdir(place / "engine")
    elif kind == "link":
        (place / "engine").symlink_to("/etc/passwd")
    else:
        os.mkfifo(place / "engine")
    ordinary_user.give(place)
    before = os.lstat(place / "engine")
    said(ordinary_user.run([openworker, "up"], timeout=30), 1, str(place / "engine"))
    assert os.lstat(place / "engine").st_ino == before.st_ino


def test_path_of_a_socket_that_is_too_long(ordinary_user, workspace, openworker):
    runtime = ordinary_user.mkdir(workspace.path / ("long" * 25), 0o700)
    said(ordinary_user.run([openworker, "up"], env={"XDG_RUNTIME_DIR": runtime}), 69, "107", "XDG_RUNTIME_DIR")


def test_place_without_a_runtime_directory(ordinary_user, workspace, openworker):
    engine = Up(ordinary_user, openworker, env={"XDG_RUNTIME_DIR": None})
    assert engine.ready == f"ready {workspace.state}/run/engine\n"
    assert engine.run("status", env={"XDG_RUNTIME_DIR": None}).returncode == 0
    assert engine.stop() == 0


# ---- what answers there and is no engine of this kind

OTHERS = [
    ("older", Error(-32010, "This engine speaks protocol 0. Update openworker up."), 69, "update"),
    ("other number", {**HELLO, "protocol": 99}, 69, "protocol"),
    ("no number", {"version": "9"}, 69, "protocol"),
]


@pytest.mark.parametrize("hello,code,word", [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
@pytest.mark.parametrize("argv", [["status"], ["run", "--detach", "--folder", "/x", "task"]], ids=["status", "run"])
def test_other_protocol(ordinary_user, openworker, hello, code, word, argv):
    with FakeEngine(ordinary_user, hello=hello):
        said(ordinary_user.run([openworker, *argv], timeout=60), code, word)


@pytest.mark.parametrize("hello", [None, b"SSH-2.0-OpenSSH_9.2\r\n", b"x" * (9 * 1024 * 1024),
                                   b"\x00\xff\n", b"[" * 100000, {**HELLO, "engine": "no id"}],
                         ids=["silent", "garbage", "endless-line", "binary", "deep", "no-id"])
def test_engine_that_cannot_be_joined(ordinary_user, openworker, hello):
    with FakeEngine(ordinary_user, hello=hello):
        begin = time.monotonic()
        said(ordinary_user.run([openworker, "status"], timeout=60), 1, "The engine")
        assert time.monotonic() - begin < scaled(40)


def test_text_of_an_engine_cannot_move_the_terminal(ordinary_user, openworker):
    """U02: it may be another machine's."""
    evil = "\033]52;c;aGk=\007\u202e"
    answers = {"engine.status": {"version": evil, "pid": 1, "host": "up", "since": evil, "faces": 1, "running": 1,
                                 "waiting": 1, "provider": evil, "notice": evil}}
    with FakeEngine(ordinary_user, answers):
        done = ordinary_user.run([openworker, "status"])
    assert done.returncode == 0, done.stderr
    assert not set("\033\007\u202e") & set(done.stdout), repr(done.stdout)


# ---- the end

def test_clean_stop_parks_and_the_next_engine_goes_on(up, workspace):
    """REQ-M01: what runs is parked; its effect is there once."""
    with ModelServer(LONG) as server:
        engine = up()
        session = engine.detach(server)
        wait_begun(workspace)
        begin = time.monotonic()
        assert engine.stop() == 0, engine.log
        assert time.monotonic() - begin < scaled(20)
        assert engine.run("sessions", "list").stdout.count("parked") == 1
        assert not (workspace.folder / "made").exists()
        (workspace.folder / "go").touch()
        later = up()
        last = later.wait_end(session)
    assert last["outcome"] == "done", last
    kinds = [event["type"] for event in later.events(session)]
    assert kinds.count("session-resumed") == 1 and kinds.count("session-ended") == 2
    assert f"Session {session} goes on" in later.log


def test_killed_engine_resumes(up, workspace):
    with ModelServer(LONG) as server:
        engine = up()
        session = engine.detach(server)
        wait_begun(workspace)
        engine.stop(signal.SIGKILL)
        (workspace.folder / "go").touch()
        later = up()
        last = later.wait_end(session)
        assert server.faults == []
    assert last["outcome"] == "done", last
    outcomes = [event["outcome"] for event in later.events(session) if event["type"] == "session-ended"]
    assert outcomes == ["interrupted", "done"]
    assert later.run("audit", "verify").returncode == 0


def test_killed_while_it_waits_is_left(up, workspace):
    """A session that went on and had answered everything has nothing that another engine could go on
    with, also where it has read the folder's instructions since."""
    with ModelServer([{"text": "Done."}]) as server:
        engine = up()
        session = engine.detach(server)
        assert engine.wait_end(session)["outcome"] == "done"
        with EngineClient(engine.account) as client:
            client.command("session.resume", {"session": session, "keep": True})
        wait_until(lambda: any(event.get("purpose") == "instructions" for event in engine.events(session)[-4:]), 20,
                   "the instructions to be read")
        engine.stop(signal.SIGKILL)
        later = up()
        assert later.state(session) == "interrupted"
        assert later.stop() == 0
    assert "goes on" not in later.log


def test_host_of_others_stays(ordinary_user, workspace, openworker):
    """A run that is the engine ends only when what others run in it has ended, and says so."""
    other = ordinary_user.mkdir(workspace.path / "other")
    with ModelServer([calls(("shell", {"command": "touch first; while ! [ -e end ]; do sleep 0.05; done"})),
                      {"text": "Done."}]) as own, ModelServer(LONG) as others:
        err = workspace.path / "err"
        host = ordinary_user.popen(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", other,
             "--model", "openai:x", "--base-url", own.url, "Do it."], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(err, "wb"))
        wait_until((other / "first").exists, 20, "the host's command")
        done = ordinary_user.run([openworker, "run", "--detach", "--provider", "bubblewrap", "--approve", "sandboxed",
                                  "--folder", workspace.folder, "--model", "openai:x", "--base-url", others.url,
                                  "Do it."])
        assert done.returncode == 0, done.stderr
        wait_begun(workspace)
        ordinary_user.write(other / "end", "")
        wait_until(lambda: "stays until it has ended" in err.read_text(), 20, "what the host says")
        assert host.poll() is None
        ordinary_user.write(workspace.folder / "go", "")
        assert host.wait(timeout=scaled(30)) == 0, err.read_text()
    assert (workspace.folder / "made").exists()


def test_host_of_others_parks_at_an_interrupt(ordinary_user, workspace, openworker):
    with ModelServer([{"text": "Done.", "wait": 1}]) as own, ModelServer(LONG) as others:
        host = ordinary_user.popen(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", workspace.folder,
             "--model", "openai:x", "--base-url", own.url, "Do it."], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until((workspace.runtime / "coworker/engine").exists, 20, "the engine")
        done = ordinary_user.run([openworker, "run", "--detach", "--provider", "bubblewrap", "--approve", "sandboxed",
                                  "--folder", workspace.folder, "--model", "openai:x", "--base-url", others.url,
                                  "Do it."])
        assert done.returncode == 0, done.stderr
        wait_begun(workspace)
        assert b"stays until" in host.stderr.readline()
        host.send_signal(signal.SIGINT)
        assert host.wait(timeout=scaled(30)) == 0
    assert "parked" in ordinary_user.run([openworker, "sessions", "list"]).stdout


# ---- supervisors

@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_supervisor_is_told(ordinary_user, workspace, openworker, kind):
    name = str(workspace.path / "notify") if kind == "path" else f"\0ow-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name)
        listener.settimeout(scaled(20))
        if kind == "path":
            os.chmod(name, 0o777)
        engine = Up(ordinary_user, openworker, env={"NOTIFY_SOCKET": name.replace("\0", "@")})
        assert listener.recv(100) == b"READY=1"
        assert engine.run("status").returncode == 0
        assert engine.stop() == 0
        assert listener.recv(100) == b"STOPPING=1"


@pytest.mark.parametrize("place", ["", "@", "x", "/nonexistent/notify", "/" + "n" * 200])
def test_supervisor_that_cannot_be_told(ordinary_user, openworker, place):
    engine = Up(ordinary_user, openworker, env={"NOTIFY_SOCKET": place})
    assert engine.stop() == 0


# ---- over a pipe pair

class Stdio:
    """A client of `openworker up --stdio`."""

    def __init__(self, account, openworker):
        self.process = account.popen([openworker, "up", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
        self.lines, self.n = [], 0
        self.hello = self.ask("initialize", {"protocol": 1, "version": "0.1.0", "face": "remote"})

    def ask(self, method, params=None):
        self.n += 1
        name = f"{self.n:032x}"
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": name, "method": method,
                                             "params": params or {}}).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            self.lines.append(line)
            message = json.loads(line)
            if message.get("id") == name:
                return message.get("result", message.get("error"))
        raise AssertionError("the engine has gone")

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        for line in rest.splitlines():
            json.loads(line)
        return self.process.wait(timeout=scaled(30))


def test_stdio_is_an_engine_where_there_is_none(account, workspace, openworker):
    client = Stdio(account, openworker)
    assert client.hello["protocol"] == 1 and client.hello["host"] == "up"
    assert client.ask("engine.status")["pid"] == client.process.pid
    done = account.run([openworker, "status", "--json"])
    assert json.loads(done.stdout)["pid"] == client.process.pid
    assert client.end() == 0
    assert account.run([openworker, "status"]).returncode == 1


def test_stdio_leads_to_the_engine_that_runs(up, ordinary_user, openworker):
    engine = up()
    client = Stdio(ordinary_user, openworker)
    assert client.hello["pid"] == engine.process.pid
    assert client.ask("session.list") == {"sessions": []}
    assert "code" in client.ask("no.such")
    assert client.end() == 0
    assert engine.run("status").returncode == 0


def test_stdio_ends_with_the_engine_it_leads_to(up, ordinary_user, openworker):
    engine = up()
    client = Stdio(ordinary_user, openworker)
    assert engine.stop() == 0
    assert client.process.stdout.read() == b""
    assert client.process.wait(timeout=scaled(20)) == 0


def test_stdio_engine_stays_for_what_runs(ordinary_user, workspace, openworker):
    """A client that goes takes nothing with it."""
    with ModelServer(LONG) as server:
        client = Stdio(ordinary_user, openworker)
        session = client.ask("session.start", {"folders": [str(workspace.folder)], "task": "Do it.",
                                               "model": "openai:x", "base_url": server.url,
                                               "provider": "bubblewrap", "approve": "sandboxed"})["session"]
        wait_begun(workspace)
        client.process.stdin.close()
        time.sleep(1)
        assert client.process.poll() is None
        ordinary_user.write(workspace.folder / "go", "")
        assert client.process.wait(timeout=scaled(30)) == 0
    shown = ordinary_user.run([openworker, "sessions", "show", session, "--json"]).stdout.splitlines()
    assert json.loads(shown[-1])["outcome"] == "done"


# ---- REQ-M01

def without_bubblewrap(account, argv):
    """@argv for a mount namespace where there is no bwrap."""
    words = " ".join(f"'{word}'" for word in account.argv(argv))
    return ["unshare", "--mount", "sh", "-c",
            "mount -t tmpfs none /mnt && touch /mnt/bwrap && mount --bind /mnt/bwrap /usr/bin/bwrap && "
            f"exec {words}"]


class Hidden:
    """An account that starts its programs as they are given."""

    def __init__(self, account):
        self.account = account

    def __getattr__(self, name):
        return getattr(self.account, name)

    def popen(self, argv, **options):
        keep, self.account.argv = self.account.argv, list
        try:
            return self.account.popen(argv, **options)
        finally:
            self.account.argv = keep


@pytest.mark.root
def test_nothing_set_and_no_wall_is_direct_and_loud(ordinary_user, workspace, openworker):
    """REQ-M01: in the log, in the status and in the session."""
    engine = Up(Hidden(ordinary_user), openworker, argv=without_bubblewrap(ordinary_user, [openworker, "up"]))
    assert "NOT PROTECTED" in engine.log
    status = engine.run("status")
    assert "NOT PROTECTED" in status.stdout and "directly on this machine" in status.stdout
    assert "NOT PROTECTED" in engine.lines("status")[0]["notice"]
    with ModelServer([{"text": "Done."}]) as server:
        session = engine.detach(server, provider=None)
        assert engine.wait_end(session)["outcome"] == "done"
        started = engine.events(session)[0]
        assert started["level"] == "direct" and "NOT PROTECTED" in started["notice"]
        shown = engine.run("sessions", "show", session).stdout
        assert "[direct]" in shown and "! NOT PROTECTED" in shown
        assert engine.log.count("NOT PROTECTED") == 2
    assert engine.stop() == 0


@pytest.mark.root
def test_set_wall_that_cannot_be_used_refuses(ordinary_user, workspace, openworker):
    """REQ-M01: a machine set to a wall refuses instead."""
    ordinary_user.write(workspace.config / "config.toml", 'sandbox_provider = "bubblewrap"\n')
    engine = Up(Hidden(ordinary_user), openworker, argv=without_bubblewrap(ordinary_user, [openworker, "up"]))
    assert "Sessions on this machine are refused" in engine.log and "NOT PROTECTED" not in engine.log
    assert "Sessions on this machine are refused" in engine.run("status").stdout
    with ModelServer([calls(("shell", {"command": "touch made"})), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=None)
        last = engine.wait_end(session)
        assert server.requests == []
    assert last["outcome"] == "refused" and last["exit"] == 69
    assert "Sessions on this machine are refused" in last["message"]
    assert not (workspace.folder / "made").exists()
    assert engine.stop() == 0


def test_nothing_set_and_a_wall_is_behind_it(up):
    """REQ-M01: bubblewrap where it can be used; nobody is asked."""
    engine = up()
    assert "bubblewrap" in engine.log and "NOT PROTECTED" not in engine.log
    with ModelServer([{"text": "Done."}]) as server:
        session = engine.detach(server, provider=None)
        assert engine.wait_end(session)["outcome"] == "done"
    assert engine.events(session)[0]["level"] == "bubblewrap"


@pytest.mark.parametrize("content", ["sandbox_provider = \n", 'sandbox_provider = "moat"\n'])
def test_broken_settings_are_no_engine(ordinary_user, workspace, openworker, content):
    ordinary_user.write(workspace.config / "config.toml", content)
    said(ordinary_user.run([openworker, "up"]), 69, "config.toml", "line 1")


def test_log_tells_sessions_and_requests(up):
    engine = up()
    with ModelServer([calls(("shell", {"command": "true"})), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        request = engine.wait_request()[0]["request"]
        assert engine.run("approvals", "allow", request).returncode == 0
        engine.wait_end(session)
    assert re.search(rf"Session {session} starts \[bubblewrap\].*Session {session} asks: request {request}.*"
                     rf"Session {session}: done", engine.log, re.DOTALL), engine.log
