# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`logs`, `policy` and `rule`: what a sandbox did on the network and what it may do."""

import copy
import hashlib
import json
import re
import time
import uuid

import policies
import text
from errors import Arguments, Failure, refused

PORTS = {443: " (HTTPS)", 80: " (HTTP)", 22: " (SSH)"}
UNITS = {"s": 1, "m": 60, "h": 3600}


def _since(word):
    number, unit = word.strip()[:-1], word.strip()[-1:]
    if not re.fullmatch(r"-?\d+", number):
        raise Failure(f"invalid duration: {word} (expected e.g. 5m, 1h, 30s)")
    if unit not in UNITS:
        raise Failure(f"unknown duration unit: {unit} (use s, m, or h)")
    return time.time() - int(number) * UNITS[unit]


def _line(entry):
    when, source, level, target, message = entry
    return f"[{int(when)}.{int(when * 1000) % 1000:03}] [{source:<7}] [{level:<5}] [{target}] " \
           f"{message}\n"


def _host_port(flag, spec, words):
    host, port = words[0].strip(), words[1].strip()
    if not host:
        raise Failure(f"{flag} has an empty host segment in '{spec}'")
    if re.search(r"\s", host):
        raise Failure(f"{flag} host must not contain whitespace in '{spec}'")
    if "/" in host:
        raise Failure(f"{flag} host must not contain '/' in '{spec}'")
    if not port:
        raise Failure(f"{flag} has an empty port segment in '{spec}'")
    if not port.isdigit():
        raise Failure(f"{flag} port segment must be a base-10 integer, got '{port}' in '{spec}'")
    if not 0 < int(port) < 65536:
        raise Failure(f"{flag} port must be in the range 1-65535, got '{int(port)}' in '{spec}'")
    return host, int(port)


def _added(spec):
    words = spec.split(":")
    if not 2 <= len(words) <= 6:
        raise Failure("--add-endpoint expects host:port[:access[:protocol[:enforcement"
                      f"[:options]]]], got '{spec}'")
    host, port = _host_port("--add-endpoint", spec, words)
    endpoint = {"host": host, "port": port}
    access = words[2].strip() if len(words) > 2 else ""
    if access not in ("", "read-only", "read-write", "full"):
        raise Failure("--add-endpoint access segment must be one of read-only, read-write, or "
                      f"full; got '{access}' in '{spec}'")
    if access:
        endpoint["access"] = access
    return endpoint


def rule_name(host, port):
    sanitized = re.sub(r"[.-]", "_", host)
    return "allow_" + "".join(c for c in sanitized if c.isalnum() or c == "_") + f"_{port}"


def _ports(endpoint):
    return endpoint.get("ports") or [endpoint.get("port")]


def merge(policy, added, removed, binaries, name=None):
    """The policy with endpoints added and taken away, as a new one."""
    policy = copy.deepcopy(policy)
    rules = policy.setdefault("network_policies", {}) or {}
    policy["network_policies"] = rules
    for endpoint in added:
        key = name or rule_name(endpoint["host"], endpoint["port"])
        rule = rules.setdefault(key, {"name": key, "endpoints": [], "binaries": []})
        same = [item for item in rule["endpoints"] if item.get("host") == endpoint["host"] and
                endpoint["port"] in _ports(item)]
        if not same:
            rule["endpoints"].append(endpoint)
        for path in binaries:
            if {"path": path} not in rule["binaries"]:
                rule["binaries"].append({"path": path})
        if not rule["binaries"]:
            del rule["binaries"]
    for host, port in removed:
        for key in list(rules):
            kept = [item for item in rules[key].get("endpoints") or []
                    if item.get("host", "").lower() != host.lower() or port not in _ports(item)]
            if len(kept) != len(rules[key].get("endpoints") or []):
                rules[key]["endpoints"] = kept
                if not kept:
                    del rules[key]
    return policy


