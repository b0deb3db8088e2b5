# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A simulated openshell for one account: the command, the gateway, its containers.

    with OpenshellSim(account) as sim:
        account.run([openworker, ...])          # finds `openshell` first on its PATH

It keeps everything under one directory of the account. When the test process goes, however it
goes, the gateway and every container go too."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

FAKES = Path(__file__).resolve().parents[1] / "fakes/openshell"
TIME_SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))
PROGRAM = "/usr/bin/python3"


class OpenshellSim:
    """The simulation of one account. See tests/fakes/openshell/README.md for what it does."""

    def __init__(self, account, state=None, name="dev", **knobs):
        self.account, self.name = account, name
        self.state = Path(state or account.workspace.path / "openshell")
        self.home = account.workspace.home
        self.programs = self.state / "bin"
        self.gateway, self._life = None, None
        self._knobs = {"version": "0.0.116", **knobs}

    # --- its life ---

    def __enter__(self):
        return self.start()

    def __exit__(self, *failure):
        self.stop()

    @property
    def config(self):
        return self.home / ".config/openshell"

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._knobs['port']}"

    def start(self):
        """Starts the gateway (again) and registers it for the account."""
        first = not self.programs.exists()
        if first:
            # A copy: the tree itself may lie where only its owner can go.
            self.account.mkdir(self.state, 0o700)
            shutil.copytree(FAKES, self.programs, ignore=shutil.ignore_patterns("__pycache__"))
            self.account.give(self.state)
            self._life = os.pipe()
        (self.state / "port").unlink(missing_ok=True)
        self._save()
        environment = self.account.env(PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        log = open(self.state / "gateway.log", "ab")
        self.gateway = subprocess.Popen(
            self.account.argv([PROGRAM, "-SB", str(self.programs / "gateway.py"),
                               str(self.state)]),
            stdin=self._life[0], stdout=log, stderr=log, env=environment, cwd="/",
            start_new_session=True)
        log.close()
        deadline = time.monotonic() + 20 * TIME_SCALE
        while not (self.state / "port").exists():
            if self.gateway.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the gateway did not start: {self.log()}")
            time.sleep(0.005)
        self._knobs["port"] = int((self.state / "port").read_text())
        self._save()
        if first:
            self.register()
        return self

    def register(self):
        """What `gateway add` leaves in the account's configuration."""
        write = self.account.write
        write(self.config / f"gateways/{self.name}/metadata.json", json.dumps({
            "name": self.name, "gateway_endpoint": self.endpoint, "is_remote": False,
            "gateway_port": self._knobs["port"], "auth_mode": "plaintext"}))
        write(self.config / "active_gateway", self.name)
        write(self.config / "simulation", str(self.state))

    def stop(self):
        """Ends the gateway and every container, whatever state they are in."""
        if self._life is not None:
            os.close(self._life[1])
            os.close(self._life[0])
            self._life = None
        if self.gateway is not None:
            self.gateway.kill()
            self.gateway.wait()
        deadline = time.monotonic() + 20 * TIME_SCALE
        while self._container_pids() and time.monotonic() < deadline:
            time.sleep(0.01)
        left = self._container_pids()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill(self):
        """SIGKILL for the gateway: connections break, containers run on."""
        self.gateway.kill()
        self.gateway.wait()

    def terminate(self, wait=True):
        """SIGTERM: up to ten seconds for running commands, then the containers stop."""
        self.gateway.terminate()
        if wait:
            self.gateway.wait(60 * TIME_SCALE)

    def restart(self):
        """What `systemctl --user restart` does."""
        if self.gateway.poll() is None:
            self.terminate()
        return self.start()

    def log(self):
        try:
            return (self.state / "gateway.log").read_text(errors="replace")
        except OSError:
            return ""

    def _container_pids(self):
        found = []
        for path in self.state.glob("containers/*/pid"):
            for word in path.read_text().split():
                try:
                    state = Path("/proc", word, "stat").read_text().rsplit(")", 1)[1].split()[0]
                    environment = Path("/proc", word, "environ").read_bytes()
                except OSError:
                    continue
                if state != "Z" and os.fsencode(self.state) in environment:
                    found.append(int(word))
        return found

    # --- knobs ---

    def _save(self):
        new = self.state / "knobs.new"
        self.account.write(new, json.dumps(self._knobs), 0o644)
        new.rename(self.state / "knobs.json")

    def set(self, **knobs):
        """Sets knobs by name; None takes one away."""
        for name, value in knobs.items():
            if value is None:
                self._knobs.pop(name, None)
            else:
                self._knobs[name] = value
        self._save()

    def env(self):
        """What an account's environment needs so that programs find this openshell."""
        path = self.account.env()["PATH"]
        return {"PATH": f"{self.programs}:{path}"}

    # --- calls ---

    def run(self, *argv, **options):
        """`openshell ARGV...` as the account."""
        return self.account.run([self.programs / "openshell", *argv], **options)
