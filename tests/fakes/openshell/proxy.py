# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The proxy that a container's commands reach the network through, and its decisions.

It listens inside; a connection that the policy allows is made by the container's process on
the host's side, which hands over the socket."""

import array
import ipaddress
import json
import os
import re
import select
import socket
import threading
import time

ADDRESS = ("10.200.0.1", 3128)
HEADER_MAX = 8192
FLUSH_SECONDS, IDENTITY_SECONDS = 10.0, 0.03
BLOCKED_PORTS = {2379, 2380, 6443, 10250, 10255}


def glob(pattern, separator):
    """One star stays between separators, two do not."""
    out = []
    for part in re.split(r"(\*\*|\*)", pattern):
        if part == "**":
            out.append(".*")
        elif part == "*":
            out.append(f"[^{re.escape(separator)}]*")
        else:
            out.append(re.escape(part))
    return re.compile("".join(out), re.S)


def host_matches(endpoint, host, port):
    """Whether an endpoint of a policy is this host and port."""
    ports = endpoint.get("ports") or [endpoint.get("port")]
    if port not in ports:
        return False
    named = str(endpoint.get("host", "")).lower()
    if "*" in named:
        return glob(named, ".").fullmatch(host.lower()) is not None
    return named == host.lower()


def binary_matches(rule, paths):
    for binary in rule.get("binaries") or []:
        path = binary.get("path", "")
        for candidate in paths:
            if path == candidate or "*" in path and glob(path, "/").fullmatch(candidate):
                return True
    return False


class Identity:
    """Who owns a connection: the program, and the programs that started it."""

    def __init__(self, pid, path, ancestors):
        self.pid, self.path, self.ancestors = pid, path, ancestors

    def key(self):
        return self.path, tuple(self.ancestors)


class Unknown(Exception):
    """Nobody can be named for a connection; the text is the reason of the refusal."""


def _program(pid):
    return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")


def _parent(pid):
    with open(f"/proc/{pid}/stat", "rb") as stream:
        return int(stream.read().rsplit(b")", 1)[1].split()[1])


def _hex(address):
    return address and socket.inet_aton(address[0])[::-1].hex().upper() + f":{address[1]:04X}"


def socket_inode(peer, entrypoint):
    with open(f"/proc/{entrypoint}/net/tcp", encoding="ascii") as stream:
        for line in stream.readlines()[1:]:
            fields = line.split()
            if fields[1] == _hex(peer) and fields[2] == _hex(ADDRESS):
                return int(fields[9])
    raise Unknown("failed to resolve peer binary: no socket for the connection")


def identify(peer, entrypoint):
    """The owner of the connection from @peer; Unknown when it is nobody or not one."""
    inode = socket_inode(peer, entrypoint)
    found = []
    for entry in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        pid = int(entry)
        if pid == 1:
            continue
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            if f"socket:[{inode}]" not in links:
                continue
            ancestors, parent = [], _parent(pid)
            while parent > 1 and len(ancestors) < 64 and parent != entrypoint:
                ancestors.append(_program(parent))
                parent = _parent(parent)
            found.append(Identity(pid, _program(pid), ancestors))
        except OSError:
            continue
    if not found:
        raise Unknown("failed to resolve peer binary: no process found owning socket inode "
                      f"{inode}")
    if any(identity.key() != found[0].key() for identity in found):
        pids = ", ".join(str(identity.pid) for identity in found)
        raise Unknown(f"ambiguous shared socket ownership: inode {inode} is held by PIDs [{pids}] "
                      "with different policy identities")
    return found[0]


def decide(policy, identity, host, port, loose=False):
    """(name of the rule that allows it or None, endpoint, reason when none does)"""
    if loose:
        return "loose", {"host": host, "port": port}, ""
    rules = policy.get("network_policies") or {}
    if not rules:
        return None, None, "network connections not allowed by policy"
    misses = []
    for key in sorted(rules):
        rule = rules[key]
        matching = [endpoint for endpoint in rule.get("endpoints") or []
                    if host_matches(endpoint, host, port)]
        if not matching:
            continue
        if binary_matches(rule, [identity.path, *identity.ancestors]):
            return rule.get("name") or key, matching[0], ""
        misses.append(f"binary '{identity.path}' not allowed in policy '{key}' (ancestors: "
                      f"[{' -> '.join(identity.ancestors)}], cmdline: []). SYMLINK HINT: the "
                      "binary path is the kernel-resolved target from /proc/<pid>/exe, not the "
                      "symlink.")
    if misses:
        return None, None, "; ".join(misses)
    return None, None, f"endpoint {host}:{port} is not allowed by any policy"


