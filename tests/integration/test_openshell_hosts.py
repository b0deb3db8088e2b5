# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A host that OpenShell's proxy refuses: told once and in time, asked about, allowed for the session
or on the machine, denied (REQ-N02, REQ-E01; hole S14)."""

import json
import time

import pytest
from conftest import wait_until
from engines import Up
from model_server import ModelServer, calls
from walls import OpenshellWall

# CONNECT by the shell alone: $1 is HOST:PORT; the last line is the proxy's answer.
ASK = ("exec 3<>/dev/tcp/10.200.0.1/3128; printf 'CONNECT {0} HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n' >&3; "
       "read -t 20 l <&3; cat <&3; exec 3>&-; echo")
WAIT = "touch {0}; while [ ! -e go-{0} ]; do sleep 0.05; done"


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def openshell(account, ordinary_ids):
    made = OpenshellWall(account, ordinary_ids)
    account.extra_env.update(made.sim.env())
    yield made
    made.end()


@pytest.fixture
def engine(openshell, account, openworker):
    """Its sessions wait for an answer though nobody is there."""
    return Up(account, openworker)


def decisions(engine, session):
    return [event for event in engine.events(session) if event["type"] == "host-decision"]


def asked(engine, session):
    return [event for event in engine.events(session)
            if event["type"] == "consent-asked" and event["kind"] == "host"]


def first_shell(engine, session):
    """The call's id; before it the project's instructions are read."""
    return next(event["call"] for event in engine.events(session)
                if event["type"] == "tool-started" and event["tool"] == "shell")


def answer(engine, *words):
    done = engine.run("approvals", *words)
    assert done.returncode == 0, done.stderr


def reach(workspace, name):
    wait_until(lambda: (workspace.folder / name).exists(), 30, f"the file {name}")


def answer_of(events, number):
    """The text of the shell call of that number."""
    return [event for event in events if event["type"] == "tool-ended" and event["tool"] == "shell"][number]["result"]


@pytest.mark.parametrize("how", ["session", "always"])
def test_N02_allowed_by_its_question(engine, account, workspace, how):
    """Told within a second, once for the host, with program, sandbox and call; then allowed."""
    host = "wanted.example:443"
    with ModelServer([shell(ASK.format(host)), shell(f"{ASK.format(host)}; {WAIT.format('one')}"),
                      shell(f"{ASK.format(host)}; {WAIT.format('two')}"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        reach(workspace, "one")
        (question,) = wait_until(lambda: asked(engine, session), 20, "the question")
        (refused,) = decisions(engine, session)
        assert (refused["host"], refused["port"], refused["decision"]) == ("wanted.example", 443, "refuse")
        assert refused["program"] == "/usr/bin/bash" and refused["level"] == "openshell"
        assert refused["call"] == first_shell(engine, session) and len(refused["sandbox"]) == 12
        assert json.loads(question["subject"]) == {"host": "wanted.example", "port": 443, "program": "/usr/bin/bash"}
        assert (question["title"], question["always"]) == (host, host)
        answer(engine, "allow", question["request"], f"--{how}")
        wait_until(lambda: len(decisions(engine, session)) == 2, 30, "the change of the policy")
        account.write(workspace.folder / "go-one", "")
        reach(workspace, "two")
        account.write(workspace.folder / "go-two", "")
        engine.wait_end(session)
        told = json.dumps(server.requests[-1].json)
    events = engine.events(session)
    assert "policy_denied" in answer_of(events, 0) and "policy_denied" in answer_of(events, 1)
    assert "policy_denied" not in answer_of(events, 2)
    allowed = decisions(engine, session)[1]
    assert (allowed["decision"], allowed["reason"]) == ("allow", "person")
    assert "wanted.example:443 may be reached from now on" in told
    config = workspace.config / "config.toml"
    assert ("wanted.example:443" in config.read_text() if config.exists() else False) == (how == "always")
    # The record has it, and holds together.
    assert "host-decision" in engine.run("audit", "show", session).stdout
    assert engine.run("audit", "verify").returncode == 0


def test_N02_denied_stays_refused(engine, account, workspace):
    host = "wanted.example:443"
    with ModelServer([shell(f"{ASK.format(host)}; {WAIT.format('one')}"), shell(ASK.format(host)),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        (question,) = wait_until(lambda: asked(engine, session), 30, "the question")
        answer(engine, "deny", question["request"])
        reach(workspace, "one")
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    events = engine.events(session)
    assert "policy_denied" in answer_of(events, 0) and "policy_denied" in answer_of(events, 1)
    # Not told and not asked again.
    assert len(decisions(engine, session)) == 1 and len(asked(engine, session)) == 1


def test_N02_many_hosts_do_not_flood_the_person(engine, account, workspace):
    """Each once, with a bounded number of questions; what is no DNS name is never asked about."""
    hosts = [f"h{number}.example:443" for number in range(40)] + ["192.0.2.7:443", "[::1]:443"]
    asks = "; ".join(ASK.format(host) for host in hosts)
    with ModelServer([shell(f"{asks}; {WAIT.format('one')}"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        reach(workspace, "one")
        wait_until(lambda: len(decisions(engine, session)) >= 40, 60, "the refusals")
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    names = [event["host"] for event in decisions(engine, session) if event["decision"] == "refuse"]
    assert len(names) == len(set(names))
    questions = asked(engine, session)
    assert len(questions) == 20
    notices = [event["text"] for event in engine.events(session) if event["type"] == "notice"]
    assert sum("stay refused without a question" in text for text in notices) == 1
    assert all(json.loads(question["subject"])["host"].endswith(".example") for question in questions)


def test_N02_refusal_is_told_within_a_second(engine, account, workspace):
    """The sandbox's clock and ours are one: from the proxy's refusal to the event."""
    with ModelServer([shell(f"date +%s.%N > begun; {ASK.format('soon.example:443')}; {WAIT.format('one')}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider="openshell")
        wait_until(lambda: decisions(engine, session), 30, "the refusal")
        seen = time.time()
        begun = float((workspace.folder / "begun").read_text())
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    # Ten times the room: polling by a command and a loaded machine are in it.
    assert seen - begun < 10 * 1.0
    (event,) = decisions(engine, session)
    assert event["call"] == first_shell(engine, session)
