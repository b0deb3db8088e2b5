# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A model's key is nowhere but in the keyring, in the memory of the engine and on its way to the one
server that it is for: whatever way it came in, and whatever went wrong (REQ-S04)."""

import base64
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from engines import Up
from keyring import Keyring
from model_server import ModelServer, calls
from terminal import Terminal

KEY = "sk-marked-5f0c1b7e9a2d4c68b3f7d1e05a9c2b4e8f6071d3"
# What of it may not be found anywhere: not the whole only.
MARKS = [KEY[10:34].encode(), base64.b64encode(KEY.encode())[:40], base64.b64encode(b"Bearer " + KEY.encode())[:40],
         KEY.encode().hex().encode()[:60]]
LOOK = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; ls -la /proc/*/fd 2>/dev/null | head -50"


def marked(data):
    return any(mark in data for mark in MARKS)


class Spy:
    """Looks for the key where it must not be."""

    def __init__(self, account, workspace):
        self.account, self.workspace, self.outputs, self.looked = account, workspace, [], 0

    def run(self, argv, **options):
        done = self.account.run(argv, **options)
        self.outputs += [done.stdout.encode(), done.stderr.encode()]
        return done

    def look_at_processes(self):
        """argv and environment of all that runs, as the kernel shows them to root or to the owner."""
        for pid in self.workspace.processes():
            for name in ("cmdline", "environ", "comm", "status"):
                try:
                    data = Path(f"/proc/{pid}/{name}").read_bytes()
                except OSError:
                    continue
                self.looked += 1
                assert not marked(data), f"{name} of {data[:60]}"

    def look_everywhere(self):
        for data in self.outputs:
            assert not marked(data), data[:2000]
        files = [path for path in self.workspace.path.rglob("*") if path.is_file() and not path.is_symlink()]
        for path in files:
            assert not marked(path.read_bytes()), path
        assert len(files) > 2 and self.outputs


@pytest.fixture
def spy(ordinary_user, workspace):
    made = Spy(ordinary_user, workspace)
    yield made
    made.look_everywhere()


@pytest.fixture
def ways(spy, ordinary_user, workspace, openworker):
    """Starts with the key in one of the ways it can come in: gives the environment of the commands."""
    keyrings = []

    def start(way, server):
        if way == "environment":
            return {"OPENWORKER_API_KEY": KEY}
        keyrings.append(Keyring(ordinary_user))
        words = [openworker, "model", "add", "other", "--base-url", server.url, "--model", "demo"]
        if way == "terminal":
            with Terminal(ordinary_user, words, env=keyrings[0].env) as terminal:
                terminal.wait_for("not shown")
                spy.look_at_processes()
                terminal.type(KEY)
                assert terminal.end() == 0, terminal.text
                spy.outputs.append(terminal.raw)
        else:
            done = spy.run([*words, "--key-stdin"], env=keyrings[0].env, stdin=KEY + "\n")
            assert done.returncode == 0, done.stderr
        return keyrings[0].env
    yield start
    for keyring in keyrings:
        keyring.stop()


WAYS = ["environment", "stdin", "terminal"]


def words(openworker, workspace, server, *more):
    return [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder", workspace.folder,
            "--model", "openai:demo", "--base-url", server.url, *more, "Do it."]


@pytest.mark.parametrize("way", WAYS)
def test_key_of_a_run(spy, ways, workspace, openworker, way):
    """The key is used, and what an agent can do to find it finds nothing."""
    script = [calls(("shell", {"command": LOOK})), {"text": "Done."}]
    with ModelServer(script, key=KEY) as server:
        env = ways(way, server)
        done = spy.run(words(openworker, workspace, server, "--json", "--record", workspace.path / "recording"),
                       env=env)
        assert done.returncode == 0, done.stderr
        assert "HOME=" in done.stdout
        assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)
        # What a server was told as conversation is not the key either.
        spy.outputs += [request.body for request in server.requests]
        for argv in (["model", "list"], ["model", "list", "--json"], ["model", "test", "other"], ["status", "--json"],
                     ["sessions", "list", "--json"], ["audit", "show", "--json"], ["model", "remove", "other"]):
            spy.run([openworker, *argv], env=env)


def echo(code, **more):
    """A server that says the key back, in each place of its answer."""
    def answer(request):
        key = request.headers["authorization"]
        return {"status": code, "headers": {"X-Key": key, "WWW-Authenticate": f"Bearer realm={key}"},
                "content_type": "application/json",
                "body": json.dumps({"error": {"message": f"Incorrect key provided: {key}", "code": key,
                                              "type": key}}), **more}
    return answer


def echo_redirect(request):
    return {"status": 302, "body": "", "content_type": "text/plain",
            "headers": {"Location": "http://127.0.0.1:1/?key=" + request.headers["authorization"].split()[1]}}


def echo_event(request):
    return {"text": "Half", "error_event": {"error": {"message": "Bad key " + request.headers["authorization"]}}}


def echo_page(request):
    return {"content_type": "text/html", "body": f"<p>{request.headers['authorization']}</p>"}


def echo_nonsense(request):
    return {"raw": f"data: {request.headers['authorization']}\n\n"}


def echo_finish(request):
    return {"text": "Half", "finish": request.headers["authorization"]}


ECHOES = {"401": echo(401), "400": echo(400), "403": echo(403), "404": echo(404), "500": echo(500), "200": echo(200),
          "redirect": echo_redirect, "event": echo_event, "page": echo_page, "nonsense": echo_nonsense,
          "finish": echo_finish,
          "half": echo(401, body=None, raw=f'{{"error":{{"message":"Incorrect key: {KEY[:40]}')}


@pytest.mark.parametrize("way", ["environment", "stdin"])
@pytest.mark.parametrize("name", ECHOES)
def test_server_that_says_the_key_back(spy, ways, workspace, openworker, way, name):
    with ModelServer(ECHOES[name]) as server:
        env = ways(way, server)
        done = spy.run(words(openworker, workspace, server), env=env, timeout=120)
        assert server.requests and server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert name == "finish" or done.returncode in (1, 69), done.stdout + done.stderr
        if way == "stdin":
            spy.run([openworker, "model", "test", "other"], env=env, timeout=120)
        spy.run([openworker, "audit", "show", "--json"], env=env)


@pytest.mark.parametrize("way", ["environment", "stdin"])
def test_key_of_an_engine(spy, ways, ordinary_user, workspace, openworker, way):
    """Everything that its socket says to another face, and what is seen of it while it works."""
    script = [calls(("shell", {"command": f"touch begun; {LOOK}; while ! [ -e go ]; do sleep 0.05; done"})),
              {"text": "Done."}]
    with ModelServer(script, key=KEY) as server:
        env = ways(way, server)
        engine = Up(ordinary_user, openworker, env=env)
        sniffer = ordinary_user.popen([openworker, "up", "--stdio"], stdin=subprocess.PIPE,
                                      stdout=open(workspace.path / "traffic", "wb"), stderr=subprocess.DEVNULL)
        questions = [("initialize", {"protocol": 1, "version": "0.1.0", "face": "remote"}),
                     ("face.watch", {"answers": False}), ("engine.status", {}), ("config.get", {}),
                     ("model.list", {}), ("consent.list", {}), ("session.list", {})]
        for number, (method, params) in enumerate(questions):
            sniffer.stdin.write(json.dumps({"jsonrpc": "2.0", "id": f"{number:032x}", "method": method,
                                            "params": params}).encode() + b"\n")
            sniffer.stdin.flush()
            wait_until(lambda n=number: f"{n:032x}" in (workspace.path / "traffic").read_text(), 20, method)
        session = engine.detach(server)
        wait_until((workspace.folder / "begun").exists, 20, "the command")
        spy.look_at_processes()
        assert spy.looked > 10
        ordinary_user.write(workspace.folder / "go", "")
        assert engine.wait_end(session)["outcome"] == "done"
        for argv in (["model", "list", "--json"], ["status"], ["attach", session], ["sessions", "show", session]):
            spy.run([openworker, *argv], env=env if way == "stdin" else None)
        sniffer.stdin.close()
        sniffer.wait(timeout=scaled(20))
        assert "tool-ended" in (workspace.path / "traffic").read_text()
        assert engine.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGTERM])
@pytest.mark.parametrize("way", ["environment", "stdin"])
def test_key_of_a_program_that_dies(spy, ways, ordinary_user, workspace, openworker, way, number):
    """No core file, wherever the kernel would put one, and no trace elsewhere."""
    with ModelServer([{"misbehave": "silent"}]) as server:
        env = ways(way, server)
        argv = " ".join(f"'{word}'" for word in words(openworker, workspace, server))
        before = set(os.listdir("/")) | set(os.listdir("/var/tmp")) | set(os.listdir("/tmp"))
        process = ordinary_user.popen(["sh", "-c", f"ulimit -c unlimited; exec {argv}"], env=env,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=open(workspace.path / "stderr", "wb"))
        wait_until(lambda: server.requests, 20, "the request")
        spy.look_at_processes()
        # What a core would be made of cannot be had by an ordinary account, not even its own.
        assert spy.run(["cat", f"/proc/{process.pid}/environ"]).returncode != 0
        process.send_signal(number)
        process.wait(timeout=scaled(30))
        time.sleep(0.2)
    after = set(os.listdir("/")) | set(os.listdir("/var/tmp")) | set(os.listdir("/tmp"))
    assert not [name for name in after - before if "core" in name.lower()]
    assert not [path for path in workspace.path.rglob("*core*") if path.is_file()]


def test_key_is_not_sent_where_it_does_not_belong(spy, ways, ordinary_user, workspace, openworker):
    """The keyring's key is bound to its address: another server gets none."""
    with ModelServer([{"text": "Mine."}]) as own, ModelServer([{"text": "Yours."}]) as other:
        env = ways("stdin", own)
        assert spy.run(words(openworker, workspace, other), env=env).returncode == 0
        assert spy.run(words(openworker, workspace, own), env=env).returncode == 0
        assert "authorization" not in other.requests[0].headers
        assert own.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", ["http://192.0.2.1/v1", "http://example.invalid/v1"])
def test_key_does_not_go_out_in_clear_text(spy, ordinary_user, workspace, openworker, url):
    done = spy.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder, "--model",
                    "openai:demo", "--base-url", url, "Do it."], env={"OPENWORKER_API_KEY": KEY}, timeout=30)
    assert done.returncode == 69 and "openworker: " in done.stderr, done.stderr
    ordinary_user.write(workspace.path / "a", "")
    ordinary_user.write(workspace.path / "b", "")
    ordinary_user.write(workspace.path / "c", "")
