# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Where a project is built and tested: outside, and behind each wall; each time from a fresh copy of
its source, at the same path, with the same script."""

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import counts  # noqa: E402
import sources  # noqa: E402
from accounts import make_account, scaled  # noqa: E402
from walls import make_wall  # noqa: E402

# One for each run: the first of two to end takes its account away.
ACCOUNT = f"ow-work{os.getpid()}"
STEP = "@@openworker-step@@"
STEPS = ("install", "build", "test")


@dataclass
class Outcome:
    """What came of one run: the exit status, what the project's own runner counted in the test, how
    long each step took, and which hosts the proxy let it reach."""
    status: int
    counts: counts.Counts | None
    seconds: dict
    log: str
    hosts: list = field(default_factory=list)

    @property
    def good(self):
        return self.status == 0 and self.counts is not None and self.counts.passed > 0


class People:
    """The ordinary account that the projects belong to: the caller, or one of the suite's own."""

    def __enter__(self):
        self.made = False
        if os.geteuid() != 0:
            self.uid, self.gid = os.geteuid(), os.getegid()
            return self
        try:
            entry = pwd.getpwnam(ACCOUNT)
        except KeyError:
            subprocess.run(["useradd", "--system", "--user-group", "--no-create-home",
                            "--home-dir", "/nonexistent", "--shell", "/bin/bash", ACCOUNT],
                           check=True)
            entry, self.made = pwd.getpwnam(ACCOUNT), True
        self.uid, self.gid = entry.pw_uid, entry.pw_gid
        return self

    def __exit__(self, *failure):
        if self.made:
            subprocess.run(["userdel", ACCOUNT], check=False)


def copy_programs(build, target):
    """The built programs, where every account can read them."""
    (target / "libexec").mkdir(mode=0o755)
    for source, name in [(build / "src/cli/openworker", "openworker"),
                         (build / "libexec/openworker-runner", "libexec/openworker-runner"),
                         (build / "libexec/openworker-proxy", "libexec/openworker-proxy")]:
        shutil.copy2(source, target / name)
        (target / name).chmod(0o755)


def script_of(project, folder, settings):
    """The one script that every place runs. A step that fails ends it."""
    lines = ["set -eu", f"cd {folder}/src", f"export {settings}" if settings else ":",
             # In the project's folder, so that both sides begin without what was got before.
             f"export GOPATH={folder}/go GOCACHE={folder}/go/cache GOFLAGS=-modcacherw",
             f"export CARGO_HOME={folder}/cargo CARGO_TERM_COLOR=never NO_COLOR=1 GOTOOLCHAIN=local",
             f'step () {{ printf "\\n{STEP} %s %s\\n" "$1" "$EPOCHREALTIME"; }}',
             "trap 'status=$?; step end; exit $status' EXIT"]
    for name in STEPS:
        if project.get(name):
            lines += [f"step {name}", project[name].strip()]
    return "\n".join([*lines, ""])


def read_steps(text):
    """({step: seconds}, the text of the test)"""
    marks = list(re.finditer(rf"^{STEP} (\w+) ([\d.]+)$", text, re.M))
    seconds, tested = {}, ""
    for mark, following in zip(marks, marks[1:]):
        seconds[mark[1]] = float(following[2]) - float(mark[2])
        if mark[1] == "test":
            tested = text[mark.end():following.start()]
    return seconds, tested


def where_they_lie(hosts):
    """Of @hosts, by which address this machine reaches each: the simulation refuses, as the real one
    does, addresses that mirrors of a registry may have."""
    places = {}
    for host in hosts:
        try:
            address = socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        except OSError:
            continue
        places[f"{host}:443"] = f"{address}:443"
    return places


class Place:
    """One of: outside, bubblewrap started by the ordinary account, bubblewrap started by root for
    that account's folder, a simulated openshell."""

    def __init__(self, name, people, programs, settings, reached=()):
        self.reached = reached
        self.name, self.people, self.programs, self.settings = name, people, programs, settings
        self.wall, self.provider = None, name.partition("-")[0]

    def __enter__(self):
        self.top = Path(tempfile.mkdtemp(prefix="ow-", dir="/var/tmp"))
        self.top.chmod(0o755)
        by_root = self.name.endswith("-root")
        uid, gid = (0, 0) if by_root else (self.people.uid, self.people.gid)
        os.chown(self.top, uid, gid)
        self.account = make_account(self.top, uid, gid)
        if by_root:
            self.account.folder_owner = (self.people.uid, self.people.gid)
        self.folder = self.account.mkdir(self.account.workspace.folder)
        if self.provider != "outside":
            self.wall = make_wall(self.provider, self.account, (self.people.uid, self.people.gid))
            self.account.write(self.account.workspace.config / "config.toml",
                               f"sandbox_extra_hosts = {json.dumps(self.settings.hosts)}\n")
            if self.wall.is_openshell:
                self.wall.sim.set(hosts=where_they_lie(self.reached))
        return self

    def __exit__(self, *failure):
        if self.wall is not None:
            self.wall.end()
        subprocess.run(["chmod", "-R", "u+w", str(self.top)], check=False,
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def _argv(self):
        command = ["/bin/bash", str(self.folder / "work-inside.sh")]
        if self.wall is None:
            return command
        return [str(self.programs / "openworker"), "sandbox", "exec", *self.wall.argv,
                "--folder", str(self.folder), "--", *command]

    def _env(self):
        """Outside it is the environment that the wall gives, by the names that both have."""
        if self.wall is not None:
            return {"OPENWORKER_LIBEXEC": str(self.programs / "libexec"),
                    **self.settings.authorities}
        return {**self.settings.authorities, "PATH": sources.PATH, "LANG": "C.UTF-8", "TMPDIR": "/tmp", "LC_ALL": None,
                "TERM": None, **{f"XDG_{name}_HOME": None
                                 for name in ("CONFIG", "DATA", "STATE", "CACHE")}}

    def _reached(self):
        """The hosts that the wall let through, as the record of the program has them."""
        record = self.account.workspace.state / "audit.jsonl"
        lines = record.read_text().splitlines() if record.exists() else []
        events = [json.loads(line).get("event", {}) for line in lines]
        return sorted({event["host"] for event in events
                       if event.get("type") == "host-decision" and event["decision"] == "allow"})

    def run(self, project, archive):
        """Runs @project here from its start."""
        sources.unpack(archive, self.folder / "src")
        (self.folder / "work-inside.sh").write_text(
            script_of(project, self.folder, self.settings.exports))
        self.account.give(self.folder)
        process = self.account.popen(self._argv(), env=self._env(), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said = process.communicate(timeout=scaled(project.get("minutes", 10) * 60))[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(3)
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0] + b"\nIt did not end in its time.\n"
        text = said.decode(errors="replace")
        seconds, tested = read_steps(text)
        return Outcome(process.returncode, counts.read(project["counts"], tested), seconds, text,
                       self._reached() if self.wall is not None else [])
