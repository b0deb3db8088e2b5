# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker attach` and `openworker sessions resume|delete`: following a session that another face
started, answering and steering it, going on with one that has ended (REQ-A01)."""

import json
import signal
import subprocess
import time

import pytest
from conftest import scaled
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from terminal import Terminal

SLOW = "touch begun; while ! [ -e go ]; do sleep 0.05; done; touch made"


def shell(command, **more):
    return calls(("shell", {"command": command}), **more)


@pytest.fixture
def engine(request, ordinary_user, openworker):
    if "wall" in request.fixturenames:
        request.getfixturevalue("wall")  # before the engine, which has its place from it
    up = Up(ordinary_user, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def go(engine, workspace):
    engine.account.write(workspace.folder / "go", "")


def watch(engine, openworker, session, *options):
    """A face that follows in JSON lines, with no terminal."""
    return engine.account.popen([openworker, "attach", session, "--json", *options], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def numbered(output):
    events = [json.loads(line) for line in output.splitlines()]
    return [event for event in events if event["seq"]]


def test_two_faces_see_the_same_numbered_events(engine, workspace, openworker, wall):
    """One of them comes late, a third is killed in the middle, which changes nothing."""
    with ModelServer([shell("echo first"), shell(SLOW), {"text": ["Wo", "rds."]}]) as server:
        session = engine.detach(server, provider=wall.name)
        early, doomed = (watch(engine, openworker, session) for _ in range(2))
        wait_begun(workspace)
        doomed.kill()
        late = watch(engine, openworker, session)
        time.sleep(0.5)
        go(engine, workspace)
        outputs = [face.communicate(timeout=scaled(30)) for face in (early, late)]
    assert [face.returncode for face in (early, late)] == [0, 0], outputs
    seen = [numbered(out) for out, _ in outputs]
    assert [event["seq"] for event in seen[0]] == list(range(1, len(seen[0]) + 1))
    assert seen[0] == seen[1] == engine.events(session)


def test_from_a_number(engine, workspace, openworker):
    with ModelServer([shell("true"), {"text": "Done."}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
    events = engine.events(session)
    done = engine.run("attach", session, "--json", "--from", "4")
    assert numbered(done.stdout) == events[3:]
    assert numbered(engine.run("attach", session, "--json", "--from", "100000").stdout) == []


def test_ended_session_is_shown_without_an_engine(engine, openworker):
    with ModelServer([{"text": "Bye."}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
    assert engine.stop() == 0
    done = engine.run("attach", session)
    assert done.returncode == 0 and done.stdout.count("Bye.") == 1, done.stderr


def test_status_is_the_sessions(engine, openworker):
    with ModelServer([{"status": 400, "body": "no"}]) as server:
        session = engine.detach(server)
        face = watch(engine, openworker, session)
        assert face.wait(timeout=scaled(30)) == engine.wait_end(session)["exit"] != 0


@pytest.mark.parametrize("argv", [["attach"], ["attach", "--say", "Go on."], ["attach", "--stop"], ["sessions", "show"],
                                  ["sessions", "resume"], ["sessions", "delete"]])
@pytest.mark.parametrize("there", [True, False], ids=["engine", "alone"])
def test_unknown_session(ordinary_user, openworker, request, argv, there):
    if there:
        request.getfixturevalue("engine")
    verb = argv[:2] if argv[0] == "sessions" else argv[:1]
    done = ordinary_user.run([openworker, *verb, "nosuch", *argv[len(verb):]])
    if argv[-1] == "--stop" and done.returncode == 1:
        assert "nothing to stop" in done.stderr
    else:
        said(done, 2, "nosuch", "sessions list")
    done = ordinary_user.run([openworker, *verb, "long" * 20000, *argv[len(verb):]])
    assert done.returncode in (1, 2) and len(done.stderr) < 100000


def test_interrupt_detaches(engine, workspace, openworker):
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        face = watch(engine, openworker, session)
        face.stdout.readline()
        face.send_signal(signal.SIGINT)
        _, err = face.communicate(timeout=scaled(20))
        assert face.returncode == 0 and b"the session goes on" in err
        go(engine, workspace)
        assert engine.wait_end(session)["outcome"] == "done"
    assert (workspace.folder / "made").exists()


def test_stop(engine, workspace, openworker, wall):
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        wait_begun(workspace)
        begin = time.monotonic()
        done = engine.run("attach", session, "--stop")
        assert done.returncode in (0, 130), done.stderr
        assert time.monotonic() - begin < scaled(15)
        assert engine.wait_end(session)["outcome"] == "stopped"
    done = engine.run("attach", session, "--stop")
    assert done.returncode == 1 and "nothing to stop" in done.stderr


def test_reader_that_goes_away_ends_the_face_only(engine, workspace, openworker):
    with ModelServer([shell("touch begun; for i in $(seq 100); do echo $i; sleep 0.05; [ ! -e go ] || break; done; "
                            "touch made"), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        done = engine.account.run(["bash", "-c", f"'{openworker}' attach {session} | head -n 1; "
                                                 "echo ${PIPESTATUS[0]}"])
        assert done.stdout.splitlines()[-1] == "141", done.stdout + done.stderr
        go(engine, workspace)
        assert engine.wait_end(session)["outcome"] == "done"


def test_typed_line_steers(engine, workspace, openworker):
    with ModelServer([shell(SLOW), {"text": "Heard."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        with Terminal(engine.account, [openworker, "attach", session]) as terminal:
            terminal.wait_for("▸ ")
            terminal.type("Mind the gap.")
            time.sleep(0.5)
            go(engine, workspace)
            terminal.wait_for("Heard")
            assert terminal.end() == 0
        assert [message["content"] for message in server.requests[1].messages
                if message["role"] == "user"][-1] == "Mind the gap."


def test_question_is_answered_at_whichever_terminal(engine, workspace, openworker):
    """One answers, and the question goes from the other."""
    with ModelServer([shell("touch made"), shell("touch made2"), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        with Terminal(engine.account, [openworker, "attach", session]) as one, Terminal(
                engine.account, [openworker, "attach", session]) as two:
            for terminal in (one, two):
                terminal.wait_for(r"touch made\n.*\[no\]: ")
            one.type("yes")
            two.wait_for("answered elsewhere: allowed")
            for terminal in (one, two):
                terminal.wait_for(r"touch made2\n.*\[no\]: ")
            two.type("no")
            one.wait_for("answered elsewhere: denied")
            assert one.end() == two.end() == 0
    assert (workspace.folder / "made").exists() and not (workspace.folder / "made2").exists()
    asked = [event for event in engine.events(session) if event["type"] == "consent-answered"]
    assert [event["decision"] for event in asked] == ["once", "deny"]


def test_killed_face_denies_nothing(engine, workspace, openworker):
    """A question whose face died waits for the next one."""
    with ModelServer([shell("touch made"), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        with Terminal(engine.account, [openworker, "attach", session]) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.process.kill()
        time.sleep(0.5)
        with Terminal(engine.account, [openworker, "attach", session]) as terminal:
            terminal.wait_for(r"\[no\]: ")
            terminal.type("yes")
            assert terminal.end() == 0
    assert (workspace.folder / "made").exists()


def test_answered_question_of_the_past_is_not_asked(engine, workspace, openworker):
    with ModelServer([shell("touch made"), shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server, approve="ask")
        for _ in range(2):
            request = engine.wait_request()[0]["request"]
            assert engine.run("approvals", "allow", request).returncode == 0
        wait_begun(workspace)
        with Terminal(engine.account, [openworker, "attach", session]) as terminal:
            terminal.wait_for("made")
            go(engine, workspace)
            assert terminal.end() == 0
            assert "Allow this?" not in terminal.text


@pytest.mark.parametrize("there", [True, False], ids=["engine", "alone"])
def test_say_goes_on_with_an_ended_session(engine, workspace, openworker, there):
    """REQ-A01: sessions survive; the model is told what was said before."""
    with ModelServer([{"text": "One."}, {"text": "Two."}]) as server:
        session = engine.detach(server, task="First task.")
        engine.wait_end(session)
        if not there:
            assert engine.stop() == 0
        done = engine.run("attach", session, "--say", "Second task.", "--json")
        assert done.returncode == 0, done.stderr
        said_before = [message["content"] for message in server.requests[1].messages if message["role"] == "user"]
        assert said_before[0] == "First task." and said_before[-1].endswith("Second task.")
        assert server.faults == []
    events = numbered(done.stdout)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count("session-resumed") == 1
    assert [event["text"] for event in events if event["type"] == "model-message"] == ["One.", "Two."]


def test_resume_goes_on_with_what_was_parked(engine, workspace, openworker):
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        assert engine.stop() == 0
        go(engine, workspace)
        done = engine.run("sessions", "resume", session)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "goes on" in done.stdout and done.stdout.count("● Done.") == 1
        assert server.faults == []


def test_resume_of_one_that_runs(engine, workspace, openworker):
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        said(engine.run("sessions", "resume", session), 69, "it runs already")
        go(engine, workspace)
        engine.wait_end(session)


def test_delete(engine, workspace, openworker):
    """A session that runs is not deleted; one that has ended is, and its record stays."""
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        said(engine.run("sessions", "delete", session), 69, "it runs")
        go(engine, workspace)
        assert engine.wait_end(session)["outcome"] == "done"
    done = engine.run("sessions", "delete", session)
    assert done.returncode == 0 and session in done.stdout
    said(engine.run("sessions", "show", session), 2, session)
    said(engine.run("sessions", "delete", session), 2, session)
    assert engine.lines("sessions", "list") == []
    assert engine.run("audit", "verify").returncode == 0
    assert session in engine.run("audit", "show", session).stdout


def test_engine_that_is_killed_ends_the_faces(engine, workspace, openworker):
    """They say how it ended, and do not wait for ever."""
    with ModelServer([shell(SLOW), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        face = watch(engine, openworker, session)
        face.stdout.readline()
        engine.stop(signal.SIGKILL)
        out, err = face.communicate(timeout=scaled(60))
        assert face.returncode == 130, (out, err)
