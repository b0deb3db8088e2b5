# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The other end of SSH: sshd with an account's key, a git repository and files. Run in a mount
namespace of its own it makes a network first (public_host.py), in which github.com is its address
and 22 its port, and then runs the command given:

    ssh_server.py WORKSPACE UID GID -- COMMAND…
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import public_host

SSHD = "/usr/sbin/sshd"
NAMES = ["github.com", "gitlab.com", "other.test"]


def make(place):
    """The keys of both ends, and what is served: place/ssh."""
    folder = place / "ssh"
    folder.mkdir()
    for name in ("host", "login"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name],
                       check=True)
    (folder / "authorized").write_bytes((folder / "login.pub").read_bytes())
    (folder / "served").mkdir()
    (folder / "served/file").write_text("from the server\n")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder / "served/repository"], check=True)
    return folder


def known_hosts(place, port=22):
    key = (place / "ssh/host.pub").read_text().split()[:2]
    return "".join(f"{name if port == 22 else f'[{name}]:{port}'} {' '.join(key)}\n" for name in NAMES[:2])


def start(place, address, port):
    """sshd as this account, which lets it in; returns the process."""
    folder = place / "ssh"
    (folder / "config").write_text(
        f"ListenAddress {address}\nPort {port}\nHostKey {folder}/host\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
        "AllowTcpForwarding yes\nLogLevel VERBOSE\n")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "config"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"))
    deadline = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection((address, port), timeout=5):
                return server
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(0.05)


def main():
    place = Path(sys.argv[1])
    public_host.make_network(place, NAMES)
    server = start(place, public_host.ADDRESS, 22)
    try:
        return subprocess.run(sys.argv[5:], check=False, stdin=subprocess.DEVNULL).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
