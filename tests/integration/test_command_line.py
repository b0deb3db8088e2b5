# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What every command of the command line has in common: its help, its usage errors, the person's
character set, a reader who goes away, and an engine that says what is not so."""

import json
import signal

import pytest
from conftest import wait_until
from engines import Up, said
from fake_engine import FakeEngine
from model_server import ModelServer, calls
from terminal import Terminal

GROUPS = {"sandbox": ["exec", "prove"], "model": ["add", "list", "test", "remove"],
          "sessions": ["list", "show", "resume", "delete"], "audit": ["show", "verify"],
          "approvals": ["list", "allow", "deny"]}
SLOW = "touch begun; while ! [ -e go ]; do sleep 0.05; done"


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def engine(ordinary_user, openworker):
    up = Up(ordinary_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def command(ordinary_user, openworker):
    def run(*argv, **options):
        return ordinary_user.run([openworker, *argv], **options)
    return run


def detach_words(workspace, server):
    return ["run", "--detach", "--provider", "bubblewrap", "--folder", workspace.folder, "--model", "openai:m",
            "--base-url", server, "Do it."]


# ---- help

@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group(command, group, option):
    done = command(group, option)
    assert done.returncode == 0 and not done.stderr
    for word in (f"openworker {group}", *GROUPS[group]):
        assert word in done.stdout


@pytest.mark.parametrize("words", [["nosuch"], ["--nosuch"], ["--", "nosuch"]], ids=" ".join)
@pytest.mark.parametrize("group", GROUPS)
def test_wrong_word_of_a_group_points_to_its_help(command, group, words):
    said(command(group, *words), 2, f"“openworker {group} --help”")


def test_wrong_words_of_others(command):
    said(command("nosuch"), 2, "no command “nosuch”", "“openworker --help”")
    said(command("sandbox"), 2, "“openworker sandbox --help”")
    said(command("sandbox", "exec"), 2, "“openworker sandbox exec --help”")


# ---- the person's character set

@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_plain_characters_where_there_are_no_others(command, locale):
    env = {"LC_ALL": locale}
    assert said(command("nosuch", env=env), 2) == \
        'openworker: There is no command "nosuch". Try "openworker --help".'
    for argv in ([], ["--help"], *[[group, "--help"] for group in GROUPS], ["sessions", "list"], ["model", "list"],
                 ["status"], ["attach", "9999"]):
        done = command(*argv, env=env)
        assert (done.stdout + done.stderr).isascii() and "?" not in done.stdout + done.stderr, argv
    assert "[OPTION...]" in command("--help", env=env).stdout
    assert "“openworker --help”" in command("nosuch").stderr


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_transcript_in_plain_characters(ordinary_user, command, workspace, locale):
    with ModelServer([shell("echo one"), {"text": "Done: “yes”, \u65e5."}]) as server:
        done = command("run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", workspace.folder,
                       "--model", "openai:m", "--base-url", server.url, "Do it.", env={"LC_ALL": locale})
    assert done.returncode == 0 and '\n* Done: "yes", ?.' in done.stdout, done.stdout + done.stderr
    assert done.stdout.isascii() and done.stdout.count("?") == 1


def test_what_is_asked_for_is_exact_in_any_character_set(ordinary_user, openworker, engine):
    """U02: quotes that quote nothing must not look like quotes that do."""
    with ModelServer([shell("touch \u2018a; touch b\u2019 \u65e5"), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        engine.wait_request()
        exact = r"touch \u{2018}a; touch b\u{2019} \u{65E5}"
        assert exact in engine.run("approvals", env={"LC_ALL": "C"}).stdout
        assert "touch \u2018a; touch b\u2019 \u65e5" in engine.run("approvals").stdout
        with Terminal(ordinary_user, [openworker, "attach", session], env={"LC_ALL": "C"}) as terminal:
            terminal.wait_for("Allow this")
            assert exact in terminal.plain and terminal.plain.isascii()
            terminal.type("no")
            terminal.end()
        assert engine.wait_end(session)["outcome"] == "done"


def test_block_of_lines_in_plain_characters(engine):
    write = calls(("write", {"path": "a", "content": "one\n\u2502 two\n"}))
    with ModelServer([write, {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        request = engine.wait_request()[0]["request"]
        assert "| one\n    | \\u{2502} two\n" in engine.run("approvals", env={"LC_ALL": "C"}).stdout
        assert "\u2502 one\n    \u2502 \u2502 two\n" in engine.run("approvals").stdout
        assert engine.run("approvals", "deny", request).returncode == 0
        engine.wait_end(session)


# ---- what is there and what is not

@pytest.mark.parametrize("there", [True, False], ids=["engine", "alone"])
def test_stop_of_an_unknown_session(command, request, there):
    if there:
        request.getfixturevalue("engine")
    line = said(command("attach", "--stop", "9999"), 2, "There is no session 9999", "sessions list")
    assert line == said(command("attach", "9999"), 2)


@pytest.mark.parametrize("there", [True, False], ids=["engine", "alone"])
def test_stop_of_one_that_does_not_work(engine, command, there):
    with ModelServer([{"text": "Done."}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
    if not there:
        assert engine.stop() == 0
    said(command("attach", "--stop", session), 1, "nothing to stop", session)


BROKEN = {"syntax": "# mine\nsandbox_provider = \n", "value": '# mine\nsandbox_provider = "moat"\n'}


@pytest.mark.parametrize("there", [True, False], ids=["engine", "alone"])
@pytest.mark.parametrize("kind", BROKEN)
def test_status_of_settings_that_cannot_be_read(ordinary_user, command, request, kind, there):
    if there:
        request.getfixturevalue("engine")
    ordinary_user.write(ordinary_user.workspace.config / "config.toml", BROKEN[kind])
    done = command("status")
    line = said(done, 69, "config.toml", "line 2")
    assert "nothing is set" not in done.stdout and ("The engine runs" in done.stdout) == there
    as_json = command("status", "--json")
    assert said(as_json, 69) == line and json.loads(as_json.stdout)["engine"] is there


# ---- ends

def test_interrupt_at_a_question_begins_a_line(ordinary_user, engine, openworker):
    with ModelServer([shell("true"), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        request = engine.wait_request()[0]["request"]
        with Terminal(ordinary_user, [openworker, "attach", session]) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.end() == 0
            assert "\nopenworker: Detached; the session goes on." in terminal.plain
        assert engine.run("approvals", "allow", request).returncode == 0
        assert engine.wait_end(session)["outcome"] == "done"


def test_only_the_last_end_counts(ordinary_user, engine, openworker, workspace):
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        words_of_old_end = "The program ended before the session did."
        wait_until((workspace.folder / "begun").exists, 20, "the command")
        engine.process.kill()
        engine.process.wait()
        ordinary_user.write(workspace.folder / "go", "")
        assert words_of_old_end in engine.run("sessions", "show", session).stderr
        done = engine.run("sessions", "resume", session)
        assert done.returncode == 0, done.stdout + done.stderr
        assert words_of_old_end not in done.stderr and words_of_old_end in done.stdout
        assert done.stdout.rstrip().endswith(f"Session {session}: done")
    assert words_of_old_end not in engine.run("sessions", "show", session).stderr


def test_last_end_that_failed_is_said(engine, command):
    with ModelServer([{"text": "One."}, {"status": 400, "body": "no"}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
        done = command("attach", session, "--say", "Go on.")
    assert done.returncode != 0
    said(done, done.returncode, "400")


@pytest.mark.parametrize("answer", [{}, {"session": ""}, {"session": 7}, {"session": None}, {"other": "x"}],
                         ids=["empty", "no-name", "number", "null", "other"])
@pytest.mark.parametrize("detach", [True, False])
def test_engine_that_names_no_session(ordinary_user, command, workspace, answer, detach):
    with FakeEngine(ordinary_user, {"session.start": answer}):
        words = [word for word in detach_words(workspace, "http://127.0.0.1:9/v1") if detach or word != "--detach"]
        done = command(*words)
    said(done, 1, "not what was asked for")
    assert done.stdout == ""


@pytest.mark.parametrize("argv", [["--help"], ["sessions", "list"], ["model", "list"], ["status"]], ids=" ".join)
def test_reader_that_has_gone_already(ordinary_user, openworker, argv):
    """What failed besides keeps its own status."""
    words = " ".join([str(openworker), *argv])
    done = ordinary_user.run(["bash", "-c", f"{{ sleep 0.5; {words}; echo $? >&2; }} | true"])
    assert done.stderr == ("1\n" if argv == ["status"] else "141\n")


def test_run_whose_reader_has_gone_before_its_only_words(ordinary_user, workspace, openworker):
    """The session is done all the same."""
    with ModelServer([{"text": "Done."}]) as server:
        words = " ".join(f"'{word}'" for word in
                         [openworker, *detach_words(workspace, server.url)] if word != "--detach")
        done = ordinary_user.run(["bash", "-c", f"{{ sleep 0.5; {words}; echo $? >&2; }} | true"])
        assert done.stderr == "141\n"
        assert json.loads(ordinary_user.run([openworker, "sessions", "list", "--json"]).stdout)["state"] == "done"
        assert len(server.requests) == 1
