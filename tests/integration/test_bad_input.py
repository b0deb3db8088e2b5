# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What is wrong is said in one sentence with its cause and what to do next, has the documented exit
status, and leaves nothing half-started (docs/commands.md; REQ-W04, REQ-W12; holes S07, S24)."""

import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import scaled, wait_until
from replays import replay, shell


@pytest.fixture
def exec_in(request, ordinary_user, workspace, openworker):
    """Behind the test's wall, or bubblewrap's where it is about no wall."""
    wall = request.getfixturevalue("wall").name if "wall" in request.fixturenames else "bubblewrap"

    def start(*folders, provider=wall, account=ordinary_user, **options):
        words = [word for folder in folders for word in ("--folder", folder)]
        provided = ["--provider", provider] if provider else []
        return account.run([openworker, "sandbox", "exec", *provided, *words, "--", "true"],
                           **options)
    return start


def check(done, status, *words):
    assert done.returncode == status, done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("openworker: ")]
    assert len(said) == 1, done.stderr
    for word in words:
        assert word in said[0], said[0]


def check_nothing_left(workspace):
    assert workspace.processes() == {}
    assert workspace.left() == []
    # The lock of the engine stays: one who took the file away could let two have it.
    place = workspace.runtime / "coworker"
    assert not place.exists() or set(os.listdir(place)) <= {"engine.lock"}


@pytest.fixture(autouse=True)
def nothing_left(workspace):
    yield
    check_nothing_left(workspace)


@pytest.mark.parametrize("argv,words", [
    ([], "Usage"), (["dance"], "no command “dance”"), (["run"], "--folder"),
    (["run", "--folder", "/x", "--model", "", "task"], "--model"),
    (["run", "--folder", "/x", "--model", "replay:/x", "--record", "", "task"], "--record"),
    (["run", "--folder", "/x", "--model", "replay:/x"], "one task"),
    (["run", "--folder", "/x", "--model", "replay:/x", "a", "b"], "one task"),
    (["run", "--no-such-option"], "--no-such-option"),
    (["sandbox"], "needs one of its own commands"), (["sandbox", "dance"], "has no command “dance”"),
    (["sandbox", "exec"], "--folder"), (["sandbox", "exec", "--folder", "/x"], "command"),
    (["sandbox", "exec", "--folder", "/x", "--"], "command"),
    (["sessions"], "list"), (["sessions", "show"], "list"), (["audit"], "verify"), (["audit", "verify", "x"], "verify"),
    (["sessions", "delete"], "list"), (["sessions", "resume"], "list"), (["sessions", "delete", "x", "--json"], "list"),
    (["attach"], "one session"), (["attach", "a", "b"], "one session"), (["attach", "a", "--from", "0"], "--from"),
    (["attach", "a", "--from", "x"], "--from"), (["attach", "a", "--say", ""], "--say"),
    (["attach", "a", "--say", "x", "--stop"], "--stop"), (["up", "x"], "no words"), (["status", "x"], "no words"),
    (["approvals", "allow"], "allow REQUEST"), (["approvals", "deny"], "deny REQUEST"),
    (["approvals", "allow", "123456", "--session", "--always"], "together"),
    (["approvals", "deny", "123456", "--always"], "deny REQUEST"), (["approvals", "dance"], "allow REQUEST"),
    (["model"], "add NAME"), (["model", "add"], "add NAME"), (["model", "add", "x"], "--base-url"),
    (["model", "add", "x", "--base-url", "http://127.0.0.1:1"], "--model"), (["model", "test"], "test NAME"),
    (["model", "list", "--base-url", "http://127.0.0.1:1"], "model add"),
    (["model", "remove", "x", "y"], "remove NAME"),
])
def test_wrong_usage(ordinary_user, openworker, argv, words):
    done = ordinary_user.run([openworker, *argv])
    assert done.returncode == 2
    assert words in done.stdout + done.stderr


@pytest.mark.parametrize("argv", [["--help"], ["run", "--help"], ["sandbox", "exec", "--help"],
                                  ["sandbox", "prove", "-h"], ["sessions", "--help"],
                                  ["audit", "--help"], ["attach", "--help"], ["up", "--help"],
                                  ["approvals", "--help"], ["status", "--help"],
                                  ["model", "--help"], ["--version"]])
def test_help_is_there(ordinary_user, openworker, argv):
    done = ordinary_user.run([openworker, *argv])
    assert done.returncode == 0 and not done.stderr
    assert " ".join(["openworker", *argv[:-1]]) in done.stdout


def test_unknown_provider(exec_in, workspace):
    check(exec_in(workspace.folder, provider="moat"), 2, "moat", "bubblewrap, direct")


def test_provider_that_is_not_installed(exec_in, workspace):
    check(exec_in(workspace.folder, provider="openshell"), 69, "Install OpenShell")


def test_nothing_set_and_nobody_to_ask(exec_in, workspace):
    check(exec_in(workspace.folder, provider=None), 69, "Nothing is set", "--provider bubblewrap")


@pytest.mark.parametrize("command", ["sessions", "audit"])
def test_unknown_session(ordinary_user, workspace, openworker, exec_in, command):
    assert exec_in(workspace.folder, provider="direct").returncode == 0
    check(ordinary_user.run([openworker, command, "show", "nosuch"]), 2, "nosuch", "sessions list")
    done = ordinary_user.run([openworker, command, "show", "long" * 20000])
    assert done.returncode == 2 and len(done.stderr) < 400


def test_folder_missing(exec_in, workspace):
    check(exec_in(workspace.path / "no"), 2, str(workspace.path / "no"))


@pytest.mark.parametrize("text", ["folder", "./folder", "../x", "", "~/x"])
def test_folder_relative(exec_in, workspace, text):
    check(exec_in(text), 2, "absolute")


def test_folder_that_is_a_file(exec_in, ordinary_user, workspace):
    path = ordinary_user.write(workspace.path / "file", "x")
    check(exec_in(path), 2, str(path))


@pytest.mark.parametrize("below", [".ssh", ".ssh/keys", ".gnupg", ".config/coworker", ".config",
                                   ".local/share/coworker", ".local/state/coworker", ".local",
                                   ".config/systemd", ".config/autostart", ".config/openshell", ""])
def test_folder_of_the_home_that_is_never_shared(exec_in, ordinary_user, workspace, wall, below):
    """S24, REQ-W12 [bubblewrap, openshell]: by resolved path, so through a link as well."""
    path = ordinary_user.mkdir(workspace.home / below)
    (workspace.home / ".config/coworker").mkdir(parents=True, exist_ok=True)
    ordinary_user.give(workspace.home)
    check(exec_in(path), 69, str(path))
    link = workspace.path / "link"
    link.symlink_to(path)
    check(exec_in(link), 69, str(path))


@pytest.mark.parametrize("path", ["/", "/etc", "/usr", "/usr/share", "/boot", "/proc", "/sys", "/dev",
                                  "/run", "/var/run", "/dev/shm", "/etc/ssl"])
def test_folder_of_the_system_that_is_never_shared(exec_in, wall, path):
    check(exec_in(path), 69)


def test_folder_given_twice(exec_in, workspace, wall):
    done = exec_in(workspace.folder, f"{workspace.folder}:ro")
    assert done.returncode in (2, 69) and str(workspace.folder) in done.stderr


@pytest.mark.root
def test_folders_of_two_owners(workspace, openworker, programs, ordinary_user):
    one, two = workspace.path / "one", workspace.path / "two"
    for path, uid in ((one, 0), (two, ordinary_user.uid or 1)):
        path.mkdir()
        os.chown(path, uid, uid)
    done = subprocess.run([openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder", one,
                           "--folder", two, "--", "true"], env=ordinary_user.env() | {"HOME": str(workspace.home)},
                          capture_output=True, text=True, timeout=60, check=False)
    check(done, 69, "owner")


def test_folder_that_vanishes_while_the_wall_is_raised(ordinary_user, workspace, openworker, wall):
    process = ordinary_user.popen(
        [openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--", "true"],
        env={"OPENWORKER_TEST_STATE": "session-created"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=open(workspace.path / "stderr", "wb"))
    wait_until(lambda: "state session-created" in (workspace.path / "stderr").read_text(), 20)
    shutil.rmtree(workspace.folder)
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=scaled(60)) == 69, (workspace.path / "stderr").read_text()
    assert str(workspace.folder) in (workspace.path / "stderr").read_text()


def test_folder_swapped_while_the_wall_is_raised(ordinary_user, workspace, openworker, wall):
    """What was checked is what is mounted: another directory at the same path is not."""
    process = ordinary_user.popen(
        [openworker, "sandbox", "exec", *wall.argv, "--folder", workspace.folder, "--",
         "ls", workspace.folder],
        env={"OPENWORKER_TEST_STATE": "session-created"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=open(workspace.path / "stderr", "wb"))
    wait_until(lambda: "state session-created" in (workspace.path / "stderr").read_text(), 20)
    workspace.folder.rename(workspace.path / "moved")
    ordinary_user.write(workspace.home / ".ssh/id", "secret")
    workspace.folder.symlink_to(workspace.home / ".ssh")
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=scaled(60))
    assert process.returncode == 69, (workspace.path / "stderr").read_text()
    assert b"id" not in out


REPLAYS = {
    "missing": None,
    "empty": "",
    "foreign": "This is no recording.\n",
    "other JSON": '{"model":"x","messages":[]}\n',
    "array": "[1,2]\n",
    "cut": '{"type":"model-message","text":"Hi","tool_ca',
    "wrong type": '{"type":"session-started"}\n',
    "no pattern": '{"type":"model-message","text":"","tool_calls":[{"id":"a","name":"list","arguments":{}}]}\n'
                  '{"type":"tool-ended","model_call":"a"}\n{"type":"model-message","text":"x"}\n',
    "empty pattern": '{"type":"model-message","text":"","tool_calls":[{"id":"a","name":"list","arguments":{}}]}\n'
                     '{"type":"tool-ended","model_call":"a","result_pattern":"x*"}\n'
                     '{"type":"model-message","text":"x"}\n',
    "binary": b"\x7fELF\x00\x01\x02\xff",
}


@pytest.mark.parametrize("kind", [*REPLAYS, "unreadable", "directory", "fifo"])
def test_recording_that_cannot_be_used(ordinary_user, workspace, openworker, kind):
    path = workspace.path / "recording"
    if REPLAYS.get(kind) is not None:
        ordinary_user.write(path, REPLAYS[kind])
    elif kind == "unreadable":
        path.write_text("x")
        path.chmod(0)
        os.chown(path, 0 if os.geteuid() == 0 else os.geteuid(), -1)
    elif kind == "directory":
        ordinary_user.mkdir(path)
    elif kind == "fifo":
        os.mkfifo(path)
        ordinary_user.give(path)
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "--model", f"replay:{path}", "Do it."], timeout=20)
    assert done.returncode in (1, 2)
    check(done, done.returncode, str(path))


@pytest.mark.parametrize("name", ["gpt", "replay", "replay:", "openai:", "anthropic:x", ""])
def test_unknown_model(ordinary_user, workspace, openworker, name):
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "--model", name, "Do it."])
    check(done, 2, "replay:FILE")


def test_no_model(ordinary_user, workspace, openworker):
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "Do it."])
    check(done, 2, "--model", "openworker model add")


@pytest.mark.parametrize("url", ["127.0.0.1", "ftp://127.0.0.1/", "http://", "http://key@127.0.0.1/",
                                 "http://127.0.0.1/?k=1", "http://127.0.0.1/#x",
                                 "http://127.0.0.1:99999/", "http://a b/", ""])
def test_no_address_of_a_model(ordinary_user, workspace, openworker, url):
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "--model", "openai:x", "--base-url", url, "Do it."])
    check(done, 2, "address")


def test_recording_has_no_address(ordinary_user, workspace, openworker):
    done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                              "--model", "replay:/x", "--base-url", "http://127.0.0.1:1", "Do it."])
    check(done, 2, "address")


@pytest.mark.parametrize("words", [
    ["run", "--provider", "bubblewrap", "--folder", "/tmp/\udcff", "--model", "replay:/x", "Do it."],
    ["run", "--provider", "bubblewrap", "--folder", "/tmp", "--model", "replay:/x", "--record", "\udcff", "Do it."],
    ["sandbox", "exec", "--provider", "bubblewrap", "--folder", "/tmp/\udcff", "--", "true"],
    ["sandbox", "exec", "--provider", "bubblewrap", "--folder", "/tmp", "--", "echo", "\udcff"],
    ["audit", "show", "\udcff"],
    ["sessions", "show", "\udcff"],
])
def test_word_that_is_no_utf8(ordinary_user, openworker, words):
    """It is refused, not left out: without it the command would be another one."""
    check(ordinary_user.run([openworker, *words]), 2, "not UTF-8")


CONFIGS = {
    "syntax": ("sandbox_provider = \n", "line 1"),
    "unknown provider": ('# mine\nsandbox_provider = "moat"\n', "line 2"),
    "wrong type": ("sandbox_provider = 3\n", "line 1"),
    "wrong case": ('sandbox_provider = "Direct"\n', "line 1"),
    "unknown profile": ('sandbox_network_profile = "open"\n', "line 1"),
    "hosts no list": ('\n\nsandbox_extra_hosts = "example.com"\n', "line 3"),
    "hosts no text": ("sandbox_extra_hosts = [1]\n", "line 1"),
    "loopback host": ('sandbox_extra_hosts = ["127.0.0.1"]\n', "line 1"),
    "bad port": ('sandbox_extra_hosts = ["a.test:99999"]\n', "line 1"),
    "not UTF-8": (b'sandbox_provider = "\xff"\n', ""),
    "NUL": (b'sandbox_provider = "direct"\0\n', ""),
    "twice": ('sandbox_provider = "direct"\nsandbox_provider = "direct"\n', "line 2"),
}


@pytest.mark.parametrize("kind", [*CONFIGS, "unreadable", "directory", "fifo"])
@pytest.mark.parametrize("provider", ["bubblewrap", None])
def test_broken_settings_refuse(ordinary_user, workspace, exec_in, kind, provider):
    """S07, REQ-U14: never defaults, whatever was asked for on the command line."""
    path = workspace.config / "config.toml"
    ordinary_user.mkdir(path.parent, 0o700)
    line = ""
    if kind in CONFIGS:
        content, line = CONFIGS[kind]
        ordinary_user.write(path, content)
    elif kind == "unreadable":
        path.write_text('sandbox_provider = "direct"\n')
        path.chmod(0)
    elif kind == "directory":
        ordinary_user.mkdir(path)
    else:
        os.mkfifo(path)
        ordinary_user.give(path)
    check(exec_in(workspace.folder, provider=provider, timeout=20), 69, str(path), line)


@pytest.mark.parametrize("content", ["", "# nothing\n", "\ufeff# a mark\r\n", 'other = { a = 1 }\n[theirs]\nx = 1\n'])
def test_settings_without_a_provider_are_nothing_set(ordinary_user, workspace, exec_in, content):
    ordinary_user.write(workspace.config / "config.toml", content)
    check(exec_in(workspace.folder, provider=None), 69, "Nothing is set")
    assert exec_in(workspace.folder).returncode == 0


def test_settings_choose_the_provider(ordinary_user, workspace, openworker, wall):
    ordinary_user.write(workspace.config / "config.toml", f'\ufeffsandbox_provider = "{wall.name}"\r\n')
    done = ordinary_user.run([openworker, "sandbox", "exec", "--folder", workspace.folder, "--",
                              "sh", "-c", "ls /home /root 2>&1; cat /proc/1/comm"])
    first = {"bubblewrap": "bwrap", "openshell": "openshell-sandb"}[wall.name]
    assert done.returncode == 0 and first in done.stdout, done.stdout + done.stderr


def test_project_file_cannot_change_the_wall(ordinary_user, workspace, openworker):
    """A37."""
    for name in (".coworker/config.toml", "config.toml", ".config/coworker/config.toml", ".env"):
        ordinary_user.write(workspace.folder / name, 'sandbox_provider = "direct"\nOPENWORKER_PROVIDER=direct\n')
    done = ordinary_user.run([openworker, "sandbox", "exec", "--folder", workspace.folder, "--", "true"],
                             cwd=workspace.folder)
    check(done, 69, "Nothing is set")


def test_S07_environment_cannot_change_the_wall(ordinary_user, workspace, openworker, wall):
    """A set wall stays, whatever a shell's or a project's environment has."""
    ordinary_user.write(workspace.config / "config.toml", f'sandbox_provider = "{wall.name}"\n', 0o600)
    names = ("OPENWORKER_PROVIDER", "OPENWORKER_SANDBOX", "OPENWORKER_SANDBOX_PROVIDER", "SANDBOX_PROVIDER",
             "OPENWORKER_LEVEL", "COWORKER_SANDBOX", "SANDBOX")
    hostile = dict.fromkeys(names, "direct") | {
        "OPENWORKER_NO_SANDBOX": "1", "OPENWORKER_UNSAFE": "1", "NO_SANDBOX": "1", "BWRAP": "/bin/true",
        "LD_PRELOAD": "/nonexistent.so", "BASH_ENV": f"{workspace.folder}/env", "ENV": f"{workspace.folder}/env"}
    ordinary_user.write(workspace.folder / "env", "echo from-the-environment\n")
    done = ordinary_user.run([openworker, "sandbox", "exec", "--folder", workspace.folder, "--", "sh", "-c",
                              "cat /proc/1/comm; ls /root /home 2>&1 | wc -l; env"], env=hostile)
    first = {"bubblewrap": "bwrap", "openshell": "openshell-sandb"}[wall.name]
    assert done.returncode == 0 and done.stdout.startswith(first + "\n"), done.stdout + done.stderr
    assert "from-the-environment" not in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.split("=")[0] in
                {*hostile} - {"OPENWORKER_SANDBOX"}], done.stdout


def shell_in(account, argv, script, unshare, as_caller=False):
    """Runs @argv in namespaces of its own after @script made them what they should be."""
    words = argv if as_caller else account.argv(argv)
    quoted = " ".join(f"'{word}'" for word in words)
    return subprocess.run(["unshare", *unshare, "sh", "-c", f"{script}\nexec {quoted}"],
                          env=account.env(), cwd=account.workspace.path, capture_output=True,
                          text=True, timeout=scaled(60), check=False)


@pytest.mark.root
@pytest.mark.parametrize("script,words", [
    ("mount -t tmpfs none /mnt && touch /mnt/bwrap && mount --bind /mnt/bwrap /usr/bin/bwrap", "bwrap"),
    ("mount -t tmpfs none /mnt && printf '#!/bin/sh\\nexit 3\\n' >/mnt/bwrap && chmod +x /mnt/bwrap && "
     "mount --bind /mnt/bwrap /usr/bin/bwrap", "bwrap"),
], ids=["no-program", "failing-program"])
def test_no_usable_bubblewrap(ordinary_user, workspace, openworker, script, words):
    done = shell_in(ordinary_user, [openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder",
                                    workspace.folder, "--", "true"], script, unshare=["--mount"])
    check(done, 69, "Sessions on this machine are refused", words)


APPARMOR = """mount -t tmpfs none /mnt && mkdir /mnt/kernel
echo 1 >/mnt/kernel/apparmor_restrict_unprivileged_userns
mount --bind /mnt/kernel /proc/sys/kernel
printf '#!/bin/sh\\n[ $(id -u) = 0 ] && exit 0\\n' >/mnt/bwrap
printf 'echo "bwrap: %s" >&2\\nexit 1\\n' "$FAULT" >>/mnt/bwrap
chmod 755 /mnt /mnt/bwrap
mount --bind /mnt/bwrap /usr/bin/bwrap"""


@pytest.mark.root
@pytest.mark.parametrize("fault", ["setting up uid map: Permission denied",
                                   "loopback: Failed RTM_NEWADDR: Operation not permitted"])
@pytest.mark.parametrize("by_root", [False, True], ids=["ordinary", "by-root"])
def test_S25_apparmor_is_named_with_one_command(ordinary_user, workspace, openworker, fault,
                                                by_root):
    """Ubuntu's restriction, as bwrap and the kernel's setting show it. It does not bind root, but root that
    starts a session for the account of the folders becomes that account, and meets it then."""
    done = shell_in(ordinary_user, [openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder",
                                    workspace.folder, "--", "touch", workspace.folder / "made"],
                    f"FAULT='{fault}'\n{APPARMOR}", unshare=["--mount"], as_caller=by_root)
    check(done, 69, "Sessions on this machine are refused", "AppArmor", "/usr/bin/bwrap has none",
          "apparmor_parser -r /etc/apparmor.d/openworker-bwrap")
    assert done.stderr.count("Run: ") == 1 and "sysctl" not in done.stderr
    assert not (workspace.folder / "made").exists()


@pytest.mark.root
@pytest.mark.proc_sys
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_no_user_namespaces(account, workspace, openworker):
    """In a user namespace whose limit of further ones is 0; its root is the caller's."""
    done = shell_in(account, [openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder",
                                    workspace.folder, "--", "true"],
                    "echo 0 > /proc/sys/user/max_user_namespaces",
                    unshare=["--user", "--map-root-user"], as_caller=True)
    check(done, 69, "Sessions on this machine are refused", "user namespaces")


