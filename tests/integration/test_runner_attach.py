# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""openworker-runner as a sandbox's main command, and the two ways in which it is attached to."""

import ctypes
import errno
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time
import tty

import pytest

from conftest import scaled, wait_until
from runner_client import Client, Shell

MIB = 1024 * 1024


@pytest.fixture
def served(ordinary_user, workspace, runner):
    """Starts a server on a socket; gives (process, path)."""
    started = []

    def start(*options, **how):
        path = workspace.runtime / "runner"
        process = ordinary_user.popen(
            [runner, "serve", "--socket", path, "--folder", workspace.folder, *options],
            **{"stdout": subprocess.PIPE, **how})
        started.append(process)
        if process.stdout is not None:
            assert process.stdout.readline() == b"ready\n"
        wait_until(path.exists)
        return process, path

    yield start
    for process in started:
        process.terminate()
        process.wait(scaled(20))


def request(number, method, params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


INITIALIZE = request(1, "initialize", {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"}})


def call(number, command, call_id, tool="shell"):
    return request(number, "tools/call", {"name": tool, "arguments": {"command": command},
                                          "_meta": {"openworker/callId": call_id}})


def lines(*messages):
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


class Terminal:
    """attach behind a terminal, as a relay gives it one: ours is the other end."""

    def __init__(self, ordinary_user, argv, stdout=None):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.process = ordinary_user.popen(
            argv, stdin=slave, stdout=slave if stdout is None else stdout, stderr=slave)
        if stdout is None:
            os.close(slave)
        else:
            self.slave = slave

    def client(self):
        return Client(os.fdopen(os.dup(self.master), "rb", 0),
                      os.fdopen(os.dup(self.master), "wb", 0))


# serve.

@pytest.mark.parametrize("stdout", ["pipe", "broken pipe", "closed", "all closed", "terminal"])
def test_serve_P04_lives_with_whatever_it_is_given(ordinary_user, workspace, runner, served,
                                                   stdout):
    """A supervisor gives its main command what it likes; nobody need read "ready"."""
    how = {"stdin": subprocess.DEVNULL}
    argv = [runner, "serve", "--socket", workspace.runtime / "runner",
            "--folder", workspace.folder]
    closing = {"closed": ">&-", "all closed": "<&- >&- 2>&-"}.get(stdout)
    if stdout == "broken pipe":
        reading, writing = os.pipe()
        os.close(reading)
        how["stdout"] = writing
    elif stdout == "terminal":
        master, slave = pty.openpty()
        how = {"stdin": slave, "stdout": slave, "stderr": slave}
    elif stdout == "pipe":
        how["stdout"] = subprocess.PIPE
    if closing:
        argv = ["sh", "-c", f'exec "$@" {closing}', "sh", *argv]
    process = ordinary_user.popen(argv, **how)
    try:
        wait_until((workspace.runtime / "runner").exists)
        if stdout == "terminal":
            os.close(slave)
            os.close(master)
        if stdout == "pipe":
            process.stdout.close()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        done = ordinary_user.run([runner, "attach", "--once", "--socket",
                                  workspace.runtime / "runner"],
                                 stdin=lines(INITIALIZE, call(2, "echo here; echo $0 >&2", "c")
                                             ).decode())
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])["result"]
        assert Shell(result).output == "here\nbash\n"
        # Nothing that is meant for a person went into a socket under a low number.
        assert all(line.startswith("{") for line in done.stdout.split("\n") if line)
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(scaled(20)) == 0


def test_serve_home_is_every_commands(served, workspace, ordinary_user, runner):
    home = workspace.path / "private home"
    home.mkdir()
    ordinary_user.give(home)
    _, path = served("--home", home)
    argv = {"argv": ["sh", "-c", "echo $HOME; cd; pwd"], "timeout_s": 20}
    done = ordinary_user.run(
        [runner, "attach", "--once", "--socket", path],
        stdin=lines(INITIALIZE, call(2, "echo $HOME; echo ~; cd; pwd", "a"),
                    request(3, "tools/call", {"name": "exec", "arguments": argv})).decode())
    replies = {message.get("id"): message.get("result")
               for message in map(json.loads, filter(None, done.stdout.split("\n")))}
    assert Shell(replies[2]).output == f"{home}\n" * 3
    assert Shell(replies[3]).output == f"{home}\n" * 2


@pytest.mark.parametrize("home", ["nope", "file", "relative", "empty"])
def test_serve_home_that_is_none_fails(ordinary_user, workspace, runner, home):
    (workspace.folder / "file").write_text("x")
    value = {"nope": workspace.folder / "nope", "file": workspace.folder / "file",
             "relative": "folder", "empty": ""}[home]
    done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.folder,
                              "--home", value])
    assert done.returncode == (2 if home in ("relative", "empty") else 1)
    assert "ome" in done.stderr


