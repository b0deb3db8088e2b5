# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The escape bench (docs/security.md): no probe comes through a wall of ours, and each one came
through outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, scaled

RUN = ROOT / "tests/escape/run.py"
BUILD = Path(os.environ.get("OPENWORKER_BUILD", ROOT / "build-test"))
WALLS = ["bubblewrap", "bubblewrap-root", "openshell"] if os.geteuid() == 0 else ["bubblewrap", "openshell"]


def bench(*words, **more):
    return subprocess.run(["/usr/bin/python3", "-B", RUN, *words], capture_output=True, text=True,
                          env={**os.environ, "OPENWORKER_BUILD": str(BUILD), **more},
                          timeout=scaled(900), check=False, stdin=subprocess.DEVNULL)


def test_every_probe_has_a_row():
    sys.path.insert(0, str(RUN.parent))
    import probes
    done = subprocess.run([BUILD / "tests/escape/escape-probe", "--list"], capture_output=True, text=True,
                          check=True)
    assert set(done.stdout.split()) == {probes.SANITY, *probes.ROWS}
    assert len(done.stdout.split()) == 1 + len(probes.ROWS)


def rows_of(wall):
    """{probe: [verdict, words]} of a run of all of them."""
    done = bench("--json", "--wall", wall)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)[wall]["rows"], done


@pytest.mark.parametrize("wall_name", WALLS)
def test_S08_S20_S23_nothing_comes_through(wall_name):
    rows, done = rows_of(wall_name)
    assert len(rows) > 90
    assert {name: said for name, said in rows.items()
            if said[0] not in ("held", "listed", "fact", "n/a")} == {}
    assert done.returncode == 0
    # What runs later is listed, and nothing else has to be.
    assert {name for name, said in rows.items() if said[0] == "listed"} == {
        name for name in rows if name.startswith("later-")}
    # What this machine cannot try is said, and is not the rule.
    left_out = {name: said for name, said in rows.items() if said[0] == "n/a"}
    held = [name for name, said in left_out.items() if "root" in said[1]]
    assert len(left_out) - len(held) < (20 if os.geteuid() == 0 else 30), left_out


def test_direct_is_no_wall():
    """The same look finds what is open where there is no wall."""
    rows, _ = rows_of("direct")
    opened = {name for name, said in rows.items() if said[0] == "OPEN"}
    assert {"home-read", "ssh-key", "state-write", "memory", "signal", "environ", "key-found",
            "socket-abstract", "bus-path", "screen-path", "ssh-agent", "docker-socket", "loopback",
            "user-spaces", "io-uring", "moved-out", "swapped", "shared-segment"} <= opened
    assert not {name: said for name, said in rows.items() if said[0] in ("broken", "no control")}


def test_probe_without_a_control_is_a_fault():
    """What fails outside as well says nothing about a wall, and is not counted as held."""
    done = bench("--wall", "bubblewrap", "--json", "loopback", "home-read", OPENWORKER_ESCAPE_SPOIL="loopback.port")
    rows = json.loads(done.stdout)["bubblewrap"]["rows"]
    assert (rows["loopback"][0], rows["home-read"][0], done.returncode) == ("no control", "held", 1), rows
