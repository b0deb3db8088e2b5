# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Other folders for a session that runs: its sandbox is made again with them, shell state is lost,
agent and person are told (REQ-W07, REQ-A03, REQ-W12; holes S21, S24)."""

import json
import os
import shutil
import signal
import subprocess

import pytest
from conftest import scaled, wait_until
from container_engine import ContainerEngine
from engine_client import EngineClient
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim

SLOW = "cd /tmp; x=1; touch {0}/begun; while ! [ -e {0}/go ]; do sleep 0.05; done; touch {0}/made"
WALLS = ["bubblewrap", "openshell"]


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def other(account, workspace):
    """A second folder, with a file."""
    account.write(workspace.path / "other/file", "other's words\n")
    return workspace.path / "other"


@pytest.fixture
def provider(request, account, workspace, other, ordinary_ids):
    """Its name; with openshell there is one for the account."""
    name = getattr(request, "param", "bubblewrap")
    if name != "openshell":
        yield name
        return
    with OpenshellSim(account) as sim:
        sim.install()
        ContainerEngine(account, sim.programs)
        if account.is_root:
            # Nothing in a sandbox of OpenShell runs as root: the folders are another account's.
            for path in (workspace.folder, *workspace.path.glob("other"), *workspace.path.glob("other/*")):
                os.chown(path, *ordinary_ids)
        yield name


@pytest.fixture
def engine(account, openworker, provider):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


@pytest.fixture
def kept(engine, account, workspace, provider):
    """A session that stays open, and who talks to it: say(command) gives the call's result."""
    with ModelServer([{"text": "Hello."}]) as server, EngineClient(account) as client:
        kept = Kept(server, client)
        kept.start(provider, [str(workspace.folder)])
        yield kept
        kept.end()


class Kept:
    def __init__(self, server, client):
        self.server, self.client, self.id = server, client, None

    def start(self, provider, folders, approve="sandboxed"):
        self.id = self.client.command("session.start", {
            "folders": folders, "task": "Hello.", "model": "openai:demo", "base_url": self.server.url,
            "provider": provider, "approve": approve, "interactive": True, "keep": True})["session"]
        self.wait_turns(1)

    def end(self):
        self.client.command("session.end", {"session": self.id})
        self.client.wait_event(lambda event: event["type"] == "session-ended", 30)

    def events(self, kind):
        return [event for event in self.client.numbered(self.id) if event["type"] == kind]

    def wait_turns(self, n):
        self.client.wait_event(lambda _: len(self.events("turn-ended")) >= n, 30)

    def say(self, command):
        """What @command printed when the agent ran it."""
        n = len(self.events("turn-ended"))
        self.server.script = [{"text": ""}] * len(self.server.requests) + [shell(command), {"text": "Done."}]
        self.client.command("session.say", {"session": self.id, "text": "Do it."})
        self.wait_turns(n + 1)
        return [event["result"] for event in self.events("tool-ended") if event["tool"] == "shell"][-1]

    def folders(self, **change):
        return self.client.command("session.folders", {"session": self.id, **change}, seconds=30)


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


@pytest.mark.parametrize("provider", [*WALLS, "direct"], indirect=True)
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
    assert [folders_of(event) for event in change] == [
        [(str(workspace.folder), False), (str(other), False)]]
    assert change[0]["level"] == provider
    first, last = told(server.requests[0]), told(server.requests[1])
    assert str(other) not in first and "state was lost:" not in first
    assert f"- {other} (read and write)" in last and f"- new: {other}" in last and "state was lost:" in last
    shown = engine.run("sessions", "show", session).stdout
    assert f"Folders from the next call on: {workspace.folder}, {other}" in shown and "state was lost:" in shown
    recorded = engine.run("audit", "show", session).stdout
    assert "folders-changed" in recorded


