# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Builds and tests real projects outside and behind the walls, and compares.

    ./dev work-inside [--place PLACE]… [--docs] [NAME…]

A project is a fault where it does something else inside than outside: another exit status, or
other numbers of passed, failed and skipped tests. One that differs is run a second time, for tests
that go by the clock; what the wall does, it does both times. One that does not pass outside is
skipped, since nothing can be compared with it, and is no pass.
"""

import argparse
import os
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import table  # noqa: E402
from clients import Settings  # noqa: E402
from common.tree import ROOT  # noqa: E402
from places import People, Place, copy_programs  # noqa: E402
from sources import CACHE, Unavailable, fetch  # noqa: E402

INSIDE = ["bubblewrap", "bubblewrap-root", "openshell"]


def load(path):
    """{name: project}"""
    with open(path, "rb") as file:
        projects = tomllib.load(file)
    for name, project in projects.items():
        project.setdefault("name", name)
    return projects


def places_for(project, wanted):
    """Where @project runs inside: the simulation only where it is said so, for it takes long."""
    places = [place for place in wanted if place != "bubblewrap-root" or os.geteuid() == 0]
    return [place for place in places if place != "openshell" or project.get("openshell")]


def same(outside, inside):
    """None, or in what the inside differs."""
    if inside.status != outside.status:
        return f"exit status {inside.status}, outside {outside.status}"
    if inside.counts != outside.counts:
        return f"passed / failed / skipped {inside.counts}, outside {outside.counts}"
    return None


def keep_log(name, place, outcome):
    logs = CACHE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / f"{name}-{place}.log"
    path.write_text(outcome.log)
    return path


def run_place(name, place, project, archive, surroundings, reached):
    print(f"{name}: {place} …", flush=True)
    with Place(place, *surroundings, reached) as where:
        outcome = where.run(project, archive)
    path = keep_log(name, place, outcome)
    times = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in outcome.seconds.items())
    print(f"{name}: {place}: status {outcome.status}, passed / failed / skipped "
          f"{outcome.counts}; {times} ({path})", flush=True)
    return outcome


def run_project(name, project, wanted, surroundings):
    """{place: (outcome or None, "passed" | "failed" | "skipped", why)}; @surroundings: what each
    Place needs."""
    places, results = places_for(project, wanted), {}
    try:
        archive = fetch(project["kind"], project["name"], project["version"])
    except Unavailable as error:
        return {place: (None, "skipped", f"its source cannot be had: {error}") for place in places}

    def run(place):
        reached = {host for outcome, *_ in results.values() if outcome for host in outcome.hosts}
        return run_place(name, place, project, archive, surroundings, sorted(reached))

    outside = run("outside")
    if not outside.good:
        outside = run("outside")
    results["outside"] = (outside, None, None)
    if not outside.good:
        why = f"it does not pass outside: status {outside.status}, {outside.counts}"
        return {**results, **{place: (None, "skipped", why) for place in places}}
    for place in places:
        inside = run(place)
        if same(outside, inside):
            inside = run(place)
        why = same(outside, inside)
        results[place] = (inside, "failed" if why else "passed", why)
    return results


def parse():
    parser = argparse.ArgumentParser(prog="./dev work-inside", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these projects")
    parser.add_argument("--place", action="append", choices=INSIDE, help="only there; repeatable")
    parser.add_argument("--projects", type=Path, default=HERE / "projects.toml",
                        help="other projects than the suite's")
    parser.add_argument("--docs", action="store_true", help="write the table into the docs")
    args = parser.parse_args()
    args.place = [place for place in INSIDE if not args.place or place in args.place]
    if args.place == ["openshell"]:
        parser.error("openshell needs bubblewrap beside it, which finds out what hosts there are")
    projects = load(args.projects)
    unknown = [name for name in args.names if name not in projects]
    if unknown:
        parser.error(f"there is no project {', '.join(unknown)}; known: {', '.join(projects)}")
    return args, projects


def main():
    args, known = parse()
    projects = {name: known[name] for name in args.names or known}
    build = Path(os.environ.get("OPENWORKER_BUILD", ROOT / "build"))
    verdicts, rows = [], {}
    with People() as people, tempfile.TemporaryDirectory(prefix="ow-programs-",
                                                         dir="/var/tmp") as programs:
        Path(programs).chmod(0o755)
        copy_programs(build, Path(programs))
        settings = Settings.read()
        for name, project in projects.items():
            rows[name] = run_project(name, project, args.place, (people, Path(programs), settings))
            for place, (_, verdict, why) in rows[name].items():
                if why:
                    print(f"{name}: {place}: {verdict}: {why}", flush=True)
                verdicts += [verdict] if verdict else []
    print("\n" + table.text(projects, rows))
    if args.docs:
        table.write(ROOT / "docs/work-inside.md", known, rows)
    print(", ".join(f"{verdicts.count(word)} {word}" for word in ("passed", "failed", "skipped")))
    return 1 if "failed" in verdicts or "passed" not in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
