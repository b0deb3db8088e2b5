# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The table of the work-inside suite, on a screen and in the docs."""

START, END = "<!-- table -->", "<!-- /table -->"
HEAD = ["project", "version", "kind", "its tests use", "outside", "bubblewrap", "bubblewrap, by root",
        "openshell (simulated)", "time", "hosts reached"]
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


def write(path, projects, rows):
    """Between the two marks of @path."""
    table = [HEAD, ["---"] * len(HEAD), *rows_of(projects, rows)]
    body = "\n".join(f"| {' | '.join(line)} |" for line in table)
    before, _, rest = path.read_text().partition(START)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{START}\n{body}\n{END}{after}")
