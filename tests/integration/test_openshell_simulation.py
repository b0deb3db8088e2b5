# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The wall of the simulated openshell holds, and nothing of it stays: the tests of the provider
lean on both. What it says and how it fails is in tests/contract."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import scaled, wait_until
from openshells import OpenshellSim

BASE = ["/usr", "/lib", "/etc", "/proc", "/dev/urandom", "/var/log", "/sandbox"]
INSIDE = 1000


class Box:
    """One sandbox of a simulation, with a folder to write and one to read."""

    def __init__(self, account, sim, name="ow-wall", hosts=("allowed.example",)):
        self.account, self.sim, self.name = account, sim, name
        self.ids = (INSIDE, INSIDE) if account.is_root else (account.uid, account.gid)
        self.rw, self.ro = account.workspace.folder, account.workspace.path / "ro"
        account.mkdir(self.ro)
        account.write(self.ro / "file", "read\n")
        account.write(self.rw / "file", "written\n")
        for path in (self.rw, self.rw / "file"):
            os.chown(path, *self.ids)
        self.policy = {
            "version": 1,
            "filesystem_policy": {"include_workdir": False, "read_only": [*BASE, str(self.ro)],
                                  "read_write": ["/tmp", "/dev/null", "/dev/pts", str(self.rw)]},
            "landlock": {"compatibility": "hard_requirement"},
            "process": {"run_as_user": str(self.ids[0]), "run_as_group": str(self.ids[1])},
            "network_policies": {"hosts": {
                "name": "hosts", "endpoints": [{"host": host, "port": 443} for host in hosts],
                "binaries": [{"path": "/**"}]}}}
        self.mounts = [(self.rw, self.rw, False), (self.ro, self.ro, True)]

    def create(self):
        # YAML has JSON in it.
        policy = self.account.write(self.account.workspace.path / f"{self.name}.yaml",
                                    json.dumps(self.policy))
        config = {"docker": {"mounts": [
            {"type": "bind", "source": str(source), "target": str(target), "read_only": read_only}
            for source, target, read_only in self.mounts]}}
        done = self.sim.run("sandbox", "create", "--name", self.name, "--from", "base", "--no-tty",
                            "--detach", "--no-auto-providers", "--policy", policy,
                            "--driver-config-json", json.dumps(config), "--", "/bin/sleep",
                            "infinity")
        assert done.returncode == 0, done.stderr
        return self

    def exec(self, *command, **options):
        return self.sim.run("sandbox", "exec", "-n", self.name, "--no-tty", "--", *command,
                            **options)

    def shell(self, script):
        return self.exec("bash", "-c", script)


@pytest.fixture
def sim(account):
    with OpenshellSim(account, speed=0) as started:
        yield started


@pytest.fixture
def box(account, sim):
    return Box(account, sim).create()


