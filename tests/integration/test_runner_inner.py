# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What commands can do to the server without reaching it. The process that starts them behind the
second wall is in their reach: one that stops it, or speaks in its place, holds the server up no
longer than it takes to see it, and makes it signal and wait for nothing but what was started. Its
limits are not theirs to set, and what they leave behind is not looked through without end (hole S24)."""

import os
import subprocess
import time

import pytest

from conftest import scaled
from runner_client import Client


@pytest.fixture
def client(ordinary_user, workspace, runner):
    options = ["--landlock", "--landlock-list", "/", "--landlock-rw", workspace.folder,
               "--landlock-rw", "/dev"]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/proc", "/etc"):
        if os.path.exists(path):
            options += ["--landlock-ro", path]
    process = ordinary_user.popen([runner, "serve", "--stdio", "--folder", workspace.folder, *options],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.process = process
    client.initialize()
    ordinary_user.write(workspace.folder / "f", "text\n")
    yield client
    process.stdin.close()
    assert process.wait(scaled(20)) == 0


# The processes of the server by name, and the one among them that a command can look into.
LOOK = """
import ctypes, glob, os, signal, struct, sys, time
server = int(sys.argv[1])

def children():
    found = {}
    for place in glob.glob("/proc/[0-9]*"):
        try:
            name, _, rest = open(place + "/stat").read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == server:
            found[int(place[6:])] = name
    return found

def inner():
    for pid, name in children().items():
        if name.startswith("openworker-run"):
            return pid
"""

FORGE = LOOK + """
call = ctypes.CDLL(None).syscall
pid = inner()
said = next(p for p, n in children().items() if n == "openworker-tool") if sys.argv[2] == "worker" \\
    else int(sys.argv[2])
place = call(434, pid, 0)
for number in range(3, 64):
    try:
        is_socket = os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket")
    except OSError:
        continue
    if is_socket:
        got = call(438, place, number, 0)
        os.write(got, struct.pack("ii", said, 0) * int(sys.argv[3]))
        print("spoke")
"""


@pytest.mark.pidfd_getfd
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("said", ["0", "worker"])
def test_S24_what_is_said_in_its_place_is_not_believed(client, workspace, said, n):
    (workspace.folder / "forge.py").write_text(FORGE)
    client.call("read", {"path": "f"})
    assert client.shell(f"python3 forge.py {client.process.pid} {said} {n}").output == "spoke\n"
    started = client.call("task_start", {"command": "sleep 600"})
    if not started["isError"]:
        client.call("task_stop", {"task": "t1"})
    # Neither the server nor the process of a file tool was taken for the task.
    assert client.process.poll() is None
    assert "text" in client.call("read", {"path": "f"})["content"][0]["text"]
    client.shell("true")
    assert client.shell("echo here").output == "here\n"
    assert client.call("task_start", {"command": "exit 3"})["structuredContent"]["exit_status"] == 3


STOP = LOOK + """
end = time.monotonic() + float(sys.argv[2])
print("begun", flush=True)
while time.monotonic() < end:
    try:
        os.kill(inner(), signal.SIGSTOP)
    except (OSError, TypeError):
        pass
    time.sleep(0.01)
"""


def test_S24_one_that_is_stopped_holds_nothing_up(client, workspace):
    (workspace.folder / "stop.py").write_text(STOP)
    client.call("read", {"path": "f"})
    started = client.call("task_start", {"command": f"python3 stop.py {client.process.pid} {scaled(6)}"})
    assert not started["isError"]
    task = started["structuredContent"]["task"]
    assert "begun" in client.call("task_read", {"task": task, "wait_s": 60})["content"][0]["text"]
    time.sleep(0.1)
    for _ in range(3):
        asked = client.start_call("shell", {"command": "echo here"})
        begun = time.monotonic()
        client.call("read", {"path": "f"})
        # Without a look at it the server would wait 5 s for its answer.
        assert time.monotonic() - begun < scaled(2)
        client.reply(asked)
    client.call("task_wait", {"task": task})
    client.shell("true")
    assert client.shell("echo here").output == "here\n"


LIMITS = """
import resource, sys
for name in ["CPU", "NOFILE", "AS", "NPROC", "FSIZE"]:
    number = getattr(resource, "RLIMIT_" + name)
    try:
        resource.prlimit(int(sys.argv[1]), number, (1, 1))
        print("SET", name)
    except PermissionError:
        pass
    resource.prlimit(int(sys.argv[1]), number)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
print("own", resource.prlimit(0, resource.RLIMIT_NOFILE))
"""


def test_S24_its_limits_are_not_a_commands_to_set(client, workspace):
    (workspace.folder / "limits.py").write_text(LIMITS)
    done = client.shell(f"python3 limits.py {client.process.pid}; ulimit -n 30; ulimit -n")
    assert done.output == "own (20, 20)\n30\n"
    for _ in range(10):
        client.call("read", {"path": "f"})
    assert client.shell("cat f").output == "text\n"


# Processes that have lost their parent, with an environment that is long and has somebody's mark at
# its end.
ORPHANS = """
import os, sys, time
if len(sys.argv) < 2:
    environment = {"PATH": os.environ["PATH"]}
    environment.update({f"A{i}": "x" * 120000 for i in range(15)}, OPENWORKER_TASK="t99")
    os.execve(sys.executable, [sys.executable, sys.argv[0], "again"], environment)
for i in range(300):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(3):
                os.close(number)
            time.sleep(600)
        os._exit(0)
    os.wait()
print("made")
"""


def test_S24_what_commands_leave_behind_holds_nothing_up(client, workspace):
    (workspace.folder / "orphans.py").write_text(ORPHANS)
    assert client.shell("python3 orphans.py").output == "made\n"
    for _ in range(15):
        assert client.call("task_start", {"command": "true"})["structuredContent"]["state"] == "ended"
    asked = client.start_call("task_list", {})
    begun = time.monotonic()
    client.call("read", {"path": "f"})
    # Each of them for each of the tasks takes more than ten seconds.
    assert time.monotonic() - begun < scaled(2)
    client.reply(asked)
