# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Who runs the programs of a test, and where: an account with a home that is not the real one, in a
private directory. Used also where no test framework is (the demonstration, benches)."""

import os
import pwd
import subprocess
from pathlib import Path

GATEWAY_MARK = b"OPENWORKER_TEST_GATEWAY="
TIME_SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))


def scaled(seconds):
    """A wait or a deadline in seconds, longer on a slow machine."""
    return seconds * TIME_SCALE


class Account:
    """Someone to run programs as, with a home that is not the real one."""

    def __init__(self, uid, gid, workspace=None):
        self.uid, self.gid, self.workspace = uid, gid, workspace
        self.extra_env = {}
        self.started = []
        self.folder_owner = None

    @property
    def is_root(self):
        return self.uid == 0

    def owner(self, path):
        """Whose a file at @path is to be: the account's, or who has the folders (walls.py)."""
        path, workspace = Path(path), self.workspace
        if self.folder_owner is None or workspace.path not in path.parents:
            return self.uid, self.gid
        own = (workspace.home, workspace.runtime, workspace.tmp, workspace.path / "openshell")
        if any(place == path or place in path.parents for place in own):
            return self.uid, self.gid
        return self.folder_owner

    def env(self, **more):
        """The whole environment of a child: nothing of the caller's."""
        home = self.workspace.home
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash",
            "USER": pwd.getpwuid(self.uid).pw_name, "TMPDIR": str(self.workspace.tmp),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.workspace.runtime),
            "OPENWORKER_TEST_TIME_SCALE": str(TIME_SCALE),
        }
        environment.update(self.extra_env)
        for name, value in more.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = str(value)
        return environment

    def argv(self, argv):
        """@argv with what makes it run as this account."""
        argv = [str(word) for word in argv]
        if self.uid == os.geteuid():
            return argv
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups",
                "--inh-caps=-all", "--", *argv]

    def popen(self, argv, env=None, cwd=None, **options):
        """Starts in a session of its own; ended with the test."""
        process = subprocess.Popen(
            self.argv(argv), env=self.env(**(env or {})), cwd=cwd or self.workspace.path,
            start_new_session=True, **options)
        self.started.append(process)
        return process

    def run(self, argv, env=None, cwd=None, timeout=60, stdin=None, **options):
        """Runs to its end, text captured; @stdin is text or None for /dev/null. A fault that the
        libraries complain of (a call with nothing where a task was meant) fails whatever test it is in."""
        feed = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(
            self.argv(argv), env=self.env(**(env or {})), cwd=cwd or self.workspace.path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, timeout=scaled(timeout), check=False, **feed, **options)
        assert "-CRITICAL **: " not in (done.stderr or ""), done.stderr
        return done

    def give(self, *paths):
        """Makes files the account's, with all that is below them."""
        for path in paths:
            for name in [path, *Path(path).rglob("*")]:
                os.chown(name, *self.owner(name), follow_symlinks=False)

    def write(self, path, content, mode=0o644):
        """A file of the account's, parents made."""
        path = Path(path)
        self.mkdir(path.parent)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        os.chown(path, *self.owner(path))
        return path

    def mkdir(self, path, mode=0o755):
        path = Path(path)
        for part in [*reversed(path.parents), path]:
            if not part.exists():
                part.mkdir(mode=mode)
                part.chmod(mode)
                os.chown(part, *self.owner(part))
        return path


class Workspace:
    """A private directory. Not under /tmp: a sandbox has a /tmp of its own, and paths of
    sockets must stay short."""

    def __init__(self, path):
        self.path = Path(path)
        self.home = self.path / "home"
        self.runtime = self.path / "run"
        self.folder = self.path / "folder"
        self.tmp = self.path / "tmp"

    @property
    def config(self):
        return self.home / ".config/coworker"

    @property
    def data(self):
        return self.home / ".local/share/coworker"

    @property
    def state(self):
        return self.home / ".local/state/coworker"

    @property
    def private_homes(self):
        return self.config / "sandbox-runtime"

    def left(self):
        """Private homes and entries of the registry. The lock stays that keeps the count of sandboxes:
        one who took it away could let two count at once."""
        return [str(path) for place in (self.private_homes, self.state / "registry") if place.exists()
                for path in place.iterdir() if path.name != "reserve.lock"]

    def processes(self):
        """{pid: command} of what has the workspace in its environment or arguments, but for the
        gateway of a simulated openshell and its end of each container."""
        found, mark = {}, os.fsencode(self.path)
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                command = Path("/proc", entry, "cmdline").read_bytes()
                environment = Path("/proc", entry, "environ").read_bytes()
                state = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if GATEWAY_MARK in environment:
                continue
            if (mark in command or mark in environment) and state != "Z":
                found[int(entry)] = command.replace(b"\0", b" ").decode(errors="replace")
        return found


def make_account(path, uid=None, gid=None):
    """An account where no test has made one: @uid and @gid, the caller's when None, at home in the
    directory @path, which is there."""
    account = Account(os.geteuid() if uid is None else uid, os.getegid() if gid is None else gid,
                      Workspace(path))
    for place in (account.workspace.home, account.workspace.runtime, account.workspace.tmp):
        account.mkdir(place, 0o700)
    return account
