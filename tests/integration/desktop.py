# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A screen, a session bus and the window on them, for the tests of openworker-desktop.

    with Desktop(account, workspace) as desktop:
        window = desktop.start()
        window.click("New session")
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import scaled, wait_until

DRIVER = Path(__file__).with_name("atspi_driver.py")
SYSTEM_PYTHON = "/usr/bin/python3"


class Window:
    """One running openworker-desktop, found by what a screen reader is told of it."""

    def __init__(self, desktop, process):
        self.desktop, self.process = desktop, process

    def ask(self, op, name=None, role=None, timeout=10, check=True, **more):
        request = {"op": op, "pid": self.process.pid, "timeout": scaled(timeout), **more}
        if name is not None:
            request["name"] = name
        if role is not None:
            request["role"] = role
        answer = self.desktop.request(request)
        if check and "error" in answer:
            self.desktop.screenshot("failure")
            ended = self.process.poll()
            pytest.fail(f"{op} {name or more} ({role}): {answer['error']}\n"
                        f"the window {'runs' if ended is None else f'has ended with {ended}'}\n"
                        f"{self.tree()}\n{self.desktop.log()}")
        return answer

    def wait(self, name=None, role=None, **more):
        return self.ask("wait", name, role, **more)

    def has(self, name=None, role=None, patience=0, **more):
        return "error" not in self.ask("wait", name, role, timeout=patience, check=False, **more)

    def gone(self, name=None, role=None, **more):
        return self.ask("gone", name, role, **more)

    def click(self, name=None, role="push button", **more):
        answer = self.ask("click", name, role, **more)
        assert answer.get("done", True), f"{name} could not be clicked"

    def type(self, text, name=None, role=None, **more):
        self.ask("type", name, role, text=text, **more)

    def press(self, name=None, role=None, **more):
        """By the mouse: what has no action to do, or what must be pressed without a delay (an
        action of a button takes a quarter of a second). Returns where that was."""
        top = self.top()
        height = int(self.geometry(top)["HEIGHT"])
        for _ in range(20):
            at = self.ask("extents", name, role, **more)
            if at["y"] + at["height"] < height - 20:
                break
            self.desktop.xdotool("mousemove", "--window", top, "250", str(height // 2),
                                 "click", "5")
            time.sleep(0.1)
        return self.press_at(at["x"] + at["width"] // 2, at["y"] + at["height"] // 2)

    def press_at(self, x, y, top=None):
        self.desktop.xdotool("mousemove", "--window", top or self.top(), str(x), str(y),
                             "click", "1")
        return x, y

    def choose(self, name, role="check box"):
        """Again where it moved on between being found and being pressed."""
        for _ in range(5):
            self.press(name, role)
            if self.has(name, role, state="checked", patience=1):
                return
        self.wait(name, role, state="checked")

    def latency(self, n=100):
        """How long the window may let somebody wait for an answer, in seconds."""
        return self.ask("latency", "Main menu", n=n)["seconds"]

    def give_keys(self):
        """To what the program opened last: nobody else here does it."""
        self.desktop.xdotool("windowfocus", "--sync", self.top())

    def top(self):
        """The X window that the program opened last."""
        argv = ("search", "--onlyvisible", "--pid", str(self.process.pid))
        # A session is there before the window is on the screen of a slow machine.
        return wait_until(lambda: self.desktop.xdotool(*argv).stdout.split(), 10, "a window")[-1]

    def geometry(self, window):
        told = self.desktop.xdotool("getwindowgeometry", "--shell", window).stdout
        return dict(line.split("=", 1) for line in told.splitlines())

    def tree(self):
        return self.desktop.request({"op": "tree", "pid": self.process.pid}).get("tree", "")

    def key(self, *keys):
        """Presses keys in the window that has the focus of the screen."""
        self.desktop.xdotool("key", "--clearmodifiers", *keys)

    def stop(self):
        self.process.terminate()
        self.process.wait(scaled(20))


class Desktop:
    """Xvfb, a private session bus and the accessibility bus that starts from it."""

    def __init__(self, account, workspace, size="1180x820"):
        self.account, self.workspace, self.size = account, workspace, size
        self.driver = None
        self.processes = []
        self.env = {}

    def __enter__(self):
        read, write = os.pipe()
        self._start(["Xvfb", "-displayfd", str(write), "-screen", "0", f"{self.size}x24",
                     "-noreset", "-nolisten", "tcp"], pass_fds=[write])
        os.close(write)
        with os.fdopen(read) as numbers:
            self.env["DISPLAY"] = f":{numbers.readline().strip()}"
        self.env.update(GSK_RENDERER="cairo", GDK_BACKEND="x11", GTK_A11Y="atspi",
                        NO_AT_BRIDGE="0", GSETTINGS_BACKEND="memory", LIBGL_ALWAYS_SOFTWARE="1")
        address = self.workspace.runtime / "bus"
        self._start(["dbus-daemon", "--session", "--nofork", f"--address=unix:path={address}"])
        wait_until(address.exists, what="the session bus")
        self.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={address}"
        # The tree may lie where the account cannot read.
        driver = self.account.write(self.workspace.path / DRIVER.name, DRIVER.read_text())
        self.driver = self.account.popen([SYSTEM_PYTHON, str(driver)], env=self.env,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_error):
        if self.driver is not None:
            self.driver.stdin.close()
            self.driver.wait(scaled(10))
        for process in reversed(self.processes):
            process.terminate()
            process.wait(scaled(20))

    def _start(self, argv, **options):
        process = self.account.popen(argv, env=self.env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     **options)
        self.processes.append(process)
        return process

    def request(self, request):
        self.driver.stdin.write(json.dumps(request) + "\n")
        self.driver.stdin.flush()
        line = self.driver.stdout.readline()
        return json.loads(line) if line else {"error": "the driver has ended"}

    def start(self, program, *words, env=None):
        """Starts the window and waits until it can be seen."""
        log = open(self.workspace.path / "desktop.log", "ab")
        process = self.account.popen([program, *words], env={**self.env, **(env or {})},
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.processes.append(process)
        window = Window(self, process)
        window.wait(role="frame", showing=True, timeout=20)
        # There is no window manager that would give it the keys.
        self.xdotool("search", "--sync", "--onlyvisible", "--pid", str(process.pid),
                     "windowfocus", "--sync")
        return window

    def log(self):
        """What the window wrote to its error stream."""
        path = self.workspace.path / "desktop.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def xdotool(self, *words):
        return self.account.run(["xdotool", *words], env=self.env)

    def screenshot(self, name):
        """Writes NAME.png where OPENWORKER_TEST_PICTURES says, if it says so."""
        directory = os.environ.get("OPENWORKER_TEST_PICTURES")
        if directory:
            picture = self.workspace.path / f"{name}.png"
            self.account.run(["import", "-window", "root", str(picture)], env=self.env)
            Path(directory, picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    sys.exit("This is a part of the tests.")
