# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Makes the recorded calls again, in their order, against the simulation.

run() gives {scenario: (exit, stdout, stderr)}. The recordings and what disturbed the gateway
between them are in tests/data/openshell/RELEASE; RELEASE is the build that was recorded."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from openshells import TIME_SCALE, OpenshellSim  # noqa: E402

RELEASE = "0.0.112-dev.7"
DATA = ROOT / "tests/data/openshell" / RELEASE
# Where the recording machine kept its folder; ours has a name of the same length, so that lines
# wrap alike.
FOLDER = "/srv/rec"
BOX, DISTURBED = "ow-rec0123456789", "ow-rec-dist"
SPEED = 0.2


def recorded(name):
    """The recorded calls, in order: [{scenario, argv, exit, stdout, stderr}]."""
    with open(DATA / f"{name}.jsonl", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def decoded(data):
    return data.decode("utf-8", "surrogateescape")


NORMAL = [
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\b", "<time>"),
    (r"(?m)^\[\d{10}\.\d{3}\]", "[<time>]"),
    (r"\[\d+\.\ds\]", "[<seconds>]"),
    (r"http://127\.0\.0\.1:\d{5}\b", "http://127.0.0.1:<port>"),
    (r"(\"resource_version\": |Resource version:\x1b\[0m )\d+", r"\1<n>"),
    (r"(hash: |Candidate:\x1b\[0m )[0-9a-f]{12}\b", r"\1<hash>"),
    (r"(Hash:         )[0-9a-f]{64}\b", r"\1<hash>"),
    (r"(Config rev:   )\d+", r"\1<n>"),
    (r"(/usr/bin/bash)\(\d+\)", r"\1(<pid>)"),
    (r"(ProxyCommand )/\S+/openshell ", r"\1<program> "),
]
PID_FIRST = ("stream-cli-killed", "stream-pty-closed")
PROCESSES = ("left-behind-processes", "exec-after-restart", "exec-after-kill-and-restart")


def normal(scenario, text):
    """@text with what differs from run to run made equal: ids, times, ports, counters."""
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text)
    if scenario in PID_FIRST:
        text = re.sub(r"\A\d+\r\n", "<pid>\r\n", text)
    if scenario in PROCESSES:
        # The shell lists them by their numbers as text, so their order is no order.
        text = "".join(sorted(text.splitlines(keepends=True)))
    return text


