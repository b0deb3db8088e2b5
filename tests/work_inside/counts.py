# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""How many tests passed, failed and were skipped, as a project's own runner printed it."""

import re
from dataclasses import dataclass

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Counts:
    passed: int
    failed: int
    skipped: int

    def __str__(self):
        return f"{self.passed} / {self.failed} / {self.skipped}"


def _number(text, *words):
    """The sum of the numbers that stand before one of @words."""
    return sum(int(n) for word in words for n in re.findall(rf"(\d+) {word}\b", text))


def read_pytest(text):
    lines = [line for line in text.splitlines()
             if re.search(r"\d+ (passed|failed|skipped|errors?)\b.* in [\d.]+s", line)]
    # What is expected to fail and what passes against that are one: which it is goes by the clock.
    return Counts(sum(_number(line, "passed") for line in lines),
                  sum(_number(line, "failed", "error", "errors") for line in lines),
                  sum(_number(line, "skipped", "xfailed", "xpassed") for line in lines)) if lines else None


def read_cargo(text):
    found = re.findall(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", text, re.M)
    return Counts(*(sum(int(row[i]) for row in found) for i in range(3))) if found else None


def read_go(text):
    """Of `go test -v`: each test and each subtest by its own line."""
    words = re.findall(r"^\s*--- (PASS|FAIL|SKIP): ", text, re.M)
    return Counts(words.count("PASS"), words.count("FAIL"), words.count("SKIP")) if words else None


def read_tap(text):
    """Of TAP in which each point is one line, at the left."""
    points = re.findall(r"^(not )?ok \d+(.*)$", text, re.M)
    skipped = sum(bool(re.search(r"# (skip|todo)", rest, re.I)) for _, rest in points)
    failed = sum(bool(no) and not re.search(r"# (skip|todo)", rest, re.I) for no, rest in points)
    return Counts(len(points) - failed - skipped, failed, skipped) if points else None


def read_node(text):
    """Of `node --test` and of tape's and tap's own sums."""
    sums = {word: re.findall(rf"^(?:#|ℹ) {word}\s+(\d+)$", text, re.M)
            for word in ("pass", "fail", "skipped")}
    if not sums["pass"]:
        return None
    return Counts(*(sum(map(int, sums[word])) for word in ("pass", "fail", "skipped")))


def read_ctest(text):
    found = re.findall(r"tests passed, (\d+) tests? failed out of (\d+)", text)
    return Counts(sum(int(n) - int(bad) for bad, n in found), sum(int(bad) for bad, _ in found),
                  0) if found else None


def read_automake(text):
    sums = {word: sum(map(int, re.findall(rf"^# {word}:\s+(\d+)", text, re.M)))
            for word in ("PASS", "FAIL", "ERROR", "SKIP", "XFAIL")}
    return Counts(sums["PASS"], sums["FAIL"] + sums["ERROR"],
                  sums["SKIP"] + sums["XFAIL"]) if any(sums.values()) else None


READERS = {name.removeprefix("read_"): reader for name, reader in list(globals().items())
           if name.startswith("read_")}


def read(kind, text):
    """The numbers in @text, None where there are none: then nothing was tested."""
    return READERS[kind](COLOUR.sub("", text))
