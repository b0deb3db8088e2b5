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
import random
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
from accounts import Account, Workspace, scaled  # noqa: E402
from common.skips import has_cgroups, has_pidfd_getfd, proc_sys_is_read_only  # noqa: E402
from walls import WALLS, make_wall  # noqa: E402

# One for each process that runs tests: the first to end takes its account away.
ORDINARY = "ow-test" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")

# Drawn once: processes that share the tests must have the same ones.
os.environ.setdefault("OPENWORKER_TEST_SEED", str(random.SystemRandom().randrange(1, 10**6)))


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests that take hours")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, only with --long")
    config.addinivalue_line("markers", "root: needs root")
    config.addinivalue_line("markers", "proc_sys: writes a setting of the kernel for its namespace")
    config.addinivalue_line("markers", "cgroups: has root move processes to cgroups that limit them")
    config.addinivalue_line("markers", "fuse: mounts a file system of its own")
    config.addinivalue_line("markers", "pidfd_getfd: takes a descriptor of another process")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("long") and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="only with --long"))
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("proc_sys") and proc_sys_is_read_only():
            item.add_marker(pytest.mark.skip(reason="/proc/sys is read-only"))
        if item.get_closest_marker("cgroups") and not has_cgroups():
            item.add_marker(pytest.mark.skip(reason="no cgroup can be made that limits memory"))
        if item.get_closest_marker("fuse") and not os.path.exists("/dev/fuse"):
            item.add_marker(pytest.mark.skip(reason="there is no /dev/fuse"))
        if item.get_closest_marker("pidfd_getfd") and not has_pidfd_getfd():
            item.add_marker(pytest.mark.skip(reason="pidfd_getfd is refused here"))


def pytest_generate_tests(metafunc):
    named = [str(marker.args[0]) for marker in metafunc.definition.iter_markers("parametrize")]
    if "account_kind" in metafunc.fixturenames and not any("account_kind" in n for n in named):
        kinds = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
        metafunc.parametrize("account_kind", kinds, indirect=True)
    if "wall" in metafunc.fixturenames and not any("wall" in n for n in named):
        metafunc.parametrize("wall", WALLS, indirect=True)


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
