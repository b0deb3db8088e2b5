# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a test of meson's that failed said last.

Meson itself shows of a program with test lines only what it wrote to stderr, and that in the
midst of the other tests, far above the counts.
"""

import re

STDOUT_LINES = 20
STDERR_LINES = 40
LINE_CHARS = 300
# GLib talks of each connection that it makes.
ODD = re.compile(r"[^\x20-\x7e]")
CHATTER = re.compile(r"^# \S+-DEBUG: |^ok |^# (Start|End) of ")


def _bound(text, most):
    """At most @most lines, in ASCII: hostile bytes are what tests are about. A sanitizer's report
    says most where it begins, and how a program ended stands at the end: the middle goes."""
    lines = [ODD.sub(lambda found: ascii(found[0])[1:-1], line[:LINE_CHARS])
             for line in text.split("\n") if line.strip()]
    if len(lines) <= most:
        return lines
    end = most // 4
    return [*lines[:most - end - 1], f"({len(lines) - most + 1} lines are left out)",
            *lines[-end:]]


def of(test):
    """The lines for one entry of testlog.json."""
    # As above, but of the test lines only the last ones tell.
    stdout = [line for line in (test.get("stdout") or "").splitlines()
              if not CHATTER.match(line)][-STDOUT_LINES:]
    return [f"{test['name']}: {test['result']}, exit status {test.get('returncode')} "
            f"after {test.get('duration', 0):.1f} s",
            *(f"  {line}" for line in _bound("\n".join(stdout), STDOUT_LINES)),
            *(f"  {line}" for line in _bound(test.get("stderr") or "", STDERR_LINES))]
