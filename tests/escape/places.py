# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Behind what the probes are run: outside, which is their control, and each wall."""

import fcntl
import json
import os
import pty
import pwd
import shlex
import shutil
import subprocess
import tempfile
import termios
from pathlib import Path

import probes
from accounts import make_account, scaled
from replays import replay, shell
from walls import RealOpenshell, make_wall
from world import LATER, Stage

# One for each run: the first of two to end takes its account away.
ACCOUNT = f"ow-esc{os.getpid()}"
# Those that swap the folder come last.
SWAPS = ["moved-out", "swapped"]


class People:
    """(uid, gid) of the ordinary account: the caller's, or one of the bench's own."""

    def __enter__(self):
        self.made = False
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", "--home-dir",
                        "/nonexistent", "--shell", "/bin/bash", ACCOUNT], check=True)
        entry, self.made = pwd.getpwnam(ACCOUNT), True
        return entry.pw_uid, entry.pw_gid

    def __exit__(self, *failure):
        if self.made:
            subprocess.run(["userdel", ACCOUNT], check=False)


def read_lines(text, names, errors):
    """{probe: (verdict, words)} of what escape-probe wrote; one of @names that is not there is broken."""
    said = {}
    for line in text.replace("\r", "").splitlines():
        words = line.split("\t")
        if len(words) == 3:
            said[words[0]] = words[1], words[2]
    why = (errors or text.encode()).decode(errors="replace").strip()[-300:]
    return {name: said.get(name, ("broken", f"not heard of: {why}")) for name in names}