def allowed_ips(endpoint):
    """The networks that an endpoint names: an address as its host names itself."""
    try:
        own = [str(ipaddress.ip_address(str(endpoint.get("host")).strip("[]")))]
    except ValueError:
        own = []
    return endpoint.get("allowed_ips") or own


def address_refused(host, address, port, endpoint):
    """Why a resolved address may not be reached, or None."""
    ip = ipaddress.ip_address(address)
    if port in BLOCKED_PORTS:
        return f"port {port} is a blocked control-plane port, connection rejected"
    if ip.is_loopback or ip.is_link_local or ip.is_unspecified:
        return f"{host} resolves to always-blocked address {ip}, connection rejected"
    allowed = endpoint.get("allowed_ips") or []
    if allowed:
        if not any(ip in ipaddress.ip_network(net, strict=False) for net in allowed):
            return f"{host} resolves to {ip} which is not in allowed_ips, connection rejected"
    elif not ip.is_global:
        return f"{host} resolves to internal address {ip}, connection rejected"
    return None


def check_name(endpoint):
    """Which check of the address it was, in the answer's words."""
    if endpoint.get("allowed_ips"):
        return "allowed_ips check failed"
    if "*" in str(endpoint.get("host")):
        return "internal address"
    return "declared endpoint check failed"


def error(status, words, kind, detail, reason=""):
    """The proxy's own answer."""
    body = {"detail": detail, "error": kind}
    if reason:
        body["reason"] = reason
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return (f"HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n").encode() + text


def rule_name(host, port):
    sanitized = re.sub(r"[.-]", "_", host)
    return "allow_" + "".join(c for c in sanitized if c.isalnum() or c == "_") + f"_{port}"


