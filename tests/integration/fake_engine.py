# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Something at the engine's socket that is no engine, or one that says what a test wants it to say.

    with FakeEngine(account, {"consent.list": {"requests": […]}}) as fake:
        …
    fake.seen      # what was asked, as (method, params)

An answer is a result, an Error, or a function of the parameters that gives one. @hello: the
answer to initialize (None: none at all, bytes: these bytes as they are). It holds the engine's lock
unless told otherwise.
"""

import fcntl
import json
import os
import select
import signal
import socket


class Error(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


HELLO = {"protocol": 1, "version": "0.1.0", "engine": "00112233aabbccdd", "pid": 4711, "host": "up"}


class FakeEngine:
    def __init__(self, account, answers=None, hello=HELLO, lock=True):
        place = account.workspace.runtime / "coworker"
        account.mkdir(place, 0o700)
        self.path, self.seen = place / "engine", []
        read_seen, write_seen = os.pipe()
        read_ready, write_ready = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setgroups([]) if os.geteuid() == 0 else None
                os.setresgid(account.gid, account.gid, account.gid)
                os.setresuid(account.uid, account.uid, account.uid)
                self.serve(place, answers or {}, hello, lock, write_seen, write_ready)
            finally:
                os._exit(1)
        os.close(write_seen)
        os.close(write_ready)
        self.pipe = read_seen
        assert os.read(read_ready, 1) == b"r"
        os.close(read_ready)

    def serve(self, place, answers, hello, lock, seen, ready):
        if lock:
            held = os.open(place / "engine.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place / "engine"))
        listener.listen()
        os.write(ready, b"r")
        buffers = {}
        while True:
            for peer in select.select([listener, *buffers], [], [])[0]:
                if peer is listener:
                    buffers[listener.accept()[0]] = b""
                    continue
                try:
                    piece = peer.recv(65536)
                except OSError:
                    piece = b""
                if not piece:
                    del buffers[peer]
                    continue
                *lines, buffers[peer] = (buffers[peer] + piece).split(b"\n")
                try:
                    for line in lines:
                        self.answer(peer, json.loads(line), answers, hello, seen)
                except OSError:
                    del buffers[peer]

    @staticmethod
    def answer(peer, message, answers, hello, seen):
        method, params = message["method"], message.get("params", {})
        os.write(seen, json.dumps([method, params]).encode() + b"\n")
        result = hello if method == "initialize" else answers.get(method, {})
        if isinstance(result, bytes):
            peer.sendall(result)
            return
        if result is None:
            return
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if isinstance(result, Error):
                raise result
            reply["result"] = result(params) if callable(result) else result
        except Error as error:
            reply["error"] = {"code": error.code, "message": error.message}
        peer.sendall(json.dumps(reply).encode() + b"\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        text = b""
        while piece := os.read(self.pipe, 65536):
            text += piece
        os.close(self.pipe)
        self.seen = [tuple(json.loads(line)) for line in text.splitlines()]
        self.path.unlink(missing_ok=True)
