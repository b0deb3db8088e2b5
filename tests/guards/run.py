# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Takes the guard of each known hole out and requires its test to fail.

    ./dev guards              all of them
    ./dev guards S01 P02      those of these holes
    ./dev guards --random 10  ten, drawn anew each time (the seed is printed)

One scratch copy of the tree is built once. The tests that the patches name must pass on
it first: a test that fails anyway proves nothing. Then, patch by patch: apply, build (it
must build), run the named tests (each must fail), take the patch out again.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import build                   # noqa: E402
from common.tap import Writer              # noqa: E402
from common.tree import copy               # noqa: E402

TIME_SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))
DEADLINE = 300 * TIME_SCALE
PROGRAMS = ["src/cli/openworker", "src/runner/openworker-runner", "src/proxy/openworker-proxy",
            "src/ui/openworker-desktop"]


@dataclass
class Guard:
    path: Path
    hole: str
    tests: list

    @property
    def name(self):
        return self.path.stem


def load(path):
    head = path.read_text(encoding="utf-8").split("\n--- ", 1)[0]
    holes = re.findall(r"^Hole: (\S+)$", head, re.MULTILINE)
    tests = re.findall(r"^Test: (.+)$", head, re.MULTILINE)
    if len(holes) != 1 or not tests:
        raise ValueError(f"{path.name} needs one line 'Hole: ID' and a line 'Test: …'")
    return Guard(path, holes[0], [test.strip() for test in tests])


class Scratch:
    """The copy that guards are taken out of, and how to build and test it."""

    def __init__(self, directory):
        self.root = Path(directory)
        # Taking a guard out leaves things unused: warnings stop nothing here.
        self.build = build.Build(self.root / "build-test", ["--buildtype=debug"], build.UNIT.env)
        self.unit_tests = {}

    def prepare(self):
        copy(self.root)
        problem = build.compile_tree(self.build, root=self.root)
        if problem:
            return problem
        listed = subprocess.run(["meson", "introspect", "--tests", str(self.build.directory)],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        self.unit_tests = {test["name"]: test for test in json.loads(listed)}
        return None

    def patch(self, guard, reverse=False):
        """None, or why the patch does not apply."""
        argv = ["git", "apply", "-p1", *(["-R"] if reverse else []), str(guard.path)]
        done = subprocess.run(argv, cwd=self.root, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(self.root.parent)))
        return done.stdout.strip() or "git apply failed" if done.returncode else None

    def compile(self, tests):
        """Builds what @tests run; None, or what failed."""
        targets = [name for name in PROGRAMS if (self.build.directory / name).exists()]
        for test in tests:
            kind, name = test.split(":", 2)[:2]
            if kind == "unit" and name in self.unit_tests:
                program = self.unit_tests[name]["cmd"][0]
                targets.append(os.path.relpath(program, self.build.directory))
        return build.compile_tree(self.build, targets, root=self.root)

    def test(self, test):
        """("passed" | "failed" | "nothing", last words) of one named test."""
        kind, rest = test.split(":", 1)
        return self._unit(*rest.split(":", 1)) if kind == "unit" else self._pytest(rest)

    def _unit(self, name, path):
        entry = self.unit_tests.get(name)
        if entry is None:
            return "nothing", f"meson knows no test {name}"
        env = dict(build.run_env(self.build), **entry["env"])
        status, output = self._run([*entry["cmd"], "--tap", "-p", path], env,
                                   entry["workdir"] or self.build.directory)
        ran = re.findall(r"^ok \d+ (?!.*# SKIP)", output, re.MULTILINE)
        if status == 0:
            return ("passed" if ran else "nothing"), output
        return "failed", output

    def _pytest(self, name):
        status, output = self._run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", name],
            build.run_env(self.build), self.root)
        if status == 0:
            # Nothing but skipped tests is no pass.
            return ("passed" if re.search(r"\b\d+ passed\b", output) else "nothing"), output
        # 1: tests ran and failed. Anything else: pytest itself could not do its work.
        return ("failed" if status in (1, None) else "nothing"), output

    def _run(self, argv, env, cwd):
        """(exit status, output); a test that hangs without its guard has failed: None."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output, start_new_session=True)
            try:
                status = process.wait(timeout=DEADLINE)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            return status, output.read()[-20000:].decode(errors="replace")


def choose(guards, ids, count, seed, writer):
    if ids:
        return [guard for guard in guards
                if guard.name in ids or guard.hole in ids]
    if count is None or count >= len(guards):
        return guards
    writer.note(f"seed {seed}: ./dev guards --random {count} --seed {seed} draws the same")
    return sorted(random.Random(seed).sample(guards, count), key=lambda guard: guard.name)


def try_guard(scratch, guard, writer):
    """One patch: in, built, its tests failed, out."""
    begun = time.monotonic()
    problem = scratch.patch(guard)
    if problem:
        writer.result(False, guard.name, f"the patch does not apply: {problem}")
        return
    problem = scratch.compile(guard.tests)
    if problem:
        writer.result(False, guard.name, "the tree does not build without the guard")
    else:
        results = [(test, *scratch.test(test)) for test in guard.tests]
        held = [f"{test}: {result} without the guard, it must fail\n{said[-1500:]}"
                for test, result, said in results if result != "failed"]
        writer.result(not held, guard.name, *held)
    writer.note(f"{guard.name} took {time.monotonic() - begun:.1f} s")
    problem = scratch.patch(guard, reverse=True)
    if problem:
        raise RuntimeError(f"{guard.path.name} cannot be taken out again: {problem}")


def main():
    parser = argparse.ArgumentParser(prog="./dev guards")
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--random", type=int, metavar="N", help="N of them, drawn anew")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tap", action="store_true", help="no summary at the end")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10 ** 6)

    writer = Writer()
    guards = [load(path) for path in sorted(HERE.glob("*.patch"))]
    chosen = choose(guards, options.ids, options.random, options.seed, writer)
    for name in options.ids:
        if not any(name in (guard.name, guard.hole) for guard in chosen):
            writer.result(False, name, "no patch of that name or hole")
    with tempfile.TemporaryDirectory(prefix="ow-guards-", dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        scratch = Scratch(directory)
        problem = scratch.prepare()
        if not writer.result(problem is None, "control/the untouched copy builds", problem):
            return writer.end()
        broken = set()
        for test in sorted({test for guard in chosen for test in guard.tests}):
            result, said = scratch.test(test)
            if not writer.result(result == "passed", f"control/{test} passes with its guard",
                                 result, said[-1500:]):
                broken.add(test)
        for guard in chosen:
            if broken.intersection(guard.tests):
                writer.result(False, guard.name, "its test does not pass with the guard either")
            else:
                try_guard(scratch, guard, writer)
    status = writer.end()
    if not options.tap:
        print(f"{len(chosen)} guards tried, {writer.failures} faults")
    return status


if __name__ == "__main__":
    sys.exit(main())
