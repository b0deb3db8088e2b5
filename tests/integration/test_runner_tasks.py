# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The background tasks of openworker-runner (REQ-A01): start, read, wait, stop, list."""

import base64
import json
import os
import re
import signal
import time

import pytest

from conftest import scaled, wait_until
from replays import replay, shell
from runner_client import Client, Shell, servers
from test_runner import is_alive, resident

MIB = 1024 * 1024


class Tasks(Client):
    """A client with a method for each tool."""

    def run(self, tool, **arguments):
        return Shell(self.call(f"task_{tool}", arguments))

    def begin(self, command, **arguments):
        started = self.run("start", command=command, **arguments)
        assert not started.is_error, started.text
        return started.task

    def finish(self, command, **arguments):
        """Starts a command and gives its end."""
        return self.run("wait", task=self.begin(command, **arguments), timeout_s=60)

    def cancel(self, request):
        self.send({"method": "notifications/cancelled", "params": {"requestId": request}})


@pytest.fixture
def serve(ordinary_user, workspace, runner):
    """Starts a server on stdin and stdout and gives its client."""
    with servers(ordinary_user, runner, workspace.folder, Tasks) as start:
        yield start


def processor_time(pid):
    """Seconds of the processor that a process has had, its dead children's included."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


# A task's life.

def test_start_goes_on_and_the_shell_is_free(serve, workspace):
    client = serve()
    begun = time.monotonic()
    started = client.run("start", command="echo a; sleep 600; echo b")
    assert time.monotonic() - begun < scaled(3)
    assert (started.task, started.state, started.exit_status) == ("t1", "running", None)
    assert re.fullmatch(r"\[t1 is running, \d+\.\d\d s, " + re.escape(str(workspace.folder))
                        + r": echo a; sleep 600; echo b, it goes on in the background: .*\]",
                        started.text)
    done = client.shell("echo shell")
    assert done.output == "shell\n" and done.leftovers == []
    read = client.run("read", task="t1", wait_s=10)
    assert read.output == "a\n" and read.state == "running" and read.left == {"sleep"}
    assert client.run("read", task="t1").output == ""


def test_what_ends_at_once_is_told_so(serve):
    started = serve().run("start", command="no-such-program-here")
    assert started.state == "ended" and started.exit_status == 127
    assert "ended with exit 127" in started.text


@pytest.mark.parametrize("command, status, number", [
    ("true", 0, None), ("exit 7", 7, None), ("(exit 9)", 9, None), ("no-such-program", 127, None),
    ("kill $$; sleep 5", None, signal.SIGTERM), ("kill -KILL $$", None, signal.SIGKILL),
    ("exec sh -c 'exit 11'", 11, None), ("sh -c 'kill -9 $$'", 137, None), ("set -e; false; true",
                                                                            1, None),
    ("if then (", 2, None), ("echo 'x", 2, None), ("cat <<E\nx", 0, None), ("", 0, None),
    ("# nothing", 0, None), ("(exit 3) # and no more", 3, None), ("return 4", None, None),
    ("trap 'exit 44' EXIT; exit 3", 44, None), ("exec >&- 2>&-; exit 5", 5, None)])
@pytest.mark.parametrize("pty", [False, True])
def test_end_is_true(serve, command, status, number, pty):
    client = serve()
    done = client.finish(command, pty=pty)
    assert done.state == "ended"
    if not command.startswith("return"):
        assert (done.exit_status, done.signal) == (status, number and int(number))
    # It is told as often as it is asked for.
    again = client.run("read", task=done.task)
    assert (again.exit_status, again.signal, again.output) == (done.exit_status, done.signal, "")
    assert re.match(r"\[t1 ended (with exit \d+|by signal \d+ [A-Z]+), \d+\.\d\d s, ",
                    again.last_line)


def test_output_is_read_once_and_in_order(serve, workspace):
    client = serve()
    for number in range(3):
        os.mkfifo(workspace.folder / f"go{number}", 0o666)
        (workspace.folder / f"go{number}").chmod(0o666)
    task = client.begin("for i in 0 1 2; do echo o$i; echo e$i >&2; cat go$i; done; echo end; exit 3")
    for number in range(3):
        assert client.run("read", task=task, wait_s=20).output == f"o{number}\ne{number}\n"
        assert client.run("read", task=task).output == ""
        (workspace.folder / f"go{number}").write_text("")
    last = client.run("wait", task=task, timeout_s=20)
    assert (last.output, last.exit_status) == ("end\n", 3)


def test_first_output_ends_the_waiting(serve):
    client = serve()
    task = client.begin("sleep 1; date +%s%N; sleep 600")
    read = client.run("read", task=task, wait_s=60)
    assert time.time() - int(read.output) / 1e9 < scaled(0.3)
    begun = time.monotonic()
    assert client.run("read", task=task, wait_s=1).output == ""
    assert 0.9 < time.monotonic() - begun < scaled(5)


def test_wait_ends_with_its_time_or_the_task(serve):
    client = serve()
    task = client.begin("echo a; sleep 2; echo b; exit 3")
    begun = time.monotonic()
    waited = client.run("wait", task=task, timeout_s=1)
    assert 0.9 < time.monotonic() - begun < scaled(1.9)
    assert (waited.state, waited.output) == ("running", "a\n")
    waited = client.run("wait", task=task, timeout_s=600)
    assert (waited.state, waited.output, waited.exit_status) == ("ended", "b\n", 3)


@pytest.mark.parametrize("tool, arguments", [("wait", {"timeout_s": 600}), ("read", {"wait_s": 600})])
def test_cancel_ends_only_the_waiting(serve, tool, arguments):
    client = serve()
    task = client.begin("sleep 1; echo on; sleep 600")
    request = client.start_call(f"task_{tool}", {"task": task, **arguments})
    time.sleep(0.3)
    begun = time.monotonic()
    client.cancel(request)
    answer = Shell(client.reply(request)["result"])
    assert time.monotonic() - begun < scaled(0.5)
    assert answer.cancelled and answer.state == "running" and answer.output == ""
    assert client.run("read", task=task, wait_s=20).output == "on\n"


def test_many_wait_at_once(serve):
    client = serve()
    task = client.begin("sleep 1; echo x; exit 4")
    waits = [client.start_call("task_wait", {"task": task, "timeout_s": 60}) for _ in range(10)]
    ends = [Shell(client.reply(request)["result"]) for request in waits]
    assert [end.exit_status for end in ends] == [4] * 10
    assert "".join(end.output for end in ends) == "x\n"


# Where it runs.

def test_directory_and_environment_are_the_shell_s(serve, workspace):
    client = serve()
    (workspace.folder / "a b'c").mkdir()
    client.shell("cd \"a b'c\"; export X=$'1 \"$y\"\\n\\'2' PATH=/opt/x:$PATH Y=3; local=4; umask 027; "
                 "export -n Y; readonly LANG")
    done = client.finish("pwd; printf '%s\\n' \"$X\" \"$PATH\" \"${Y-none}\" \"${local-none}\"; umask")
    lines = done.output.split("\n")
    assert lines[0] == f"{workspace.folder}/a b'c" and lines[1:3] == ['1 "$y"', "'2"]
    assert lines[3].startswith("/opt/x:/") and lines[4:] == ["none", "none", "0027", ""]
    assert done.cwd == f"{workspace.folder}/a b'c"
    # A folder that is gone is not another one.
    client.shell("rmdir \"$PWD\"")
    refused = client.run("start", command="pwd")
    assert refused.is_error and "could not be started" in refused.text
    client.shell("cd ..")
    assert client.finish("true").exit_status == 0


def test_shell_at_work_or_gone_delays_nothing(serve, workspace):
    client = serve()
    client.shell("cd /usr; export X=1")
    request = client.start_call("shell", {"command": "cd /; X=2; sleep 3"})
    time.sleep(0.3)
    begun = time.monotonic()
    assert client.finish("pwd; echo $X").output == "/usr\n1\n"
    assert time.monotonic() - begun < scaled(2)
    client.reply(request)
    client.shell("exit 1")
    assert client.finish("pwd; echo ${X-none}").output == "/\nnone\n"


def test_stdin_is_empty_and_there_is_no_terminal(serve):
    done = serve().finish("cat; tty; [ -t 1 ] || echo no; echo x >/dev/tty; echo $?; ps -o sid= $$ "
                          "| tr -d ' '; echo $$; ls -l /proc/self/fd | wc -l")
    lines = done.output.split("\n")
    assert lines[:2] == ["not a tty", "no"] and "/dev/tty" in lines[2] and lines[3] == "1"
    # A session of its own, and no descriptor but the three and the one that ls reads with.
    assert lines[4] == lines[5] and lines[6] == "5"


def test_pty_is_a_terminal_of_its_own(serve):
    client = serve()
    first = client.finish("tty; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; "
                          "ps -o tty= $$; echo direct >/dev/tty; echo $TERM; ls -l /proc/self/fd | "
                          "wc -l", pty=True)
    lines = first.output.split("\n")
    assert re.fullmatch(r"/dev/pts/\d+", lines[0]) and lines[1:3] == ["40 120", "all"]
    assert f"/dev/{lines[3].strip()}" == lines[0] and lines[4:6] == ["direct", "dumb"]
    assert lines[6] == "5" and "\r" not in first.output
    other = client.begin("tty; sleep 600", pty=True)
    held = client.begin("tty; sleep 600", pty=True)
    names = {client.run("read", task=task, wait_s=10).output for task in [other, held]}
    assert len(names) == 2


# Pushes into each terminal that there is, and names those where that went well but its own.
PUSH = """
import fcntl, glob, os, termios
own = os.ttyname(0)
for name in glob.glob("/dev/pts/[0-9]*") + ["/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1"]:
    try:
        fd = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        fcntl.ioctl(fd, termios.TIOCSTI, b"x")
        print(name if name not in (own, "/dev/tty") else "own")
    except OSError as error:
        pass
