# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Runs the suites in order and ends with one line: N passed, N failed, N skipped.

docs/testing.md says what each suite is. Exit status 1 when a test failed, or when the
tests that were skipped are not the ones that docs/testing.md lists.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import build, last_words, skips, tap  # noqa: E402
from common.tree import ROOT                      # noqa: E402

SUITES = ["style", "unit", "layers", "sanitizers", "contract", "integration", "guards"]
LONG_SUITES = ["fuzz"]
ILLEGAL_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Where all fails, what the first few tests said is enough.
LAST_WORDS_LINES = 600
FUZZ_SECONDS = int(os.environ.get("OPENWORKER_FUZZ_SECONDS", "3600"))


def run_lines(name, argv, env=None):
    """A program that prints test lines; shows them and counts them."""
    lines = []
    with subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            line = line.rstrip("\n")
            lines.append(line)
            # Passed lines are counted, not shown: what failed must be easy to find.
            if not line.startswith("ok ") or "# SKIP" in line:
                print(f"  {line}", flush=True)
    counts = tap.read(lines, name)
    if process.returncode != 0 and not counts.failed:
        counts.failed.append(f"{name}:program (exit {process.returncode})")
    return counts


def read_junit(path, prefix, name_of):
    """Counts a JUnit file; one that is missing or holds nothing is a failure."""
    counts = tap.Counts()
    try:
        # Meson writes down what a test said as it came, and hostile bytes are no XML.
        text = ILLEGAL_IN_XML.sub("\ufffd", path.read_text(encoding="utf-8", errors="replace"))
        cases = list(ElementTree.fromstring(text.encode()).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        counts.failed.append(f"{prefix}:results ({error})")
        return counts
    for case in cases:
        name = f"{prefix}:{name_of(case)}"
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(name)
        elif case.find("skipped") is not None:
            counts.skipped.append(name)
        else:
            counts.passed.append(name)
    if not cases:
        counts.failed.append(f"{prefix}:results (no test ran)")
    return counts


def run_meson(name, directory, suites, env=None):
    """The tests of one build, each GTest path counted."""
    junit = directory / "meson-logs" / "testlog.junit.xml"
    junit.unlink(missing_ok=True)
    environment = dict(os.environ, **(env or {}))
    environment["OPENWORKER_LIBEXEC"] = str(directory / "libexec")
    argv = ["meson", "test", "-C", str(directory), "--no-rebuild", "--print-errorlogs",
            "--timeout-multiplier", "10" if env else "3",
            *[word for suite in suites for word in ("--suite", suite)]]
    print(f"  {' '.join(argv)}", flush=True)
    status = subprocess.run(argv, cwd=ROOT, env=environment, check=False).returncode
    # "openworker.wire-json", or "openworker.openworker:unit / wire-json" where there are several
    # suites, and "3 /json/depth" become wire-json/json/depth.
    counts = read_junit(junit, name, lambda case: re.sub(r"^.* / ", "", case.get("classname")
                                                         .split(".", 1)[-1]) +
                        re.sub(r"^\d+ ", "", case.get("name")))
    # A program that crashed or hung may have said nothing of the tests it did not reach.
    for line in (junit.parent / "testlog.json").read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        program = test["name"].split(" / ")[-1].split(":")[-1].strip()
        if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
            continue
        counts.last_words += last_words.of(test)
        if not any(failed.startswith(f"{name}:{program}/") for failed in counts.failed):
            counts.failed.append(f"{name}:{program} ({test['result']})")
    if status != 0 and not counts.failed:
        counts.failed.append(f"{name}:meson test (exit {status})")
    return counts


def suite_style(_options):
    return run_lines("style", [sys.executable, "tests/style/check.py"])


def suite_unit(_options):
    problem = build.compile_tree(build.UNIT)
    if problem:
        return tap.Counts(failed=[f"unit:build ({problem})"])
    return run_meson("unit", build.UNIT.directory, ["unit"])


def suite_layers(_options):
    return run_lines("layers", [sys.executable, "tests/layers/check.py"])


def suite_sanitizers(_options):
    problem = build.compile_tree(build.SANITIZERS)
    if problem:
        return tap.Counts(failed=[f"sanitizers:build ({problem})"])
    return run_meson("sanitizers", build.SANITIZERS.directory, ["unit", "fuzz"],
                     build.sanitizer_env())


def note_offline():
    """One test installs a public client: where its registry cannot be asked, that test is
    skipped as docs/testing.md lists it."""
    if os.environ.get("OPENWORKER_TEST_OFFLINE"):
        return
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir",
             "--disable-pip-version-check", "-d", directory, "mcp==1.12.4"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    os.environ["OPENWORKER_TEST_OFFLINE"] = "1" if done.returncode else "0"
    if done.returncode:
        print("  the Python registry cannot be asked: OPENWORKER_TEST_OFFLINE=1", flush=True)


def run_pytest(name, options, *words, part=""):
    """The tests in tests/NAME that @words choose, against the programs of the unit build."""
    problem = build.compile_tree(build.UNIT)
    if problem:
        return tap.Counts(failed=[f"{name}:build ({problem})"])
    junit = build.UNIT.directory / f"pytest-{name}{part}.xml"
    junit.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfEs",
            "--junitxml", str(junit), *(words or [f"tests/{name}"])]
    if options.long:
        argv.append("--long")
    status = subprocess.run(argv, cwd=ROOT, env=build.run_env(), check=False).returncode
    counts = read_junit(junit, name, lambda case: "{}::{}".format(
        case.get("classname").split(f"{name}.", 1)[-1], case.get("name")))
    if status != 0 and not counts.failed:
        counts.failed.append(f"{name}:pytest (exit {status})")
    return counts