def refuse_memfd():
    """As sandboxes do, in a process that is about to start a program: a filter of system calls
    that lets all pass but memfd_create."""
    number = {"x86_64": 319, "aarch64": 279}[os.uname().machine]
    program = struct.pack("HBBI" * 4,
                          0x20, 0, 0, 0,                # load the number of the call
                          0x15, 0, 1, number,           # is it this one?
                          0x06, 0, 0, 0x00050000 | errno.EPERM,
                          0x06, 0, 0, 0x7fff0000)       # allow
    held = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxP", 4, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter_, 0, 0) == 0


def test_serve_without_memfd(served, ordinary_user, runner):
    """A stopped command costs no variables, and a long one is run whole."""
    _, path = served(preexec_fn=refuse_memfd)
    process = ordinary_user.popen([runner, "attach", "--socket", path], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.initialize()
    client.shell("X=5; f() { echo f $X; }")
    stopped = client.shell("sleep 600", timeout_s=1)
    assert stopped.timed_out and "without its variables" not in stopped.last_line
    assert client.shell("f").output == "f 5\n"
    assert client.shell("echo " + "y" * 100000).bytes == 100001
    assert "Operation not permitted" in client.shell(
        "python3 -c 'import os; os.memfd_create(\"x\")'").output
    process.stdin.close()
    process.wait(scaled(20))


# attach --silence.

def test_attach_silence_ends_by_itself(served, ordinary_user, runner):
    """A relay that lost its host tells nobody: neither an end nor a signal arrives."""
    _, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path, "--silence", "2"])
    begun = time.monotonic()
    assert terminal.process.wait(scaled(60)) == 0
    assert time.monotonic() - begun >= 1.5
    os.close(terminal.master)


def test_attach_silence_is_of_the_host_alone(served, ordinary_user, runner):
    """Each byte counts, an empty line too; what the server says does not."""
    _, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path, "--silence", "3"])
    client = terminal.client()
    client.await_hello()
    client.initialize()
    client.start_call("shell", {"command": "while :; do echo x; sleep 0.2; done"}, "c")
    for _ in range(6):
        time.sleep(1)
        os.write(terminal.master, b"\n")
    assert terminal.process.poll() is None
    assert terminal.process.wait(scaled(60)) == 0
    os.close(terminal.master)


def test_attach_silence_ends_in_a_flood_that_nobody_reads(served, ordinary_user, runner):
    """Its host is gone and its stdout is full: it must not hang in a write."""
    _, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path, "--silence", "2"])
    seen = b""
    while b"hello" not in seen:
        seen += os.read(terminal.master, 65536)
    os.write(terminal.master, lines(INITIALIZE, call(2, "cat /dev/zero | tr '\\0' y", "c")))
    assert terminal.process.wait(scaled(60)) == 0
    os.close(terminal.master)


def test_attach_that_was_frozen_is_not_silent(served, ordinary_user, runner):
    """A sandbox that was paused for long finds what its host has sent meanwhile."""
    _, path = served()
    process = ordinary_user.popen([runner, "attach", "--socket", path, "--silence", "2"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.await_hello()
    client.initialize()
    process.send_signal(signal.SIGSTOP)
    number = client.start("ping", {})
    time.sleep(4)
    process.send_signal(signal.SIGCONT)
    assert client.reply(number)["result"] == {}
    assert process.wait(scaled(60)) == 0


def test_attach_without_silence_stays(served, ordinary_user, runner):
    _, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path])
    time.sleep(3)
    assert terminal.process.poll() is None
    os.close(terminal.master)
    assert terminal.process.wait(scaled(60)) is not None


@pytest.mark.parametrize("argv", [
    ["--silence", "0"], ["--silence", "-1"], ["--silence", "1x"], ["--silence", "999999"],
    ["--silence"], ["--instance", "x"], ["--once", "--instance"], ["--socket", ""], ["--twice"]])
