# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session behind OpenShell, against the same `openshell` used bare: see [openshell] in
goals.toml. On the simulation, or with OPENWORKER_TEST_OPENSHELL and OPENWORKER_TEST_IMAGE on a
real one."""

import contextlib
import json
import os
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from accounts import make_account           # noqa: E402
from container_engine import ContainerEngine    # noqa: E402
from openshells import OpenshellSim        # noqa: E402

STARTS = 7
ROUNDS = 200
POLICY = """version: 1
filesystem_policy:
  include_workdir: false
  read_only: [/usr, /lib, /etc, /proc, /dev/urandom, /var/log]
  read_write: [/tmp, /dev/null, /dev/pts, {folder}]
landlock: {{compatibility: hard_requirement}}
process: {{run_as_user: "{uid}", run_as_group: "{gid}"}}
"""


@contextlib.contextmanager
def openshell(account):
    """(the environment with it on PATH, the image)"""
    real = os.environ.get("OPENWORKER_TEST_OPENSHELL")
    if real:
        yield account.env(PATH=f"{Path(real).parent}:/usr/bin:/bin"), os.environ[
            "OPENWORKER_TEST_IMAGE"]
        return
    with OpenshellSim(account) as sim:
        engine = ContainerEngine(account, sim.programs)
        yield account.env(**sim.env()), "base:bench"
        engine.close()


def timed(argv, environment):
    """The milliseconds of a command that has to succeed."""
    begun = time.monotonic()
    subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   check=True, timeout=120)
    return (time.monotonic() - begun) * 1000


def relay(name, environment):
    """Round trips of a line through `exec --tty` to a cat and back, in milliseconds."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    values = []
    with subprocess.Popen(
            ["openshell", "sandbox", "exec", "-n", name, "--tty", "--", "sh", "-c",
             "stty raw -echo; echo ready; exec cat"],
            env=environment, stdin=slave, stdout=subprocess.PIPE) as process:
        os.close(slave)
        while not process.stdout.readline().startswith(b"ready"):
            if process.poll() is not None:
                raise RuntimeError("the bare relay ended before it was ready")
        line = b"x" * 199 + b"\n"
        for _ in range(ROUNDS):
            begun = time.monotonic()
            os.write(master, line)
            process.stdout.readline()
            values.append((time.monotonic() - begun) * 1000)
        process.kill()
    os.close(master)
    return values


def bare(account, environment, image, inside):
    """What the command itself takes: {name: [values]}"""
    values = {"bare_create": [], "bare_exec": [], "raw_relay": []}
    folder = account.mkdir(account.workspace.folder)
    os.chown(folder, inside, inside)
    policy = account.write(account.workspace.path / "policy.yaml", POLICY.format(
        folder=folder, uid=inside, gid=inside))
    mounts = json.dumps({"docker": {"mounts": [
        {"type": "bind", "source": str(folder), "target": str(folder), "read_only": False}]}})
    for number in range(STARTS):
        name = f"ow-bench{number}"
        values["bare_create"].append(timed(
            ["openshell", "sandbox", "create", "--name", name, "--from", image, "--no-tty",
             "--detach", "--no-auto-providers", "--policy", str(policy), "--driver-config-json",
             mounts, "--", "/bin/sleep", "infinity"], environment))
        try:
            values["bare_exec"].append(timed(
                ["openshell", "sandbox", "exec", "-n", name, "--no-tty", "--", "true"],
                environment))
            if number == 0:
                values["raw_relay"] = relay(name, environment)
        finally:
            timed(["openshell", "sandbox", "delete", name], environment)
    return values


def session(program, workspace, environment):
    """One session of the measuring program: {name: [values]}"""
    folder, values = Path(tempfile.mkdtemp(prefix="folder-", dir=workspace)), {}
    os.chown(folder, int(environment["OW_BENCH_UID"]), int(environment["OW_BENCH_UID"]))
    done = subprocess.run([program, str(workspace), str(folder), "openshell"], env=environment,
                          text=True, input="\n", stdout=subprocess.PIPE, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"the measuring program ended with {done.returncode}")
    for line in done.stdout.splitlines():
        name, value = line.split()
        values.setdefault(name, []).append(float(value))
    return values


def measure(build):
    top = Path(tempfile.mkdtemp(prefix="ow-bench-", dir="/var/tmp"))
    account = make_account(top)
    # Nothing in a sandbox of OpenShell runs as root.
    inside = account.uid or 1000
    try:
        account.write(account.workspace.config / "config.toml", "sandbox_openshell_any_version = true\n")
        values = {}
        with openshell(account) as (environment, image):
            environment.update(OPENWORKER_LIBEXEC=str(build / "libexec"),
                               OPENWORKER_SANDBOX_IMAGE=image, OW_BENCH_UID=str(inside))
            for name, more in bare(account, environment, image, inside).items():
                values.setdefault(name, []).extend(more)
            for _ in range(STARTS):
                for name, more in session(build / "tests/bench/bench-tool-call", top,
                                          environment).items():
                    values.setdefault(name, []).extend(more)
        figures = {name: statistics.median(values[name])
                   for name in ("raw_relay", "bare_create", "bare_exec", "tool_call_read",
                                "session_start", "first_result")}
        figures["create_and_exec"] = figures["bare_create"] + figures["bare_exec"]
        return figures
    finally:
        shutil.rmtree(top, ignore_errors=True)