@pytest.fixture
def listener():
    """A server on the host's loopback that answers whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(b"HOST")
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


# --- the wall ---

def test_loopback_of_the_host_is_not_reached(box, listener):
    with socket.create_connection(("127.0.0.1", listener)) as probe:
        assert probe.recv(4) == b"HOST"
    for address in ("127.0.0.1", "localhost", "0.0.0.0", "10.200.0.1"):
        done = box.shell(f"exec 3<>/dev/tcp/{address}/{listener} && head -c 4 <&3")
        assert done.returncode != 0 and "HOST" not in done.stdout, (address, done)


def test_loopback_is_refused_by_the_proxy_though_the_policy_names_it(account, sim, listener):
    box = Box(account, sim, hosts=())
    box.policy["network_policies"]["hosts"]["endpoints"] = [{"host": "127.0.0.1",
                                                             "port": listener}]
    box.create()
    done = box.shell(f"curl -sS -m 10 --noproxy '' http://127.0.0.1:{listener}/")
    assert "ssrf_denied" in done.stdout and "HOST" not in done.stdout, done


def test_allowed_host_really_is_reached_and_another_is_not(box, sim, listener):
    sim.set(hosts={"allowed.example:443": f"127.0.0.1:{listener}",
                   "other.example:443": f"127.0.0.1:{listener}"})
    ask = ("exec 3<>/dev/tcp/10.200.0.1/3128; printf 'CONNECT %s:443 HTTP/1.1\\r\\n\\r\\n' $0 >&3; "
           "read -r status <&3; read -r empty <&3; read -rn 4 word <&3; echo \"$status $word\"")
    assert box.exec("bash", "-c", ask, "allowed.example").stdout.split()[1:] == [
        "200", "Connection", "Established", "HOST"]
    assert "403" in box.exec("bash", "-c", ask, "other.example").stdout


def test_sockets_of_the_host_are_not_reached(account, box):
    name = f"ow-{os.getpid()}-abstract"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        script = ("import socket, sys\n"
                  f"socket.socket(socket.AF_UNIX).connect('\\0{name}')")
        done = box.exec("/usr/bin/python3", "-c", script)
    assert done.returncode == 1 and "ConnectionRefusedError" in done.stderr, done


def test_paths_that_nobody_gave_are_not_there(account, box):
    secret = account.write(account.workspace.home / "secret", "x")
    for path in (secret, account.workspace.home, account.workspace.path / "ow-wall.yaml",
                 Path(__file__), "/root", "/home", "/boot", "/sys/kernel", "/proc/1/environ",
                 "/proc/1/root/etc/passwd"):
        done = box.shell(f"if [ -d '{path}' ]; then ls '{path}'; else cat '{path}'; fi")
        assert done.returncode != 0 and done.stdout == "", (path, done)


def test_mount_that_the_policy_does_not_list_is_not_read(account, sim):
    box = Box(account, sim)
    box.policy["filesystem_policy"]["read_only"].remove(str(box.ro))
    box.create()
    done = box.exec("cat", box.ro / "file")
    assert done.returncode != 0 and "Permission denied" in done.stderr, done


def test_read_only_is_read_only_and_the_rest_is_not(account, box):
    assert box.exec("cat", box.ro / "file").stdout == "read\n"
    for attempt in (f"echo x >>'{box.ro}/file'", f"touch '{box.ro}/new'", f"rm '{box.ro}/file'",
                    f"chmod 777 '{box.ro}'", "touch /usr/new", "touch /etc/new", "touch /new",
                    "echo x >/proc/sys/kernel/core_pattern"):
        done = box.shell(f"( {attempt} )")
        assert done.returncode != 0, (attempt, done)
    assert (box.ro / "file").read_text() == "read\n" and not (box.ro / "new").exists()
    done = box.shell(f"echo more >>'{box.rw}/file' && touch '{box.rw}/new'")
    assert done.returncode == 0, done
    assert (box.rw / "file").read_text() == "written\nmore\n"
    made = (box.rw / "new").stat()
    assert (made.st_uid, made.st_gid) == box.ids


@pytest.mark.parametrize("read_only", [True, False])
def test_mount_alone_decides_where_the_policy_allows_both(account, sim, read_only):
    """The policy lets it be written, the mount does not: it is not."""
    box = Box(account, sim)
    os.chown(box.ro, *box.ids)
    box.policy["filesystem_policy"]["read_write"].append(str(box.ro))
    box.policy["filesystem_policy"]["read_only"].remove(str(box.ro))
    box.mounts[1] = (box.ro, box.ro, read_only)
    box.create()
    done = box.shell(f"touch '{box.ro}/new'")
    assert (done.returncode != 0) is read_only and (box.ro / "new").exists() is not read_only, done


def test_processes_of_the_host_are_neither_seen_nor_killed(account, box):
    ours = account.popen(["sleep", "1000"])
    done = box.shell(f"ls /proc | grep -cE '^[0-9]+$'; kill -9 {ours.pid} 2>/dev/null; kill -9 -1")
    assert int(done.stdout.split()[0]) < 12, done
    assert ours.poll() is None
    # Even that leaves the supervisor, and with it the word about the main command's end.
    wait_until(lambda: json.loads(box.sim.run("sandbox", "get", box.name, "-o", "json").stdout)[
        "phase"] == "Error", 10, "the main command's end")


def test_nothing_raises_privileges(box):
    status = box.exec("cat", "/proc/self/status").stdout
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert found["NoNewPrivs"].strip() == "1" and found["Seccomp"].strip() == "2"
    assert all(int(found[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapBnd"))
    assert {int(word) for word in found["Uid"].split()} == {box.ids[0]}
    for attempt in ("unshare --user true", "unshare --mount true", "mount -t tmpfs x /tmp",
                    "nsenter -t 1 -n true"):
        assert box.shell(attempt).returncode != 0, attempt


@pytest.mark.parametrize("landlock, compatibility, created", [
    (False, "hard_requirement", False), (False, "best_effort", True),
    (True, "hard_requirement", True)])
def test_demanded_landlock_that_is_not_there_makes_no_sandbox(account, sim, landlock,
                                                              compatibility, created):
    sim.set(no_landlock=not landlock)
    box = Box(account, sim)
    box.policy["landlock"]["compatibility"] = compatibility
    if created:
        box.create()
        return
    with pytest.raises(AssertionError, match="ContainerExited"):
        box.create()


# --- several, and nothing that stays ---

def test_two_simulations_have_nothing_in_common(account, sim, box):
    other = OpenshellSim(account, state=account.workspace.path / "other", name="second", speed=0)
    with other:
        done = account.run([other.programs / "openshell", "--gateway-endpoint", sim.endpoint,
                            "sandbox", "list", "-o", "json"])
        assert [found["name"] for found in json.loads(done.stdout)] == [box.name]
        assert json.loads(other.run("sandbox", "list", "-o", "json").stdout) == []
        Box(account, other).create()
        other.remove_container("ow-wall")
        assert box.name in sim.containers()
    # The second one is the account's active gateway now.
    done = sim.run("--gateway-endpoint", sim.endpoint, "sandbox", "exec", "-n", box.name,
                   "--no-tty", "--", "true")
    assert done.returncode == 0, done


def test_command_is_gone_and_the_inside_runs_on_until_the_end(account, sim, box):
    call = account.popen([sim.programs / "openshell", "sandbox", "exec", "-n", box.name,
                          "--no-tty", "--", "sh", "-c", "echo up; exec sleep 1000"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert call.stdout.readline() == b"up\n"
    call.kill()
    call.wait()
    wait_until(lambda: "sleep 1000" in sim.members(box.name).values(), 10, "the command")
    members = sim.members(box.name)
    sim.stop()
    for pid in members:
        wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), 10, f"the end of {pid}")


HOLDER = """
import json, os, sys, time
sys.path.insert(0, {here!r})
from accounts import make_account
from openshells import OpenshellSim
account = make_account({path!r}, {uid}, {gid})
sim = OpenshellSim(account, speed=0).start()
done = sim.run("sandbox", "create", "--name", "ow-a", "--from", "base", "--no-tty", "--detach",
               "--policy", {policy!r}, "--", "/bin/sleep", "infinity")