def test_attach_wrong_use_is_2(ordinary_user, workspace, runner, argv):
    done = ordinary_user.run([runner, "attach", "--socket", workspace.runtime / "none", *argv])
    assert done.returncode == 2 and "sage" in done.stderr and done.stdout == ""


# attach on a terminal.

def test_attach_terminal_changes_nothing(served, ordinary_user, runner, workspace):
    """Every byte that a terminal could take as its own, and lines longer than it edits."""
    _, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path])
    client = terminal.client()
    client.await_hello()
    client.initialize()
    content = "".join(map(chr, range(1, 256))) * 8000
    # Not escaped: the bytes themselves pass.
    body = json.dumps(request(7, "tools/call", {
        "name": "write", "arguments": {"path": "all", "content": content}}), ensure_ascii=False)
    client.writer.write(body.encode() + b"\n")
    assert client.reply(7)["result"]["isError"] is False
    assert (workspace.folder / "all").read_bytes() == content.encode()
    done = client.shell("yes 'é\r' | head -c 3000000", "big")
    assert done.bytes == 3000000
    # Nothing came back that was only sent.
    assert all("method" in message or "id" in message for _, message in client.messages)
    assert not any(message.get("method") in ("initialize", "tools/call")
                   for _, message in client.messages)
    os.close(terminal.master)


def test_attach_gives_the_terminal_back(served, ordinary_user, runner):
    server, path = served()
    terminal = Terminal(ordinary_user, [runner, "attach", "--socket", path], subprocess.PIPE)
    client = Client(terminal.process.stdout, os.fdopen(os.dup(terminal.master), "wb", 0))
    client.await_hello()
    client.initialize()
    assert termios.tcgetattr(terminal.slave)[3] & termios.ECHO == 0
    server.terminate()
    assert terminal.process.wait(scaled(60)) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before
    os.close(terminal.slave)
    os.close(terminal.master)


