# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The first process of a container: walls in and runs what the gateway asks for.

The gateway connects to its socket once for a session, on which events go up and policies come
down, and once for each command. A command whose client goes away runs on: it sees neither the
end of its input nor a hangup, and what it writes is read and thrown away."""

import errno
import fcntl
import json
import os
import pty
import resource
import signal
import socket
import struct
import termios
import threading
import time

import kernel
import proxy
import seccomp
import wire

PROXY_URL = f"http://{proxy.ADDRESS[0]}:{proxy.ADDRESS[1]}"
SHELL = "/bin/bash"
LOCAL = "127.0.0.1,localhost,::1"
AUTHORITY, BUNDLE = "/etc/openshell-tls/openshell-ca.pem", "/etc/openshell-tls/ca-bundle.pem"
IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# How long after a command's end its output is waited for when something else holds it open.
# A main command that ends within this time never made the sandbox ready.
SETTLE = 0.08
DRAIN_PIPE, DRAIN_TTY = 3.0, 2.0


def environment(spec, term, more):
    """What a command inside finds in its environment."""
    found = {"OPENSHELL_SANDBOX": "1", "HOME": "/sandbox", "USER": str(spec["uid"]),
             "SHELL": SHELL, "PATH": IMAGE_PATH, "TERM": term}
    found.update({key: value for key, value in more.items() if not key.startswith("OPENSHELL_")})
    for name in ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
                 "grpc_proxy"):
        found[name] = PROXY_URL
    found.update(NO_PROXY=LOCAL, no_proxy=LOCAL, NODE_USE_ENV_PROXY="1",
                 NODE_EXTRA_CA_CERTS=AUTHORITY, DENO_CERT=AUTHORITY, SSL_CERT_FILE=BUNDLE,
                 REQUESTS_CA_BUNDLE=BUNDLE, CURL_CA_BUNDLE=BUNDLE, GIT_SSL_CAINFO=BUNDLE)
    return found


class Walled(Exception):
    """The wall that the policy demands cannot be had: the supervisor ends."""


class Children:
    """The only caller of wait(): a first process inherits every orphan."""

    def __init__(self):
        self.changed = threading.Condition()
        self.ended = {}
        self.wanted = set()
        self.count = 0

    def fork(self, run):
        """Starts @run in a child; (pid)."""
        with self.changed:
            pid = os.fork()
            if pid == 0:
                try:
                    run()
                except BaseException as error:  # pylint: disable=broad-except
                    os.write(2, f"openshell-sandbox: {error}\n".encode())
                os._exit(126)
            self.wanted.add(pid)
            self.changed.notify_all()
        return pid

    def wait(self, pid):
        """The raw status of @pid, as soon as it ended."""
        with self.changed:
            while pid not in self.ended:
                self.changed.wait()
            return self.ended.pop(pid)

    def reap(self):
        """Never returns."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                with self.changed:
                    if not self.wanted:
                        self.changed.wait(0.2)
                continue
            with self.changed:
                if pid in self.wanted:
                    self.wanted.discard(pid)
                    self.ended[pid] = status
                    self.changed.notify_all()


