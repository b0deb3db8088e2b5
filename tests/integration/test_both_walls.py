# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What is required of every wall, on each of them, where no other test has both (REQ-W04, REQ-W06,
REQ-W11, REQ-W13)."""

import os
import signal

import pytest
from conftest import wait_until
from openshells import OpenshellSim


@pytest.fixture
def exec_in(account, workspace, openworker, wall):
    def call(*command, argv=None, **options):
        return account.run([openworker, "sandbox", "exec", *(wall.argv if argv is None else argv),
                            "--folder", workspace.folder, "--", *command], timeout=120, **options)
    return call


def take_away(account, workspace, wall):
    """Something that the wall cannot do without; gives the environment in which it is missing."""
    if wall.is_openshell:
        wall.sim.kill()
        return {}
    empty = account.mkdir(workspace.path / "libexec")
    return {"OPENWORKER_LIBEXEC": empty}


def test_wall_that_cannot_be_used_refuses(account, workspace, exec_in, wall):
    """REQ-W04 [bubblewrap, openshell]: asked for by the command or set for the machine, with the cause
    and what to do next; nothing runs, at no level."""
    assert exec_in("true").returncode == 0
    environment = take_away(account, workspace, wall)
    account.write(workspace.config / "config.toml", f'sandbox_provider = "{wall.name}"\n', 0o600)
    for argv in (wall.argv, []):
        done = exec_in("touch", "ran", argv=argv, env=environment)
        assert done.returncode == 69, done.stderr
        assert "Sessions on this machine are refused: " in done.stderr
        assert not (workspace.folder / "ran").exists()
    wall.may_leave = True


def test_nothing_is_chosen_by_itself(account, workspace, exec_in, wall):
    """REQ-W06 [bubblewrap, openshell]: with a wall that could be used, and nobody to ask."""
    done = exec_in("touch", "ran", argv=[])
    assert done.returncode == 69 and "Nothing is set" in done.stderr, done.stderr
    assert not (workspace.folder / "ran").exists()
    if wall.is_openshell:
        assert [argv for _, _, argv in wall.sim.calls() if argv[:2] == ["sandbox", "create"]] == []


def start_one(account, workspace, openworker, wall, name):
    """A session whose command runs on, when it does."""
    process = account.popen([openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--",
                             "sh", "-c", f"echo > {name}; sleep 600"])
    wait_until((workspace.folder / name).exists, 60, name)
    return process


def entries(workspace):
    return {entry.stem for entry in (workspace.state / "registry").glob("*.json")}


def test_left_over_is_reaped_and_no_other(account, workspace, openworker, exec_in, wall):
    """REQ-W11 [bubblewrap, openshell]."""
    killed = start_one(account, workspace, openworker, wall, "killed")
    left = entries(workspace)
    living = start_one(account, workspace, openworker, wall, "living")
    others = entries(workspace) - left
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert entries(workspace) == left | others and len(left) == len(others) == 1
    assert exec_in("true").returncode == 0
    wait_until(lambda: entries(workspace) == others, 60, "the end of what was left")
    assert {path.name for path in workspace.private_homes.iterdir()} == others
    if wall.is_openshell:
        wait_until(lambda: wall.sandboxes() == [f"ow-{name}" for name in others], 60, "its sandbox's end")
    assert living.poll() is None
    living.send_signal(signal.SIGINT)
    living.wait(120)


def test_no_provider_of_credentials(account, workspace, openworker, exec_in, wall):
    """REQ-W13 [bubblewrap, openshell]: where the gateway attaches one all the same the session is
    refused; with bubblewrap nobody asks a gateway for anything."""
    if wall.is_openshell:
        assert exec_in("true").returncode == 0
        [create] = [argv for _, _, argv in wall.sim.calls() if argv[:2] == ["sandbox", "create"]]
        assert "--no-auto-providers" in create
        wall.sim.set(providers=["vendor"])
        done = exec_in("touch", "ran")
        assert done.returncode == 69 and not (workspace.folder / "ran").exists(), done.stderr
        return
    with OpenshellSim(account, speed=0, providers=["vendor"]).install() as sim:
        done = exec_in("sh", "-c", "env; ls -a ~")
        assert done.returncode == 0 and "vendor" not in done.stdout.lower()
        assert sim.calls() == []
