# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The work-inside suite itself, on small projects of its own: it tells apart what is the same inside
from what is not, and takes nothing for a pass that was not tested. No registry is asked."""

import os
import subprocess
import sys

import pytest
from accounts import scaled
from conftest import ROOT

SUITE = ROOT / "tests/work_inside"
sys.path.insert(0, str(SUITE))
import counts  # noqa: E402

# name: what it tests, and what the suite must say of it.
PROJECTS = {
    "same": ("echo ok 1 - a; echo ok 2 - b", "passed"),
    "status": ("echo ok 1 - a; chmod u+s f", "failed"),
    "numbers": ("echo ok 1 - a; chmod u+s f && echo ok 2 - b; true", "failed"),
    "broken": ("echo ok 1 - a; echo not ok 2 - b; false", "skipped"),
    "untested": ("true", "skipped"),
}


def run_suite(tmp_path, programs, names):
    source = tmp_path / "source"
    source.mkdir(exist_ok=True)
    (source / "f").write_text("x")
    listed = tmp_path / "projects.toml"
    listed.write_text("".join(
        f'[{name}]\nname = "{source}"\nversion = "1"\nkind = "folder"\ntest = "{PROJECTS[name][0]}"\n'
        f'counts = "tap"\nexercises = "nothing"\n' for name in names))
    done = subprocess.run(
        [sys.executable, str(SUITE / "run.py"), "--projects", str(listed), "--place", "bubblewrap"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=scaled(300), check=False)
    return done.returncode, done.stdout


@pytest.fixture(autouse=True)
def build(programs):
    """The build is there: the suite takes the same one."""


@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_said_of_a_project(tmp_path, programs, name):
    status, said = run_suite(tmp_path, programs, [name])
    verdict = PROJECTS[name][1]
    wanted = ", ".join(f"{int(word == verdict)} {word}" for word in ("passed", "failed", "skipped"))
    assert said.splitlines()[-1] == wanted, said
    # Where nothing was compared nothing is well either.
    assert (status == 0) == (verdict == "passed"), said


@pytest.mark.parametrize("kind,text,wanted", [
    ("pytest", "==== 3 failed, 250 passed, 2 skipped, 1 error, 1 xfailed, 2 xpassed in 9.01s", (250, 4, 5)),
    ("pytest", "254 passed in 258.97s (0:04:18)", (254, 0, 0)),
    ("pytest", "no tests ran in 0.01s", None),
    ("cargo", "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\n"
     "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured", (7, 3, 1)),
    ("go", "=== RUN a\n--- PASS: a (0.00s)\n    --- FAIL: a/b (0.00s)\n--- SKIP: c (0.00s)\nok x", (1, 1, 1)),
    ("tap", "ok 1 - a\n    not ok 1 - inner\nnot ok 2 - b\nok 3 - c # SKIP no\nnot ok 4 - d # skip", (1, 1, 2)),
    ("ctest", "97% tests passed, 2 tests failed out of 66", (64, 2, 0)),
    ("node", "# tests 9\n# pass 7\n# fail 1\n# skipped 1", (7, 1, 1)),
    ("automake", "# TOTAL: 9\n# PASS:  5\n# SKIP:  1\n# XFAIL: 1\n# FAIL:  1\n# XPASS: 0\n# ERROR: 1", (5, 2, 2)),
    ("tap", "Bail out!", None),
])
def test_numbers_are_read(kind, text, wanted):
    found = counts.read(kind, text)
    assert (found and (found.passed, found.failed, found.skipped)) == wanted
