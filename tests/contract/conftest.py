# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Which `openshell` the contract is run on; docs/openshell-contract.md says how to choose.

`openshell` is the command, `box` the name of a sandbox that the tests of one file share.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from openshell_cli import Openshell, scaled  # noqa: E402
from simulation import Simulation            # noqa: E402

REAL = os.environ.get("OPENWORKER_TEST_OPENSHELL")
CONTROL = os.environ.get("OPENWORKER_TEST_OPENSHELL_CONTROL")
# Who the inside runs as when root runs the suite: any account but root's.
INSIDE = (1000, 1000)


def pytest_configure(config):
    config.addinivalue_line("markers", "control: needs somebody who may disturb the gateway")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("control") and REAL and not CONTROL:
            item.add_marker(pytest.mark.skip(reason="OPENWORKER_TEST_OPENSHELL_CONTROL is unset"))


class RealControl:
    """A program of the machine's owner: stop, kill, start, remove NAME, …"""

    def __init__(self, program):
        self.program = program

    def __call__(self, *words):
        done = subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=scaled(60))
        assert done.returncode == 0, f"{self.program} {words}: {done.stdout}"


def _driver(program, env):
    """The compute driver that the gateway uses."""
    probe = Openshell(program, env, "", (0, 0), None, "")
    return probe.run("gateway", "info", "-o", "json").json["compute_drivers"][0]["name"]


def _real(work, ids):
    image = os.environ.get("OPENWORKER_TEST_IMAGE")
    assert image, "OPENWORKER_TEST_IMAGE must name an image that the gateway's engine has"
    env = {name: value for name, value in os.environ.items() if not name.endswith("_proxy")}
    yield Openshell(REAL, env, image, ids, work, _driver(REAL, env),
                    RealControl(CONTROL) if CONTROL else None)


def _simulated(work, ids):
    simulation = Simulation()
    try:
        yield Openshell(simulation.program, simulation.env, simulation.image, ids, work, "docker",
                        simulation.control)
    finally:
        simulation.stop()


@pytest.fixture(scope="session")
def openshell():
    # Not under /tmp: a sandbox has a /tmp of its own.
    work = Path(tempfile.mkdtemp(prefix="ow-ct-", dir="/var/tmp"))
    work.chmod(0o755)
    ids = INSIDE if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    maker = _real(work, ids) if REAL else _simulated(work, ids)
    made = next(maker)
    yield made
    made.clean()
    left = [name for name in made.names() if name in made.made]
    next(maker, None)
    shutil.rmtree(work)
    assert not left, f"sandboxes were left behind: {left}"


@pytest.fixture(scope="module")
def box(openshell):
    """The name of a sandbox with one folder, read and written, and a main command that lives."""
    folder = openshell.folder("folder")
    name = openshell.made_box(policy=openshell.policy(read_write=[folder]),
                              mounts=openshell.mounts((folder, folder, False)))
    yield name
    openshell.delete(name)
