# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Policies: reading them, who they run commands as, the shell line of a command."""

import re

import yamlish
from errors import Failure, refused

ORDER = ("version", "filesystem_policy", "landlock", "process", "network_policies")
MAPS = {"filesystem_policy": "struct FilesystemDef", "landlock": "struct LandlockDef",
        "process": "struct ProcessDef", "network_policies": "a map"}

FIELDS = {"filesystem_policy": ("include_workdir", "read_only", "read_write"),
          "landlock": ("compatibility",), "process": ("run_as_user", "run_as_group")}


def read(path):
    """The policy in the file @path, as plain dicts and lists."""
    try:
        with open(path, encoding="utf-8") as stream:
            source = stream.read()
    except OSError as error:
        raise Failure(f"failed to read sandbox policy from {path}",
                       f"{error.strerror} (os error {error.errno})") from error
    try:
        policy = yamlish.load(source, MAPS)
    except yamlish.Syntax as error:
        raise Failure("failed to parse sandbox policy YAML", str(error)) from error
    check(policy)
    return _plain(policy)


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _kind(value):
    if isinstance(value, bool):
        return f"boolean `{'true' if value else 'false'}`"
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "sequence"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, str):
        return f'string "{value}"'
    return "unit value"


def _known(policy, where, value, fields):
    """Refuses a key that no policy has."""
    for key in value:
        if key not in fields:
            line, column = getattr(value, "marks", policy.marks).get(key, (1, 1))
            names = [f"`{field}`" for field in fields]
            expected = names[0] if len(names) == 1 else " or ".join(names) if len(names) == 2 \
                else f"one of {', '.join(names)}"
            raise Failure("failed to parse sandbox policy YAML",
                          f"{where}unknown field `{key}`, expected {expected} at line {line} "
                          f"column {column}")


def check(policy):
    if not isinstance(policy, dict):
        raise Failure("failed to parse sandbox policy YAML",
                       f"invalid type: {_kind(policy)}, expected struct PolicyFile")
    _known(policy, "", policy, (*ORDER, "network_middlewares"))
    for key, expected in MAPS.items():
        value = policy.get(key)
        if value is not None and not isinstance(value, dict):
            line, column = policy.marks[key]
            raise Failure("failed to parse sandbox policy YAML",
                           f"{key}: invalid type: {_kind(value)}, expected {expected} at line "
                           f"{line} column {column}")
        if value is not None and key in FIELDS:
            _known(policy, f"{key}: ", value, FIELDS[key])


def _violations(policy):
    process = policy.get("process") or {}
    for field in ("run_as_user", "run_as_group"):
        value = str(process.get(field) or "")
        numeric = re.fullmatch(r"\+?[0-9]+", value) and 1 <= int(value) <= 4294967294
        if value and value != "sandbox" and not numeric:
            yield (f"{field} must be 'sandbox' or a numeric UID/GID in range [1, 4294967294], got "
                   f"'{value}'")
    files = policy.get("filesystem_policy") or {}
    paths = [*(files.get("read_only") or []), *(files.get("read_write") or [])]
    if len(paths) > 256:
        yield f"too many filesystem paths ({len(paths)} > 256)"
    for path in paths:
        if len(path.encode()) > 4096:
            yield f"path exceeds maximum length ({len(path.encode())} > 4096): {path[:80]}..."
            continue
        if not path.startswith("/"):
            yield f"path must be absolute (start with '/'): {path}"
        if ".." in path.split("/"):
            yield f"path contains '..' traversal component: {path}"
    for path in files.get("read_write") or []:
        if not path.rstrip("/"):
            yield f"read-write path is overly broad: {path}"
    for key, rule in (policy.get("network_policies") or {}).items():
        name = rule.get("name") or key
        for endpoint in rule.get("endpoints") or []:
            host = str(endpoint.get("host") or "").strip()
            if not host and not endpoint.get("allowed_ips"):
                yield (f"network policy '{name}': endpoint host must not be empty unless "
                       "allowed_ips constrains a non-TCP proxy endpoint")
            ports = endpoint.get("ports") or [endpoint.get("port") or 0]
            if not all(ports):
                yield (f"network policy '{name}': endpoint '{host}' must declare at least one "
                       "port")
            for port in ports:
                if port and not 0 < port < 65536:
                    yield (f"network policy '{name}': endpoint '{host}' has invalid port {port}; "
                           "expected 1..=65535")
            labels = host.split(".")
            if any("*" in label and label != "*" and (index or label != "**") and
                   not re.fullmatch(r"[^*]*\*[^*]*", label) or "**" in label and index
                   for index, label in enumerate(labels)) or host in ("*", "**"):
                yield (f"network policy '{name}': invalid host wildcard '{host}'; middle DNS "
                       "label wildcards must be the entire label '*' and recursive '**' is only "
                       "allowed as the entire first label")
            if re.fullmatch(r"\*{1,2}\.[^.]+", host):
                yield (f"network policy '{name}': TLD wildcard '{host}' is not allowed; use "
                       "subdomain wildcards like '*.example.com' instead")


def validate(policy):
    """What the gateway refuses before it makes anything."""
    found = list(_violations(policy))
    if found:
        raise refused("invalid", f"policy contains unsafe content: {'; '.join(found)}")


def default():
    return {"version": 1, "filesystem_policy": {
        "include_workdir": True, "read_only": ["/usr", "/lib", "/proc", "/dev/urandom", "/etc",
                                               "/var/log"],
        "read_write": ["/sandbox", "/tmp", "/dev/null"]},
        "landlock": {"compatibility": "best_effort"},
        "process": {"run_as_user": "1000", "run_as_group": "1000"}, "network_policies": {}}


def identity(policy):
    process = policy.get("process") or {}
    ids = []
    for name in ("run_as_user", "run_as_group"):
        value = str(process.get(name) or "1000")
        ids.append(int(value) if value.isdigit() else 1000)
    return ids


def ordered(policy):
    """Keys in the order in which the command prints them."""
    found = {key: policy[key] for key in ORDER if key in policy}
    found.update({key: value for key, value in policy.items() if key not in found})
    if "network_policies" in found:
        found["network_policies"] = dict(sorted((found["network_policies"] or {}).items()))
    return found


def quoted(word):
    if word == "":
        return "''"
    if re.fullmatch(r"[A-Za-z0-9./_-]+", word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def command_line(command, environment, workdir):
    """The line that the shell inside gets."""
    words = [f"{key}={quoted(value)}" for key, value in sorted(environment.items())]
    words += [quoted(word) for word in command]
    line = " ".join(words)
    return f"cd {quoted(workdir)} && {line}" if workdir else line
