# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker run` with a model that is asked over the network: what is shown of its answers, what
a person says to it meanwhile, and what becomes of answers that are not whole (REQ-A01, REQ-W06)."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from model_server import CAPTIVE_PORTAL, ModelServer, calls, status
from terminal import Terminal

DEMO = Path(__file__).resolve().parents[2] / "data/demo"
USAGE = {"prompt_tokens": 120, "completion_tokens": 34, "total_tokens": 154}


@pytest.fixture
def argv(workspace, openworker):
    """The words of a run against a server."""
    def make(server, *options, provider="bubblewrap", approve="sandboxed", task="Do it."):
        return [openworker, "run", "--provider", provider, "--approve", approve, "--folder", workspace.folder,
                "--model", "openai:demo", "--base-url", server.url, *options, task]
    return make


@pytest.fixture
def run(ordinary_user, argv):
    def start(script, *options, timeout=60, **more):
        with ModelServer(script) as server:
            done = ordinary_user.run(argv(server, *options, **more), timeout=timeout)
            done.requests, done.faults = server.requests, server.faults
        return done
    return start


def events_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def shell(*commands, **more):
    return calls(*[("shell", {"command": command}) for command in commands], **more)


# ---- the task of the demo

@pytest.mark.parametrize("split", [1, 7, 100000])
def test_demo_without_a_replay(account, workspace, openworker, split):
    """REQ-A01: the demo's whole task, asked of a server, with arguments split at every byte."""
    project = workspace.folder / "project"
    shutil.copytree(DEMO / "project", project)
    account.give(project)
    with ModelServer.for_recording(DEMO / "replay.jsonl", split=split) as server:
        done = account.run([openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed",
                            "--folder", project, "--model", "openai:demo", "--base-url", server.url,
                            "Fix the leap-year test."], timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.faults == []
        assert len(server.requests) == len([line for line in open(DEMO / "replay.jsonl", encoding="utf-8")
                                            if json.loads(line)["type"] == "model-message"])
    assert "% 400" in "".join(path.read_text() for path in project.rglob("*.sh"))
    assert "[bubblewrap]" in done.stdout and "tokens in" in done.stdout


@pytest.mark.parametrize("interleave", [True, False])
def test_two_calls_at_once(run, workspace, interleave):
    done = run([shell("echo one > one; echo first", "echo two > two; echo second", interleave=interleave),
                {"text": "Both."}], "--json")
    assert done.returncode == 0, done.stderr
    assert done.faults == []
    assert sorted(os.listdir(workspace.folder)) == ["one", "two"]
    results = [message["content"] for message in done.requests[1].messages if message["role"] == "tool"]
    assert "first" in results[0] and "second" in results[1]


def test_cards_of_two_calls_do_not_mix(run):
    command = "for i in 1 2 3; do echo NAME$i; sleep 0.2; done"
    done = run([shell(command.replace("NAME", "a"), command.replace("NAME", "b")), {"text": "Both."}])
    lines = [line.strip(" │") for line in done.stdout.splitlines() if re.search(r"│ [ab]\d$", line)]
    assert lines == ["a1", "a2", "a3", "b1", "b2", "b3"], done.stdout


# ---- what is shown

def test_answer_is_shown_as_it_comes_and_once(ordinary_user, argv):
    pieces = [f"piece{number} " for number in range(6)]
    with ModelServer([{"text": pieces, "delay": 0.3, "usage": USAGE}]) as server:
        process = ordinary_user.popen(argv(server), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seen, text = {}, b""
        while piece := os.read(process.stdout.fileno(), 4096):
            text += piece
            for word in re.findall(rb"piece\d", text):
                seen.setdefault(word, time.monotonic())
        assert process.wait() == 0
    assert seen[b"piece5"] - seen[b"piece0"] > 0.6
    for piece in pieces:
        assert text.decode().count(piece.strip()) == 1, text
    assert "● piece0 piece1 piece2 piece3 piece4 piece5" in text.decode()
    assert "  120 tokens in, 34 out, 1 answer\n" in text.decode()


@pytest.mark.parametrize("text", [["\n", "\n\nHello", "\n"], ["", "Hello"], ["Hel", "lo\n\n"], "Hello"])
def test_blank_pieces_make_no_second_answer(run, text):
    done = run([{"text": text}])
    assert done.stdout.count("● Hello") == 1 == done.stdout.count("Hello"), done.stdout
    assert done.stdout.count("●") == 1


def test_usage_of_a_turn_is_added_up(run):
    done = run([shell("true", usage=USAGE), {"text": "Done.", "usage": USAGE}])
    assert done.stdout.count("tokens") == 1
    assert "  240 tokens in, 68 out, 2 answers\n" in done.stdout


def test_text_of_a_model_cannot_move_the_terminal(run):
    """U02: in pieces, too."""
    done = run([{"text": ["a\033", "]52;c;aGk=\007", "\033[2J\r", "\u202e", "\u200bb"]}])
    assert not set("\033\007\r\u202e\u200b") & set(done.stdout)
    assert "^[" in done.stdout and "\\u{202E}" in done.stdout


def test_json_has_the_pieces_and_the_whole(run):
    done = run([{"text": ["one ", "two"]}], "--json")
    events = events_of(done)
    pieces = [event for event in events if event["type"] == "model-text"]
    assert "".join(event["text"] for event in pieces) == "one two"
    assert {event["seq"] for event in pieces} == {0}
    assert [event["text"] for event in events if event["type"] == "model-message"] == ["one two"]
    assert [event["seq"] for event in events if event["seq"]] == list(
        range(1, len([event for event in events if event["seq"]]) + 1))


@pytest.mark.parametrize("provider,loud", [("bubblewrap", False), ("direct", True)])
def test_level_stands_in_the_head(run, provider, loud):
    """REQ-W06: what is not protected says so, loudly."""
    done = run([{"text": "Done."}], provider=provider)
    head = done.stdout.split("● ")[0]
    assert f"[{provider}]" in head and "model openai:demo at http://127.0.0.1:" in head
    assert ("No sandbox: commands run directly on this machine" in head) == loud


# ---- answers that are not whole

CUT = [
    ("cut in the text", {"text": "Half of it, and then", "cut_at": 160}),
    ("cut in the arguments", {**calls(("shell", {"command": "touch made"})), "cut_at": 500}),
    ("reset", {**calls(("shell", {"command": "touch made"})), "cut_at": 500, "reset": True}),
    ("no end", {**calls(("shell", {"command": "touch made"})), "finish": None, "done": False}),
    ("error event", {**calls(("shell", {"command": "touch made"})),
                     "error_event": {"error": {"message": "overloaded"}}}),
    ("length", {**calls(("shell", {"command": "touch made"})), "finish": "length"}),
    ("torn arguments", calls(("shell", '{"command":"touch made'))),
]


@pytest.mark.parametrize("answer", [answer for _, answer in CUT], ids=[name for name, _ in CUT])
def test_cut_answer_runs_nothing_and_is_shown_as_cut(run, workspace, answer):
    """P08: and the next request is one that a server takes."""
    done = run([answer, {"text": "Done."}])
    assert not (workspace.folder / "made").exists()
    assert done.faults == []
    if done.returncode == 0:
        assert "The answer is not whole" in done.stdout or len(done.requests) > 1, done.stdout
    else:
        assert done.returncode == 1 and done.stderr.startswith("openworker: "), done.stderr


BAD = [
    ("401", status(401, "Incorrect API key provided."), "openworker model add", 69),
    ("404", status(404, "No such model."), "404"),
    ("500", status(500, "Internal."), "500"),
    ("400", status(400, "Bad."), "400"),
    ("captive portal", CAPTIVE_PORTAL, "text/html"),
    ("not HTTP", {"misbehave": "not-http"}, "not HTTP"),
    ("no answer", {"misbehave": "hang-up"}, "closed the connection"),
    ("nonsense", {"raw": "data: nonsense\n\n"}, "model"),
    ("redirect", {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}, "body": "",
                  "content_type": "text/plain"}, "127.0.0.1:1"),
]


@pytest.mark.parametrize("answer,word,code", [(*row[1:], 1)[:3] for row in BAD], ids=[row[0] for row in BAD])
def test_server_that_gives_no_answer(run, answer, word, code):
    done = run([answer], timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("openworker: ")]
    assert len(said) == 1 and word in said[0], done.stderr
    assert len(said[0]) < 1000


def test_nobody_listens(ordinary_user, workspace, openworker, free_port):
    begin = time.monotonic()
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "--model", "openai:demo", "--base-url", f"http://127.0.0.1:{free_port}", "Do it."],
                             timeout=120)
    assert done.returncode == 1 and f"127.0.0.1:{free_port}" in done.stderr, done.stderr
    assert time.monotonic() - begin < scaled(60)


