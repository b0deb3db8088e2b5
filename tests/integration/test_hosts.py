# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Hosts of a session that runs, behind both walls: refused, asked about, allowed at once, and what
left the machine (REQ-N01, REQ-N02, REQ-N03, REQ-E01; hole S14)."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from conftest import wait_until
from engines import Up, said
from model_server import ModelServer, calls

# CONNECT by the shell alone, through the proxy that every program inside is told of. No other
# program has the connection before the answer is there: OpenShell wants to know whose it is.
ASK = ("p=${{HTTPS_PROXY#http://}}; p=${{p%/}}; exec 3<>/dev/tcp/${{p%:*}}/${{p##*:}}; "
       "printf 'CONNECT {0} HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n' >&3; read -t 20 l <&3; cat <&3; exec 3>&-; echo")
WAIT = "touch {0}; while [ ! -e go-{0} ]; do sleep 0.05; done"
# What the two proxies say of a host that is not on the list.
REFUSED = {"bubblewrap": "host_not_allowed", "openshell": "policy_denied"}


def shell(command):
    return calls(("shell", {"command": command}))


@pytest.fixture
def engine(wall, account, openworker):
    """Its sessions wait for an answer though nobody is there."""
    if wall.is_openshell:
        account.extra_env.update(wall.sim.env())
    up = Up(account, openworker)
    yield up
    if up.process.poll() is None:
        assert up.stop() == 0


def decisions(engine, session):
    return [event for event in engine.events(session) if event["type"] == "host-decision"]


def asked(engine, session):
    return [event for event in engine.events(session)
            if event["type"] == "consent-asked" and event["kind"] == "host"]


def answer(engine, *words):
    done = engine.run("approvals", *words)
    assert done.returncode == 0, done.stderr


def reach(workspace, name):
    wait_until(lambda: (workspace.folder / name).exists(), 30, f"the file {name}")


def results(events):
    return [event["result"] for event in events
            if event["type"] == "tool-ended" and event["tool"] == "shell"]


