# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Runs one bench and compares its figures with tests/bench/goals.toml.

A bench is a module bench_NAME.py with a function measure(build) that gives {figure: value}; None
is a figure that cannot be had here.
Exit status 1 when a goal is missed or a figure is missing.
"""

import importlib
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from common.tree import ROOT    # noqa: E402


def judge(spec, value, peer_value):
    """(ratio or None, the goal as text, "met" | "missed" | "peer")"""
    ratio = value / peer_value if peer_value else None
    verdict, goal = "peer", "none"
    if "goal" in spec:
        goal = f"{spec['goal']:g}"
        verdict = "met" if value <= spec["goal"] else "missed"
    if "ratio_goal" in spec:
        goal = f"{spec['ratio_goal']:g}x" if goal == "none" else f"{goal},{spec['ratio_goal']:g}x"
        if ratio is None or ratio > spec["ratio_goal"]:
            verdict = "missed"
        elif verdict == "peer":
            verdict = "met"
    return ratio, goal, verdict


def main():
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        print(f"There is no bench of that name. Known: {', '.join(names)}", file=sys.stderr)
        return 2
    name = sys.argv[1]
    with open(HERE / "goals.toml", "rb") as file:
        goals = tomllib.load(file)[name]
    values = importlib.import_module(f"bench_{name}").measure(ROOT / "build-bench")

    status, lines = 0, []
    print(f"{name}: {goals['about']}\n")
    print(f"{'figure':<18} {'value':>10} {'unit':<5} {'peer':<12} {'ratio':>8} {'goal':>8} verdict")
    for figure, spec in goals["figures"].items():
        if figure not in values:
            print(f"{figure:<18} was not measured")
            status = 1
            continue
        value = values[figure]
        if value is None:
            print(f"{figure:<18} cannot be measured by this account or on this machine")
            continue
        ratio, goal, verdict = judge(spec, value, values.get(spec.get("peer", "")))
        shown = f"{ratio:.2f}" if ratio is not None else "-"
        print(f"{figure:<18} {value:>10.3f} {spec['unit']:<5} {spec.get('peer', '-'):<12} "
              f"{shown:>8} {goal:>8} {verdict:<7} {spec['about']}")
        # What has no goal has no verdict: it cannot miss, so it must not be called met.
        if verdict == "peer":
            lines.append(f"PEER name={name}.{figure} value={value:.3f} unit={spec['unit']} "
                         f"ratio={shown}")
        else:
            lines.append(f"BENCH name={name}.{figure} value={value:.3f} unit={spec['unit']} "
                         f"ratio={shown} goal={goal} verdict={verdict}")
        status |= verdict == "missed"
    print("\n" + "\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
