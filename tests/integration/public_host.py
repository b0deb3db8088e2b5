# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Run in a network and mount namespace of its own by test_wall.py: gives an interface that
leads nowhere a public address, points two names at it, serves TLS there with a test CA whose
certificate it leaves as folder/ca.pem, tries both names as a control, and then runs the
command given.

    public_host.py WORKSPACE UID GID -- COMMAND…
"""

import ctypes
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from own_etc import own_etc

ADDRESS = "203.0.113.10"
NAMES = ["github.com", "other.test"]


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"public host answers\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


CLONE_NEWNET = 0x40000000


def call(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make_network(place, names=NAMES, more=()):
    """@more: addresses besides the one that the names lead to."""
    call("mount", "--make-rprivate", "/")
    # Root of a container may not set interfaces up, but root of a user namespace of its own
    # may: such a one makes the network, and this program moves into it.
    # One end of a pair that leads nowhere: not every kernel has dummy interfaces.
    addresses = " && ".join(
        f"ip addr add {address}/64 dev public0 nodad" if ":" in address else
        f"ip addr add {address}/24 dev public0" for address in (ADDRESS, *more))
    script = ("ip link set lo up && ip link add public0 type veth peer name public1 && "
              f"{addresses} && ip link set public0 up && "
              "echo ready && cat")
    with subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:
        if maker.stdout.readline() != "ready\n":
            raise RuntimeError("no private network could be made")
        with open(f"/proc/{maker.pid}/ns/net", "rb") as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        maker.stdin.close()
    own_etc(place, {"hosts": "127.0.0.1 localhost\n" +
                    "".join(f"{ADDRESS} {name}\n" for name in names)})


def make_certificate(place, names=NAMES, addresses=()):
    names = ",".join([f"DNS:{name}" for name in names] + [f"IP:{address}" for address in addresses])
    call("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=OpenWorker test CA", "-addext", f"subjectAltName={names}",
         "-keyout", str(place / "key.pem"), "-out", str(place / "ca.pem"))


def main():
    place = Path(sys.argv[1])
    uid, gid = int(sys.argv[2]), int(sys.argv[3])
    command = sys.argv[5:]
    make_network(place)
    make_certificate(place)
    ca = place / "folder/ca.pem"
    ca.write_bytes((place / "ca.pem").read_bytes())
    os.chown(ca, uid, gid)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "ca.pem", place / "key.pem")
    server = ThreadingHTTPServer((ADDRESS, 443), Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    for name in NAMES:
        done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--cacert", str(ca), f"https://{name}/"],
                              capture_output=True, text=True, timeout=30, check=False)
        print(f"control {name}: {done.stdout.strip()}{done.stderr}", flush=True)
    print("inside:", flush=True)
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