@pytest.mark.parametrize("how", ["session", "always"])
def test_N02_allowed_by_its_question(engine, account, workspace, wall, how):
    """REQ-N02 [bubblewrap, openshell]. One event and one question for the host; the answer counts
    for the call that runs already."""
    host = "wanted.example:443"
    with ModelServer([shell(f"{ASK.format(host)}; {ASK.format(host)}; {WAIT.format('one')}; {ASK.format(host)}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        reach(workspace, "one")
        (question,) = wait_until(lambda: asked(engine, session), 20, "the question")
        (refused,) = decisions(engine, session)
        assert (refused["host"], refused["port"], refused["reason"]) == ("wanted.example", 443, "not_listed")
        assert refused["level"] == wall.name and len(refused["sandbox"]) == 12
        assert refused["program"].endswith("/bash")
        assert json.loads(question["subject"])["host"] == "wanted.example"
        assert (question["title"], question["always"]) == (host, host)
        answer(engine, "allow", question["request"], f"--{how}")
        wait_until(lambda: len(decisions(engine, session)) == 2, 30, "the new list")
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
        told = json.dumps(server.requests[-1].json)
    events = engine.events(session)
    # Refused twice before and never after; the name leads nowhere, and that is said instead.
    assert results(events)[0].count(REFUSED[wall.name]) == 2
    allowed = decisions(engine, session)[1]
    assert (allowed["decision"], allowed["reason"]) == ("allow", "person")
    assert "wanted.example:443 may be reached from now on" in told
    assert "refused by this session's list of hosts; it is not a network fault" in told
    config = workspace.config / "config.toml"
    assert ("wanted.example:443" in config.read_text() if config.exists() else False) == (how == "always")
    assert "host-decision" in engine.run("audit", "show", session).stdout
    assert engine.run("audit", "verify").returncode == 0


def test_N02_denied_stays_refused(engine, account, workspace, wall):
    host = "wanted.example:443"
    with ModelServer([shell(f"{ASK.format(host)}; {WAIT.format('one')}; {ASK.format(host)}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        (question,) = wait_until(lambda: asked(engine, session), 30, "the question")
        answer(engine, "deny", question["request"])
        reach(workspace, "one")
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    assert results(engine.events(session))[0].count(REFUSED[wall.name]) == 2
    assert len(decisions(engine, session)) == 1 and len(asked(engine, session)) == 1


@pytest.mark.parametrize("machine", [False, True])
def test_N02_allow_live(engine, account, workspace, wall, machine):
    """`sandbox allow` is in force when it ends, and for sessions to come where that is asked for."""
    host = "wanted.example:443"
    with ModelServer([shell(f"{WAIT.format('one')}; {ASK.format(host)}; {ASK.format('other.example:443')}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        reach(workspace, "one")
        (allowed,) = engine.lines("sandbox", "allow", session, host, *(["--machine"] if machine else []))
        assert allowed == {"host": host, "session": True, "machine": machine}
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    # Of two hosts that lead nowhere one is refused by the list, and the other is not.
    assert results(engine.events(session))[0].count(REFUSED[wall.name]) == 1
    config = workspace.config / "config.toml"
    assert (host in config.read_text() if config.exists() else False) == machine


def test_N02_fifty_tries_are_one_event_and_a_count(engine, account, workspace, wall):
    host = "wanted.example:443"
    with ModelServer([shell(f"for i in $(seq 50); do {ASK.format(host)}; done; {WAIT.format('one')}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        (question,) = wait_until(lambda: asked(engine, session), 30, "the question")
        answer(engine, "deny", question["request"])
        reach(workspace, "one")

        def counted():
            (shown,) = engine.lines("sandbox", "traffic", session)
            return [entry["refused"] for entry in shown["hosts"]] == [50] and shown
        shown = wait_until(counted, 30, "fifty refused tries")
        assert shown["hosts"][0]["host"] == "wanted.example" and shown["hosts"][0]["program"].endswith("/bash")
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session)
    assert len(decisions(engine, session)) == 1 and len(asked(engine, session)) == 1
    # Asked for after its end, from what was stored.
    (after,) = engine.lines("sandbox", "traffic", session)
    assert after["hosts"] == shown["hosts"] and after["live"] is False
    words = engine.run("sandbox", "traffic", session)
    assert words.returncode == 0 and "wanted.example:443" in words.stdout and "50" in words.stdout


@pytest.mark.parametrize("machine", [False, True])
def test_S14_N03_private_address_needs_a_word_of_its_own(engine, account, workspace, wall, machine):
    """Without it nothing is allowed anywhere; with it what runs reaches it, and nothing near it."""
    host, near = "10.77.0.9:8443", "10.77.0.9:8444"
    options = ["--machine"] if machine else []
    if wall.is_openshell:
        wall.sim.set(hosts={host: "127.0.0.1:1"})
    config = workspace.config / "config.toml"
    with ModelServer([shell(f"{WAIT.format('one')}; {ASK.format(host)}; {ASK.format(near)}"),
                      {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        reach(workspace, "one")
        said(engine.run("sandbox", "allow", session, host, *options), 69, "private", "--private")
        for never in ("127.0.0.1:8443", "169.254.169.254:80", "[::ffff:10.77.0.9]:8443", "[fe80::1]:443"):
            said(engine.run("sandbox", "allow", session, never, "--private", *options), 69, "always refused")
        assert not config.exists() or "10.77" not in config.read_text()
        (allowed,) = engine.lines("sandbox", "allow", session, host, "--private", *options)
        assert allowed == {"host": host, "session": True, "machine": machine, "private": True}
        # The record has what was agreed to, and what is explained goes by it.
        assert [one.get("private") for one in decisions(engine, session) if one["reason"] == "person"] == [True]
        (explained,) = engine.lines("sandbox", "explain", "--session", session, host)
        assert explained["allowed"] and "of this machine, it is refused" in explained["says"], explained
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session, 60)
    # The network of the test leads nowhere: what is not refused by the list fails in another way.
    assert results(engine.events(session))[0].count(REFUSED[wall.name]) == 1
    kept = config.read_text() if config.exists() else ""
    assert ('{ host = "10.77.0.9:8443", private = true }' in kept) == machine


@pytest.mark.parametrize("host, words", [
    ("api.tavily.com:443", ["standard", "openworker machine sandbox set sandbox_network_profile standard"]),
    ("sts.amazonaws.com:443", ["aws", "openworker credential enable aws"]),
])
def test_N02_question_names_what_else_would_help(engine, workspace, wall, host, words):
    with ModelServer([shell(f"{ASK.format(host)}"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        (question,) = wait_until(lambda: asked(engine, session), 30, "the question")
        engine.wait_end(session)
    subject = json.loads(question["subject"])
    assert all(word in subject["instead"] for word in words), subject


@pytest.mark.parametrize("wall", ["bubblewrap"], indirect=True)
def test_N01_proxy_that_is_killed_leaves_nothing_open(engine, account, workspace, wall):
    """Without its list there is no session: it ends and says why, and nothing inside goes on."""
    with ModelServer([shell(f"{WAIT.format('one')}; touch later"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        reach(workspace, "one")
        (run_dir,) = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline")
                      if is_proxy_of(path, engine.process.pid)]
        os.kill(int(run_dir.name), signal.SIGKILL)
        last = engine.wait_end(session)
        account.write(workspace.folder / "go-one", "")
    assert last["outcome"] == "failed" and "openworker-proxy" in last["message"]
    lost = [event for event in engine.events(session) if event["type"] == "wall" and event["state"] == "lost"]
    assert len(lost) == 1 and "openworker-proxy" in lost[0]["reason"]
    time.sleep(1)
    assert not (workspace.folder / "later").exists()


def is_proxy_of(cmdline, engine):
    """Whether the process is openworker-proxy, started by this engine."""
    try:
        stat = (cmdline.parent / "stat").read_text()
        parent = int(stat.rsplit(")", 1)[1].split()[1])
        return parent == engine and cmdline.read_bytes().split(b"\0")[1:2] == [b"--socket"]
    except OSError:
        return False


def test_S14_allow_brings_that_host_and_no_other(engine, account, workspace, wall):
    """The list that is in force afterwards is the old one and that host at that port: nothing near it
    is let through, and what was let through still is."""
    host, listed = "wanted.example:443", "github.com:443"
    near = ["wanted.example:80", "a.wanted.example:443", "github.com:80", "example:443", "xwanted.example:443"]
    asks = "; ".join(ASK.format(name) for name in [host, listed, *near])
    with ModelServer([shell(f"{WAIT.format('one')}; {asks}"), {"text": "Done."}]) as server:
        session = engine.detach(server, provider=wall.name)
        reach(workspace, "one")
        engine.lines("sandbox", "allow", session, host)
        account.write(workspace.folder / "go-one", "")
        engine.wait_end(session, 60)
    refused = {f"{event['host']}:{event['port']}" for event in decisions(engine, session)
               if event["decision"] == "refuse" and event["reason"] == "not_listed"}
    assert refused == set(near)
