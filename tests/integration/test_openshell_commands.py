# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox list|show|delete|reap|logs|allow` on the simulated openshell: what the gateway tells,
what it has of others, and what a killed run left there (REQ-W07, REQ-W11, REQ-N02, REQ-E01; holes S14, S21, A43)."""

import json
import os
import signal
import subprocess

import pytest
from conftest import wait_until
from container_engine import ContainerEngine
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim, check_calls

ASK = "curl -sS -m 5 https://{}/ ; true"
WAIT = "touch begun; while ! [ -e go ]; do sleep 0.05; done"
POLICY = ("version: 1\nfilesystem_policy:\n  read_only: [/usr, /lib, /etc, /proc, /sandbox]\n"
          "  read_write: [/tmp, /dev/null]\nprocess:\n  run_as_user: \"{0}\"\n  run_as_group: \"{1}\"\n")


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def openshell(account, workspace, ordinary_ids):
    account.write(workspace.path / "other/file", "other's words\n")
    if account.is_root:
        # Nothing in a sandbox of OpenShell runs as root: the folders are another account's.
        for path in (workspace.folder, workspace.path / "other", workspace.path / "other/file"):
            os.chown(path, *ordinary_ids)
    with OpenshellSim(account) as sim:
        sim.install()
        ContainerEngine(account, sim.programs)
        yield sim
        check_calls(sim)


@pytest.fixture
def engine(account, openworker, openshell):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def names(sim):
    return sorted(item["name"] for item in json.loads(sim.run("sandbox", "list", "-o", "json").stdout))


def foreign(sim, account, workspace, ids):
    """A sandbox of this program on another machine, at the same gateway."""
    policy = account.write(workspace.path / "policy.yaml", POLICY.format(*ids))
    done = sim.run("sandbox", "create", "--name", "ow-0123456789ab", "--from", "ghcr.io/x/y", "--no-tty",
                   "--detach", "--no-auto-providers", "--policy", policy, "--label", "openworker=1", "--label",
                   "openworker-owner=0123456789abcdef", "--", "/bin/sleep", "600")
    assert done.returncode == 0, done.stderr


def killed(account, workspace, openworker):
    """What a run leaves that is killed while its sandbox is up."""
    process = account.popen(
        [openworker, "sandbox", "exec", "--provider", "openshell", "--folder", workspace.folder, "--", "sh", "-c",
         "touch begun; sleep 300"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_begun(workspace)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def lines(account, openworker, *argv, status=0):
    done = account.run([openworker, *argv, "--json"])
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_A43_list_and_delete_know_what_is_ours(account, engine, workspace, openshell, ordinary_ids):
    """What the gateway has of others is shown only when asked for, and deleted never."""
    foreign(openshell, account, workspace, ordinary_ids)
    with ModelServer([shell(WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        (ours,) = engine.lines("sandbox", "list")
        assert ours["name"] == f"ow-{ours['id']}" and ours["phase"] == "Ready" and ours["state"] == "up"
        assert ours["session"] == session and ours["level"] == "openshell" and ours["policy_version"] >= 1
        every = {item["name"]: item for item in engine.lines("sandbox", "list", "--all")}
        assert set(every) == {ours["name"], "ow-0123456789ab"}
        assert every["ow-0123456789ab"]["ours"] is False and every["ow-0123456789ab"]["state"] == "unknown"
        assert "not ours" in engine.run("sandbox", "list", "--all").stdout
        said(engine.run("sandbox", "delete", "ow-0123456789ab", "--yes"), 2, "no sandbox")
        (shown,) = engine.lines("sandbox", "show", ours["name"])
        assert shown["session"] == session and "github.com:443" in shown["hosts"]
        assert engine.run("sandbox", "delete", ours["name"], "--yes").returncode == 0
    assert engine.events(session)[-1]["outcome"] == "stopped"
    assert names(openshell) == ["ow-0123456789ab"] and engine.lines("sandbox", "list") == []


def test_S21_reap_says_what_it_kept_and_why(account, workspace, openworker, openshell,
                                            ordinary_ids):
    killed(account, workspace, openworker)
    foreign(openshell, account, workspace, ordinary_ids)
    openshell.kill()
    (reaped,) = lines(account, openworker, "sandbox", "reap", status=1)
    assert reaped["removed"] == [] and len(reaped["kept"]) == 1 and "gateway" in reaped["kept"][0]["why"].lower()
    text = account.run([openworker, "sandbox", "list"])
    assert text.returncode == 0 and "left over" in text.stdout and "OpenShell was not asked" in text.stderr
    openshell.start()
    (reaped,) = lines(account, openworker, "sandbox", "reap")
    assert len(reaped["removed"]) == 1 and reaped["kept"] == []
    assert names(openshell) == ["ow-0123456789ab"] and lines(account, openworker, "sandbox", "list") == []
    assert not list(workspace.private_homes.iterdir())


def test_S21_one_without_an_entry_is_listed_and_reaped(account, workspace, openworker, openshell):
    """The registry was lost: our own label tells it from another's."""
    killed(account, workspace, openworker)
    for path in (workspace.state / "registry").glob("*.json"):
        path.unlink()
    (orphan,) = lines(account, openworker, "sandbox", "list")
    assert orphan["state"] == "left over" and orphan["ours"] is True and "id" not in orphan
    (reaped,) = lines(account, openworker, "sandbox", "reap")
    assert [item["name"] for item in reaped["removed"]] == [orphan["name"]]
    assert names(openshell) == []


