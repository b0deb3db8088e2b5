# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""openworker-runner's ways in and out: probes, Landlock, the forwarder and connect."""

import errno
import os
import socket
import threading

import pytest

from conftest import wait_until
from runner_client import servers


@pytest.fixture
def serve(ordinary_user, workspace, runner):
    """Starts a server on stdin and stdout and gives its client."""
    with servers(ordinary_user, runner, workspace.folder) as start:
        yield start


@pytest.fixture
def answering():
    """Serves each connection of a listening socket with a function, in threads."""
    listeners = []

    def start(listener, function):
        listener.listen(64)
        listeners.append(listener)

        def loop():
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=function, args=(link,), daemon=True).start()

        threading.Thread(target=loop, daemon=True).start()
        return listener.getsockname()

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def echo(link):
    with link:
        while data := link.recv(65536):
            link.sendall(data)


def echo_after_asker(link):
    """As the proxy, which is told first which program asks: nobody knows it here."""
    preface = b""
    while not preface.endswith(b"\n"):
        got = link.recv(1)
        if not got:
            link.close()
            return
        preface += got
    if preface == b"\x01\n":
        echo(link)
    link.close()


def proxy(link):
    """A CONNECT proxy that lets good.test:22 through to an echo, with a banner at once."""
    with link:
        head = b""
        while b"\r\n\r\n" not in head:
            got = link.recv(1)
            if not got:
                return
            head += got
        if head.startswith(b"CONNECT good.test:22 HTTP/1.1\r\nHost: good.test:22\r\n"):
            link.sendall(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nbanner\n")
            echo(link)
        else:
            link.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nnot today")


def on_loopback():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


# Probes.

def test_probe_files(serve, workspace, ordinary_user):
    client = serve()
    folder = workspace.folder

    def probe(op, path, **more):
        return client.request("openworker/probe", {"op": op, "path": str(path), **more})["result"]

    made = probe("create", folder / "token", content="secret é")
    assert made["ok"] and (folder / "token").read_text() == "secret é"
    assert probe("create", folder / "token", content="x")["errno"] == "EEXIST"
    assert probe("read", folder / "token")["content"] == "secret é"
    (folder / "link").symlink_to("token")
    assert probe("read", folder / "link")["errno"] == "ELOOP"
    assert probe("create", folder / "link", content="x")["errno"] == "EEXIST"
    assert probe("write", folder / "token")["ok"]
    assert (folder / "token").read_text() == "secret é"
    assert probe("write", "/etc/passwd")["errno"] == "EACCES"
    assert probe("read", "/etc/shadow")["errno"] == "EACCES"
    long = ordinary_user.write(workspace.path / "long", "x" * 5000)
    assert len(probe("read", str(long))["content"]) == 4096
    info = os.stat(folder)
    identity = probe("identity", folder)
    assert (identity["dev"], identity["ino"]) == (str(info.st_dev), str(info.st_ino))
    assert not probe("identity", folder / "token")["ok"]
    os.mkfifo(folder / "pipe")
    os.chmod(folder / "pipe", 0o666)
    assert probe("write", folder / "pipe")["errno"] == "ENXIO"
    assert probe("read", folder / "pipe")["ok"]
    assert probe("remove", folder / "token")["ok"] and not (folder / "token").exists()
    assert probe("remove", folder / "token")["errno"] == "ENOENT"


@pytest.mark.parametrize("params", [
    {}, {"op": 1}, {"op": "nope"}, {"op": "read"}, {"op": "read", "path": ""},
    {"op": "read", "path": 1}, {"op": "connect", "host": "localhost", "port": 80},
    {"op": "connect", "host": "127.0.0.1"}, {"op": "connect", "host": "127.0.0.1", "port": 65536},
    {"op": "abstract", "name": "x" * 200}])
def test_probe_of_nothing(serve, params):
    result = serve().request("openworker/probe", params)["result"]
    assert result["ok"] is False and result["errno"] and result["detail"]


def test_probe_network(serve, answering, free_port):
    host, port = answering(on_loopback(), proxy)
    client = serve(env={"HTTPS_PROXY": f"http://{host}:{port}"})

    def probe(**params):
        return client.request("openworker/probe", params)["result"]

    assert probe(op="connect", host="127.0.0.1", port=port)["ok"]
    assert probe(op="connect", host="127.0.0.1", port=free_port)["errno"] == "ECONNREFUSED"
    done = probe(op="proxy", host="good.test", port=22)
    assert (done["ok"], done["status"]) == (True, 200)
    done = probe(op="proxy", host="bad.test", port=22)
    assert (done["ok"], done["status"], done["content"]) == (False, 403, "not today")
    name = f"ow-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        assert probe(op="abstract", name=name)["ok"]
    assert probe(op="abstract", name=name)["errno"] == "ECONNREFUSED"


# Landlock.

def test_landlock(serve, workspace, ordinary_user):
    other = ordinary_user.write(workspace.path / "other/file", "outside")
    inside = ordinary_user.write(workspace.folder / "file", "inside")
    read_only = ordinary_user.write(workspace.path / "read/file", "read")
    options = ["--landlock", "--landlock-rw", workspace.folder, "--landlock-rw", "/dev/null",
               "--landlock-ro", read_only.parent]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/proc", "/etc"):
        if os.path.exists(path):
            options += ["--landlock-ro", path]
    client = serve(*options)

    def shell(command):
        return client.shell(command)

    assert shell(f"cat {inside} {read_only}").output == "insideread\n"
    assert shell("echo x >new; mkdir sub; mv new sub/; cat sub/new").output == "x\n"
    for command in (f"cat {other}", f"echo x >{other}", f"echo x >{read_only}",
                    f"echo x >{read_only.parent}/new", f"rm {read_only}", f"ls {other.parent}",
                    f"mv file {read_only.parent}/", f"ln {read_only} here", f": >>{other}"):
        done = shell(command)
        assert done.exit_status != 0, command
        assert "ermission denied" in done.output or "Invalid cross-device" in done.output, command
    # A program that the shell starts is held too, whatever it makes of itself.
    done = shell(f"setsid -w python3 -c 'open(\"{other}\")'")
    assert "PermissionError" in done.output
    assert other.read_text() == "outside" and read_only.read_text() == "read"
    assert client.request("openworker/probe", {"op": "read", "path": str(other)}
                          )["result"]["errno"] == errno.errorcode[errno.EACCES]


def test_landlock_list_shows_names_and_nothing_else(serve, workspace, ordinary_user):
    other = ordinary_user.write(workspace.path / "other/deep/file", "outside")
    options = ["--landlock", "--landlock-rw", workspace.folder, "--landlock-rw", "/dev/null",
               "--landlock-list", workspace.path]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/proc"):
        if os.path.exists(path):
            options += ["--landlock-ro", path]
    client = serve(*options)
    assert client.shell(f"ls {other.parent}").output == "file\n"
    for command in (f"cat {other}", f"echo x >{other}", f"mkdir {other.parent}/new", f"rm {other}"):
        done = client.shell(command)
        assert done.exit_status != 0 and "ermission denied" in done.output, command
    assert client.shell("ls /var").exit_status != 0
    assert other.read_text() == "outside" and os.listdir(other.parent) == ["file"]


def test_landlock_of_what_is_not_there_fails(ordinary_user, workspace, runner):
    done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.folder,
                              "--landlock", "--landlock-ro", "/nonexistent"])
    assert done.returncode == 1 and "/nonexistent" in done.stderr and done.stdout == ""


