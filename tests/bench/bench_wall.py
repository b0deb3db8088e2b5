# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a wall costs: a start next to the sandbox commands of others, and many sessions at once: see
[wall] in goals.toml.

Others are measured where they are there: `docker` when its engine answers and has the image
OPENWORKER_BENCH_IMAGE; the two from npm where `./dev escape-bench` put them."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from accounts import make_account           # noqa: E402
from bench_skeleton import session          # noqa: E402
from engines import Up                      # noqa: E402
from many_sessions import Many              # noqa: E402
from walls import make_wall                 # noqa: E402

ROUNDS = 15
MANY = 100
MANY_OPENSHELL = 20
IDLE_S = 10
MIB = 2 ** 20
PEERS = Path(os.environ.get("OPENWORKER_ESCAPE_PEERS", f"/var/tmp/openworker-escape-{os.geteuid()}"))
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink",
         "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev"]


def commands(account, programs, folder):
    """{figure: the words before a command that is to run behind that wall}"""
    found = {"bare_bwrap": [*BWRAP, "--bind", folder, folder],
             "exec": [programs / "openworker", "sandbox", "exec", "--provider", "bubblewrap", "--folder", folder,
                      "--"]}
    image = os.environ.get("OPENWORKER_BENCH_IMAGE", "escape-bench:12")
    if shutil.which("docker") and subprocess.run(
            ["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0:
        found["docker_run"] = ["docker", "run", "--rm", "--network", "none", "-v", f"{folder}:{folder}", image]
    bin_ = PEERS / "npm/node_modules/.bin"
    if (bin_ / "srt").exists():
        settings = account.write(account.workspace.home / "srt.json", (
            '{"network":{"allowedDomains":[],"deniedDomains":[]},'
            f'"filesystem":{{"denyRead":[],"allowWrite":["{folder}"],"denyWrite":[]}}}}'))
        found["srt"] = [bin_ / "node", (bin_ / "srt").resolve(), "--settings", settings, "--"]
    if (bin_ / "codex").exists():
        found["codex"] = [bin_ / "node", (bin_ / "codex").resolve(), "sandbox", "-c",
                          'sandbox_mode="workspace-write"', "--"]
    return found


def timed(account, argv, folder):
    """Milliseconds of `true` behind it."""
    begun = time.monotonic()
    done = subprocess.run([*map(str, argv), "true"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          env=account.env(DOCKER_HOST=os.environ.get("DOCKER_HOST")), text=True,
                          check=False, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return (time.monotonic() - begun) * 1000


def starts(account, programs):
    """{figure: median milliseconds}, in turn with each other; None of another's that is not there, or
    does not work here."""
    folder = account.mkdir(account.workspace.folder)
    argvs = commands(account, programs, folder)
    for name in list(argvs):
        try:
            timed(account, argvs[name], folder)
        except RuntimeError as error:
            if name in ("bare_bwrap", "exec"):
                raise
            print(f"{name}: {error}", file=sys.stderr)
            del argvs[name]
    values = {name: [] for name in argvs}
    for _ in range(ROUNDS):
        for name, argv in argvs.items():
            values[name].append(timed(account, argv, folder))
    return {name: statistics.median(values[name]) if name in values else None
            for name in ("bare_bwrap", "exec", "docker_run", "srt", "codex")}


def in_process(build, top, environment):
    """From nothing to a proven wall, and to the first result, as a session has them."""
    values = {}
    for _ in range(ROUNDS):
        for name, more in session(build / "tests/bench/bench-tool-call", top, environment).items():
            values.setdefault(name, []).extend(more)
    return {name: statistics.median(values[name]) for name in ("session_start", "first_result")}


def many(account, programs):
    figures = {}
    up = Up(account, programs / "openworker")
    with Many(account, up, "bubblewrap") as sessions:
        sessions.start(1)
        engine = sessions.memory()[1]
        figures["start_all"] = sessions.start(MANY - 1)
        # Processes that wait for a next call are given up after a few seconds.
        time.sleep(8)
        share, grown = sessions.memory()
        figures["each"] = (share + grown - engine) / MANY / MIB
        figures["engine_each"] = (grown - engine) / MANY / MIB
        figures["wakings"] = sum(sessions.wakings(IDLE_S).values())
        figures["end_all"] = sessions.end()
        sessions.start(MANY)
    up.stop(signal.SIGKILL)
    begun = time.monotonic()
    Up(account, programs / "openworker").stop()
    figures["after_kill"] = time.monotonic() - begun
    return figures


def many_openshell(account, programs):
    account.mkdir(account.workspace.folder)
    wall = make_wall("openshell", account, (account.uid or 1000, account.gid or 1000))
    try:
        up = Up(account, programs / "openworker")
        with Many(account, up, "openshell") as sessions:
            sessions.start(1)
            engine = sessions.memory()[1]
            sessions.start(MANY_OPENSHELL - 1)
            time.sleep(8)
            share, grown = sessions.memory()
            sessions.end()
        up.stop()
        return {"openshell_each": (share + grown - engine) / MANY_OPENSHELL / MIB}
    finally:
        wall.end()


def measure(build):
    figures = {}
    for part in (starts, many, many_openshell, None):
        top = Path(tempfile.mkdtemp(prefix="ow-bench-", dir="/var/tmp"))
        account = make_account(top)
        account.extra_env["OPENWORKER_LIBEXEC"] = str(build / "libexec")
        programs = build / "src/cli"
        try:
            figures.update(part(account, programs) if part
                           else in_process(build, top, account.env()))
        finally:
            for process in account.started:
                if process.poll() is None:
                    process.kill()
            shutil.rmtree(top, ignore_errors=True)
    return figures
