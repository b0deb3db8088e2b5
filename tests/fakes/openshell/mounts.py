# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The engine's part: the driver's configuration, images, what a mount comes from."""

import os
import unicodedata

import failures
from errors import refused

RESERVED = ("/opt/openshell", "/etc/openshell", "/etc/openshell-tls", "/run/openshell",
            "/run/openshell-sidecar", "/run/netns", "/var/run/netns")
WORKSPACE = "/sandbox"
FIELDS = {"type", "source", "target", "read_only", "selinux_label"}


class EngineError(Exception):
    """Why no container came about: a reason in one word, and the text."""

    def __init__(self, reason, words):
        super().__init__(words)
        self.reason = reason


def _driver(knobs):
    return knobs.get("driver", {}).get("name", "docker")


def _covers(parent, path):
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def _source(source):
    if not source:
        raise refused("state", "bind source must not be empty")
    if source != source.strip():
        raise refused("state", "bind source must not contain surrounding whitespace")
    if not source.startswith("/"):
        raise refused("state", "bind source must be an absolute host path")


def _target(target):
    if not target:
        raise refused("state", "mount target must not be empty")
    if target != target.strip():
        raise refused("state", "mount target must not contain surrounding whitespace")
    if any(unicodedata.category(char) == "Cc" for char in target):
        raise refused("state", "mount target must not contain control characters")
    if not target.startswith("/"):
        raise refused("state", "mount target must be an absolute container path")
    parts = target.split("/")[1:]
    if "" in parts[:-1] or "." in parts or ".." in parts:
        raise refused("state", "mount target must be normalized without empty, '.', or '..' path "
                               "segments")
    plain = target.rstrip("/")
    if not plain:
        raise refused("state", "mount target must not be the container root")
    for reserved in RESERVED:
        if _covers(reserved, plain) or _covers(plain, reserved):
            raise refused("state", f"mount target '{target}' conflicts with reserved OpenShell "
                                   f"path '{reserved}'")
    return plain


def check(config, knobs):
    """The mounts of --driver-config-json for the driver in use; others' parts are not looked at."""
    driver, found, seen = _driver(knobs), [], set()
    for entry in (config.get(driver) or {}).get("mounts", []):
        unknown = sorted(set(entry) - FIELDS)
        if unknown or entry.get("type") != "bind":
            raise refused("invalid", f"invalid {driver} driver_config: unknown field "
                                     f"`{(unknown or ['type'])[0]}`")
        if not knobs.get("bind_mounts", True):
            raise refused("state", f"{driver} bind mounts require enable_bind_mounts = true in "
                                   f"[openshell.drivers.{driver}]")
        _source(entry["source"])
        target = _target(entry["target"])
        if target in seen:
            raise refused("state", f"duplicate {driver} driver_config mount target '{target}'")
        seen.add(target)
        found.append({"source": entry["source"], "target": target,
                      "read_only": entry.get("read_only", True)})
    return found


def pull(gateway, image, progress):
    """Has the image, or says why not. Every image is there unless the test gave a list."""
    knobs = gateway.knobs()
    kind = gateway.stage("image")
    images = knobs.get("images")
    present = not image.startswith("localhost/") if images is None else image in images
    if kind is None and present:
        progress("Image already present")
        return
    progress(f"Pulling image {image}")
    kind = kind or gateway.stage("pull") or "pull"
    if kind == "ok":
        progress("Image pulled")
        return
    raise EngineError(*failures.engine(kind, image, _driver(knobs)))


def sources(gateway, mounts):
    """What the engine looks at before it makes the container."""
    for entry in mounts:
        if not os.path.exists(entry["source"]):
            if _driver(gateway.knobs()) == "podman":
                raise EngineError(*failures.engine(
                    f"statfs {entry['source']}: no such file or directory", "", "podman"))
            raise EngineError("ContainerCreateFailed",
                              f"bind source path does not exist: {entry['source']}")
        words = [entry["source"], entry["target"], *["ro"] * entry["read_only"]]
        if _driver(gateway.knobs()) == "docker" and any(":" in word for word in words):
            raise EngineError("ContainerCreateFailed", "create docker sandbox container failed: "
                              "Docker responded with status code 500: invalid volume "
                              f"specification: '{':'.join(words)}'")
        if _covers(entry["target"], WORKSPACE):
            raise EngineError("ContainerCreateFailed", f"mount target '{entry['target']}' is "
                              "reserved for the OpenShell workspace")
    kind = gateway.stage("create")
    if kind:
        raise EngineError(*failures.engine(kind, "", _driver(gateway.knobs())))
