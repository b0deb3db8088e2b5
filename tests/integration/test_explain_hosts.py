# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox explain` of hosts: 1,000 of them are explained, and then asked of the proxy from
inside (REQ-N01, REQ-N03). What the two say has to be the same.

With bubblewrap the session is in a network of its own, where nothing outside is reached; this file
is also what makes it: `test_explain_hosts.py network WORKSPACE -- COMMAND…`."""

import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import public_host
import pytest

N_HOSTS = 1_000
PROBE = Path(__file__).with_name("inside_hosts.py")
CONFIG = """sandbox_network_profile = "{profile}"
sandbox_extra_hosts = ["*.example.net", "Git.Example.org:8443", "example.com:80", "*.deep.example.org:22"]
"""
LISTED = ["github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "gitlab.com",
          "git.example.org", "example.com", "a.example.net", "b.a.example.net",
          "x.y.z.deep.example.org", "deep.example.org", "example.net", "api.search.brave.com",
          "html.duckduckgo.com", "s3.eu-west-1.amazonaws.com", "amazonaws.com"]
OTHER = ["evil.test", "localhost", "LOCALHOST", "a.localhost", "host.docker.internal", "127.0.0.1", "127.1",
         "0x7f000001", "2130706433", "0", "0.0.0.0", "10.0.0.1", "192.168.1.1", "169.254.169.254", "8.8.8.8",
         "[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[2001:db8::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
         "100.100.100.200", "1.2.3", "1.2.3.4.5", "010.0.0.1", "e\u00e9.test", "xn--e-xfa.test",
         "_a.example.net", "a_b.example.net", "-a.example.net", "a-.example.net", "a..example.net",
         "x" * 63 + ".example.net", "x" * 64 + ".example.net", "*.example.net", "**.example.net", ".", "..",
         "a b.test", "a@github.com", "github.com@evil.test", "github.com/evil", "github.com#x", "%67ithub.com",
         "github.com\u3002", "[github.com]", "github.com%00.evil.test"]
PORTS = ["", "", "", ":443", ":443", ":80", ":8443", ":22", ":0", ":65535", ":65536", ":0443", ":x", ":-1", ":"]
# What names lead to where the session is.
ADDRESSES = {"loop.example.net": "127.0.0.1", "corp.example.net": "10.77.0.1", "meta.example.net":
             "169.254.169.254"}


def draw_host(rng):
    name = rng.choice(LISTED if rng.randrange(3) else OTHER)
    choice = rng.randrange(8)
    if choice == 0:
        name = rng.choice(["x", "www", "evil-"]) + rng.choice(["", "."]) + name
    elif choice == 1:
        name += rng.choice([".evil.test", "x", ".com"])
    elif choice == 2:
        name = "".join(rng.choice((c.upper(), c)) for c in name)
    elif choice == 3:
        name += "."
    return name + rng.choice(PORTS)


def draw_hosts(rng, wall):
    hosts = {f"{name}:443" for name in ADDRESSES} if not wall.is_openshell else set()
    while len(hosts) < N_HOSTS:
        host = draw_host(rng)
        # What ends the head of a request is no host of it; a path and a user are none either way.
        if " " in host or wall.is_openshell and not is_plain(host):
            continue
        hosts.add(host)
    return sorted(hosts)


def is_plain(host):
    """OpenShell's proxy is only asked for names that can be: how a real one reads other words is not
    known here."""
    name, _, port = host.rpartition(":") if ":" in host else (host, "", "443")
    return all(re.fullmatch(r"\w([\w-]{0,61}\w)?", label, re.ASCII) for label in name.split(".")) and (
        re.fullmatch(r"[1-9]\d*", port) is not None and int(port) < 65536)


def find_fault(said, status, error):
    """What the answer @said and the proxy's differ in; None: in nothing."""
    if said["rule"] == "invalid":
        return None if status in (400, 403) and error != "address_not_allowed" else "it is a host"
    refused = error in ("host_not_allowed", "policy_denied") or status == 400
    name = said["host"].rpartition(":")[0]
    if name in ADDRESSES:
        return None if error == "address_not_allowed" and said["allowed"] else "its address was taken"
    if said["allowed"] and (refused or error == "address_not_allowed"):
        return "the proxy refuses it"
    if not said["allowed"] and not (refused or error == "address_not_allowed"):
        return "the proxy takes it"
    return None


def ask_inside(account, openworker, wall, workspace):
    argv = [openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--",
            "/usr/bin/python3", PROBE.name, "list"]
    if wall.is_openshell:
        return account.run(argv, timeout=120)
    return subprocess.run(
        ["unshare", "--mount", "--", sys.executable, __file__, "network", str(workspace.path), "--",
         *account.argv(argv)], env=account.env(), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=240, check=False)


@pytest.mark.root
def test_explanation_of_hosts_is_what_the_proxy_does(account, workspace, openworker, wall):
    """REQ-N01 [bubblewrap, openshell], REQ-N03 [bubblewrap, openshell]."""
    seed = int(os.environ["OPENWORKER_TEST_SEED"])
    print(f"OPENWORKER_TEST_SEED={seed}")
    profile = random.Random(seed).choice(["strict", "standard"])
    account.write(workspace.config / "config.toml", CONFIG.format(profile=profile), 0o600)
    hosts = draw_hosts(random.Random(seed), wall)
    done = account.run([openworker, "sandbox", "explain", *wall.argv, "--json", "--", *hosts])
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    if wall.is_openshell:
        # An allowed host leads to where nobody listens: nothing outside is asked for it.
        wall.sim.set(hosts={one["host"]: "127.0.0.1:1" for one in said if one["allowed"]} |
                           {(host if ":" in host else f"{host}:443").lower(): "127.0.0.1:1" for host in hosts})
    account.write(workspace.folder / "list", "".join(json.dumps(host) + "\n" for host in hosts))
    shutil.copy(PROBE, workspace.folder / PROBE.name)
    (workspace.folder / PROBE.name).chmod(0o644)
    done = ask_inside(account, openworker, wall, workspace)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(hosts) == len(said)
    faults = {host: (fault, one, answer) for host, one, answer in zip(hosts, said, found)
              if (fault := find_fault(one, *answer)) is not None}
    assert not faults, f"seed {seed}, {len(faults)} of {len(hosts)}: {list(faults.items())[:15]}"
    rules = collections.Counter(one["rule"] for one in said)
    expected = {f"profile-{profile}", "extra-host", "not-listed"} | (
        set() if wall.is_openshell else {"always", "address", "invalid"})
    assert expected <= set(rules), rules


def main():
    place, command = Path(sys.argv[2]), sys.argv[4:]
    public_host.make_network(place)
    with open(place / "etc/hosts", "a", encoding="ascii") as hosts:
        hosts.write("".join(f"{address} {name}\n" for name, address in ADDRESSES.items()))
    (place / "etc/nsswitch.conf").write_text("hosts: files\n", encoding="ascii")
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__" and sys.argv[1:2] == ["network"]:
    sys.exit(main())