# The forwarder.

def test_forwarder(serve, workspace, answering, free_port):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(workspace.runtime / "proxy"))
    os.chmod(workspace.runtime / "proxy", 0o666)
    answering(listener, echo_after_asker)
    client = serve("--proxy-socket", workspace.runtime / "proxy", "--proxy-port", str(free_port))
    data = os.urandom(3_000_000)
    links = [socket.create_connection(("127.0.0.1", free_port)) for _ in range(5)]
    for link in links:
        def send(link=link):
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)

        threading.Thread(target=send, daemon=True).start()
    for link in links:
        with link.makefile("rb") as reader:
            assert reader.read() == data
        link.close()
    # Many that are left in the middle, and the server still serves.
    for _ in range(300):
        link = socket.create_connection(("127.0.0.1", free_port))
        link.sendall(b"x")
        link.close()

    def answers():
        try:
            with socket.create_connection(("127.0.0.1", free_port)) as link:
                link.sendall(b"on")
                return link.recv(2) == b"on"
        except ConnectionResetError:
            return False

    # More than 256 at once are refused, and on a slow machine the echo still ends those.
    wait_until(answers, what="an answer through the forwarder")
    assert client.shell("echo on").output == "on\n"


def test_forwarder_of_a_taken_port(ordinary_user, workspace, runner):
    with on_loopback() as taken:
        taken.listen()
        done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.folder,
                                  "--proxy-socket", "/x", "--proxy-port",
                                  str(taken.getsockname()[1])])
    assert done.returncode == 1 and "listened on" in done.stderr


