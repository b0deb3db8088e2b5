# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What others wrote is shown in the window as it is: markup, control characters and text that hides
something stand there literally or as visible marks, and whatever its size the window answers (U01,
U02, U03, U08, A35)."""

import json

import pytest
from conftest import scaled
from model_server import ModelServer, calls
from windows import card, start_session, wait_text

MARKUP = "R&D <b>plan</b> <a href='x'>y</a> &amp; &#1; <span size='1'>tiny</span> %s"
CONTROLS = "a\x1b]52;c;aGk=\x07b\x1b[2Kc\x1b[1Ad\x9bme\x7ff"
HIDING = "rm -rf /\u202e txt.\u2066elif\u2069 \u200b\u200d\u00ad\ufeff\U000e0041end"
TEXTS = {"markup": MARKUP, "controls": CONTROLS, "hiding": HIDING}
# Nothing of this may reach a label: it would be obeyed, or not be seen.
OBEYED = [chr(c) for c in [*range(0x20), 0x7f, *range(0x80, 0xa0)] if chr(c) not in "\n\t"]
UNSEEN = list("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
              "\u200b\u200d\u00ad\ufeff\U000e0041")


def visible(text):
    """As it must stand there."""
    shown = ""
    for letter in text:
        if ord(letter) < 0x20:
            shown += f"^{chr(ord(letter) + 0x40)}"
        elif letter == "\x7f":
            shown += "^?"
        elif 0x80 <= ord(letter) < 0xa0:
            shown += f"\\x{ord(letter):02X}"
        elif letter in UNSEEN:
            shown += f"\\u{{{ord(letter):04X}}}"
        else:
            shown += letter
    return shown


def texts(window):
    """All that the program tells a screen reader."""
    nodes = window.ask("all")["nodes"]
    return [node["name"] for node in nodes] + [node["text"] for node in nodes]


def check_texts(window):
    everything = "\n".join(texts(window))
    found = [f"U+{ord(letter):04X}" for letter in OBEYED + UNSEEN if letter in everything]
    assert not found, found


@pytest.mark.parametrize("kind", TEXTS)
def test_U01_text_of_others_is_shown_literally(ordinary_user, workspace, desktop,
                                               openworker_desktop, kind):
    """As a folder's name, a model's name, a task, what the model says, what it would run and what
    came of it."""
    text = TEXTS[kind]
    named = text.replace("/", "|")
    folder = ordinary_user.mkdir(workspace.folder / f"{named} folder")
    ordinary_user.write(folder / "output", text)
    command = f"cat output # {text}"
    # A name of a model that cannot be shown is refused.
    name = f"m {text}" if kind == "markup" else "m"
    with ModelServer([calls(("shell", {"command": command}), text=f"Words: {text}"),
                      {"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, folder, server, task=f"Task: {text}", name=name)
        shown = window.wait("What would be done", "text", timeout=20)["text"]
        assert visible(command) in shown
        card(window)
        check_texts(window)
        window.click("Allow once")
        wait_text(window, "Done.")
        check_texts(window)
        everything = texts(window)
        for wanted in (f"Task: {visible(text)}", f"{visible(named)} folder", name):
            assert any(wanted in line for line in everything), (wanted, everything)
        assert f"Words: {visible(text)}" in everything, everything
        frame = window.wait(role="frame")["name"]
        assert f"Task: {visible(text)}"[:60] in frame and frame.endswith("OpenWorker")
    assert server.faults == []
    window.stop()
    log = (workspace.path / "desktop.log").read_text(errors="replace")
    assert "markup" not in log.lower() and "CRITICAL" not in log, log


def test_U03_hidden_part_of_a_question_must_be_scrolled_to(ordinary_user, workspace, desktop,
                                                           openworker_desktop):
    """A command longer than its place cannot be allowed before its end has been seen."""
    command = "echo begin\n" + "\n" * 2000 + "touch hidden"
    with ModelServer([calls(("shell", {"command": command})), {"text": "Done."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        shown = window.wait("What would be done", "text", timeout=20)["text"]
        assert shown.endswith("touch hidden")
        card(window)
        wait_text(window, "There is more than fits.")
        assert "sensitive" not in window.wait("Allow once", "push button")["states"]
        window.press("Allow once", "push button")
        assert "sensitive" in window.wait("Deny", "push button")["states"]
        assert not (workspace.folder / "hidden").exists()
        at = window.ask("extents", "What would be done", "text")
        window.press_at(at["x"] + 50, at["y"] + 50)
        window.give_keys()
        window.key("ctrl+End")
        window.wait("Allow once", "push button", state="sensitive")
        window.click("Allow once")
        wait_text(window, "Done.")
    assert (workspace.folder / "hidden").exists()
    window.stop()


HUGE = {
    "long-line": {"text": "x" * 1_000_000},
    "many-lines": {"text": "line\n" * 10_000},
    "long-word-of-marks": {"text": "\u202e" * 100_000},
    "long-command": calls(("shell", {"command": "true " + "y" * 60_000}), split=1000),
    "long-output": calls(("shell", {"command": "head -c 1000000 /dev/zero | tr '\\0' z"})),
    "many-lines-of-output": calls(("shell", {"command": "yes line | head -n 10000"})),
    "colours": calls(("shell", {"command": "for n in $(seq 3000); do "
                                           "printf '\\033[31m%s\\033[0m\\r\\n' $n; done"})),
}


def test_U03_nul_in_an_answer_is_a_fault_of_the_server(ordinary_user, workspace, desktop,
                                                       openworker_desktop):
    """And a message of it that says so, not an answer that ends at the NUL."""
    with ModelServer([{"text": "Before\x00after"}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        wait_text(window, "The model gave no answer: a chunk of it cannot be read")
        window.gone("Stop", "push button")
    window.stop()


@pytest.mark.parametrize("kind", HUGE)
def test_U02_window_answers_whatever_is_shown(ordinary_user, workspace, desktop,
                                              openworker_desktop, kind):
    with ModelServer([HUGE[kind], {"text": "Now something short."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        if HUGE[kind].get("calls"):
            card(window, timeout=20)
            assert window.latency() < scaled(2)
            # One that does not fit cannot be allowed without having been looked at.
            if "sensitive" in window.wait("Allow once", "push button")["states"]:
                window.click("Allow once")
            else:
                window.click("Deny")
            wait_text(window, "Now something short.", timeout=40)
        else:
            window.wait("Send", "push button", timeout=40)
            window.gone("Stop", "push button", timeout=40)
        assert window.latency() < scaled(2)
        check_texts(window)
        assert max(map(len, texts(window))) < 70_000
    window.stop()


def test_A35_titles_that_are_there_already(ordinary_user, workspace, desktop, openworker,
                                           openworker_desktop):
    """In the list of sessions, as a command has made them."""
    for kind, text in TEXTS.items():
        with ModelServer([{"text": "Done."}]) as server:
            done = ordinary_user.run([openworker, "run", "--folder", workspace.folder,
                                      "--provider", "bubblewrap", "--model", "openai:m",
                                      "--base-url", server.url,
                                      f"{kind}: {text}"])
            assert done.returncode == 0, done.stderr
    window = desktop.start(openworker_desktop)
    for kind, text in TEXTS.items():
        wanted = f"{kind}: {visible(text)}"[:60]
        assert window.wait(contains=wanted, within="Sessions")["role"] == "label"
    check_texts(window)
    window.stop()


def test_U01_sentence_of_an_error(ordinary_user, workspace, desktop, openworker_desktop):
    """What a server says when it refuses is somebody else's text too."""
    body = json.dumps({"error": {"message": f"No: {MARKUP} \x1b[31m \u202e"}})
    with ModelServer([{"status": 400, "content_type": "application/json", "body": body}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server)
        wait_text(window, visible(f"No: {MARKUP}")[:40])
        check_texts(window)
    window.stop()