@pytest.mark.parametrize("how", ["endless", "silent", "silent-after", "comments", "endless-call"])
def test_interrupt_ends_an_answer_without_end(ordinary_user, argv, workspace, how):
    """Stop is at once, whatever the server does."""
    with ModelServer([{"text": "Begun.", "misbehave": how, "delay": 0.02}]) as server:
        process = ordinary_user.popen(argv(server), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: server.requests, 20, "the request")
        time.sleep(0.3)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=scaled(20)) == 130, process.stderr.read()
        assert time.monotonic() - begin < scaled(5)
    assert os.listdir(workspace.private_homes) == []


# ---- a person at the terminal

def test_typed_line_is_said_while_it_works(ordinary_user, argv, workspace):
    """REQ-A01: steering."""
    with ModelServer([shell("touch begun; while ! [ -e go ]; do sleep 0.05; done"), {"text": "Heard."}]) as server:
        with Terminal(ordinary_user, argv(server)) as terminal:
            wait_until((workspace.folder / "begun").exists, 20, "the command")
            terminal.type("Look at the other file, too.")
            time.sleep(0.5)
            ordinary_user.write(workspace.folder / "go", "")
            terminal.wait_for("Heard")
            assert terminal.end() == 0
        said = [message["content"] for message in server.requests[1].messages if message["role"] == "user"]
        assert said[-1] == "Look at the other file, too."
        assert server.faults == []


