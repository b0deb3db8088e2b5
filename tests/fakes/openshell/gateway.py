# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The simulated gateway: gateway.py STATE-DIRECTORY, stdin the test's pipe of life.

Its sandboxes are in STATE/sandboxes.json, its containers below STATE/containers. SIGTERM: no
new calls, main commands get SIGTERM, others up to ten seconds, then the containers stop. SIGKILL:
the containers run on. At the next start what was stopped is started again."""

import datetime
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import calls     # noqa: E402
import failures  # noqa: E402
import wire      # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
DRAIN = 10.0
GONE_AFTER, WATCH, POLICY_SECONDS = 5.0, 0.8, (1.0, 9.0)
# How long the driver takes to see that a container ended.
EXIT_SEEN = 1.6


def now_text():
    return datetime.datetime.utcnow().strftime("%Y-%m-%d %H:%M:%S")


class Sandbox:
    """One sandbox: what is kept, and its container while there is one."""

    KEPT = ("id", "name", "labels", "policy", "spec", "phase", "created_at", "resource_version",
            "policy_version", "reason", "message", "policy_loaded")

    def __init__(self, **fields):
        self.id = self.name = ""
        self.phase, self.reason, self.message = "Provisioning", "", ""
        self.resource_version, self.policy_version, self.policy_loaded = 1, 0, 0
        self.labels, self.policy, self.spec, self.created_at = {}, {}, {}, now_text()
        self.__dict__.update(fields)
        self.changed = threading.Condition()
        self.session = None
        self.container = None
        self.logs, self.logged, self.drafts, self.draft_version = [], 0, [], 0
        self.deleted = self.phantom = False

    def kept(self):
        return {name: getattr(self, name) for name in self.KEPT}

    def set_phase(self, phase, reason="", message=""):
        with self.changed:
            self.phase, self.reason, self.message = phase, reason, message
            self.resource_version += 1
            self.changed.notify_all()


class Gateway:
    """All of it: the listener, the sandboxes, what the tests asked for."""

    def __init__(self, state):
        self.state = state
        self.lock = threading.RLock()
        self.sandboxes = {}
        self.active = set()
        self.stopping = False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    # --- what the tests set ---

    def knobs(self):
        try:
            with open(os.path.join(self.state, "knobs.json"), encoding="utf-8") as stream:
                return json.load(stream)
        except (OSError, ValueError):
            return {}

    def pause(self, seconds):
        """Takes the time that a real one takes, unless the test made it fast."""
        time.sleep(max(0, seconds * self.knobs().get("speed", 1.0)))

    def stage(self, name):
        """The delay of a stage; (failure asked for or None)."""
        knobs = self.knobs()
        time.sleep(knobs.get("slow", {}).get(name, 0))
        failure = knobs.get("fail", {}).get(name)
        if not isinstance(failure, dict):
            return failure
        # One that ends by itself: counted in a file, since a gateway may be killed meanwhile.
        path = os.path.join(self.state, f"failed-{name}-{failure['number']}")
        with self.lock, open(path, "ab") as stream:
            if stream.tell() >= failure["times"]:
                return None
            stream.write(b".")
        return failure["kind"]

    # --- keeping ---

    def save(self):
        with self.lock:
            text = json.dumps([box.kept() for box in self.sandboxes.values()])
            path = os.path.join(self.state, "sandboxes.json")
            with open(path + ".new", "w", encoding="utf-8") as stream:
                stream.write(text)
            os.rename(path + ".new", path)

    def load(self):
        try:
            with open(os.path.join(self.state, "sandboxes.json"), encoding="utf-8") as stream:
                kept = json.load(stream)
        except OSError:
            return
        for fields in kept:
            box = Sandbox(**fields)
            self.sandboxes[box.name] = box
            if box.phase in ("Error", "Completed"):
                continue
            box.container = Container(self, box)
            box.set_phase("Provisioning")
            threading.Thread(target=self.recover, args=(box,), daemon=True).start()

    def recover(self, box):
        """After a start: a container that runs connects again, one that stopped is started."""
        runs = box.container.alive()
        self.pause(0.8 if runs else 0.2)
        if not runs:
            self.provision(box, lambda *words: None)
            return
        try:
            box.container.attach()
        except OSError:
            self.container_gone(box)

    # --- sandboxes ---

    def provision(self, box, progress):
        """Starts the container and waits for its supervisor; the phase tells the outcome."""
        box.container = Container(self, box)
        try:
            box.container.start(progress)
        except ContainerError as error:
            if not box.deleted:
                box.set_phase("Error", error.reason, str(error))
        self.save()

    def find(self, name):
        with self.lock:
            return self.sandboxes.get(name)

    def forget(self, box):
        with self.lock:
            if self.sandboxes.get(box.name) is box:
                del self.sandboxes[box.name]
        box.deleted = True
        self.save()

    def container_gone(self, box):
        """The container ended, and nobody here asked for it."""
        if box.deleted or self.stopping or box.phase in ("Error", "Completed"):
            return
        if box.container.marked("phantom"):
            return
        if not box.container.marked("removed"):
            box.set_phase("Provisioning")
            self.pause(EXIT_SEEN)
            if box.deleted:
                return
            box.set_phase("Error", *failures.engine("exited", "", ""))
            self.save()
            return
        box.set_phase("Provisioning")
        self.save()
        self.pause(GONE_AFTER)
        if box.phase == "Provisioning":
            self.forget(box)

    def watch(self):
        """Looks at the containers as a driver does: a paused one is an error for good."""
        while True:
            self.pause(WATCH)
            with self.lock:
                boxes = list(self.sandboxes.values())
            for box in boxes:
                if box.phase == "Ready" and box.container is not None and \
                        box.container.marked("paused"):
                    box.set_phase("Error", *failures.paused())
                    self.save()

    def delete(self, box):
        with self.lock:
            if box.deleted:
                return False
            box.deleted = True
        there = box.container is None or box.phase in ("Error", "Completed") or \
            box.container.alive()
        if box.container is not None:
            if box.container.alive():
                self.pause(0.11)
            box.container.kill()
        self.forget(box)
        return there

    def new_policy(self, box, policy):
        """Makes @policy the next version; the supervisor takes it up at its next look."""
        with box.changed:
            box.policy_version = max(1, box.policy_version) + 1
            box.policy, box.resource_version = policy, box.resource_version + 1
            version = box.policy_version
        self.save()
        threading.Thread(target=self.deliver, args=(box, policy, version), daemon=True).start()
        return version

    def deliver(self, box, policy, version):
        self.pause(random.uniform(*POLICY_SECONDS))
        if box.policy_version == version and box.container is not None:
            box.container.send_policy(policy, version)

    # --- the listener ---

    def serve(self, sock):
        try:
            letter, data = wire.receive(sock)
            if letter == b"A":
                fields = data.decode("utf-8", "surrogateescape").split("\0")
                call = calls.Call(self, sock, fields)
                with self.lock:
                    self.active.add(call)
                try:
                    call.run()
                finally:
                    with self.lock:
                        self.active.discard(call)
        except (OSError, EOFError, ValueError):
            pass
        finally:
            sock.close()

    def run(self):
        os.makedirs(os.path.join(self.state, "containers"), exist_ok=True)
        knobs = self.knobs()
        self.listener.bind(("127.0.0.1", knobs.get("port", 0)))
        self.load()
        self.listener.listen(128)
        with open(os.path.join(self.state, "gateway.pid"), "w", encoding="ascii") as stream:
            stream.write(str(os.getpid()))
        with open(os.path.join(self.state, "port.new"), "w", encoding="ascii") as stream:
            stream.write(str(self.listener.getsockname()[1]))
        os.rename(os.path.join(self.state, "port.new"), os.path.join(self.state, "port"))
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Thread(target=self.outlive, daemon=True).start()
        threading.Thread(target=self.watch, daemon=True).start()
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
        self.stopping = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        # A container whose supervisor runs gets its whole time to stop, used or not; its main
        # command gets SIGTERM at once.
        for box in list(self.sandboxes.values()):
            if box.phase == "Ready" and box.container is not None:
                box.container.send_stop()
        knobs = self.knobs()
        seconds = DRAIN * knobs.get("drain", 1.0)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and any(
                box.phase == "Ready" for box in list(self.sandboxes.values())):
            time.sleep(0.02)
        for call in list(self.active):
            call.relay_closed()
        for box in list(self.sandboxes.values()):
            if box.container is not None:
                box.container.kill()
        deadline = time.monotonic() + 1
        while self.active and time.monotonic() < deadline:
            time.sleep(0.01)
        os._exit(0)

    def outlive(self):
        """Ends with the test, however that ended."""
        while os.read(0, 1):
            pass
        os._exit(1)

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()


class ContainerError(Exception):
    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


class Container:
    """The gateway's side of one container."""

    def __init__(self, gateway, box):
        self.gateway, self.box = gateway, box
        self.directory = os.path.join(gateway.state, "containers", box.id)
        self.session = None

    def pids(self):
        try:
            with open(os.path.join(self.directory, "pid"), encoding="ascii") as stream:
                return [int(word) for word in stream.read().split()]
        except OSError:
            return []

    def alive(self):
        """Whether its socket answers: the processes may be gone and the numbers given anew."""
        try:
            self.connect("c").close()
            return True
        except OSError:
            return False

    def connect(self, name="s"):
        return wire.connect_local(os.path.join(self.directory, name))

    def marked(self, name):
        """Whether the test said so of this container."""
        return os.path.exists(os.path.join(self.directory, name))

    def order(self, word):
        try:
            with self.connect("c") as sock:
                sock.settimeout(20)
                sock.send(word)
                return sock.recv(16) == b"done"
        except OSError:
            return False

    def kill(self):
        return self.order(b"kill")

    def start(self, progress):
        box, gateway = self.box, self.gateway
        if os.geteuid() and [box.spec["uid"], box.spec["gid"]] != [os.getuid(), os.getgid()]:
            raise ContainerError("ContainerStartFailed", "an engine without root can only run as "
                                 f"{os.getuid()}:{os.getgid()}, not {box.spec['uid']}:"
                                 f"{box.spec['gid']}")
        os.makedirs(self.directory, exist_ok=True)
        spec = dict(box.spec, id=box.id, policy=box.policy, directory=self.directory)
        with open(os.path.join(self.directory, "spec.json"), "w", encoding="utf-8") as stream:
            json.dump(spec, stream)
        code = "import container as c;c.main()"
        length = sum(len(word) + 1 for word in
                     ("/opt/openshell/bin/openshell-sandbox", "--workdir", "/sandbox"))
        argv = ["python3", "-SB", "-c"]
        argv.append(code.ljust(length - sum(len(word) + 1 for word in argv) - 1))
        process = subprocess.Popen(
            argv, executable=sys.executable, stdin=0, stdout=subprocess.PIPE,
            stderr=open(os.path.join(self.directory, "errors"), "ab"), start_new_session=True,
            env={"PYTHONPATH": HERE, "OPENSHELL_SIM_CONTAINER": self.directory,
                 "PATH": "/usr/bin:/bin"}, cwd="/")
        threading.Thread(target=process.wait, daemon=True).start()
        progress("created")
        line = process.stdout.readline()
        event = json.loads(line) if line.strip() else {
            "event": "failed", "kind": "", "text": "the engine's helper ended"}
        if event["event"] == "failed":
            if event["kind"] == "Walled":
                raise ContainerError(*failures.engine("exited", "", ""))
            driver = gateway.knobs().get("driver", {}).get("name", "docker")
            if driver == "podman":
                raise ContainerError(*failures.engine(event["text"], "", driver))
            raise ContainerError("ContainerStartFailed", event["text"])
        progress("waiting")
        self.attach()

    def attach(self):
        """The session on which the supervisor tells and hears."""
        self.session = self.connect()
        wire.send(self.session, b"S")
        threading.Thread(target=self.follow, daemon=True).start()

    def send_policy(self, policy, version):
        try:
            wire.send(self.session, b"P", json.dumps(
                {"policy": policy, "version": version}).encode())
        except (OSError, AttributeError):
            pass

    def send_stop(self):
        try:
            wire.send(self.session, b"T")
        except (OSError, AttributeError):
            pass

    def follow(self):
        box = self.box
        try:
            while True:
                _, data = wire.receive(self.session)
                event = json.loads(data)
                if event["event"] == "main-exited":
                    box.policy_loaded = box.policy_loaded or 1
                    box.set_phase("Error", "MainProcessExited", "Canonical main process exited")
                    self.gateway.save()
                elif event["event"] == "ready":
                    if not box.policy_version:
                        box.policy_version = box.policy_loaded = 1
                    box.set_phase("Ready")
                    self.gateway.save()
                else:
                    calls.event(self.gateway, box, event)
        except (OSError, EOFError, ValueError):
            pass
        self.gateway.container_gone(box)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    Gateway(sys.argv[1]).run()