def test_S21_one_without_an_entry_is_deleted_by_its_name(account, workspace, openworker, openshell,
                                                         ordinary_ids):
    killed(account, workspace, openworker)
    foreign(openshell, account, workspace, ordinary_ids)
    for path in (workspace.state / "registry").glob("*.json"):
        path.unlink()
    (orphan,) = lines(account, openworker, "sandbox", "list")
    done = account.run([openworker, "sandbox", "delete", orphan["name"], "--yes"])
    assert done.returncode == 0 and orphan["name"] in done.stdout, done.stderr
    assert names(openshell) == ["ow-0123456789ab"]


def test_N02_allowed_host_stays_allowed_with_other_folders(account, engine, workspace, openshell):
    """REQ-N02, REQ-W07: by the person, for the session; recorded, told, and kept over a new sandbox."""
    ask, other = ASK.format("wanted.example"), workspace.path / "other"
    with ModelServer([shell(f"{ask}; {ask}; {WAIT}"), shell(ask), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        wait_until(lambda: [e for e in engine.events(session) if e["type"] == "host-decision"], 20, "the refusal")
        (before,) = engine.lines("sandbox", "show", session)
        assert [entry["host"] for entry in before["refused"]] == ["wanted.example:443"]
        assert before["refused"][0]["count"] == 2 and before["log"].endswith(f"{session}.log")
        (allowed,) = engine.lines("sandbox", "allow", session, "wanted.example", "--machine")
        assert allowed == {"host": "wanted.example:443", "session": True, "machine": True}
        (after,) = engine.lines("sandbox", "show", session)
        assert after["allowed"] == ["wanted.example:443"] and after["policy_version"] > before["policy_version"]
        assert engine.lines("sessions", "folders", session, "--add", str(other))[0]["pending"]
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    events = engine.events(session)
    # The third try was no refusal any more: what fails there is that no such name exists.
    refused = engine.run("sandbox", "logs", session, "--refused").stdout.splitlines()
    assert ["not allowed by any policy" in line for line in refused] == [True, True, False], refused
    assert "DNS resolution failed for wanted.example:443" in refused[2]
    person = [event for event in events if event["type"] == "host-decision" and event["reason"] == "person"]
    assert [(event["host"], event["port"], event["decision"]) for event in person] == [("wanted.example", 443, "allow")]
    assert "wanted.example" in (workspace.config / "config.toml").read_text()
    assert "host-decision" in engine.run("audit", "show", session).stdout


def test_E01_logs_are_openshells_own_lines(account, engine, workspace, openshell):
    with ModelServer([shell(ASK.format("refused.example")), shell(WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        path = workspace.state / "ocsf" / f"{session}.log"
        wait_until(lambda: path.exists() and "refused.example" in path.read_text(), 20, "the log")
        follow = account.popen([engine.openworker, "sandbox", "logs", session, "--follow", "--refused"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        assert b"refused.example:443" in follow.stdout.readline()
        with open(path, "ab") as log:
            log.write(b"noise\x1b[2J\n")
            log.write([line for line in path.read_bytes().splitlines(keepends=True) if b"refused.example" in line][0])
        assert b"refused.example:443" in follow.stdout.readline()
        follow.send_signal(signal.SIGINT)
        assert follow.wait(timeout=20) == 0 and follow.stdout.read() == b""
        every = engine.run("sandbox", "logs", session).stdout
        assert "\x1b" not in every and "noise" in every and len(every.splitlines()) > 2
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    # They stay after the session.
    assert "refused.example" in engine.run("sandbox", "logs", session, "--refused").stdout


def test_delete_that_the_gateway_cannot_do_is_no_success(engine, workspace, openshell):
    """The session is stopped, and that its sandbox stays is said; it goes when the gateway is back."""
    with ModelServer([shell(WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        openshell.kill()
        said(engine.run("sandbox", "delete", session, "--yes", timeout=120), 1,
             "was not removed", "sandbox reap")
        engine.wait_end(session)
        openshell.start()
        (reaped,) = engine.lines("sandbox", "reap")
    assert len(reaped["removed"]) == 1 and names(openshell) == []
