# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The command's own side: which gateway, one connection, bytes to and fro."""

import _socket
import os
import sys
import time

import wire

STDIN_CAP = 4 * 1024 * 1024
COMMANDS_WITHOUT_GATEWAY = ("--version", "-V", "--help", "-h", "help", "completions")


def config_directory(env=os.environ):
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "/"), ".config")
    return os.path.join(base, "openshell")


def state_directory():
    """Where the simulation of this account keeps its state, or None."""
    try:
        with open(os.path.join(config_directory(), "simulation"), encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return None


def record_call(argv):
    """A line of "time pid", then the arguments, NUL between all, for the tests' calls()."""
    state = state_directory()
    if state is None:
        return
    words = [f"{time.time():.6f}", str(os.getpid()), *argv]
    line = "\0".join(words).replace("\\", "\\\\").replace("\n", "\\n") + "\n"
    try:
        fd = os.open(os.path.join(state, "calls"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError:
        return
    os.write(fd, line.encode("utf-8", "surrogateescape"))
    os.close(fd)


def split_global(argv):
    """(endpoint or None, gateway's name or None, the remaining arguments)"""
    endpoint = os.environ.get("OPENSHELL_GATEWAY_ENDPOINT") or None
    name = os.environ.get("OPENSHELL_GATEWAY") or None
    rest, index = [], 0
    while index < len(argv):
        word = argv[index]
        if word == "--":
            rest += argv[index:]
            break
        if word in ("--gateway-endpoint", "--gateway", "-g") and index + 1 < len(argv):
            if word == "--gateway-endpoint":
                endpoint = argv[index + 1]
            else:
                name = argv[index + 1]
            index += 2
            continue
        if word.startswith("--gateway-endpoint="):
            endpoint = word.split("=", 1)[1]
        elif word.startswith("--gateway="):
            name = word.split("=", 1)[1]
        else:
            rest.append(word)
        index += 1
    return endpoint, name, rest


def find_gateway(endpoint, name):
    """(name, endpoint) of the gateway to use, or None when none is configured."""
    if endpoint:
        return name or endpoint, endpoint
    base = config_directory()
    if name is None:
        try:
            with open(os.path.join(base, "active_gateway"), encoding="utf-8") as stream:
                name = stream.read().strip()
        except OSError:
            return None
    try:
        with open(os.path.join(base, "gateways", name, "metadata.json"),
                  encoding="utf-8") as stream:
            text = stream.read()
    except OSError:
        return None
    # The only use of JSON here; importing the module would cost more than the whole call.
    after = text.partition('"gateway_endpoint"')[2]
    return name, after.split('"')[1] if after else ""


def connect(endpoint):
    """A connection to http[s]://HOST:PORT; OSError where nothing listens."""
    host, _, port = endpoint.split("//", 1)[-1].rstrip("/").rpartition(":")
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    sock.connect((host if host != "localhost" else "127.0.0.1", int(port)))
    sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    return sock


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def send_input(sock):
    """All of stdin, one byte more than the cap at most."""
    left = STDIN_CAP + 1
    while left:
        data = os.read(0, min(left, 1 << 18))
        if not data:
            break
        wire.send(sock, b"I", data)
        left -= len(data)
    wire.send(sock, b"E")


def _broken():
    import local
    return local.broken()


class RawTerminal:
    """stdin in raw mode, and as it was at the end."""

    def __enter__(self):
        import termios
        self.saved = termios.tcgetattr(0)
        mode = termios.tcgetattr(0)
        mode[0] &= ~(termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP |
                     termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON)
        mode[1] &= ~termios.OPOST
        mode[2] = (mode[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
        mode[3] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG |
                     termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(0, termios.TCSANOW, mode)
        return self

    def __exit__(self, *failure):
        import termios
        try:
            termios.tcsetattr(0, termios.TCSANOW, self.saved)
        except (OSError, termios.error):
            pass


def _live(sock):
    """Two ways at once. A terminal that goes away is not told to anybody."""
    import select
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(sock.fileno(), select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == 0:
                try:
                    data = os.read(0, 65536)
                except OSError:
                    data = b""
                if data:
                    wire.send(sock, b"I", data)
                else:
                    poll.unregister(0)
            else:
                letter, data = wire.receive(sock)
                if letter == b"X":
                    return int(data)
                write_all(1 if letter == b"O" else 2, data)


def carry(sock):
    """Does what the gateway says until it says the exit status."""
    while True:
        letter, data = wire.receive(sock)
        if letter == b"O":
            write_all(1, data)
        elif letter == b"R":
            write_all(2, data)
        elif letter == b"X":
            return int(data)
        elif letter == b"Q":
            send_input(sock)
        elif letter == b"T":
            with RawTerminal():
                return _live(sock)


def main(argv):
    record_call(argv)
    endpoint, name, rest = split_global(argv)
    if not rest or rest[0] in COMMANDS_WITHOUT_GATEWAY or rest[:2] in (
            ["gateway", "add"], ["gateway", "list"], ["gateway", "select"],
            ["gateway", "remove"], ["sandbox", "ssh-config"]):
        import local
        return local.run(rest, endpoint, name)
    found = find_gateway(endpoint, name)
    if found is None:
        import local
        return local.no_gateway(rest)
    try:
        sock = connect(found[1])
    except OSError as error:
        import local
        return local.unreachable(rest, error)
    size = (24, 80)
    if "--tty" in rest and os.isatty(0):
        columns, lines = os.get_terminal_size(0)
        size = (lines or 24, columns or 80)
    fields = [found[0], found[1], os.getcwd(), "1" if os.isatty(0) else "0",
              f"{size[0]} {size[1]}", *rest]
    try:
        wire.send(sock, b"A", "\0".join(fields).encode("utf-8", "surrogateescape"))
        return carry(sock)
    except (EOFError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return 1
        return _broken()
