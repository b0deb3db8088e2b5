# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The builds that the suites run: gcc with -Werror, and clang with the sanitizers."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .tree import ROOT


@dataclass
class Build:
    directory: Path
    options: list
    env: dict = field(default_factory=dict)


UNIT = Build(ROOT / "build-test", ["-Dwerror=true"], {"CC": "gcc", "CXX": "g++"})
SANITIZERS = Build(
    ROOT / "build-sanitizers",
    ["-Dwerror=true", "-Db_sanitize=address,undefined", "-Db_lundef=false",
     "-Drunner_static=false", "-Doptimization=1", "-Dfuzz=true",
     # clang takes a g_autoptr that is there only to release something for unused; gcc, in
     # the other build, does not and finds the truly unused ones.
     "-Dc_args=-Wno-unused-variable"],
    {"CC": "clang", "CXX": "clang++"})


def compile_tree(wanted, targets=(), root=ROOT):
    """Sets up and compiles; None, or a sentence on what failed (the log is shown)."""
    env = dict(os.environ, **wanted.env)
    if not (wanted.directory / "build.ninja").exists():
        argv = ["meson", "setup", str(wanted.directory), str(root), *wanted.options]
        if _run(argv, env, root):
            return "meson setup"
    if _run(["ninja", "-C", str(wanted.directory), *targets], env, root):
        return "ninja"
    collect_libexec(wanted.directory)
    return None


def _run(argv, env, root):
    """Runs quietly; shows what was said only when it fails."""
    done = subprocess.run(argv, cwd=root, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        print(done.stdout[-20000:], flush=True)
    return done.returncode


def collect_libexec(directory):
    """As ./dev does: the libexec programs as real files in one directory."""
    libexec = directory / "libexec"
    libexec.mkdir(exist_ok=True)
    for program in ("runner", "proxy"):
        source = directory / "src" / program / f"openworker-{program}"
        target = libexec / source.name
        if source.exists() and (not target.exists() or
                                source.stat().st_mtime_ns != target.stat().st_mtime_ns):
            # Renamed over: the old one may be running.
            shutil.copy2(source, target.with_suffix(".new"))
            os.replace(target.with_suffix(".new"), target)


def run_env(wanted=UNIT):
    """What tests of the built programs need to find them."""
    return dict(os.environ, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1",
                OPENWORKER_BUILD=str(wanted.directory),
                OPENWORKER_LIBEXEC=str(wanted.directory / "libexec"))


def sanitizer_env():
    """Nothing is suppressed: a report of any kind ends the test as a failure."""
    return {
        "ASAN_OPTIONS": "abort_on_error=0:halt_on_error=1:detect_leaks=1:strict_string_checks=1:"
                        "detect_stack_use_after_return=1:"
                        # clang 14's search for leaks ends itself after GnuTLS's threads.
                        "intercept_tls_get_addr=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        # GLib frees at exit only what it is asked to; a leak must not hide behind a slice.
        "G_SLICE": "always-malloc",
    }
