# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox prove` (REQ-U16): every claim is tried, and one that fails is named."""

import json
import os

import pytest

CLAIMS = {"folder", "home", "read_only", "proc_sys", "host", "loopback", "abstract_socket"}


def test_wall_is_proven(account, workspace, openworker, wall):
    """Also where root asks and nothing inside may be root's: the folders are then another account's."""
    done = account.run([openworker, "sandbox", "prove", *wall.argv, "--json"])
    result = json.loads(done.stdout)
    assert {claim["key"] for claim in result["claims"]} == CLAIMS
    assert [claim for claim in result["claims"] if not claim["held"]] == []
    assert done.returncode == 0
    check_nothing_left(workspace)


def check_nothing_left(workspace):
    assert workspace.left() == [] and os.listdir(workspace.tmp) == []
    assert [name for name in os.listdir(workspace.home) if "canary" in name] == []


def test_host_that_the_settings_allow_is_not_claimed(account, workspace, openworker, wall):
    """The baits are no show: where the machine's own list lets their host through, its claim fails."""
    account.write(workspace.config / "config.toml", 'sandbox_extra_hosts = ["*.example.com"]\n')
    done = account.run([openworker, "sandbox", "prove", *wall.argv, "--json"])
    claims = json.loads(done.stdout)["claims"]
    assert ([claim["key"] for claim in claims if not claim["held"]], done.returncode) == (["host"], 1), claims
    check_nothing_left(workspace)


def test_direct_is_no_wall(account, openworker):
    done = account.run([openworker, "sandbox", "prove", "--provider", "direct"])
    assert done.returncode == 1
    failed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert {"home", "loopback", "abstract_socket"} <= failed
    assert "NOT proven" in done.stdout


@pytest.mark.parametrize("argv,status,words", [
    (["--provider", "moat"], 2, "no provider called “moat”"),
    (["--provider", "openshell"], 69, "Install OpenShell"),
    ([], 69, "Give --provider bubblewrap"),
    (["word"], 2, "takes no words"),
])
def test_prove_refuses_what_it_cannot_do(ordinary_user, openworker, argv, status, words):
    done = ordinary_user.run([openworker, "sandbox", "prove", *argv])
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr


def last_of(account, openworker, wall):
    done = account.run([openworker, "sandbox", "prove", "--last", *wall.argv, "--json"])
    last = json.loads(done.stdout)
    assert done.returncode == (0 if last["state"] == "held" else 1)
    return last


def test_last_proof_is_kept(account, workspace, openworker, wall):
    """REQ-U16 [bubblewrap, openshell]: never, held, what changed since, failed; nothing is tried for it."""
    assert last_of(account, openworker, wall) == {
        "provider": wall.name, "state": "unknown", "changed": [], "failed": []}
    assert account.run([openworker, "sandbox", "prove", *wall.argv]).returncode == 0
    last = last_of(account, openworker, wall)
    assert (last["state"], last["changed"], last["failed"]) == ("held", [], []), last
    [kept] = workspace.state.glob("proof-*.json")
    assert kept.name == f"proof-{wall.name}.json" and kept.stat().st_mode & 0o777 == 0o600
    facts = json.loads(kept.read_text())["facts"]
    assert set(facts) == ({"kernel", "openshell", "gateway", "engine"} if wall.is_openshell else
                          {"kernel", "bubblewrap"})
    for name, value in facts.items():
        other = json.loads(kept.read_text())
        other["facts"][name] = "another"
        account.write(kept, json.dumps(other), 0o600)
        last = last_of(account, openworker, wall)
        assert (last["state"], last["changed"]) == ("stale", [{"what": name, "was": "another", "is": value}])
        other["facts"][name] = value
        account.write(kept, json.dumps(other), 0o600)
    account.write(workspace.config / "config.toml", 'sandbox_extra_hosts = ["*.example.com"]\n', 0o600)
    assert account.run([openworker, "sandbox", "prove", *wall.argv]).returncode == 1
    last = last_of(account, openworker, wall)
    assert (last["state"], last["failed"]) == ("missed", ["host"])
    for broken in ("", "{", "[]", "{}", '{"when": 1}'):
        account.write(kept, broken, 0o600)
        assert last_of(account, openworker, wall)["state"] == "unknown"
