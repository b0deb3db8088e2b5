# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A task in the window of openworker-desktop, told and driven as a screen reader does: an approval,
a stop, the level in words (REQ-A01, U06)."""

import datetime
import time

import pytest
from conftest import scaled, wait_until
from engines import Up
from model_server import ModelServer, calls
from windows import (ARMED, DIRECT, SANDBOXED, card, events, level, only_session, say, sessions,
                     start_session, wait_event, wait_text)

# As X says it: the keys go to whatever is under the pointer.
NOBODY = "1"
COMMAND = "printf 'made by %s\\n' \"the agent\" > made.txt && cat made.txt"


def shell(command, **more):
    return calls(("shell", {"command": command}), **more)


@pytest.fixture(params=["inside", "client"])
def host(request, account, openworker):
    """The engine in the window, or in `openworker up` which runs already."""
    if request.param == "inside":
        yield None
        return
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def test_task_with_an_approval_and_a_stop(account, workspace, desktop, host, openworker,
                                          openworker_desktop):
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
        wait_until(lambda: not [line for line in workspace.processes().values()
                                if "sleep 60" in line], 2, "the command's end")
        window.gone("Stop", "push button", timeout=2)
        assert time.monotonic() - begun < scaled(4)

        session, = sessions(account, openworker)
        ended = wait_event(account, openworker, session["session"], type="tool-ended",
                           outcome="cancelled")
        stopped = wait_event(account, openworker, session["session"], type="turn-ended",
                             reason="stopped")
        assert stopped["seq"] > ended["seq"]
        assert [event["decision"] for event in events(account, openworker, session["session"])
                if event["type"] == "consent-answered"] == ["once", "once"]
    assert server.faults == []
    window.stop()
    assert window.process.returncode == 0


def time_of(event):
    return datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def test_U06_press_that_comes_too_early(ordinary_user, desktop, workspace, openworker,
                                        openworker_desktop):
    """What was pressed before a person can have read the question answers nothing; the same
    press half a second after does."""
    rounds = 20
    with ModelServer([shell(f"echo {n}") for n in range(rounds)] + [{"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        session, tried = only_session(ordinary_user, openworker), 0
        top = window.top()
        for n in range(rounds):
            # As soon as the button is there, with nothing in between.
            at = window.ask("extents", "Deny", "push button", timeout=20)
            x, y = window.press_at(at["x"] + at["width"] // 2, at["y"] + at["height"] // 2, top)
            pressed = time.time()
            asked = wait_event(ordinary_user, openworker, session, type="consent-asked", nth=n)
            # The card comes after the event; on a slow machine not every press is early.
            early = pressed - time_of(asked) < ARMED
            time.sleep(scaled(ARMED) + 0.3)
            if early:
                assert not answers(ordinary_user, openworker, session)[n:], "answered too early"
                window.wait("Deny", "push button", state="focused")
            if not answers(ordinary_user, openworker, session)[n:]:
                again = window.press("Deny", "push button")
                # Where the card moved on meanwhile the early press was beside the button.
                tried += early and abs(again[0] - x) < 20 and abs(again[1] - y) < 10
            wait_until(lambda: len(answers(ordinary_user, openworker, session)) == n + 1, 10,
                       "the answer")
            if tried > 0:
                break
        assert tried > 0, "no press was early and on the button"
        assert answers(ordinary_user, openworker, session) == ["deny"] * (n + 1)


def test_U06_press_that_raises_the_window(ordinary_user, desktop, workspace, openworker,
                                          openworker_desktop):
    """A click into a window that had not the keys is for the window, not for its question."""
    with ModelServer([shell("touch made"), {"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        session = only_session(ordinary_user, openworker)
        window.give_keys()
        card(window)
        at = window.ask("extents", "Allow once", "push button")
        top = window.top()
        press = ["mousemove", "--window", top, str(at["x"] + at["width"] // 2),
                 str(at["y"] + at["height"] // 2), "click", "1"]
        quick = 0
        for _ in range(5):
            desktop.xdotool("mousemove", "1179", "819", "windowfocus", NOBODY)
            time.sleep(scaled(ARMED) + 0.3)
            begun = time.monotonic()
            desktop.xdotool("windowfocus", "--sync", top, *press)
            quick += time.monotonic() - begun < ARMED
            time.sleep(0.2)
            if quick:
                break
        assert quick, "no press was quick enough"
        assert not answers(ordinary_user, openworker, session)
        time.sleep(scaled(ARMED) + 0.3)
        desktop.xdotool(*press)
        wait_text(window, "Done.")
        assert answers(ordinary_user, openworker, session) == ["once"]
    window.stop()


def answers(account, openworker, session):
    return [event["decision"] for event in events(account, openworker, session)
            if event["type"] == "consent-answered"]


@pytest.mark.parametrize("way", ["nothing-set", "asked", "up"])
def test_no_protection_is_said(ordinary_user, desktop, workspace, openworker, openworker_desktop,
                               way):
    """In the header, in a bar of the window, and at every call, whoever chose it (REQ-W06)."""
    up = Up(ordinary_user, openworker) if way == "up" else None
    with ModelServer([shell("echo hello"), {"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        if up is not None:
            up.detach(server, provider="direct", approve="deny")
            window.press(contains="Do it.", role="label")
        else:
            start_session(window, workspace.folder, server,
                          provider=DIRECT if way == "asked" else None)
            card(window)
            window.click("Deny")
        wait_text(window, "Done.")
        assert level(window) == "Protection: Not protected"
        wait_text(window, "Not protected: commands of this session run directly on this machine")
        assert window.wait("Not protected", "label", within="Transcript")
    window.stop()
    if up is not None:
        assert up.stop() == 0


def test_keys(ordinary_user, desktop, workspace, openworker, openworker_desktop):
    """All of it without a mouse: the dialog, every answer, and the way out of each."""
    with ModelServer([shell("echo one"), shell("echo two"), {"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        window.key("ctrl+n")
        window.wait("Task", "text")
        window.give_keys()
        window.key("Escape")
        window.gone("Task", "text")
        window.give_keys()
        start_session(window, workspace.folder, server)
        window.give_keys()
        card(window)
        window.wait("Deny", state="focused")
        seen = ["Deny"]
        for _ in range(3):
            window.key("Tab")
            focused = window.ask("all", state="focused", within="Transcript")["nodes"]
            seen += [node["name"] for node in focused]
        assert seen[:4] == ["Deny", "Allow once", "Allow for this session", "Always allow"], seen
        window.key("shift+Tab", "shift+Tab")
        window.wait("Allow once", state="focused")
        window.key("Return")
        wait_text(window, "Allowed once")
        window.wait("What would be done", "text", contains="echo two")
        card(window)
        window.wait("Deny", state="focused")
        window.key("space")
        wait_text(window, "Done.")
        session = only_session(ordinary_user, openworker)
        assert answers(ordinary_user, openworker, session) == ["once", "deny"]
    window.stop()


def test_window_answers_while_a_model_speaks(ordinary_user, desktop, workspace, openworker,
                                             openworker_desktop):
    """200 pieces a second for some seconds: a menu opens and closes all the same."""
    with ModelServer([{"text": ["word "] * 8000, "delay": 0.005}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        wait_text(window, "word word word")
        assert window.latency() < scaled(1)
        window.key("F10")
        window.wait("Keyboard shortcuts", "menu item")
        window.key("Escape")
        window.gone("Keyboard shortcuts", "menu item")
        assert window.latency() < scaled(1)
        assert window.has("Stop", "push button"), "the model was done before"
        window.click("Stop")
        window.gone("Stop", "push button")
    window.stop()