# connect.

def test_connect(ordinary_user, workspace, runner, answering):
    host, port = answering(on_loopback(), proxy)
    argv = [runner, "connect", "good.test", "22"]
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy"):
        done = ordinary_user.run(argv, env={name: f"http://{host}:{port}"}, stdin="hello\n" * 9999)
        assert (done.returncode, done.stdout) == (0, "banner\n" + "hello\n" * 9999)
    done = ordinary_user.run([runner, "connect", "bad.test", "22"],
                             env={"HTTPS_PROXY": f"http://{host}:{port}"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused bad.test:22" in done.stderr and "not today" in done.stderr


@pytest.mark.parametrize("url", [None, "", "http://127.0.0.1:1", "http://localhost:80",
                                 "https://127.0.0.1:80", "127.0.0.1:80", "http://127.0.0.1:x"])
def test_connect_without_a_proxy(ordinary_user, workspace, runner, url):
    done = ordinary_user.run([runner, "connect", "good.test", "22"], env={"HTTPS_PROXY": url})
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("openworker-runner:")


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200", b"x" * 20000,
                                    b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/2 200 OK\r\n\r\n"])
def test_connect_through_what_is_no_proxy(ordinary_user, workspace, runner, answering, answer):
    def serve_once(link):
        with link:
            link.recv(1000)
            link.sendall(answer)

    host, port = answering(on_loopback(), serve_once)
    done = ordinary_user.run([runner, "connect", "good.test", "22"],
                             env={"HTTPS_PROXY": f"http://{host}:{port}"})
    assert (done.returncode, done.stdout) == (1, "") and "without an answer" in done.stderr


@pytest.mark.parametrize("kind", ["link", "link in a chain", "file", "fifo", "folder", "nothing"])
def test_attach_connects_to_a_socket_and_to_nothing_that_leads_to_one(
        ordinary_user, workspace, runner, answering, kind):
    """The folder of the runner's socket is the sandbox's: a link put there may lead to any
    socket of the machine, and attach runs outside."""
    secret = workspace.path / "secret.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(secret))
    ordinary_user.give(secret)
    answering(listener, lambda link: (link.sendall(b"the machine's own\n"), link.close()))
    place = workspace.runtime / "runner.sock"
    if kind == "link":
        place.symlink_to(secret)
    elif kind == "link in a chain":
        (workspace.runtime / "step").symlink_to(secret)
        place.symlink_to("step")
    elif kind == "file":
        ordinary_user.write(place, "x")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    done = ordinary_user.run([runner, "attach", "--socket", place], timeout=20)
    assert done.returncode == 1
    assert "machine's own" not in done.stdout and "Nobody answers" in done.stderr
    control = ordinary_user.run([runner, "attach", "--socket", secret], timeout=20)
    assert control.stdout == "the machine's own\n"
