# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Frames between the command, the gateway and a container: a letter, a length, bytes."""

import _socket
import os
import struct

HEAD = struct.Struct("!cI")
CHUNK = 1 << 18


def send(sock, letter, data=b""):
    head = HEAD.pack(letter, len(data))
    if len(data) < 4096:
        sock.sendall(head + data)
    else:
        sock.sendall(head)
        sock.sendall(data)


def _exactly(sock, count):
    data = sock.recv(count)
    if len(data) == count:
        return data
    parts = [data]
    count -= len(data)
    while count and parts[-1]:
        parts.append(sock.recv(min(count, CHUNK)))
        count -= len(parts[-1])
    if count:
        raise EOFError
    return b"".join(parts)


def receive(sock):
    """(letter, bytes) of the next frame; EOFError at the end."""
    letter, length = HEAD.unpack(_exactly(sock, HEAD.size))
    return letter, _exactly(sock, length) if length else b""


def local_address(path):
    """A name of the socket @path that is short enough for the kernel, and what keeps it valid."""
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return f"/proc/self/fd/{directory}/{os.path.basename(path)}", directory


def listen_local(path):
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    address, directory = local_address(path)
    try:
        sock.bind(address)
    finally:
        os.close(directory)
    sock.listen(128)
    return sock


def connect_local(path):
    import socket
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    address, directory = local_address(path)
    try:
        sock.connect(address)
    except OSError:
        sock.close()
        raise
    finally:
        os.close(directory)
    return sock
