# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The wall that a test is run with: bubblewrap of this machine, or a simulated openshell.

    def test_x(account, workspace, openworker, wall):
        account.run([openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, …])

The fixture `wall` (conftest.py) runs such a test once with each. With openshell a test that runs
as root has folders of the ordinary account, since nothing in a sandbox of OpenShell runs as root.
"""

import json
import os
import subprocess

from container_engine import ContainerEngine
from openshells import OpenshellSim

WALLS = ["bubblewrap", "openshell"]


class Wall:
    """Bubblewrap, or direct: there is nothing to start."""

    def __init__(self, account, name="bubblewrap"):
        self.account, self.name = account, name

    @property
    def argv(self):
        return ["--provider", self.name]

    @property
    def is_openshell(self):
        return self.name == "openshell"

    def end(self):
        """Ends it; what of the program's was left there."""
        return []


class OpenshellWall(Wall):
    """An openshell of the account's own, with an engine. @knobs: OpenshellSim's."""

    def __init__(self, account, owner, **knobs):
        super().__init__(account, "openshell")
        if account.is_root:
            account.folder_owner = owner
            account.give(account.workspace.folder)
        self.may_leave = False
        self.sim = OpenshellSim(account, **{"speed": 0, **knobs}).install()
        self.sim.start()
        self.engine = ContainerEngine(account, self.sim.programs)

    def sandboxes(self):
        """The gateway's, by name."""
        try:
            kept = json.loads((self.sim.state / "sandboxes.json").read_text())
        except FileNotFoundError:
            return []
        return [box["name"] for box in kept]

    def end(self):
        left = self.sandboxes()
        self.sim.stop()
        return [] if self.may_leave else left


class RealOpenshell(Wall):
    """A real openshell, as the variables of docs/openshell-contract.md name it, with the face of a
    simulated one. Only tests that ask for it are run with it."""

    COMMAND = os.environ.get("OPENWORKER_TEST_OPENSHELL")
    CONTROL = os.environ.get("OPENWORKER_TEST_OPENSHELL_CONTROL")

    def __init__(self, account):
        super().__init__(account, "openshell")
        self.sim, self.gateway, self.seen = self, self, set()
        if account.is_root:
            account.folder_owner = (1000, 1000)
            account.give(account.workspace.folder)
        account.write(account.workspace.config / "config.toml",
                      "sandbox_openshell_any_version = true\n", 0o600)
        account.extra_env.update(
            PATH=f"{os.path.dirname(self.COMMAND)}:{account.env()['PATH']}",
            OPENWORKER_SANDBOX_IMAGE=os.environ["OPENWORKER_TEST_IMAGE"])

    def box_of(self, workspace):
        entries = list((workspace.state / "registry").glob("*.json"))
        self.seen |= {f"ow-{entry.stem}" for entry in entries}
        return f"ow-{entries[0].stem}" if entries else None

    def sandboxes(self):
        done = self.account.run([self.COMMAND, "sandbox", "list", "-o", "json"])
        return sorted(self.seen & {box["name"] for box in json.loads(done.stdout)})

    def containers(self):
        return dict.fromkeys(self.sandboxes())

    def control(self, *words):
        subprocess.run([self.CONTROL, *words], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)

    def kill(self):
        self.control("kill")

    def start(self):
        self.control("start")

    def restart(self):
        self.control("stop")
        self.control("start")

    def kill_container(self, name):
        self.control("remove", name)

    def poll(self):
        """As of the gateway's process: it runs."""


def make_wall(name, account, owner, **knobs):
    return OpenshellWall(account, owner, **knobs) if name == "openshell" else Wall(account, name)
