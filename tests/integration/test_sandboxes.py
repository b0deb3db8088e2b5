# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox list|show|delete|reap|logs|allow`: what there is, what killed runs left, and what it
reached (REQ-W11, REQ-N02, REQ-N03, REQ-E01; holes S14, S21)."""

import json
import os
import signal
import subprocess

import pytest
from conftest import wait_until
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from replays import replay, shell as recorded

WAIT = "touch begun; while ! [ -e go ]; do sleep 0.05; done"


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def engine(account, openworker):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def session(engine, workspace):
    """A session whose call runs."""
    with ModelServer([shell(WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        yield session
        engine.account.write(workspace.folder / "go", "")
        engine.wait_end(session)


def killed(account, workspace, openworker):
    """What a run leaves that is killed while its sandbox is up: the session's id."""
    recording = replay(account, workspace, [recorded("touch begun; sleep 300")])
    process = account.popen(
        [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", workspace.folder,
         "--model", f"replay:{recording}", "--json", "Wait."], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_begun(workspace)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return json.loads(process.stdout.readline())["session"]


def lines(account, openworker, *argv):
    done = account.run([openworker, *argv, "--json"])
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_list_and_show(engine, session, workspace):
    (listed,) = engine.lines("sandbox", "list")
    assert listed["session"] == session and listed["state"] == "up" and listed["ours"] is True
    assert listed["provider"] == listed["level"] == "bubblewrap" and listed["folders"] == 1
    assert [path.name for path in workspace.private_homes.iterdir()] == [listed["id"]]
    for name in (session, listed["id"]):
        (shown,) = engine.lines("sandbox", "show", name)
        assert shown["id"] == listed["id"] and shown["home"] == str(workspace.private_homes / listed["id"])
        assert shown["folders"] == [{"path": str(workspace.folder), "read_only": False}]
        assert "github.com:443" in shown["hosts"] and shown["allowed"] == [] == shown["refused"]
    text = engine.run("sandbox", "show", session).stdout
    assert str(workspace.folder) in text and "read-write" in text and listed["id"] in text


def test_unknown_one(engine):
    for command in (["show", "nothing"], ["delete", "nothing", "--yes"], ["logs", "nothing"]):
        said(engine.run("sandbox", *command), 2, "nothing")


def test_delete_stops_the_session(engine, session, workspace):
    said(engine.run("sandbox", "delete", session), 2, "--yes")
    assert len(engine.lines("sandbox", "list")) == 1
    done = engine.run("sandbox", "delete", session, "--yes")
    assert done.returncode == 0 and "is stopped" in done.stdout, done.stderr
    assert engine.events(session)[-1]["outcome"] == "stopped"
    assert engine.lines("sandbox", "list") == [] and list(workspace.private_homes.iterdir()) == []


def test_S21_left_over_is_shown_and_reaped(account, workspace, openworker):
    """Looking at it takes nothing away; reaping says what went."""
    session = killed(account, workspace, openworker)
    for _ in range(2):
        (left,) = lines(account, openworker, "sandbox", "list")
        assert left["session"] == session and left["state"] == "left over"
    assert list(workspace.private_homes.iterdir())
    (reaped,) = lines(account, openworker, "sandbox", "reap")
    assert [item["id"] for item in reaped["removed"]] == [left["id"]] and reaped["kept"] == []
    assert lines(account, openworker, "sandbox", "list") == [] and not list(workspace.private_homes.iterdir())
    done = account.run([openworker, "sandbox", "reap"])
    assert done.returncode == 0 and "No killed run" in done.stdout


def test_left_over_is_deleted(account, workspace, openworker):
    session = killed(account, workspace, openworker)
    done = account.run([openworker, "sandbox", "delete", session, "--yes"])
    assert done.returncode == 0 and "removed" in done.stdout, done.stderr
    assert lines(account, openworker, "sandbox", "list") == [] and not list(workspace.private_homes.iterdir())


def test_reap_keeps_what_has_an_owner(engine, session):
    (reaped,) = engine.lines("sandbox", "reap")
    assert reaped["removed"] == [] and [item["session"] for item in reaped["kept"]] == [session]
    assert "lives" in reaped["kept"][0]["why"]
    assert len(engine.lines("sandbox", "list")) == 1


def test_sandbox_of_another_program_is_not_deleted(account, workspace, openworker):
    process = account.popen(
        [openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder", workspace.folder, "--", "sh", "-c",
         "touch begun; while ! [ -e go ]; do sleep 0.05; done"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_begun(workspace)
    (listed,) = lines(account, openworker, "sandbox", "list")
    said(account.run([openworker, "sandbox", "delete", listed["id"], "--yes"]), 69, str(listed["pid"]))
    account.write(workspace.folder / "go", "")
    assert process.wait(timeout=20) == 0


def test_allow_is_refused_where_there_is_no_list(engine, workspace):
    """Direct: nothing stands between its commands and the network."""
    with ModelServer([shell(WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="direct", approve="ask")
        (request,) = engine.wait_request()
        assert engine.run("approvals", "allow", request["request"]).returncode == 0
        wait_begun(workspace)
        said(engine.run("sandbox", "allow", session, "example.org"), 69, "cannot be changed")
        (allowed,) = engine.lines("sandbox", "allow", session, "example.org", "--machine")
        assert allowed["session"] is False and allowed["machine"] is True and "cannot be changed" in allowed["why"]
        assert "example.org:443" in (workspace.config / "config.toml").read_text()
        engine.account.write(workspace.folder / "go", "")
        engine.wait_end(session)


@pytest.mark.parametrize("host, status, words", [
    ("127.0.0.1", 69, "loopback"), ("[::1]:80", 69, "loopback"), ("169.254.169.254:80", 69, "link-local"),
    ("10.0.0.1", 69, "private"), ("192.168.1.1:443", 69, "private"), ("1.1.1.1", 69, "by name"),
    ("localhost", 2, "this machine"), ("0x7f.1", 2, "address"), ("a b", 2, "labels"), ("x:0", 2, "port"),
])
def test_S14_no_address_is_allowed(engine, session, workspace, host, status, words):
    for options in ([], ["--machine"]):
        said(engine.run("sandbox", "allow", session, host, *options), status, words)
    assert not (workspace.config / "config.toml").exists()


def test_logs_show_decisions_and_nothing_hidden(account, engine, workspace):
    command = "curl -sS -m 5 https://refused.example/ ; echo over"
    with ModelServer([shell(command), {"text": "Done."}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
    done = engine.run("sandbox", "logs", session)
    assert done.returncode == 0 and "refuse refused.example:443 (not_listed)" in done.stdout, done.stdout
    assert engine.run("sandbox", "logs", session, "--refused").stdout == done.stdout
    # OpenShell's own lines come first, where there are some.
    path = account.write(workspace.state / "ocsf" / f"{session}.log",
                         "".join(f"line {number}\n" for number in range(200)) + "a\x1b[31mred\x07\u202e\nhalf", 0o600)
    shown = engine.run("sandbox", "logs", session, "-n", "3").stdout.splitlines()
    assert shown[:2] == ["line 198", "line 199"] and "red" in shown[2] and len(shown) == 3
    assert not any(hidden in shown[2] for hidden in "\x1b\x07\u202e")
    assert path.exists()
