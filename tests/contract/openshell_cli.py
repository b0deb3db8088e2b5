# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""One `openshell` command, as the contract's tests call it.

    done = openshell.run("sandbox", "list", "-o", "json")
    done.status, done.out, done.said("sandbox not found")

Nothing here knows whether the command is a real one or the simulation.
"""

import json
import os
import pty
import re
import subprocess
import threading
import time
import tty

TIME_SCALE = float(os.environ.get("OPENWORKER_TEST_TIME_SCALE", "1"))
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What every sandbox of ours may read besides its folders; the two that it may write.
READ_ONLY = ["/usr", "/lib", "/etc", "/proc", "/dev/urandom", "/var/log", "/sandbox"]
READ_WRITE = ["/tmp", "/dev/null", "/dev/pts"]


def scaled(seconds):
    """A wait or a deadline in seconds, longer on a slow machine."""
    return seconds * TIME_SCALE


def wait_until(condition, seconds=10, what="the condition"):
    """Polls until @condition() is true and returns what it gave; a test failure after."""
    deadline = time.monotonic() + scaled(seconds)
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come within {seconds} s"
        time.sleep(0.05)


def plain(text):
    """@text without colours, and without the boxes that errors stand in."""
    text = ESCAPES.sub("", text)
    lines = [re.sub(r"^\s*(?:│|├─▶|╰─▶|×)\s?", "", line) for line in text.splitlines()]
    return "\n".join(lines)


def squeezed(text):
    """@text without any white space: errors are wrapped at 80 columns, within words too."""
    return "".join(plain(text).split())


class Done:
    """A call that ended: exit status, what it wrote (bytes), how long it took."""

    def __init__(self, argv, status, out, err, seconds):
        self.argv, self.status, self.out, self.err = argv, status, out, err
        self.seconds = seconds

    def __repr__(self):
        return (f"{' '.join(self.argv)[:400]!r} ended {self.status} in {self.seconds:.2f} s\n"
                f"stdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]!r}")

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def error(self):
        return self.err.decode("utf-8", "replace")

    @property
    def json(self):
        """What it printed, which must be JSON and nothing beside it."""
        return json.loads(self.out)

    def said(self, sentence):
        """Whether stderr has @sentence, however it was wrapped and boxed."""
        return squeezed(sentence) in squeezed(self.error)

    def failed_with(self, sentence, status=1):
        return self.status == status and self.said(sentence)


class Stream:
    """`sandbox exec --tty` with a raw terminal as stdin and pipes as stdout and stderr."""

    def __init__(self, argv, env, stdin_is_terminal=True):
        self.output, self.errors = bytearray(), bytearray()
        self._changed = threading.Condition()
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        feed = slave if stdin_is_terminal else subprocess.PIPE
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            argv, env=env, stdin=feed, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        os.close(slave)
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.output), (self.process.stderr, self.errors))]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe, into):
        while True:
            data = os.read(pipe.fileno(), 1 << 16)
            with self._changed:
                into.extend(data)
                self._changed.notify_all()
            if not data:
                return

    def write(self, data):
        """All of @data, waiting where the far end is slow."""
        while data:
            data = data[os.write(self.master, data[:4096]):]

    def write_beside(self, data):
        """The same from a thread, for more than the far end takes before it answers."""
        thread = threading.Thread(target=self.write, args=(data,), daemon=True)
        thread.start()
        return thread

    def wait_for(self, marker, seconds=10):
        """Waits for @marker in the output and returns all that came before and with it."""
        with self._changed:
            found = self._changed.wait_for(lambda: marker in self.output, scaled(seconds))
            assert found, (f"{marker!r} did not come within {seconds} s: "
                           f"{bytes(self.output[-500:])!r} {bytes(self.errors[-500:])!r}")
            return bytes(self.output[:self.output.index(marker) + len(marker)])

    def wait_for_length(self, length, seconds=30):
        with self._changed:
            self._changed.wait_for(lambda: len(self.output) >= length, scaled(seconds))
            return bytes(self.output)

    def wait(self, seconds=10):
        """The CLI's exit status, or None when it still runs after @seconds."""
        try:
            status = self.process.wait(scaled(seconds))
        except subprocess.TimeoutExpired:
            return None
        for reader in self._readers:
            reader.join(scaled(5))
        return status

    def close_terminal(self):
        if self.master is not None:
            os.close(self.master)
            self.master = None

    def close(self):
        """Ends the command by force, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(scaled(5))
        self.close_terminal()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Openshell:
    """The command, the image that sandboxes are made of, and who they run as.

    @control (nullable) disturbs the gateway and containers; None where nobody may."""

    def __init__(self, program, env, image, ids, work, driver, control=None):
        self.program, self.image, self.driver = str(program), image, driver
        self.env, self.control = dict(env, LC_ALL="C.UTF-8"), control
        self.uid, self.gid = ids
        self.work = work
        self.made = []
        self._number = 0

    # --- calls ---

    def argv(self, *words):
        return [self.program, *[str(word) for word in words]]

    def run(self, *words, stdin=b"", env=None, timeout=90):
        argv = self.argv(*words)
        begun = time.monotonic()
        done = subprocess.run(argv, input=stdin, env=dict(self.env, **(env or {})), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=scaled(timeout), start_new_session=True)
        return Done(argv, done.returncode, done.stdout, done.stderr, time.monotonic() - begun)

    def popen(self, *words, **options):
        """A call that goes on beside the test."""
        options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(self.argv(*words), env=self.env, stdout=subprocess.PIPE,
                                start_new_session=True, **options)

    def exec(self, name, *command, stdin=b"", options=(), timeout=60):
        """One shot."""
        return self.run("sandbox", "exec", "-n", name, "--no-tty", *options, "--", *command,
                        stdin=stdin, timeout=timeout)

    def shell(self, name, script, **more):
        return self.exec(name, "sh", "-c", script, **more)

    def stream(self, name, script, stdin_is_terminal=True):
        return Stream(self.argv("sandbox", "exec", "-n", name, "--tty", "--", "sh", "-c", script),
                      self.env, stdin_is_terminal)

    def get(self, name):
        return self.run("sandbox", "get", name, "-o", "json")

    def phase(self, name):
        """The phase, or None when there is no such sandbox."""
        done = self.get(name)
        if done.failed_with("sandbox not found"):
            return None
        assert done.status == 0, done
        return done.json["phase"]

    def list(self, selector=None):
        """[the sandboxes that `list` names]"""
        chosen = ["--selector", selector] if selector else []
        done = self.run("sandbox", "list", *chosen, "-o", "json")
        assert done.status == 0, done
        return done.json

    def names(self, selector=None):
        return [sandbox["name"] for sandbox in self.list(selector)]

    def delete(self, name):
        return self.run("sandbox", "delete", name)

    # --- making sandboxes ---

    def new_name(self):
        """A name that the suite alone uses, and deletes at its end."""
        self._number += 1
        name = f"ow-ct{os.getpid() % 0x1000000:06x}{self._number:06x}"
        self.made.append(name)
        return name

    def folder(self, *parts, mode=0o755, owner=None):
        """A folder below the work folder, the inside's own unless @owner says whose."""
        path = self.work.joinpath(*parts)
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        path.chmod(mode)
        self.own(path, owner)
        return path

    def file(self, *parts, content="", mode=0o644):
        path = self.work.joinpath(*parts)
        self.folder(*parts[:-1])
        path.write_text(content)
        path.chmod(mode)
        self.own(path)
        return path

    def own(self, path, owner=None):
        if os.geteuid() == 0:
            os.chown(path, *(owner or (self.uid, self.gid)))

    def policy(self, read_write=(), read_only=(), hosts=(), run_as=None, text=None):
        """The file of a policy; @hosts are (host, port)."""
        user, group = run_as or (self.uid, self.gid)
        content = text if text is not None else json.dumps({
            "version": 1,
            "filesystem_policy": {
                "include_workdir": False,
                "read_only": READ_ONLY + [str(path) for path in read_only],
                "read_write": READ_WRITE + [str(path) for path in read_write]},
            "landlock": {"compatibility": "hard_requirement"},
            "process": {"run_as_user": str(user), "run_as_group": str(group)},
            "network_policies": {"hosts": {
                "name": "hosts",
                "endpoints": [{"host": host, "port": port} for host, port in hosts],
                "binaries": [{"path": "/**"}]}} if hosts else {}})
        self._number += 1
        path = self.work / f"policy-{self._number}.yaml"
        path.write_text(content)
        return path

    def mounts(self, *triples):
        """--driver-config-json of (source, target, read only)."""
        return json.dumps({self.driver: {"mounts": [
            {"type": "bind", "source": str(source), "target": str(target), "read_only": only}
            for source, target, only in triples]}})

    def create_words(self, name, policy, mounts=None, command=("/bin/sleep", "infinity"),
                     image=None, labels=("openworker-contract=1",), environment=(), limits=()):
        """The words of `sandbox create` as the program says them."""
        words = ["sandbox", "create", "--name", name, "--from", image or self.image, "--no-tty",
                 "--detach", "--no-auto-providers", "--policy", policy, *limits]
        if mounts is not None:
            words += ["--driver-config-json", mounts]
        for label in labels:
            words += ["--label", label]
        for pair in environment:
            words += ["--env", pair]
        return [*words, "--", *command]

    def create(self, name, policy=None, mounts=None, **more):
        return self.run(*self.create_words(name, policy or self.policy(), mounts, **more))

    def made_box(self, **more):
        """The name of a sandbox that is Ready."""
        name = self.new_name()
        done = self.create(name, **more)
        assert done.status == 0, done
        return name

    def clean(self):
        """Deletes what is left of all that the suite made, told or not."""
        for name in set(self.made).intersection(self.names()):
            self.delete(name)
