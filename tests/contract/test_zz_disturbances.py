# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The gateway is stopped, killed and started, containers are removed and paused.

Last by its name: every sandbox of the gateway is disturbed. Needs a program that may do it."""

import re
import subprocess
import time

import pytest

from openshell_cli import scaled, wait_until

pytestmark = pytest.mark.control
CLOSED = "exec relay closed before the command reported an exit status"
BROKEN = "h2 protocol error: error reading a body from connection"
INSTANCE = "stat -c %Y /proc/1/; cut -d' ' -f22 /proc/1/stat"
PROCESSES = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
RAW = "stty raw -echo; printf 'begun\\n'; "


@pytest.fixture(autouse=True)
def gateway_is_up_again(openshell):
    """Whatever a test left: the next one begins with a gateway that answers."""
    yield
    if openshell.run("status", "-o", "json").status != 0:
        openshell.control("start")


@pytest.fixture
def ready(openshell):
    """A sandbox of the test's own."""
    name = openshell.made_box()
    yield name
    if openshell.run("status", "-o", "json").status != 0:
        openshell.control("start")
    openshell.delete(name)


class Call:
    """An exec that has begun, one shot or a stream, while something happens."""

    def __init__(self, openshell, name, script, stream):
        self.stream = openshell.stream(name, RAW + script) if stream else None
        self.begun = time.monotonic()
        if stream:
            self.stream.wait_for(b"begun\n")
            return
        self.process = openshell.popen("sandbox", "exec", "-n", name, "--no-tty", "--", "sh", "-c",
                                       f"echo begun; {script}")
        assert self.process.stdout.readline() == b"begun\n"

    def end(self, seconds=40):
        """(exit status, the rest of stdout, stderr, seconds since it began)"""
        if self.stream:
            status = self.stream.wait(seconds)
            self.stream.close()
            out, err = bytes(self.stream.output)[6:], bytes(self.stream.errors)
        else:
            try:
                out, err = self.process.communicate(timeout=scaled(seconds))
                status = self.process.returncode
            except subprocess.TimeoutExpired:
                status = None
                self.process.kill()
                out, err = self.process.communicate()
        return status, out, "".join(err.decode().replace("│", "").split()), (
            time.monotonic() - self.begun)


def said(error, sentence):
    return "".join(sentence.split()) in error


def back_to_ready(openshell, name):
    """Waits until a call inside works again."""
    wait_until(lambda: openshell.exec(name, "true").status == 0, 40, "the sandbox")


def both(openshell, name, script):
    """The script by one shot and by a stream."""
    return [Call(openshell, name, script, stream) for stream in (False, True)]


class Restart:
    """One SIGTERM and one start of the gateway, and all that was seen of them."""

    def __init__(self, openshell):
        self.name = name = openshell.made_box()
        openshell.shell(name, "echo kept >/tmp/ow-ct-kept; setsid sleep 97531 >/dev/null 2>&1 "
                              "</dev/null & true")
        self.before = self.look(openshell)
        cut = both(openshell, name, "sleep 100; echo done")
        ending = Call(openshell, name, f"sleep 3; {PROCESSES}; echo; echo done; exit 7", False)
        openshell.control("stop")
        self.ended = ending.end()
        self.cut = [call.end() for call in cut]
        self.down = [openshell.run(*words) for words in (
            ["status", "-o", "json"], ["sandbox", "list", "-o", "json"],
            ["sandbox", "get", name, "-o", "json"], ["sandbox", "delete", name],
            ["sandbox", "exec", "-n", name, "--no-tty", "--", "true"])]
        openshell.control("start")
        self.names, self.phases = openshell.names(), set()
        wait_until(lambda: self.phases.add(openshell.phase(name)) or "Ready" in self.phases, 40,
                   "Ready")
        back_to_ready(openshell, name)
        self.after = self.look(openshell)
        self.kept = openshell.exec(name, "cat", "/tmp/ow-ct-kept").text

    def look(self, openshell):
        """(id, what tells one start of the container from another, processes, status)"""
        return (openshell.get(self.name).json["id"], openshell.shell(self.name, INSTANCE).text,
                openshell.shell(self.name, PROCESSES).text,
                openshell.run("status", "-o", "json").json)


@pytest.fixture(scope="module")
def restart(openshell):
    seen = Restart(openshell)
    yield seen
    openshell.delete(seen.name)


def test_terminated_gateway_drains_and_then_closes_P10(restart):
    """Ten seconds or so, in which a command that ends does so properly; never the status of
    one that had not ended."""
    status, out, error, _ = restart.ended
    assert (status, error) == (7, "") and out.endswith(b"\ndone\n"), restart.ended
    for status, out, error, seconds in restart.cut:
        assert status == 1 and out == b"" and said(error, CLOSED), (status, out, error)
        assert seconds > 5, seconds


def test_stopping_gateway_ends_the_main_command_first_P13(restart):
    """It gets SIGTERM at once; what else runs inside goes on until the gateway is gone."""
    assert b"97531" in restart.ended[1] and b"/bin/sleep infinity" not in restart.ended[1]
    assert "/bin/sleep infinity" in restart.before[2]


def test_calls_without_a_gateway_that_was_there_P10(restart):
    for done in restart.down:
        assert done.failed_with("Connection refused") and not done.out, done
        assert done.seconds < 10, done
    assert restart.name in restart.names


