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
import socket
import subprocess
import time
from pathlib import Path

from accounts import TIME_SCALE

FAKES = Path(__file__).resolve().parents[1] / "fakes/openshell"
PROGRAM = "/usr/bin/python3"


class OpenshellSim:
    """The simulation of one account; tests/fakes/openshell/README.md says what it does.

    Knobs (of the constructor and of set()): version (of the command), gateway_version, version_text
    and version_exit (instead of the version's line), speed (1 takes the time of a real one, 0 none
    of it), drain (of ten seconds after SIGTERM), driver {"name", "version"}, bind_mounts (False:
    the gateway's configuration does not allow them), images (list of what the engine has; None:
    all but localhost/…), hosts ({"host:443": "127.0.0.1:8443"}: where an allowed host lies),
    no_landlock (the kernel has none), shadowed (targets whose mount the image hides), image_files
    ({path: text} in the image), loose (what
    a wall has that does not hold: under, folders of this machine that are shown; over {path: file};
    over_file {folder's name: file in it}; writable and empty, names of folders that are so;
    read_only and read_write, paths for Landlock; words for the main command; hosts, network: True
    where all is let through), status {"status", "authentication"} of `status`.

    Stages of slow() and fail(): "call" (any call that reaches the gateway), "create", "image",
    "pull", "delete", "exec", "policy-update"; of slow() only: "request" (a create, before the
    gateway has anything to show). Kinds for fail(): of calls "unauthenticated",
    "denied", "certificate" (the gateway has another than the command trusts), "dropped" (the
    connection ends), "hang" (no answer, ever), "garbage", "unavailable"; of image and pull "pull",
    "pull-denied", "pull-unauthorized", "pull-missing", "disk-full", "ok"; of create
    "create-disk-full", "start", or any text as the engine's own."""

    def __init__(self, account, state=None, name="dev", **knobs):
        self.account, self.name = account, name
        self.state = Path(state or account.workspace.path / "openshell")
        self.home = account.workspace.home
        self.programs = self.state / "bin"
        self.gateway, self._life, self._failures = None, None, 0
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
        if self._life is None:
            self._life = os.pipe()
        if first:
            # A copy: the tree itself may lie where only its owner can go.
            self.account.mkdir(self.state, 0o700)
            shutil.copytree(FAKES, self.programs, ignore=shutil.ignore_patterns("__pycache__"))
            self.account.give(self.state)
        (self.state / "port").unlink(missing_ok=True)
        self._save()
        # The mark tells who looks for what a test left that this is the test's own.
        environment = self.account.env(PATH="/usr/sbin:/usr/bin:/sbin:/bin",
                                       OPENWORKER_TEST_GATEWAY=self.name)
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

    def slow(self, stage, seconds):
        """Each @stage takes that much longer; 0 ends it."""
        self.set(slow={**self._knobs.get("slow", {}), stage: seconds})

    def fail(self, stage, kind, times=None):
        """Makes @stage fail, for ever or so often; None as the kind ends it."""
        self._failures += 1
        value = kind if times is None or kind is None else {
            "kind": kind, "times": times, "number": self._failures}
        self.set(fail={**self._knobs.get("fail", {}), stage: value})

    def set_version(self, version, gateway=None):
        self.set(version=version, gateway_version=gateway or version)

    def set_driver(self, name, version=None, bind_mounts=True):
        version = version or {"docker": "28.3.2", "podman": "5.4.2"}.get(name, "1.0")
        self.set(driver={"name": name, "version": version}, bind_mounts=bind_mounts)

    def image(self, name=None, present=True):
        """Whether the engine has the image @name (every one when None)."""
        if name is None:
            self.set(images=None if present else [])
            return
        images = [image for image in self._knobs.get("images") or [] if image != name]
        self.set(images=images + [name] if present else images)

    # --- containers ---

    def containers(self):
        """{name of the sandbox: directory of its container} of those that run."""
        found = {}
        for path in self.state.glob("containers/*/spec.json"):
            if self._order(path.parent, None):
                found[json.loads(path.read_text())["name"]] = path.parent
        return found

    def box_of(self, workspace):
        """The name of the sandbox that @workspace has now."""
        entries = list((workspace.state / "registry").glob("*.json"))
        return f"ow-{entries[0].stem}" if entries else None

    def members(self, name):
        """The processes inside, by the host's numbers: {pid: command}."""
        directory = self.containers()[name]
        first = int((directory / "pid").read_text().split()[1])
        mark, found = os.readlink(f"/proc/{first}/ns/pid"), {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") == mark:
                    command = Path("/proc", entry, "cmdline").read_bytes()
                    found[int(entry)] = command.replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
        return found

    def remove_container(self, name):
        """`docker rm -f`: the sandbox is Provisioning for some seconds, then not there."""
        self._mark(name, "removed", b"kill")

    def kill_container(self, name):
        """`docker kill`: the sandbox is in phase Error."""
        self._mark(name, None, b"kill")

    def phantom(self, name):
        """The container goes, and the phase says Ready for ever."""
        self._mark(name, "phantom", b"kill")

    def pause(self, name):
        """`docker pause`: nothing inside answers; the phase becomes Error within 2 s."""
        self._mark(name, "paused", b"pause")

    def unpause(self, name):
        directory = self.containers()[name]
        (directory / "paused").unlink()
        self._order(directory, b"unpause")

    def _mark(self, name, mark, word):
        directory = self.containers()[name]
        if mark:
            self.account.write(directory / mark, "")
        if not self._order(directory, word):
            raise RuntimeError(f"the container of {name} does not answer")

    @staticmethod
    def _order(directory, word):
        """Tells a container's process on the host's side; None only asks whether it is there."""
        place = os.open(directory, os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(20 * TIME_SCALE)
                sock.connect(f"/proc/self/fd/{place}/c")
                if word is None:
                    return True
                sock.send(word)
                return sock.recv(16) == b"done"
        except OSError:
            return False
        finally:
            os.close(place)

    # --- what programs need ---

    def env(self, **more):
        """What an account's environment needs so that programs find this openshell."""
        path = self.account.env()["PATH"]
        return {"PATH": f"{self.programs}:{path}", **more}

    def install(self):
        """Puts it first on the account's PATH for all that the test starts."""
        self.account.extra_env.update(self.env())
        return self

    # --- calls ---

    def calls(self):
        """Every call of the command so far: [(time, pid, argv)], oldest first."""
        try:
            lines = (self.state / "calls").read_text(errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            words = line.replace("\\n", "\n").replace("\\\\", "\\").split("\0")
            found.append((float(words[0]), int(words[1]), words[2:]))
        return found

    def run(self, *argv, **options):
        """`openshell ARGV...` as the account."""
        return self.account.run([self.programs / "openshell", *argv], **options)


# What the program asks of openshell, by its first words, and the only command that it runs inside.
# None takes files out of a sandbox or puts them into it: they go over the mounts.
VERBS = {("--version",), ("status",), ("gateway", "info"), ("logs",), ("policy", "update"),
         *[("sandbox", verb) for verb in ("create", "get", "list", "provider", "exec", "delete")]}
RUNNER = "/opt/openworker/openworker-runner"


def check_calls(sim):
    """The verbs of every call so far, each of which must be one that the program may use (hole S16)."""
    made = set()
    for _, _, argv in sim.calls():
        verb = next((verb for verb in VERBS if tuple(argv[:len(verb)]) == verb), None)
        assert verb is not None, f"openshell was asked for {argv}"
        if verb[-1] == "exec":
            assert argv[argv.index("--") + 1] == RUNNER, f"openshell was asked to run {argv}"
        made.add(verb)
    return made
