# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""An engine without a window (`openworker up`) for a test, and commands given to it."""

import json
import signal
import subprocess

import pytest
from conftest import scaled, wait_until


class Up:
    """`openworker up` of an account; ended with the test."""

    def __init__(self, account, openworker, env=None, argv=None, options=()):
        self.account, self.openworker = account, openworker
        self.log_path = account.workspace.path / f"up-{len(account.started)}.log"
        self.process = account.popen(argv or [openworker, "up", *options], env=env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=open(self.log_path, "wb"))
        self.ready = self.process.stdout.readline().decode()
        if not self.ready.startswith("ready "):
            self.process.wait(timeout=scaled(20))
            pytest.fail(f"no engine: {self.ready!r} {self.log}")

    @property
    def log(self):
        return self.log_path.read_text()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=scaled(30))

    def run(self, *argv, **options):
        return self.account.run([self.openworker, *argv], **options)

    def detach(self, server, *options, folder=None, approve="sandboxed", provider="bubblewrap", task="Do it."):
        """Starts a session with a model server and returns its id."""
        done = self.run("run", "--detach", *(["--provider", provider] if provider else []), "--approve", approve,
                        "--folder", folder or self.account.workspace.folder, "--model", "openai:demo",
                        "--base-url", server.url, *options, task)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def lines(self, *argv):
        """What a command prints as JSON lines."""
        done = self.run(*argv, "--json")
        assert not done.stderr, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def state(self, session):
        return next(entry["state"] for entry in self.lines("sessions", "list") if entry["session"] == session)

    def events(self, session):
        return self.lines("sessions", "show", session)

    def wait_end(self, session, seconds=30):
        """The session's last event."""
        def ended():
            last = self.events(session)[-1]
            return last if last["type"] == "session-ended" else None
        return wait_until(ended, seconds, f"the end of session {session}")

    def wait_request(self, n=1):
        """The @n requests that wait."""
        def waiting():
            requests = self.lines("approvals")
            return requests if len(requests) >= n else None
        return wait_until(waiting, 20, "the request")


def wait_begun(workspace):
    """Until the command of a test has made the file that says so."""
    wait_until((workspace.folder / "begun").exists, 20, "the command")


def said(done, status, *words):
    """One sentence for a person, with @words, and this status."""
    assert done.returncode == status, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("openworker: ")]
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word.lower() in lines[0].lower(), lines[0]
    return lines[0]