@pytest.mark.root
@pytest.mark.parametrize("account_kind", ["root"], indirect=True)
def test_root_that_may_not_mount(account, workspace, openworker):
    """Root of a user namespace that has no mount namespace of its own."""
    done = shell_in(account, [openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder",
                              workspace.folder, "--", "true"], "",
                    unshare=["--user", "--map-root-user"], as_caller=True)
    check(done, 69, "Sessions on this machine are refused", "ordinary account")


def libexec(account, workspace, programs, **replaced):
    place = workspace.path / "libexec"
    shutil.copytree(programs / "libexec", place)
    for name, content in replaced.items():
        path = place / f"openworker-{name}"
        path.unlink()
        if content is not None:
            path.write_text(content)
            path.chmod(0o755)
    account.give(place)
    place.chmod(0o755)
    return {"OPENWORKER_LIBEXEC": place}


def test_programs_behind_links_work(account, workspace, openworker, programs):
    place = account.mkdir(workspace.path / "links")
    for program in (programs / "libexec").iterdir():
        (place / program.name).symlink_to(program)
    done = account.run([openworker, "sandbox", "exec", "--provider", "bubblewrap", "--folder",
                        workspace.folder, "--", "true"], env={"OPENWORKER_LIBEXEC": place})
    assert done.returncode == 0, done.stderr


