# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A simulated openshell and a container engine for who calls this, without a test around them.

    stage.py DIRECTORY

The account's home and runtime directory are DIRECTORY/home and DIRECTORY/run. Prints the folder
that has the commands, and stays until its standard input ends; then all of it ends."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from accounts import make_account                # noqa: E402
from container_engine import ContainerEngine     # noqa: E402
from openshells import OpenshellSim              # noqa: E402


def main():
    account = make_account(sys.argv[1])
    with OpenshellSim(account) as sim:
        engine = ContainerEngine(account, sim.programs)
        print(sim.programs, flush=True)
        sys.stdin.read()
        engine.close()


if __name__ == "__main__":
    main()
