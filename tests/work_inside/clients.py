# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the registries' clients of this machine are set to: both sides of a comparison have the same,
and the hosts that are named there come on the list of the sandbox, as a person would put
them there."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from urllib.parse import urlsplit

QUESTIONS = {
    "PIP_INDEX_URL": ["/usr/bin/python3", "-m", "pip", "config", "get", "global.index-url"],
    "npm_config_registry": ["npm", "config", "get", "registry"],
    "GOPROXY": ["/usr/bin/go", "env", "GOPROXY"],
    "GONOSUMDB": ["/usr/bin/go", "env", "GONOSUMDB"],
    "GOSUMDB": ["/usr/bin/go", "env", "GOSUMDB"],
}

# By which programs are told of authorities of this machine's own. The wall hands them on by itself.
AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
               "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO")


def _ask(argv):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _host(url):
    parts = urlsplit(url)
    if not parts.hostname:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.hostname}:{port}" if ":" not in parts.hostname else None


@dataclass
class Settings:
    exports: str
    hosts: list
    authorities: dict

    @classmethod
    def read(cls):
        values = {name: _ask(argv) for name, argv in QUESTIONS.items()}
        values = {name: value for name, value in values.items() if value}
        urls = [url for value in values.values() for url in re.findall(r"https?://[^\s,|]+", value)]
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
        return cls(exports, sorted({host for host in map(_host, urls) if host}),
                   {name: os.environ[name] for name in AUTHORITIES if name in os.environ})