def policy_hash(policy):
    plain = json.dumps(policy, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


class NetworkCalls:
    """Mixed into Call."""

    # --- logs ---

    def do_logs(self, argv):
        parser = Arguments(prog="logs", add_help=False)
        parser.add_argument("name")
        parser.add_argument("-n", type=int, default=200)
        parser.add_argument("--tail", action="store_true")
        parser.add_argument("--since")
        parser.add_argument("--source", action="append", default=[])
        parser.add_argument("--level", default="")
        wanted = parser.parse_args(argv)
        box = self.box(wanted.name)
        sources = [source for source in wanted.source if source != "all"]
        since = _since(wanted.since) if wanted.since else 0
        shown = lambda entry: (not sources or entry[1] in sources) and entry[0] >= since  # noqa
        if since and box.logs and not wanted.tail:
            self.err(f"Warning: log buffer contains only the last {len(box.logs)} lines; --since "
                     "results may be incomplete.\n")
        with box.changed:
            chosen = [entry for entry in box.logs if shown(entry)][-wanted.n:] if wanted.n else []
            seen = box.logged
        self.out("".join(map(_line, chosen)))
        while wanted.tail:
            with box.changed:
                while box.logged == seen and not box.deleted:
                    box.changed.wait(0.5)
                    if self.peer_gone():
                        return 0
                fresh = box.logs[-(box.logged - seen):] if box.logged > seen else []
                seen = box.logged
            for entry in fresh:
                if shown(entry):
                    self.out(_line(entry))
            if box.deleted:
                return 0
        return 0

    # --- policy ---

    def do_policy_update(self, argv):
        parser = Arguments(prog="update", add_help=False)
        parser.add_argument("name")
        for flag in ("--add-endpoint", "--remove-endpoint", "--binary"):
            parser.add_argument(flag, action="append", default=[])
        parser.add_argument("--rule-name")
        parser.add_argument("--timeout", type=int, default=60)
        for flag in ("--wait", "--dry-run"):
            parser.add_argument(flag, action="store_true")
        wanted = parser.parse_args(argv)
        if wanted.dry_run and wanted.wait:
            raise Failure("--wait cannot be combined with --dry-run")
        if wanted.binary and not wanted.add_endpoint:
            raise Failure("--binary can only be used with --add-endpoint")
        added = [_added(spec) for spec in wanted.add_endpoint]
        removed = []
        for spec in wanted.remove_endpoint:
            words = spec.split(":")
            if len(words) != 2:
                raise Failure(f"--remove-endpoint expects host:port, got '{spec}'")
            removed.append(_host_port("--remove-endpoint", spec, words))
        if not added and not removed:
            raise Failure("policy update requires at least one operation flag")
        box = self.box(wanted.name)
        failure = self.gateway.stage("policy-update")
        if failure:
            self.named_failure(failure)
        policy = merge(box.policy, added, removed, wanted.binary, wanted.rule_name)
        if wanted.dry_run:
            count = len(added) + len(removed)
            self.err(f"{text.TICK} Dry run preview for {count} incremental policy operation(s)\n")
            self.out(text.policy_block(policies.ordered(policy)))
            return 0
        policies.validate(policy)
        digest = policy_hash(policy)
        if digest == policy_hash(box.policy):
            self.err(f"{text.dim('·')} Policy unchanged (version {box.policy_version}, hash: "
                     f"{digest[:12]})\n")
            return 0
        version = self.gateway.new_policy(box, policy)
        self.err(f"{text.TICK} Policy version {version} submitted (hash: {digest[:12]})\n")
        return self.wait_loaded(box, version, wanted.timeout) if wanted.wait else 0

    def wait_loaded(self, box, version, seconds):
        deadline = time.monotonic() + seconds
        with box.changed:
            while box.policy_loaded < version and not box.deleted:
                if time.monotonic() > deadline:
                    mark = "\x1b[1m\x1b[31m✗\x1b[39m\x1b[0m"
                    self.err(f"{mark} Timeout waiting for policy version {version} to load\n")
                    return 124
                box.changed.wait(0.2)
        if box.deleted:
            raise refused("missing", "sandbox not found")
        self.err(f"{text.TICK} Policy version {version} loaded (active version: "
                 f"{box.policy_loaded})\n")
        return 0

    def do_policy_get(self, argv):
        parser = Arguments(prog="get", add_help=False)
        parser.add_argument("name")
        parser.add_argument("-o", "--output", default="table")
        wanted = parser.parse_args(argv)
        box = self.box(wanted.name)
        digest = policy_hash(box.policy)
        if wanted.output == "json":
            self.out(json.dumps({"hash": digest, "policy": box.policy, "source": "sandbox",
                                 "status": "effective", "version": max(1, box.policy_version)},
                                indent=2, sort_keys=True) + "\n")
            return
        revision = int.from_bytes(hashlib.sha256(digest.encode()).digest()[:8], "big")
        self.out(f"Version:      {max(1, box.policy_version)}\nHash:         {digest}\n"
                 f"Status:       Effective\nSource:       sandbox\nConfig rev:   {revision}\n")

    # --- rules ---

    def do_rule_get(self, argv):
        parser = Arguments(prog="get", add_help=False)
        parser.add_argument("name")
        parser.add_argument("--status", default="")
        wanted = parser.parse_args(argv)
        box = self.box(wanted.name)
        drafts = [draft for draft in box.drafts if wanted.status in ("", draft["status"])]
        if not drafts:
            self.out(f"No network rules for sandbox '{box.name}'\n")
            return
        plural = "" if len(drafts) == 1 else "s"
        out = [f"{text.title('Network Rules:')}  (version {box.draft_version}, {len(drafts)} "
               f"chunk{plural})\n"]
        colours = {"pending": text.yellow, "approved": text.green, "rejected": text.red}
        for draft in drafts:
            binary, host, port = draft["binary"], draft["host"], draft["port"]
            short = binary.rsplit("/", 1)[-1]
            fields = [("Chunk:", draft["id"]),
                      ("Status:", colours[draft["status"]](draft["status"])),
                      ("Rule:", draft["rule"]), ("Binary:", binary),
                      ("Confidence:", f"{draft['confidence']}%"),
                      ("Rationale:", f"Allow {short} to connect to {host}:{port}"
                                     f"{PORTS.get(port, '')}."),
                      ("Prover:", text.cyan("prover: no new findings")),
                      ("Candidate:", draft["candidate"]),
                      ("Endpoints:", f"{host}:{port} [L4]"), ("Binaries:", binary)]
            if draft["hits"] > 1:
                stamp = lambda when: time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(when))  # noqa
                fields.append(("Hits:", f"{draft['hits']} (first seen {stamp(draft['first'])}, "
                                        f"last seen {stamp(draft['last'])})"))
            out += [f"  {text.dim(name)} {value}" for name, value in fields] + [""]
        self.out("\n".join(out) + "\n")

    def _draft(self, argv, name):
        parser = Arguments(prog=name, add_help=False)
        parser.add_argument("name")
        parser.add_argument("--chunk-id", required=True)
        parser.add_argument("--reason", default="")
        wanted = parser.parse_args(argv)
        box = self.box(wanted.name)
        for draft in box.drafts:
            if draft["id"] == wanted.chunk_id:
                return box, draft
        raise Failure(f"draft chunk '{wanted.chunk_id}' not found")

    def do_rule_approve(self, argv):
        box, draft = self._draft(argv, "approve")
        policy = merge(box.policy, [{"host": draft["host"], "port": draft["port"]}], [],
                       [draft["binary"]])
        version = self.gateway.new_policy(box, policy)
        draft["status"] = "approved"
        mark = "\x1b[1m\x1b[32mOK\x1b[39m\x1b[0m"
        self.out(f"{mark} Chunk approved. Policy version: {version}, hash: "
                 f"{policy_hash(policy)[:12]}\n")

    def do_rule_reject(self, argv):
        _, draft = self._draft(argv, "reject")
        draft["status"] = "rejected"
        self.out("\x1b[1m\x1b[32mOK\x1b[39m\x1b[0m Chunk rejected.\n")


def keep_drafts(box, summaries):
    """What the proxy inside refused becomes a proposal, one for each host, port and program."""
    for found in summaries:
        for draft in box.drafts:
            if [draft[key] for key in ("host", "port", "binary")] == \
                    [found[key] for key in ("host", "port", "binary")]:
                draft["hits"] += found["hits"]
                draft["last"] = found["last"]
                break
        else:
            confidence = 50 + (20 if found["hits"] >= 10 else 10 if found["hits"] >= 3 else 0)
            confidence += (15 if found["port"] in PORTS else 0) - (20 if found["ssrf"] else 0)
            box.drafts.append({
                **found, "id": str(uuid.uuid4()), "status": "pending",
                "confidence": min(95, max(10, confidence)),
                "candidate": hashlib.sha256(uuid.uuid4().bytes).hexdigest()[:12]})
    box.draft_version += 1
