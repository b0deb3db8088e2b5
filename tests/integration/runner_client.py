# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A client of openworker-runner that keeps all it receives, with the time it came."""

import base64
import json
import subprocess
import threading
import time
from contextlib import contextmanager

from conftest import scaled


class Client:
    """Speaks over two binary files, one line a message."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.messages = []          # (time, message)
        self.ended = False
        self.last_id = 0
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for line in filter(bytes.strip, self.reader):
                message = json.loads(line)
                with self.changed:
                    self.messages.append((time.monotonic(), message))
                    self.changed.notify_all()
        except (OSError, ValueError):
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, wanted, timeout=60):
        """The first message that @wanted() likes, in whatever order they came."""
        deadline = time.monotonic() + scaled(timeout)
        looked = 0
        with self.changed:
            while True:
                for _, message in self.messages[looked:]:
                    if wanted(message):
                        return message
                looked = len(self.messages)
                left = deadline - time.monotonic()
                if self.ended or left <= 0:
                    raise AssertionError("the stream ended" if self.ended else "no such message")
                self.changed.wait(left)

    def send(self, message):
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.writer.flush()

    def start(self, method, params):
        """Sends a request and returns its id."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        return self.last_id

    def reply(self, request_id, timeout=60):
        return self.wait(lambda message: message.get("id") == request_id
                         and "method" not in message, timeout)

    def request(self, method, params, timeout=60):
        return self.reply(self.start(method, params), timeout)

    def await_hello(self):
        """The first message; before it nothing may be sent."""
        hello = self.wait(lambda message: True)
        assert hello["method"] == "notifications/openworker/hello"
        return hello

    def initialize(self):
        reply = self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}})
        self.send({"method": "notifications/initialized"})
        return reply["result"]

    def start_call(self, tool, arguments, call_id=None):
        params = {"name": tool, "arguments": arguments}
        if call_id is not None:
            params["_meta"] = {"openworker/callId": call_id}
        return self.start("tools/call", params)

    def call(self, tool, arguments, call_id=None, timeout=60):
        return self.reply(self.start_call(tool, arguments, call_id), timeout)["result"]

    def shell(self, command, call_id=None, timeout=60, **arguments):
        return Shell(self.call("shell", {"command": command, **arguments}, call_id, timeout))

    def outputs(self, call_id):
        """[(time, stream, bytes, is text)] of a call."""
        with self.changed:
            messages = list(self.messages)
        return [(when, params["stream"],
                 params["text"].encode() if "text" in params else base64.b64decode(params["data"]),
                 "text" in params)
                for when, message in messages
                if message.get("method") == "notifications/openworker/output"
                for params in [message["params"]] if params["callId"] == call_id]

    def stream(self, call_id, stream):
        return b"".join(data for _, name, data, _ in self.outputs(call_id) if name == stream)


class Shell:
    """The result of a call of shell, exec or one of the tools of tasks."""

    def __init__(self, result):
        self.result = result
        self.is_error = result["isError"]
        self.text = result["content"][0]["text"]
        self.facts = result["structuredContent"]
        self.output, _, self.last_line = self.text.rpartition("\n")
        if self.output:
            self.output += "\n"

    def __getattr__(self, name):
        return self.facts[name]

    @property
    def left(self):
        return {entry["name"] for entry in self.facts["leftovers"]}


@contextmanager
def servers(user, runner, folder, make=Client):
    """A function that starts a server on stdin and stdout with more options and gives its client."""
    clients = []

    def start(*options, env=None):
        process = user.popen([runner, "serve", "--stdio", "--folder", folder, *options],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        client = make(process.stdout, process.stdin)
        client.process = process
        client.hello = client.initialize()
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.process.stdin.close()
        client.process.wait(scaled(20))
