# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What ./dev test shows of a program that failed."""

from common import last_words

REPORT = "==1==ERROR: LeakSanitizer: detected memory leaks\n" + "    #0 frame\n" * 500 + \
    "SUMMARY: AddressSanitizer: 168 byte(s) leaked\n"


def test_says_why_and_not_much():
    lines = last_words.of({
        "name": "openworker:unit / base-x", "result": "ERROR", "returncode": 1, "duration": 2.04,
        "stdout": "ok 1 /a\n" * 500 + "# GLib-GIO-DEBUG: connected\n# said\nnot ok 2 /b\n"
                  "# GLib-DEBUG: more\n",
        "stderr": REPORT})
    assert lines[:3] == ["openworker:unit / base-x: ERROR, exit status 1 after 2.0 s",
                         "  # said", "  not ok 2 /b"]
    assert "detected memory leaks" in lines[3] and "SUMMARY" in lines[-1]
    assert "  (463 lines are left out)" in lines
    assert len(lines) <= 61


def test_hostile_bytes_are_shown_as_such():
    lines = last_words.of({"name": "x", "result": "FAIL",
                           "stdout": "# \x1b]52;c;x\x07 \u202e \udcff" + "y" * 10000})
    assert all(line.isascii() and line.isprintable() and len(line) < 3500 for line in lines)


def test_who_said_nothing():
    assert last_words.of({"name": "x", "result": "TIMEOUT", "stdout": None, "stderr": ""}) == \
        ["x: TIMEOUT, exit status None after 0.0 s"]
