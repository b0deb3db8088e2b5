# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Nothing is copied out of a sandbox of OpenShell (hole S16). What the inside made reaches this
machine where a folder of the session is mounted, and as words; `openshell` has verbs that fetch
files by the path that the inside gives them, through its links, and none of them is used."""

import json
import os
from pathlib import Path

import pytest
from conftest import wait_until
from container_engine import ContainerEngine
from engines import Up, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim, check_calls

# The inside reckons it, so that no record of what was asked for holds it.
FACTORS = (72077, 91411)
SECRET = str(FACTORS[0] * FACTORS[1])
WAIT = "touch begun; while ! [ -e go ]; do sleep 0.05; done"


@pytest.fixture
def openshell(account, workspace, ordinary_ids):
    account.write(workspace.path / "other/file", "other's words\n")
    if account.is_root:
        for path in (workspace.folder, workspace.path / "other", workspace.path / "other/file"):
            os.chown(path, *ordinary_ids)
    with OpenshellSim(account, speed=0) as sim:
        sim.install()
        ContainerEngine(account, sim.programs)
        yield sim


def hostile(outside):
    """Links that lead out, names that climb, and a file under each place that the inside may write to."""
    number = f"$(({FACTORS[0]} * {FACTORS[1]}))"
    return "; ".join([
        "cd ~", f"echo {number} > kept", f"ln -s {outside} out", f"ln -s {outside}/file file", "mkdir -p a/..b",
        f"echo {number} > 'a/..b/..\\..\\x'", "ln -s / root", "ln -s ../../../../.. up", "ln -s . self",
        f"echo {number} > /tmp/kept", f"ln -s {outside} /tmp/out", f"ln -s {outside}/file \"$OLDPWD/link\"",
        "cd \"$OLDPWD\"", f"echo {number} > mine", WAIT])


def holders(top, *but):
    """The files below @top that hold the secret."""
    found = []
    for directory, below, names in os.walk(top):
        below[:] = [name for name in below if Path(directory, name) not in but]
        for name in names:
            path = Path(directory, name)
            if not path.is_symlink() and path.is_file() and SECRET.encode() in path.read_bytes():
                found.append(str(path))
    return found


def test_S16_nothing_is_copied_out(account, openworker, workspace, openshell):
    """A session with all that a person may ask of its sandbox: what was made inside lies in the folder and nowhere
    else on this machine, links stay links, and where they lead is as it was."""
    outside, third = workspace.path / "other", account.mkdir(workspace.path / "third")
    os.chown(third, *os.stat(outside)[4:6])
    engine = Up(account, openworker)
    asked = [("shell", {"command": hostile(outside)}), ("list", {"path": "."}), ("read", {"path": "link"})]
    with ModelServer([*[calls(call) for call in asked], {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        assert [box["session"] for box in engine.lines("sandbox", "list", "--all")] == [session]
        for words in (["show", session], ["logs", session], ["allow", session, "wanted.example"]):
            done = engine.run("sandbox", *words)
            assert done.returncode == 0, done.stderr
        assert engine.lines("sessions", "folders", session, "--add", str(third))[0]["pending"]
        account.write(workspace.folder / "go", "")
        engine.wait_end(session)
    results = [event["result"] for event in engine.events(session) if event["type"] == "tool-ended"]
    assert engine.stop() == 0
    assert account.run([openworker, "sandbox", "reap"]).returncode == 0

    # It was made, or the rest would prove nothing.
    assert (workspace.folder / "mine").read_text() == f"{SECRET}\n"
    assert os.readlink(workspace.folder / "link") == f"{outside}/file"
    assert os.listdir(outside) == ["file"] and (outside / "file").read_text() == "other's words\n"
    assert "link" in json.dumps(results[-2]), results
    assert "other's words" not in json.dumps(results), results
    made = check_calls(openshell)
    assert {("sandbox", "create"), ("sandbox", "exec"), ("sandbox", "delete")} <= made, made
    wait_until(lambda: openshell.containers() == {}, 10, "the end of the containers")
    assert holders(workspace.path, workspace.folder, openshell.state) == []
