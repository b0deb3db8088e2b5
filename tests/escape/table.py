# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The table of the escape bench, on a screen and in the docs."""

import probes

START, END = "<!-- escape -->", "<!-- /escape -->"
BAD = ("OPEN", "no control", "broken")


def faults(result):
    """[(wall, probe, verdict, words)] of the walls that must hold, and of probes that say nothing."""
    return [(wall, name, verdict, words) for wall, came in result.items()
            for name, (verdict, words) in came["rows"].items()
            if verdict in BAD[1:] or (verdict == "OPEN" and wall.startswith(("bubblewrap", "openshell")))]


def text(result):
    """Probe by wall, and below it the words of what is not simply held."""
    walls = list(result)
    names = [name for name in probes.ROWS if any(name in result[wall]["rows"] for wall in walls)]
    lines = [["probe", *walls]]
    for name in names:
        lines.append([name, *(_short(result[wall]["rows"].get(name, ("-", ""))) for wall in walls)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = ["  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines]
    out.append("")
    for wall in walls:
        for name in names:
            verdict, words = result[wall]["rows"].get(name, ("held", ""))
            if verdict != "held":
                out.append(f"{wall}: {name}: {verdict}: {words}")
    return "\n".join(out)


def _short(cell):
    return "(fact)" if cell[0] == "fact" else cell[0]