class Proxy:
    """One container's proxy."""

    def __init__(self, supervisor):
        self.supervisor = supervisor
        self.denials, self.lock, self.count = {}, threading.Lock(), 0
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(ADDRESS)
        self.listener.listen(128)

    def run(self):
        threading.Thread(target=self._flush, daemon=True).start()
        while True:
            sock, peer = self.listener.accept()
            threading.Thread(target=self._serve, args=(sock, peer), daemon=True).start()

    def _serve(self, sock, peer):
        with sock:
            try:
                self._request(sock, peer)
            except (OSError, ValueError):
                pass

    def _request(self, sock, peer):
        data = b""
        while b"\r\n\r\n" not in data:
            if len(data) >= HEADER_MAX:
                sock.sendall(b"HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n")
                return
            more = sock.recv(HEADER_MAX)
            if not more:
                return
            data += more
        line = data.split(b"\r\n", 1)[0].decode("latin-1").split()
        if len(line) < 2:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        elif line[0] == "CONNECT":
            host, _, port = line[1].rpartition(":")
            self._connect(sock, peer, host.strip("[]").lower(), int(port),
                          data.split(b"\r\n\r\n", 1)[1])
        else:
            self._forward(sock, peer, line, data)

    # --- decisions ---

    def _decide(self, peer, host, port):
        """(endpoint, rule, identity, reason)"""
        # A real one reads and hashes programs here; what shares the connection is there by then.
        time.sleep(IDENTITY_SECONDS)
        try:
            identity = identify(peer, self.supervisor.main)
        except (Unknown, OSError) as unknown:
            return None, None, None, str(unknown)
        policy = self.supervisor.network or self.supervisor.spec["policy"]
        rule, endpoint, reason = decide(policy, identity, host, port,
                                        self.supervisor.loose.get("hosts"))
        return endpoint, rule, identity, reason

    def _log(self, allowed, identity, host, port, rule, reason, engine="opa", http=None):
        actor = f"{identity.path}({identity.pid})" if identity else "-(0)"
        where = f"{actor} -> {http[0]} http://{host}:{port}{http[1]}" if http else \
            f"{actor} -> {host}:{port}"
        kind = f"HTTP:{http[0]}" if http else "NET:OPEN"
        text = f"{kind} {'[INFO] ALLOWED' if allowed else '[MED] DENIED'} {where} " \
               f"[policy:{rule or '-'} engine:{engine}]"
        if not allowed:
            reason = reason.replace("\n", " ")
            reason = reason if len(reason) <= 256 else reason[:256] + "..."
            text += f" [reason:{reason}]"
        self.supervisor.ocsf(text)
        self.count += 1
        if not allowed:
            with self.lock:
                key = (host, port, identity.path if identity else "-")
                first, hits, ssrf = self.denials.get(key, (time.time(), 0, engine == "ssrf"))
                self.denials[key] = (first, hits + 1, ssrf)

    def _out(self, host, port, endpoint):
        """(socket, None) or (None, reason): asks the host's side to resolve and connect."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with mine:
            with theirs:
                request = json.dumps({"host": host, "port": port,
                                      "allowed_ips": allowed_ips(endpoint)})
                self.supervisor.outside.sendmsg(
                    [request.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                          array.array("i", [theirs.fileno()]))])
            data, ancillary, _, _ = mine.recvmsg(4096, socket.CMSG_SPACE(4))
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                return socket.socket(fileno=array.array("i", payload[:4])[0]), None
        return None, data.decode()

    def _connect(self, sock, peer, host, port, rest):
        endpoint, rule, identity, reason = self._decide(peer, host, port)
        if rule is None:
            self._log(False, identity, host, port, None, reason)
            sock.sendall(error(403, "Forbidden", "policy_denied",
                               f"CONNECT {host}:{port} not permitted by policy", reason))
            return
        upstream, failure = self._out(host, port, endpoint)
        if upstream is None:
            kind, _, text = failure.partition(" ")
            if kind == "blocked":
                self._log(False, identity, host, port, None, text, "ssrf")
                sock.sendall(error(403, "Forbidden", "ssrf_denied",
                                   f"CONNECT {host}:{port} blocked: {check_name(endpoint)}"))
            return
        sock.sendall(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        self._log(True, identity, host, port, rule, "")
        with upstream:
            if rest:
                upstream.sendall(rest)
            pump(sock, upstream)

    def _forward(self, sock, peer, line, data):
        match = re.fullmatch(r"http://([^/:?#]+)(?::(\d+))?([^#]*)", line[1])
        if not match:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        host, port, path = match.group(1).lower(), int(match.group(2) or 80), match.group(3) or "/"
        endpoint, rule, identity, reason = self._decide(peer, host, port)
        shown = path.split("?", 1)[0]
        if rule is None:
            self._log(False, identity, host, port, None, reason, http=(line[0], shown))
            sock.sendall(error(403, "Forbidden", "policy_denied",
                               f"{line[0]} {host}:{port}{shown} not permitted by policy"))
            return
        upstream, failure = self._out(host, port, endpoint)
        if upstream is None:
            kind, _, text = failure.partition(" ")
            if kind == "blocked":
                self._log(False, identity, host, port, rule, text, "ssrf", (line[0], shown))
                sock.sendall(error(403, "Forbidden", "ssrf_denied",
                                   f"{line[0]} {host}:{port} blocked: {check_name(endpoint)}"))
            else:
                sock.sendall(error(502, "Bad Gateway", "upstream_unreachable",
                                   f"connection to {host}:{port} failed"))
            return
        self._log(True, identity, host, port, rule, "", http=(line[0], shown))
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        lines[0] = f"{line[0]} {path} {line[2] if len(line) > 2 else 'HTTP/1.1'}".encode()
        kept = [item for item in lines if not item.lower().startswith(
            (b"proxy-connection:", b"proxy-authorization:", b"connection:"))]
        with upstream:
            upstream.sendall(b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body)
            pump(sock, upstream)

    # --- drafts ---

    def _flush(self):
        while True:
            time.sleep(FLUSH_SECONDS * self.supervisor.spec.get("speed", 1.0))
            with self.lock:
                batch, self.denials = self.denials, {}
                count, self.count = self.count, 0
            if not batch:
                continue
            name = self.supervisor.spec["name"]
            summaries = [{"host": host, "port": port, "binary": binary, "first": first,
                          "last": time.time(), "hits": hits, "ssrf": ssrf,
                          "rule": rule_name(host, port)}
                         for (host, port, binary), (first, hits, ssrf) in batch.items()]
            self.supervisor.tell(event="drafts", summaries=summaries)
            self.supervisor.tell(
                event="log", target="openshell_sandbox",
                text=f"Flushed denial analysis to gateway proposals={len(batch)} "
                     f"sandbox_name={name} summaries={len(batch)}")
            denied = sum(hits for _, hits, _ in batch.values())
            self.supervisor.tell(
                event="log", target="openshell_sandbox",
                text=f"Flushed activity summary to gateway denied_action_count={denied} "
                     f"network_activity_count={count} sandbox_name={name}")


def pump(left, right):
    """Both ways until both ended."""
    ways = {left: right, right: left}
    while ways:
        for sock in select.select(list(ways), [], [])[0]:
            try:
                data = sock.recv(1 << 16)
                if data:
                    ways[sock].sendall(data)
                    continue
                ways[sock].shutdown(socket.SHUT_WR)
            except OSError:
                pass
            del ways[sock]
            break