def test_line_at_an_open_question_is_no_message(ordinary_user, argv, workspace):
    with ModelServer([shell("touch made"), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.type("please do")
            terminal.wait_for(r"\[no\]: ")
            terminal.type("no")
            terminal.wait_for("Well")
            terminal.end()
        assert not (workspace.folder / "made").exists()
        assert [message["content"] for message in server.requests[-1].messages
                if message["role"] == "user"] == ["Do it."]


def test_reason_of_a_no_reaches_the_model(ordinary_user, argv, workspace):
    with ModelServer([shell("touch made"), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.type("no: use the other folder")
            terminal.end()
        assert not (workspace.folder / "made").exists()
        assert "use the other folder" in [message["content"] for message in server.requests[1].messages
                                          if message["role"] == "tool"][0]


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"y\x00es", b"x" * 5000, "ｙｅｓ".encode(), b"\x1b[Ayes", b"yes\xc2\xa0"],
                         ids=["no-utf8", "nul", "long", "wide", "escape", "no-break-space"])
def test_unclear_bytes_allow_nothing(ordinary_user, argv, workspace, bad):
    """A41."""
    with ModelServer([shell("touch made"), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.type(bad)
            terminal.wait_for(r"\[no\]: ")
            terminal.type("no")
            terminal.end()
    assert not (workspace.folder / "made").exists()


def test_end_of_input_denies(ordinary_user, argv, workspace):
    with ModelServer([shell("touch made"), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.press(b"\x04")
            terminal.wait_for("Well")
            terminal.end()
    assert not (workspace.folder / "made").exists()


@pytest.mark.parametrize("rows,columns", [(24, 80), (24, 20), (2, 1)])
@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}], ids=["colours", "no-colours"])
def test_question_is_whole_on_every_terminal(ordinary_user, argv, workspace, rows, columns, env):
    """What is shown is what runs, byte for byte, also where it is longer than the screen."""
    command = "echo " + "word " * 60 + "\nprintf '%s' end\u200b"
    with ModelServer([shell(command), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask"), env=env, rows=rows, columns=columns) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.type("no")
            terminal.end()
            text = terminal.plain
            assert ("\033[" in terminal.text) == (not env)
    assert "$ echo " + "word " * 60 + "\n" in text
    assert "> printf '%s' end\\u{200B}" in text and "\u200b" not in text
    assert "cannot be seen" in text


def test_always_is_offered_and_holds(ordinary_user, argv, workspace):
    """The exact command, in this folder: the same is not asked for again, another one is."""
    def session(*commands):
        return ModelServer([*[shell(command) for command in commands], {"text": "Well."}])
    with session("touch made") as server, Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
        assert "exactly: touch made" in terminal.wait_for(r"Allow this\?.*?\[no\]: ").group()
        terminal.type("always")
        assert terminal.end() == 0
    assert (workspace.folder / "made").exists()
    with session("touch made", "touch made2") as server, Terminal(
            ordinary_user, argv(server, approve="ask")) as terminal:
        assert "exactly: touch made2" in terminal.wait_for(r"Allow this\?.*?\[no\]: ").group()
        terminal.type("no")
        terminal.end()
    assert not (workspace.folder / "made2").exists()


@pytest.mark.parametrize("command", ["touch made; true", "touch made $HOME", "touch ma*", "A=1 touch made"])
def test_always_is_not_offered_for_what_is_not_simple(ordinary_user, argv, workspace, command):
    with ModelServer([shell(command), {"text": "Well."}]) as server:
        with Terminal(ordinary_user, argv(server, approve="ask")) as terminal:
            assert "always" not in terminal.wait_for(r"Allow this\?.*?\[no\]: ").group()
            terminal.type("always")
            terminal.wait_for(r"\[no\]: ")
            terminal.type("no")
            terminal.end()
    assert not (workspace.folder / "made").exists()


# ---- the rest

def test_reader_that_goes_away(ordinary_user, argv, workspace):
    """A session is not ended by who looks at it no more; the status says that not all was read."""
    with ModelServer([shell("sleep 0.5; touch made"), {"text": "Done."}]) as server:
        words = " ".join(f"'{word}'" for word in argv(server))
        done = ordinary_user.run(["bash", "-c", f"{words} | head -n 1; echo ${{PIPESTATUS[0]}}"])
    assert done.stdout.splitlines()[-1] == "141", done.stdout + done.stderr
    assert (workspace.folder / "made").exists()


def test_detach_needs_an_engine(ordinary_user, argv):
    with ModelServer([{"text": "Done."}]) as server:
        done = ordinary_user.run(argv(server, "--detach"))
        assert server.requests == []
    assert done.returncode == 69, done.stderr
    assert re.search(r"no engine", done.stderr, re.IGNORECASE), done.stderr


def test_project_without_instructions_has_no_card(run):
    assert "AGENTS.md" not in run([{"text": "Done."}]).stdout


def test_instructions_that_cannot_be_read_are_told(ordinary_user, run, workspace):
    """Somebody wrote them, and the agent works without."""
    ordinary_user.mkdir(workspace.folder / "AGENTS.md")
    assert "AGENTS.md" in run([{"text": "Done."}]).stdout


def test_project_instructions_are_shown_as_the_projects(ordinary_user, argv, workspace):
    ordinary_user.write(workspace.folder / "AGENTS.md", "Use tabs.\n")
    with ModelServer([{"text": "Done."}]) as server:
        done = ordinary_user.run(argv(server))
        assert done.returncode == 0, done.stderr
        assert "AGENTS.md" in done.stdout and "not the person's" in done.stdout
        assert any("Use tabs." in str(message["content"]) for message in server.requests[0].messages)
