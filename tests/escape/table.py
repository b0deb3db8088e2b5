# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The table of the escape bench, on a screen and in the docs."""

import probes

START, END = "<!-- escape -->", "<!-- /escape -->"
ORDER = ["direct", "bubblewrap", "bubblewrap-root", "openshell", "openshell-real", "docker", "srt",
         "codex"]
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


HEADS = {"bubblewrap-root": "bubblewrap, by root", "openshell": "openshell (simulated)",
         "openshell-real": "openshell", "docker": "`docker run`", "srt": "`srt`", "codex": "`codex`"}


def _kept(body):
    """{wall: {what: cell}} of a table that was written before, and its lines below by wall."""
    lines = [line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("| ")]
    if not lines:
        return {}, {}
    walls = {head: wall for wall, head in HEADS.items()}
    whole = [line for line in lines[1:] if len(line) == len(lines[0])]
    cells = {walls.get(head, head): {line[0]: line[i] for line in whole}
             for i, head in enumerate(lines[0]) if i > 0}
    notes = {line.split("`")[1]: line for line in body.splitlines() if line.startswith("- `")}
    return cells, notes


def _cell(row, wall, came):
    verdict, words = came["rows"].get(row.name, ("-", ""))
    if verdict == "fact":
        return " ".join(words.split(";")[0].split()[:3])
    mark = "".join(f" [{number}]" for number, note in came["notes"].items()
                   if verdict == "OPEN" and row.name in note[0])
    return {"OPEN": "**open**", "n/a": "–"}.get(verdict, verdict) + mark


def _left_out(rows):
    """Why, and which."""
    reasons = {}
    for name, (verdict, words) in rows.items():
        if verdict == "n/a":
            reasons.setdefault(words, []).append(name)
    return "; ".join(f"{why} ({', '.join(names)})" for why, names in reasons.items())


def _note(wall, came, day):
    """The line below the table: when, which version, what its documentation says, what is missing."""
    parts = [f"- `{wall}`: {day}, {came['version']}."]
    parts += [f"[{number}] {text}." for number, (_, text) in came["notes"].items()]
    left_out = _left_out(came["rows"])
    return " ".join([*parts, *([f"Left out: {left_out}."] if left_out else [])])


def write(path, result, day):
    """Between the two marks of @path. Walls that did not run now keep what they had."""
    before, _, rest = path.read_text().partition(START)
    body, _, after = rest.partition(END)
    kept, notes = _kept(body)
    walls = [wall for wall in ORDER if wall in result or wall in kept]
    lines = ["| what is tried | " + " | ".join(HEADS.get(wall, wall) for wall in walls) + " |",
             "|" + "---|" * (len(walls) + 1)]
    for group, rows in probes.GROUPS.items():
        lines.append(f"| *{group}* " + "| " * len(walls) + "|")
        for row in rows:
            cells = [_cell(row, wall, result[wall]) if wall in result
                     else kept[wall].get(row.what, "–") for wall in walls]
            lines.append(f"| {row.what} | {' | '.join(cells)} |")
    lines.append("")
    lines += [_note(wall, result[wall], day) if wall in result else notes.get(wall, f"- `{wall}`")
              for wall in walls]
    path.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}")


def _short(cell):
    return "(fact)" if cell[0] == "fact" else cell[0]
