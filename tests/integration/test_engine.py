# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The engine's socket (docs/engine-protocol.md) with good clients and hostile ones: whoever is not
this user's, does not speak the protocol or does not read costs nobody else anything."""

import fcntl
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time

import pytest
from conftest import scaled, wait_until
from engine_client import EngineClient, EngineError
from engines import Up

SLOW = "touch begun; while ! [ -e go ]; do sleep 0.05; done; echo done"


@pytest.fixture
def engine(request, ordinary_user, openworker):
    if "wall" in request.fixturenames:
        request.getfixturevalue("wall")  # before the engine, which has its place from it
    up = Up(ordinary_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def start(client, account, script, provider="bubblewrap", **more):
    return client.command("session.exec", {"folders": [str(account.workspace.folder)], "provider": provider,
                                           "argv": ["/bin/sh", "-c", script], **more}, seconds=20)["session"]


def ended(session):
    return lambda event: event["session"] == session and event["type"] == "session-ended"


def go(account):
    account.write(account.workspace.folder / "go", "")


def works(engine):
    """Somebody else is served as if nothing were."""
    with EngineClient(engine.account) as client:
        assert client.command("engine.status")["host"] == "up"


def test_hello(engine):
    with EngineClient(engine.account) as client:
        assert client.hello["protocol"] == 1 and client.hello["host"] == "up"
        assert re.fullmatch("[0-9a-f]{16}", client.hello["engine"])
        assert client.hello["pid"] == client.command("engine.status")["pid"]


def test_socket_is_its_owners(engine):
    place = engine.account.workspace.runtime / "coworker"
    assert (place / "engine").stat().st_mode & 0o7777 == 0o600
    assert (place / "engine.lock").stat().st_mode & 0o7777 == 0o600
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.root
def test_another_user_is_told_nothing(engine):
    """Where a way to the socket is left open, who comes is looked at all the same."""
    place = engine.account.workspace.runtime / "coworker"
    engine.account.workspace.path.chmod(0o755)
    engine.account.workspace.runtime.chmod(0o755)
    place.chmod(0o755)
    (place / "engine").chmod(0o666)
    for uid in (0, 65534):
        with EngineClient(engine.account, hello=False, uid=uid) as client:
            try:
                client.send("initialize", {"protocol": 1, "version": "0.1.0", "face": "command"})
            except (BrokenPipeError, ConnectionResetError):
                pass
            assert client.is_closed() and client.answers == {} and client.events == []
    works(engine)


HELLO = {"protocol": 1, "version": "0.1.0", "face": "command"}


def request(name, method, params=None):
    message = {"jsonrpc": "2.0", "id": name, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


GOOD = "0123456789abcdef"
FIRST_WORDS = {
    "nothing-json": b"hello\n",
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "batch": b"[" + request(GOOD, "initialize", HELLO).strip() + b"]\n",
    "nul": b"\0\0\0\n",
    "depth": b"[" * 100000 + b"\n",
    "duplicate-key": b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":"0123456789abcdef","method":"initialize"}\n',
    "command-first": request(GOOD, "engine.status"),
    "notification": b'{"jsonrpc":"2.0","method":"initialize"}\n',
    "answer": b'{"jsonrpc":"2.0","id":"0123456789abcdef","result":{}}\n',
    "no-params": request(GOOD, "initialize"),
    "params-list": request(GOOD, "initialize", [1]),
    "unknown-member": request(GOOD, "initialize", {**HELLO, "root": True}),
    "no-face": request(GOOD, "initialize", {"protocol": 1, "version": "1"}),
    "strange-face": request(GOOD, "initialize", {**HELLO, "face": "king"}),
    "version-number": request(GOOD, "initialize", {**HELLO, "version": 1}),
    "protocol-text": request(GOOD, "initialize", {**HELLO, "protocol": "1"}),
    "id-number": request(7, "initialize", HELLO),
    "id-short": request("abc", "initialize", HELLO),
    "id-long": request("a" * 65, "initialize", HELLO),
    "id-not-hex": request("x" * 16, "initialize", HELLO),
    "id-null": request(None, "initialize", HELLO),
}


@pytest.mark.parametrize("words", FIRST_WORDS.values(), ids=FIRST_WORDS)
def test_first_words_that_are_none(engine, words):
    with EngineClient(engine.account, hello=False) as client:
        client.send_raw(words)
        assert client.is_closed()
        assert all("error" in answer for answer in client.answers.values()) and client.events == []
    works(engine)


@pytest.mark.parametrize("protocol", [0, 2, -1, 2**62])
def test_other_protocol_says_who_is_to_update(engine, protocol):
    with EngineClient(engine.account, hello=False) as client:
        with pytest.raises(EngineError) as caught:
            client.command("initialize", {**HELLO, "protocol": protocol})
        assert caught.value.code == -32010 and str(protocol) in caught.value.message
        assert "pdate" in caught.value.message
        assert client.is_closed()
    works(engine)


LATER_WORDS = {name: words for name, words in FIRST_WORDS.items()
               if name in ("nothing-json", "batch", "nul", "depth", "duplicate-key", "notification", "answer",
                           "id-number", "id-short", "id-long", "id-not-hex", "id-null")}
LATER_WORDS["second-hello"] = request(GOOD, "initialize", HELLO)


@pytest.mark.parametrize("words", LATER_WORDS.values(), ids=LATER_WORDS)
def test_later_words_that_are_none(engine, words):
    """P01: one bad line ends the connection; what follows it is not read."""
    with EngineClient(engine.account) as client:
        client.send_raw(words + request(secrets.token_hex(8), "engine.status"))
        assert client.is_closed()
        assert all("error" in answer for answer in client.answers.values())
    works(engine)


def test_line_over_the_cap(engine):
    """P02: 8 MiB are taken, a byte more is not, and nothing grows with a line without an end."""
    with EngineClient(engine.account) as client:
        name = secrets.token_hex(16)
        start_of = request(name, "session.stop", {"session": ""}).strip()[:-3]
        client.send_raw(start_of + b"x" * ((8 << 20) - len(start_of) - 3) + b'"}}\n')
        assert client.answer(name, 30) == {"stopped": False}
    with EngineClient(engine.account) as client:
        try:
            for _ in range(64):
                client.send_raw(b"x" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert client.is_closed()
    status = (f"/proc/{engine.process.pid}/status")
    with open(status, encoding="ascii") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1))
    assert peak < 300 * 1024, peak
    works(engine)


def test_any_split_gives_the_same(engine):
    """P02: every split point of what a face says."""
    said = request("aa" * 8, "initialize", HELLO) + b"\r\n\n" + request("bb" * 8, "session.list").replace(
        b"\n", b"\r\n") + request("cc" * 8, "session.stop", {"session": "x"})
    for at in range(1, len(said), 3):
        with EngineClient(engine.account, hello=False) as client:
            client.send_raw(said[:at])
            client.send_raw(said[at:])
            assert client.answer("aa" * 8)["protocol"] == 1
            assert client.answer("bb" * 8) == {"sessions": []}
            assert client.answer("cc" * 8) == {"stopped": False}


def test_errors_carry_their_kind(engine):
    with EngineClient(engine.account) as client:
        for method, params, code, word in [
                ("session.dance", {}, -32001, "session.dance"), ("session.start", {}, -32001, "folders"),
                ("engine.status", {"all": 1}, -32001, "all"), ("session.show", {"session": "nosuch"}, -32001, "nosuch"),
                ("session.resume", {"session": "nosuch"}, -32001, "nosuch")]:
            with pytest.raises(EngineError) as caught:
                client.command(method, params)
            assert caught.value.code == code and word in caught.value.message, caught.value.message


def test_once_over_a_reconnect(engine, ordinary_user, workspace, wall):
    """A command that is sent again is not done again, whichever connection it comes over."""
    name = secrets.token_hex(16)
    params = {"folders": [str(workspace.folder)], "provider": wall.name,
              "argv": ["/bin/sh", "-c", "echo x >> ran"]}
    with EngineClient(ordinary_user) as client:
        client.send("session.exec", params, name)
    with EngineClient(ordinary_user) as client:
        session = client.command("session.exec", params, name, 20)["session"]
        assert client.command("session.exec", params, name)["session"] == session
        with pytest.raises(EngineError) as caught:
            client.command("session.exec", {**params, "argv": ["/bin/true"]}, name)
        assert caught.value.code == -32001
        client.send("session.show", {"session": session})
        wait_until(lambda: client.command("session.list")["sessions"][0]["state"] == "done", 20, "its end")
        assert len(client.command("session.list")["sessions"]) == 1
    assert (workspace.folder / "ran").read_text() == "x\n"


def test_two_faces_see_the_same_and_one_may_die(engine, ordinary_user, workspace):
    """Each numbered event, in order, whoever else is killed in the middle."""
    watcher = subprocess.Popen(
        ["python3", "-c", "import socket,sys,time\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
         "s.send(sys.argv[2].encode())\nprint(len(s.recv(99)),flush=True)\nwhile s.recv(9999): pass",
         str(workspace.runtime / "coworker/engine"), request("dd" * 8, "initialize", HELLO).decode()],
        stdout=subprocess.PIPE, user=ordinary_user.uid)
    try:
        assert watcher.stdout.readline().strip() != b"0"
        with EngineClient(ordinary_user) as one, EngineClient(ordinary_user) as two:
            session = start(one, ordinary_user, SLOW)
            wait_until((workspace.folder / "begun").exists, 20, "the command")
            watcher.kill()
            go(ordinary_user)
            one.wait_event(ended(session))
            two.wait_event(ended(session))
            seen = one.numbered(session)
            assert seen == two.numbered(session) == one.command("session.show", {"session": session})["events"]
            assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
            assert seen[-1]["outcome"] == "done"
    finally:
        watcher.kill()
        watcher.wait()
        watcher.stdout.close()


def test_resume_from_any_number(engine, ordinary_user):
    with EngineClient(ordinary_user) as client:
        session = start(client, ordinary_user, "echo x")
        client.wait_event(ended(session))
        events = client.command("session.show", {"session": session})["events"]
        for number in range(1, len(events) + 1):
            assert client.command("session.show", {"session": session, "from": number})["events"] == events[number - 1:]
        assert client.command("session.show", {"session": session, "from": len(events) + 1})["events"] == []
        assert client.command("session.show", {"session": session, "from": 2**62})["events"] == []


def test_reader_that_is_slow_delays_nobody_and_misses_nothing(engine, ordinary_user, workspace):
    """It is left out of live pieces, and gets every numbered event when it reads."""
    with EngineClient(ordinary_user) as slow, EngineClient(ordinary_user) as quick:
        session = start(quick, ordinary_user, "yes 0123456789 | head -c 30000000; echo end")
        quick.wait_event(ended(session), 60)
        slow.wait_event(ended(session), 60)
        assert slow.numbered(session) == quick.numbered(session)
        live = sum(len(json.dumps(event)) for event in slow.events if event["seq"] == 0)
        assert live < 20_000_000, live


def test_half_closed_gets_its_answers(engine, ordinary_user):
    client = EngineClient(ordinary_user)
    names = [client.send("session.list") for _ in range(5)]
    client.socket.shutdown(socket.SHUT_WR)
    for name in names:
        assert client.answer(name) == {"sessions": []}
    assert client.is_closed()
    client.close()


def test_too_many_clients(engine, ordinary_user):
    clients = [EngineClient(ordinary_user) for _ in range(64)]
    with EngineClient(ordinary_user, hello=False) as late:
        assert late.is_closed()
        assert "as many faces" in late.answers[None]["error"]["message"]
    clients[0].close()
    wait_until(lambda: clients[1].command("engine.status")["faces"] <= 64, 10, "one to go")
    def again():
        try:
            works(engine)
            return True
        except (AssertionError, EngineError, OSError):
            return False
    wait_until(again, 10, "room")
    for client in clients:
        client.close()


def test_many_connections_that_say_nothing(engine, ordinary_user):
    """Connections that come and go do not keep the engine from its work."""
    for _ in range(300):
        EngineClient(ordinary_user, hello=False).close()
    works(engine)
    descriptors = f"/proc/{engine.process.pid}/fd"
    wait_until(lambda: len(os.listdir(descriptors)) < 40, 10, "the descriptors to be closed")


def test_no_descriptors_left_is_no_busy_loop(ordinary_user, openworker):
    """EMFILE: who waits is let in later, and the engine does not spin over it."""
    up = Up(ordinary_user, openworker, argv=["/bin/sh", "-c", 'ulimit -n 40; exec "$0" up', openworker])
    held, late = [EngineClient(ordinary_user)], None
    while late is None:
        client = EngineClient(ordinary_user, hello=False)
        client.send("initialize", HELLO, "ee" * 8)
        try:
            client.socket.settimeout(1)
            client.buffer = client.socket.recv(1 << 16)
            held.append(client)
        except (socket.timeout, TimeoutError):
            late = client
        assert len(held) < 41

    def ticks():
        with open(f"/proc/{up.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    first = ticks()
    time.sleep(1)
    assert ticks() - first < os.sysconf("SC_CLK_TCK") // 2
    assert held[0].command("config.get")["profile"] == "strict"
    held.pop().close()
    assert late.answer("ee" * 8)["protocol"] == 1
    for client in [*held, late]:
        client.close()
    assert up.stop() == 0


def test_too_many_open_commands(engine, ordinary_user):
    with EngineClient(ordinary_user) as client:
        names = [client.send("sandbox.prove", {"provider": "bubblewrap"}) for _ in range(66)]
        refused = 0
        for name in names[64:]:
            with pytest.raises(EngineError) as caught:
                client.answer(name, 60)
            refused += "Too many" in caught.value.message
        assert refused == 2
        works(engine)


def test_presence_goes_with_the_connection(engine, ordinary_user, workspace):
    """A request waits without an end while nobody is there, and has one while somebody is."""
    with EngineClient(ordinary_user) as client:
        session = start(client, ordinary_user, "echo hi", provider="direct", interactive=True)
        asked = client.wait_event(lambda event: event["type"] == "consent-asked")
        assert asked["timeout_s"] == 0
        assert client.command("consent.list")["requests"][0]["parked"] is True
        with EngineClient(ordinary_user) as other:
            assert other.command("face.watch", {"session": session, "answers": True}) == {"watching": True}
            assert client.command("consent.list")["requests"][0]["parked"] is False
            assert client.command("consent.list")["requests"][0]["remaining_s"] > 0
            listed = client.command("session.list")["sessions"][0]
            assert listed["working"] is True and listed["waiting"] is True
        wait_until(lambda: client.command("consent.list")["requests"][0]["parked"], 10, "nobody to be there")
        assert client.command("consent.answer", {"request": asked["request"], "decision": "once"}) == {"taken": True}
        assert client.command("consent.answer", {"request": asked["request"], "decision": "once"}) == {"taken": False}
        assert client.wait_event(ended(session))["outcome"] == "done"


def test_face_can_watch_so_many_sessions(engine, ordinary_user):
    with EngineClient(ordinary_user) as client:
        for number in range(256):
            client.command("face.watch", {"session": f"s{number}", "answers": True})
        client.command("face.watch", {"session": "s0", "answers": True})
        with pytest.raises(EngineError) as caught:
            client.command("face.watch", {"session": "one more", "answers": True})
        assert caught.value.code == -32002
        client.command("face.watch", {"session": "s0", "answers": False})
        client.command("face.watch", {"session": "one more", "answers": True})


def test_stale_socket_is_taken_over(engine, ordinary_user, openworker):
    engine.stop(signal.SIGKILL)
    assert (ordinary_user.workspace.runtime / "coworker/engine").exists()
    again = Up(ordinary_user, openworker)
    with EngineClient(ordinary_user) as client:
        assert client.hello["pid"] == again.process.pid
    assert again.stop() == 0
    assert not (ordinary_user.workspace.runtime / "coworker/engine").exists()


def test_what_is_no_socket_is_not_removed(ordinary_user, openworker):
    path = ordinary_user.write(ordinary_user.workspace.runtime / "coworker" / "engine", "mine")
    os.chmod(path.parent, 0o700)
    done = ordinary_user.run([openworker, "up"])
    assert done.returncode == 1 and "no socket" in done.stderr, done.stderr
    assert path.read_text() == "mine"


def test_lock_that_is_a_link_is_not_followed(ordinary_user, openworker, workspace):
    place = ordinary_user.mkdir(workspace.runtime / "coworker", 0o700)
    (place / "engine.lock").symlink_to(workspace.folder / "elsewhere")
    done = ordinary_user.run([openworker, "up"])
    assert done.returncode == 1 and "symbolic link" in done.stderr, done.stderr
    assert not (workspace.folder / "elsewhere").exists()


def test_long_path_says_so(ordinary_user, openworker, workspace):
    deep = ordinary_user.mkdir(workspace.path / ("d" * 100), 0o700)
    done = ordinary_user.run([openworker, "up"], env={"XDG_RUNTIME_DIR": str(deep)})
    assert done.returncode == 69 and "107 bytes" in done.stderr, done.stderr


def test_lock_is_held_while_it_runs(engine, ordinary_user):
    with open(ordinary_user.workspace.runtime / "coworker/engine.lock", "rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_children_have_neither_lock_nor_socket(engine, ordinary_user, workspace, wall):
    """A command's process that outlives the engine must not be taken for it."""
    with EngineClient(ordinary_user) as client:
        session = start(client, ordinary_user, "ls -l /proc/self/fd > fds; readlink /proc/self/fd/* > links; true",
                        wall.name)
        client.wait_event(ended(session))
    links = (workspace.folder / "links").read_text()
    assert "engine.lock" not in links, links
