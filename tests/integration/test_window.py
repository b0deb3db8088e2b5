# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A task in the window of openworker-desktop, told and driven as a screen reader does: an approval,
a stop, the level in words (REQ-A01, U06)."""

import time

import pytest
from conftest import scaled, wait_until
from desktop import Desktop
from engines import Up
from model_server import ModelServer, calls
from windows import (card, events, level, say, sessions, start_session, wait_event, wait_text)

COMMAND = "printf 'made by %s\\n' \"the agent\" > made.txt && cat made.txt"


def shell(command, **more):
    return calls(("shell", {"command": command}), **more)


@pytest.fixture
def desktop(request, account_or_user, workspace):
    with Desktop(account_or_user, workspace) as desktop:
        yield desktop


@pytest.fixture
def account_or_user(request):
    name = "account" if "account" in request.fixturenames else "ordinary_user"
    return request.getfixturevalue(name)


@pytest.fixture(params=["inside", "client"])
def host(request, account_or_user, openworker):
    """The engine in the window, or in `openworker up` which runs already."""
    if request.param == "inside":
        yield None
        return
    up = Up(account_or_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def test_task_with_an_approval_and_a_stop(account, workspace, desktop, host, openworker, openworker_desktop):
    words = ["First ", "I ", "make ", "a file."]
    with ModelServer([shell(COMMAND, text=words, delay=0.02),
                      {"text": "The file is there."},
                      shell("touch begun; sleep 60", text="This takes long."),
                      {"text": "never said"}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, "Make a file.")

        # What is asked is what would run, byte for byte, and nothing is pressed by mistake.
        assert window.wait("What would be done", "text", timeout=20)["text"] == f"$ {COMMAND}"
        wait_text(window, "First I make a file.")
        card(window)
        window.wait("Deny", state="focused")
        assert not (workspace.folder / "made.txt").exists()
        window.click("Allow once")
        wait_text(window, "made by the agent")
        wait_text(window, "The file is there.")
        assert (workspace.folder / "made.txt").read_text() == "made by the agent\n"
        assert level(window) == "Protection: Built-in"

        say(window, "And now something long.")
        card(window)
        window.click("Allow once")
        wait_until((workspace.folder / "begun").exists, 20, "the command")
        begun = time.monotonic()
        window.click("Stop")
        wait_until(lambda: not [line for line in workspace.processes().values() if "sleep 60" in line],
                   2, "the command's end")
        window.gone("Stop", "push button", timeout=2)
        assert time.monotonic() - begun < scaled(4)

        session, = sessions(account, openworker)
        ended = wait_event(account, openworker, session["session"], type="tool-ended", outcome="cancelled")
        stopped = wait_event(account, openworker, session["session"], type="turn-ended", reason="stopped")
        assert stopped["seq"] > ended["seq"]
        assert [event["decision"] for event in events(account, openworker, session["session"])
                if event["type"] == "consent-answered"] == ["once", "once"]
    assert server.faults == []
    window.stop()
    assert window.process.returncode == 0
