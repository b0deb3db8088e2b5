# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the wall lets through and what it does not, seen from a command inside (REQ-W01,
REQ-W02, REQ-W06, REQ-W08, REQ-W09, REQ-N01), each with a control that works outside.

The walls differ by design where REFUSED says so: in bubblewrap a write outside the folders meets a
read-only file system, with OpenShell Landlock, and nothing there runs as root. OpenShell's own
Landlock rules have no listing of `/` either."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import public_host
import pytest

EXEC = ["sandbox", "exec"]


@pytest.fixture
def folder(account, workspace):
    account.write(workspace.folder / "f", "the file of the folder\n")
    account.write(workspace.home / ".ssh/canary", "canary-of-home\n", mode=0o600)
    return workspace.folder


def run_probe(account, openworker, wall, folder, script, **options):
    return account.run([openworker, *EXEC, *wall.argv, "--folder", folder, "--", "sh", "-c", script],
                       **options)


# What a write outside the folders meets.
REFUSED = {"bubblewrap": "Read-only file system", "openshell": "Permission denied"}


def assert_nothing_left(workspace):
    assert workspace.left() == []


def check_refusals(done, canary, wall):
    assert "the file of the folder" in done.stdout
    assert "canary-of-home" not in done.stdout + done.stderr
    for text in [f"cat: {canary}: No such file or directory",
                 "/.ssh': No such file or directory",
                 f"touch: cannot touch '/etc/x': {REFUSED[wall.name]}",
                 "/proc/sys/kernel/core_pattern:",
                 "response 403"]:
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
    assert "may be reached" not in done.stderr
    assert done.returncode == 7


SCRIPT = ("cat {folder}/f; cat {canary}; ls ~/.ssh; touch /etc/x; "
          "(: >>/proc/sys/kernel/core_pattern); curl -sS https://example.com; exit 7")


def test_folder_is_there_and_five_things_are_not(account, workspace, folder, openworker, wall):
    canary = workspace.home / ".ssh/canary"
    assert account.run(["cat", canary]).stdout == "canary-of-home\n"
    done = run_probe(account, openworker, wall, folder, SCRIPT.format(folder=folder, canary=canary))
    check_refusals(done, canary, wall)
    assert not os.path.exists("/etc/x")
    assert_nothing_left(workspace)


@pytest.mark.root
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_root_becomes_the_owner_of_the_folders(account, workspace, folder, openworker, wall,
                                               ordinary_ids):
    """With folders of another account, root's sandbox runs as that account."""
    uid, gid = ordinary_ids
    for path in [folder, folder / "f"]:
        os.chown(path, uid, gid)
    folder.chmod(0o700)
    canary = workspace.home / ".ssh/canary"
    done = run_probe(account, openworker, wall, folder, SCRIPT.format(folder=folder, canary=canary))
    check_refusals(done, canary, wall)
    done = run_probe(account, openworker, wall, folder, "id -u; id -g; id -G; echo new > made; "
                     "echo x > ~/made && stat -c %u ~/made")
    user, group, *groups, maker = done.stdout.split()
    assert [user, group, maker] == [str(uid), str(gid), str(uid)], done.stderr
    # OpenShell's supervisor leaves its own group with what it starts.
    assert set(groups) == {str(gid)} or wall.is_openshell and set(groups) <= {str(gid), "0"}, groups
    assert (folder / "made").stat().st_uid == uid
    assert_nothing_left(workspace)


def test_read_only_folder_refuses_a_write(account, workspace, folder, openworker, wall):
    other = account.mkdir(workspace.path / "other")
    script = f"echo x > {folder}/f; echo y > {folder}/new; rm {folder}/f; mkdir {folder}/d; cat {folder}/f"
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", other, "--folder", f"{folder}:ro",
                        "--", "sh", "-c", script])
    assert done.stdout == "the file of the folder\n"
    assert done.stderr.count("Read-only file system") == 4, done.stderr
    assert sorted(os.listdir(folder)) == ["f"]


def test_read_only_folder_inside_a_read_write_one(account, workspace, folder, openworker, wall):
    """REQ-W10 [bubblewrap, openshell]: the inner folder keeps its own mode, whatever the order they are given in."""
    inner = account.mkdir(folder / "inner")
    account.write(inner / "kept", "kept")
    for folders in (["--folder", folder, "--folder", f"{inner}:ro"],
                    ["--folder", f"{inner}:ro", "--folder", folder]):
        done = account.run([openworker, *EXEC, *wall.argv, *folders, "--", "sh", "-c",
                            f"echo x > {inner}/kept; echo ok > {folder}/outer; cat {inner}/kept"])
        assert done.stdout == "kept", done.stderr
        assert "Read-only file system" in done.stderr
        assert (folder / "outer").read_text() == "ok\n"


