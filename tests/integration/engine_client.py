# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A client of the engine's socket for tests (docs/engine-protocol.md): a good one, and one that
sends whatever bytes a test wants it to.

    with EngineClient(account) as client:
        status = client.command("engine.status")
        client.send_raw(b"garbage\\n")
        assert client.is_closed()
"""

import json
import os
import secrets
import socket
import time

from conftest import scaled, wait_until


class EngineError(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]


class EngineClient:
    """@uid: whose process it is, the account's where None. @hello False: nothing is said yet."""

    def __init__(self, account, hello=True, uid=None):
        self.path = str(account.workspace.runtime / "coworker" / "engine")
        self.buffer, self.events, self.answers = b"", [], {}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(scaled(10))
        # What the other side is told of us is who we are when we connect.
        before = os.geteuid()
        os.seteuid(account.uid if uid is None else uid)
        try:
            wait_until(self._connect, 10, "room in the engine's queue")
        finally:
            os.seteuid(before)
        if hello:
            self.hello = self.command("initialize", {"protocol": 1, "version": "0.1.0", "face": "command"})

    def _connect(self):
        """False: as many wait already as the queue holds."""
        try:
            self.socket.connect(self.path)
        except BlockingIOError:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, method, params=None, name=None):
        """Sends a command and returns its id; the answer is not waited for."""
        name = name or secrets.token_hex(16)
        message = {"jsonrpc": "2.0", "id": name, "method": method}
        if params is not None:
            message["params"] = params
        self.send_raw(json.dumps(message).encode() + b"\n")
        return name

    def read(self, seconds=10):
        """The next message; None when the connection is over."""
        deadline = time.monotonic() + scaled(seconds)
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def take(self, message):
        if message.get("method") == "event":
            self.events.append(message["params"]["event"])
        else:
            self.answers[message.get("id")] = message

    def answer(self, name, seconds=10):
        """The answer to the command @name, as its result."""
        deadline = time.monotonic() + scaled(seconds)
        while name not in self.answers:
            assert time.monotonic() < deadline, f"no answer to {name}"
            message = self.read(seconds)
            assert message is not None, "the connection ended before the answer"
            self.take(message)
        message = self.answers.pop(name)
        if "error" in message:
            raise EngineError(message["error"])
        return message["result"]

    def command(self, method, params=None, name=None, seconds=10):
        return self.answer(self.send(method, params, name), seconds)

    def wait_event(self, wanted, seconds=20):
        """Reads until @wanted(event) holds for one, and returns it."""
        deadline = time.monotonic() + scaled(seconds)
        seen = 0
        while True:
            for event in self.events[seen:]:
                if wanted(event):
                    return event
            seen = len(self.events)
            assert time.monotonic() < deadline, f"no such event among {[e['type'] for e in self.events]}"
            message = self.read(seconds)
            assert message is not None, "the connection ended before the event"
            self.take(message)

    def is_closed(self, seconds=10):
        """Reads to the end of the connection; what came on the way is kept."""
        try:
            while True:
                message = self.read(seconds)
                if message is None:
                    return True
                self.take(message)
        except (socket.timeout, TimeoutError):
            return False

    def numbered(self, session):
        return [event for event in self.events if event["session"] == session and event["seq"] > 0]
