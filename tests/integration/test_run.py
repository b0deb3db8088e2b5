# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker run`: events, approvals at a terminal, recordings, interruption, and what is
said of sessions afterwards (REQ-A01, REQ-E01, REQ-W05, REQ-W06)."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import time

import pytest
from conftest import scaled, wait_until
from replays import replay, shell


@pytest.fixture
def run(request, ordinary_user, workspace, openworker):
    """Behind the test's wall, or bubblewrap's where it is about no wall."""
    wall = request.getfixturevalue("wall").name if "wall" in request.fixturenames else "bubblewrap"

    def start(recording, *options, provider=wall, approve="sandboxed", **more):
        return ordinary_user.run(
            [openworker, "run", "--provider", provider, "--approve", approve, "--folder",
             workspace.folder, "--model", f"replay:{recording}", *options, "Do it."], **more)
    return start


def events_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_events_are_numbered_and_carry_the_level(ordinary_user, workspace, openworker, wall, run):
    """REQ-W05 [bubblewrap, openshell]."""
    recording = replay(ordinary_user, workspace, [shell("echo one"), shell("echo two >&2")])
    done = run(recording, "--json")
    assert done.returncode == 0, done.stderr
    events = events_of(done)
    numbered = [event["seq"] for event in events if event["seq"] != 0]
    assert numbered == list(range(1, len(numbered) + 1))
    kinds = {"tool-asked", "tool-started", "tool-output", "tool-ended", "wall"}
    assert kinds <= {event["type"] for event in events}
    assert {event["level"] for event in events if event["type"] in kinds} == {wall.name}
    assert events[-1]["type"] == "session-ended" and events[-1]["exit"] == 0

    stored = ordinary_user.run([openworker, "sessions", "show", events[0]["session"], "--json"])
    assert events_of(stored) == [event for event in events if event["seq"] != 0]
    listed = events_of(ordinary_user.run([openworker, "sessions", "list", "--json"]))
    assert [session["session"] for session in listed] == [events[0]["session"]]
    assert listed[0]["level"] == wall.name

    records = events_of(ordinary_user.run([openworker, "audit", "show", "--json"]))
    types = [record["event"]["type"] for record in records]
    # Two commands, and the look for what others run later.
    assert types.count("tool-started") == types.count("tool-ended") == 3
    assert types.index("tool-started") < types.index("tool-ended")
    levels = [record["event"]["level"] for record in records if record["event"]["type"].startswith("tool-")]
    assert levels and set(levels) == {wall.name}
    shown = ordinary_user.run([openworker, "audit", "show"]).stdout
    assert [line for line in shown.splitlines() if "tool-" in line and wall.name not in line] == [], shown


