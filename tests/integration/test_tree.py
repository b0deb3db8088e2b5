# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The programs that the build makes, and what ./dev says without building anything."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("program", ["openworker", "runner", "proxy"])
def test_programs_tell_their_version(program, request, ordinary_user):
    path = request.getfixturevalue(program)
    done = ordinary_user.run([path, "--version"])
    assert (done.returncode, done.stdout) == (0, f"{path.name} 0.1.0\n")


def test_window_without_a_display(openworker_desktop, ordinary_user):
    assert ordinary_user.run([openworker_desktop, "--version"]).returncode == 0
    done = ordinary_user.run([openworker_desktop])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("openworker-desktop: There is no display here ")
    assert "openworker --help" in done.stderr and "Gtk" not in done.stderr


def test_runner_needs_no_library(runner):
    listed = subprocess.run(["ldd", runner], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False).stdout
    assert "not a dynamic executable" in listed or "statically linked" in listed


@pytest.mark.parametrize("argv,status,word", [
    ([], 2, "Usage"),
    (["no-such-command"], 2, "no command 'no-such-command'"),
    (["help"], 0, "Usage"),
    (["bench"], 2, "Known: "),
    (["bench", "nothing"], 2, "Known: "),
])
def test_dev_says_what_is_wrong(argv, status, word):
    done = subprocess.run([ROOT / "dev", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == status
    assert word in done.stdout + done.stderr


FORMAT = "git uncrustify"
DEBIAN = "ID=debian\nVERSION_ID=12\n"


def dev_with(place, release, **programs):
    """`./dev format` where /etc/os-release says @release and the commands are the few that
    ./dev itself needs and @programs, shell scripts. What these write is the second result."""
    (place / "bin").mkdir()
    for name in ("bash", "cat", "dirname", "env", "readlink", "sh", "sort"):
        (place / "bin" / name).symlink_to(shutil.which(name))
    for name, script in {"dpkg-query": "", **programs}.items():
        path = place / "bin" / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    (place / "os-release").write_text(release)
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
         'mount --bind "$1/os-release" /etc/os-release && PATH=$1/bin LOG=$1/log exec "$2" format',
         "sh", place, ROOT / "dev"],
        capture_output=True, text=True, timeout=60, check=False,
        # A shell cannot catch what its caller ignores, as one in the background does.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    log = place / "log"
    return done, log.read_text() if log.exists() else ""


@pytest.mark.parametrize("release", ["ID=debian\nVERSION_ID=13\n", "ID=fedora\nVERSION_ID=12\n",
                                     "ID=debian\n", ""])
def test_dev_installs_nothing_elsewhere(tmp_path, release):
    done, log = dev_with(tmp_path, release, id="echo 0", apt_get='echo "$@" >>$LOG')
    assert (done.returncode, log) == (1, ""), done.stderr
    assert "This is not Debian 12" in done.stderr and "data/packages/format.list" in done.stderr
    assert f"These commands are missing: {FORMAT}." in done.stderr


def test_dev_tells_whom_to_ask_without_sudo(tmp_path):
    done, log = dev_with(tmp_path, DEBIAN, id="echo 1000", apt_get='echo "$@" >>$LOG')
    assert (done.returncode, log) == (1, ""), done.stderr
    assert f"to run: apt-get install --no-install-recommends {FORMAT}\n" in done.stderr


@pytest.mark.parametrize("failing,word", [("update", "update failed"), ("install", "could not install")])
@pytest.mark.parametrize("uid", [0, 1000])
def test_dev_says_what_apt_could_not_do(tmp_path, uid, failing, word):
    done, log = dev_with(
        tmp_path, DEBIAN, id=f"echo {uid}", sudo='echo sudo >>$LOG; shift; exec "$@"',
        apt_get=f'echo "$@" >>$LOG; case " $* " in *" {failing} "*) exit 100 ;; esac')
    assert done.returncode == 1, done.stderr
    assert f"not installed: {FORMAT}\n" in done.stderr and word in done.stderr
    assert ("may use sudo" in done.stderr) == ("sudo" in log) == (uid != 0)
    # Nothing is installed from lists that could not be brought up to date.
    assert ("install" in log) == (failing == "install")


@pytest.mark.parametrize("ended", ["update", "install"])
@pytest.mark.parametrize("uid", [0, 1000])
def test_dev_ends_where_apt_was_interrupted(tmp_path, uid, ended):
    """sudo has a terminal of its own for what it runs: the shell learns of it by the status."""
    done, log = dev_with(
        tmp_path, DEBIAN, id=f"echo {uid}", sudo='shift; exec "$@"',
        apt_get=f'echo "$@" >>$LOG; case " $* " in *" {ended} "*) kill -INT $$ ;; esac')
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith("dev: Interrupted.\n") and "failed" not in done.stderr
    assert ("install" in log) == (ended == "install")
