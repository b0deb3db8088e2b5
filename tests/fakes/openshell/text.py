# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""How the command writes: colours (on a pipe too), errors in a box, tables."""

import re

WIDTH = 78
CODES = {
    "invalid": "Client specified an invalid argument",
    "missing": "Some requested entity was not found",
    "exists": "Some entity that we attempted to create already exists",
    "state": "The system is not in a state required for the operation's execution",
    "unavailable": "The service is currently unavailable",
    "unauthenticated": "The request does not have valid authentication credentials",
    "denied": "The caller does not have permission to execute the specified operation",
    "internal": "Internal error",
    "range": "Operation was attempted past the valid range",
    "unknown": "Unknown error",
    "exhausted": "Some resource has been exhausted",
}


def bold(text):
    return f"\x1b[1m{text}\x1b[0m"


def dim(text):
    return f"\x1b[2m{text}\x1b[0m"


def coloured(number, text):
    return f"\x1b[{number}m{text}\x1b[39m"


def green(text):
    return coloured(32, text)


def red(text):
    return coloured(31, text)


def yellow(text):
    return coloured(33, text)


def cyan(text):
    return coloured(36, text)


def title(text):
    return f"\x1b[1m\x1b[36m{text}\x1b[39m\x1b[0m"


TICK = "\x1b[1m\x1b[32m✓\x1b[39m\x1b[0m"


def status_text(code, message):
    """An error that the gateway gave, as the command tells it."""
    quoted = message.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'code: \'{CODES[code]}\', message: "{quoted}"'


def _pieces(line):
    """A line in pieces that may stand at a line's end: after spaces, slashes, hyphens."""
    found = [] if line.strip() else [""]
    for word in re.findall(r"^ *\S+ *|\S+ *", line):
        found += [part for part in re.findall(r".*?(?:/+(?=[^\s/\d\"'.,:;)])|-(?=[^\s\d-])|$)",
                                              word) if part]
    # Nothing breaks after what opens.
    for index in range(len(found) - 2, -1, -1):
        if found[index].rstrip()[-1:] in ("{", "(", "["):
            found[index:index + 2] = [found[index] + found[index + 1]]
    return found


def _wrap(text, first, rest):
    lines = []
    for line in text.split("\n"):
        indent = first if not lines else rest
        current = ""
        for piece in _pieces(line):
            room = WIDTH - len(indent)
            if current and len(current) + len(piece.rstrip()) > room:
                lines.append(indent + current.rstrip())
                indent, current = rest, ""
                room = WIDTH - len(indent)
            while len(piece.rstrip()) > room and not current:
                lines.append(indent + piece[:room])
                piece, indent = piece[room:], rest
            current += piece
        lines.append(indent + current.rstrip())
    return lines


def error(*causes):
    """The box on stderr: what happened, then what it came from."""
    lines = _wrap(causes[0], "  × ", "  │ ")
    for index, cause in enumerate(causes[1:], start=2):
        last = index == len(causes)
        lines += _wrap(cause, "  ╰─▶ " if last else "  ├─▶ ", "      " if last else "  │   ")
    return "Error: " + "\n".join(lines) + "\n\n"


def table(columns, rows, colour=None):
    """@columns: names; @rows: tuples of texts; the last column is not padded but in its head."""
    widths = [max([len(name), *[len(row[index]) for row in rows]])
              for index, name in enumerate(columns)]
    return widths


def yaml_scalar(value):
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        return "null"
    if not isinstance(value, str):
        return str(value)
    if value == "" or re.fullmatch(r"[-+]?[0-9][0-9_.eE+-]*|true|false|null|yes|no|~|on|off",
                                   value):
        return f"'{value}'"
    if value[0] in "*&!|>%@`'\"#{}[],?:-" or ": " in value or " #" in value or \
            value != value.strip():
        return "'" + value.replace("'", "''") + "'"
    return value


def yaml_lines(value, indent=0):
    """(indent, dash, key, text) of a policy in block style, as lines without colours."""
    lines = []
    pad = "  " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                lines.append(f"{pad}{key}:")
                lines += yaml_lines(item, indent + (1 if isinstance(item, dict) else 0))
            elif isinstance(item, (dict, list)):
                lines.append(f"{pad}{key}: {'{}' if isinstance(item, dict) else '[]'}")
            else:
                lines.append(f"{pad}{key}: {yaml_scalar(item)}")
    else:
        for item in value:
            if isinstance(item, dict):
                inner = yaml_lines(item, indent + 1)
                lines.append(f"{pad}- {inner[0].lstrip()}")
                lines += inner[1:]
            else:
                lines.append(f"{pad}- {yaml_scalar(item)}")
    return lines


def policy_block(policy):
    """The policy below "Policy:", with dim keys and dashes."""
    out = [title("Policy:"), ""]
    for line in yaml_lines(policy):
        space = line[:len(line) - len(line.lstrip())]
        body, dash = line.lstrip(), ""
        if body.startswith("- "):
            dash, body = dim("- "), body[2:]
            key = None if dash else None
        key, colon, value = body.partition(":")
        if dash and (not colon or not re.fullmatch(r"[a-z_0-9]+", key)):
            out.append(f"  {space}{dash}{body}")
        elif dash:
            out.append(f"  {space}{dash}{body}")
        else:
            out.append(f"  {space}{dim(key)}{dim(':')}{value}")
    return "\n".join(out) + "\n"