CONNECT = """
import socket, sys
kind, where = sys.argv[1], sys.argv[2]
s = socket.socket(socket.AF_UNIX if kind == "abstract" else socket.AF_INET)
s.settimeout(5)
try:
    s.connect(("\\0" + where) if kind == "abstract" else ("127.0.0.1", int(where)))
    print("answered", s.recv(16).decode())
except OSError as error:
    print("refused", error.errno)
"""


@pytest.fixture
def listeners():
    """A TCP listener on the host's loopback and one on an abstract socket, both greeting."""
    name = f"openworker-test-{os.getpid()}"
    tcp = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + name)
    abstract.listen(8)

    def serve(listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.sendall(b"hello")

    for listener in (tcp, abstract):
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    yield {"tcp": str(tcp.getsockname()[1]), "abstract": name}
    for listener in (tcp, abstract):
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("kind", ["tcp", "abstract"])
def test_listeners_of_the_host_are_out_of_reach(account, folder, openworker, wall, listeners, kind):
    argv = ["/usr/bin/python3", "-c", CONNECT, kind, listeners[kind]]
    assert account.run(argv).stdout == "answered hello\n"
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", folder, "--", *argv])
    assert done.stdout.startswith("refused "), done.stdout + done.stderr


@pytest.mark.parametrize("script,status", [
    ("exit 0", 0), ("exit 1", 1), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137),
    ("kill -SEGV $$", 139), ("exec no-such-program", 127),
])
def test_exit_status_is_the_commands(account, folder, openworker, wall, script, status):
    assert run_probe(account, openworker, wall, folder, script).returncode == status


def test_program_that_is_not_there(account, folder, openworker, wall):
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", folder, "--", "/no/such/program"])
    assert done.returncode == 127 and "/no/such/program" in done.stderr


def test_output_passes_through_byte_for_byte(account, workspace, folder, openworker, wall):
    data = bytes(range(256)) * 4096
    account.write(folder / "data", data)
    argv = [openworker, *EXEC, *wall.argv, "--folder", folder, "--", "sh", "-c", "cat data; cat data >&2"]
    done = subprocess.run(account.argv(argv), env=account.env(), cwd=workspace.path,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout == data
    assert done.stderr == data


def test_what_is_there_can_be_listed(account, workspace, folder, openworker, wall):
    """`ls /` works, and shows what was put there: no home but the way to the folders. OpenShell's
    Landlock rules allow no listing of what leads to a folder."""
    if wall.is_openshell:
        places = f"/ {workspace.path} {workspace.home} /root /home"
        done = run_probe(account, openworker, wall, folder,
                         f"ls -A {folder}; for f in {places}; do ls $f; done")
        assert done.stdout == "f\n" and len(done.stderr.splitlines()) == 5, done.stderr
        return
    done = run_probe(account, openworker, wall, folder, f"ls / && ls -A {workspace.path}; ls /root /home")
    assert {"usr", "etc", "proc", "tmp"} <= set(done.stdout.split())
    assert not {"boot", "srv", "sys", "media"} & set(done.stdout.split())
    shown = done.stdout.split()
    assert "folder" in shown and "home" in shown and ".ssh" not in shown and "tmp" in shown


def test_processes_of_the_host_are_not_seen(account, folder, openworker, wall):
    done = run_probe(account, openworker, wall, folder, "ls /proc; cat /proc/1/comm")
    pids = [word for word in done.stdout.split() if word.isdigit()]
    assert 1 < len(pids) < 10, done.stdout


# What the wall is to one process, in a form that can be compared.
STANDING = ("readlink /proc/self/ns/mnt /proc/self/ns/user /proc/self/ns/pid /proc/self/ns/net; "
            "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|Uid):' /proc/self/status; "
            "cat {canary} 2>&1; touch /etc/x 2>&1")


def test_processes_of_a_command_are_behind_the_same_wall(account, workspace, folder, openworker,
                                                         wall):
    """REQ-W02 [bubblewrap, openshell]: also the child of a child, in a session of its own."""
    standing = STANDING.format(canary=workspace.home / ".ssh/canary")
    script = folder / "standing"
    account.write(script, standing + "\n")
    done = run_probe(account, openworker, wall, folder,
                     f"sh {script}; echo; setsid -w sh -c 'setsid -w sh {script} </dev/null; true'")
    command, child = done.stdout.split("\n\n")
    assert command.splitlines() == child.splitlines(), done.stdout
    assert len(command.splitlines()) == 11, done.stdout
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"):
        assert line in command, command
    # A container that root starts is in root's own user namespace, as an ordinary account.
    own = {"mnt", "user", "pid", "net"} - ({"user"} if wall.is_openshell and account.is_root else set())
    outside = {os.readlink(f"/proc/self/ns/{name}") for name in own}
    assert not wall.is_openshell or "Uid:\t0" not in command
    assert not outside & set(command.splitlines())


def test_runner_is_read_only_and_starts_the_command(account, workspace, folder, openworker, wall):
    """REQ-W09 [bubblewrap, openshell]: it is no file of the inside, and nothing inside can change it."""
    done = run_probe(account, openworker, wall, folder,
                     "cat /proc/$PPID/comm; tr '\\0' ' ' </proc/$PPID/cmdline; echo; "
                     "grep ' /opt/openworker' /proc/self/mountinfo; "
                     "for f in /opt/openworker/*; do (: >>$f); rm $f; mv $f $f.x; done; ls /opt/openworker")
    lines = done.stdout.splitlines()
    assert lines[0] == "openworker-runn" and lines[1].startswith("/opt/openworker/openworker-runner serve "), lines
    mounts = [line.split() for line in lines if " /opt/openworker" in line and " - " in line]
    assert mounts and all("ro" in mount[5].split(",") for mount in mounts), lines
    assert lines[-1] == "openworker-runner" and done.stderr.count(REFUSED[wall.name]) >= 2, done.stderr


def test_private_home_is_empty_and_goes_with_the_sandbox(account, workspace, folder, openworker,
                                                         wall):
    """REQ-W08 [bubblewrap, openshell]: under the settings' directory, 0700, HOME of every command."""
    done = run_probe(account, openworker, wall, folder,
                     "echo $HOME; stat -c %a ~; ls -A ~; echo secret > ~/left; mount | grep -c ' /home'")
    home = Path(done.stdout.split()[0])
    assert home.parent == workspace.private_homes
    assert done.stdout.split()[1:2] == ["700"]
    assert not home.exists()
    assert_nothing_left(workspace)


def test_no_secret_of_the_environment_gets_in(account, folder, openworker, wall):
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", folder, "--", "env"],
                       env={"SECRET_TOKEN": "hunter2", "OPENWORKER_API_KEY": "k", "SSH_AUTH_SOCK": "/x"})
    names = [line.partition("=")[0] for line in done.stdout.splitlines()]
    assert "HOME" in names and "PATH" in names
    assert not {"SECRET_TOKEN", "OPENWORKER_API_KEY", "SSH_AUTH_SOCK", "OPENWORKER_LIBEXEC"} & set(names)


def test_descriptors_of_the_caller_do_not_get_in(account, folder, openworker, wall, workspace):
    """As H22: a descriptor that the caller left open is not one inside."""
    opened = [os.open("/etc", os.O_RDONLY) for _ in range(20)]
    for fd in opened:
        os.set_inheritable(fd, True)
    try:
        done = account.run([openworker, *EXEC, *wall.argv, "--folder", folder, "--", "ls", "-l", "/proc/self/fd"],
                           close_fds=False)
    finally:
        for fd in opened:
            os.close(fd)
    numbers = [line.split()[8] for line in done.stdout.splitlines() if " -> " in line]
    assert set(numbers) <= {"0", "1", "2", "3"}, done.stdout


SERVER = Path(__file__).with_name("public_host.py")


