# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What one sandbox of bubblewrap may use of the machine: the settings, the scope that is asked for, what
holds without one, and that no command can take the machine with it (REQ-U14; holes S22, S26)."""

import json
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT, scaled, wait_until

SYSTEM_PYTHON = "/usr/bin/python3"
MANAGER = ROOT / "tests/fakes/systemd.py"
MAX_TASKS = 4096
NOT_WHOLE = "limits of this machine's settings do not hold for this session as they stand"

LIMITS = '[sandbox_limits]\ncpu = "500m"\nmemory = "300Mi"\n'

# Fills memory until it may not: says how much it had.
FILL = """
import sys
kept, mib = [], 0
try:
    while mib < 600:
        kept.append(bytearray(b"x" * (10 << 20)))
        mib += 10
        print(mib, flush=True)
except MemoryError:
    print("refused", flush=True)
"""

# Threads count as processes do, and cost less.
BOMB = """
import threading
threading.stack_size(65536)
gate, n = threading.Event(), 0
try:
    while n < 9000:
        threading.Thread(target=gate.wait).start()
        n += 1
except RuntimeError:
    pass
print("threads", n, flush=True)
gate.set()
"""


class Manager:
    """A service manager of the account's own, on a bus of its own."""

    def __init__(self, account, mode, by_root=False):
        self.account = account
        place = account.workspace.path
        self.record = place / "manager.jsonl"
        address = f"unix:path={account.workspace.runtime}/bus"
        name = "DBUS_SYSTEM_BUS_ADDRESS" if account.is_root else "DBUS_SESSION_BUS_ADDRESS"
        self.env = {name: address}
        config = account.write(place / "bus.conf", """<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default"><allow user="*"/>
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
""")
        self.start(account, ["dbus-daemon", f"--config-file={config}", f"--address={address}", "--nofork"])
        wait_until((account.workspace.runtime / "bus").exists, 10, "the bus")
        program = account.write(place / "systemd.py", MANAGER.read_bytes())
        self.record.touch()
        os.chmod(self.record, 0o666)
        argv = [SYSTEM_PYTHON, program, mode, self.record]
        env = {"DBUS_SESSION_BUS_ADDRESS": address}
        if by_root and not account.is_root:
            # Only root may move processes; the account's own manager asks for it.
            argv = ["env", *[f"{key}={value}" for key, value in account.env(**env).items()], *argv]
            process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, start_new_session=True)
            account.started.append(process)
        else:
            process = account.popen(argv, env=env, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"

    @staticmethod
    def start(account, argv):
        return account.popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def calls(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def units(self):
        return [call for call in self.calls() if "unit" in call]


def remove_cgroups(manager):
    """What the manager made for the scopes, which go with their last process."""
    for call in manager.units():
        for place in Path("/sys/fs/cgroup").glob(f"*/{call['unit']}"):
            wait_until(lambda place=place: not (place / "cgroup.procs").read_text(), 30, "the scope's end")
            place.rmdir()


@pytest.fixture
def exec_inside(account, workspace, openworker):
    def start(*command, manager=None, limits=LIMITS, timeout=60):
        account.write(workspace.config / "config.toml", 'sandbox_provider = "bubblewrap"\n' + limits, 0o600)
        return account.run([openworker, "sandbox", "exec", "--folder", workspace.folder, "--", *command],
                           env=manager.env if manager else {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"},
                           timeout=timeout)
    return start


@pytest.mark.cgroups
def test_limits_hold_in_a_scope(account, workspace, exec_inside):
    manager = Manager(account, "places", by_root=True)
    done = exec_inside(SYSTEM_PYTHON, "-c", FILL, manager=manager)
    remove_cgroups(manager)
    assert NOT_WHOLE not in done.stderr, done.stderr
    had = int(done.stdout.split()[-1])
    assert 100 <= had <= 300, done.stdout + done.stderr
    assert done.returncode == 137, done.stderr


def test_what_the_scope_is_asked_for(account, exec_inside):
    manager = Manager(account, "answers")
    exec_inside("true", manager=manager)
    call, = manager.units()
    asked = call["properties"]
    assert call["unit"].startswith("openworker-") and call["unit"].endswith(".scope")
    assert call["how"] == "fail" and call["more"] == 0
    assert asked["MemoryMax"] == 300 << 20 and asked["MemorySwapMax"] == 0
    assert asked["CPUQuotaPerSecUSec"] == 500000 and asked["TasksMax"] == MAX_TASKS
    assert asked["CollectMode"] == "inactive-or-failed"
    # bwrap and the first process inside: the runner has not begun by then.
    assert len(set(asked["PIDs"])) == len(asked["PIDs"]) == 2


@pytest.mark.parametrize("mode,why", [
    ("answers", "may not limit them here"), ("late", "may not limit them here"),
    ("refuses", "refused the scope"),
    ("fails", "could not make the scope (failed)"),
    ("silent", "not answered within two seconds"), (None, "bus of"),
])
def test_S26_without_a_scope_each_process_is_limited(account, exec_inside, mode, why):
    manager = Manager(account, mode) if mode else None
    begun = time.monotonic()
    done = exec_inside(SYSTEM_PYTHON, "-c", FILL, manager=manager)
    assert time.monotonic() - begun < scaled(40)
    said = [line for line in done.stderr.splitlines() if NOT_WHOLE in line]
    assert len(said) == 1, done.stderr
    assert "processors are not limited and memory is limited for each process by itself only" in said[0]
    assert why in said[0] and "\x1b" not in said[0], said[0]
    assert done.returncode == 0 and done.stdout.split()[-1] == "refused", done.stdout
    assert 100 <= int(done.stdout.split()[-2]) <= 300


@pytest.mark.parametrize("limits,word", [('[sandbox_limits]\nmemory = "300Mi"\n', "memory is limited for each"),
                                         ("[sandbox_limits]\ncpu = 2\n", "processors are not limited, because")])
def test_only_what_was_set_is_said(exec_inside, limits, word):
    done = exec_inside("true", limits=limits)
    assert word in done.stderr and " and " not in done.stderr.split("because")[0].split("stand:")[1], done.stderr


def test_nothing_set_is_silent(exec_inside, account):
    done = exec_inside("sh", "-c", "ulimit -d; ulimit -v", limits="")
    assert done.returncode == 0 and NOT_WHOLE not in done.stderr
    assert done.stdout.split() == ["unlimited", "unlimited"]


def test_S26_threads_and_processes_have_an_end(account, exec_inside):
    """As root with folders of root only a scope counts them (docs/security.md)."""
    if account.is_root:
        account.folder_owner = (1000, 1000)
        account.give(account.workspace.folder)
    done = exec_inside(SYSTEM_PYTHON, "-c", BOMB, limits="", timeout=120)
    assert done.returncode == 0, done.stderr
    assert MAX_TASKS / 2 < int(done.stdout.split()[1]) < MAX_TASKS, done.stdout


def test_S22_no_core_files_inside(account, workspace, exec_inside):
    crash = "ulimit -Hc; ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls -A"
    done = exec_inside("sh", "-c", crash, limits="")
    assert done.stdout.split() == ["0"], done.stdout + done.stderr
    # A byte, which a shell rounds to nothing, keeps it from a program of the machine's too
    # (core(5)); who may have none to begin with stays with that.
    done = exec_inside("grep", "core", "/proc/self/limits", limits="")
    most = "1" if resource.getrlimit(resource.RLIMIT_CORE)[1] else "0"
    assert done.stdout.split()[4:6] == [most, most], done.stdout
