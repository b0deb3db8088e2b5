# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a hostile folder and a hostile inside try against OpenShell's provider: programs of a session's folder that
would run outside, and refused hosts that are hidden or misnamed (REQ-W03, REQ-N02; holes S08, S14)."""

import os
import subprocess

import pytest
from conftest import wait_until
from container_engine import ContainerEngine
from engines import Up, wait_begun
from model_server import ModelServer, calls
from openshells import OpenshellSim

WAIT = "touch begun; while ! [ -e go ]; do sleep 0.05; done"
COMMANDS = ("openshell", "docker", "podman", "getent")


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


@pytest.fixture
def engine(account, openworker, openshell):
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def trap(workspace):
    """A command that tells that it was run, outside: inside its mark cannot be made."""
    return f"#!/bin/sh\necho \"$0\" >> {workspace.path}/escaped\nexit 1\n"


def plant(account, workspace, folder):
    for name in COMMANDS:
        account.write(folder / name, trap(workspace), 0o755)


def exec_in(account, openworker, workspace, *command, mode="", **options):
    return account.run([openworker, "sandbox", "exec", "--provider", "openshell", "--folder",
                        f"{workspace.folder}{mode}", "--", *command], **options)


@pytest.mark.parametrize("mode", ["", ":ro"])
@pytest.mark.parametrize("link", [False, True])
def test_W03_command_of_a_session_folder(openshell, account, workspace, openworker, mode, link):
    """A project with an `openshell` and a `docker` of its own, on the PATH: refused, and never run."""
    bin_dir = workspace.folder / "bin"
    plant(account, workspace, bin_dir)
    place = bin_dir
    if link:
        place = account.mkdir(workspace.path / "links")
        for name in COMMANDS:
            (place / name).symlink_to(bin_dir / name)
    path = f"{place}:{account.env()['PATH']}"
    done = exec_in(account, openworker, workspace, "touch", "ran", mode=mode, env={"PATH": path})
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()
    assert done.returncode == 69 and str(place / "openshell") in done.stderr, done.stdout + done.stderr
    assert not (workspace.folder / "ran").exists() and openshell.containers() == {}


def test_W03_folder_where_we_stand(openshell, account, workspace, openworker):
    """A PATH with "." in it, as some people have it, started in a project that has a `docker`."""
    plant(account, workspace, workspace.folder)
    path = f".::{account.env()['PATH']}"
    done = exec_in(account, openworker, workspace, "touch", "ran", env={"PATH": path}, cwd=workspace.folder)
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()
    assert done.returncode == 0 and (workspace.folder / "ran").exists(), done.stderr


def test_S08_command_that_an_agent_makes(openshell, account, workspace, openworker, ordinary_ids):
    """Not there when the folder was chosen: the engine gives its own commands all the same."""
    bin_dir = account.mkdir(workspace.folder / "bin")
    if account.is_root:
        os.chown(bin_dir, *ordinary_ids)
    script = "".join(f"printf '{trap(workspace)}' > bin/{name}; chmod 755 bin/{name}; " for name in COMMANDS)
    engine = Up(account, openworker, env={"PATH": f"{bin_dir}:{account.env()['PATH']}"})
    with ModelServer([shell(script + WAIT), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_begun(workspace)
        assert os.access(bin_dir / "openshell", os.X_OK)
        assert [item["session"] for item in engine.lines("sandbox", "list")] == [session]
        with ModelServer([shell("true"), {"text": "Done."}]) as other:
            second = engine.detach(other, provider="openshell", folder=workspace.path / "other")
            assert engine.wait_end(second)["outcome"] == "done"
        account.write(workspace.folder / "go", "")
        assert engine.wait_end(session)["outcome"] == "done"
    assert engine.stop() == 0
    assert not (workspace.path / "escaped").exists(), (workspace.path / "escaped").read_text()