class Supervisor:
    """All that one container does."""

    def __init__(self, spec, listener, outside):
        self.spec, self.listener, self.outside = spec, listener, outside
        self.children = Children()
        self.session, self.session_lock = None, threading.Lock()
        self.backlog, self.applied = [], 0
        self.network, self.over, self.settled, self.main = None, False, False, 0
        self.stopping = False
        self.filter = seccomp.program()
        self._check_landlock()
        self._make_paths()
        self._try_ruleset()
        self._network()

    # --- the wall ---

    def _check_landlock(self):
        policy = self.spec["policy"].get("filesystem_policy") or {}
        self.read_only = list(policy.get("read_only") or [])
        self.read_write = list(policy.get("read_write") or [])
        self.loose = self.spec.get("loose", {})
        self.read_only += self.loose.get("read_only", [])
        self.read_write += self.loose.get("read_write", [])
        # A folder that is to be writable is so by the rules too.
        moved = [path for path in self.read_only
                 if os.path.basename(path) in self.loose.get("writable", [])]
        self.read_only = [path for path in self.read_only if path not in moved]
        self.read_write += moved
        self.hard = (self.spec["policy"].get("landlock") or {}).get(
            "compatibility") == "hard_requirement"
        self.landlock = kernel.landlock_abi() > 0 and not self.spec.get("no_landlock")

    def _network(self):
        """Commands get a network of their own, with the proxy at the other end of a wire and no
        way further."""
        own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.proxy = None
        if self.loose.get("network"):
            return
        kernel.own_network()
        self.commands_network = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        kernel.setns(own, kernel.NEWNET)
        kernel.veth("veth-h", "veth-s", self.commands_network)
        kernel.device_up("veth-h", proxy.ADDRESS[0])
        kernel.setns(self.commands_network, kernel.NEWNET)
        kernel.device_up("veth-s", "10.200.0.2")
        kernel.setns(own, kernel.NEWNET)
        os.close(own)
        self.proxy = proxy.Proxy(self)

    def _make_paths(self):
        """A path to write that is nowhere is made, and is then the command's own."""
        for path in self.read_write:
            if os.path.islink(path):
                raise Walled(f"read_write path '{path}' is a symlink")
            if not os.path.lexists(path):
                os.makedirs(path)
                os.chown(path, self.spec["uid"], self.spec["gid"])

    def _try_ruleset(self):
        fd = self.ruleset()
        if fd is not None:
            os.close(fd)

    def ruleset(self):
        """Descriptor of the rules for one command, or None where there are none to be had."""
        if not self.landlock:
            if self.hard:
                raise Walled("Landlock unavailable in hard_requirement mode")
            return None
        if not self.read_only and not self.read_write:
            return None
        fd, self.applied, missing = kernel.landlock_ruleset(self.read_only, self.read_write)
        if missing and self.hard:
            os.close(fd)
            raise Walled(f"Landlock path unavailable in hard_requirement mode: {missing[0][0]} "
                         f"(path does not exist): {missing[0][1]}")
        return fd

    def _enter(self, ruleset):
        """In a child, last before exec: becomes who the policy says, for ever."""
        if self.proxy is not None:
            kernel.setns(self.commands_network, kernel.NEWNET)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.geteuid() == 0:
            kernel.drop_bounding_set()
            # The group of the supervisor itself stays, as it does in a real one.
            os.setgroups([0])
            os.setresgid(*[self.spec["gid"]] * 3)
            os.setresuid(*[self.spec["uid"]] * 3)
        else:
            kernel.drop_bounding_set()
        kernel.prctl(kernel.SET_NO_NEW_PRIVS, 1)
        if ruleset is not None:
            kernel.landlock_restrict(ruleset)
        seccomp.apply(self.filter)

    # --- events for the gateway ---

    def tell(self, **event):
        event.setdefault("time", time.time())
        line = json.dumps(event).encode()
        with self.session_lock:
            if self.session is not None:
                try:
                    wire.send(self.session, b"J", line)
                    return
                except OSError:
                    self.session = None
            self.backlog.append(line)

    def ocsf(self, text):
        self.tell(event="log", kind="OCSF ", target="ocsf", text=text)

    # --- the main command ---

    def start_main(self):
        ruleset = self.ruleset()
        spec = self.spec
        env = environment(spec, "dumb", spec.get("environment", {}))

        def run():
            null = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            os.setsid()
            os.chdir("/sandbox")
            self._enter(ruleset)
            os.execvpe(spec["command"][0], spec["command"], env)

        pid = self.children.fork(run)
        if ruleset is not None:
            os.close(ruleset)
        return pid

    def run(self):
        threading.Thread(target=self.children.reap, daemon=True).start()
        self.main = main = self.start_main()
        if self.proxy is not None:
            threading.Thread(target=self.proxy.run, daemon=True).start()
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Timer(SETTLE, self._ready).start()
        status = self.children.wait(main)
        while self.stopping:
            # Its engine was told to stop the container: commands run on until it is killed.
            time.sleep(1)
        self.over = True
        code = os.waitstatus_to_exitcode(status)
        self.tell(event="main-exited", status=code)
        # The gateway hears of it before the container is gone.
        deadline = time.monotonic() + 5
        while self.backlog and time.monotonic() < deadline:
            time.sleep(0.01)

    def _ready(self):
        self.settled = True
        if not self.over:
            self.tell(event="ready")

    def accept(self):
        while True:
            fd, _ = self.listener._accept()
            peer = socket.socket(fileno=fd)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        try:
            letter, data = wire.receive(peer)
            if letter == b"S":
                self._session(peer)
            elif letter == b"X":
                self._exec(peer, json.loads(data))
        except (OSError, EOFError, ValueError):
            pass
        finally:
            peer.close()

    def _session(self, peer):
        with self.session_lock:
            self.session = peer
            for line in self.backlog:
                wire.send(peer, b"J", line)
            self.backlog.clear()
        if self.settled and not self.over:
            self.tell(event="ready")
        while True:
            letter, data = wire.receive(peer)
            if letter == b"P":
                update = json.loads(data)
                self.network = update["policy"]
                self.tell(event="policy-loaded", version=update["version"])
            elif letter == b"T":
                # The container is being stopped: the main command hears of it at once.
                self.stopping = True
                os.kill(self.main, signal.SIGTERM)

    # --- commands ---

    def _exec(self, peer, request):
        channel = request["channel"]
        target = "unix:/run/openshell/ssh.sock"
        self.ocsf(f"NET:OPEN [INFO] [msg:ssh relay open (channel_id={channel}, target={target})]")
        self.ocsf("SSH:OPEN [INFO] ALLOWED")
        told = threading.Lock()

        def closed():
            """The relay's end, told once; the command may run on."""
            if told.acquire(blocking=False):
                self.ocsf("NET:CLOSE [INFO] [msg:ssh relay closed (channel_id="
                          f"{channel}, target={target})]")

        try:
            self._command(peer, request, closed)
        finally:
            closed()

    def _command(self, peer, request, closed):
        terminal = request["tty"]
        env = environment(self.spec, "xterm-256color" if terminal else "dumb",
                          self.spec.get("environment", {}))
        argv = [SHELL, "-lc", request["command"]]
        ruleset = self.ruleset()
        compat = "HardRequirement" if self.hard else "BestEffort"
        if ruleset is not None:
            self.ocsf("CONFIG:APPLYING [INFO] Applying Landlock filesystem sandbox [abi:V2 "
                      f"compat:{compat} ro:{len(self.read_only)} rw:{len(self.read_write)}]")
            skipped = len(self.read_only) + len(self.read_write) - self.applied
            self.ocsf("CONFIG:BUILT [INFO] Landlock ruleset built [rules_applied:"
                      f"{self.applied} skipped:{skipped}]")
        if terminal:
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ,
                        struct.pack("HHHH", request["rows"], request["cols"], 0, 0))
            os.fchown(slave, self.spec["uid"], -1) if os.geteuid() == 0 else None
            inner, outer = [slave, slave, slave], [(master, b"O")]
            stdin = master
        else:
            pipes = [os.pipe() for _ in range(3)]
            inner = [pipes[0][0], pipes[1][1], pipes[2][1]]
            outer, stdin = [(pipes[1][0], b"O"), (pipes[2][0], b"R")], pipes[0][1]

        def run():
            os.setsid()
            for number, fd in enumerate(inner):
                os.dup2(fd, number)
            if terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.chdir("/sandbox")
            self._enter(ruleset)
            os.execve(SHELL, argv, env)

        pid = self.children.fork(run)
        for fd in {*inner, *([ruleset] if ruleset is not None else [])}:
            os.close(fd)
        relay = Relay(peer, stdin, outer, terminal, closed)
        status = self.children.wait(pid)
        relay.finish(os.waitstatus_to_exitcode(status))


