# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Walls of others, each used as its own README says: with its usual settings, and the folder to be
written. What they need is got here, on demand, into a directory of the bench's own."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from accounts import scaled
from places import Place

CACHE = Path(os.environ.get("OPENWORKER_ESCAPE_PEERS", f"/var/tmp/openworker-escape-{os.geteuid()}"))
# srt needs a newer Node.js than Debian has.
PACKAGES = {"@anthropic-ai/sandbox-runtime": "0.0.83", "@openai/codex": "0.171.0", "node": "22.23.3"}
SUITE, IMAGE = "bookworm", "escape-bench:12"


def _call(argv, **options):
    subprocess.run([str(word) for word in argv], check=True, stdin=subprocess.DEVNULL, **options)


def _cache():
    """Nobody else's, since programs in it are run."""
    CACHE.mkdir(mode=0o755, exist_ok=True)
    if CACHE.stat().st_uid != os.geteuid() or CACHE.is_symlink():
        raise RuntimeError(f"{CACHE} belongs to somebody else. Take it away, or set "
                           "OPENWORKER_ESCAPE_PEERS to a directory of yours.")
    return CACHE


def fetch(names):
    """Gets what the walls @names need. Outside the bench's network, which leads nowhere."""
    if {"srt", "codex"} & set(names):
        _npm()
    if "docker" in names:
        _image()


def _npm():
    place = _cache() / "npm"
    there = {}
    for name in PACKAGES:
        try:
            manifest = place / "node_modules" / name / "package.json"
            there[name] = json.loads(manifest.read_text())["version"]
        except OSError:
            pass
    if there == PACKAGES:
        return
    place.mkdir(exist_ok=True)
    (place / "package.json").write_text("{}\n")
    # Debian's Node.js is older than one of them asks for; npm says so, and it runs with the other.
    _call(["npm", "install", "--prefix", place, "--no-audit", "--no-fund", "--save-exact",
           *(f"{name}@{version}" for name, version in PACKAGES.items())], cwd=place,
          stdout=subprocess.DEVNULL, timeout=scaled(900))


def _image():
    """A Debian 12 without anything beyond its minimum, from the archive that apt uses here."""
    archive = _cache() / "debian.tar"
    if archive.exists():
        return
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", f"Codename: {SUITE}"],
                          capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        root = Path(place) / "root"
        _call(["debootstrap", "--variant=minbase", SUITE, root, done.stdout.split()[0]],
              stdout=subprocess.DEVNULL, timeout=scaled(1800))
        _call(["tar", "-C", root, "-cf", f"{archive}.new", "."])
    os.rename(f"{archive}.new", archive)


def _bin(name):
    return CACHE / "npm/node_modules/.bin" / name


# What can be reached because files of the machine can be read.
READING = ["home-read", "ssh-key", "state-read", "beside-read", "dot-dot", "tmp-read", "machine-id",
           "link-soft", "swapped", "roots", "root-first"]


class Srt(Place):
    """`srt` with a settings file that lets it write the folder, and no host."""

    notes = {
        1: (READING, "its README: reading is allowed everywhere unless `denyRead` says otherwise"),
        2: (["environ-own"], "its README: variables are withheld where `credentials.envVars` names them"),
        3: (["later-agent", "later-envrc", "later-package"],
            "its README: the files that it keeps from being written are a list by name"),
    }

    def prepare(self):
        self.settings = self.account.write(self.account.workspace.home / ".srt-settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [str(self.folder)], "denyWrite": []}}))

    def argv(self, command, terminal):
        return [str(_bin("node")), str(_bin("srt").resolve()), "--settings", str(self.settings), "--",
                *command]

    def version(self):
        return f"@anthropic-ai/sandbox-runtime {PACKAGES['@anthropic-ai/sandbox-runtime']}"


class Codex(Place):
    """`codex sandbox` in the mode in which the folder can be written."""

    notes = {
        1: (READING, "its documentation: the whole file system can be read"),
        2: (["tmp-write"], "its documentation: temporary directories such as `/tmp` can be written too"),
        3: (["later-vscode", "later-envrc", "later-agent", "later-package", "later-git-nested"],
            "its documentation: in the folder `.git` and its own settings are read-only"),
    }

    def argv(self, command, terminal):
        return [str(_bin("node")), str(_bin("codex").resolve()), "sandbox", "-c",
                'sandbox_mode="workspace-write"', "--", *command]

    def version(self):
        return f"@openai/codex {PACKAGES['@openai/codex']}"


class Docker(Place):
    """`docker run` with the folder as a volume, by an engine of the bench's own in its network."""

    notes = {
        1: (["chroot", "device-left", "raw-socket", "packet-socket", "setuid-run", "setuid-left"],
            "its documentation: the capabilities kept by default have MKNOD, NET_RAW, SETUID, SETFCAP "
            "and SYS_CHROOT among them"),
        2: (["metadata", "outside", "machine-address", "dns-direct", "dns-tcp", "dns-resolver"],
            "its documentation: a container is on the bridge network by default, and gets the "
            "machine's name servers"),
    }

    def prepare(self):
        self.engine = Path(tempfile.mkdtemp(prefix="engine-", dir=CACHE))
        self.host = f"unix://{self.engine}/docker.sock"
        self.log = open(self.engine / "log", "wb")
        self.daemon = subprocess.Popen(
            ["dockerd", "--data-root", str(self.engine / "data"), "--exec-root",
             str(self.engine / "exec"), "--pidfile", str(self.engine / "pid"), "-H", self.host],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + scaled(60)
        while self._docker("version").returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                self.finish(keep=True)
                raise RuntimeError(f"dockerd did not start: {(self.engine / 'log').read_text()[-500:]}")
            time.sleep(0.2)
        _call(["docker", "-H", self.host, "import", CACHE / "debian.tar", IMAGE],
              stdout=subprocess.DEVNULL, timeout=scaled(300))

    def _docker(self, *words):
        return subprocess.run(["docker", "-H", self.host, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=scaled(60), check=False)

    def finish(self, keep=False):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(scaled(60))
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.log.close()
        if not keep:
            shutil.rmtree(self.engine, ignore_errors=True)

    def argv(self, command, terminal):
        return ["docker", "-H", self.host, "run", "--rm", "-it" if terminal else "-i", "-v",
                f"{self.folder}:{self.folder}", "-w", str(self.folder), IMAGE, *command]

    def version(self):
        return f"dockerd {self._docker('version', '--format', '{{.Server.Version}}').stdout.strip()}"