class Place:
    """One way to run the probes. @by_root: as root, for a folder of root's."""

    # Probes that run apart; {number: (probes, what its documentation says of them)}; {probe: why it
    # says nothing here}.
    apart, notes, not_carried = (), {}, {}

    def __init__(self, bench, by_root=False):
        self.bench, self.by_root = bench, by_root

    def __enter__(self):
        self.top = Path(tempfile.mkdtemp(prefix="ow-esc-", dir="/var/tmp"))
        self.top.chmod(0o755)
        ids = (0, 0) if self.by_root else self.bench.ids
        os.chown(self.top, *ids)
        self.account = make_account(self.top, *ids)
        self.account.extra_env["OPENWORKER_LIBEXEC"] = str(self.bench.programs / "libexec")
        self.folder = self.account.mkdir(self.account.workspace.folder)
        self.prepare()
        return self

    def __exit__(self, *failure):
        self.finish()
        shutil.rmtree(self.top, ignore_errors=True)

    def prepare(self):
        """Before the world is made."""

    def finish(self):
        """Ends what prepare began."""

    def argv(self, command, terminal):
        """@command behind the wall. @terminal: its input is a terminal."""
        raise NotImplementedError

    def version(self):
        return ""

    def run(self):
        """{probe: (verdict, words)} of all that can be tried here, and the stage's reasons."""
        with Stage(self.account, self.bench.probe, self.bench.network) as stage:
            self.account.extra_env.update(self.kept(stage.env))
            if type(self) is Outside:
                stage.write_plan(**{"outside.wall": "none"})
            special = {probes.TERMINAL, probes.CONSOLE, *SWAPS, *self.apart}
            said = self._call(stage, [name for name in self.bench.names if name not in special])
            apart = [name for name in self.apart if name in self.bench.names]
            said.update(self.run_apart(stage, apart))
            looks = stage.looks()
            for name, (verdict, words) in said.items():
                if verdict == "open" and name in looks and not looks[name]():
                    said[name] = "held", f"{words}; nothing of it is there outside"
            said.update(self._terminal(stage))
            end = stage.helper()
            try:
                said.update(self._call(stage, [name for name in SWAPS if name in self.bench.names]))
            finally:
                end()
            return said, stage.missing

    def run_apart(self, stage, names):
        """{probe: (verdict, words)} of those in `apart`."""
        return {}

    def kept(self, env):
        return env

    def _command(self, stage, names):
        return [str(self.folder / "escape-probe"), str(self.folder / "escape.plan"), *names]

    def _call(self, stage, names, **options):
        if not names:
            return {}
        leaky = [self.bench.probe, "--with", stage.plan["home.file"], self.account.workspace.home,
                 stage.token, "--"]
        terminal = options.pop("terminal", False)
        process = self.account.popen(
            [*leaky, *self.argv(self._command(stage, names), terminal)], cwd=self.folder,
            **{"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options},
            stdout=subprocess.PIPE)
        try:
            text, errors = process.communicate(timeout=scaled(600))
        except subprocess.TimeoutExpired:
            process.kill()
            text, errors = process.communicate()
        return read_lines(text.decode(errors="replace"), names, errors)

    def _terminal(self, stage):
        """The two that need a terminal of a person's outside."""
        said = {}
        if probes.TERMINAL in self.bench.names:
            master, slave = pty.openpty()
            said = self._call(stage, [probes.TERMINAL], stdin=slave, stderr=slave, terminal=True,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            os.set_blocking(slave, False)
            try:
                typed = os.read(slave, 4096)
            except BlockingIOError:
                typed = b""
            os.close(slave)
            os.close(master)
            verdict, words = said[probes.TERMINAL]
            if verdict == "open" and b"escaped" not in typed:
                said[probes.TERMINAL] = "held", f"{words}, not into the terminal outside"
        if probes.CONSOLE in self.bench.names:
            try:
                console = os.open("/dev/tty63", os.O_RDWR | os.O_NOCTTY)
            except OSError:
                stage.missing[probes.CONSOLE] = "no virtual console can be had here"
                return {**said, probes.CONSOLE: ("void", "")}
            said.update(self._call(
                stage, [probes.CONSOLE], stdin=console, terminal=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 1)))
            os.close(console)
        return said


def last_word(done):
    return done.stdout.split()[-1]


class Outside(Place):
    """No wall and no program of ours: the control."""

    def argv(self, command, terminal):
        return command


class OpenWorker(Place):
    """`openworker sandbox exec` with a provider."""

    provider = None

    def prepare(self):
        self.wall = make_wall(self.provider, self.account, self.bench.ids)

    def finish(self):
        self.wall.end()

    def argv(self, command, terminal):
        return [str(self.bench.programs / "openworker"), "sandbox", "exec", *self.wall.argv, "--folder",
                str(self.folder), "--", *command]

    def version(self):
        return f"openworker {last_word(self.account.run([self.bench.programs / 'openworker', '--version']))}"


class Direct(OpenWorker):
    provider = "direct"


class Walled(OpenWorker):
    """What runs later outside is no matter of the wall: it is written by a session, and looked for in
    what the person is told of at its end (hole S08)."""

    apart = probes.LATER

    def run_apart(self, stage, names):
        if not names:
            return {}
        out = self.folder / "later.out"
        words = shlex.join(self._command(stage, names))
        recording = replay(self.account, self.account.workspace, shell(f"{words} > later.out 2>&1"))
        done = self._ours(["run", *self.wall.argv, "--approve", "sandboxed", "--json", "--folder",
                           self.folder, "--model", f"replay:{recording}", "Do it."])
        if done.returncode != 0 or not out.exists():
            return dict.fromkeys(names, ("broken", f"no session: {done.stderr.strip()[-300:]}"))
        said = read_lines(out.read_text(), names, done.stderr.encode())
        session = json.loads(done.stdout.splitlines()[0])["session"]
        done = self._ours(["sessions", "changes", session, "--json"])
        listed = {entry["path"] for entry in json.loads(done.stdout).get("settings", [])}
        for name, (verdict, words) in said.items():
            path = LATER[name.removeprefix("later-")]
            if verdict == "open" and str(self.folder / path) in listed:
                said[name] = "listed", f"{words}, and the person is told"
        return said

    def _ours(self, words):
        return self.account.run([self.bench.programs / "openworker", *words], timeout=300)


class Bubblewrap(Walled):
    provider = "bubblewrap"

    def version(self):
        return f"{super().version()}, bubblewrap {last_word(self.account.run(['bwrap', '--version']))}"


class Openshell(Walled):
    """Its simulation: a container that no engine made."""

    provider = "openshell"
    not_carried = {
        **dict.fromkeys(["sys-write", "cgroup-agent", "cgroup-move"],
                        "the simulation has no /sys, which an engine mounts read-only"),
        **dict.fromkeys(["device-there", "device-kmsg", "device-made", "device-left"],
                        "the simulation has no rules for devices, which an engine sets"),
        **dict.fromkeys(["dns-direct", "dns-tcp", "dns-resolver"],
                        "the simulation has no network but its proxy, and no name server"),
    }


class OpenshellReal(Walled):
    """As docs/openshell-contract.md has it: with the variables, as root. Who may disturb the gateway
    may start it too, and does so in the bench's network; another one is not reached from there."""

    provider = "openshell"

    def prepare(self):
        if RealOpenshell.CONTROL:
            subprocess.run([RealOpenshell.CONTROL, "start"], check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL)
        self.wall = RealOpenshell(self.account)

    def finish(self):
        self.wall.end()
        if RealOpenshell.CONTROL:
            self.wall.control("stop")

    def version(self):
        openshell = last_word(self.account.run([RealOpenshell.COMMAND, "--version"]))
        return f"{super().version()}, OpenShell {openshell}"