class Relay:
    """Carries one command's bytes until its end."""

    def __init__(self, peer, stdin, outputs, terminal, closed):
        self.peer, self.stdin, self.terminal = peer, stdin, terminal
        self.lock, self.gone, self.master = threading.Lock(), False, stdin if terminal else None
        self.readers, self.closed = [], closed
        for fd, letter in outputs:
            thread = threading.Thread(target=self._read, args=(fd, letter), daemon=True)
            thread.start()
            self.readers.append(thread)
        threading.Thread(target=self._write, daemon=True).start()

    def _read(self, fd, letter):
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                break
            if not data:
                break
            self._send(letter, data)
        if not self.terminal:
            os.close(fd)

    def _send(self, letter, data):
        if self.gone:
            return
        try:
            with self.lock:
                wire.send(self.peer, letter, data)
        except OSError:
            self.gone = True

    def _write(self):
        """Input of the command. The client's end is not told to the command: a real supervisor
        does not tell it either."""
        try:
            while True:
                letter, data = wire.receive(self.peer)
                if letter == b"I":
                    view = memoryview(data)
                    while view:
                        view = view[os.write(self.stdin, view):]
                elif letter == b"E" and not self.terminal:
                    os.close(self.stdin)
                    self.stdin = None
                elif letter == b"W":
                    fcntl.ioctl(self.stdin, termios.TIOCSWINSZ, data)
        except (OSError, EOFError, TypeError):
            pass
        self.closed()

    def finish(self, code):
        deadline = time.monotonic() + (DRAIN_TTY if self.terminal else DRAIN_PIPE)
        for thread in self.readers:
            thread.join(max(0, deadline - time.monotonic()))
        # A command that a signal ended is told as 1, like any that failed.
        self._send(b"X", str(code if code >= 0 else 1).encode())
        try:
            self.peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self.master is not None and not any(t.is_alive() for t in self.readers):
            os.close(self.master)
