# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What each call of the command does, run in the gateway, which is warm already."""

import json
import os
import re
import socket
import threading
import time
import uuid

import failures
import mounts
import network_calls
import policies
import text
import wire
from delay import Delay
from errors import Arguments, Dropped, Failure, Usage, refused

STDIN_CAP = 4 * 1024 * 1024
NAME_MAX = 19
# What one message to the gateway, the whole line of a command and one word of it may be.
MESSAGE_CAP, LINE_CAP, WORD_CAP = 1048576 - 47, 256 * 1024, 128 * 1024 - 1
# What a real one takes beyond what this one takes; `speed` scales them.
EXEC_SECONDS, ENGINE_SECONDS, SESSION_SECONDS = 0.02, 0.15, 15
# One way of a live stream.
RELAY_SECONDS = 0.0007
RELAY_CLOSED = "exec relay closed before the command reported an exit status"


def not_found():
    return refused("missing", "sandbox not found")


def log(box, source, level, target, message, when=None):
    """One line of a sandbox's log."""
    with box.changed:
        box.logs.append((when or time.time(), source, level, target, message))
        box.logged += 1
        del box.logs[:-2000]
        box.changed.notify_all()


def event(gateway, box, told):
    """What a supervisor told."""
    if told["event"] == "log":
        log(box, "sandbox", told.get("kind", "INFO "), told.get("target", "openshell_sandbox"),
            told["text"], told["time"])
    elif told["event"] == "drafts":
        network_calls.keep_drafts(box, told["summaries"])
        log(box, "gateway", "INFO ", "openshell_server::grpc::policy",
            "SubmitPolicyAnalysis: persisted draft chunks")
    elif told["event"] == "policy-loaded":
        with box.changed:
            box.policy_loaded = max(box.policy_loaded, told["version"])
            box.changed.notify_all()
        gateway.save()


def _label(word):
    key, equals, value = word.partition("=")
    if not equals:
        raise Failure(f"invalid label '{word}': expected key=value")
    return key, value


def check_name(name):
    if len(name) > NAME_MAX:
        raise refused("invalid", f"name exceeds maximum length ({len(name)} > {NAME_MAX})")
    if not re.fullmatch(r"[a-z0-9-]*", name):
        raise refused("invalid", "name must contain only lowercase alphanumeric characters or "
                                 "hyphens")
    if name.startswith("-") or name.endswith("-"):
        raise refused("invalid", "name must not start or end with a hyphen")
    if "--" in name:
        raise refused("invalid", "name must not contain consecutive hyphens")


def check_labels(labels):
    for value in labels.values():
        if len(value) > 63:
            raise refused("invalid", f"label value exceeds 63 characters: '{value}'")
        if not re.fullmatch(r"[A-Za-z0-9._-]*", value):
            raise refused("invalid", "label value contains invalid characters (must be "
                                     f"alphanumeric, '-', '_', or '.'): '{value}'")
        for end, index in (("start", 0), ("end", -1)):
            if value and not value[index].isalnum():
                raise refused("invalid", f"label value must {end} with alphanumeric character: "
                                         f"'{value}'")


def _check_limits(wanted):
    """--cpu and --memory: their values are read, and limit nothing here."""
    for flag, value, shape, expected in (
            ("--cpu", wanted.cpu, r"\d+m|\d+(\.\d+)?",
             "expected positive cores or millicores, for example 2, 0.5, or 500m"),
            ("--memory", wanted.memory, r"\d+([KMGT]i?)?",
             "expected positive bytes or a quantity such as 512Mi, 4Gi, or 8G")):
        if value is None:
            continue
        if not re.fullmatch(shape, value):
            raise Failure(f"invalid {flag} value '{value}': {expected}")
        if not float(re.match(r"[\d.]+", value).group()):
            raise Failure(f"{flag} must be greater than zero")


def loosened(command, loose):
    """The main command as the knob has it."""
    words = [*command, *loose.get("words", [])]
    for at, word in enumerate(words):
        if os.path.basename(word) in loose.get("writable", []) and words[at - 1] == "--landlock-ro":
            words[at - 1] = "--landlock-rw"
    if loose.get("network"):
        for at in reversed(range(len(words))):
            if words[at].startswith("--landlock"):
                del words[at:at + (1 if words[at] == "--landlock" else 2)]
    return words