def test_attach_ends_the_line_that_a_relay_began(served, ordinary_user, runner):
    _, path = served()
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.write(slave, b"\x1b[?2004hConnecting... ")
    process = ordinary_user.popen([runner, "attach", "--socket", path], stdin=slave,
                                  stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while not (seen.endswith(b"\n") and b"hello" in seen):
        seen += os.read(master, 65536)
    assert json.loads(seen.splitlines()[1])["method"] == "notifications/openworker/hello"
    os.close(master)
    process.wait(scaled(60))


# attach --once.

def once(ordinary_user, runner, path, data, *options, timeout=60):
    return ordinary_user.run([runner, "attach", "--once", "--socket", path, *options],
                             stdin=data.decode(), timeout=timeout)


def messages(done):
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def test_once_answers_a_batch_and_ends(served, ordinary_user, runner):
    _, path = served()
    begun = time.monotonic()
    done = once(ordinary_user, runner, path,
                lines(INITIALIZE, call(2, "echo one; sleep 1; echo two", "a"),
                      request("p", "ping", {}), call(4, "echo three", "b")))
    assert done.returncode == 0 and time.monotonic() - begun >= 1
    came = messages(done)
    assert came[0]["method"] == "notifications/openworker/hello"
    assert {message.get("id") for message in came if "result" in message} == {1, 2, "p", 4}
    assert came[-1]["id"] == 4
    text = "".join(message["params"]["text"] for message in came
                   if message.get("method", "").endswith("output"))
    assert text == "one\ntwo\nthree\n"


def test_once_error_replies_are_replies(served, ordinary_user, runner):
    _, path = served()
    done = once(ordinary_user, runner, path, lines(INITIALIZE, request(5, "no/such", {})))
    assert done.returncode == 0 and messages(done)[-1]["error"]["code"] == -32601


def test_once_of_no_request_is_the_hello(served, ordinary_user, runner):
    _, path = served()
    for nothing in (b"", b"\n\n", lines({"jsonrpc": "2.0", "method": "notifications/x"})):
        done = once(ordinary_user, runner, path, nothing)
        assert done.returncode == 0 and len(messages(done)) == 1


@pytest.mark.parametrize("bad", [
    b"nonsense\n", lines(call(2, "echo x >>made", "a")) + b"{\"jsonrpc\":\"2.0\",\"id\":3",
    lines(call(2, "echo x >>made", "a"))[:-1], lines(call(2, "echo x >>made", "a")) + b"5\n",
    lines(call(2, "echo x >>made", "a")) + b"y" * (4 * MIB)])
def test_once_P04_sends_all_or_nothing(served, ordinary_user, runner, workspace, bad):
    """Half of what was asked for could do half of what was meant."""
    _, path = served()
    done = once(ordinary_user, runner, path, lines(INITIALIZE) + bad)
    assert done.returncode == 1 and "sent" in done.stderr and done.stdout == ""
    time.sleep(0.3)
    assert not (workspace.folder / "made").exists()


def test_once_takes_4_mib_and_no_more(served, ordinary_user, runner, workspace):
    _, path = served()

    def writing(total):
        empty = lines(INITIALIZE, request(2, "tools/call", {
            "name": "write", "arguments": {"path": "big", "content": ""}}))
        return lines(INITIALIZE, request(2, "tools/call", {
            "name": "write", "arguments": {"path": "big", "content": "x" * (total - len(empty))}}))

    assert len(writing(4 * MIB)) == 4 * MIB
    done = once(ordinary_user, runner, path, writing(4 * MIB + 1))
    assert done.returncode == 1 and "4 MiB" in done.stderr
    assert not (workspace.folder / "big").exists()
    done = once(ordinary_user, runner, path, writing(4 * MIB))
    assert done.returncode == 0 and (workspace.folder / "big").stat().st_size > 4 * MIB - 1000


def test_once_is_for_one_instance(served, ordinary_user, runner, workspace):
    _, path = served()
    instance = messages(once(ordinary_user, runner, path, b""))[0]["params"]["instance"]
    asked = lines(INITIALIZE, call(2, "echo x >>made", "a"))
    done = once(ordinary_user, runner, path, asked, "--instance", "0" * 32)
    assert done.returncode == 1 and "Another runner" in done.stderr
    assert [message.get("method") for message in messages(done)] == [
        "notifications/openworker/hello"]
    time.sleep(0.3)
    assert not (workspace.folder / "made").exists()
    assert once(ordinary_user, runner, path, asked, "--instance", instance).returncode == 0
    assert (workspace.folder / "made").read_text() == "x\n"


def test_once_P13_newer_takes_the_call_over(served, ordinary_user, runner, workspace):
    """The older one ends without the reply; the newer one joins, gets what follows, can stop it,
    and the call was run once."""
    _, path = served()
    argv = [runner, "attach", "--once", "--socket", path]
    first = ordinary_user.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
    first.stdin.write(lines(INITIALIZE, call(2, "echo x >>made; echo begun; sleep 600", "c")))
    first.stdin.close()
    seen = b""
    while b"begun" not in seen:
        seen += os.read(first.stdout.fileno(), 65536)
    done = once(ordinary_user, runner, path,
                lines(INITIALIZE, call(9, "", "c"),
                      {"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": 9}}))
    assert done.returncode == 0
    result = messages(done)[-1]
    assert result["id"] == 9 and result["result"]["structuredContent"]["cancelled"] is True
    assert result["result"]["content"][0]["text"].startswith("begun\n")
    assert first.wait(scaled(60)) == 1
    assert b"newer connection" in first.stderr.read()
    assert (workspace.folder / "made").read_text() == "x\n"


def test_once_without_server(ordinary_user, workspace, runner):
    done = once(ordinary_user, runner, workspace.runtime / "none", lines(INITIALIZE))
    assert done.returncode == 1 and "Nobody answers" in done.stderr and done.stdout == ""


def test_once_P04_stdin_that_does_not_end(served, ordinary_user, runner):
    """It neither waits for ever nor takes another's place meanwhile."""
    _, path = served()
    holder = Client(*[file for link in [_connect(path)]
                      for file in (link.makefile("rb"), link.makefile("wb"))])
    holder.initialize()
    process = ordinary_user.popen(
        [runner, "attach", "--once", "--socket", path, "--silence", "2"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(lines(INITIALIZE))
    process.stdin.flush()
    assert process.wait(scaled(60)) == 1 and b"does not end" in process.stderr.read()
    assert holder.request("ping", {})["result"] == {}


def test_once_ends_when_nobody_reads_it(served, ordinary_user, runner):
    _, path = served()
    process = ordinary_user.popen([runner, "attach", "--once", "--socket", path],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(lines(INITIALIZE, call(2, "echo begun; sleep 600", "c")))
    process.stdin.close()
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(scaled(60)) == 1


def _connect(path):
    import socket
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(path))
    return link