def test_output_is_streamed_while_the_command_runs(ordinary_user, workspace, openworker, wall):
    recording = replay(ordinary_user, workspace, [shell("echo early; sleep 2; echo late")])
    process = ordinary_user.popen(
        [openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording}", "--json", "Do it."],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen = {}
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "tool-output":
            seen[event["text"].strip()] = time.monotonic()
    assert process.wait() == 0
    assert seen["late"] - seen["early"] > 1


def test_card_shows_output_while_the_command_runs(ordinary_user, workspace, openworker):
    command = "echo early; sleep 2; printf 'no end'; exit 3"
    recording = replay(ordinary_user, workspace, [shell(command, r"\[exit 3")])
    process = ordinary_user.popen(
        [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording}", "Do it."],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    seen, lines = {}, []
    for line in process.stdout:
        lines.append(line.strip())
        seen.setdefault(line.strip(), time.monotonic())
    assert process.wait() == 0, lines
    assert seen["│ no end"] - seen["│ early"] > 1
    assert lines.count("│ early") == lines.count("│ no end") == 1
    assert any(line.startswith("│ [exit 3, ") for line in lines)


def test_card_counts_what_it_does_not_show(ordinary_user, workspace, run):
    done = run(replay(ordinary_user, workspace, [shell("seq 1 100", r"\[exit 0")]))
    assert "│ 40\n" in done.stdout and "│ 41\n" not in done.stdout
    assert "│ … 60 more lines\n" in done.stdout
    assert "│ [exit 0, " in done.stdout


def test_notice_after_a_card_without_an_end_is_shown(ordinary_user, workspace, openworker, run):
    """A call that was only asked for when the program was killed has no end of its own."""
    done = run(replay(ordinary_user, workspace, [shell("echo one")]), "--json")
    session = events_of(done)[0]["session"]
    with sqlite3.connect(workspace.data / "sessions.sqlite") as store:
        for seq, text in store.execute("SELECT seq, json FROM events").fetchall():
            event = json.loads(text)
            if event["type"] == "tool-ended" and event["tool"] == "shell":
                common = {name: event[name] for name in ("seq", "time", "session")}
                notice = {**common, "type": "notice", "text": "Said after all."}
                store.execute("UPDATE events SET json = ? WHERE seq = ?",
                              (json.dumps(notice), seq))
    ordinary_user.give(workspace.data)
    shown = ordinary_user.run([openworker, "sessions", "show", session])
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("Said after all.") == 1, shown.stdout


@pytest.mark.parametrize("env,coloured", [
    ({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
])
def test_colours_only_on_a_terminal_that_has_them(ordinary_user, workspace, openworker, env,
                                                  coloured):
    recording = replay(ordinary_user, workspace, [shell("echo one")])
    status, text, _ = on_terminal(
        ordinary_user, [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed",
                        "--folder", workspace.folder, "--model", f"replay:{recording}", "Do it."],
        [], env=env)
    assert status == 0
    assert ("\033[" in text) == coloured


def test_shell_state_stays_between_calls(ordinary_user, workspace, wall, run):
    recording = replay(ordinary_user, workspace,
                       [shell("mkdir -p d && cd d && export KEPT=yes && f () { echo func; }")],
                       [shell('pwd; echo "$KEPT"; f', r"folder/d\nyes\nfunc\n\[exit 0")])
    done = run(recording)
    assert done.returncode == 0, done.stdout + done.stderr


def test_recording_can_be_replayed(ordinary_user, workspace, wall, run):
    recording = replay(ordinary_user, workspace, [shell("pwd; date +%s >/dev/null; echo hi > new")],
                       [("read", {"path": "new"}, "hi"), ("list", {"path": "."}, "new")])
    written = workspace.path / "written.jsonl"
    done = run(recording, "--record", written)
    assert done.returncode == 0, done.stderr
    (workspace.folder / "new").unlink()
    assert run(written).returncode == 0
    # The same recording must not fit another outcome.
    text = written.read_text().replace("echo hi", "echo no")
    changed = ordinary_user.write(workspace.path / "changed.jsonl", text)
    done = run(changed)
    assert done.returncode == 1 and "does not fit" in done.stderr


@pytest.mark.parametrize("turns,last,words", [
    ([shell("echo one", "two")], "Done.", 'call "c1"'),
    ([shell("false")], "Done.", 'call "c1"'),
    ([shell("true")], None, "another one was asked for"),
])
def test_replay_that_does_not_fit_ends_the_run(ordinary_user, workspace, run, turns, last, words):
    done = run(replay(ordinary_user, workspace, *turns, last=last))
    assert done.returncode == 1
    assert words in done.stderr, done.stderr


def on_terminal(account, argv, answers, timeout=60, env=None):
    """Runs @argv on a terminal of its own and answers each question; returns status and text."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve("/usr/bin/env", ["env", *account.argv(argv)], account.env(**(env or {})))
    text, asked = "", 0
    deadline = time.monotonic() + scaled(timeout)
    os.set_blocking(fd, False)
    while time.monotonic() < deadline:
        try:
            piece = os.read(fd, 65536)
        except BlockingIOError:
            piece = None
            time.sleep(0.01)
        except OSError:
            break
        if piece == b"":
            break
        text += (piece or b"").decode(errors="replace")
        questions = len(re.findall(r"\[no\]: |this time\? ", text))
        if questions > asked:
            if asked < len(answers):
                os.write(fd, answers[asked].encode() + b"\n")
            asked = questions
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, text, asked


@pytest.fixture
def ask(ordinary_user, workspace, openworker):
    def start(answers, provider="direct", options=()):
        recording = replay(ordinary_user, workspace, [shell("echo done > made")], last="Done.")
        words = ["--provider", provider] if provider else []
        return on_terminal(ordinary_user,
                           [openworker, "run", *words, "--folder", workspace.folder, "--model",
                            f"replay:{recording}", *options, "Do it."], answers)
    return start


@pytest.mark.parametrize("answer", ["yes", "once", "session"])
def test_yes_lets_it_run(ask, workspace, answer):
    status, text, asked = ask([answer])
    assert (status, asked) == (0, 1), text
    assert (workspace.folder / "made").exists()
    assert "echo done > made" in text


# What is no clear yes is asked again, and never taken for one (A41, U05).
UNCLEAR = ["don't approve, ok?", "yes please", "YES!", "not yes", "y", "ok", "sure", "yess", "session no",
           "approve", "allow", "1", "yes no", "so yes"]


@pytest.mark.parametrize("answer", UNCLEAR)
def test_unclear_answer_is_asked_again(ask, workspace, answer):
    status, text, asked = ask([answer, "no"])
    assert (status, asked) == (1, 2), text
    assert not (workspace.folder / "made").exists()


def test_typed_before_the_question_is_no_answer(ask, workspace):
    """U06: two lines at the first question; the second is not there for the next one."""
    status, text, asked = ask(["perhaps\nyes", "no"])
    assert asked == 2 and not (workspace.folder / "made").exists(), text


@pytest.mark.parametrize("answer", ["no", "n", "", "  "])
def test_no_denies(ask, workspace, answer):
    status, text, _ = ask([answer])
    assert status == 1
    assert not (workspace.folder / "made").exists()


def test_the_default_asks_behind_a_wall_too(ask, workspace, wall):
    status, text, asked = ask(["yes"], provider=wall.name)
    assert (status, asked) == (0, 1), text


def test_nothing_set_asks_at_a_terminal(ask, workspace):
    """REQ-W06."""
    status, text, asked = ask(["direct", "yes"], provider=None)
    assert (status, asked) == (0, 2), text
    assert "same access as your user account" in text
    status, text, _ = ask([""], provider=None)
    assert status == 69 and "nothing was run" in text


@pytest.mark.parametrize("approve", ["ask", "sandboxed", "deny"])
def test_nobody_there_means_no(ordinary_user, workspace, run, approve):
    recording = replay(ordinary_user, workspace, [shell("echo done > made")])
    done = run(recording, provider="direct", approve=approve)
    assert done.returncode == 1, done.stderr
    assert not (workspace.folder / "made").exists()


@pytest.mark.parametrize("approve,status", [("ask", 1), ("deny", 1), ("sandboxed", 0)])
def test_nobody_there_behind_a_wall(ordinary_user, workspace, wall, run, approve, status):
    recording = replay(ordinary_user, workspace, [shell("echo done > made")])
    done = run(recording, approve=approve)
    assert done.returncode == status, done.stderr
    assert (workspace.folder / "made").exists() == (status == 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_stops_and_leaves_nothing(ordinary_user, workspace, openworker, wall, number):
    recording = replay(ordinary_user, workspace, [shell("echo here > made; sleep 60")])
    process = ordinary_user.popen(
        [openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder",
         workspace.folder, "--model", f"replay:{recording}", "--json", "Do it."],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: (workspace.folder / "made").exists(), 20, "the command")
    begin = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=scaled(30))
    assert process.returncode == 130, err
    assert time.monotonic() - begin < scaled(10)
    events = [json.loads(line) for line in out.splitlines()]
    ended = [event for event in events if event["type"] == "tool-ended"]
    # What is looked for at a session's end is looked for after an interrupt too.
    assert [(event["tool"], event["outcome"]) for event in ended] == [
        ("shell", "cancelled"), ("settings", "ok")]
    assert events[-1]["type"] == "session-ended" and events[-1]["outcome"] == "stopped"
    assert workspace.left() == []


def test_text_of_a_tool_cannot_move_the_terminal(ordinary_user, workspace, run):
    """U02: escapes in a result are shown, not obeyed; no colours without a terminal."""
    recording = replay(ordinary_user, workspace,
                       [shell(r"printf '\033]52;c;aGk=\007\033[2J\r\xe2\x80\xae'")])
    done = run(recording)
    assert done.returncode == 0
    assert not set("\033\007\r\u202e") & set(done.stdout)


def test_limit_of_what_is_seen_says_so(ordinary_user, workspace, wall, run):
    """A flood ends quickly, keeps head and tail, and says what was dropped."""
    recording = replay(ordinary_user, workspace,
                       [shell("echo head; head -c 60000000 /dev/zero | tr '\\0' x; echo; echo tail",
                              r"head\n.*tail\n.*\[exit 0")])
    begin = time.monotonic()
    done = run(recording, "--json", timeout=60)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < scaled(30)
    assert len(done.stdout) < 8_000_000
