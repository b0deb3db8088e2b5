# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A command of a container engine, `docker` or `podman`, for one account: it tells what the test
gave it, and holds the images that the test says. Containers are OpenshellSim's business."""

import json
import os
import socket

SCRIPT = """#!/bin/sh
# Options before the first word (-H, --url) name the place to ask; there is one here.
dir={directory}
echo "$*" >> "$dir/calls"
while [ $# -gt 0 ]; do
  case "$1" in
    -H|--host|--url|--context|-c) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
if [ -e "$dir/down" ]; then
  cat "$dir/down" >&2
  exit 1
fi
case "$1 $2" in
  "info "*|"system info") cat "$dir/info"; exit 0 ;;
  "version "*|"--version ") cat "$dir/info"; exit 0 ;;
  "image inspect"|"image exists")
    for word; do last=$word; done
    if [ -e "$dir/absent" ]; then
      echo "Error: No such image: $last" >&2
      exit 1
    fi
    echo '[{{}}]'
    exit 0 ;;
esac
echo "unknown: $*" >&2
exit 125
"""


class ContainerEngine:
    """`docker` (or another name) in @programs, which is first on the account's PATH. The gateway is
    told a socket of its own, so that one of this machine plays no part."""

    def __init__(self, account, programs, name="docker", **info):
        self.account = account
        self.directory = programs.parent / f"engine-{name}"
        account.mkdir(self.directory, 0o755)
        account.write(programs / name, SCRIPT.format(directory=self.directory), 0o755)
        if name == "podman":
            info = {"version": {"Version": "5.4.2"}, "host": {"security": {"rootless": True}},
                    "store": {"graphRoot": str(account.workspace.home / "containers")}, **info}
        else:
            info = {"ID": "c0ffee00-0000-4000-8000-000000000000", "ServerVersion": "28.3.2",
                    "DockerRootDir": "/var/lib/docker", "SecurityOptions": [], **info}
        account.write(self.directory / "info", json.dumps(info) + "\n")
        self._listen("OPENSHELL_PODMAN_SOCKET" if name == "podman" else "DOCKER_HOST")

    def _listen(self, variable):
        path = self.directory / "engine.sock"
        path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        os.chown(path, self.account.uid, self.account.gid)
        scheme = "unix://" if variable == "DOCKER_HOST" else ""
        self.account.write(self.account.workspace.home / ".config/openshell/gateway.env",
                           f"{variable}={scheme}{path}\n", 0o600)

    def close(self):
        self.socket.close()

    def down(self, words="Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
             "Is the docker daemon running?"):
        """It does not run; None: it does again."""
        if words is None:
            (self.directory / "down").unlink()
        else:
            self.account.write(self.directory / "down", words + "\n")

    def image(self, present):
        """Whether it has the base image."""
        if present:
            (self.directory / "absent").unlink(missing_ok=True)
        else:
            self.account.write(self.directory / "absent", "")

    def calls(self):
        try:
            return (self.directory / "calls").read_text().splitlines()
        except OSError:
            return []