def suite_contract(options):
    return run_pytest("contract", options)


def suite_integration(options):
    note_offline()
    # Most of what these tests do is wait. Those of the window, which has to be as quick as a
    # person, come by themselves.
    windows = sorted(str(path.relative_to(ROOT)) for path in
                     (ROOT / "tests/integration").glob("test_window*.py"))
    counts = run_pytest("integration", options, "-n", str((os.cpu_count() or 1) + 1),
                        *(f"--ignore={path}" for path in windows), "tests/integration")
    counts.add(run_pytest("integration", options, *windows, part="-windows"))
    return counts


def suite_guards(options):
    argv = [sys.executable, "tests/guards/run.py", "--tap"]
    if not options.long:
        argv += ["--random", "10"]
    return run_lines("guards", argv)


def suite_fuzz(_options):
    """Each fuzz target for its hour, two at a time."""
    problem = build.compile_tree(build.SANITIZERS)
    if problem:
        return tap.Counts(failed=[f"fuzz:build ({problem})"])
    counts, programs = tap.Counts(), sorted(
        path for path in (build.SANITIZERS.directory / "tests/fuzz").glob("fuzz-*")
        if path.is_file() and not path.suffix)

    def run(program):
        log = program.with_suffix(".log")
        with open(log, "wb") as output:
            return subprocess.run(
                [sys.executable, "tests/fuzz/run.py", program, str(FUZZ_SECONDS)], cwd=ROOT,
                stdout=output, stderr=output, check=False,
                env=dict(os.environ, **build.sanitizer_env())).returncode, log

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for program, (status, log) in zip(programs, pool.map(run, programs)):
            if status != 0:
                print(log.read_text(errors="replace")[-4000:])
            (counts.failed if status else counts.passed).append(f"fuzz:{program.name}")
    if not programs:
        counts.failed.append("fuzz:nothing (no target was built)")
    return counts


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__)
    parser.add_argument("--long", action="store_true",
                        help="also the soaks, the fuzzing and every guard")
    parser.add_argument("--only", action="append", choices=SUITES + LONG_SUITES,
                        metavar="SUITE",
                        help="one suite (repeatable): " + ", ".join(SUITES + LONG_SUITES))
    options = parser.parse_args()

    total, begun = tap.Counts(), time.monotonic()
    for name in options.only or SUITES + (LONG_SUITES if options.long else []):
        print(f"== {name}", flush=True)
        start = time.monotonic()
        counts = globals()[f"suite_{name}"](options)
        total.add(counts)
        print(f"== {name}: {len(counts.passed)} passed, {len(counts.failed)} failed, "
              f"{len(counts.skipped)} skipped in {time.monotonic() - start:.0f} s", flush=True)

    # A test that is skipped without a word, or listed as skipped and yet run, is a
    # failure like another: the list in the docs must stay true.
    for problem in skips.compare(total.skipped, total.passed + total.failed, options.long):
        total.failed.append(f"skips:{problem}")
    for line in total.last_words[:LAST_WORDS_LINES]:
        print(f"  {line}")
    for name in total.failed:
        print(f"FAILED {name}")
    print(f"took {time.monotonic() - begun:.0f} s")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped",
          flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
