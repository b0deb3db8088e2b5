# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""One container: what an engine would start for the gateway.

Started by the gateway with OPENSHELL_SIM_CONTAINER=DIRECTORY (spec.json in it) and stdin a
pipe whose other end only the test holds: its end ends the container, whoever was killed.
Three processes: this one on the host's side, which connects out for the proxy inside and kills
or pauses; a short-lived one in between; and the first process of the container, which becomes
the supervisor. What the first one says goes as lines of JSON to stdout."""

import array
import json
import os
import select
import signal
import socket
import sys
import threading

import image
import kernel
import proxy
import supervisor
import wire

COMMAND = ["/opt/openshell/bin/openshell-sandbox", "--workdir", "/sandbox"]


def say(**event):
    try:
        os.write(1, json.dumps(event).encode() + b"\n")
    except OSError:
        pass


def _own_ids():
    """Inside a user namespace of an ordinary account there are only its own ids."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"),
                       ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)


def _inside(spec, listener, outside, report):
    """The container's first process."""
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
    # Only what the fixture may see of it; a container has none of the host's descriptors.
    try:
        kernel.sethostname(spec["id"][:12])
        image.build(spec)
        kernel.rename_process(COMMAND)
        os.environ.clear()
        ready = supervisor.Supervisor(spec, listener, outside)
        os.write(report, b"ok")
    except BaseException as error:  # pylint: disable=broad-except
        os.write(report, json.dumps({"kind": type(error).__name__, "text": str(error)}).encode())
        os._exit(1)
    os.close(report)
    os.close(0)
    os.open("/dev/null", os.O_RDWR)
    os.dup2(0, 1)
    os.dup2(0, 2)
    ready.run()
    os._exit(0)


def _start(spec, listener, outside, report):
    """In the process in between: (pid of the first process as the host sees it)."""
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
    if os.geteuid() != 0:
        _own_ids()
    if not spec.get("loose", {}).get("network"):
        kernel.own_network()
    kernel.unshare(kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC | kernel.NEWUTS)
    child = os.fork()
    if child == 0:
        _inside(spec, listener, outside, report)
    os.write(report, f"pid {child}\n".encode())
    os.close(report)
    for fd in (0, 1, listener.fileno(), outside.fileno()):
        os.close(fd)
    while True:
        try:
            _, status = os.waitpid(child, 0)
            os._exit(0 if os.WIFEXITED(status) else 1)
        except InterruptedError:
            pass


def _connect_out(channel, spec):
    """Resolves and connects for the proxy inside: a socket goes back, or "blocked REASON" or
    "failed REASON". The tests may say where a host lies."""
    def answer(request, reply):
        wanted = json.loads(request)
        host, port = wanted["host"], wanted["port"]
        with reply:
            try:
                if port in proxy.BLOCKED_PORTS:
                    reply.send(f"blocked port {port} is a blocked control-plane port, connection "
                               "rejected".encode())
                    return
                place = _hosts(spec).get(f"{host}:{port}") or _hosts(spec).get(host)
                if place is not None:
                    address = (place.rpartition(":")[0], int(place.rpartition(":")[2]))
                else:
                    try:
                        found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
                    except OSError:
                        reply.send(f"blocked DNS resolution failed for {host}:{port}: failed to "
                                   "lookup address information: Name or service not "
                                   "known".encode())
                        return
                    address = found[0][4][:2]
                    refused = proxy.address_refused(host, address[0], port, wanted)
                    if refused:
                        reply.send(f"blocked {refused}".encode())
                        return
                with socket.create_connection(address, timeout=30) as sock:
                    sock.settimeout(None)
                    reply.sendmsg([b"ok"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                             array.array("i", [sock.fileno()]))])
            except OSError as error:
                try:
                    reply.send(f"failed {error}".encode())
                except OSError:
                    pass

    while True:
        # One end of a pair comes with each request, so that answers may come in any order.
        data, ancillary, _, _ = channel.recvmsg(4096, socket.CMSG_SPACE(4))
        if not data:
            return
        fds = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(payload[:4])
        reply = socket.socket(fileno=fds[0])
        threading.Thread(target=answer, args=(data, reply), daemon=True).start()


def _hosts(spec):
    """{host or host:port: address:port} that the tests set, read anew each time."""
    try:
        with open(os.path.join(spec["directory"], "../../knobs.json"), encoding="utf-8") as stream:
            return json.load(stream).get("hosts") or {}
    except (OSError, ValueError):
        return {}


def _members(first):
    """Every process of the container, as the host numbers them."""
    try:
        mark = os.readlink(f"/proc/{first}/ns/pid")
    except OSError:
        mark = None
    found, parents = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stream:
                    parents[int(entry)] = int(stream.read().rsplit(b")", 1)[1].split()[1])
                if mark and os.readlink(f"/proc/{entry}/ns/pid") == mark:
                    found.append(int(entry))
            except OSError:
                pass
    family, grown = {first}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return sorted(family | set(found))


def _order(word, first):
    if word == b"kill":
        os.kill(first, signal.SIGKILL)
    elif word == b"pause":
        for pid in _members(first):
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
    elif word == b"unpause":
        for pid in reversed(_members(first)):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


def main():
    directory = os.environ["OPENSHELL_SIM_CONTAINER"]
    with open(os.path.join(directory, "spec.json"), encoding="utf-8") as stream:
        spec = json.load(stream)
    for name in ("s", "c"):
        try:
            os.unlink(os.path.join(directory, name))
        except FileNotFoundError:
            pass
    listener = wire.listen_local(os.path.join(directory, "s"))
    orders = wire.listen_local(os.path.join(directory, "c"))
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    report, told = os.pipe()
    between = os.fork()
    if between == 0:
        here.close()
        orders.close()
        os.close(report)
        try:
            _start(spec, listener, there, told)
        except BaseException as error:  # pylint: disable=broad-except
            os.write(told, json.dumps({"kind": type(error).__name__,
                                       "text": str(error)}).encode())
        os._exit(1)
    there.close()
    listener.close()
    os.close(told)
    text = b""
    while True:
        more = os.read(report, 65536)
        text += more
        if not more or text.endswith(b"ok") or b"}" in text:
            break
    os.close(report)
    if not text.endswith(b"ok"):
        start = text.find(b"{")
        failure = json.loads(text[start:]) if start >= 0 else {"kind": "", "text": text.decode()}
        say(event="failed", **failure)
        sys.exit(1)
    first = int(text.split(b"\n", 1)[0].split()[1])
    with open(os.path.join(directory, "pid"), "w", encoding="ascii") as stream:
        stream.write(f"{os.getpid()} {first}")
    say(event="started", pid=first)
    threading.Thread(target=_connect_out, args=(here, spec), daemon=True).start()
    watch = os.pidfd_open(between)
    while True:
        ready, _, _ = select.select([0, orders, watch], [], [])
        if 0 in ready:
            os.kill(first, signal.SIGKILL)
            break
        if orders in ready:
            fd, _ = orders._accept()
            peer = socket.socket(fileno=fd)
            with peer:
                # Somebody who only looks whether we are here sends nothing.
                word = peer.recv(64)
                _order(word, first)
                if word == b"kill":
                    os.waitpid(between, 0)
                try:
                    peer.send(b"done")
                except OSError:
                    pass
            if word == b"kill":
                break
        if watch in ready:
            break
    os._exit(0)
