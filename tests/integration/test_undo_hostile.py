# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Undo while a call runs, by two faces at once, of a session that is deleted or stopped meanwhile, with
a kill in between, and what a model may not ask for (holes S02, P13, U02)."""

import json
import os
import signal
import sqlite3
import subprocess

import pytest
from conftest import scaled, wait_until
from engine_client import EngineClient, EngineError
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from terminal import Terminal

SLOW = "touch begun; while ! [ -e go ]; do sleep 0.05; done; echo over"


@pytest.fixture
def up(account, workspace, openworker, wall):
    account.write(workspace.folder / "a.txt", "one\n")
    up = Up(account, openworker)
    up.wall = wall
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def client(up, account):
    with EngineClient(account) as client:
        yield client


@pytest.fixture
def server():
    with ModelServer([{"text": "Done."}]) as server:
        yield server


def start(up, client, server, *answers, keep=True):
    """A session that stays open; its id. Its first turn has ended, or its command has begun."""
    server.script = [*answers, {"text": "Done."}]
    return client.command("session.start", {
        "folders": [str(up.account.workspace.folder)], "task": "Do it.", "model": "openai:demo",
        "base_url": server.url, "provider": up.wall.name, "approve": "sandboxed", "interactive": True,
        "keep": keep}, seconds=30)["session"]


def wait_turn(client, session, n=1):
    client.wait_event(lambda _: len([event for event in client.numbered(session)
                                     if event["type"] == "turn-ended"]) >= n, 60)


def end(client, session):
    client.command("session.end", {"session": session})
    client.wait_event(lambda event: event["type"] == "session-ended" and event["session"] == session, 60)


def write(path, content):
    return calls(("write", {"path": path, "content": content}))


def states(result):
    return {os.path.basename(file["path"]): file["state"] for file in result["files"]}


def undo(client, session, **more):
    return client.command("session.undo", {"session": session, **more}, seconds=90)


def test_while_a_call_runs(up, client, server, account, workspace):
    """Looked at it can be; to undo it is refused, and nothing of the call is disturbed. Between two calls
    of a turn it is done."""
    session = start(up, client, server, write("a.txt", "two\n"), calls(("shell", {"command": SLOW})))
    wait_begun(workspace)
    assert "+two\n" in client.command("session.changes", {"session": session}, seconds=60)["diff"]
    shown = undo(client, session)
    assert states(shown) == {"a.txt": "would restore"}
    with pytest.raises(EngineError, match="a call of the agent runs"):
        undo(client, session, preview=shown["call"])
    assert (workspace.folder / "a.txt").read_text() == "two\n"
    account.write(workspace.folder / "go", "")
    wait_turn(client, session)
    shell = [event for event in client.numbered(session) if event["type"] == "tool-ended" and event["tool"] == "shell"]
    assert [event["outcome"] for event in shell] == ["ok"] and "over" in shell[0]["result"]
    assert states(undo(client, session, preview=shown["call"])) == {"a.txt": "restored"}
    assert (workspace.folder / "a.txt").read_text() == "one\n"
    end(client, session)


def test_two_faces_at_once(up, client, server, account, workspace):
    """Of a session that runs and of one that has ended: it is done once, and the other is told so."""
    session = start(up, client, server, write("a.txt", "two\n"))
    wait_turn(client, session)
    for ended in (False, True):
        (workspace.folder / "a.txt").write_text("two\n")
        with EngineClient(account) as other:
            first, second = undo(client, session), undo(other, session)
            asked = [face.send("session.undo", {"session": session, "preview": shown["call"]})
                     for face, shown in ((client, first), (other, second))]
            outcomes = []
            for face, name in zip((client, other), asked, strict=True):
                try:
                    outcomes.append(states(face.answer(name, 90))["a.txt"])
                except EngineError as error:
                    outcomes.append(error.message)
        assert outcomes.count("restored") == 1, outcomes
        assert any("already undone" in outcome or "just now" in outcome or "a call" in outcome
                   for outcome in outcomes), outcomes
        assert (workspace.folder / "a.txt").read_text() == "one\n"
        with pytest.raises(EngineError, match="already undone"):
            undo(client, session)
        if not ended:
            server.script = [{"text": ""}] * len(server.requests) + [write("a.txt", "two\n"), {"text": "Done."}]
            client.command("session.say", {"session": session, "text": "Again."})
            wait_turn(client, session, 2)
            end(client, session)


def test_what_names_no_preview_does_nothing(up, client, server, workspace):
    """S02: what is done is what was shown; an id of anything else is refused."""
    session = start(up, client, server, write("a.txt", "two\n"))
    wait_turn(client, session)
    call = next(event["call"] for event in client.numbered(session) if event["type"] == "tool-asked"
                and event["tool"] == "write")
    shown = undo(client, session, call=call)
    done = undo(client, session, preview=shown["call"])
    assert states(done) == {"a.txt": "restored"}
    for preview in (call, done["call"], "0" * 32, ""):
        with pytest.raises(EngineError, match="preview"):
            undo(client, session, preview=preview)
    for wrong in ({"call": call, "turn": 1}, {"turn": 0}, {"turn": -1}, {"turn": 2}, {"turn": 2**40},
                  {"call": "nosuch"}, {"call": 5}, {"turn": "1"}, {"paths": []}):
        with pytest.raises(EngineError):
            undo(client, session, **wrong)
    end(client, session)


def test_said_meanwhile_and_ended_meanwhile(up, client, server, workspace):
    """An ended session that is only looked at is not taken up by it; it can be right after."""
    session = start(up, client, server, write("a.txt", "two\n"), keep=False)
    client.wait_event(lambda event: event["type"] == "session-ended", 60)
    asked = client.send("session.changes", {"session": session})
    try:
        client.command("session.say", {"session": session, "text": "Hello."})
    except EngineError as error:
        assert "Try again" in error.message
    assert states(client.answer(asked, 90)) == {"a.txt": "changed"}
    assert up.state(session) == "done"
    listed = next(row for row in up.lines("sessions", "list") if row["session"] == session)
    assert listed["working"] is False and listed["model"] == "openai:demo"
    resumed = [event for event in up.events(session) if event["type"] == "session-resumed"]
    assert [event.get("purpose") for event in resumed] == ["changes"]
    taken = client.command("session.say", {"session": session, "text": "Hello."}, seconds=60)
    assert taken == {"taken": "resumed"}
    up.wait_end(session, 60)
    assert len([event for event in up.events(session) if event["type"] == "turn-ended"]) == 2


def test_deleted_meanwhile(up, client, server, account, workspace):
    """Not by the engine while it is looked at; by something else it ends with a sentence."""
    session = start(up, client, server, write("a.txt", "two\n"), keep=False)
    client.wait_event(lambda event: event["type"] == "session-ended", 60)
    shown = undo(client, session)
    asked = client.send("session.undo", {"session": session, "preview": shown["call"]})
    with pytest.raises(EngineError):
        client.command("session.delete", {"session": session})
    assert states(client.answer(asked, 90)) == {"a.txt": "restored"}
    asked = client.send("session.changes", {"session": session})
    with sqlite3.connect(workspace.data / "sessions.sqlite", timeout=10) as data:
        data.execute("DELETE FROM events")
        data.execute("DELETE FROM sessions")
    try:
        client.answer(asked, 90)
    except EngineError as error:
        assert "deleted" in error.message or "no session" in error.message
    with pytest.raises(EngineError, match="no session"):
        undo(client, session)


def test_P13_killed_while_it_is_looked_at(account, workspace, openworker, wall, server):
    """A look that is killed does not change how the session stands, and nothing of it is left."""
    account.write(workspace.folder / "a.txt", "one\n")
    server.script = [write("a.txt", "two\n"), {"text": "Done."}]
    done = account.run([openworker, "run", *wall.argv, "--approve", "sandboxed", "--json", "--model", "openai:demo",
                        "--base-url", server.url, "--folder", workspace.folder, "Do it."], timeout=scaled(60))
    assert done.returncode == 0, done.stderr
    session = json.loads(done.stdout.splitlines()[0])["session"]
    looking = account.popen([openworker, "sessions", "changes", session],
                            env={"OPENWORKER_TEST_STATE": "mounts-proven"},
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    show = [openworker, "sessions", "show", session, "--json"]
    wait_until(lambda: "session-resumed" in account.run(show).stdout, 30, "the look")
    looking.send_signal(signal.SIGKILL)
    looking.communicate()
    listed = account.run([openworker, "sessions", "list", "--json"]).stdout
    rows = [json.loads(line) for line in listed.splitlines()]
    assert [row["state"] for row in rows] == ["done"]
    done = account.run([openworker, "sessions", "undo", session, "--yes"], timeout=scaled(60))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (workspace.folder / "a.txt").read_text() == "one\n"
    wait_until(lambda: not workspace.processes(), 20, "the end of every process")


def test_model_cannot_ask_for_it(up, client, server, workspace):
    """A model has the tools that it is offered: these are none of them, and undo nothing."""
    session = start(up, client, server, write("a.txt", "two\n"),
                    calls(("undo", {"changes": [], "apply": True})), calls(("changes", {"changes": []})))
    wait_turn(client, session)
    ended = [event for event in client.numbered(session) if event["type"] == "tool-ended"
             and event["tool"] in ("undo", "changes")]
    assert [event["outcome"] for event in ended] == ["failed"] * 2
    assert all("There is no tool named" in event["result"] for event in ended)
    assert states(undo(client, session)) == {"a.txt": "would restore"}
    end(client, session)


def test_U02_asked_at_a_terminal(account, workspace, openworker, wall, server):
    """In colour, with controls as marks; an unclear answer is asked again, "no" and an interrupt do nothing."""
    account.write(workspace.folder / "a.txt", "one\n")
    server.script = [write("a.txt", "\x1b]52;c;AAAA\x07two \x1b[2Jthree\n"), {"text": "Done."}]
    done = account.run([openworker, "run", *wall.argv, "--approve", "sandboxed", "--json", "--model", "openai:demo",
                        "--base-url", server.url, "--folder", workspace.folder, "Do it."], timeout=scaled(60))
    session = json.loads(done.stdout.splitlines()[0])["session"]
    argv = [openworker, "sessions", "undo", session]
    said(account.run(argv, timeout=scaled(60)), 2, "--yes")
    for answers, status, content in ((["y", "maybe", "no"], 1, "two"), ([""], 1, "two"), (["YES", "yes"], 0, "one")):
        with Terminal(account, argv) as terminal:
            terminal.wait_for(r"Undo this, in 1 file\? \(yes or no\)", 60)
            for answer in answers[:-1]:
                terminal.type(answer)
                terminal.wait_for("whole word")
            terminal.type(answers[-1])
            assert terminal.end() == status, terminal.text
            assert "\x1b]52" not in terminal.text and "\x1b[2J" not in terminal.text
            assert "\x1b[31m-" in terminal.text and "\x1b[32m+one" in terminal.text
            assert "^[]52;c;AAAA^G" in terminal.plain
        assert content in (workspace.folder / "a.txt").read_text()
    shown = account.run([openworker, "sessions", "changes", session], timeout=scaled(60))
    assert shown.returncode == 0 and "The file tools left no changes." in shown.stdout
    assert "\x1b" not in account.run([openworker, "sessions", "show", session]).stdout
