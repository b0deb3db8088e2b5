# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The window's card of an edit shows its diff and takes it back, after it showed what that does; all
that a session changed is one diff to read, of any length (REQ-A01; holes U02, S05)."""

import time

from conftest import scaled, wait_until
from model_server import ModelServer, calls
from windows import SANDBOXED, only_session, start_session, wait_event, wait_text

PARSER = "def parse(day):\n    if day > 31:\n        raise SystemError(day)\n    return day\n"


def edit(path, old, new):
    return calls(("edit", {"path": path, "old_text": old, "new_text": new}))


def write(path, content):
    return calls(("write", {"path": path, "content": content}))


def start(desktop, program, account, workspace, *answers):
    account.write(workspace.folder / "parser.py", PARSER)
    server = ModelServer([*answers, {"text": "Done."}])
    window = desktop.start(program)
    with server:
        start_session(window, workspace.folder, server, approve=SANDBOXED)
        wait_text(window, "Done.", timeout=40)
    return window


def menu(window, item):
    window.press("Session menu", "push button")
    window.wait(item, "menu item")
    window.click(item, "menu item")


def diff(window):
    return window.wait("Differences", "text", timeout=20)["text"]


def test_edit_is_shown_and_taken_back(ordinary_user, desktop, workspace, openworker,
                                      openworker_desktop):
    window = start(desktop, openworker_desktop, ordinary_user, workspace,
                   edit("parser.py", "SystemError(day)", "ParseError(day)"), write("new.txt", "new\n"))
    wait_text(window, "+1 −1")
    wait_text(window, "+3            raise ParseError(day)")
    desktop.screenshot("card")
    session = only_session(ordinary_user, openworker)
    window.wait("Undo", "push button", nth=0)
    window.click("Undo", "push button", nth=0)
    assert "-        raise ParseError(day)\n+        raise SystemError(day)\n" in diff(window)
    wait_text(window, "This is what undoing it does, in 1 file:")
    desktop.screenshot("preview")
    assert "ParseError" in (workspace.folder / "parser.py").read_text()
    window.click("Cancel")
    window.gone("Differences", "text")
    assert "ParseError" in (workspace.folder / "parser.py").read_text()
    window.click("Undo", "push button", nth=0)
    diff(window)
    window.click("Undo these changes")
    window.wait("Undone", "push button", timeout=20)
    desktop.screenshot("undone")
    assert (workspace.folder / "parser.py").read_text() == PARSER
    assert (workspace.folder / "new.txt").exists()
    wait_event(ordinary_user, openworker, session, type="tool-started", tool="undo", approval="person", nth=2)
    wait_text(window, "The person undid changes.")
    # The other one is offered still.
    assert window.has("Undo", "push button")
    window.stop()
    assert window.process.returncode == 0


def test_changed_since_is_said(ordinary_user, desktop, workspace, openworker,
                               openworker_desktop):
    window = start(desktop, openworker_desktop, ordinary_user, workspace,
                   edit("parser.py", "SystemError(day)", "ParseError(day)"))
    ordinary_user.write(workspace.folder / "parser.py", "mine\n")
    window.click("Undo", "push button")
    wait_text(window, "Nothing of it can be undone.")
    wait_text(window, "changed since")
    assert not window.has("Undo these changes", "push button")
    window.click("Cancel")
    window.wait("Undo", "push button")
    assert (workspace.folder / "parser.py").read_text() == "mine\n"
    window.stop()


def test_changes_of_the_session_and_undo_of_a_turn(ordinary_user, desktop, workspace, openworker,
                                                          openworker_desktop):
    window = start(desktop, openworker_desktop, ordinary_user, workspace,
                   edit("parser.py", "SystemError(day)", "ParseError(day)"), write("new.txt", "new\n"))
    menu(window, "Changes…")
    shown = diff(window)
    assert "+        raise ParseError(day)\n" in shown and "+new\n" in shown
    wait_text(window, "2 files changed by the agent’s file tools, +2 −1")
    desktop.screenshot("changes")
    window.click("Done")
    window.gone("Differences", "text")
    menu(window, "Undo last turn…")
    diff(window)
    window.click("Undo these changes")
    wait_until(lambda: (workspace.folder / "parser.py").read_text() == PARSER, 20, "the undo")
    assert not (workspace.folder / "new.txt").exists()
    window.stop()


def test_U02_S05_diff_that_is_hostile_does_not_stall(ordinary_user, desktop, workspace, openworker,
                                                     openworker_desktop):
    """A line of a megabyte, 100,000 lines, controls and markup: bounded, shown as text, and said to be cut."""
    ordinary_user.write(workspace.folder / "long.txt", "x" * 1_000_000 + "y\n")
    ordinary_user.write(workspace.folder / "many.txt", "line\n" * 100_000)
    window = start(desktop, openworker_desktop, ordinary_user, workspace,
                   calls(("edit", {"path": "long.txt", "old_text": "y", "new_text": "z"})),
                   calls(("edit", {"path": "many.txt", "old_text": "line", "new_text": "LINE", "replace_all": True})),
                   write("odd.txt", "<b>bold</b> \x1b[31mred\x1b[0m \u202eback\u202c\rover\n"))
    menu(window, "Changes…")
    begun = time.monotonic()
    shown = diff(window)
    assert time.monotonic() - begun < scaled(10)
    assert window.latency(20) < scaled(0.5)
    assert len(shown) < 1_000_000 and "\x1b" not in shown and "\u202e" not in shown
    desktop.screenshot("hostile")
    assert "left out" in shown
    window.click("Done")
    window.stop()
