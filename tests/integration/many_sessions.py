# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Many sessions of one engine at once, and what they take: memory, wakings, descriptors.

    with Many(account, engine, argv) as many:
        many.start(20)
        many.memory(), many.wakings(10)
"""

import json
import os
import time
from pathlib import Path

from conftest import scaled
from engine_client import EngineClient
from replays import replay, shell

PROC = Path("/proc")
# Commands that a face may have open.
AT_ONCE = 32
# A sandbox's programs are given to it by one that is nobody's child here.
OURS = ("openworker", "bwrap", "bash")


def parents():
    """{pid: parent} of all processes."""
    found = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            found[int(entry.name)] = int((entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def below(root):
    """All processes that come from @root, by their parents."""
    found, children = [], {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    waiting = list(children.get(root, []))
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def memory(pid):
    """Bytes: the process's share (PSS), and what is its own alone."""
    pss = own = 0
    try:
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]:
            name, value, *_ = line.split()
            if name == "Pss:":
                pss = int(value) * 1024
            elif name in ("Private_Clean:", "Private_Dirty:"):
                own += int(value) * 1024
    except OSError:
        pass
    return pss, own


def wakings(pid):
    """{thread: how often it has gone to sleep since it began, which is once for each time it woke}"""
    found = {}
    for task in (PROC / str(pid) / "task").glob("*/status"):
        try:
            for line in task.read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    found[pid, task.parent.name] = int(line.split()[1])
        except OSError:
            pass
    return found


def arguments(pid):
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b"gone"]


def command(pid):
    words = arguments(pid)
    name = os.path.basename(words[0]).decode()
    return f"{name} {words[1].decode()}" if name.startswith("openworker") and len(words) > 2 else name


class Many:
    """Sessions of @engine (Up), each in a folder of its own, that have done a turn and wait."""

    def __init__(self, account, engine, provider):
        self.account, self.engine, self.provider = account, engine, provider
        self.client = EngineClient(account)
        self.model = replay(account, account.workspace, shell("echo x > done"),
                            ("write", {"path": "a.txt", "content": "a\n"}, "2 bytes"), last="Done.")
        self.sessions = []

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.client.close()

    def folder(self, number):
        return self.account.mkdir(self.account.workspace.path / f"folders/{number}")

    def begin(self, folder):
        return self.client.send("session.start", {
            "folders": [str(folder)], "task": "Do it.", "model": f"replay:{self.model}", "keep": True,
            "provider": self.provider, "approve": "sandboxed", "interactive": True})

    def start(self, n, seconds=120, folders=None):
        """@n more of them, all at once; returns how long until the last had done its turn."""
        folders = folders or [self.folder(len(self.sessions) + at) for at in range(n)]
        self.client.command("face.watch", {"answers": False})
        begun = time.monotonic()
        new = []
        for at in range(0, len(folders), AT_ONCE):
            names = [self.begin(folder) for folder in folders[at:at + AT_ONCE]]
            new += [self.client.answer(name, seconds)["session"] for name in names]
        self.sessions += new
        self.wait(new, "turn-ended", seconds)
        return time.monotonic() - begun

    def wait(self, sessions, kind, seconds):
        left = set(sessions)
        deadline = time.monotonic() + scaled(seconds)
        while True:
            for event in self.client.events:
                if event["type"] == kind:
                    left.discard(event["session"])
                elif event["type"] == "session-ended" and kind != "session-ended":
                    raise AssertionError(json.dumps(event))
            self.client.events.clear()
            if not left:
                return
            assert time.monotonic() < deadline, f"{len(left)} of {len(sessions)} sessions had no {kind}"
            message = self.client.read(seconds)
            assert message is not None, "the engine has gone"
            self.client.take(message)

    def end(self, seconds=120):
        """Ends all of them at once; returns how long it took."""
        begun = time.monotonic()
        for at in range(0, len(self.sessions), AT_ONCE):
            names = [self.client.send("session.end", {"session": session})
                     for session in self.sessions[at:at + AT_ONCE]]
            for name in names:
                self.client.answer(name, seconds)
        self.wait(self.sessions, "session-ended", seconds)
        self.sessions = []
        return time.monotonic() - begun

    def processes(self):
        """Those of the sessions: what the engine started, and runners in sandboxes of others."""
        found = set(below(self.engine.process.pid))
        for pid in parents():
            words = arguments(pid)
            if os.path.basename(words[0]) == b"openworker-runner" and any(
                    os.fsencode(self.account.workspace.path) in word for word in words):
                found |= {pid, *below(pid)}
        return [pid for pid in found if command(pid).startswith(OURS)]

    def memory(self):
        """Bytes of all processes of the sessions, each one's share, and of the engine."""
        return (sum(memory(pid)[0] for pid in self.processes()), memory(self.engine.process.pid)[0])

    def wakings(self, seconds):
        """{what: how often} in that time, by the names of the processes; what did not wake is left out."""
        before, found = {}, {}
        pids = [*self.processes(), self.engine.process.pid]
        for pid in pids:
            before.update(wakings(pid))
        time.sleep(seconds)
        for pid in pids:
            for thread, count in wakings(pid).items():
                if count > before.get(thread, count):
                    found[command(pid)] = found.get(command(pid), 0) + count - before[thread]
        return found
