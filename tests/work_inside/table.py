# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The table of the work-inside suite, on a screen and in the docs."""

START, END = "<!-- table -->", "<!-- /table -->"
HEAD = ["project", "version", "kind", "its tests use", "outside", "bubblewrap", "bubblewrap, by root",
        "openshell (simulated)", "time", "hosts"]
PLACES = ["bubblewrap", "bubblewrap-root", "openshell"]


def _cell(results, place):
    if place not in results:
        return "-"
    outcome, verdict, _ = results[place]
    if outcome is None:
        return "skipped"
    if verdict == "failed":
        return f"**{outcome.counts}, exit status {outcome.status}**"
    return "the same" if verdict == "passed" else str(outcome.counts)


def _ratio(results):
    """How much longer the build and the test took behind bubblewrap; the network is left out."""
    def spent(place):
        outcome = results.get(place, (None,))[0]
        return sum(outcome.seconds.get(step, 0) for step in ("build", "test")) if outcome else 0

    return f"{spent('bubblewrap') / spent('outside'):.2f}" \
        if spent("outside") and spent("bubblewrap") else "-"


def rows_of(projects, rows):
    for name, results in rows.items():
        project = projects[name]
        reached = {host for outcome, *_ in results.values() if outcome for host in outcome.hosts}
        yield [name, project["version"], project["kind"], project["exercises"],
               _cell(results, "outside"), *(_cell(results, place) for place in PLACES),
               _ratio(results), str(len(reached))]


def text(projects, rows):
    lines = [HEAD, *rows_of(projects, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
                     for line in lines) + "\n"


def _kept(body, projects):
    """{project: its line} of a table that was written before."""
    lines = [line for line in body.splitlines() if line.startswith("| ")][1:]
    return {name: line for line in lines if (name := line.split("|")[1].strip()) in projects}


def write(path, projects, rows):
    """Between the two marks of @path, in the order of @projects, which are all that there are. The
    lines of those that did not run now stay."""
    before, _, rest = path.read_text().partition(START)
    body, _, after = rest.partition(END)
    lines = _kept(body, projects)
    lines |= {line[0]: f"| {' | '.join(line)} |" for line in rows_of(projects, rows)}
    table = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}",
             *(lines[name] for name in projects if name in lines)]
    path.write_text(f"{before}{START}\n" + "\n".join(table) + f"\n{END}{after}")
