# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""openworker-proxy as a program, in a network of its own (REQ-N03).

The proxy refuses loopback addresses, so the hosts that it may reach need others: each test
runs in a private network namespace where documentation addresses (RFC 5737) belong to this
machine, with its own /etc/hosts and /etc/nsswitch.conf in a private mount namespace. This
file is also the program that runs in there: `test_proxy.py inside PROXY DIR TEST`.
"""

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from own_etc import own_etc

SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))
PUBLIC, OTHER = "203.0.113.10", "198.51.100.20"
HOSTS = f"""127.0.0.1 localhost
{PUBLIC} good.test sub.good.test other.test
127.0.0.1 rebind.test
127.0.0.1 mixed.test
{PUBLIC} mixed.test
10.77.0.1 private.test
169.254.169.254 metadata.test
""" + "".join(f"10.77.0.{number} many.test\n" for number in range(1, 100)) + f"{PUBLIC} many.test\n"


class Inside:
    """The proxy and what is around it, seen from within the namespaces."""

    def __init__(self, program, directory):
        self.program, self.directory = program, Path(directory)
        self.path = self.directory / "proxy.sock"
        self.process = None
        self.requests = []

    def start(self, allow, *options, ready=True, stdout=subprocess.PIPE):
        self.process = subprocess.Popen(
            [self.program, "--socket", str(self.path), *options], stdin=subprocess.PIPE,
            stdout=stdout, stderr=subprocess.PIPE, env={"HOSTALIASES": "/nonexistent"}, bufsize=0)
        self.others = []
        if allow is not None:
            self.send_list(allow)
        if ready:
            assert self.process.stdout.readline() == b"ready\n"

    def send_list(self, allow):
        entries = []
        for entry in allow:
            host, port = entry.rsplit(":", 1)
            entries.append({"host": host.removeprefix("!"), "port": int(port)})
            if host.startswith("!"):
                entries[-1]["private"] = True
        self.process.stdin.write(json.dumps({"allow": entries}).encode() + b"\n")
        self.process.stdin.flush()

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 20 * SCALE)
        assert ready, "no line came"
        return json.loads(self.process.stdout.readline())

    def line_of(self, kind):
        """The next line of that kind; those of others are kept."""
        while True:
            line = self.line()
            if kind in line:
                return line
            self.others.append(line)

    def decision(self):
        return self.line_of("decision")

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        # Without a timeout it waits for a place in the queue.
        client.connect(str(self.path))
        client.settimeout(30 * SCALE)
        return client

    def ask(self, request):
        """Sends @request and its end, and returns all that comes."""
        with self.connect() as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            return read_all(client)

    def tunnel(self, target):
        client = self.connect()
        client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            got = client.recv(1)
            assert got, head
            head += got
        assert head.startswith(b"HTTP/1.1 200 "), head
        return client

    def serve(self, address, port, talk):
        """Answers each connection to address:port with talk(connection) in a thread."""
        server = socket.create_server((address, port))

        def loop():
            while True:
                connection, _ = server.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()

    def serve_http(self, address=PUBLIC, port=80):
        def talk(connection):
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                head, _, body = head.partition(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        while len(body) < int(line[15:]):
                            body += connection.recv(65536)
                connection.settimeout(0.3 * SCALE)
                try:
                    body += connection.recv(65536)
                except TimeoutError:
                    pass
                self.requests.append((head, body))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        self.serve(address, port, talk)

    def finish(self):
        self.process.stdin.close()
        assert self.process.wait(20 * SCALE) == 0
        assert not self.path.exists()
        assert self.process.stderr.read() == b""


def read_all(client):
    data = b""
    while True:
        part = client.recv(65536)
        if not part:
            return data
        data += part


def echo(connection):
    """Sends back what comes, and after its end a last word."""
    with connection:
        while True:
            part = connection.recv(65536)
            if not part:
                break
            connection.sendall(part)
        connection.sendall(b"bye")


def body_of(response):
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def inside_allows(inside):
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443", "*.good.test:443"])
    mode = inside.path.stat().st_mode
    assert stat.S_ISSOCK(mode) and mode & 0o077 == 0
    for name in ["good.test", "GOOD.test.", "sub.good.test"]:
        with inside.tunnel(f"{name}:443") as client:
            client.sendall(b"x" * 300000)
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == b"x" * 300000 + b"bye"
        assert inside.decision() == {
            "decision": "allow", "host": name.lower().rstrip("."), "port": 443,
            "reason": "listed", "address": PUBLIC}
    inside.finish()


def inside_refuses_unlisted(inside):
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443"])
    for target, host, port in [("other.test:443", "other.test", 443),
                               ("good.test:80", "good.test", 80),
                               ("sub.good.test:443", "sub.good.test", 443),
                               (f"{PUBLIC}:443", PUBLIC, 443), ("[::1]:443", "::1", 443)]:
        status, body = body_of(inside.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()))
        assert status == 403
        assert body == {"error": "host_not_allowed", "detail":
                        f"{host}:{port} is not on this session's list of hosts"}
        assert inside.decision() == {"decision": "refuse", "host": host, "port": port,
                                     "reason": "not_listed"}
    inside.finish()


def inside_refuses_addresses(inside):
    for address in ["127.0.0.1", PUBLIC, "10.77.0.1"]:
        inside.serve(address, 443, echo)
    names = ["rebind.test", "metadata.test", "private.test", "localhost"]
    inside.start([f"{name}:443" for name in names] + ["127.0.0.1:443", "::1:443", "mixed.test:443",
                                                      "10.77.0.1:443"])
    for host, address in [("rebind.test", "127.0.0.1"), ("metadata.test", "169.254.169.254"),
                          ("private.test", "10.77.0.1"), ("10.77.0.1", "10.77.0.1"), ("127.0.0.1", "127.0.0.1")]:
        status, body = body_of(inside.ask(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode()))
        assert (status, body["error"]) == (403, "address_not_allowed")
        assert inside.decision() == {"decision": "refuse", "host": host, "port": 443,
                                     "reason": "address", "address": address}
    with inside.tunnel("mixed.test:443"):
        assert inside.decision()["address"] == PUBLIC
    # With the person's word private networks are open, this machine never is.
    inside.send_list(["!private.test:443", "!rebind.test:443", "!metadata.test:443",
                      "!10.77.0.1:443"])
    time.sleep(0.2)
    for host in ["private.test", "10.77.0.1"]:
        with inside.tunnel(f"{host}:443"):
            assert inside.decision()["address"] == "10.77.0.1"
    for host in ["rebind.test", "metadata.test"]:
        assert body_of(inside.ask(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode()))[0] == 403
        assert inside.decision()["reason"] == "address"
    inside.finish()


def inside_http(inside):
    inside.serve_http()
    inside.start(["good.test:80"])
    request = (b"POST http://good.test/a?b HTTP/1.1\r\nHost: evil.test\r\nProxy-Connection: close\r\n"
               b"Connection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 4\r\n\r\nbody"
               b"GET http://good.test/second HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    for cut in [0, 30, len(request) - 100, len(request) - 62]:
        with inside.connect() as client:
            client.sendall(request[:cut])
            time.sleep(0.05)
            client.sendall(request[cut:])
            assert read_all(client).endswith(b"hello")
        assert inside.decision()["decision"] == "allow"
        # One request, its own Host, and nothing of what was sent behind it.
        assert inside.requests.pop() == (
            b"POST /a?b HTTP/1.1\r\nHost: good.test\r\nContent-Length: 4\r\nConnection: close",
            b"body")
    for line, wanted in [(b"Transfer-Encoding: chunked", 411),
                         (b"Transfer-Encoding: chunked\r\nContent-Length: 4", 400)]:
        answer = inside.ask(b"POST http://good.test/ HTTP/1.1\r\n" + line + b"\r\n\r\n")
        assert body_of(answer)[0] == wanted
        assert inside.decision()["reason"] == "malformed"
    assert not inside.requests
    inside.finish()


def inside_early_answer(inside):
    """A host that answers and closes before it has read the body: the client sees it."""
    answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"

    def talk(connection):
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    inside.serve(PUBLIC, 80, talk)
    inside.start(["good.test:80"])
    with inside.connect() as client:
        client.sendall(b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n")
        try:
            for _ in range(500):
                client.sendall(b"x" * 65536)
        except BrokenPipeError:
            pass
        assert client.recv(len(answer), socket.MSG_WAITALL) == answer
    inside.decision()
    inside.finish()


def inside_malformed(inside):
    inside.start(["good.test:443"])
    for request, wanted in [(b"CONNECT good.test:443 HTTP/1.1\nHost: x\n\n", 400),
                            (b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n", 400),
                            (b"\x16\x03\x01\x02\x00\x01\x00", 400),
                            (b"CONNECT good.test:443 HTTP/1.1\r\nX: " + b"y" * 20000, 431)]:
        status, body = body_of(inside.ask(request))
        assert (status, body["error"]) == (wanted, "malformed")
        assert inside.decision() == {"decision": "refuse", "host": "", "port": 0,
                                     "reason": "malformed"}
    inside.finish()


def inside_unreachable(inside):
    # A listener whose queue is full answers no one: the kernel drops what comes.
    silent = socket.create_server((PUBLIC, 445), backlog=0)
    waiting, full = [], False
    while not full:
        waiting.append(socket.socket())
        waiting[-1].settimeout(0.5)
        full = waiting[-1].connect_ex((PUBLIC, 445)) != 0
        assert len(waiting) < 20
    inside.start(["good.test:444", "nowhere.test:443", "good.test:445"], "--time-scale", "0.1")
    status, body = body_of(inside.ask(b"CONNECT good.test:444 HTTP/1.1\r\n\r\n"))
    assert (status, body["error"]) == (502, "connect_failed")
    assert inside.decision()["reason"] == "connect"
    status, body = body_of(inside.ask(b"CONNECT nowhere.test:443 HTTP/1.1\r\n\r\n"))
    assert (status, body["error"]) == (502, "host_not_found")
    assert inside.decision()["reason"] == "resolve"
    begin = time.monotonic()
    assert body_of(inside.ask(b"CONNECT good.test:445 HTTP/1.1\r\n\r\n"))[0] == 502
    assert 0.9 <= time.monotonic() - begin < 10 * SCALE
    assert inside.decision()["reason"] == "connect"
    silent.close()
    inside.finish()


def inside_slow_head(inside):
    inside.start(["good.test:443"], "--time-scale", "0.05")
    begin = time.monotonic()
    idle = inside.connect()
    with inside.connect() as slow:
        answer = b""
        slow.settimeout(0.1)
        for byte in b"CONNECT good.test:443 HTTP/1.1\r\nX: " + b"y" * 1000:
            try:
                slow.sendall(bytes([byte]))
                answer = slow.recv(65536)
                break
            except TimeoutError:
                assert time.monotonic() - begin < 15 * SCALE
        assert answer.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - begin >= 1.4
    assert inside.decision()["reason"] == "malformed"
    assert idle.recv(1) == b""
    inside.finish()


def inside_slow_name(inside):
    """A resolver that never answers holds up nobody else, and its own for 10 s."""
    Path("/etc/nsswitch.conf").write_text("hosts: files dns\n")
    Path("/etc/resolv.conf").write_text(f"nameserver {OTHER}\noptions timeout:30 attempts:1\n")
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind((OTHER, 53))
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443", "slow.test:443"], "--time-scale", "0.2")
    begin = time.monotonic()
    with inside.connect() as slow:
        slow.sendall(b"CONNECT slow.test:443 HTTP/1.1\r\n\r\n")
        assert silent.recvfrom(512)[0]
        for _ in range(5):
            with inside.tunnel("good.test:443"):
                assert inside.decision()["decision"] == "allow"
        assert time.monotonic() - begin < 1.5 * SCALE
        status, body = body_of(read_all(slow))
    assert (status, body["error"]) == (502, "host_not_found")
    assert 1.9 <= time.monotonic() - begin < 10 * SCALE
    assert inside.decision()["reason"] == "resolve"
    inside.finish()


def inside_list_replaced(inside):
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443", "other.test:443"])
    kept, ended = inside.tunnel("good.test:443"), inside.tunnel("other.test:443")
    inside.send_list(["good.test:443"])
    assert ended.recv(1) == b""
    kept.sendall(b"still")
    assert kept.recv(5) == b"still"
    answer = inside.ask(b"CONNECT other.test:443 HTTP/1.1\r\n\r\n")
    assert body_of(answer)[1]["error"] == "host_not_allowed"
    inside.send_list([])
    assert kept.recv(1) == b""
    inside.process.stdin.write(b'{"allow":"everything"}\n')
    inside.process.stdin.flush()
    assert inside.process.wait(20 * SCALE) == 1
    assert b"list" in inside.process.stderr.read()


def inside_stuck_parent(inside):
    """Nobody reads stdout: clients are served all the same."""
    read_end, write_end = os.pipe()
    inside.start(["good.test:443"], ready=False, stdout=write_end)
    os.close(write_end)
    assert os.read(read_end, 6) == b"ready\n"
    for number in range(2600):
        answer = inside.ask(b"CONNECT x%d.test:443 HTTP/1.1\r\n\r\n" % number)
        assert answer.startswith(b"HTTP/1.1 403 ")
    lines, data = [], b""
    while not lines or lines[-1]["host"] != "x2599.test":
        data += os.read(read_end, 65536)
        *whole, data = data.split(b"\n")
        lines += [json.loads(line) for line in whole]
    lost = sum(line.get("dropped", 0) for line in lines)
    assert lost > 0 and len(lines) + lost == 2600
    os.close(read_end)
    assert inside.process.wait(20 * SCALE) == 1


def inside_many_clients(inside):
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443"], "--time-scale", "0.1")
    idle = [inside.connect() for _ in range(256)]
    # The next waits in the queue until the heads of the others have taken too long.
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
    assert all(client.recv(1) == b"" for client in idle)
    inside.finish()


def inside_socket_path(inside):
    inside.path.write_text("precious")
    inside.start(["good.test:443"], ready=False)
    assert inside.process.wait(20 * SCALE) == 1
    assert b"something else" in inside.process.stderr.read()
    assert inside.path.read_text() == "precious"
    inside.path.unlink()
    inside.path.symlink_to(inside.directory / "elsewhere.sock")
    inside.start(["good.test:443"], ready=False)
    assert inside.process.wait(20 * SCALE) == 1
    inside.path.unlink()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(inside.path))
    stale.close()
    inside.start(["good.test:443"])
    assert body_of(inside.ask(b"CONNECT a:1 HTTP/1.1\r\n\r\n"))[0] == 403
    inside.decision()
    inside.finish()


def inside_hardened(inside):
    leaked = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    inside.process = subprocess.Popen(
        [inside.program, "--socket", str(inside.path)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False,
        env={"SECRET": "hunter2"})
    inside.send_list(["good.test:443"])
    assert inside.process.stdout.readline() == b"ready\n"
    proc = Path("/proc", str(inside.process.pid))
    status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
    assert "Max core file size        0                    0" in (proc / "limits").read_text()
    targets = [os.readlink(entry) for entry in (proc / "fd").iterdir()]
    assert not [target for target in targets if target.startswith("/etc")], targets
    inside.finish()


def inside_parent_dies(inside):
    """Another process holds stdin open, and the parent is killed."""
    read_end, write_end = os.pipe()
    code = ("import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdin=0); "
            "print(p.pid, flush=True); time.sleep(600)")
    parent = subprocess.Popen([sys.executable, "-c", code, inside.program, "--socket",
                               str(inside.path)], stdin=read_end, stdout=subprocess.PIPE)
    os.write(write_end, b'{"allow":[]}\n')
    first, second = sorted([parent.stdout.readline(), parent.stdout.readline()])
    assert second == b"ready\n"
    pid = int(first)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10 * SCALE
    while Path(f"/proc/{pid}/exe").is_symlink() and time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                break
        except OSError:
            break
        time.sleep(0.02)
    assert time.monotonic() < deadline


def inside_told_first(inside):
    """Decisions are out before the answers that follow from them, however slow that is, so a
    session that ends on a refusal has it in its record."""
    inside.process = subprocess.Popen(
        ["strace", "-qq", "-o", "/dev/null", "-e", "trace=write",
         "-e", "inject=write:delay_enter=300000", inside.program, "--socket", str(inside.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    inside.send_list(["good.test:443"])
    assert inside.process.stdout.readline() == b"ready\n"
    os.set_blocking(inside.process.stdout.fileno(), False)
    said = b""
    clients = [inside.connect() for _ in range(3)]
    for client in clients:
        client.sendall(b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n")
    for told, client in enumerate(clients, 1):
        assert client.recv(4096).startswith(b"HTTP/1.1 403 ")
        said += inside.process.stdout.read() or b""
        assert said.count(b"\n") >= told, said


def last_traffic(inside, **wanted):
    """Reads until the totals of a host are so."""
    while True:
        line = inside.line_of("traffic")
        if all(line[key] == value for key, value in wanted.items()):
            return line


def inside_traffic(inside):
    """What went out and came in is counted, host by host, and told once a second at most."""
    def talk(connection):
        with connection:
            got = 0
            while got < 1000:
                got += len(connection.recv(65536))
            connection.sendall(b"d" * 70000)
    inside.serve(PUBLIC, 443, talk)
    inside.start(["good.test:443", "other.test:443"])
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"u" * 1000)
        assert len(read_all(client)) == 70000
    last_traffic(inside, traffic="good.test", port=443, up=1000, down=70000, connections=1)
    # The second connection adds to the first; while it is open lines are rare.
    begin = time.monotonic()
    with inside.tunnel("good.test:443") as client:
        while time.monotonic() - begin < 2.5:
            # Fewer than the answer waits for: who has it and does not read is not listened to.
            client.sendall(b"u")
            time.sleep(0.01)
        client.sendall(b"u" * 1000)
        sent = len(read_all(client))
    assert sent == 70000
    last = last_traffic(inside, down=140000, connections=2)
    assert last["up"] >= 2000
    lines = [line for line in inside.others if "traffic" in line]
    assert len(lines) <= (time.monotonic() - begin) + 3
    # A refused host has no bytes, and no line.
    inside.ask(b"CONNECT other.test:80 HTTP/1.1\r\n\r\n")
    assert inside.decision()["host"] == "other.test"
    inside.finish()


def inside_half_close(inside):
    """Each side may end its own direction, and still hear the other."""
    def after_end(connection):
        with connection:
            data = read_all(connection)
            connection.sendall(b"heard " + data)

    def end_first(connection):
        with connection:
            connection.sendall(b"bye")
            connection.shutdown(socket.SHUT_WR)
            inside.requests.append(read_all(connection))
    inside.serve(PUBLIC, 443, after_end)
    inside.serve(PUBLIC, 444, end_first)
    inside.start(["good.test:443", "good.test:444"])
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"heard question"
    with inside.tunnel("good.test:444") as client:
        assert read_all(client) == b"bye"
        client.sendall(b"still here")
    deadline = time.monotonic() + 10 * SCALE
    while not inside.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    assert inside.requests == [b"still here"]
    inside.finish()


def inside_program(inside):
    """Who asks is told and decides nothing; it can be said once, before the request."""
    inside.start(["good.test:443"])
    ask = b"CONNECT bad.test:443 HTTP/1.1\r\n\r\n"
    for line, program in [(b"", None), (b"\x01/usr/bin/curl\n", "/usr/bin/curl"), (b"\x01\n", None),
                          (b"\x01/opt/\xc3\xa9\n", "/opt/\u00e9"), (b"\x01/opt/\xff\n", None),
                          (b"\x01" + b"p" * 200 + b"\n", "p" * 200)]:
        with inside.connect() as client:
            for byte in line:
                client.sendall(bytes([byte]))
            client.sendall(ask)
            assert body_of(read_all(client))[1]["error"] == "host_not_allowed"
        decision = inside.decision()
        assert (decision["host"], decision.get("program")) == ("bad.test", program)
    for line in [b"\x01/a\n\x01/b\n", b"\x01" + b"p" * 201 + b"\n", b"\x01/a\x1b\n", b"\x01/a\r\n",
                 b"\x02/a\n", b"\x01/a\0\n"]:
        assert inside.ask(line + b"CONNECT good.test:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 "), line
        assert inside.decision()["reason"] == "malformed"
    inside.finish()


def inside_hostile_targets(inside):
    """S14: no way to write a name or an address leads past the list."""
    inside.serve("10.77.0.1", 8443, echo)
    inside.start(["good.test:443", "!private.test:443"])
    for target in [b"good.test\0.evil.test:443", b"good.test\t:443", b"good.test%00:443", b"good.test :443",
                   b"u@good.test:443", b"good.test:443@evil.test", b"good.test:0443", b"good.test:+443",
                   b"good.test:443:443", b"good.test:", b"good.test", b":443", b"good..test:443", b"*.test:443",
                   b"good.test:65979", b"0x7f.0.0.1:443", b"2130706433:443", b"127.1:443", b"[::1%lo]:443",
                   b"g\xc3\xb6\xc3\xb6d.test:443", b"good.test\r\nX: y:443", b"http://good.test:443"]:
        answer = inside.ask(b"CONNECT " + target + b" HTTP/1.1\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), (target, answer)
        assert inside.decision()["decision"] == "refuse"
    # What is consented to at one port is not so at another, nor by its address.
    for target in ["private.test:8443", "10.77.0.1:8443", "10.77.0.1:443", "[::ffff:10.77.0.1]:443", "good.test:25"]:
        assert body_of(inside.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()))[1]["error"] == "host_not_allowed"
        assert inside.decision()["reason"] == "not_listed"
    # Two programs must not read one request in two ways.
    for head in [b"GET http://good.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                 b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                 b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nab",
                 b"POST http://good.test/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
                 b"GET http://good.test/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n", b"GET http://good.test/ HTTP/1.1\nX: a\n\n",
                 b"GET http://good.test/ HTTP/1.1\r\nX: " + b"y" * 20000]:
        answer = inside.ask(head)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 411 ", b"HTTP/1.1 431 ")), (head[:80], answer)
        assert inside.decision()["reason"] == "malformed"
    inside.finish()


def inside_many_addresses(inside):
    """S14: of a hundred addresses only those that may be are connected to, in whatever order they come."""
    reached = []

    def talk(connection):
        reached.append(connection.getsockname()[0])
        echo(connection)
    for address in ["10.77.0.1", PUBLIC]:
        inside.serve(address, 443, talk)
    inside.start(["many.test:443"])
    for _ in range(5):
        inside.ask(b"CONNECT many.test:443 HTTP/1.1\r\n\r\n")
        decision = inside.decision()
        assert decision["reason"] == "address" or decision["address"] == PUBLIC
    assert "10.77.0.1" not in reached
    inside.finish()


def memory(inside):
    """What only this process has, in KiB."""
    status = Path(f"/proc/{inside.process.pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0])


def inside_floods(inside):
    """Ten thousand connections, half-open ones and ones that read nothing: bounded memory, and all
    others are served."""
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443"], "--time-scale", "0.2")
    before = memory(inside)
    for number in range(10000):
        with inside.connect() as client:
            if number % 2:
                client.send(b"CONNECT good.test:443 HTT")
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
    stuck = []
    for _ in range(120):
        client = inside.tunnel("good.test:443")
        client.setblocking(False)
        try:
            while True:
                client.send(b"z" * 65536)
        except BlockingIOError:
            stuck.append(client)
    half = [inside.connect() for _ in range(120)]
    for client in half:
        client.sendall(b"CONNECT good.test:443 HTTP/1.1\r\nX: " + b"y" * 15000)
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
    # Two buffers of 32 KiB for what runs, one of 16 KiB for a head.
    assert memory(inside) - before < 120 * 64 + 120 * 16 + 2048
    for client in stuck + half:
        client.close()
    inside.finish()


def inside_last_words(inside):
    """Told to end it says what it counted before it goes, whoever is still connected."""
    inside.serve(PUBLIC, 443, echo)
    inside.start(["good.test:443"])
    with inside.tunnel("good.test:443") as client:
        client.sendall(b"x" * 500)
        got = b""
        while len(got) < 500:
            got += client.recv(500)
        inside.process.terminate()
        assert inside.process.wait(20 * SCALE) == 0
    last_traffic(inside, traffic="good.test", up=500, down=500)
    assert not inside.path.exists()


TESTS = {name.removeprefix("inside_"): function for name, function in list(globals().items())
         if name.startswith("inside_")}


def run_inside(program, directory, name):
    directory = Path(directory)
    for command in (["ip", "link", "set", "lo", "up"],
                    ["ip", "address", "add", f"{PUBLIC}/32", "dev", "lo"],
                    ["ip", "address", "add", f"{OTHER}/32", "dev", "lo"],
                    ["ip", "address", "add", "10.77.0.1/32", "dev", "lo"]):
        subprocess.run(command, check=True)
    own_etc(directory, {"hosts": HOSTS, "nsswitch.conf": "hosts: files\n", "resolv.conf": ""})
    inside = Inside(program, directory)
    try:
        TESTS[name](inside)
    finally:
        if inside.process is not None and inside.process.poll() is None:
            inside.process.kill()
            inside.process.wait()


@pytest.fixture
def program(request):
    """The built proxy, from OPENWORKER_BUILD_DIR or as all integration tests find it."""
    build = os.environ.get("OPENWORKER_BUILD_DIR")
    if build:
        return Path(build) / "src/proxy/openworker-proxy"
    return request.getfixturevalue("proxy")


@pytest.fixture
def directory():
    path = tempfile.mkdtemp(prefix="ow-proxy-", dir="/var/tmp")
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("name", TESTS)
def test_proxy(program, directory, name):
    # As root too: root of a container may not set interfaces up, that of a user namespace may.
    namespaces = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork",
                  "--mount-proc", "--kill-child"]
    done = subprocess.run(
        [*namespaces, sys.executable, __file__, "inside", str(program), directory, name],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180 * SCALE, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__" and sys.argv[1:2] == ["inside"]:
    run_inside(*sys.argv[2:])