@pytest.mark.parametrize("provider", WALLS, indirect=True)
def test_idle_session_is_changed_at_once(account, kept, workspace, other, provider):
    """REQ-W07 [bubblewrap, openshell].
    Added, made read-only, made writable and taken out again: each is what the next call finds."""
    before = kept.say(f"x=1; touch ~/mine; ls {other} || echo none")
    assert "none" in before
    changed = kept.folders(add=[f"{other}:ro"])
    assert changed == {"folders": [{"path": str(workspace.folder), "read_only": False},
                                   {"path": str(other), "read_only": True}], "pending": False}
    result = kept.say(f"cat {other}/file; echo no > {other}/no || echo refused; echo x=$x; ls -A ~; touch here")
    assert "other's words" in result and "refused" in result and "x=\n" in result and "mine" not in result
    assert not (other / "no").exists() and (workspace.folder / "here").exists()
    assert f"- {other} (read-only)" in told(kept.server.requests[-1])
    kept.folders(add=[str(other)])
    assert "refused" not in kept.say(f"echo yes > {other}/yes || echo refused")
    assert (other / "yes").read_text() == "yes\n"
    assert f"- now: {other} (read and write)" in told(kept.server.requests[-1])
    kept.folders(remove=[str(other)])
    assert "none" in kept.say(f"ls {other} || echo none")
    system = kept.server.requests[-1].messages[0]["content"]
    assert str(other) not in system and str(workspace.folder) in system
    assert f"- gone: {other}" in told(kept.server.requests[-1])
    walls = [(event["state"], event["level"]) for event in kept.events("wall")]
    assert walls == [("up", provider)] * 4
    assert len(list(workspace.private_homes.iterdir())) == 1
    assert len(list((workspace.state / "registry").glob("*.json"))) == 1


def test_S24_set_that_cannot_be_used_changes_nothing(account, kept, workspace, other):
    """Refused by REQ-W12, not there, none left, or none of the session's: the shell still has its state."""
    kept.say("x=kept")
    n = len(kept.events("folders-changed"))
    (workspace.path / "link").symlink_to(workspace.home)
    account.mkdir(workspace.home / ".ssh")
    account.write(workspace.path / "plain", "")
    bad = [{"add": [path]} for path in (
        "/etc", "/", "/usr/bin", str(workspace.home), str(workspace.home / ".ssh"), str(workspace.config),
        str(workspace.path / "link"), str(workspace.path / "missing"), str(workspace.path / "plain"),
        "relative", "", str(workspace.path))]
    bad += [{"add": [str(other), "/etc"]}, {"remove": [str(other)]}, {"remove": [str(workspace.folder)]},
            {"add": [str(other)], "remove": ["/etc"]}]
    for change in bad:
        with pytest.raises(Exception) as failure:
            kept.folders(**change)
        assert "no answer" not in str(failure.value), change
    assert kept.folders()["folders"] == [{"path": str(workspace.folder), "read_only": False}]
    assert kept.folders(add=[str(workspace.folder)])["pending"] is False
    assert len(kept.events("folders-changed")) == n and len(kept.events("wall")) == 1
    assert "x=kept" in kept.say("echo x=$x")


