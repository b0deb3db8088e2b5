# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Failures that a test may ask for, in the words of the real ones."""

import time

from errors import Dropped, Failure, refused

CERTIFICATE = "invalid peer certificate: BadSignature"


def fail(call, kind):
    """Ends @call in the way that @kind says."""
    if kind == "unauthenticated":
        raise refused("unauthenticated", "missing or invalid authentication token")
    if kind == "denied":
        raise refused("denied", "authorization denied")
    if kind == "certificate":
        if call.argv[0] == "status":
            raise Failure("client error (Connect)", CERTIFICATE)
        raise Failure("transport error", CERTIFICATE, CERTIFICATE)
    if kind == "dropped":
        raise Dropped
    if kind == "hang":
        while not call.peer_gone():
            time.sleep(0.05)
        raise Dropped
    if kind == "garbage":
        call.out("\x1b]0;title\x07{\"phase\": \"Rea\x00dy\"\n\n\n")
        raise Dropped
    if kind == "unavailable":
        raise refused("unavailable", "exec relay closed before the command reported an exit "
                                     "status")
    raise refused("internal", kind)


def _podman(kind, image):
    """What the engine's own interface answers; there is no reason in one word."""
    pull = f"image pull failed: initializing source docker://{image}: "
    texts = {
        "pull": pull + "pinging container registry localhost: Get \"http://localhost/v2/\": dial "
                       "tcp 127.0.0.1:80: connect: connection refused",
        "pull-denied": pull + f"reading manifest in {image}: denied: requested access to the "
                              "resource is denied",
        "pull-unauthorized": pull + f"reading manifest in {image}: unauthorized: authentication "
                                    "required",
        "pull-missing": pull + f"reading manifest in {image}: manifest unknown",
        "disk-full": "image pull failed: writing blob: storing blob to file: write /var/tmp/x: no "
                     "space left on device",
        "create-disk-full": "creating container storage: mkdir: no space left on device",
        "start": "crun: cannot create: OCI runtime error",
    }
    return f"podman API error (500): {texts.get(kind, kind)}"


def engine(kind, image, driver):
    """(reason, text) of a failure of the engine while a sandbox is made."""
    if driver == "podman" and kind != "exited":
        return "Podman", _podman(kind, image)
    name = driver.capitalize()
    texts = {
        "pull": ("ImagePullFailed", f"pull {name} image failed: {name} responded with status code "
                 "500: Get \"http://localhost/v2/\": dial tcp 127.0.0.1:80: connect: connection "
                 "refused"),
        "pull-denied": ("ImagePullFailed", f"pull {name} image failed: {name} responded with "
                        f"status code 404: pull access denied for {image}, repository does not "
                        "exist or may require 'docker login': denied: requested access to the "
                        "resource is denied"),
        "pull-unauthorized": ("ImagePullFailed", f"pull {name} image failed: {name} responded "
                              "with status code 500: Head \"https://ghcr.io/v2/\": unauthorized: "
                              "authentication required"),
        "pull-missing": ("ImagePullFailed", f"pull {name} image failed: {name} responded with "
                         f"status code 404: manifest for {image} not found: manifest unknown: "
                         "manifest unknown"),
        "disk-full": ("ImagePullFailed", f"pull {name} image '{image}' failed: failed to register "
                      "layer: Error processing tar file(exit status 1): write /usr/lib/x: no "
                      "space left on device"),
        "create-disk-full": ("ContainerCreateFailed", f"create {driver} sandbox container failed: "
                             f"{name} responded with status code 500: mkdir /var/lib/docker/"
                             "overlay2/x: no space left on device"),
        "start": ("ContainerStartFailed", f"start {driver} sandbox container failed: {name} "
                  "responded with status code 400: failed to create shim task: OCI runtime create "
                  "failed"),
        "exited": ("ContainerExited", "Container exited"),
    }
    return texts.get(kind, ("ContainerCreateFailed", kind))


def paused():
    return "ContainerPaused", "Container is paused"