HELLO = ('{"jsonrpc":"2.0","method":"notifications/openworker/hello","params":'
         '{"instance":"0123456789abcdef0123456789abcdef","version":"9.9.9","pid":1}}')


@pytest.mark.parametrize("replaced,words", [
    ({"runner": None}, "openworker-runner"),
    ({"proxy": None}, "openworker-proxy"),
    ({"runner": "#!/bin/sh\nexit 3\n"}, "runner"),
    ({"runner": "#!/bin/sh\ncase $1 in attach) echo '" + HELLO + "'; sleep 5;; "
                "serve) echo ready; sleep 30;; esac\n"}, "9.9.9"),
    ({"runner": "#!/bin/sh\nsleep 30\n"}, "runner"),
    ({"proxy": "#!/bin/sh\nexit 4\n"}, "proxy"),
])
def test_program_missing_or_of_another_version(ordinary_user, workspace, exec_in, programs,
                                               replaced, words):
    env = libexec(ordinary_user, workspace, programs, **replaced)
    check(exec_in(workspace.folder, env=env), 69, words)


def test_disk_full_runs_nothing(ordinary_user, workspace, openworker):
    """A38, R01: a record that cannot be stored stops the call."""
    script = (f"ulimit -f 0; exec '{openworker}' sandbox exec --provider bubblewrap "
              f"--folder '{workspace.folder}' -- touch '{workspace.folder}/made'")
    done = ordinary_user.run(["sh", "-c", script])
    assert done.returncode not in (0, 69 + 128)
    assert not (workspace.folder / "made").exists()
    assert "openworker: " in done.stderr