print("tried")
"""


def test_pty_S20_pushes_into_no_other_terminal(serve, workspace):
    client = serve()
    (workspace.folder / "push.py").write_text(PUSH)
    client.begin("sleep 600", pty=True)
    done = client.finish("python3 push.py", pty=True)
    assert done.output.split("\n")[-2] == "tried"
    assert "/dev/" not in done.output


# Stopping.

STOPPED = {
    "sleep": ("sleep 600", False),
    "more-to-come": ("sleep 600; touch after", False),
    "loop": ("while :; do sleep 600; done; touch after", False),
    "children": ("sleep 600 & sleep 600 & wait", False),
    "pipeline": ("sleep 600 | cat | cat", False),
    "graceful": ("trap 'echo bye; exit 5' INT; while :; do sleep 0.1; done", False),
    "own-session": ("setsid -f sleep 600; setsid sleep 600; sleep 600", False),
    "double-fork": ("( ( setsid sleep 600 & ) & ); sleep 600", False),
    "job-control": ("set -m; sleep 600 & sleep 600", False),
    "deaf": ("trap '' INT TERM; (trap '' INT TERM HUP; setsid -f sleep 600); sleep 600", True),
    "deaf-and-gone": ("(trap '' INT TERM HUP; setsid -f sleep 600)", True),
    "stopped-itself": ("kill -STOP $$", True),
    "nohup": ("nohup sleep 600 & wait", False),
}


@pytest.mark.parametrize("pty", [False, True])
@pytest.mark.parametrize("name", STOPPED)
def test_stop_ends_all_of_it(serve, workspace, name, pty):
    command, slow = STOPPED[name]
    client = serve()
    task = client.begin(command, pty=pty)
    pid = client.process.pid
    time.sleep(0.4)
    other = client.begin("sleep 601")
    below = client.run("read", task=task).leftovers
    begun = time.monotonic()
    stopped = client.run("stop", task=task)
    took = time.monotonic() - begun
    assert (2.5 < took if slow else True) and took < scaled(6 if slow else 2.5)
    assert stopped.state == "ended" and stopped.leftovers == []
    assert below or name in ("stopped-itself", "graceful")
    assert not any(is_alive(entry["pid"]) for entry in below)
    assert not (workspace.folder / "after").exists()
    if name == "graceful":
        assert (stopped.output, stopped.exit_status) == ("bye\n", 5)
    if name == "deaf":
        assert stopped.signal == signal.SIGKILL
    # Nothing else was touched.
    assert client.run("read", task=other).state == "running" and is_alive(pid)
    assert client.shell("echo on").output == "on\n"


def test_stop_of_what_has_ended_is_no_fault(serve):
    client = serve()
    task = client.finish("echo x; exit 3").task
    stopped = client.run("stop", task=task)
    assert (stopped.exit_status, stopped.stopped, stopped.is_error) == (3, False, False)


def test_stop_of_a_storm_ends(serve):
    client = serve()
    task = client.begin("ulimit -u 400 2>/dev/null; f() { f | f & }; f; sleep 600")
    time.sleep(0.5)
    stopped = client.run("stop", task=task)
    assert stopped.state == "ended"
    wait_until(lambda: client.run("read", task=task).leftovers == [], 30)


@pytest.mark.parametrize("command", ["setsid -f sleep 600", "sleep 600 & disown", "sleep 600 &",
                                     "(setsid sleep 600 &)"])
def test_A34_what_a_task_leaves_is_its_own(serve, command):
    """It is named with the task and not with the shell's commands, outlives a stopped command
    of the shell, and ends by stopping the task."""
    client = serve()
    task = client.begin(command)
    ended = client.run("wait", task=task, timeout_s=20)
    assert ended.state == "ended" and ended.exit_status == 0
    # setsid is there first, and becomes what it is given.
    wait_until(lambda: client.run("read", task=task).left == {"sleep"}, what="its name")
    pids = [entry["pid"] for entry in client.run("read", task=task).leftovers]
    assert "still running of it: " in client.run("read", task=task).last_line
    assert client.shell("sleep 600", timeout_s=1).leftovers == []
    assert all(map(is_alive, pids))
    assert client.run("stop", task=task).leftovers == []
    assert not any(map(is_alive, pids))


def test_shell_s_leftovers_are_not_a_task_s(serve):
    client = serve()
    left = client.shell("setsid -f sleep 600; sleep 601 &").leftovers
    task = client.begin("sleep 602")
    assert client.run("stop", task=task).leftovers == []
    assert len(left) == 2 and all(is_alive(entry["pid"]) for entry in left)


# Limits.

def test_sixteen_run_at_once(serve):
    client = serve()
    tasks = [client.begin("sleep 600") for _ in range(16)]
    assert tasks == [f"t{n}" for n in range(1, 17)]
    refused = client.run("start", command="touch made")
    assert refused.is_error and "16 tasks run already" in refused.text
    client.run("stop", task="t3")
    assert client.begin("sleep 600") == "t17"
    listed = client.run("list")
    assert listed.running == 16 and len(listed.tasks) == 17


def test_ended_ones_are_kept_up_to_a_number(serve):
    client = serve()
    for number in range(1, 36):
        assert client.finish(f"echo {number}; exit {number}").exit_status == number
    running = client.begin("sleep 600")
    forgotten = client.run("read", task="t1")
    assert forgotten.is_error and "no longer kept" in forgotten.text
    assert client.run("read", task="t35").exit_status == 35
    assert client.run("read", task=running).state == "running"
    assert len(client.run("list").tasks) == 33


@pytest.mark.parametrize("tool, arguments", [
    ("start", {}), ("start", {"command": 1}), ("start", {"command": "true", "pty": 1}),
    ("read", {}), ("read", {"task": "t0"}), ("read", {"task": "t2"}), ("read", {"task": "1"}),
    ("read", {"task": 1}), ("read", {"task": "t1", "wait_s": -1}), ("wait", {"task": "t9999999999"}),
    ("read", {"task": "t1", "wait_s": "1"}), ("wait", {"task": "t1", "timeout_s": 601}),
    ("wait", {"task": "t1 "}), ("stop", {"task": ""}), ("stop", {"task": "t1\n"})])
def test_wrong_use_is_refused(serve, tool, arguments):
    client = serve()
    client.begin("sleep 600")
    refused = client.run(tool, **arguments)
    assert refused.is_error and refused.text.strip()
    assert client.run("list").running == 1


def test_list_tells_each(serve, workspace):
    client = serve()
    assert client.run("list").text == "There are no tasks."
    client.finish("echo x; exit 3")
    client.shell("cd /usr")
    client.begin("sleep 600\necho 'two lines'")
    listed = client.run("list")
    first, second = listed.tasks
    assert (first["task"], first["state"], first["exit_status"]) == ("t1", "ended", 3)
    assert (second["task"], second["state"], second["cwd"]) == ("t2", "running", "/usr")
    lines = listed.text.strip().split("\n")
    assert len(lines) == 2
    assert re.fullmatch(r"\[t1 ended with exit 3, \d.\d\d s, .*: echo x; exit 3\] 0 bytes not read",
                        lines[0])
    assert "sleep 600 echo 'two lines'" in lines[1]


@pytest.mark.parametrize("size", [100, 60_000, 70_000, 200_000, MIB - 100])
def test_long_commands(serve, size):
    client = serve()
    done = client.finish("x='" + "a'\\''$(\n" * (size // 8) + "'; echo ${#x}")
    assert int(done.output) == size // 8 * 5
    assert client.run("start", command="#" + "x" * MIB).is_error


@pytest.mark.parametrize("pty", [False, True])
def test_output_keeps_head_and_tail(serve, pty):
    client = serve()
    done = client.finish("echo first; seq 1000000; echo last", pty=pty)
    assert done.bytes == len("first\nlast\n") + 6888896
    assert done.text.startswith("first\n1\n2\n") and "\nlast\n[t1 ended with exit 0" in done.text
    cut = int(re.search(r"\[(\d+) bytes left out here\]", done.text)[1])
    assert done.cut == cut and f"{cut} bytes of output left out" in done.last_line
    kept = done.output.replace(f"\n[{cut} bytes left out here]\n", "")
    assert len(kept) + cut == done.bytes
    # The end is whole, not patched together.
    tail = kept[kept.rindex("\nlast"):]
    numbers = [int(line) for line in done.output.split("]\n", 1)[1].split("\n")[1:-2]]
    assert tail == "\nlast\n" and numbers == list(range(numbers[0], 1000001)) and len(numbers) > 5000


@pytest.mark.parametrize("data, text", [
    (b"\xff", "�"), (b"a\x00b", "a�b"), (b"\xed\xa0\x80", "���"), (b"\x1b[31mred", "\x1b[31mred"),
    (b"10%\r20%", "10%\r20%"), ("a\u202eb".encode(), "a\u202eb")])
def test_output_that_is_no_text(serve, data, text):
    done = serve().finish("printf '" + "".join(f"\\{byte:03o}" for byte in data) + "'")
    assert done.output == text + "\n" and done.bytes == len(data)


@pytest.mark.parametrize("size", range(1, 9))
def test_character_in_pieces_is_whole(serve, size):
    client = serve()
    whole = "aä€😀b😀€ä".encode()
    pieces = [whole[at:at + size] for at in range(0, len(whole), size)]
    task = client.begin("; sleep 0.06; ".join(
        "printf '" + "".join(f"\\x{byte:02x}" for byte in piece) + "'" for piece in pieces))
    text = ""
    state = "running"
    while state == "running":
        read = client.run("read", task=task, wait_s=10)
        state = read.state
        text += read.output.removesuffix("\n")
    assert text == whole.decode()


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero", "yes ééé", "cat /dev/zero >&2"])
@pytest.mark.parametrize("pty", [False, True])
def test_unread_flood_costs_little(serve, command, pty):
    """Memory stays flat, and it takes no more of the processor than thrown away at once."""
    client = serve()
    client.shell("true")
    task = client.begin(f"exec {command}", pty=pty)
    time.sleep(0.5)
    pid = client.process.pid
    flooding = next(int(entry) for entry in os.listdir("/proc") if entry.isdigit()
                    and _is_task(entry, pid, command.split()[0]))
    before = resident(pid)
    begun = processor_time(pid) + processor_time(flooding)
    time.sleep(2)
    spent = processor_time(pid) + processor_time(flooding) - begun
    assert spent < 2 * 1.1
    assert processor_time(pid) < scaled(1.5)
    assert resident(pid) - before < 2 * MIB
    assert resident(pid) < 24 * MIB
    # The shell is as quick as ever.
    begun = time.monotonic()
    assert client.shell("echo x").output == "x\n"
    assert time.monotonic() - begun < scaled(1)
    stopped = client.run("stop", task=task)
    assert stopped.state == "ended" and stopped.bytes > MIB and len(stopped.text) < MIB // 4


def _is_task(entry, parent, name):
    try:
        with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return False
    return f"({name})" in text and int(text.rsplit(")", 1)[1].split()[1]) == parent


def test_flood_passes_quickly(serve):
    """Who floods is slowed down a little, not brought to a halt."""
    begun = time.monotonic()
    done = serve().finish("yes | head -c 300000000")
    assert done.bytes == 300000000 and time.monotonic() - begun < scaled(20)


# The server's end.

@pytest.mark.parametrize("command", ["sleep 600", "setsid -f sleep 600; sleep 600",
                                     "trap '' INT TERM HUP; sleep 600", "yes"])
@pytest.mark.parametrize("pty", [False, True])
def test_tasks_end_with_the_server(serve, command, pty):
    client = serve()
    task = client.begin(command, pty=pty)
    waiting = client.start_call("task_wait", {"task": task, "timeout_s": 600})
    time.sleep(0.3)
    pids = [entry["pid"] for entry in client.run("read", task=task).leftovers]
    pids += [int(entry) for entry in os.listdir("/proc") if entry.isdigit()
             and _is_task(entry, client.process.pid, "bash")]
    assert pids and waiting
    client.process.stdin.close()
    assert client.process.wait(scaled(10)) == 0
    assert not any(map(is_alive, pids))


def test_call_id_is_run_once(serve):
    client = serve()
    first = client.call("task_start", {"command": "sleep 600"}, "once")
    assert client.call("task_start", {"command": "sleep 600"}, "once") == first
    assert client.run("list").running == 1
    client.run("stop", task="t1")
    done = client.begin("echo x")
    time.sleep(0.3)
    read = client.call("task_read", {"task": done}, "read")
    # What was read is there again when the answer was lost on its way.
    assert client.call("task_read", {"task": done}, "read") == read
    assert read["content"][0]["text"].startswith("x\n[t2 ended")


# Behind a wall, as an agent uses them.

def test_tasks_behind_a_wall(account, workspace, openworker, wall):
    """The shell's directory and environment reach a task, a terminal is one, and S20: it pushes
    into no other. What still runs ends with the session, which ends without waiting for it."""
    folder = workspace.folder
    account.write(folder / "push.py", PUSH)
    account.write(folder / "sub/f", "")
    long = "x='" + "a" * 100_000 + "'; echo ${#x} $$ >&2; exit 3"
    recording = replay(
        account, workspace, [shell("cd sub; export X='a b'; umask 027")],
        [("task_start", {"command": "pwd; echo \"$X\"; umask; sleep 1; echo more; sleep 600"},
          r"\[t1 is running")],
        [("task_read", {"task": "t1", "wait_s": 20}, r"/sub\na b\n0027\n"),
         ("task_read", {"task": "t1", "wait_s": 20}, r"more"),
         ("task_start", {"command": "cd ..; tty; stty size; python3 push.py", "pty": True}, r"t2 "),
         ("task_wait", {"task": "t2", "timeout_s": 60}, r"/dev/pts/\d+\n40 120\n[x]*(own)?\n?[x]*tried")],
        [("task_start", {"command": long}, r"t3 "),
         ("task_wait", {"task": "t3", "timeout_s": 60}, r"^100000 \d+\n\[t3 ended with exit 3"),
         ("task_stop", {"task": "t1"}, r"\[t1 ended by signal 2 INT, stopped"),
         ("task_start", {"command": "setsid -f sleep 4321; sleep 4321", "pty": True}, r"t4 is running"),
         ("task_list", {}, r"t1 ended.*\n.*t2 ended with exit 0.*\n.*t3 ended.*\n.*t4 is running"),
         shell("echo done")])
    done = account.run([openworker, "run", "--json", *wall.argv, "--approve", "sandboxed",
                        "--folder", folder, "--model", f"replay:{recording}", "Do it."])
    assert done.returncode == 0, done.stderr
    ended = [event for event in map(json.loads, done.stdout.splitlines())
             if event["type"] == "tool-ended" and "model_call" in event]
    assert len(ended) == 12 and {event["outcome"] for event in ended} == {"ok"}
    assert "/dev/" not in ended[5]["result"].split("\n", 1)[1]
    assert not any(_runs(entry, "4321") for entry in os.listdir("/proc") if entry.isdigit())


HOSTILE = (r"a\000b\033]52;c;eA==\007\rgone\342\200\256rtl\377\302\233x\177\n10%%\r20%%\n")


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_U02_output_is_marked_on_every_face(account, workspace, openworker, extra):
    """Controls, bytes that are no text and what turns text round reach no terminal as they are,
    from the shell as from a task, and a program gets them whole."""
    command = f"printf '{HOSTILE}'; sleep 0.2; printf '{HOSTILE}' >&2"
    recording = replay(account, workspace, [
        shell(command, "20%"), ("task_start", {"command": command}, "t1"),
        ("task_wait", {"task": "t1"}, "20%")])
    done = account.run([openworker, "run", *extra, "--provider", "bubblewrap", "--approve",
                        "sandboxed", "--folder", workspace.folder, "--model",
                        f"replay:{recording}", "Do it."])
    assert done.returncode == 0, done.stderr
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", done.stdout)
    if not extra:
        assert done.stdout.count("b^[]52;c;eA==^G^Mgone\\u{202E}rtl�\\x9Bx^?") == 4
        return
    events = list(map(json.loads, done.stdout.splitlines()))
    ended = [event["result"] for event in events if event["type"] == "tool-ended"]
    assert sum(text.count("b\x1b]52;c;eA==\x07\rgone\u202ertl�\x9bx\x7f\n10%\r20%\n")
               for text in ended) == 4
    data = b"".join(event["text"].encode() if "text" in event else base64.b64decode(event["data"])
                    for event in events if event["type"] == "tool-output")
    assert data == 2 * (b"a\0b\x1b]52;c;eA==\x07\rgone\xe2\x80\xaertl\xff\xc2\x9bx\x7f\n"
                        b"10%\r20%\n")


def _runs(entry, word):
    try:
        with open(f"/proc/{entry}/cmdline", "rb") as file:
            return word.encode() in file.read().split(b"\0")
    except OSError:
        return False


def test_person_is_asked_for_a_task_as_for_a_command(account, workspace, openworker, wall):
    """Nobody is there to say yes: nothing is started, and what only reads is not asked for."""
    recording = replay(
        account, workspace, [("task_start", {"command": "touch made"}, "denied"),
                             ("task_list", {}, "There are no tasks"),
                             ("task_stop", {"task": "t1"}, "denied")])
    done = account.run([openworker, "run", "--json", *wall.argv, "--folder", workspace.folder,
                        "--model", f"replay:{recording}", "Do it."])
    ended = [event for event in map(json.loads, done.stdout.splitlines())
             if event["type"] == "tool-ended" and "model_call" in event]
    assert [event["outcome"] for event in ended] == ["denied", "ok", "denied"], done.stderr
    assert not (workspace.folder / "made").exists()
