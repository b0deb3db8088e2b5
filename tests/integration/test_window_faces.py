# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The window and other faces on one engine: what one sees the other sees, and the death of one
changes nothing for the other (REQ-A01, REQ-M01)."""

import json
import os
import signal
import sqlite3
import subprocess

import pytest
from conftest import scaled, wait_until
from engines import Up, wait_begun
from model_server import ModelServer, calls
from windows import (SANDBOXED, events, level, only_session, say, start_session, wait_event,
                     wait_text)

SLOW = "touch begun; while ! [ -e go ]; do sleep 0.05; done; printf 'gone%s\\n' ' on'"


def shell(command, **more):
    return calls(("shell", {"command": command}), **more)


@pytest.fixture
def up(ordinary_user, openworker):
    up = Up(ordinary_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def go(account, workspace):
    account.write(workspace.folder / "go", "")


def follow(account, openworker, session):
    return account.popen([openworker, "attach", session, "--json"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def numbered(output):
    return [event for event in map(json.loads, output.splitlines()) if event["seq"]]


def shown(window, *texts):
    """Each of these stands in the transcript, once, and in this order."""
    wait_text(window, texts[-1])
    lines = [node["text"] for node in window.ask("all", within="Transcript")["nodes"]
             if node["role"] in ("label", "text")]
    at = [[n for n, line in enumerate(lines) if text in line] for text in texts]
    assert all(len(found) == 1 for found in at), (texts, lines)
    assert at == sorted(at), (texts, lines)


def open_session(window, title="Do it."):
    window.press(contains=title, role="label", within="Sessions")


SAID = ["Do it.", "First words.", "touch begun", "gone on", "Last words."]


@pytest.mark.parametrize("killed", ["command", "window"])
def test_one_face_is_killed(ordinary_user, workspace, desktop, up, openworker, openworker_desktop,
                            killed):
    with ModelServer([shell(SLOW, text="First words."), {"text": "Last words."}]) as server:
        session = up.detach(server)
        window = desktop.start(openworker_desktop)
        open_session(window)
        face = follow(ordinary_user, openworker, session)
        wait_begun(workspace)
        wait_text(window, "First words.")
        (face if killed == "command" else window.process).kill()
        if killed == "command":
            face.communicate()
        else:
            window.process.wait()
        go(ordinary_user, workspace)
        up.wait_end(session)
        if killed == "window":
            out, _ = face.communicate(timeout=scaled(30))
            assert numbered(out) == up.events(session)
            window = desktop.start(openworker_desktop)
            open_session(window)
        else:
            late = follow(ordinary_user, openworker, session)
            assert numbered(late.communicate(timeout=scaled(30))[0]) == up.events(session)
        shown(window, *SAID)
    seqs = [event["seq"] for event in up.events(session)]
    assert seqs == list(range(1, len(seqs) + 1))
    window.stop()


def test_command_joins_the_window(ordinary_user, workspace, desktop, openworker,
                                  openworker_desktop):
    """The window is the engine: a command sees its session, and starts one that it shows."""
    with ModelServer([shell(SLOW, text="First words."), {"text": "Last words."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        session = only_session(ordinary_user, openworker)
        face, doomed = (follow(ordinary_user, openworker, session) for _ in range(2))
        doomed.stdout.readline()
        doomed.kill()
        go(ordinary_user, workspace)
        shown(window, *SAID)
        # The session is kept, so the face has no end of its own.
        face.send_signal(signal.SIGINT)
        out, _ = face.communicate(timeout=scaled(30))
        assert numbered(out) == events(ordinary_user, openworker, session)
    with ModelServer([{"text": "Said to a command."}]) as server:
        done = ordinary_user.run([openworker, "run", "--folder", workspace.folder,
                                  "--provider", "bubblewrap", "--model", "openai:demo",
                                  "--base-url", server.url, "--json", "Another one."])
        assert done.returncode == 0, done.stderr
        open_session(window, "Another one.")
        shown(window, "Another one.", "Said to a command.")
    window.stop()


def test_window_takes_the_place_of_an_engine_that_dies(ordinary_user, workspace, desktop, up,
                                                       openworker, openworker_desktop):
    with ModelServer([shell(SLOW, text="First words."), {"text": "Words after all."}]) as server:
        session = up.detach(server)
        window = desktop.start(openworker_desktop)
        open_session(window)
        wait_text(window, "First words.")
        wait_begun(workspace)
        os.kill(up.process.pid, signal.SIGKILL)
        up.process.wait()
        wait_text(window, "The session was interrupted")
        status = json.loads(wait_until(
            lambda: ordinary_user.run([openworker, "status", "--json"]).stdout or None, 20,
            "an engine"))
        assert status["host"] == "window" and status["pid"] == window.process.pid
        say(window, "Go on, please.")
        wait_text(window, "Words after all.")
        wait_text(window, "The session goes on.")
        assert level(window) == "Protection: Built-in"
    assert server.faults == []
    ran = [event for event in events(ordinary_user, openworker, session)
           if event.get("tool") == "shell"]
    # Nothing runs twice.
    assert [event["type"] for event in ran] == ["tool-asked", "tool-started", "tool-ended"]
    assert ran[-1]["outcome"] == "interrupted"
    window.stop()


def test_closed_window_stays_until_its_session_ends(ordinary_user, workspace, desktop, openworker,
                                                    openworker_desktop):
    with ModelServer([shell(SLOW), {"text": "Last words."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        session = only_session(ordinary_user, openworker)
        window.give_keys()
        window.key("ctrl+w")
        window.gone(role="frame", showing=True)
        assert ordinary_user.run([openworker, "status"]).returncode == 0
        go(ordinary_user, workspace)
        wait_event(ordinary_user, openworker, session, type="model-message", text="Last words.")
        assert window.process.wait(scaled(30)) == 0


def test_quit_asks_while_a_session_runs(ordinary_user, workspace, desktop, openworker,
                                        openworker_desktop):
    with ModelServer([shell(SLOW), {"text": "never said"}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        session = only_session(ordinary_user, openworker)
        window.give_keys()
        window.key("ctrl+q")
        wait_text(window, "1 session runs in this program.")
        window.click("Cancel")
        window.gone("Stop and quit", "push button")
        assert window.process.poll() is None
        window.give_keys()
        window.key("ctrl+q")
        window.click("Stop and quit")
        assert window.process.wait(scaled(30)) == 0
    said = events(ordinary_user, openworker, session)
    assert [event["outcome"] for event in said
            if event["type"] == "tool-ended" and event["tool"] == "shell"] == ["cancelled"]
    assert not [line for line in workspace.processes().values() if "sleep 0.05" in line]


def test_quit_of_a_desktop_brings_a_closed_window_back(ordinary_user, workspace, desktop,
                                                       openworker, openworker_desktop):
    """It asks then too, in place of waiting out of sight for the session's end."""
    with ModelServer([shell(SLOW), {"text": "never said"}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        window.give_keys()
        window.key("ctrl+w")
        window.gone(role="frame", showing=True)
        done = ordinary_user.run(["gdbus", "call", "--session", "--dest",
                                  "org.openworker.OpenWorker", "--object-path",
                                  "/org/openworker/OpenWorker", "--method",
                                  "org.freedesktop.Application.ActivateAction", "quit", "[]", "{}"],
                                 env=desktop.env)
        assert done.returncode == 0, done.stderr
        wait_text(window, "1 session runs in this program.")
        window.click("Stop and quit")
        assert window.process.wait(scaled(30)) == 0


def test_signal_parks_and_the_next_window_goes_on(ordinary_user, workspace, desktop, openworker,
                                                  openworker_desktop):
    with ModelServer([shell(SLOW, text="First words."), {"text": "Words after all."},
                      {"text": "The last ones."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        session = only_session(ordinary_user, openworker)
        window.stop()
        assert window.process.returncode == 0
        last = events(ordinary_user, openworker, session)[-1]
        assert (last["type"], last["outcome"]) == ("session-ended", "parked")
        window = desktop.start(openworker_desktop)
        open_session(window)
        wait_text(window, "The session waits")
        say(window, "Go on, please.")
        wait_text(window, "Words after all.")
        # It stays open after its turn, as a session that the window began.
        wait_event(ordinary_user, openworker, session, type="turn-ended", reason="done")
        say(window, "And once more.")
        wait_text(window, "The last ones.")
        begun = [event["type"] for event in events(ordinary_user, openworker, session)
                 if event["type"] in ("session-started", "session-resumed")]
        assert begun == ["session-started", "session-resumed"]
    window.stop()


# What another program does to the store while the session runs; the words of its end.
UNSTORED = {
    "refused": (["CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'full'); END"],
                "could not be stored"),
    "deleted": (["DELETE FROM events", "DELETE FROM sessions"], "was deleted from the store"),
}


@pytest.mark.parametrize("kind", UNSTORED)
def test_end_that_could_not_be_stored_is_shown(ordinary_user, workspace, desktop,
                                               openworker_desktop, kind):
    """It has no number and stands in no list; the session does not seem to run for ever."""
    statements, words = UNSTORED[kind]
    with ModelServer([shell(SLOW, text="First words."), {"text": "never said"}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_begun(workspace)
        wait_text(window, "First words.")
        window.wait("Stop", "push button")
        window.wait(contains="Running", role="label", within="Sessions")
        with sqlite3.connect(workspace.data / "sessions.sqlite", timeout=10) as data:
            for statement in statements:
                data.execute(statement)
        go(ordinary_user, workspace)
        wait_text(window, "The session failed.")
        wait_text(window, words)
        window.gone("Stop", "push button")
        window.gone(contains="Running", role="label", within="Sessions")
        if kind == "refused":
            found = window.wait(contains="failed: ", role="label", within="Sessions")
            assert words in (found.get("text") or found["name"])
    window.stop()
