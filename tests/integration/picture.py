# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Makes the pictures of the README with the window itself: a session in a real sandbox, with a
model that says what stands below.

    python3 tests/integration/picture.py docs/pictures

OPENWORKER_BUILD is the build to take (build-test), as for the tests.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import conftest  # noqa: E402
import windows  # noqa: E402
from desktop import Desktop  # noqa: E402
from engines import Up  # noqa: E402
from model_server import ModelServer, calls  # noqa: E402

PARSER = """def parse_day(day, month):
    if day > days_in(month):
        raise SystemError("day out of range")
"""
TESTS = """#!/bin/sh
grep -q 'raise ParseError' src/parser.py && exec echo '42 passed in 0.41s'
echo 'FAILED tests/test_dates.py::test_feb - SystemError: day out of range (41 passed)'
exit 1
"""
TASK = "Fix the date parser: “31 Feb” is a crash"
TURNS = [
    calls(("grep", {"pattern": "parse_day", "path": "src"}),
          text="I’ll look at the parser and its tests first."),
    calls(("shell", {"command": "./run-tests -q"})),
    calls(("edit", {"path": "src/parser.py",
                    "old_text": '        raise SystemError("day out of range")',
                    "new_text": '        raise ParseError(f"{month} has no day {day}")'})),
    calls(("shell", {"command": "./run-tests -q && "
                                "git commit -qam 'No crash for a day that is none'"}), usage=True),
]


def make_workspace(path, uid, gid):
    account = conftest.Account(uid, gid, conftest.Workspace(path))
    account.workspace.home = account.workspace.path
    for folder in (account.workspace.home, account.workspace.runtime, account.workspace.tmp):
        account.mkdir(folder, 0o700)
    os.chown(path, uid, gid)
    os.chmod(path, 0o755)
    dates = account.mkdir(account.workspace.home / "src/dates")
    account.write(dates / "src/parser.py", PARSER)
    account.write(dates / "run-tests", TESTS, 0o755)
    account.mkdir(account.workspace.home / "docs")
    return account, dates


def earlier(account, openworker, title):
    """A session of before, for the list."""
    with ModelServer([{"text": "Done."}]) as model:
        account.run([openworker, "run", "--folder", account.workspace.home / "src/dates",
                     "--provider", "bubblewrap", "--model", "openai:demo",
                     "--base-url", model.url, title])


def allow_tests(account, programs, dates):
    """Somebody allowed the tests for good before."""
    with ModelServer([TURNS[1], {"text": "Done."}]) as model:
        up = Up(account, programs / "openworker")
        session = up.detach(model, folder=dates, approve="ask", task="Port tests to pytest")
        request = up.wait_request()[0]["request"]
        assert up.run("approvals", "allow", request, "--always").returncode == 0
        up.wait_end(session)
        up.stop()


def take(account, dates, programs, names, target):
    program = programs / "openworker-desktop"
    allow_tests(account, programs, dates)
    for title in ("Why is CI slow?", "Release notes 2.4"):
        earlier(account, programs / "openworker", title)
    with ModelServer(TURNS) as model, Desktop(account, account.workspace) as desktop:
        window = desktop.start(program)
        windows.start_session(window, dates, model, TASK, name="small-coder")
        for last in ("SystemError",):
            window.wait("What would be done", "text", contains=last)
            windows.card(window)
            desktop.screenshot("before")
            window.click("Allow once")
            window.gone("What would be done", "text", contains=last)
        window.wait("What would be done", "text", contains="git commit")
        windows.card(window)
        time.sleep(1)
        desktop.xdotool("mousemove", "700", "815")
        picture = account.workspace.path / "window.png"
        account.run(["import", "-window", "root", str(picture)], env=desktop.env)
        smaller = target / f"{names}.png"
        subprocess.run(["convert", str(picture), "-strip", "+dither", "-colors", "256",
                        f"PNG8:{smaller}"], check=True)
        window.stop()


def main():
    target = Path(sys.argv[1]).resolve()
    build = Path(os.environ.get("OPENWORKER_BUILD", conftest.ROOT / "build-test"))
    programs = Path(tempfile.mkdtemp(prefix="ow-picture-", dir="/var/tmp"))
    programs.chmod(0o755)
    # Some of its path is in the picture.
    home = Path("/var/tmp/ana")
    home.mkdir()
    account = None
    try:
        (programs / "libexec").mkdir()
        for source, name in ((build / "src/cli/openworker", "openworker"),
                             (build / "src/ui/openworker-desktop", "openworker-desktop"),
                             (build / "src/runner/openworker-runner", "libexec/openworker-runner"),
                             (build / "src/proxy/openworker-proxy", "libexec/openworker-proxy")):
            shutil.copy2(source, programs / name)
        account, dates = make_workspace(home, os.geteuid(), os.getegid())
        account.extra_env["OPENWORKER_LIBEXEC"] = str(programs / "libexec")
        take(account, dates, programs, "session", target)
    finally:
        for process in account.started if account else []:
            if process.poll() is None:
                process.kill()
        shutil.rmtree(programs, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