def test_several_changes_while_one_call_runs(account, engine, workspace, other):
    account.write(workspace.path / "third/file", "third's words\n")
    third = workspace.path / "third"
    with ModelServer([shell(SLOW.format(workspace.folder)), shell(f"cat {other}/file {third}/file"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server)
        wait_begun(workspace)
        for option in ("--add", str(other)), ("--add", f"{third}:ro"), ("--remove", str(other)):
            assert engine.lines("sessions", "folders", session, *option)[0]["pending"]
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    events = engine.events(session)
    result = [event["result"] for event in events if event["type"] == "tool-ended" and event["tool"] == "shell"][1]
    assert "third's words" in result and "other's words" not in result
    assert len([event for event in events if event["type"] == "folders-changed"]) == 3
    assert len([event for event in events if event["type"] == "wall" and event["state"] == "up"]) >= 2


def test_call_that_waits_for_a_yes_runs_with_the_new_set(account, engine, workspace, other):
    """A folder that is taken out while a call is asked for is not there when it runs."""
    command = f"cat {other}/file || echo none"
    with ModelServer([shell(command), {"text": "Done."}]) as server:
        session = engine.detach(server, "--folder", str(other), approve="ask")
        request = engine.wait_request()[0]["request"]
        assert engine.lines("sessions", "folders", session, "--remove", str(other))[0]["pending"] is False
        assert engine.run("approvals", "allow", request).returncode == 0
        engine.wait_end(session)
    result = [event["result"] for event in engine.events(session)
              if event["type"] == "tool-ended" and event["tool"] == "shell"][-1]
    assert "none" in result and "other's words" not in result


def test_work_starts_elsewhere(account, kept, workspace, other):
    """Another first folder: its own instructions are read, and what was allowed is asked for again."""
    account.write(other / "AGENTS.md", "Speak of the sea.\n")
    kept.folders(add=[str(other)], remove=[str(workspace.folder)])
    wait_until(lambda: [event for event in kept.folders() and kept.events("tool-ended")
                        if "Speak of the sea" in event.get("result", "")], 20, "the instructions")
    assert f"\n{other}\n" in "\n" + kept.say("pwd")
    last = told(kept.server.requests[-1])
    assert "Speak of the sea" in last and f"- work starts now in: {other}" in last


@pytest.fixture
def own_programs(account, programs, workspace):
    """Programs of this test alone, for it to break."""
    shutil.copytree(programs / "libexec", workspace.path / "libexec")
    account.give(workspace.path / "libexec")
    account.extra_env["OPENWORKER_LIBEXEC"] = str(workspace.path / "libexec")


@pytest.mark.parametrize("provider", WALLS, indirect=True)
def test_wall_that_cannot_be_made_again_ends_the_session(account, own_programs, engine, workspace,
                                                         other, provider):
    """With the cause; it goes on neither with the old set nor at a lower level, and leaves nothing."""
    with ModelServer([{"text": "Hello."}]) as server, EngineClient(account) as client:
        kept = Kept(server, client)
        kept.start(provider, [str(workspace.folder)])
        # Whatever is started from now on has no runner to start.
        shutil.rmtree(account.extra_env["OPENWORKER_LIBEXEC"])
        with pytest.raises(Exception, match="."):
            kept.folders(add=[str(other)])
        end = client.wait_event(lambda event: event["type"] == "session-ended", 60)
    assert end["outcome"] in ("refused", "failed") and end["exit"] in (69, 1)
    assert "could not be made again" in end["message"]
    assert [event["state"] for event in kept.events("wall")] == ["up", "lost"]
    assert {event["level"] for event in kept.events("wall")} == {provider}
    for place in (workspace.private_homes, workspace.state / "registry"):
        assert not list(place.glob("*.json")) and not [path for path in place.iterdir() if path.is_dir()]


# The states between the order and the new wall; the numbered ones are passed a second time.
STATES = ["changing", "old-wall-stopped", "old-wall-removed", "registry-written:2", "home-made:2", "plan-made:2",
          "wall-starting:2", "wall-up:2", "channel-up:2", "mounts-proven:2"]


@pytest.mark.parametrize("state", STATES)
def test_S21_killed_while_it_is_made_again(ordinary_user, workspace, openworker, state):
    """Nothing is left, and the session goes on with the new set (the order was stored first)."""
    account = ordinary_user
    account.write(workspace.path / "other/file", "other's words\n")
    other = workspace.path / "other"
    up = Up(account, openworker, env={"OPENWORKER_TEST_STATE": state})
    with ModelServer([shell(SLOW.format(workspace.folder)), shell(f"cat {other}/file"), {"text": "Done."}]) as server:
        session = up.detach(server)
        wait_begun(workspace)
        assert up.lines("sessions", "folders", session, "--add", str(other))[0]["pending"]
        account.write(workspace.folder / "go", "")
        wait_until(lambda: f"state {state.split(':')[0]}\n" in up.log, 30, f"state {state}")
        up.process.kill()
        up.process.wait()
        server.script = [{"text": ""}] * len(server.requests) + [shell(f"cat {other}/file"), {"text": "Done."}]
        listed = account.run([openworker, "sessions", "folders", session, "--json"])
        assert folders_of(json.loads(listed.stdout)) == [
            (str(workspace.folder), False), (str(other), False)]
        assert account.run([openworker, "sessions", "list"]).returncode == 0
        wait_until(lambda: not workspace.processes(), 10, "the end of every process")
        for place in (workspace.private_homes, workspace.state / "registry"):
            assert not place.exists() or os.listdir(place) == [], place
        resumed = account.run([openworker, "sessions", "resume", session, "--json"])
    assert resumed.returncode == 0, resumed.stderr
    results = [json.loads(line).get("result", "") for line in resumed.stdout.splitlines()]
    assert any("other's words" in result for result in results), resumed.stdout


def test_session_that_does_not_run(account, engine, workspace, other):
    with ModelServer([{"text": "Done."}]) as server:
        session = engine.detach(server)
        engine.wait_end(session)
    said(engine.run("sessions", "folders", session, "--add", str(other)), 69, "does not run", "resume")
    listed = engine.run("sessions", "folders", session)
    assert listed.returncode == 0 and f"{workspace.folder}  read-write" in listed.stdout
    said(engine.run("sessions", "folders", "nothing"), 2, "nothing")
    said(engine.run("sessions", "folders", "nothing", "--add", str(other)), 2, "nothing")
    assert engine.run("sessions", "folders").returncode == 2


def test_recording_is_not_taken_in(account, workspace, openworker, other):
    """A folder in which the session's recording is to be written stays out, or read-only."""
    with ModelServer([shell(SLOW.format(workspace.folder)), {"text": "Done."}]) as server:
        run = account.popen(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", workspace.folder,
             "--model", "openai:demo", "--base-url", server.url, "--record", other / "recording", "--json", "Do it."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        session = json.loads(run.stdout.readline())["session"]
        wait_begun(workspace)
        said(account.run([openworker, "sessions", "folders", session, "--add", other]), 69, "recording")
        done = account.run([openworker, "sessions", "folders", session, "--add", f"{other}:ro"])
        assert done.returncode == 0, done.stderr
        account.write(workspace.folder / "go", "")
        run.communicate(timeout=scaled(60))
    assert run.returncode == 0 and (other / "recording").exists()


def test_stop_while_it_is_made_again(ordinary_user, workspace, openworker):
    """A session that is ended meanwhile ends, and nothing of either sandbox is left."""
    account = ordinary_user
    account.write(workspace.path / "other/file", "")
    up = Up(account, openworker, env={"OPENWORKER_TEST_STATE": "old-wall-removed"})
    with ModelServer([shell(SLOW.format(workspace.folder)), shell("true"), {"text": "Done."}]) as server:
        session = up.detach(server)
        wait_begun(workspace)
        up.lines("sessions", "folders", session, "--add", str(workspace.path / "other"))
        account.write(workspace.folder / "go", "")
        wait_until(lambda: "state old-wall-removed\n" in up.log, 30, "the state")
        with EngineClient(account, hello=False) as client:
            client.send("initialize", {"protocol": 1, "version": "0.1.0", "face": "command"})
            client.send("session.stop", {"session": session})
            up.process.send_signal(signal.SIGCONT)
            assert up.wait_end(session)["outcome"] == "stopped"
    wait_until(lambda: not list(workspace.private_homes.iterdir()), 10, "the end of the sandbox")
    assert up.lines("sandbox", "list") == []
    assert up.stop() == 0