class Call(network_calls.NetworkCalls):
    """One call: its arguments, its connection, and what it writes."""

    def __init__(self, gateway, sock, fields):
        self.gateway, self.sock = gateway, sock
        self.name, self.endpoint, self.directory = fields[0], fields[1], fields[2]
        self.terminal = fields[3] == "1"
        self.rows, self.columns = [int(word) for word in fields[4].split()]
        self.argv = fields[5:]
        self.lock, self.broken, self.ended = threading.Lock(), False, False
        self.inner = None

    # --- writing ---

    def out(self, words):
        wire.send(self.sock, b"O", words.encode("utf-8", "surrogateescape"))

    def err(self, words):
        wire.send(self.sock, b"R", words.encode("utf-8", "surrogateescape"))

    def end(self, code):
        wire.send(self.sock, b"X", str(code).encode())

    def run(self):
        try:
            code = self.dispatch() or 0
        except Failure as failure:
            self.err(text.error(*failure.causes))
            code = 1
        except Dropped:
            self.sock.close()
            return
        except Usage as usage:
            self.err(f"error: {usage}\n\nFor more information, try '--help'.\n")
            code = 2
        with self.lock:
            if not self.broken:
                self.end(code)

    def dispatch(self):
        failure = self.gateway.stage("call")
        if failure:
            self.named_failure(failure)
        two = "_".join(self.argv[:2]).replace("-", "_")
        one = self.argv[0].replace("-", "_")
        for name, rest in ((f"do_{two}", self.argv[2:]), (f"do_{one}", self.argv[1:])):
            method = getattr(self, name, None)
            if method is not None:
                return method(rest)
        raise Usage(f"unrecognized subcommand '{self.argv[0]}'")

    def named_failure(self, kind):
        failures.fail(self, kind)

    def peer_gone(self):
        """Whether the command at the other end has ended."""
        try:
            return self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def box(self, name):
        found = self.gateway.find(name)
        if found is None:
            raise not_found()
        return found

    @staticmethod
    def split(argv):
        """(what is before "--", what is after)"""
        if "--" in argv:
            index = argv.index("--")
            return argv[:index], argv[index + 1:]
        return argv, []

    # --- status ---

    def version(self):
        return self.gateway.knobs().get("gateway_version") or \
            self.gateway.knobs().get("version", "0.0.116")

    def do_status(self, argv):
        parser = Arguments(prog="status", add_help=False)
        parser.add_argument("-o", "--output", default="table")
        wanted = parser.parse_args(argv)
        state = self.gateway.knobs().get("status", {})
        authentication = state.get("authentication", {"mode": "gateway",
                                                      "status": "not_required"})
        if wanted.output == "json":
            self.out(json.dumps({
                "authentication": authentication, "gateway": self.name,
                "server": self.endpoint, "status": state.get("status", "connected"),
                "version": self.version()}, indent=2) + "\n")
            return 0
        words = {"not_required": "Not required", "authenticated": "Authenticated"}.get(
            authentication["status"])
        shown = text.green(words) if words else text.yellow("Not authenticated")
        self.out(f"{text.title('Server Status')}\n\n  {text.dim('Gateway:')} {self.name}\n"
                 f"  {text.dim('Server:')} {self.endpoint}\n"
                 f"  {text.dim('Status:')} {text.green('Connected')}\n"
                 f"  {text.dim('Authentication:')} {shown} ({authentication['mode']})\n"
                 f"  {text.dim('Version:')} {self.version()}\n")
        return 0

    def driver(self):
        return self.gateway.knobs().get("driver", {"name": "docker",
                                                   "version": "20.10.24+dfsg1"})

    def do_gateway_info(self, argv):
        driver = self.driver()
        self.out(json.dumps({
            "auth": None,
            "compute_drivers": [{"capabilities": {"driver_name": driver["name"],
                                                  "driver_version": driver["version"]},
                                 "name": driver["name"]}],
            "gateway": self.name, "server": self.endpoint, "status": "healthy",
            "version": self.version()}, indent=2) + "\n")

    # --- sandboxes ---

    def do_sandbox_create(self, argv):
        before, command = self.split(argv)
        parser = Arguments(prog="create", add_help=False)
        for name in ("--name", "--from", "--policy", "--driver-config-json", "--cpu", "--memory"):
            parser.add_argument(name)
        for name in ("--label", "--env", "--provider"):
            parser.add_argument(name, action="append", default=[])
        for name in ("--no-tty", "--tty", "--detach", "--no-auto-providers"):
            parser.add_argument(name, action="store_true")
        wanted = parser.parse_args(before)
        policy = policies.read(os.path.join(self.directory, wanted.policy)) if wanted.policy \
            else policies.default()
        _check_limits(wanted)
        labels = dict(_label(word) for word in wanted.label)
        environment = dict(_label(word) for word in wanted.env)
        try:
            config = json.loads(wanted.driver_config_json or "{}")
        except ValueError as error:
            raise Failure("--driver-config-json must be valid JSON", str(error)) from error
        if not isinstance(config, dict):
            raise Failure("--driver-config-json must be a JSON object keyed by driver name")
        self.create(wanted.name, vars(wanted)["from"], policy, labels, environment, config,
                    command)

    def create(self, name, image, policy, labels, environment, config, command):
        import gateway as module
        check_name(name)
        check_labels(labels)
        policies.validate(policy)
        mounted = mounts.check(config, self.gateway.knobs())
        ids = policies.identity(policy)
        spec = {"name": name, "speed": self.gateway.knobs().get("speed", 1.0),
                "mounts": mounted, "uid": ids[0], "gid": ids[1],
                "command": loosened(command, self.gateway.knobs().get("loose", {})),
                "loose": self.gateway.knobs().get("loose", {}),
                "environment": environment, "image": image,
                "no_landlock": self.gateway.knobs().get("no_landlock", False),
                "shadowed": self.gateway.knobs().get("shadowed", []),
                "image_files": self.gateway.knobs().get("image_files", {})}
        self.gateway.stage("request")
        with self.gateway.lock:
            if self.gateway.find(name):
                raise Failure(f"sandbox '{name}' already exists\n\nhint: delete it first with: "
                              "openshell sandbox delete <name>\n      or use a different name")
            box = module.Sandbox(id=str(uuid.uuid4()), name=name, labels=labels, policy=policy,
                                 spec=spec)
            self.gateway.sandboxes[name] = box
        self.gateway.save()
        # One driver makes the container before it answers, and keeps nothing that failed.
        at_once = self.driver()["name"] == "podman"
        if at_once:
            self.provision(box, image, lambda words: None)
            if box.phase == "Error" and box.reason == "Podman":
                self.gateway.forget(box)
                raise refused("internal", f"create sandbox failed: {box.message}")
        self.out(f"\n{text.title('Created sandbox:')} {text.bold(name)}\n\n")
        began = time.monotonic()
        lines = []

        def progress(words):
            shown = f"{text.dim(f'[{time.monotonic() - began:.1f}s]')} {words}\n"
            self.out(("" if lines else "  ") + shown)
            lines.append(words)

        progress("Requesting compute...")
        progress("Sandbox allocated")
        if not at_once:
            thread = threading.Thread(target=self.provision, args=(box, image, progress),
                                      daemon=True)
            thread.start()
            thread.join()
        with box.changed:
            while box.phase == "Provisioning" and not box.deleted:
                box.changed.wait(0.5)
        if box.phase == "Error":
            raise Failure("sandbox entered error phase while provisioning: "
                          f"{box.reason}: {box.message}")
        if box.deleted:
            raise not_found()
        return 0

    def provision(self, box, image, progress):
        quiet = self.quietly(progress)
        gateway = self.gateway
        try:
            quiet(f"Pulling image {image}")
            mounts.pull(gateway, image, quiet)
            mounts.sources(gateway, box.spec["mounts"])
        except mounts.EngineError as error:
            box.set_phase("Error", error.reason, str(error))
            gateway.save()
            return
        words = {"created": "Starting sandbox Container created",
                 "waiting": "Starting sandbox Waiting for supervisor relay"}

        def told(step):
            quiet(words[step])
            gateway.pause(ENGINE_SECONDS)

        gateway.provision(box, told)

    @staticmethod
    def quietly(progress):
        """The sandbox is made whether or not somebody still listens."""
        def told(words):
            try:
                progress(words)
            except OSError:
                pass
        return told

    @staticmethod
    def as_json(box, whole):
        found = {"annotations": {}, "created_at": box.created_at,
                 "current_policy_version": box.policy_loaded, "id": box.id, "labels": box.labels,
                 "name": box.name, "phase": box.phase}
        if whole:
            found.update(policy=box.policy, policy_source="sandbox")
        found["resource_version"] = box.resource_version
        if whole:
            found["revision"] = max(box.policy_version, 1)
        found["workspace"] = "default"
        return found

    def do_sandbox_get(self, argv):
        parser = Arguments(prog="get", add_help=False)
        parser.add_argument("name")
        parser.add_argument("-o", "--output", default="table")
        wanted = parser.parse_args(argv)
        box = self.box(wanted.name)
        if wanted.output == "json":
            self.out(json.dumps(self.as_json(box, True), indent=2, sort_keys=True) + "\n")
            return
        labels = "".join(f"\n    {key}: {value}" for key, value in sorted(box.labels.items()))
        self.out(f"{text.title('Sandbox:')}\n\n  {text.dim('Id:')} {box.id}\n"
                 f"  {text.dim('Name:')} {box.name}\n  {text.dim('Phase:')} {box.phase}\n"
                 f"  {text.dim('Resource version:')} {box.resource_version}\n"
                 f"  {text.dim('Labels:')} {labels}\n"
                 f"  {text.dim('Policy source:')} sandbox\n"
                 f"  {text.dim('Revision:')} {max(box.policy_version, 1)}\n\n"
                 + text.policy_block(policies.ordered(box.policy)))

    def do_sandbox_list(self, argv):
        parser = Arguments(prog="list", add_help=False)
        parser.add_argument("--selector", default="")
        parser.add_argument("--limit", type=int, default=100)
        parser.add_argument("-o", "--output", default="table")
        wanted = parser.parse_args(argv)
        with self.gateway.lock:
            boxes = list(self.gateway.sandboxes.values())
        for word in filter(None, wanted.selector.split(",")):
            key, value = _label(word)
            boxes = [box for box in boxes if box.labels.get(key) == value]
        boxes = boxes[:wanted.limit]
        if wanted.output == "json":
            self.out(json.dumps([self.as_json(box, False) for box in boxes], indent=2,
                                sort_keys=True) + "\n")
        elif not boxes:
            self.out("No sandboxes found.\n")
        else:
            width = max(4, *[len(box.name) for box in boxes])
            self.out(f"{text.bold('NAME'.ljust(width))}  {text.bold('CREATED'.ljust(19))}  "
                     f"{text.bold('PHASE')}\n")
            colours = {"Ready": text.green, "Error": text.red}
            for box in boxes:
                self.out(f"{box.name.ljust(width)}  {box.created_at}  "
                         f"{colours.get(box.phase, text.yellow)(box.phase)}\n")

    def do_sandbox_provider(self, argv):
        parser = Arguments(prog="provider", add_help=False)
        parser.add_argument("verb", choices=["list"])
        parser.add_argument("name")
        wanted = parser.parse_args(argv)
        self.box(wanted.name)
        attached = self.gateway.knobs().get("providers", [])
        if not attached:
            self.out(f"No providers attached to sandbox {wanted.name}.\n")
            return
        width = max(4, *[len(name) for name in attached])
        self.out(f"{text.bold('NAME')}{' ' * (width - 4)}  {text.bold('TYPE')}     "
                 f"{text.bold('CREDENTIAL_KEYS')}   {text.bold('CONFIG_KEYS')}\n")
        for name in attached:
            self.out(f"{name.ljust(width)}  generic  {1:<16}  0\n")

    def do_sandbox_delete(self, argv):
        parser = Arguments(prog="delete", add_help=False)
        parser.add_argument("names", nargs="+")
        wanted = parser.parse_args(argv)
        failure = self.gateway.stage("delete")
        if failure:
            self.named_failure(failure)
        for name in wanted.names:
            box = self.box(name)
            if self.gateway.delete(box):
                self.out(f"{text.TICK} Deleted sandbox {name}\n")
            else:
                self.out(f"{text.yellow('!')} Sandbox {name} not found\n")

    # --- commands inside ---

    def do_sandbox_exec(self, argv):
        before, command = self.split(argv)
        parser = Arguments(prog="exec", add_help=False)
        parser.add_argument("-n", "--name", required=True)
        parser.add_argument("--workdir", default="")
        parser.add_argument("--timeout", type=int, default=0)
        parser.add_argument("--env", action="append", default=[])
        parser.add_argument("--tty", action="store_true")
        parser.add_argument("--no-tty", action="store_true")
        wanted = parser.parse_args(before)
        box = self.box(wanted.name)
        if box.phase != "Ready":
            raise Failure(f"sandbox '{box.name}' is not ready (phase: {box.phase}); wait for it "
                          "to reach Ready state")
        live = wanted.tty and self.terminal
        stdin = b"" if live else self.stdin()
        for index, word in enumerate(command):
            if len(os.fsencode(word)) > 32768:
                raise refused("invalid", f"command argument {index} exceeds 32768 byte limit")
        failure = self.gateway.stage("exec")
        if failure:
            self.named_failure(failure)
        self.gateway.pause(EXEC_SECONDS)
        if len(stdin) > MESSAGE_CAP:
            raise refused("range", "Error, decoded message length too large: found "
                          f"{len(stdin) + 47} bytes, the limit is: 1048576 bytes")
        line = policies.command_line(command, dict(_label(word) for word in wanted.env),
                                     wanted.workdir)
        if len(os.fsencode(line)) > LINE_CAP:
            raise refused("invalid", "command construction failed: assembled command string "
                          f"exceeds {LINE_CAP} byte limit")
        if len(os.fsencode(line)) > WORD_CAP:
            # No shell can be started with a word of that length, and nobody says so.
            self.gateway.pause(15)
            raise refused("unavailable", RELAY_CLOSED)
        return self.relay(box, line, wanted.tty, live, stdin, wanted.timeout)

    def stdin(self):
        wire.send(self.sock, b"Q")
        parts, size = [], 0
        while True:
            letter, data = wire.receive(self.sock)
            if letter == b"E":
                break
            size += len(data)
            parts.append(data)
        if size > STDIN_CAP:
            raise Failure(f"stdin payload exceeds {STDIN_CAP} byte limit; pipe smaller inputs or "
                          "use `sandbox upload`")
        return b"".join(parts)

    def relay(self, box, line, tty, live, stdin, timeout):
        kind = "ExecSandboxInteractive" if live else "ExecSandbox"
        try:
            inner = box.container.connect()
        except OSError as error:
            # The phase said Ready and nobody is there: it waits for the supervisor's session.
            self.gateway.pause(SESSION_SECONDS)
            raise refused("unavailable", "supervisor relay failed: " + text.status_text(
                "unavailable", "supervisor session not connected")) from error
        self.inner = inner
        log(box, "gateway", "INFO ", "openshell_server::supervisor_session",
                    "supervisor session: relay opened successfully")
        log(box, "gateway", "INFO ", "openshell_server::supervisor_session",
                    "relay stream: claimed pending relay, bridging")
        log(box, "gateway", "INFO ", "openshell_server::grpc::sandbox",
                    f"{kind} (relay): command started")
        wire.send(inner, b"X", json.dumps({
            "command": line, "tty": tty, "rows": self.rows, "cols": self.columns,
            "channel": str(uuid.uuid4())}).encode("utf-8", "surrogateescape"))
        late = RELAY_SECONDS * self.gateway.knobs().get("speed", 1.0) if live else 0
        downward = Delay(late, self.pass_down)
        if live:
            wire.send(self.sock, b"T")
            threading.Thread(target=self.upward, args=(inner, box, late), daemon=True).start()
        else:
            threading.Thread(target=self.feed, args=(inner, stdin), daemon=True).start()
        if timeout:
            inner.settimeout(timeout)
        deadline = time.monotonic() + timeout
        try:
            while True:
                if timeout:
                    inner.settimeout(max(0.001, deadline - time.monotonic()))
                letter, data = wire.receive(inner)
                if letter == b"X":
                    self.ended = True
                    downward.close()
                    return int(data)
                downward.send(letter, data)
        except socket.timeout:
            return 124
        except (EOFError, OSError):
            if self.broken:
                return 1
            log(box, "gateway", "WARN ", "openshell_server::grpc::sandbox", f"{kind} failed")
            raise refused("unavailable", RELAY_CLOSED) from None
        finally:
            downward.close()
            inner.close()

    def pass_down(self, letter, data):
        with self.lock:
            if not self.broken:
                wire.send(self.sock, letter, data)

    def upward(self, inner, box, late):
        delay = Delay(late, lambda letter, data: wire.send(inner, letter, data))
        try:
            while True:
                delay.send(*wire.receive(self.sock))
        except (OSError, EOFError, ValueError):
            delay.close()
            # The command is gone. What it ran inside is told nothing.
            if not self.ended:
                log(box, "gateway", "WARN ", "openshell_server::grpc::sandbox",
                    "ExecSandboxInteractive failed")
            try:
                inner.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @staticmethod
    def feed(inner, data):
        try:
            for start in range(0, len(data), wire.CHUNK):
                wire.send(inner, b"I", data[start:start + wire.CHUNK])
            wire.send(inner, b"E")
        except OSError:
            pass

    def relay_closed(self):
        """The gateway stops while a command runs."""
        if self.inner is not None:
            try:
                self.inner.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
