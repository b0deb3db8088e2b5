# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Each claim of `openworker sandbox prove` (REQ-U16) is broken from outside, and is then the one that
is named: by a bwrap that changes one thing of what it is asked for (loose_bwrap.py), by a proxy
that lets everything through, and with OpenShell by a gateway whose sandboxes are not what their
policy says (the knob `loose`)."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import loose_bwrap
import public_host
import pytest

# What is broken, and the claims that then fail.
BROKEN = {"home": {"home"}, "folder": {"folder"}, "empty-folder": {"folder"}, "read-only": {"read_only"},
          "proc-sys": {"proc_sys"}, "hosts": {"host"}, "network": {"host", "loopback", "abstract_socket"}}
LOOSE_PROXY = """#!/usr/bin/python3 -IS
import json, os, subprocess, sys
real = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "allow" in asked:
        asked["allow"].append({{"host": "*.example.com", "port": 443}})
    real.stdin.write(json.dumps(asked).encode() + b"\\n")
    real.stdin.flush()
real.stdin.close()
sys.exit(real.wait())
"""


def loosen_openshell(wall, workspace, home, way):
    file = wall.account.write(workspace.path / "file", "writable\n", 0o666)
    wall.sim.set(loose={
        "home": {"under": [str(home)], "read_only": [str(home)], "words": ["--landlock-ro", str(home)]},
        "folder": {"over_file": {"writable": "known"}},
        "empty-folder": {"empty": ["writable"]},
        "read-only": {"writable": ["read-only"]},
        "proc-sys": {"over": {"/proc/sys/kernel/core_pattern": str(file)}, "read_write": ["/proc/sys"],
                     "words": ["--landlock-rw", "/proc/sys"]},
        "hosts": {"hosts": True},
        "network": {"network": True},
    }[way])


def prove(account, workspace, openworker, wall, way, programs):
    argv = [openworker, "sandbox", "prove", *wall.argv, "--json"]
    if wall.is_openshell:
        loosen_openshell(wall, workspace, workspace.home, way)
        return account.run(argv)
    if way == "hosts":
        libexec = account.mkdir(workspace.path / "libexec")
        for name in ("openworker-runner", "openworker-proxy"):
            real = programs / "libexec" / name
            account.write(libexec / name, real.read_bytes(), 0o755)
        account.write(libexec / "openworker-proxy",
                      LOOSE_PROXY.format(real=str(programs / "libexec/openworker-proxy")), 0o755)
        return account.run(argv, env={"OPENWORKER_LIBEXEC": libexec})
    program = loose_bwrap.write(workspace.path / "loose", workspace.home, way)
    network = [sys.executable, __file__, "network", workspace.path] if way == "network" else []
    return subprocess.run(
        ["unshare", "--mount", "--", *network, "sh", "-c", 'mount --bind "$0" /usr/bin/bwrap && exec "$@"',
         program, *account.argv(argv)], env=account.env(), cwd=workspace.path,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


def main():
    """In a network where the address that belongs to nobody is this machine's, and answers."""
    public_host.make_network(Path(sys.argv[2]), more=["192.0.2.1"])
    with socket.create_server(("192.0.2.1", 443)):
        return subprocess.run(sys.argv[3:], check=False, stdin=subprocess.DEVNULL).returncode


@pytest.mark.root
@pytest.mark.parametrize("way", BROKEN)
def test_broken_claim_is_named(account, workspace, openworker, wall, programs, way):
    """REQ-U16 [bubblewrap, openshell]."""
    if wall.is_openshell and account.is_root and way == "home":
        # What is inside is another account there: a home that is shown is closed by its mode, and
        # the runner may not even be able to name it.
        done = prove(account, workspace, openworker, wall, way, programs)
        assert done.returncode in (0, 69) and '"held":false' not in done.stdout, done.stdout + done.stderr
        return
    done = prove(account, workspace, openworker, wall, way, programs)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads(done.stdout)
    failed = {claim["key"] for claim in result["claims"] if not claim["held"]}
    assert result["held"] is False and failed == BROKEN[way], result
    assert all(claim["detail"] for claim in result["claims"])


if __name__ == "__main__" and sys.argv[1:2] == ["network"]:
    sys.exit(main())
