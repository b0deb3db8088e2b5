# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The whole path at its thinnest: see [skeleton] in goals.toml."""

import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

STARTS = 10


def resident_mib(mark):
    """Resident memory of the runner that serves and has @mark among its arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            status = (entry / "status").read_text()
        except OSError:
            continue
        if (words[0].endswith(b"openworker-runner") and b"serve" in words
                and any(os.fsencode(mark) in word for word in words)):
            found.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
    if not found:
        raise RuntimeError("no serving runner was found")
    return max(found)


def session(program, workspace, environment):
    """One run of the program: {name: [values]}"""
    folder = Path(tempfile.mkdtemp(prefix="folder-", dir=workspace))
    values = {}
    with subprocess.Popen([program, str(workspace), str(folder)], env=environment, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            name, value = line.split()
            if name == "ready":
                values["resident"] = [resident_mib(folder)]
                process.stdin.write("\n")
                process.stdin.flush()
            else:
                values.setdefault(name, []).append(float(value))
    if process.returncode != 0:
        raise RuntimeError(f"the measuring program ended with {process.returncode}")
    return values


def measure(build):
    workspace = Path(tempfile.mkdtemp(prefix="ow-bench-", dir="/var/tmp"))
    try:
        for name in ("home", "run"):
            (workspace / name).mkdir(mode=0o700)
        environment = {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(workspace / "home"),
            "XDG_RUNTIME_DIR": str(workspace / "run"),
            "OPENWORKER_LIBEXEC": str(build / "libexec"),
        }
        values = {}
        for _ in range(STARTS):
            for name, more in session(build / "tests/bench/bench-tool-call", workspace,
                                      environment).items():
                values.setdefault(name, []).extend(more)
        figures = {name: statistics.median(values[name])
                   for name in ("sync", "raw_pipe", "bare_bwrap", "tool_call_read",
                                "tool_call_synced", "session_start", "first_result")}
        figures["tool_call_own"] = figures["tool_call_synced"] - figures["sync"]
        figures["runner_resident"] = max(values["resident"])
        stripped = workspace / "runner"
        subprocess.run(["strip", "-o", stripped, build / "libexec/openworker-runner"], check=True)
        figures["runner_size"] = stripped.stat().st_size / 2 ** 20
        return figures
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
