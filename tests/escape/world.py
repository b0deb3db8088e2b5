# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the probes try to reach: the home, the processes and the servers of one account, made for one
run. All of it says one token, which is how a probe knows that it got there."""

import ctypes
import os
import secrets
import shutil
import signal
import socket
import socketserver
import stat
import subprocess
import threading
import time
from pathlib import Path

from accounts import scaled

OUTSIDE, NAMESERVER, METADATA = "203.0.113.10", "203.0.113.53", "169.254.169.254"
PORT, NOTES = 80, "notes.txt"
_libc = ctypes.CDLL(None, use_errno=True)


class Stage:
    """One run's world. @account runs the program; what is tried belongs to who has the folder
    (`ids`), which is who it runs as inside. @network: this is a network of the bench's own."""

    def __init__(self, account, probe, network):
        self.account, self.network, self.missing = account, network, {}
        self.workspace, self.probe = account.workspace, probe
        self.ids = account.folder_owner or (account.uid, account.gid)
        self.folder, self.top = self.workspace.folder, self.workspace.path
        self.token = f"escape-{secrets.token_hex(12)}"
        self.zone = f"{secrets.token_hex(6)}.tunnel.example"
        self.asked, self.env, self.plan, self._ends, self._files = [], {}, {}, [], []

    def __enter__(self):
        try:
            for make in (self._folder, self._files_of_the_home, self._victim, self._sockets,
                         self._programs, self._shared, self._network, self._machine,
                         self._write_plan):
                make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        for end in reversed(self._ends):
            try:
                end()
            except OSError:
                pass
        for path in self._files:
            Path(path).unlink(missing_ok=True)

    # --- helpers ---

    def own(self, path, mode=None):
        os.chown(path, *self.ids, follow_symlinks=False)
        if mode is not None:
            os.chmod(path, mode)
        return Path(path)

    def put(self, path, text, mode=0o644):
        path = Path(path)
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                self.own(parent)
        path.write_text(text)
        return self.own(path, mode)

    def start(self, argv, **options):
        """A process of who the world belongs to; ended with the stage."""
        drop = [] if self.ids[0] == os.geteuid() else [
            "setpriv", f"--reuid={self.ids[0]}", f"--regid={self.ids[1]}", "--clear-groups",
            "--inh-caps=-all", "--"]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.workspace.home), "LC_ALL": "C.UTF-8",
               **options.pop("env", {})}
        process = subprocess.Popen([*drop, *map(str, argv)], env=env, cwd="/", start_new_session=True,
                                   **options)

        def end():
            process.terminate()
            try:
                process.wait(scaled(10))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

        self._ends.append(end)
        return process

    # --- what there is ---

    def _folder(self):
        """A folder that is somebody's work, with a repository."""
        shutil.copy2(self.probe, self.folder / "escape-probe")
        self.own(self.folder / "escape-probe", 0o755)
        self.put(self.folder / "README", "Work.\n")
        self.put(self.folder / ".git/HEAD", "ref: refs/heads/main\n")
        self.put(self.folder / ".git/config", "[core]\n\tbare = false\n")
        for name in ("hooks", "objects", "refs/heads"):
            (self.folder / ".git" / name).mkdir(parents=True)
        for path in (self.folder / ".git").rglob("*"):
            self.own(path)
        self.plan.update({"folder": self.folder, "folder.name": self.folder.name})
        for path in (self.top, self.workspace.home):
            path.chmod(0o755)

    def _files_of_the_home(self):
        home = self.workspace.home
        os.chown(home, *self.ids)
        state = self.workspace.state
        self.put(home / NOTES, self.token)
        self.put(home / ".ssh/id_ed25519", self.token, 0o600)
        self.put(state / "escape-secret", self.token)
        self.put(self.top / "beside/secret", self.token)
        self.put(self.top / "outside/secret", self.token)
        for path in (state, *state.parents):
            if home in path.parents:
                os.chown(path, self.account.uid, self.account.gid)
        tmp = self._named("/tmp/escape-")
        self.put(tmp, self.token)
        usr = self._named("/usr/local/bin/escape-")
        self.plan.update({
            "home.file": home / NOTES, "home.name": NOTES, "home.ssh": home / ".ssh/id_ed25519",
            "home.write": home / "written", "state.file": state / "escape-secret",
            "state.write": state / "escape-written", "beside.file": self.top / "beside/secret",
            "beside.write": self.top / "beside/written", "beside.relative": "../beside/secret",
            "tmp.file": tmp, "tmp.write": self._named("/tmp/escape-written-"), "usr.write": usr})
        self._handle(home / NOTES)
        if os.geteuid() != 0:
            self.missing["setuid-run"] = "only root can make a program of another account's"
            return
        other = 1 if self.ids[0] == 0 else 0
        path = self.folder / "escape-setuid"
        shutil.copy2(self.probe, path)
        os.chown(path, other, other)
        path.chmod(0o4755)
        self.plan.update({"setuid.file": path, "setuid.uid": other})

    def _named(self, start):
        """A path on the machine itself, which is taken away again."""
        path = f"{start}{self.token[7:]}"
        self._files.append(path)
        return path

    def _handle(self, path):
        """The file's number on its disk, as name_to_handle_at gives it."""
        room, mount = ctypes.create_string_buffer(8 + 128), ctypes.c_int()
        ctypes.c_uint.from_buffer(room).value = 128
        if _libc.name_to_handle_at(-100, os.fsencode(path), room, ctypes.byref(mount), 0) != 0:
            self.missing["by-handle"] = "this file system has no handles"
            return
        length = ctypes.c_uint.from_buffer(room).value
        self.plan.update({"handle.type": ctypes.c_int.from_buffer(room, 4).value,
                          "handle.bytes": room.raw[8:8 + length].hex()})

    def _victim(self):
        self.note, limit = self.top / "outside/signalled", 700_000 + secrets.randbelow(90_000)
        os.chown(self.top / "outside", *self.ids)
        process = self.start([self.folder / "escape-probe", "--victim", self.note,
                              self.workspace.home / NOTES, limit], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env={"ESCAPE": self.token})
        pid, address = process.stdout.readline().split()
        self.plan.update({"victim.pid": int(pid), "victim.address": int(address),
                          "victim.limit": limit})

    def _serve(self, family, kind, address, answer, port=None):
        """A server that says @answer to whoever says something."""
        sock = socket.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if family == socket.AF_UNIX and isinstance(address, str) and address[0] == "/":
            self.own(address, 0o777)

        def one(peer):
            with peer:
                peer.settimeout(scaled(10))
                try:
                    if peer.recv(4096):
                        peer.sendall(answer)
                except OSError:
                    pass

        def stream():
            sock.listen(64)
            while True:
                try:
                    peer = sock.accept()[0]
                except OSError:
                    return
                threading.Thread(target=one, args=(peer,), daemon=True).start()

        def datagrams():
            while True:
                try:
                    _, where = sock.recvfrom(4096)
                    sock.sendto(answer, where)
                except OSError:
                    return

        if kind == socket.SOCK_STREAM:
            sock.listen(64)
        threading.Thread(target=stream if kind == socket.SOCK_STREAM else datagrams,
                         daemon=True).start()
        self._ends.append(sock.close)
        if kind == socket.SOCK_STREAM:
            self._ends.append(lambda: sock.shutdown(socket.SHUT_RDWR))
        return sock.getsockname()

    def _http(self):
        body = self.token.encode()
        return b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def _sockets(self):
        runtime = self.workspace.runtime
        os.chown(runtime, *self.ids)
        runtime.chmod(0o755)
        for key, name, answer in [("socket.path", "escape.sock", self.token.encode()),
                                  ("socket.docker", "docker.sock", self._http()),
                                  ("socket.wayland", "wayland-7", self.token.encode())]:
            path = str(runtime / name)
            self._serve(socket.AF_UNIX, socket.SOCK_STREAM, path, answer)
            self.plan[key] = path
        name = f"escape-{self.token[7:]}"
        self._serve(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{name}", self.token.encode())
        self.plan["socket.abstract"] = name
        self.plan["loopback.port"] = self._serve(
            socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0), self._http())[1]
        self.plan["loopback.udp"] = self._serve(
            socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0), self.token.encode())[1]
        try:
            self.plan["loopback.port6"] = self._serve(
                socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0), self._http())[1]
        except OSError:
            self.missing["loopback-six"] = "this machine has no IPv6 loopback"
        self.env["WAYLAND_DISPLAY"] = str(runtime / "wayland-7")

    def _programs(self):
        """A bus, a screen and an agent, each the real one."""
        runtime = self.workspace.runtime
        for key, address in [("bus.path", f"unix:path={runtime}/bus"),
                             ("bus.abstract", f"unix:abstract=escape-bus-{self.token[7:]}")]:
            bus = self.start(["dbus-daemon", "--session", "--nofork", "--print-address=1",
                              f"--address={address}"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
            said = bus.stdout.readline().decode().strip()
            self.plan[key] = said.partition("=")[2].partition(",")[0]
            self.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={runtime}/bus"
        agent = self.start(["ssh-agent", "-D", "-a", runtime / "agent"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        self.plan["socket.agent"] = self.env["SSH_AUTH_SOCK"] = str(runtime / "agent")
        read, write = os.pipe()
        # Without -noreset it begins anew after each client, and refuses the next one meanwhile. The
        # number is not one of a search: in a pid namespace the lock of another server looks stale.
        number = 1000 + secrets.randbelow(50_000)
        screen = self.start(["Xvfb", f":{number}", "-displayfd", write, "-noreset", "-nolisten", "tcp", "-ac",
                             "-screen", "0", "64x64x24"], pass_fds=[write],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as said:
            if said.readline().strip() != str(number):
                raise RuntimeError("the screen did not start")
        self.env["DISPLAY"] = f":{number}"
        self.plan["screen.path"] = f"/tmp/.X11-unix/X{number}"
        deadline = time.monotonic() + scaled(20)
        while not (runtime / "agent").exists():
            if time.monotonic() > deadline or agent.poll() is not None or screen.poll() is not None:
                raise RuntimeError("the programs of the world did not start")
            time.sleep(0.02)

    def _shared(self):
        shm = self._named("/dev/shm/escape-")
        self.put(shm, self.token)
        self.plan["shm.file"] = shm
        key, queue = secrets.randbelow(2**30) + 1, f"escape-{self.token[7:]}"
        done = self.start([self.folder / "escape-probe", "--share", self.token, key, queue],
                          stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        if done.stdout.readline() != b"shared\n":
            raise RuntimeError("nothing could be shared")
        self.plan.update({"shm.key": key, "queue.name": queue})
        # It takes away what it shared when its input ends.
        self._ends.append(lambda: (done.stdin.close(), done.wait(scaled(10))))

    def _network(self):
        if not self.network:
            why = "a network of its own cannot be made here"
            self.missing.update(dict.fromkeys(
                ["metadata", "metadata-proxy", "machine-address", "outside", "outside-proxy",
                 "dns-direct", "dns-tcp", "dns-resolver", "dns-proxy"], why))
            return
        for name, host in [("metadata", METADATA), ("outside", OUTSIDE)]:
            self._serve(socket.AF_INET, socket.SOCK_STREAM, (host, PORT), self._http())
            self.plan.update({f"{name}.host": host, f"{name}.port": PORT})
        self.plan["machine.port"] = self._serve(
            socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0), self._http())[1]
        self._serve(socket.AF_INET, socket.SOCK_STREAM, (NAMESERVER, 53), self._http())
        asked = self.asked

        class Names(socketserver.BaseRequestHandler):
            def handle(self):
                data, sock = self.request
                name, at = [], 12
                while at < len(data) and data[at]:
                    name.append(data[at + 1:at + 1 + data[at]].decode(errors="replace"))
                    at += 1 + data[at]
                asked.append(".".join(name).lower())
                sock.sendto(data[:2] + b"\x81\x83" + data[4:6] + bytes(6) + data[12:],
                            self.client_address)

        server = socketserver.ThreadingUDPServer((NAMESERVER, 53), Names)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._ends += [server.server_close, server.shutdown]
        self.plan.update({"dns.server": NAMESERVER, "dns.port": 53, "dns.zone": self.zone})

    def _machine(self):
        try:
            self.plan["machine.id"] = Path("/etc/machine-id").read_text().strip()[:32]
        except OSError:
            pass
        if not self.plan.get("machine.id"):
            self.plan.pop("machine.id", None)
            self.missing["machine-id"] = "this machine has no id"
        self._device()
        total = 2166136261
        try:
            data = Path("/proc/1/environ").read_bytes()
        except OSError:
            data = b""
        for byte in data[:65536]:
            total = ((total ^ byte) * 16777619) & 0xFFFFFFFF
        if data:
            self.plan["init.sum"] = total
        else:
            self.missing["environ-first"] = "the first process shows no environment here"

    def _device(self):
        """A device that root may open here: a disk, or else the kernel's log."""
        disks = [path for path in Path("/dev").iterdir() if path.is_block_device()]
        root = os.stat("/").st_dev
        disks.sort(key=lambda path: path.stat().st_rdev != root)
        for path in [*disks, Path("/dev/kmsg")]:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            except OSError:
                continue
            number = path.stat().st_rdev
            self.plan.update({"device.path": path, "device.block": int(path.is_block_device()),
                              "device.major": os.major(number), "device.minor": os.minor(number)})
            return
        self.missing["device-made"] = "not even root may open a device here"

    def _write_plan(self):
        self.env["ESCAPE_SECRET"] = secret = f"kept-{secrets.token_hex(8)}"
        self.plan.update({"token": self.token, "deadline_ms": int(scaled(20) * 1000),
                          "environ.secret": secret})
        # For the bench's own test: what nobody set up has no control.
        self.plan.pop(os.environ.get("OPENWORKER_ESCAPE_SPOIL"), None)
        self.write_plan()

    def write_plan(self, **more):
        text = "".join(f"{key}={value}\n" for key, value in {**self.plan, **more}.items())
        self.put(self.folder / "escape.plan", text)

    # --- what somebody outside does while the probes run ---

    def helper(self):
        """A thread that moves and swaps folders when a probe is ready for it; its stop."""
        stop = threading.Event()
        place = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

        def there(name):
            try:
                os.stat(name, dir_fd=place)
                return True
            except OSError:
                return False

        def note(name):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=place))

        def work():
            todo, old = {"moved", "swap"}, self.top / "folder-before"
            while todo and not stop.wait(0.02):
                if "moved" in todo and there("moved-ready"):
                    os.rename(self.folder / "moved", self.top / "outside/moved")
                    note("moved-done")
                    todo.remove("moved")
                if "swap" in todo and there("swap-ready"):
                    os.rename(self.folder, old)
                    os.symlink(self.workspace.home, self.folder)
                    note("swap-done")
                    deadline = time.monotonic() + scaled(25)
                    while not there("swap-over") and not stop.wait(0.02):
                        if time.monotonic() > deadline:
                            break
                    self.folder.unlink()
                    os.rename(old, self.folder)
                    todo.remove("swap")

        thread = threading.Thread(target=work, daemon=True)
        thread.start()

        def end():
            stop.set()
            thread.join()
            os.close(place)
        return end

    # --- what lies outside afterwards ---

    def _left(self, key):
        return lambda: Path(self.plan[key]).exists()

    def _later(self, name):
        path = self.folder / name
        return lambda: path.exists() and "escaped" in path.read_text()

    def looks(self):
        """{probe: whether what it says that it did can be seen outside}"""
        folder = self.folder
        return {
            "folder-write": (folder / "written").exists,
            **{f"{name}-write": self._left(f"{name}.write")
               for name in ("home", "state", "beside", "tmp", "usr")},
            "setuid-left": lambda: any(
                path.stat().st_mode & stat.S_ISUID and path.stat().st_size
                for path in folder.glob("setuid-left-*")),
            "device-left": lambda: (folder / "device-left").is_char_device(),
            "signal": self._signalled,
            "dns-resolver": lambda: f"resolver-{self.zone}" in self.asked,
            "dns-proxy": lambda: f"proxy-{self.zone}" in self.asked,
            **{f"later-{name}": self._later(path) for name, path in LATER.items()},
        }

    def _signalled(self):
        deadline = time.monotonic() + scaled(2)
        while not self.note.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.note.exists()


LATER = {"git-hook": ".git/hooks/post-checkout", "git-config": ".git/config",
         "git-nested": "vendor/inner/.git/config", "vscode": ".vscode/tasks.json", "envrc": ".envrc",
         "agent": ".cursor/hooks.json", "package": "package.json"}
