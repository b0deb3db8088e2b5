# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What the command does without a gateway, and what it says when there is none."""

import json
import os
import sys

import client
import text


def _fail(*causes):
    sys.stderr.write(text.error(*causes))
    return 1


def broken():
    """The connection ended in the middle of an answer."""
    return _fail("code: 'Unknown error', message: \"h2 protocol error: error reading a body from "
                 "connection\", source: hyper::Error(Body, Error { kind: Io(Custom { kind: "
                 "BrokenPipe, error: \"stream closed because of a broken pipe\" }) })",
                 "error reading a body from connection",
                 "stream closed because of a broken pipe")


def unreachable(argv, error):
    reason = f"{os.strerror(error.errno)} (os error {error.errno})"
    if argv[0] == "status":
        return _fail("client error (Connect)", "tcp connect error", reason)
    return _fail("transport error", "tcp connect error", "tcp connect error", reason)


def no_gateway(argv):
    if argv[0] == "status":
        if "json" in argv:
            print('{\n  "status": "not_configured"\n}')
        else:
            print(f"{text.title('Gateway Status')}\n\n  {text.dim('Status:')} No gateway "
                  f"configured.\n\nRegister a gateway with: "
                  f"{text.dim('openshell gateway add <endpoint>')}")
        return 0
    return _fail("No active gateway.\n\nhint: register one with: openshell gateway add <endpoint>")


def _knobs():
    state = client.state_directory()
    try:
        with open(os.path.join(state or "/nonexistent", "knobs.json"), encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


def run(argv, endpoint, name):
    if argv and argv[0] in ("--version", "-V"):
        print(f"openshell {_knobs().get('version', '0.0.116')}")
        return 0
    return 2
