# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a hostile inside, file or caller makes of the programs: no success that was not one, no
hang, no crash, nothing left behind, nothing of the machine changed."""

import base64
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from replays import replay, shell

EXEC = ["sandbox", "exec"]
BUBBLEWRAP = [*EXEC, "--provider", "bubblewrap"]

# No command can speak in the runner's place (test_second_wall.py), so this is a runner that lies:
# the real one but for the answers to calls, which are changed on their way.
LIAR = r"""#!/usr/bin/python3
import base64, json, os, subprocess, sys, tempfile, threading
RESULT = %s
def real():
    fd, path = tempfile.mkstemp()
    with os.fdopen(fd, "wb") as out:
        out.write(base64.b64decode("%s"))
    os.chmod(path, 0o700)
    return path
if sys.argv[1:2] != ["attach"]:
    path = real()
    os.execv(path, [path, *sys.argv[1:]])
calls = set()
path = real()
child = subprocess.Popen([path, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pass_on():
    for line in sys.stdin.buffer:
        message = json.loads(line) if line.strip() else {}
        if message.get("method") == "tools/call":
            calls.add(message["id"])
        child.stdin.write(line)
        child.stdin.flush()
    child.stdin.close()
threading.Thread(target=pass_on, daemon=True).start()
for line in child.stdout:
    os.path.exists(path) and os.unlink(path)
    message = json.loads(line) if line.strip() else {}
    if message.get("id") in calls and "result" in message:
        line = json.dumps({**message, "result": json.loads(RESULT)}).encode() + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


def make_liar(account, workspace, answer):
    """The folder of such a runner, in place of OPENWORKER_LIBEXEC."""
    libexec = Path(account.extra_env["OPENWORKER_LIBEXEC"])
    binary = base64.b64encode((libexec / "openworker-runner").read_bytes()).decode()
    place = workspace.path / "liar"
    account.write(place / "openworker-runner", LIAR % (repr(json.dumps(answer)), binary), 0o755)
    account.write(place / "openworker-proxy", (libexec / "openworker-proxy").read_bytes(), 0o755)
    return place


@pytest.mark.parametrize("structured", [
    None, {}, {"exit_status": None}, {"exit_status": "0"}, {"exit_status": -1},
    {"exit_status": 256}, {"exit_status": 0.0}, {"exit_status": True},
    {"exit_status": -1, "signal": 0}, {"signal": 999}, {"signal": "9"},
])
def test_answer_without_a_status_is_no_success(ordinary_user, workspace, openworker, structured):
    """P03: a runner may lie, but what says nothing about the end must not count as a good one."""
    answer = {"content": [{"type": "text", "text": "All good."}], "isError": False}
    if structured is not None:
        answer["structuredContent"] = structured
    place = make_liar(ordinary_user, workspace, answer)
    done = ordinary_user.run([openworker, *BUBBLEWRAP, "--folder", workspace.folder, "--", "true"],
                             env={"OPENWORKER_LIBEXEC": place})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "It is not known how the command ended" in done.stderr


def test_reader_that_goes_away_ends_the_command(ordinary_user, workspace, openworker, wall):
    """As a shell's pipe does it, or `yes | head` would never end."""
    process = ordinary_user.popen(
        [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "yes"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"y\n"
    process.stdout.close()
    assert process.wait(scaled(60)) == 128 + signal.SIGPIPE
    assert process.stderr.read() == b""
    assert workspace.left() == []


@pytest.mark.parametrize("command", ["exec", "exec-much", "run", "run-json", "list", "audit", "help"])
def test_output_that_cannot_be_written_is_no_success(ordinary_user, workspace, openworker, command):
    recording = replay(ordinary_user, workspace, [shell("echo one")])
    run = ["run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
           workspace.folder, "--model", f"replay:{recording}"]
    argv = {"exec": [*BUBBLEWRAP, "--folder", workspace.folder, "--", "echo", "one"],
            "exec-much": [*BUBBLEWRAP, "--folder", workspace.folder, "--", "seq", "300000"],
            "run": [*run, "Do it."], "run-json": [*run, "--json", "Do it."],
            "list": ["sessions", "list", "--json"], "audit": ["audit", "show"],
            "help": ["--help"]}[command]
    if command in ("list", "audit"):
        assert ordinary_user.run([openworker, *run, "Do it."]).returncode == 0
    with open("/dev/full", "wb") as full:
        process = ordinary_user.popen([openworker, *argv], stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE)
        assert process.wait(scaled(60)) == 1
    assert process.stderr.read().decode().splitlines() == [
        "openworker: Not all of the output could be written: No space left on device."]
    assert workspace.left() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_counts_while_nobody_reads(ordinary_user, workspace, openworker, wall, number):
    process = ordinary_user.popen(
        [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "yes"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"y\n"
    time.sleep(scaled(1))  # until the pipe is full
    process.send_signal(number)
    assert process.wait(scaled(60)) == 1
    assert b"nobody reads it" in process.stderr.read()
    assert workspace.left() == []


def test_recording_is_not_written_through_a_link(ordinary_user, workspace, openworker):
    """S02: what runs inside put a link in the recording's place, and it was followed."""
    target = ordinary_user.write(workspace.home / ".profile", "mine")
    command = f"rm -f r.jsonl; ln -s {target} r.jsonl; rm -rf d; ln -s {workspace.home} d"
    recording = replay(ordinary_user, workspace, [shell(command)])
    ordinary_user.mkdir(workspace.folder / "d")
    for place in ("r.jsonl", "d/.profile", "../folder/r.jsonl"):
        done = ordinary_user.run(
            [openworker, "run", "--provider", "bubblewrap", "--approve", "sandboxed", "--folder",
             workspace.folder, "--model", f"replay:{recording}", "--record",
             f"{workspace.folder}/{place}", "Do it."])
        assert done.returncode == 2, done.stderr
        assert "the session may write there" in done.stderr
        assert target.read_text() == "mine"


@pytest.mark.root
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_inside_of_root_changes_nothing_of_the_machine(account, workspace, openworker, wall,
                                                       ordinary_ids):
    """S23, S08: uid 0 inside owns the device files, and could leave programs for root."""
    before = {name: os.stat(f"/dev/{name}").st_ctime_ns for name in ("null", "zero", "urandom", "tty")}
    script = ("for f in null zero urandom tty; do chmod 666 /dev/$f && echo changed $f; done; "
              "cp /usr/bin/true p; chmod 4755 p && echo setuid; echo x >/dev/null && echo written")
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "sh", "-c",
                        script])
    assert done.stdout == "written\n", done.stdout + done.stderr
    assert (workspace.folder / "p").stat().st_mode & 0o7000 == 0
    assert (workspace.folder / "p").stat().st_uid == (ordinary_ids[0] if wall.is_openshell else 0)
    assert before == {name: os.stat(f"/dev/{name}").st_ctime_ns for name in before}


# What carries the connection on this side.
CONNECTION = {"bubblewrap": "openworker-runner attach", "openshell": "sandbox exec -n "}


def test_output_that_a_broken_connection_took_is_counted(ordinary_user, workspace, openworker,
                                                         wall):
    """The call goes on over a new connection; what was on its way is lost, and that is said."""
    text = "".join(f"{number}\n" for number in range(1, 6_000_001)).encode()
    process = ordinary_user.popen(
        [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "seq", "6000000"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    taken = process.stdout.read(100_000)
    attached = wait_until(lambda: [pid for pid, command in workspace.processes().items()
                                   if CONNECTION[wall.name] in command])
    os.kill(attached[0], signal.SIGKILL)
    taken += process.stdout.read()
    said = process.stderr.read().decode()
    assert process.wait(scaled(60)) == 0
    lost = int(re.fullmatch(r"openworker: (\d+) bytes of the output were lost.\n", said).group(1))
    assert len(taken) + lost == len(text)


@pytest.mark.parametrize("argv", [[""], ["", "x"], []])
def test_no_name_of_a_command_is_wrong_usage(ordinary_user, workspace, openworker, argv):
    done = ordinary_user.run([openworker, *BUBBLEWRAP, "--folder", workspace.folder, "--", *argv])
    assert done.returncode == 2 and "needs a command" in done.stderr


def the_runner(folder):
    """The pid of the runner that serves @folder: the children that it forks have its words too."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if words[0].endswith(b"openworker-runner") and words[1] == b"serve" and os.fsencode(folder) in words:
            parents[int(entry.name)] = parent
    (pid,) = [pid for pid, parent in parents.items() if parent not in parents]
    return pid


def run_and_send(ordinary_user, workspace, openworker, wall, number):
    """A command that runs when the runner gets the signal @number; (process, what it printed, its errors)."""
    process = ordinary_user.popen(
        [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "sh", "-c",
         "echo before; touch begun; sleep 300"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((workspace.folder / "begun").exists, 30, "the command")
    time.sleep(0.5)
    os.kill(the_runner(workspace.folder), number)
    return process, *process.communicate(timeout=scaled(240))


def test_what_ended_a_command_is_said_once(ordinary_user, workspace, openworker, wall):
    process, _, said = run_and_send(ordinary_user, workspace, openworker, wall, signal.SIGKILL)
    assert process.returncode == 1
    assert len(said.splitlines()) == 1 and "interrupted" in said, said


@pytest.mark.parametrize("wall", ["openshell"], indirect=True)
@pytest.mark.parametrize("way", ["container removed", "container killed", "deleted by hand"])
def test_sandbox_that_goes_is_said_at_once(ordinary_user, workspace, openworker, wall, way):
    """What OpenShell says of it for good is not waited out, and is told in plain words."""
    process = ordinary_user.popen(
        [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "sh", "-c",
         "touch begun; sleep 300; touch made"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((workspace.folder / "begun").exists, 30, "the command")
    (name,) = wall.sandboxes()
    {"container removed": wall.sim.remove_container, "container killed": wall.sim.kill_container,
     "deleted by hand": lambda name: wall.sim.run("sandbox", "delete", name)}[way](name)
    begin = time.monotonic()
    _, said = process.communicate(timeout=scaled(120))
    assert time.monotonic() - begin < scaled(30)
    assert process.returncode == 1 and len(said.splitlines()) == 1, said
    assert ("phase Error" if way == "container killed" else "is not there any more") in said
    assert "effect is not known" in said and not set("×│") & set(said)
    assert not (workspace.folder / "made").exists() and workspace.left() == []


def test_runner_that_was_stopped_is_lost(ordinary_user, workspace, openworker, wall):
    """A runner that was stopped for good holds up nobody for ever: a sign of life is asked for, on
    new connections too, and then the session ends. The deadlines are the real ones."""
    begin = time.monotonic()
    process, printed, said = run_and_send(ordinary_user, workspace, openworker, wall,
                                          signal.SIGSTOP)
    assert process.returncode == 1, said
    assert printed == "before\n"
    assert "could not be reached again" in said, said
    assert 10 < time.monotonic() - begin < 200
    assert workspace.left() == []
