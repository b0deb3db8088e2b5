# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session bus of a test's own with a keyring in a chosen state.

    keyring = Keyring(account, "unlocked")     # or "locked", "absent", "silent"
    account.run([…], env=keyring.env)
"""

import os
import signal
import subprocess

from conftest import scaled, wait_until

STATES = ["unlocked", "locked", "absent", "silent"]


class Keyring:
    def __init__(self, account, state="unlocked"):
        self.account, self.state = account, state
        address = f"unix:path={account.workspace.runtime}/bus"
        self.env = {"DBUS_SESSION_BUS_ADDRESS": address}
        # No service files of the machine: nothing may be started by asking for it.
        self.bus = self.start(["dbus-daemon", f"--config-file={self.config()}", f"--address={address}", "--nofork"])
        wait_until((account.workspace.runtime / "bus").exists, 10, "the bus")
        if state == "absent":
            return
        self.daemon = self.unlock()
        if state == "locked":
            self.lock()
        if state == "silent":
            self.daemon.send_signal(signal.SIGSTOP)

    def config(self):
        return self.account.write(self.account.workspace.path / "bus.conf", """<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
""")

    def start(self, argv, **options):
        return self.account.popen(argv, env=self.env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, **options)

    def call(self, *words):
        done = self.account.run(["gdbus", "call", "--session", "--timeout", "10", "--dest", *words], env=self.env)
        return done.stdout if done.returncode == 0 else None

    def unlock(self):
        daemon = self.start(["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"],
                            stdin=subprocess.PIPE)
        daemon.stdin.write(b"test")
        daemon.stdin.close()
        wait_until(lambda: "login" in (self.call(
            "org.freedesktop.secrets", "--object-path", "/org/freedesktop/secrets", "--method",
            "org.freedesktop.DBus.Properties.Get", "org.freedesktop.Secret.Service", "Collections") or ""),
            20, "the keyring")
        return daemon

    def lock(self):
        assert self.call("org.freedesktop.secrets", "--object-path", "/org/freedesktop/secrets", "--method",
                         "org.freedesktop.Secret.Service.Lock",
                         "['/org/freedesktop/secrets/collection/login']") is not None

    def stop(self):
        for process in (getattr(self, "daemon", None), self.bus):
            if process is not None and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait(timeout=scaled(10))
