# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker sandbox prove` (REQ-U16): every claim is tried, and one that fails is named."""

import json
import os

import pytest

CLAIMS = {"folder", "home", "read_only", "proc_sys", "host", "loopback", "abstract_socket"}


def test_wall_is_proven(account, workspace, openworker):
    done = account.run([openworker, "sandbox", "prove", "--provider", "bubblewrap", "--json"])
    result = json.loads(done.stdout)
    assert {claim["key"] for claim in result["claims"]} == CLAIMS
    assert [claim for claim in result["claims"] if not claim["held"]] == []
    assert done.returncode == 0
    assert os.listdir(workspace.private_homes) == []
    assert [name for name in os.listdir(workspace.home) if "canary" in name] == []


def test_direct_is_no_wall(account, openworker):
    done = account.run([openworker, "sandbox", "prove", "--provider", "direct"])
    assert done.returncode == 1
    failed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert {"home", "loopback", "abstract_socket"} <= failed
    assert "NOT proven" in done.stdout


@pytest.mark.parametrize("argv,status,words", [
    (["--provider", "moat"], 2, "no provider called “moat”"),
    (["--provider", "openshell"], 69, "--provider bubblewrap"),
    ([], 69, "Give --provider bubblewrap"),
    (["word"], 2, "takes no words"),
])
def test_prove_refuses_what_it_cannot_do(ordinary_user, openworker, argv, status, words):
    done = ordinary_user.run([openworker, "sandbox", "prove", *argv])
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr
