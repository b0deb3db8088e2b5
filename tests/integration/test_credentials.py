# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Copies of the person's logins and of git's settings in the private home (REQ-S01, REQ-S02,
REQ-S03), and SSH by its own programs against a real sshd (ssh_server.py). In bubblewrap the server
has a network of its own, in which github.com is its address; the simulated openshell is told where
it lies."""

import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import ssh_server
from conftest import scaled, wait_until

EXEC = ["sandbox", "exec"]
SERVER = Path(__file__).with_name("ssh_server.py")
LOGIN = pwd.getpwuid(os.geteuid()).pw_name
SSH_ON = '[[sandbox_credentials]]\nname = "ssh"\nenabled = true\n'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def inside(account, workspace, openworker, wall):
    """Runs a shell's script in a sandbox that could reach the server: inside(script)."""
    if wall.name == "bubblewrap" and os.geteuid() != 0:
        pytest.skip("only root can make a network with a public address")
    ssh_server.make(workspace.path)
    server = None
    if wall.is_openshell:
        port = free_port()
        server = ssh_server.start(workspace.path, "127.0.0.1", port)
        wall.sim.set(hosts={f"{name}:22": f"127.0.0.1:{port}" for name in ssh_server.NAMES})

    def run(script):
        argv = [openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--", "sh", "-c", script]
        if wall.is_openshell:
            return account.run(argv, timeout=120)
        return subprocess.run(
            ["unshare", "--mount", "--", sys.executable, str(SERVER), str(workspace.path), str(account.uid),
             str(account.gid), "--", *account.argv(argv)], cwd=workspace.path, env=account.env(),
            capture_output=True, text=True, timeout=scaled(120), check=False)

    yield run
    if server is not None:
        server.terminate()
        server.wait()


def exec_inside(account, workspace, openworker, wall, script):
    done = account.run([openworker, *EXEC, *wall.argv, "--folder", workspace.folder, "--",
                        "sh", "-c", script], timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def write_ssh(account, workspace, config):
    """The login and what a person's folder has besides."""
    home = workspace.home
    account.mkdir(home / ".ssh", 0o700)
    account.write(home / ".ssh/login", (workspace.path / "ssh/login").read_text(), 0o600)
    account.write(home / ".ssh/known_hosts", ssh_server.known_hosts(workspace.path), 0o644)
    account.write(home / ".ssh/config", config, 0o644)
    account.write(workspace.config / "config.toml", SSH_ON, 0o600)


CONFIG = """UseKeychain yes
AddKeysToAgent yes
NoSuchKeyword yes
Include conf.d/*
Include ~/.ssh/tilde
Include {home}/.ssh/absolute
Include /etc/ssh/ssh_config {home}/other
Match exec "touch {folder}/ran"
  User nobody
  Port 1
Host *
  IdentityAgent ~/.ssh/agent
  ControlMaster auto
  ControlPath ~/.ssh/control-%C
  ControlPersist yes
  ForwardAgent yes
  BatchMode yes
"""


def test_S18_A28_A29_ssh_and_git_work_with_the_copies(account, workspace, wall, inside):
    """REQ-S01 REQ-S02 REQ-S03 [bubblewrap, openshell]: three forms of Include, options of other
    systems, Match exec, an agent; ssh, scp, sftp, git clone and push; without the entry nobody."""
    home, served = workspace.home, workspace.path / "ssh/served"
    write_ssh(account, workspace, CONFIG.format(home=home, folder=workspace.folder))
    account.mkdir(home / ".ssh/conf.d", 0o755)
    account.write(home / ".ssh/conf.d/one", "Host one\n  HostName github.com\n", 0o666)
    account.write(home / ".ssh/tilde", f"Host one two\n  User {LOGIN}\n  IdentityFile ~/.ssh/login\n")
    account.write(home / ".ssh/absolute", "Host two\n  HostName gitlab.com\n")
    account.write(home / ".gitconfig", "[user]\n  name = Ana\n  email = ana@example.org\n")
    done = inside(
        f"cd {workspace.folder}; set -x; ssh one cat {served}/file; HOME=/ ssh two echo second; "
        f"scp -q one:{served}/file copied && cat copied; echo 'get {served}/file got' | sftp -q -b - two; cat got; "
        f"git clone -q one:{served}/repository work && cd work && echo x > x && git add x && "
        "git commit -q -m made-inside && git push -q origin HEAD:main; echo pushed $?; "
        "stat -c '%a %U %n' ~/.ssh/config ~/.ssh/conf.d ~/.ssh/conf.d/one; env | grep -c SSH_AUTH; ls ~/.ssh")
    told = done.stdout + done.stderr
    assert done.stdout.count("from the server") == 3 and "second\n" in done.stdout, told
    assert "pushed 0" in done.stdout, told
    log = subprocess.run(["git", "--git-dir", served / "repository", "log", "--format=%an %s", "main"],
                         capture_output=True, text=True, check=False)
    assert log.stdout == "Ana made-inside\n", log
    assert not (workspace.folder / "ran").exists(), "Match exec was run"
    assert "Include /etc/ssh/ssh_config (not in ~/.ssh)" in done.stderr, told
    assert f"Include {home}/other (not in ~/.ssh)" in done.stderr and "Match exec" in done.stderr, told
    assert "600 " in done.stdout and "700 " in done.stdout and "666 " not in done.stdout, told
    assert workspace.left() == []

    (workspace.config / "config.toml").unlink()
    done = inside(f"ssh -o StrictHostKeyChecking=no one cat {served}/file; ssh github.com true; ls -A ~/.ssh")
    assert "from the server" not in done.stdout, done.stdout + done.stderr


def test_S18_the_usual_keys_jumps_and_old_ways_to_a_host(account, workspace, wall, inside):
    """REQ-S03 [bubblewrap, openshell]: a key of the usual name without a setting, ProxyJump, and
    "ProxyCommand ssh -W"; host keys are checked as ever."""
    served = workspace.path / "ssh/served"
    write_ssh(account, workspace, "Host far\n  HostName gitlab.com\n  ProxyCommand ssh -q -W %h:%p github.com\n"
              "Host jump\n  HostName gitlab.com\n  ProxyJump github.com\n"
              f"Host nc\n  HostName github.com\n  ProxyCommand nc %h %p\nHost *\n  User {LOGIN}\n  BatchMode yes\n")
    (workspace.home / ".ssh/login").rename(workspace.home / ".ssh/id_ed25519")
    if wall.name == "bubblewrap":
        # The jump's other end asks for gitlab.com itself, and there it is this very address.
        hosts = ["far", "jump", "nc", "github.com"]
    else:
        hosts = ["nc", "github.com"]
    done = inside("".join(f"ssh {host} cat {served}/file; echo '[{host}' $?']'; " for host in hosts) +
                  "echo other > ~/.ssh/known_hosts; ssh -o HostName=github.com nc true; echo '[unknown' $?']'")
    told = done.stdout + done.stderr
    for host in hosts:
        assert f"[{host} 0]" in done.stdout, told
    assert done.stdout.count("from the server") == len(hosts), told
    assert "[unknown 255]" in done.stdout and "Host key verification failed" in done.stderr, told


def test_C15_only_files_of_the_persons_own_come_inside(account, workspace, wall, openworker):
    """REQ-S02 [bubblewrap, openshell]: a key without .pub, sockets, a pipe, a file open to all, links."""
    ssh = workspace.home / ".ssh"
    keys = workspace.tmp / "keys"
    account.mkdir(ssh, 0o755)
    account.mkdir(keys, 0o755)
    account.write(keys / "id", "linked key\n", 0o600)
    account.write(ssh / "id_rsa", "key\n", 0o777)
    for name in ("agent", "control-x"):
        with socket.socket(socket.AF_UNIX) as end:
            os.chdir(ssh)
            try:
                end.bind(name)
            finally:
                os.chdir("/")
    os.mkfifo(ssh / "pipe")
    for name, target in {"linked": keys / "id", "folder": keys, "home": workspace.home, "null": "/dev/null",
                         "self": "/proc/self/environ", "shadow": "/etc/shadow", "nowhere": "none",
                         "config-link": workspace.config / "config.toml"}.items():
        (ssh / name).symlink_to(target)
    account.write(workspace.config / "config.toml", SSH_ON, 0o600)
    before = {path.name: path.lstat().st_mtime_ns for path in ssh.iterdir()}
    done = exec_inside(account, workspace, openworker, wall,
                       "cd ~/.ssh; find . -type f -exec stat -c '%n %a %u' {} +; find . ! -type f ! -type d; "
                       "cat linked; echo changed > id_rsa")
    lines = done.stdout.splitlines()
    uid = account.folder_owner[0] if account.folder_owner else account.uid
    named = {line.split()[0] for line in lines if line.startswith("./")}
    assert named == {"./id_rsa", "./linked", "./config"}, done.stdout + done.stderr
    assert all(line.endswith(f" 600 {uid}") for line in lines if line.startswith("./")), done.stdout
    assert "linked key" in done.stdout
    for name, why in {"agent": "a socket", "control-x": "a socket", "pipe": "a pipe", "null": "a device"}.items():
        assert f"~/.ssh/{name} ({why})" in done.stderr, done.stderr
    for name in ("self", "shadow", "home", "folder", "nowhere", "config-link"):
        assert f"~/.ssh/{name} (" in done.stderr, done.stderr
    assert {path.name: path.lstat().st_mtime_ns for path in ssh.iterdir()} == before
    assert (ssh / "id_rsa").read_text() == "key\n"
    assert workspace.left() == []


GITCONFIG = """[user]
  name = Ana
[credential]
  helper = store
[credential "https://example.org"]
  helper = !echo password=secret-1
[http "https://example.org/"]
  extraHeader = Authorization: secret-2
[http]
  extraheader = X: secret-3
[url "https://ana:secret-4@example.org/"]
  insteadOf = ex:
[core]
  sshCommand = ssh secret-5
  fsmonitor = {folder}/hook secret-6
  excludesFile = {home}/.ignored
[include]
  path = {home}/elsewhere/secrets
  path = ~/.gitconfig-work
[sendemail]
  smtpPass = secret-7
[github]
  token = secret-8
"""


def test_git_settings_come_inside_without_logins(account, workspace, wall, openworker):
    """REQ-S03 [bubblewrap, openshell]: always, also with no entry; a broken file is said."""
    home = workspace.home
    account.write(home / ".gitconfig", GITCONFIG.format(home=home, folder=workspace.folder))
    account.write(home / ".gitconfig-work", "[user]\n  email = ana@work.example\n[credential]\n helper = secret-9\n")
    account.write(home / ".ignored", "*.ignored\n")
    account.write(home / ".gitignore_global", "*.global\n")
    account.mkdir(home / "elsewhere")
    account.write(home / "elsewhere/secrets", "[x]\n  y = secret-10\n")
    account.mkdir(home / ".config/git")
    account.write(home / ".config/git/credentials", "https://ana:secret-11@example.org\n", 0o600)
    account.write(home / ".config/git/attributes", "*.bin binary\n")
    account.write(home / ".config/git/config", "[broken\n")
    done = exec_inside(account, workspace, openworker, wall,
                       "cd; find . -type f; grep -r secret . ; git config --list; cd "
                       f"{workspace.folder}; git init -q x && cd x && touch a.ignored b && git status --short")
    assert "secret" not in done.stdout.replace("elsewhere/secrets", ""), done.stdout
    assert "user.email=ana@work.example\n" in done.stdout and "user.name=Ana" in done.stdout, done.stdout
    assert "?? b\n" in done.stdout and "a.ignored" not in done.stdout.split("user.name")[1], done.stdout
    for path in ("./.gitignore_global", "./.ignored", "./.config/git/attributes"):
        assert path in done.stdout, done.stdout
    assert "~/.config/git/config (line 1 cannot be read)" in done.stderr and "include.path" in done.stderr


def test_S02_settings_of_git_bring_no_other_file_along(account, workspace, wall, openworker):
    """REQ-S03 [bubblewrap, openshell]: whoever keeps the settings of git in a folder that agents
    have (dotfiles) has settings and links that an agent wrote."""
    home, dots = workspace.home, workspace.home / "dots"
    account.mkdir(dots)
    account.write(home / "diary.txt", "secret-1\n", 0o600)
    account.mkdir(home / ".ssh", 0o700)
    account.write(home / ".ssh/gitignore", "secret-2\n", 0o600)
    account.write(dots / "gitconfig", "[core]\n  excludesFile = ~/diary.txt\n"
                  "[commit]\n  template = ~/message\n[mailmap]\n  file = ~/.mailmap\n")
    (home / ".gitconfig").symlink_to(dots / "gitconfig")
    (home / "message").symlink_to(dots / "message")
    (dots / "message").symlink_to(home / "diary.txt")
    (home / ".gitignore_global").symlink_to(dots / "ignore")
    (dots / "ignore").symlink_to(home / ".ssh/gitignore")
    account.write(dots / "mailmap", "Ana <a@example.org>\n")
    (home / ".mailmap").symlink_to(dots / "mailmap")
    done = exec_inside(account, workspace, openworker, wall, "cd; find . -type f; grep -r secret .; cat .mailmap")
    assert "secret" not in done.stdout and "Ana <a@" in done.stdout, done.stdout
    for name in ("diary.txt", "message", ".gitignore_global"):
        assert f"~/{name} (" in done.stderr, done.stderr


def test_A40_git_works_in_a_folder_of_another_account(account, workspace, wall, openworker,
                                                      ordinary_ids):
    """REQ-S03 [bubblewrap, openshell]: commands run as the folder's owner, and nothing is declared safe."""
    subprocess.run(["git", "init", "-q", workspace.folder], check=True)
    uid, gid = ordinary_ids
    for path in [workspace.folder, *workspace.folder.rglob("*")]:
        os.chown(path, uid, gid, follow_symlinks=False)
    account.write(workspace.home / ".gitconfig", "[user]\n  name = Ana\n  email = a@example.org\n", 0o600)
    done = exec_inside(account, workspace, openworker, wall,
                       f"cd {workspace.folder}; git status --short --branch; git config --get-all safe.directory; "
                       "git commit -q --allow-empty -m x && git log --format=%an; stat -c %u ~/.gitconfig")
    assert "dubious" not in done.stderr and "No commits yet" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith(f"Ana\n{uid}\n") and "*" not in done.stdout, done.stdout


# --- S17: what a copy is at each moment, and what is left of one ---

STATES = ["credential-folder", "credential-made", "credential-part", "credential-written", "credentials-copied",
          "wall-up"]


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
@pytest.mark.parametrize("state", STATES)
def test_S17_copies_are_owner_only_at_each_step_and_go_with_a_killed_run(account, workspace,
                                                                         openworker, state,
                                                                         damaged):
    """REQ-S02: the run has a mask that takes nothing away, and is killed at that step. After a loss
    of power its entry in the registry may be nothing but NULs."""
    for number in range(3):
        account.write(workspace.home / f".ssh/id_{number}", "key\n" * 100000, 0o644)
    account.write(workspace.config / "config.toml", SSH_ON, 0o600)
    errors = workspace.path / "stderr"
    process = account.popen(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", openworker, *EXEC, "--provider", "bubblewrap", "--folder",
         workspace.folder, "--", "true"], env={"OPENWORKER_TEST_STATE": state}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=errors.open("wb"))

    def stopped():
        assert process.poll() is None, errors.read_text()
        return f"state {state}" in errors.read_text()
    wait_until(stopped, 30, f"state {state}")
    (home,) = workspace.private_homes.iterdir()
    found = [home, *home.rglob("*")]
    assert len(found) > 1
    for path in found:
        status = path.lstat()
        assert stat.S_IMODE(status.st_mode) & 0o077 == 0, (path, oct(status.st_mode))
        if stat.S_ISREG(status.st_mode) and status.st_size > 0:
            assert status.st_uid == account.uid, path
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert workspace.private_homes.exists() and os.listdir(workspace.private_homes)
    if damaged:
        (entry,) = (workspace.state / "registry").glob("*.json")
        account.write(entry, b"\0" * 100, 0o600)
    done = account.run([openworker, *EXEC, "--provider", "bubblewrap", "--folder", workspace.folder, "--", "true"])
    assert done.returncode == 0, done.stderr
    assert os.listdir(workspace.private_homes) == []


def test_S17_copies_of_a_run_that_lives_stay(account, workspace, openworker):
    """REQ-S02: the start of another run takes nothing from it."""
    account.write(workspace.home / ".ssh/id", "key\n", 0o600)
    account.write(workspace.config / "config.toml", SSH_ON, 0o600)
    command = [openworker, *EXEC, "--provider", "bubblewrap", "--folder", workspace.folder, "--", "sh", "-c"]
    process = account.popen([*command, f"echo up > {workspace.folder}/up; sleep 60"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until((workspace.folder / "up").exists, 30, "the first sandbox")
    other = account.run([*command, "true"])
    assert other.returncode == 0, other.stderr
    (home,) = workspace.private_homes.iterdir()
    assert (home / ".ssh/id").read_text() == "key\n"
    assert workspace.folder.exists()
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=scaled(30))
    assert workspace.left() == []
