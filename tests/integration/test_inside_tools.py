# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What programs find inside of the machine's own settings, so that they work as they do outside, and
that it is no more than that (REQ-W01)."""

import os
import stat
from pathlib import Path

import pytest

EXEC = ["sandbox", "exec", "--provider", "bubblewrap"]


@pytest.fixture
def inside(account, workspace, openworker):
    def run(script, **options):
        return account.run([openworker, *EXEC, "--folder", workspace.folder, "--", "sh", "-c", script],
                           **options)

    return run


def test_authorities_of_the_machine_are_named_inside(account, workspace, inside):
    """A file of the person's is not there, so its name is not either: a program that is told of a
    file that it cannot read fails."""
    own = account.write(workspace.home / "ca.pem", "x")
    shown = "/etc/ssl/certs/ca-certificates.crt"
    done = inside("env; test -r $SSL_CERT_FILE && echo read", env={
        "SSL_CERT_FILE": shown, "NODE_EXTRA_CA_CERTS": own, "PIP_CERT": shown,
        "GIT_SSL_CAINFO": "/etc/ssl/certs/../private/x", "GIT_SSL_KEY": shown})
    names = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert names["SSL_CERT_FILE"] == names["PIP_CERT"] == shown
    assert not {"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "GIT_SSL_KEY"} & set(names)
    assert done.stdout.splitlines()[-1] == "read" or not os.path.exists(shown)


def test_no_authorities_are_named_where_none_are_outside(inside):
    done = inside("env")
    assert "PATH=" in done.stdout
    assert "CERT" not in done.stdout and "SSL" not in done.stdout


@pytest.mark.parametrize("path", ["/etc/manpath.config", "/etc/magic", "/etc/services", "/etc/perl",
                                  "/etc/java-17-openjdk", "/etc/ImageMagick-6", "/etc/shells"])
def test_settings_that_programs_need_are_there(inside, path):
    done = inside(f"test -e {path} && echo there")
    assert done.stdout.strip() == ("there" if os.path.exists(path) else "")


def test_nothing_of_etc_is_shown_that_not_all_may_read(inside):
    """An inside that is uid 0 can read what it is shown, whatever its mode."""
    done = inside("find -L /etc -type f")
    shown = [Path(line) for line in done.stdout.splitlines()]
    made = {"passwd", "group", "nsswitch.conf", "hosts", "resolv.conf"}
    assert len(shown) > len(made), done.stderr
    private = [str(path) for path in shown if path.name not in made
               and not path.stat().st_mode & stat.S_IROTH]
    assert not private


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/gitconfig", "/etc/environment", "/etc/ssl/private",
                                  "/etc/sudoers", "/etc/ssh", "/etc/machine-id", "/etc/pip.conf",
                                  "/etc/maven/settings.xml", "/etc/apt"])
def test_other_settings_are_not(inside, path):
    assert inside(f"test -e {path}").returncode == 1