assert done.returncode == 0, done
print(json.dumps([sim.gateway.pid, *sim.members("ow-a")]), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("what", ["the test", "the gateway first"])
def test_nothing_stays_when_the_test_is_killed(account, tmp_path, what):
    policy = account.write(account.workspace.path / "p.yaml", json.dumps({
        "version": 1, "filesystem_policy": {"read_only": BASE, "read_write": ["/tmp"]},
        "landlock": {"compatibility": "hard_requirement"},
        "process": {"run_as_user": str(account.uid or INSIDE),
                    "run_as_group": str(account.gid or INSIDE)}}))
    script = HOLDER.format(here=str(Path(__file__).parent), path=str(account.workspace.path),
                           uid=account.uid, gid=account.gid, policy=str(policy))
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                              start_new_session=True)
    pids = json.loads(holder.stdout.readline())
    if what == "the gateway first":
        os.kill(pids[0], signal.SIGKILL)
    holder.kill()
    holder.wait()
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid), 10, f"the end of {pid}")


def gone(pid):
    try:
        return Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_calls_are_told_and_the_command_starts_fast(account, sim, box):
    before = len(sim.calls())
    took = []
    for _ in range(10):
        begun = time.monotonic()
        assert sim.run("sandbox", "list", "-o", "json").returncode == 0
        took.append(time.monotonic() - begun)
    when, pid, argv = sim.calls()[-1]
    assert len(sim.calls()) == before + 10
    assert argv == ["sandbox", "list", "-o", "json"] and pid > 1
    assert abs(when - time.time()) < scaled(10)
    assert sorted(took)[5] < scaled(0.4), took
