# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The simulated openshell as the contract's tests need it: a command and who may disturb it."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"


def _integration(name, own_name):
    """A module of the integration tests, by a name that none here has."""
    sys.path.insert(0, str(INTEGRATION))
    try:
        spec = importlib.util.spec_from_file_location(own_name, INTEGRATION / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(INTEGRATION))


class SimControl:
    """What a program does for a real one, here on the simulation."""

    def __init__(self, sim):
        self.sim = sim

    def __call__(self, verb, *words):
        {"stop": self.sim.terminate, "kill": self.sim.kill, "start": self.sim.start,
         "remove": self.sim.remove_container, "pause": self.sim.pause,
         "unpause": self.sim.unpause, "bind-mounts": self._bind_mounts}[verb](*words)

    def _bind_mounts(self, value):
        self.sim.set_driver("docker", bind_mounts=value == "on")
        self.sim.kill()
        self.sim.start()


class Simulation:
    """One simulation with an account of its own, ended with the tests."""

    image = "ow-ct/base:1"

    def __init__(self):
        conftest = _integration("conftest", "integration_conftest")
        openshells = _integration("openshells", "openshells")
        uid, gid = os.geteuid(), os.getegid()
        self.account = conftest.Account(uid, gid, conftest._make_workspace(uid, gid))
        self.sim = openshells.OpenshellSim(self.account, speed=0.25).start()
        self.program = self.sim.programs / "openshell"
        self.env = self.account.env()
        self.control = SimControl(self.sim)

    def stop(self):
        self.sim.stop()
        shutil.rmtree(self.account.workspace.path, ignore_errors=True)
