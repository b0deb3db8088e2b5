# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Faces that come while an engine begins, that meet one which has lost its place or which says nothing, and
the bridge that `openworker up --stdio` is (docs/engine-protocol.md)."""

import fcntl
import os
import signal
import socket
import sqlite3
import subprocess
import time

import pytest
from conftest import scaled, wait_until
from engine_client import EngineClient
from engines import Up, said
from fake_engine import FakeEngine
from model_server import ModelServer, calls
from replays import replay


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


def start_unready(account, openworker):
    """An engine whose socket is there while it still finds out what it can do here."""
    process = account.popen([openworker, "up"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    path = str(account.workspace.runtime / "coworker/engine")
    deadline = time.monotonic() + scaled(10)
    while True:
        assert time.monotonic() < deadline and process.poll() is None
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                return process


def test_who_comes_early_is_served_as_who_comes_late(ordinary_user, workspace, openworker):
    """REQ-M01: with nothing set, a face that joins at the first moment is not refused for it."""
    engine = start_unready(ordinary_user, openworker)
    with EngineClient(ordinary_user) as client:
        params = {"folders": [str(workspace.folder)], "argv": ["/bin/true"]}
        assert client.command("session.exec", params, seconds=30)["session"]
        assert client.command("engine.status")["provider"] == "bubblewrap"
    engine.terminate()
    assert engine.wait(timeout=scaled(30)) == 0


def test_stopped_before_it_is_ready(ordinary_user, openworker):
    engine = start_unready(ordinary_user, openworker)
    engine.terminate()
    assert engine.wait(timeout=scaled(30)) == 0
    assert not (ordinary_user.workspace.runtime / "coworker/engine").exists()


def test_lost_lock_leaves_the_place_to_the_next(up, ordinary_user, openworker, workspace):
    """Somebody cleared the runtime directory: the one that is gone takes nothing of the other."""
    first = up()
    (workspace.runtime / "coworker/engine.lock").unlink()
    second = up()
    assert first.stop() == 0
    assert second.lines("status")[0]["pid"] == second.process.pid
    assert second.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("argv", [["run", "--folder", "FOLDER", "--provider", "direct", "task"],
                                  ["run", "--folder", "FOLDER", "task"],
                                  ["sandbox", "exec", "--folder", "FOLDER", "--provider", "direct", "--", "true"],
                                  ["attach", "0123456789abcdef"]], ids=["run", "run-asks", "exec", "attach"])
def test_interrupt_while_nobody_answers(ordinary_user, openworker, workspace, argv, number):
    """Nothing was begun, so there is nothing to be stopped first."""
    argv = [str(workspace.folder) if word == "FOLDER" else word for word in argv]
    with FakeEngine(ordinary_user, hello=None):
        face = ordinary_user.popen([openworker, *argv], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        begin = time.monotonic()
        face.send_signal(number)
        status = face.wait(timeout=scaled(30))
        assert time.monotonic() - begin < scaled(5)
    assert status == (0 if argv[0] == "attach" else 130)


@pytest.mark.parametrize("joins", [False, True], ids=["alone", "joins"])
@pytest.mark.parametrize("argv", [["run", "--model", "MODEL"], ["sandbox", "exec"]], ids=["run", "exec"])
def test_session_that_cannot_be_stored_ends(up, ordinary_user, openworker, workspace, argv, joins):
    """Its end has no number, because it is in no list; whoever waits for it is told all the same."""
    assert ordinary_user.run([openworker, "sessions", "list"]).returncode == 0
    if joins:
        up()
    model = replay(ordinary_user, workspace)
    argv = [f"replay:{model}" if word == "MODEL" else word for word in argv]
    store = sqlite3.connect(workspace.data / "sessions.sqlite", isolation_level=None)
    store.execute("BEGIN IMMEDIATE")
    try:
        done = ordinary_user.run([openworker, *argv, "--provider", "direct",
                                  "--folder", workspace.folder, "--", "/bin/true"], timeout=40)
    finally:
        store.execute("ROLLBACK")
        store.close()
    said(done, 1, "database is locked")


def test_who_does_not_say_hello_is_let_go(up, ordinary_user):
    """In 10 s, however little or slowly it speaks; who has said it stays."""
    engine = up()
    words = [b"", b'{"jsonrpc":"2.0","id":"', b"", b" " * 100000]
    with EngineClient(ordinary_user) as good:
        clients = [EngineClient(ordinary_user, hello=False) for _ in words]
        begin = time.monotonic()
        for client, word in zip(clients, words):
            client.send_raw(word)
        gone = {}
        while len(gone) < len(clients):
            assert time.monotonic() - begin < scaled(40), gone
            try:
                clients[2].send_raw(b" ")
            except (BrokenPipeError, ConnectionResetError):
                pass
            for n, client in enumerate(clients):
                if n not in gone and client_is_over(client):
                    gone[n] = time.monotonic() - begin
            time.sleep(0.1)
        assert min(gone.values()) > 5
        assert good.command("engine.status")["faces"] == 2
    assert engine.stop() == 0


def client_is_over(client):
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_session_that_brings_the_engine_down_is_left(up, workspace):
    """Three times in a row, and it is not gone on with by itself any more; a person still can."""
    slow = calls(("shell", {"command": "touch begun; sleep 1000"}))
    begun = workspace.folder / "begun"
    with ModelServer([slow] * 3 + [{"text": "Done."}]) as server:
        engine = up()
        session = engine.detach(server)
        for n in range(3):
            wait_until(begun.exists, 20, "the command")
            engine.stop(signal.SIGKILL)
            begun.unlink()
            engine = up()
            if n < 2:
                wait_until(lambda: f"Session {session} goes on" in engine.log, 20, "the session to go on")
        assert engine.state(session) == "interrupted"
        for words in (engine.run("status").stdout, engine.log):
            assert f"Session {session} was left as it is: the engine was lost 3 times" in words
            assert "goes on" not in words
        assert engine.run("sessions", "resume", session).returncode == 0
        assert engine.wait_end(session)["outcome"] == "done"
        assert engine.stop() == 0


def test_bridge_that_is_cut_stays_for_others(ordinary_user, openworker, workspace):
    """Who is the engine and whose far side is gone ends after what runs in it, and says so."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    host = ordinary_user.popen([openworker, "up", "--stdio"], **pipes)
    path = workspace.runtime / "coworker/engine"
    wait_until(path.exists, 20, "the engine")
    with EngineClient(ordinary_user) as client:
        script = "while ! [ -e go ]; do sleep 0.05; done; touch made"
        params = {"folders": [str(workspace.folder)], "argv": ["/bin/sh", "-c", script],
                  "provider": "bubblewrap"}
        session = client.command("session.exec", params, seconds=30)["session"]
        host.stdin.close()
        host.stdout.close()
        time.sleep(2)
        assert host.poll() is None and client.command("engine.status")["running"] == 1
        ordinary_user.write(workspace.folder / "go", "")
        end = client.wait_event(lambda event: event["type"] == "session-ended")
        assert (end["session"], end["outcome"]) == (session, "done")
    assert host.wait(timeout=scaled(30)) == 0
    said = host.stderr.read().decode()
    assert "stays until it has ended" in said and "CRITICAL" not in said, said
    assert (workspace.folder / "made").exists() and not path.exists()


