# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The wall that a test is run with: bubblewrap of this machine, or a simulated openshell.

    def test_x(account, workspace, openworker, wall):
        account.run([openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, …])

The fixture `wall` (conftest.py) runs such a test once with each. With openshell a test that runs
as root has folders of the ordinary account, since nothing in a sandbox of OpenShell runs as root.
"""

import json

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


def make_wall(name, account, owner, **knobs):
    return OpenshellWall(account, owner, **knobs) if name == "openshell" else Wall(account, name)
