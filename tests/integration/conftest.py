# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the integration tests share: programs, accounts, workspaces, clean-up.

    def test_x(account, workspace, openworker):
        done = account.run([openworker, "--version"])

`account` is who runs the programs: as root a test runs twice, as root and as an ordinary
account; otherwise once, as the caller. `workspace` is a private directory of that account
with a home, a runtime directory and a folder. After each test no process may be left that
has to do with the workspace: one that stays is an error of the test.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from common.skips import has_pidfd_getfd, proc_sys_is_read_only  # noqa: E402
from walls import WALLS, make_wall  # noqa: E402

ORDINARY = "ow-test"
GATEWAY_MARK = b"OPENWORKER_TEST_GATEWAY="
TIME_SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests that take hours")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, only with --long")
    config.addinivalue_line("markers", "root: needs root")
    config.addinivalue_line("markers", "proc_sys: writes a setting of the kernel for its namespace")
    config.addinivalue_line("markers", "pidfd_getfd: takes a descriptor of another process")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("long") and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="only with --long"))
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("proc_sys") and proc_sys_is_read_only():
            item.add_marker(pytest.mark.skip(reason="/proc/sys is read-only"))
        if item.get_closest_marker("pidfd_getfd") and not has_pidfd_getfd():
            item.add_marker(pytest.mark.skip(reason="pidfd_getfd is refused here"))


def pytest_generate_tests(metafunc):
    named = [str(marker.args[0]) for marker in metafunc.definition.iter_markers("parametrize")]
    if "account_kind" in metafunc.fixturenames and not any("account_kind" in n for n in named):
        kinds = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
        metafunc.parametrize("account_kind", kinds, indirect=True)
    if "wall" in metafunc.fixturenames and not any("wall" in n for n in named):
        metafunc.parametrize("wall", WALLS, indirect=True)


def scaled(seconds):
    """A wait or a deadline in seconds, longer on a slow machine."""
    return seconds * TIME_SCALE


def wait_until(condition, seconds=10, what="the condition"):
    """Polls until @condition() is true and returns what it gave; a test failure after."""
    deadline = time.monotonic() + scaled(seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not come within {seconds} s")
        time.sleep(0.02)


class Account:
    """Someone to run programs as, with a home that is not the real one."""

    def __init__(self, uid, gid, workspace=None):
        self.uid, self.gid, self.workspace = uid, gid, workspace
        self.extra_env = {}
        self.started = []
        self.folder_owner = None

    @property
    def is_root(self):
        return self.uid == 0

    def owner(self, path):
        """Whose a file at @path is to be: the account's, or who has the folders (walls.py)."""
        path, workspace = Path(path), self.workspace
        if self.folder_owner is None or workspace.path not in path.parents:
            return self.uid, self.gid
        own = (workspace.home, workspace.runtime, workspace.tmp, workspace.path / "openshell")
        if any(place == path or place in path.parents for place in own):
            return self.uid, self.gid
        return self.folder_owner

    def env(self, **more):
        """The whole environment of a child: nothing of the caller's."""
        home = self.workspace.home
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash",
            "USER": pwd.getpwuid(self.uid).pw_name, "TMPDIR": str(self.workspace.tmp),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.workspace.runtime),
            "OPENWORKER_TEST_TIME_SCALE": str(TIME_SCALE),
        }
        environment.update(self.extra_env)
        for name, value in more.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = str(value)
        return environment

    def argv(self, argv):
        """@argv with what makes it run as this account."""
        argv = [str(word) for word in argv]
        if self.uid == os.geteuid():
            return argv
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups",
                "--inh-caps=-all", "--", *argv]

    def popen(self, argv, env=None, cwd=None, **options):
        """Starts in a session of its own; ended with the test."""
        process = subprocess.Popen(
            self.argv(argv), env=self.env(**(env or {})), cwd=cwd or self.workspace.path,
            start_new_session=True, **options)
        self.started.append(process)
        return process

    def run(self, argv, env=None, cwd=None, timeout=60, stdin=None, **options):
        """Runs to its end, text captured; @stdin is text or None for /dev/null."""
        feed = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            self.argv(argv), env=self.env(**(env or {})), cwd=cwd or self.workspace.path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, timeout=scaled(timeout), check=False, **feed, **options)

    def give(self, *paths):
        """Makes files the account's, with all that is below them."""
        for path in paths:
            for name in [path, *Path(path).rglob("*")]:
                os.chown(name, *self.owner(name), follow_symlinks=False)

    def write(self, path, content, mode=0o644):
        """A file of the account's, parents made."""
        path = Path(path)
        self.mkdir(path.parent)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        os.chown(path, *self.owner(path))
        return path

    def mkdir(self, path, mode=0o755):
        path = Path(path)
        for part in [*reversed(path.parents), path]:
            if not part.exists():
                part.mkdir(mode=mode)
                part.chmod(mode)
                os.chown(part, *self.owner(part))
        return path


class Workspace:
    """A private directory. Not under /tmp: a sandbox has a /tmp of its own, and paths of
    sockets must stay short."""

    def __init__(self, path):
        self.path = Path(path)
        self.home = self.path / "home"
        self.runtime = self.path / "run"
        self.folder = self.path / "folder"
        self.tmp = self.path / "tmp"

    @property
    def config(self):
        return self.home / ".config/coworker"

    @property
    def data(self):
        return self.home / ".local/share/coworker"

    @property
    def state(self):
        return self.home / ".local/state/coworker"

    @property
    def private_homes(self):
        return self.config / "sandbox-runtime"

    def left(self):
        """Private homes and entries of the registry. The lock stays that keeps the count of sandboxes:
        one who took it away could let two count at once."""
        return [str(path) for place in (self.private_homes, self.state / "registry") if place.exists()
                for path in place.iterdir() if path.name != "reserve.lock"]

    def processes(self):
        """{pid: command} of what has the workspace in its environment or arguments, but for the
        gateway of a simulated openshell and its end of each container."""
        found, mark = {}, os.fsencode(self.path)
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                command = Path("/proc", entry, "cmdline").read_bytes()
                environment = Path("/proc", entry, "environ").read_bytes()
                state = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if GATEWAY_MARK in environment:
                continue
            if (mark in command or mark in environment) and state != "Z":
                found[int(entry)] = command.replace(b"\0", b" ").decode(errors="replace")
        return found


