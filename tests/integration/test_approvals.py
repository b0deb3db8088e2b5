# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker approvals`: what waits is shown as it is, an answer belongs to its request, and what
cannot be answered says why (REQ-A01)."""

import json
import time

import pytest
from engines import Up, said
from fake_engine import Error, FakeEngine
from model_server import ModelServer, calls


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def engine(request, ordinary_user, openworker):
    if "wall" in request.fixturenames:
        request.getfixturevalue("wall")  # before the engine, which has its place from it
    up = Up(ordinary_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def ask(engine):
    """A session that asks to do each command; with its server, to be closed."""
    servers = []

    def start(*commands, **how):
        servers.append(ModelServer([*[shell(command) for command in commands], {"text": "Done."}]))
        return engine.detach(servers[-1], approve="ask", **how), servers[-1]
    yield start
    for server in servers:
        server.close()


def test_nothing_waits(engine, openworker):
    assert engine.run("approvals").stdout == "Nothing waits for an answer.\n"
    assert engine.lines("approvals", "list") == []


@pytest.mark.parametrize("argv", [["allow", "123456"], ["deny", "123456", "no"]])
def test_no_engine(ordinary_user, openworker, argv):
    done = ordinary_user.run([openworker, "approvals"])
    assert done.returncode == 0 and "No engine runs" in done.stdout
    said(ordinary_user.run([openworker, "approvals", *argv]), 69, "No engine runs")


def test_request_is_shown_as_it_is(engine, ask, wall):
    command = "printf 'a\tb'\ntouch made\u202e\u200b\033[2J # " + "long " * 300
    session, _ = ask(command, provider=wall.name)
    request = engine.wait_request()[0]
    assert json.loads(request["subject"]) == {"tool": "shell", "arguments": {"command": command}}
    assert (request["session"], request["level"], request["parked"]) == (session, wall.name, True)
    assert "1 session runs, 1 waits for an answer" in engine.run("status").stdout
    done = engine.run("approvals")
    assert not set("\033\u202e\u200b") & set(done.stdout)
    for words in (request["request"], f"[{wall.name}]", session, "  $ printf 'a^Ib'",
                  "> touch made\\u{202E}\\u{200B}^[[2J", "long " * 300, "cannot be seen",
                  "waits until somebody is there"):
        assert words in done.stdout, done.stdout
    assert engine.run("approvals", "deny", request["request"]).returncode == 0


@pytest.mark.parametrize("length", [6, 9, None])
def test_allow_by_the_beginning_of_the_id(engine, ask, workspace, length):
    session, _ = ask("touch made")
    request = engine.wait_request()[0]["request"]
    done = engine.run("approvals", "allow", request[:length])
    assert done.returncode == 0, done.stderr
    assert "Allowed:" in done.stdout and "$ touch made" in done.stdout
    assert engine.wait_end(session)["outcome"] == "done"
    assert (workspace.folder / "made").exists()


def test_deny_with_a_reason(engine, ask, workspace):
    session, server = ask("touch made")
    done = engine.run("approvals", "deny", engine.wait_request()[0]["request"], "Not in this folder.")
    assert done.returncode == 0 and "Denied:" in done.stdout
    engine.wait_end(session)
    assert not (workspace.folder / "made").exists()
    assert "Not in this folder." in [message["content"] for message in server.requests[1].messages
                                     if message["role"] == "tool"][0]


def test_session_holds_for_the_same_call_only(engine, ask, workspace):
    session, _ = ask("touch made", "touch made", "touch made2")
    assert engine.run("approvals", "allow", engine.wait_request()[0]["request"], "--session").returncode == 0
    request = engine.wait_request()[0]
    while "made2" not in request["subject"]:
        time.sleep(0.05)
        request = engine.wait_request()[0]
    assert engine.run("approvals", "deny", request["request"]).returncode == 0
    engine.wait_end(session)
    answers = [event["approval"] for event in engine.events(session) if event["type"] == "consent-answered"]
    assert answers == ["person:session", "denied:person"]


def test_always_holds_for_later_sessions(engine, ask, workspace):
    session, _ = ask("touch made")
    request = engine.wait_request()[0]
    assert request["always"] == "touch made"
    assert "--always would allow: touch made" in engine.run("approvals").stdout
    assert engine.run("approvals", "allow", request["request"], "--always").returncode == 0
    engine.wait_end(session)
    session, _ = ask("touch made")
    assert engine.wait_end(session)["outcome"] == "done"
    assert [event["type"] for event in engine.events(session)].count("consent-asked") == 0


@pytest.mark.parametrize("command", ["touch made && true", "touch $HOME", "touch made >x", "(touch made)"])
def test_always_that_is_not_offered(engine, ask, workspace, command):
    session, _ = ask(command)
    request = engine.wait_request()[0]["request"]
    said(engine.run("approvals", "allow", request, "--always"), 2, "always")
    assert engine.lines("approvals")[0]["request"] == request
    assert engine.run("approvals", "deny", request).returncode == 0
    engine.wait_end(session)
    assert not (workspace.folder / "made").exists()


@pytest.mark.parametrize("name", ["0000000000", "", "zzzzzzz", "x" * 100000, "\033[2J\u202e0000"])
def test_unknown_request(engine, ask, name):
    session, _ = ask("touch made")
    request = engine.wait_request()[0]["request"]
    done = engine.run("approvals", "allow", name)
    line = said(done, 2)
    assert len(line) < 300 and not set("\033\u202e") & set(done.stderr)
    assert engine.run("approvals", "deny", request).returncode == 0
    engine.wait_end(session)


@pytest.mark.parametrize("length", [1, 5])
def test_beginning_that_is_too_short(engine, ask, length):
    session, _ = ask("touch made")
    request = engine.wait_request()[0]["request"]
    said(engine.run("approvals", "allow", request[:length]), 2, "too short")
    assert engine.run("approvals", "deny", request).returncode == 0
    engine.wait_end(session)


def test_answered_twice(engine, ask):
    session, _ = ask("touch made")
    request = engine.wait_request()[0]["request"]
    assert engine.run("approvals", "deny", request).returncode == 0
    said(engine.run("approvals", "allow", request), 2, request)
    engine.wait_end(session)


def entry(name, **more):
    return {"request": name, "session": "s", "kind": "tool", "title": "shell", "level": "direct",
            "subject": '{"command":"true"}', "parked": False, "remaining_s": 7, **more}


TWO = {"requests": [entry("abcdef00"), entry("abcdef11"), entry("abcdef")]}


def test_beginning_of_two_requests(ordinary_user, openworker):
    """Nothing is guessed; a whole id that is the beginning of another one is itself."""
    with FakeEngine(ordinary_user, {"consent.list": {"requests": TWO["requests"][:2]},
                                    "consent.answer": {"taken": True}}) as fake:
        said(ordinary_user.run([openworker, "approvals", "allow", "abcdef"]), 2, "2 requests begin with")
        assert ordinary_user.run([openworker, "approvals", "allow", "abcdef1"]).returncode == 0
    assert [params["request"] for method, params in fake.seen if method == "consent.answer"] == ["abcdef11"]
    with FakeEngine(ordinary_user, {"consent.list": TWO, "consent.answer": {"taken": True}}) as fake:
        assert ordinary_user.run([openworker, "approvals", "deny", "abcdef", "Why?"]).returncode == 0
    assert [params for method, params in fake.seen if method == "consent.answer"] == [
        {"request": "abcdef", "decision": "deny", "reason": "Why?"}]


def test_answered_meanwhile(ordinary_user, openworker):
    with FakeEngine(ordinary_user, {"consent.list": TWO, "consent.answer": {"taken": False}}):
        said(ordinary_user.run([openworker, "approvals", "allow", "abcdef00"]), 1, "meanwhile")
    refused = Error(-32001, "No request waits with that id.")
    with FakeEngine(ordinary_user, {"consent.list": TWO, "consent.answer": refused}):
        said(ordinary_user.run([openworker, "approvals", "allow", "abcdef00"]), 2, "No request waits")


@pytest.mark.parametrize("answer", [{}, {"requests": None}, {"requests": "x"}, {"requests": [1, None, "x", {}]},
                                    {"requests": [entry("abcdef00", level=3, subject=[], title={})]}])
def test_list_of_an_engine_that_is_odd(ordinary_user, openworker, answer):
    """What comes from the other side is data."""
    with FakeEngine(ordinary_user, {"consent.list": answer}):
        for argv in ([], ["--json"], ["allow", "abcdef99"]):
            done = ordinary_user.run([openworker, "approvals", *argv])
            assert done.returncode in (0, 1, 2), done.stderr
            assert "CRITICAL" not in done.stderr