def test_sandbox_is_there_after_a_restart_and_all_inside_is_new_P10(restart):
    """The name, the id and the files are the old ones; no process is, and nothing says so."""
    assert restart.phases <= {"Provisioning", "Ready"}, restart.phases
    (old, started, processes, _), (new, started_again, processes_again, _) = (
        restart.before, restart.after)
    assert old == new and started != started_again
    assert "97531" in processes and "97531" not in processes_again
    assert "/bin/sleep infinity" in processes_again
    assert restart.kept == "kept\n"


def test_status_names_the_same_gateway_after_a_restart(restart):
    before, after = restart.before[3], restart.after[3]
    assert after == before and re.match(r"\d", after["version"]), after


def test_killed_gateway_breaks_the_calls_at_once_P10(openshell, ready):
    calls = both(openshell, ready, "sleep 100; echo done")
    killed = time.monotonic()
    openshell.control("kill")
    for call in calls:
        status, out, error, _ = call.end()
        assert status == 1 and out == b"" and said(error, BROKEN), (status, out, error)
    assert time.monotonic() - killed < scaled(5)


def test_inside_lives_on_when_the_gateway_was_killed_P10(openshell, ready):
    """So a call that was broken may still be running: it is asked about, never repeated."""
    openshell.shell(ready, "setsid sleep 97530 >/dev/null 2>&1 </dev/null & true")
    before = openshell.shell(ready, INSTANCE).text
    openshell.control("kill")
    openshell.control("start")
    back_to_ready(openshell, ready)
    assert openshell.shell(ready, INSTANCE).text == before
    assert "97530" in openshell.shell(ready, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text


def test_followed_log_ends_with_the_gateway(openshell, ready):
    following = openshell.popen("logs", ready, "--tail")
    time.sleep(scaled(1))
    assert following.poll() is None
    openshell.control("kill")
    following.communicate(timeout=scaled(20))
    assert following.returncode is not None


def test_removed_container_breaks_the_calls_P10(openshell, ready):
    calls = both(openshell, ready, "sleep 100; echo done")
    openshell.control("remove", ready)
    removed = time.monotonic()
    for call in calls:
        status, out, error, _ = call.end()
        assert status == 1 and out == b"" and said(error, CLOSED), (status, out, error)
    assert time.monotonic() - removed < scaled(10)


def test_sandbox_of_a_removed_container_is_not_ready(openshell, ready):
    """It goes after some seconds, or stays in another phase until it is deleted."""
    openshell.control("remove", ready)
    wait_until(lambda: openshell.phase(ready) != "Ready", 10, "another phase")
    until = time.monotonic() + scaled(3)
    while time.monotonic() < until:
        assert openshell.phase(ready) in ("Provisioning", "Error", None)
        done = openshell.exec(ready, "true")
        assert done.failed_with(f"sandbox '{ready}' is not ready") or (
            done.failed_with("sandbox not found")), done
        time.sleep(0.2)
    gone = openshell.delete(ready)
    assert gone.failed_with("sandbox not found") or gone.status == 0, gone
    assert openshell.phase(ready) is None


def test_delete_of_one_whose_container_is_gone(openshell, ready):
    openshell.control("remove", ready)
    done = openshell.delete(ready)
    assert done.status == 0 or done.failed_with("sandbox not found"), done
    wait_until(lambda: openshell.phase(ready) is None, 40, "the end of the sandbox")


def test_paused_container_never_answers_P04(openshell, ready):
    """So every wait has a deadline of our own. The sandbox may be lost by it."""
    calls = both(openshell, ready, "sleep 1; echo done")
    openshell.control("pause", ready)
    try:
        for call in calls:
            status, out, _, _ = call.end(2.5)
            assert status is None and out == b"", (status, out)
    finally:
        openshell.control("unpause", ready)
    done = openshell.shell(ready, "echo again")
    assert (done.status, done.text) == (0, "again\n") or (
        done.failed_with(f"sandbox '{ready}' is not ready (phase: Error)")), done


def test_paused_sandbox_can_be_deleted(openshell, ready):
    openshell.control("pause", ready)
    done = openshell.delete(ready)
    assert done.status == 0, done
    wait_until(lambda: openshell.phase(ready) is None, 40, "the end of the sandbox")


def test_create_is_broken_by_a_killed_gateway_S21(openshell):
    """What was begun may be there afterwards, in any phase, and can be deleted by its name."""
    name = openshell.new_name()
    creating = openshell.popen(*openshell.create_words(name, openshell.policy()))
    wait_until(lambda: openshell.phase(name), 10, "the sandbox")
    openshell.control("kill")
    _, error = creating.communicate(timeout=scaled(60))
    assert creating.returncode == 1, error
    openshell.control("start")
    assert openshell.phase(name) in (None, "Provisioning", "Ready", "Error")
    openshell.delete(name)
    wait_until(lambda: openshell.phase(name) is None, 40, "the end of the sandbox")


def test_bind_mounts_that_are_off_refuse_the_create_W04(openshell):
    folder = openshell.folder("bind-mounts-off")
    mounts = openshell.mounts((folder, folder, False))
    openshell.control("bind-mounts", "off")
    try:
        name = openshell.new_name()
        done = openshell.create(name, openshell.policy(read_write=[folder]), mounts)
        assert done.status == 1 and done.said("enable_bind_mounts"), done
        assert openshell.phase(name) is None
        assert openshell.made_box()
    finally:
        openshell.control("bind-mounts", "on")
    assert openshell.made_box(policy=openshell.policy(read_write=[folder]), mounts=mounts)