@pytest.fixture
def public_server(workspace, folder):
    """A TLS server on the loopback, with the certificate of its CA in the folder: its port."""
    public_host.make_certificate(workspace.path)
    shutil.copy(workspace.path / "ca.pem", folder / "ca.pem")
    (folder / "ca.pem").chmod(0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(workspace.path / "ca.pem", workspace.path / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), public_host.Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("wall", ["openshell"], indirect=True)
def test_listed_host_is_reached_through_openshell_and_no_other(account, folder, openworker, wall,
                                                               public_server):
    """As above, with the simulation's own way to a host in place of a network. What was refused is
    still refused seconds later: that the command was typed allows no host."""
    wall.sim.set(hosts={f"{name}:443": f"127.0.0.1:{public_server}" for name in public_host.NAMES})
    curl = f"curl -sS --cacert {folder}/ca.pem"
    done = run_probe(account, openworker, wall, folder,
                     f"{curl} https://github.com/; echo \"[$?]\"; {curl} https://other.test/; echo \"[$?]\"; sleep 3; "
                     f"{curl} https://other.test/; echo \"[$?]\"; {curl} http://github.com/; echo \"[$?]\"; "
                     f"{curl} -m 5 --noproxy '*' https://github.com/; echo \"[$?]\"")
    assert done.stdout.startswith("public host answers\n[0]\n"), done.stdout + done.stderr
    answers = re.findall(r"\[(\d+)\]", done.stdout)
    assert answers[:3] == ["0", "56", "56"] and answers[4] in ("6", "7"), done.stdout + done.stderr
    assert done.stdout.count("public host answers") == 1 and "may be reached" not in done.stderr
    events = [json.loads(line) for line in account.run([openworker, "audit", "show", "--json"]).stdout.splitlines()]
    decisions = [record["event"] for record in events if record["event"]["type"] == "host-decision"]
    assert [(one["host"], one["decision"], one["reason"]) for one in decisions if one["host"] == "other.test"] == [
        ("other.test", "refuse", "not_listed")]
    assert {one["level"] for one in decisions} == {"openshell"}
    # What left the machine: OpenShell counts no bytes, and says which hosts were reached.
    hosts = traffic(account, openworker)
    assert hosts["github.com", 443]["connections"] == 1 and hosts["github.com", 443]["up"] is None
    assert hosts["github.com", 443]["program"].endswith("/curl")
    assert hosts["other.test", 443]["refused"] == 2 and hosts["other.test", 443]["connections"] == 0


def traffic(account, openworker):
    """What left the machine in the one session that there was, asked for after its end."""
    (session,) = {json.loads(line)["session"] for line in
                  account.run([openworker, "sessions", "list", "--json"]).stdout.splitlines()}
    done = account.run([openworker, "sandbox", "traffic", session, "--json"])
    assert done.returncode == 0, done.stderr
    return {(entry["host"], entry["port"]): entry for entry in json.loads(done.stdout)["hosts"]}


@pytest.mark.root
@pytest.mark.parametrize("wall", ["bubblewrap"], indirect=True)
def test_listed_host_is_reached_and_no_other(account, workspace, folder, openworker, wall):
    """The proxy's own decision, not missing DNS: in a network of its own both names lead to a
    server that answers, and only the one on the list is let through."""
    done = subprocess.run(
        ["unshare", "--mount", "--", sys.executable, str(SERVER), str(workspace.path),
         str(account.uid), str(account.gid), "--",
         *account.argv([openworker, *EXEC, *wall.argv, "--folder", folder, "--", "sh", "-c",
                        f"curl -sS --cacert {folder}/ca.pem https://github.com/; echo \"[$?]\"; "
                        f"curl -sS --cacert {folder}/ca.pem https://other.test/; echo \"[$?]\"; "
                        f"curl -sS http://github.com/; echo \"[$?]\"; "
                        f"curl -sS --noproxy '*' --cacert {folder}/ca.pem https://github.com/; echo \"[$?]\""])],
        env=account.env(), capture_output=True, text=True, timeout=120, check=False)
    assert "control github.com: public host answers" in done.stdout, done.stdout + done.stderr
    assert "control other.test: public host answers" in done.stdout
    inside = done.stdout.split("inside:\n", 1)[1]
    assert inside.startswith("public host answers\n[0]\n"), inside + done.stderr
    # curl: 56 = refused by the proxy, 6 or 7 = no way round it
    answers = re.findall(r"\[(\d+)\]", inside)
    assert answers[:3] == ["0", "56", "0"] and answers[3] in ("6", "7"), inside
    # The list names a port: plain HTTP to the same host is refused too.
    assert '"host_not_allowed"' in inside and "github.com:80" in inside
    assert done.stderr.count("response 403") == 1
    shown = account.run([openworker, "audit", "show", "--json"]).stdout
    decisions = [line for line in shown.splitlines() if '"host-decision"' in line]
    assert any('"github.com"' in line and '"allow"' in line for line in decisions)
    assert any('"other.test"' in line and '"refuse"' in line and '"not_listed"' in line
               for line in decisions)
    hosts = traffic(account, openworker)
    reached = hosts["github.com", 443]
    # A handshake is some kilobytes, and the page a few bytes.
    assert reached["connections"] == 1 and 200 < reached["up"] < 20000 and 500 < reached["down"] < 50000
    assert reached["program"].endswith("/curl") and reached["refused"] == 0
    assert hosts["other.test", 443]["refused"] == 1 and hosts["other.test", 443]["up"] == 0
