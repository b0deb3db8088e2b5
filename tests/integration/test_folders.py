# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Other folders for a session that runs: its sandbox is made again with them, shell state is lost,
agent and person are told (REQ-W07; holes C04, S24)."""

import json
import os

import pytest
from conftest import wait_until
from engines import Up, said, wait_begun
from model_server import ModelServer, calls

SLOW = "cd /tmp; x=1; touch {0}/begun; while ! [ -e {0}/go ]; do sleep 0.05; done; touch {0}/made"


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def engine(account, openworker):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def other(account, workspace):
    """A second folder, with a file."""
    account.write(workspace.path / "other/file", "other's words\n")
    return workspace.path / "other"


def folders_of(event):
    return [(folder["path"], folder["read_only"]) for folder in event["folders"]]


def told(request):
    """What the model was told besides its own words, in one text."""
    return "\n".join(str(message["content"]) for message in request.messages if message["role"] != "assistant")


def allow(engine, provider):
    """Without a wall each call is asked for."""
    if provider == "direct":
        done = engine.run("approvals", "allow", engine.wait_request()[0]["request"])
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("provider", ["bubblewrap", "direct"])
def test_added_between_two_calls(account, engine, workspace, other, provider):
    """The call that runs is not disturbed, the next one has the folder, and both are told."""
    look = f"cat {other}/file; echo new > {other}/made; echo x=$x; pwd"
    with ModelServer([shell(SLOW.format(workspace.folder)), shell(look), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=provider)
        allow(engine, provider)
        wait_begun(workspace)
        changed = engine.lines("sessions", "folders", session, "--add", str(other))
        assert changed[0]["pending"] and not (other / "made").exists()
        account.write(workspace.folder / "go", "")
        allow(engine, provider)
        engine.wait_end(session)
    events = engine.events(session)
    assert (workspace.folder / "made").exists() and (other / "made").read_text() == "new\n"
    ended = [event["result"] for event in events if event["type"] == "tool-ended" and event["tool"] == "shell"]
    assert "other's words" in ended[1] and "x=\n" in ended[1] and f"\n{workspace.folder}\n" in ended[1]
    change = [event for event in events if event["type"] == "folders-changed"]
    assert [folders_of(event) for event in change] == [[(str(workspace.folder), False), (str(other), False)]]
    assert change[0]["level"] == provider
    first, last = told(server.requests[0]), told(server.requests[1])
    assert str(other) not in first and "Shell state was lost" not in first
    assert f"- {other} (read and write)" in last and "Shell state was lost" in last
    shown = engine.run("sessions", "show", session).stdout
    assert str(other) in shown and "Shell state was lost" in shown
