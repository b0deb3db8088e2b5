# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Writing and reading of test lines (TAP), and the three counts."""

import re
import sys
from dataclasses import dataclass, field


@dataclass
class Counts:
    """What a suite came to. Names are unique within the suite."""

    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    last_words: list = field(default_factory=list)  # lines on those that failed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.last_words += other.last_words


class Writer:
    """Prints test lines and remembers whether one failed."""

    def __init__(self, out=sys.stdout):
        self._out = out
        self._number = 0
        self.failures = 0

    def result(self, passed, name, *details):
        self._number += 1
        word = "ok" if passed else "not ok"
        self.failures += 0 if passed else 1
        print(f"{word} {self._number} - {name}", file=self._out)
        # Details explain a failure; of what passed the name is enough.
        for detail in details if not passed else ():
            for line in str(detail).splitlines():
                print(f"#   {line}", file=self._out)
        self._out.flush()
        return passed

    def skip(self, name, reason):
        self._number += 1
        print(f"ok {self._number} - {name} # SKIP {reason}", file=self._out, flush=True)

    def note(self, text):
        print(f"# {text}", file=self._out, flush=True)

    def end(self):
        """Prints the plan; the exit status for the program."""
        print(f"1..{self._number}", file=self._out, flush=True)
        return 1 if self.failures or self._number == 0 else 0


LINE = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)\s*(?:#\s*(SKIP)\b.*)?$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)")


def read(lines, prefix):
    """Counts the test lines; a plan that is missing or not kept is a failure."""
    counts, plan, seen = Counts(), None, 0
    for line in lines:
        found = PLAN.match(line)
        if found:
            plan = int(found.group(1))
            continue
        found = LINE.match(line)
        if not found:
            continue
        seen += 1
        name = f"{prefix}:{found.group(2)}"
        if found.group(1):
            counts.failed.append(name)
        elif found.group(3):
            counts.skipped.append(name)
        else:
            counts.passed.append(name)
    if plan is None or plan != seen:
        counts.failed.append(f"{prefix}:plan ({plan} planned, {seen} seen)")
    return counts
