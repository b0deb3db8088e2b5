# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The engine's part: the driver's configuration, images, what a mount comes from."""

import os


class EngineError(Exception):
    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


def check(config, knobs):
    """The mounts of --driver-config-json for the driver in use."""
    from calls import refused
    driver = knobs.get("driver", {}).get("name", "docker")
    found = []
    for entry in config.get(driver, {}).get("mounts", []):
        if entry.get("type") != "bind":
            continue
        if not entry["source"].startswith("/"):
            raise refused("state", "bind source must be an absolute host path")
        found.append({"source": entry["source"], "target": entry["target"],
                      "read_only": entry.get("read_only", True)})
    return found


def pull(gateway, image, progress):
    images = gateway.knobs().get("images")
    if images is None and not image.startswith("localhost/nothere") or images and image in images:
        progress("Image already present")
        return
    progress(f"Pulling image {image}")
    raise EngineError("ImagePullFailed", "pull Docker image failed: Docker responded with status "
                      "code 500: Get \"http://localhost/v2/\": dial tcp 127.0.0.1:80: connect: "
                      "connection refused")


def sources(gateway, mounts):
    for entry in mounts:
        if not os.path.exists(entry["source"]):
            raise EngineError("ContainerCreateFailed",
                              f"bind source path does not exist: {entry['source']}")
