# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The runner is a conforming MCP server: a public client, which knows nothing of us, lists
and calls its tools (REQ-W09: what runs inside is an ordinary server that holds no key)."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import scaled

# Every version is pinned: the client's own requirements are open at the top.
CLIENT = Path(__file__).with_name("mcp_client.txt")


@pytest.fixture(scope="module")
def client_python():
    """A Python that has the client: in a virtual environment of this test's own."""
    if os.environ.get("OPENWORKER_TEST_OFFLINE") == "1":
        pytest.skip("OPENWORKER_TEST_OFFLINE=1: the client cannot be installed")
    with tempfile.TemporaryDirectory(prefix="ow-mcp-", dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        python = Path(directory, "bin/python")
        for argv in ([sys.executable, "-m", "venv", directory],
                     [python, "-m", "pip", "install", "-q", "--no-cache-dir",
                      "--disable-pip-version-check", "-r", CLIENT]):
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=scaled(300), check=False)
            assert done.returncode == 0, done.stdout
        yield python


def test_public_client_lists_and_calls_tools(account, workspace, runner, client_python):
    script = account.write(workspace.path / "mcp_client.py",
                           Path(__file__).with_name("mcp_client.py").read_bytes())
    done = account.run([client_python, script, workspace.folder, runner, "serve", "--stdio",
                        "--folder", workspace.folder], timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["protocol"] == "2025-06-18"
    assert seen["server"] == "openworker-runner"
    assert seen["tools"] == sorted([
        "shell", "exec", "list", "read", "write", "edit", "grep", "glob", "undo", "changes",
        "settings",
        "task_start", "task_read", "task_wait", "task_stop", "task_list"])
    assert seen["schemas"] is True
    assert (seen["write_error"], (workspace.folder / "new").read_text()) == (False, "é\n")
    assert "é" in seen["read"]
    assert seen["shell"].startswith("out\n") and "[exit 3" in seen["shell"]
    assert (seen["shell_error"], seen["status"]) == (False, 3)
    assert seen["kept"].startswith("x is 7\n")
    assert seen["outside_error"] is True
    assert seen["unknown_error"] is True
