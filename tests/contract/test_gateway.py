# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What is installed, and whether its gateway is ready: what the checks before a session ask."""

import re

import pytest

from openshell_cli import ESCAPES

REFUSED = "client error (Connect)"
NOWHERE = ("--gateway-endpoint", "http://127.0.0.1:1")


def test_version_is_the_last_word_of_one_line(openshell):
    done = openshell.run("--version")
    assert done.status == 0, done
    assert re.fullmatch(r"openshell \d+\.\d+\.\d+\S*\n", done.text), done
    assert not done.err, done


def test_status_of_a_ready_gateway(openshell):
    done = openshell.run("status", "-o", "json")
    assert done.status == 0, done
    status = done.json
    assert status["status"] == "connected", status
    assert status["authentication"]["status"] in ("not_required", "authenticated"), status
    assert status["gateway"] and status["server"].startswith("http"), status
    assert re.match(r"\d+\.\d+\.\d+", status["version"]), status


def test_status_without_a_gateway_exits_0(openshell):
    """So the exit status says nothing: the JSON does."""
    done = openshell.run("status", "-o", "json", env={"OPENSHELL_GATEWAY": "ow-ct-nope"})
    assert done.status == 0, done
    assert done.json["status"] == "not_configured", done


@pytest.mark.parametrize("words", [["-o", "json"], []], ids=["json", "text"])
def test_status_of_a_gateway_that_is_down(openshell, words):
    done = openshell.run(*NOWHERE, "status", *words)
    assert done.failed_with(REFUSED), done
    assert done.said("Connection refused"), done
    assert not done.out, done


@pytest.mark.parametrize("words", [
    ["sandbox", "list", "-o", "json"],
    ["sandbox", "get", "ow-ct-none", "-o", "json"],
    ["sandbox", "delete", "ow-ct-none"],
    ["sandbox", "exec", "-n", "ow-ct-none", "--no-tty", "--", "true"],
    ["gateway", "info", "-o", "json"],
    ["logs", "ow-ct-none"],
], ids=lambda words: words[1] if words[0] == "sandbox" else words[0])
def test_calls_without_a_gateway_fail_at_once(openshell, words):
    done = openshell.run(*NOWHERE, *words)
    assert done.status == 1 and not done.out, done
    assert done.said("Connection refused"), done
    assert done.seconds < 10, done


def test_gateway_info_names_driver_and_version(openshell):
    done = openshell.run("gateway", "info", "-o", "json")
    assert done.status == 0, done
    info = done.json
    assert info["status"] == "healthy", info
    assert re.match(r"\d+\.\d+\.\d+", info["version"]), info
    assert [driver["name"] for driver in info["compute_drivers"]] == [openshell.driver], info
    assert info["compute_drivers"][0]["capabilities"]["driver_version"], info


def test_colours_come_on_a_pipe_too(openshell):
    """So text is read with escapes taken out; JSON has none."""
    quiet = {"NO_COLOR": "1", "TERM": "dumb"}
    text = openshell.run("status", env=quiet)
    assert ESCAPES.search(text.text), text
    assert re.search(r"Status: Connected$", ESCAPES.sub("", text.text), re.MULTILINE), text
    assert not ESCAPES.search(openshell.run("status", "-o", "json", env=quiet).text)
