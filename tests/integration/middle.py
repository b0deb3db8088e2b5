# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What stands between `attach` and `serve`: it takes the place of the runner's socket and carries
each connection on, so that a test can stop the stream at any message, or in the middle of one, and
do to it what it wants to see done: end it, end half of it, or let it fall silent.

    middle = Middle(account, "/…/runner.sock")
    trap = middle.trap("up", lambda link, message: message.get("method") == "tools/call", part=0.5)
    link = trap.wait(20)        # half of the request is through
    link.cut(); trap.release()
"""

import json
import os
import socket
import subprocess
import threading

from accounts import scaled

BIND = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.bind(sys.argv[2]); s.detach()"
PIECE = 65536


class Trap:
    """One message that is waited for, the first that fits."""

    def __init__(self, way, fits, part):
        self.way, self.fits, self.part = way, fits, part
        self.link, self._reached, self._released = None, threading.Event(), threading.Event()

    def is_reached(self):
        return self._reached.is_set()

    def wait(self, seconds):
        """The link whose message it is, held where the trap says."""
        assert self._reached.wait(scaled(seconds)), "the message did not come"
        return self.link

    def release(self):
        self._released.set()

    def hold(self, link):
        self.link = link
        self._reached.set()
        self._released.wait()


class Link:
    """One connection; "up" is what the host says."""

    def __init__(self, middle, number, host, runner):
        self.middle, self.number = middle, number
        self.ends = {"up": (host, runner), "down": (runner, host)}
        self.closed, self.deaf = False, False
        for way in self.ends:
            threading.Thread(target=self._carry, args=(way,), daemon=True).start()

    def _carry(self, way):
        source, target = self.ends[way]
        kept = b""
        try:
            while data := source.recv(PIECE):
                *lines, kept = (kept + data).split(b"\n")
                for line in lines:
                    self._pass(way, line + b"\n", target)
            if not self.deaf:
                target.sendall(kept)
                target.shutdown(socket.SHUT_WR)
        except OSError:
            self.cut()

    def _pass(self, way, line, target):
        """Nothing of what follows is passed before the rest of this."""
        trap = None if self.deaf else self.middle.trap_of(self, way, line)
        if trap is not None:
            through = int(len(line) * trap.part)
            target.sendall(line[:through])
            line = line[through:]
            trap.hold(self)
        if not self.deaf:
            target.sendall(line)

    def cut(self):
        """Both ends see the end of it."""
        self.closed = True
        for end in self.ends["up"]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_half(self, way):
        """No more is said in that way; the other one is open."""
        try:
            self.ends[way][1].shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def fall_silent(self):
        """All that is said from now on goes nowhere, and nobody is told."""
        self.deaf = True


class Middle:
    def __init__(self, account, path):
        self.path, self.real = str(path), f"{path}.real"
        self.links, self.traps, self.set, self.lock = [], [], [], threading.Lock()
        os.rename(self.path, self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        subprocess.run(account.argv(["/usr/bin/python3", "-SIc", BIND, str(self.listener.fileno()), self.path]),
                       pass_fds=(self.listener.fileno(),), check=True)
        real = os.stat(self.real)
        if os.stat(self.path).st_uid != real.st_uid:
            os.chown(self.path, real.st_uid, real.st_gid)
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                host, _ = self.listener.accept()
            except OSError:
                return
            runner = socket.socket(socket.AF_UNIX)
            try:
                runner.connect(self.real)
            except OSError:
                host.close()
                continue
            with self.lock:
                self.links.append(Link(self, len(self.links) + 1, host, runner))

    def trap(self, way, fits, part=0.0):
        """@fits(link, message): whether it is the one. @part of its line is passed on before it is held."""
        trap = Trap(way, fits, part)
        with self.lock:
            self.traps.append(trap)
            self.set.append(trap)
        return trap

    def trap_of(self, link, way, line):
        try:
            message = json.loads(line)
        except ValueError:
            return None
        with self.lock:
            for trap in self.traps:
                if trap.way == way and trap.fits(link, message):
                    self.traps.remove(trap)
                    return trap
        return None

    def close(self):
        """Every trap is open and every stream is at its end."""
        self.listener.shutdown(socket.SHUT_RDWR)
        with self.lock:
            links, traps = list(self.links), list(self.set)
            self.traps.clear()
        for link in links:
            link.cut()
        for trap in traps:
            trap.release()
        self.listener.close()
