# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A terminal for a program under test, at which a test sits in a person's place.

    with Terminal(account, [openworker, "run", …], columns=20) as terminal:
        terminal.wait_for(r"Allow this\\?")
        terminal.type("yes")
        assert terminal.end() == 0
"""

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import time

import pytest
from conftest import scaled


def _take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    def __init__(self, account, argv, env=None, rows=24, columns=80, cwd=None):
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = account.popen(argv, env={"TERM": "xterm", **(env or {})}, cwd=cwd,
                                     stdin=slave, stdout=slave, stderr=slave,
                                     preexec_fn=_take_terminal)
        os.close(slave)
        os.set_blocking(self.fd, False)
        self.raw, self.at, self.ended = b"", 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.fd)

    @property
    def text(self):
        return self.raw.decode(errors="replace")

    @property
    def plain(self):
        """What was printed, without the terminal's own line ends and without colours."""
        return re.sub(r"\033\[\d*m", "", self.text.replace("\r\n", "\n"))

    def pump(self):
        """Reads what there is; False: nothing came."""
        try:
            piece = os.read(self.fd, 65536)
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        self.ended = self.ended or piece == b""
        self.raw += piece
        return piece != b""

    def wait_for(self, pattern, seconds=20):
        """Waits for @pattern behind what was found before; returns the match."""
        deadline = time.monotonic() + scaled(seconds)
        while True:
            text = self.plain
            found = re.compile(pattern, re.DOTALL).search(text, self.at)
            if found:
                self.at = found.end()
                return found
            if not self.pump():
                if self.ended or time.monotonic() > deadline:
                    pytest.fail(f"{pattern!r} did not come: {text!r}")
                time.sleep(0.01)

    def type(self, line):
        self.press(line.encode() + b"\n" if isinstance(line, str) else line + b"\n")

    def press(self, data):
        os.write(self.fd, data)

    def shows_typing(self):
        """Whether the terminal echoes what is typed."""
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def end(self, seconds=30):
        """Waits for the program's end and returns its status."""
        deadline = time.monotonic() + scaled(seconds)
        while self.process.poll() is None:
            if not self.pump():
                if time.monotonic() > deadline:
                    pytest.fail(f"the program did not end: {self.plain!r}")
                time.sleep(0.01)
        while self.pump():
            pass
        return self.process.returncode