def _ordinary_account():
    """The account for the ordinary runs, made when missing: (uid, gid, made)."""
    try:
        entry = pwd.getpwnam(ORDINARY)
        return entry.pw_uid, entry.pw_gid, False
    except KeyError:
        subprocess.run(["useradd", "--system", "--user-group", "--no-create-home",
                        "--home-dir", "/nonexistent", "--shell", "/bin/bash", ORDINARY],
                       check=True)
        entry = pwd.getpwnam(ORDINARY)
        return entry.pw_uid, entry.pw_gid, True


@pytest.fixture(scope="session")
def ordinary_ids():
    """(uid, gid) of an ordinary account: the caller's own, or ow-test when root calls."""
    if os.geteuid() != 0:
        yield os.geteuid(), os.getegid()
        return
    uid, gid, made = _ordinary_account()
    yield uid, gid
    if made:
        subprocess.run(["userdel", ORDINARY], check=False)


@pytest.fixture(scope="session")
def programs():
    """Directory with openworker and libexec/, readable for every account: the tree itself
    may lie where only its owner can go."""
    build = Path(os.environ.get("OPENWORKER_BUILD", ROOT / "build-test"))
    libexec = Path(os.environ.get("OPENWORKER_LIBEXEC", build / "libexec"))
    target = Path(tempfile.mkdtemp(prefix="ow-programs-", dir="/var/tmp"))
    target.chmod(0o755)
    (target / "libexec").mkdir(mode=0o755)
    for source, name in [(build / "src/cli/openworker", "openworker"),
                         (libexec / "openworker-runner", "libexec/openworker-runner"),
                         (libexec / "openworker-proxy", "libexec/openworker-proxy")]:
        if not source.exists():
            pytest.fail(f"{source} is not built: run ./dev test --only unit first")
        shutil.copy2(source, target / name)
        (target / name).chmod(0o755)
    # A build without a window can do all but the window's own tests.
    window = build / "src/ui/openworker-desktop"
    if window.exists():
        shutil.copy2(window, target / window.name)
    yield target
    shutil.rmtree(target)


@pytest.fixture
def openworker(programs):
    return programs / "openworker"


@pytest.fixture
def openworker_desktop(programs):
    window = programs / "openworker-desktop"
    if not window.exists():
        pytest.fail("openworker-desktop is not built")
    return window


@pytest.fixture
def desktop(request, workspace):
    """A screen and the buses for the window of the test's account."""
    from desktop import Desktop
    name = "account" if "account" in request.fixturenames else "ordinary_user"
    with Desktop(request.getfixturevalue(name), workspace) as desktop:
        yield desktop


@pytest.fixture
def runner(programs):
    return programs / "libexec/openworker-runner"


@pytest.fixture
def proxy(programs):
    return programs / "libexec/openworker-proxy"


def _make_workspace(uid, gid):
    workspace = Workspace(tempfile.mkdtemp(prefix="ow-", dir="/var/tmp"))
    workspace.path.chmod(0o755)
    os.chown(workspace.path, uid, gid)
    for path, mode in [(workspace.home, 0o700), (workspace.runtime, 0o700),
                       (workspace.folder, 0o755), (workspace.tmp, 0o700)]:
        path.mkdir()
        path.chmod(mode)
        os.chown(path, uid, gid)
    return workspace


def _clean(account):
    """Ends what the test started, and says what of the programs' own was left."""
    workspace = account.workspace
    for process in account.started:
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    deadline = time.monotonic() + scaled(10)
    while workspace.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = workspace.processes()
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    shutil.rmtree(workspace.path, ignore_errors=True)
    return left


def _account(uid, gid, programs):
    account = Account(uid, gid, _make_workspace(uid, gid))
    account.extra_env["OPENWORKER_LIBEXEC"] = str(programs / "libexec")
    return account


@pytest.fixture
def account_kind(request):
    return request.param


@pytest.fixture
def account(account_kind, ordinary_ids, programs):
    uid, gid = (0, 0) if account_kind == "root" else ordinary_ids
    made = _account(uid, gid, programs)
    yield made
    left = _clean(made)
    assert not left, f"processes were left behind: {left}"


@pytest.fixture
def ordinary_user(ordinary_ids, programs):
    """An ordinary account only, whoever calls."""
    made = _account(*ordinary_ids, programs)
    yield made
    left = _clean(made)
    assert not left, f"processes were left behind: {left}"


@pytest.fixture
def workspace(request):
    """The workspace of the account that the test uses (`account`, else `ordinary_user`)."""
    name = "account" if "account" in request.fixturenames else "ordinary_user"
    return request.getfixturevalue(name).workspace


@pytest.fixture
def wall(request, ordinary_ids):
    """The wall of the test's account, of each kind in turn; nothing may be left in it."""
    name = "account" if "account" in request.fixturenames else "ordinary_user"
    made = make_wall(request.param, request.getfixturevalue(name), ordinary_ids)
    yield made
    left = made.end()
    assert not left, f"sandboxes were left behind: {left}"


@pytest.fixture
def free_port():
    """A TCP port on the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