def event(session, seq, kind="notice", **members):
    return {"seq": seq, "time": "2026-01-31T09:00:00.123Z", "session": session, "type": kind,
            **(members or {"text": "FALSE"})}


ENDED = event("aaaa", 2, "session-ended", outcome="done", exit=0)
LIES = {"no-progress": {"events": [], "records": [], "next": 1},
        "back": {"events": [event("aaaa", 1)], "records": [], "next": -7},
        "other-session": {"events": [event("bbbb", 1), ENDED]},
        "gap": {"events": [event("aaaa", 5), event("aaaa", 1), ENDED]}}
ASKS = [["attach", "aaaa"], ["sessions", "show", "aaaa"], ["audit", "show"]]
ROWS = [(name, argv) for name in LIES for argv in ASKS
        if argv[0] == "attach" or name in ("no-progress", "back")]


@pytest.mark.parametrize("name,argv", ROWS, ids=[f"{name}-{argv[0]}" for name, argv in ROWS])
def test_pages_of_an_engine_that_lies(ordinary_user, openworker, name, argv):
    """It is not asked forever, and what is of another session or has gaps is not shown."""
    def second(params):
        return {**LIES[name], "next": 1} if params.get("from", 0) > 1 else {**LIES[name], "next": 2}
    answer = second if name == "no-progress" and argv[0] == "audit" else LIES[name]
    with FakeEngine(ordinary_user, {"session.show": answer, "audit.show": answer}):
        done = ordinary_user.run([openworker, *argv], timeout=20)
    said(done, 1, "The engine's answer cannot be used")
    assert "FALSE" not in done.stdout or name == "back"


@pytest.mark.root
def test_bridge_speaks_to_no_other_user(ordinary_user, openworker, workspace):
    """The far side cannot see whose process answers it."""
    place = ordinary_user.mkdir(workspace.runtime / "coworker", 0o700)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(place / "engine"))
        (place / "engine").chmod(0o777)
        foreign.listen()
        lock = os.open(place / "engine.lock", os.O_RDWR | os.O_CREAT, 0o666)
        os.fchmod(lock, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = ordinary_user.run([openworker, "up", "--stdio"], stdin="secret words\n")
        os.close(lock)
        foreign.settimeout(1)
        told = b""
        try:
            while True:
                peer, _ = foreign.accept()
                peer.settimeout(1)
                told += peer.recv(100)
        except (socket.timeout, TimeoutError):
            pass
    said(done, 69, "another user")
    assert told == b"" and done.stdout == ""