class Replay:
    """One run; @inside is the uid and gid of the policy."""

    def __init__(self, account, folder, inside=(1000, 1000)):
        self.account, self.folder, self.inside = account, folder, inside
        self.results = {}
        self.sim = OpenshellSim(account, version=RELEASE_VERSION, speed=SPEED, drain=SPEED)

    def run(self):
        with self.sim:
            self._seed()
            for call in recorded("recordings"):
                self._call(call)
            for call in recorded("disturbances"):
                self._disturbance(call)
        return self.results

    # --- single calls ---

    def _argv(self, call):
        ours = [word.replace(FOLDER, self.folder) for word in call["argv"]]
        return self.account.argv([self.sim.programs / "openshell", *ours[1:]])

    def _env(self, scenario):
        more = {}
        if scenario.startswith("status-unknown-gateway"):
            more["OPENSHELL_GATEWAY"] = "nope"
        if scenario == "status-no-color":
            more.update(NO_COLOR="1", TERM="dumb")
        return self.account.env(**more)

    def keep(self, scenario, status, out, err):
        self.results[scenario] = (status, decoded(out), decoded(err))

    def one_shot(self, call, timeout=60, stdin=b""):
        scenario = call["scenario"]
        try:
            done = subprocess.run(self._argv(call), input=stdin, capture_output=True, cwd="/",
                                  env=self._env(scenario), timeout=timeout * TIME_SCALE,
                                  check=False)
            self.keep(scenario, done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired as late:
            self.keep(scenario, "no answer in 20 s", late.stdout or b"", late.stderr or b"")

    def stream(self, call, writes=(), kill_after=None, close_after=None, timeout=30):
        master, slave = pty.openpty()
        tty.setraw(slave)
        process = subprocess.Popen(self._argv(call), stdin=slave, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self._env(call["scenario"]), cwd="/")
        os.close(slave)
        for delay, data in writes:
            time.sleep(delay)
            os.write(master, data)
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        if close_after is not None:
            time.sleep(close_after)
            os.close(master)
        try:
            out, err = process.communicate(timeout=timeout * TIME_SCALE)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            status = "still running"
        if close_after is None:
            os.close(master)
        self.keep(call["scenario"], status, out, err)

    # --- the recorded order ---

    def _seed(self):
        """The sandbox that was left on the recording machine: its policy changed once, over."""
        self._policy()
        create = next(call for call in recorded("recordings") if call["scenario"] == "create")
        self.one_shot({"scenario": "seed", "argv": [
            "ow-test1" if word == BOX else word for word in create["argv"]]})
        self.sim.run("policy", "update", "ow-test1", "--add-endpoint", "a.example:443", "--wait")
        self.sim.kill_container("ow-test1")
        self._until(lambda: self._phase("ow-test1") == "Error")

    def _policy(self, text=None):
        if text is None:
            text = f"""version: 1
filesystem_policy:
  include_workdir: false
  read_only: [/usr, /lib, /etc, /proc, /dev/urandom, /var/log]
  read_write: [/tmp, /dev/null, /dev/pts, {self.folder}]
landlock: {{compatibility: hard_requirement}}
process: {{run_as_user: "{self.inside[0]}", run_as_group: "{self.inside[1]}"}}
network_policies:
  hosts:
    name: hosts
    endpoints: [{{host: github.com, port: 443}}]
    binaries: [{{path: "/**"}}]
"""
        self.account.write(Path(self.folder) / "policy.yaml", text)

    def _call(self, call):
        scenario = call["scenario"]
        if scenario == "stream-cooked-echo":
            self.stream(call, writes=[(0.5, b"hello\n")])
        elif scenario == "stream-cli-killed":
            self.stream(call, kill_after=1.0)
        elif scenario == "stream-pty-closed":
            self.stream(call, close_after=1.0, timeout=2)
        elif scenario.startswith("stream-"):
            self.stream(call)
        elif scenario == "exec-stdin":
            self.one_shot(call, stdin=b"one\ntwo\n")
        elif scenario == "exec-stdin-over-4MiB":
            self.one_shot(call, stdin=b"x" * (4 * 1024 * 1024 + 1))
        elif scenario == "logs":
            self._until(lambda: "Flushed activity" in
                        self.sim.run("logs", BOX, "--source", "sandbox").stdout)
            self.one_shot(call)
        elif scenario == "create-policy-invalid":
            self._policy("version: 1\nfilesystem_policy: [nonsense\n")
            self.one_shot(call)
            self._policy()
        else:
            self.one_shot(call)

    # --- disturbances ---

    def _until(self, condition, seconds=30):
        deadline = time.monotonic() + seconds * TIME_SCALE
        while not condition():
            assert time.monotonic() < deadline, "the sandbox did not get there"
            time.sleep(0.05)

    def _phase(self, name):
        done = self.sim.run("sandbox", "get", name, "-o", "json")
        return json.loads(done.stdout)["phase"] if done.returncode == 0 else None

    def _ready(self):
        """The sandbox that is disturbed, made (again) where it is not there."""
        if self._phase(DISTURBED) in (None, "Error"):
            self.sim.run("sandbox", "delete", DISTURBED)
            create = next(call for call in recorded("recordings") if call["scenario"] == "create")
            self.one_shot({"scenario": "make", "argv": [
                DISTURBED if word == BOX else word for word in create["argv"]]})
        self._until(lambda: self._phase(DISTURBED) == "Ready")

    def _disturb(self, call, action, **options):
        """Runs the call and does @action one second after its start."""
        def later():
            time.sleep(1)
            action()
        thread = threading.Thread(target=later)
        thread.start()
        (self.stream if "--tty" in call["argv"] else self.one_shot)(call, **options)
        thread.join()

    def _kill_command(self):
        for pid, command in self.sim.members(DISTURBED).items():
            if command.startswith("sh -c echo begun"):
                os.kill(pid, 9)

    def _disturbance(self, call):
        scenario = call["scenario"]
        gone = lambda: self.sim.remove_container(DISTURBED)  # noqa: E731
        if "note" in call or scenario == "stream-command-killed":
            if self.sim.gateway.poll() is not None:
                self.sim.start()
            self._ready()
        if scenario.endswith("gateway-terminated"):
            self._disturb(call, self.sim.terminate)
        elif scenario.endswith("gateway-killed"):
            self._disturb(call, self.sim.kill)
        elif scenario.endswith("container-removed") and "exec" in call["argv"]:
            self._disturb(call, gone)
        elif scenario == "exec-container-paused":
            self._disturb(call, lambda: self.sim.pause(DISTURBED), timeout=5)
        elif scenario == "stream-command-killed":
            self._disturb(call, self._kill_command)
        else:
            self._before(scenario)
            self.one_shot(call)

    def _before(self, scenario):
        if scenario in ("list-after-restart", "list-after-kill-and-restart"):
            self.sim.start()
        if scenario in ("list-3s-after-restart", "list-after-kill-and-restart"):
            self._until(lambda: self._phase(DISTURBED) == "Ready")
        if scenario == "get-10s-after-removal":
            self._until(lambda: self._phase(DISTURBED) is None)


RELEASE_VERSION = next(call["stdout"].split()[-1] for call in recorded("recordings")
                       if call["scenario"] == "version")
