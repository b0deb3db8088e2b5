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
    return _no_gateway()


def _no_gateway():
    name = os.environ.get("OPENSHELL_GATEWAY")
    if name:
        return _fail(f"Unknown gateway '{name}'.\nRegister it first: openshell gateway add "
                     f"<endpoint> --name {name}\nOr list available gateways: openshell gateway "
                     "select")
    return _fail("No active gateway.\nSet one with: openshell gateway select <name>\nOr register "
                 "one with: openshell gateway add <endpoint>")


def _knobs():
    state = client.state_directory()
    try:
        with open(os.path.join(state or "/nonexistent", "knobs.json"), encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


def _gateways():
    base = os.path.join(client.config_directory(), "gateways")
    found = []
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        try:
            with open(os.path.join(base, name, "metadata.json"), encoding="utf-8") as stream:
                found.append(json.load(stream))
        except (OSError, ValueError):
            continue
    return found


def _active():
    try:
        with open(os.path.join(client.config_directory(), "active_gateway"),
                  encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return None


def gateway_list():
    found = _gateways()
    if not found:
        print("No gateways found.")
        return 0
    rows = [(item["name"], item["gateway_endpoint"],
             "remote" if item.get("is_remote") else "local", "user",
             item.get("auth_mode") or "mtls") for item in found]
    heads = ("NAME", "ENDPOINT", "TYPE", "SOURCE", "AUTH")
    widths = [max(len(head), *[len(row[index]) for row in rows])
              for index, head in enumerate(heads)]
    widths[-1] = 0
    print("  " + "  ".join(text.bold(head.ljust(width)) for head, width in zip(heads, widths)))
    for row in rows:
        chosen = row[0] == _active()
        line = ("* " if chosen else "  ") + "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths))
        print(text.green(line) if chosen else line)
    return 0


def _option(argv, name):
    return argv[argv.index(name) + 1] if name in argv[:-1] else None


def gateway_add(argv):
    endpoint = argv[0]
    if "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    name = _option(argv, "--name") or "openshell"
    if any(item["name"] == name for item in _gateways()):
        return _fail(f"Gateway '{name}' already exists.\nRemove it first with: openshell gateway "
                     f"remove {name}\nOr choose a different name with: --name <name>")
    directory = os.path.join(client.config_directory(), "gateways", name)
    os.makedirs(directory, exist_ok=True)
    plain = endpoint.startswith("http://")
    with open(os.path.join(directory, "metadata.json"), "w", encoding="utf-8") as stream:
        json.dump({"name": name, "gateway_endpoint": endpoint,
                   "is_remote": "--local" not in argv,
                   "gateway_port": int(endpoint.rsplit(":", 1)[1].strip("/")),
                   "auth_mode": "plaintext" if plain else "mtls"}, stream)
    _select(name)
    kind = "local" if "--local" in argv else "remote"
    sys.stderr.write(f"{text.TICK} Gateway '{name}' added and set as active\n"
                     f"  {text.dim('Endpoint:')} {endpoint}\n  {text.dim('Type:')} {kind}\n" +
                     (f"  {text.dim('Auth:')} plaintext\n" if plain else
                      f"{text.TICK} TLS certificates present\n"))
    return 0


def _select(name):
    path = os.path.join(client.config_directory(), "active_gateway")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(name)


def gateway_select(argv):
    if not argv:
        return gateway_list()
    if not any(item["name"] == argv[0] for item in _gateways()):
        return _fail(f"No gateway metadata found for '{argv[0]}'.\nRegister it first with: "
                     f"openshell gateway add <endpoint> --name {argv[0]}\nOr list available "
                     "gateways: openshell gateway select")
    _select(argv[0])
    sys.stderr.write(f"{text.TICK} Active gateway set to '{argv[0]}'\n")
    return 0


def gateway_remove(argv):
    import shutil
    name = argv[0] if argv else _active()
    shutil.rmtree(os.path.join(client.config_directory(), "gateways", name or ""))
    sys.stderr.write(f"{text.TICK} Gateway '{name}' removed\n")
    return 0


def ssh_config(argv, found):
    if found is None:
        return _no_gateway()
    name = argv[0]
    program = os.path.realpath(sys.argv[0])
    print(f"Host openshell-{name}.default\n    User sandbox\n    StrictHostKeyChecking no\n"
          "    UserKnownHostsFile /dev/null\n    GlobalKnownHostsFile /dev/null\n"
          "    LogLevel ERROR\n    ServerAliveInterval 15\n    ServerAliveCountMax 3\n"
          f"    ProxyCommand {program} ssh-proxy --gateway-name {found[0]} --name {name} "
          "--workspace default")
    return 0


def run(argv, endpoint, name):
    """A call that needs no gateway."""
    if argv and argv[0] in ("--version", "-V"):
        knobs = _knobs()
        if knobs.get("version_text") is not None:
            sys.stdout.write(knobs["version_text"])
            return knobs.get("version_exit", 0)
        print(f"openshell {knobs.get('version', '0.0.116')}")
        return 0
    if argv[:2] == ["gateway", "list"]:
        return gateway_list()
    if argv[:2] == ["gateway", "add"]:
        return gateway_add(argv[2:])
    if argv[:2] == ["gateway", "select"]:
        return gateway_select(argv[2:])
    if argv[:2] == ["gateway", "remove"]:
        return gateway_remove(argv[2:])
    if argv[:2] == ["sandbox", "ssh-config"]:
        return ssh_config(argv[2:], client.find_gateway(endpoint, name))
    sys.stderr.write("Usage: openshell [OPTIONS] <COMMAND>\n")
    return 2
