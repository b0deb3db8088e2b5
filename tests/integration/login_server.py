# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The other end of the logins that sandboxes get: one TLS server that is GitHub's API and a git
repository there, a cluster, AWS's STS and a registry of npm, and lets in whoever has the login of
the test. Run in a mount namespace of its own it makes a network first (public_host.py) and then
runs the command given:

    login_server.py WORKSPACE UID GID -- COMMAND…
"""

import base64
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import public_host

GITHUB_TOKEN, KUBE_TOKEN, NPM_TOKEN, AWS_KEY = "gho_test", "kube-test", "npm-test", "AKIATESTTESTTESTTEST"
PRIVATE, SIX = "10.99.0.10", "2001:db8::10"
NAMES = ["api.github.com", "github.com", "kube.test", "sts.amazonaws.com", "sts.eu-central-1.amazonaws.com",
         "registry.npm.test", "other.test"]
ADDRESSES = [public_host.ADDRESS, PRIVATE, SIX]
PORTS = [443, 6443]

IDENTITY = f"""<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/ana</Arn><UserId>{AWS_KEY}</UserId>
<Account>123456789012</Account></GetCallerIdentityResult>
<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetCallerIdentityResponse>
"""


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Logins(BaseHTTPRequestHandler):
    """Answers by host. Without the login: 401, in what its program takes for that."""

    protocol_version = "HTTP/1.1"
    place = None

    def answer(self, status, body, kind="application/json", **headers):
        text = json.dumps(body) if isinstance(body, dict) else body
        text = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(text), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, **headers):
        self.answer(401, {"message": "Unauthorized", "kind": "Status", "code": 401}, **headers)

    def serve_git(self, path, body):
        """git's own program for it, asked as by a web server."""
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.place / "srv"), "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": self.path.partition("?")[2],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_USER": "ana",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "203.0.113.1",
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.answer(int(headers.pop("Status", "200").split()[0]), answer, headers.pop("Content-Type", "text/plain"))

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        login, path = self.headers.get("Authorization", ""), self.path.split("?")[0]
        host = self.headers["Host"].rsplit(":", 1)[0] if self.headers["Host"][-1] != "]" else self.headers["Host"]
        if host == "api.github.com":
            if login not in (f"token {GITHUB_TOKEN}", f"Bearer {GITHUB_TOKEN}"):
                self.refuse()
            else:
                self.answer(200, {"login": "ana-test"})
        elif host == "github.com":
            if login.split(" ")[0] != "Basic" or not base64.b64decode(login[6:]).endswith(f":{GITHUB_TOKEN}".encode()):
                self.refuse(WWW_Authenticate='Basic realm="GitHub"')
            else:
                self.serve_git(path, body)
        elif host.startswith("sts."):
            if f"Credential={AWS_KEY}/" not in login:
                self.answer(403, "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>",
                            "text/xml")
            else:
                self.answer(200, IDENTITY, "text/xml")
        elif host == "registry.npm.test":
            if login != f"Bearer {NPM_TOKEN}":
                self.refuse()
            else:
                self.answer(200, {"username": "ana-test"})
        elif login != f"Bearer {KUBE_TOKEN}":
            self.refuse()
        else:
            self.answer(200, {"major": "1", "minor": "99", "gitVersion": f"v1.99.0+{host}"})

    do_GET = do_POST = do_PUT = serve

    def log_message(self, *args):
        pass


class SixServer(ThreadingHTTPServer):
    address_family = socket.AF_INET6


def start(place, address, ports):
    """Serves at @address. Returns the ports, which are drawn where they are 0."""
    Logins.place = place
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "ca.pem", place / "key.pem")
    found = []
    for port in ports:
        server = (SixServer if ":" in address else ThreadingHTTPServer)((address, port), Logins)
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found.append(server.server_address[1])
    return found


def make_repository(place):
    subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main",
                    str(place / "srv/ana/repo.git")], check=True)


def write_ca(place, uid, gid):
    ca = place / "folder/ca.pem"
    ca.write_bytes((place / "ca.pem").read_bytes())
    ca.chmod(0o644)
    os.chown(ca, uid, gid)


def main():
    place = Path(sys.argv[1])
    public_host.make_network(place, NAMES, [PRIVATE, SIX])
    for address in ADDRESSES:
        start(place, address, PORTS)
    return subprocess.run(sys.argv[5:], check=False, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
