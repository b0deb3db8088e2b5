# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Asks the proxy that a command inside is told of for hosts, for test_explain.py.

    inside_hosts.py LIST

LIST holds JSON texts, one a line, as `sandbox explain` takes a host. For each a line of JSON comes
out: the status and the error of the proxy's answer to CONNECT, null where it closed without one."""

import json
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


def ask(asked, tries=5):
    text = asked
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    # Without a port it is 443, which only CONNECT has to be told.
    bare = text.rfind(":") <= text.rfind("]") if "[" in text else ":" not in text
    if "[" not in text and text.count(":") > 1:
        text, bare = f"[{text}]", True
    target = f"{text}:443" if bare else text
    answer = b""
    with socket.create_connection((proxy.hostname, proxy.port), timeout=60) as sock:
        sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        while b"\r\n\r\n" not in answer or not answer.startswith(b"HTTP/1.1 200"):
            try:
                more = sock.recv(65536)
            except ConnectionResetError:
                break
            if not more:
                break
            answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1]) if head else None
    try:
        said = json.loads(body)
    except ValueError:
        return [status, None]
    # A proxy that cannot tell who asks says so; it has decided nothing about the host.
    if "failed to resolve peer" in said.get("reason", "") and tries > 0:
        return ask(asked, tries - 1)
    return [status, said.get("error")]


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        hosts = [json.loads(line) for line in lines]
    with ThreadPoolExecutor(16) as pool:
        for answer in pool.map(ask, hosts):
            print(json.dumps(answer))


if __name__ == "__main__":
    main()
