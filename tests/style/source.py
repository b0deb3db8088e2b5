# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Reading C text as far as the rules need it: comments and literals out, functions found."""

import re
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


@lru_cache(maxsize=None)
def without_comments(text):
    """@text with comments blanked, lines kept."""
    return _TOKEN.sub(lambda found: _blank(found.group())
                      if found.group().startswith("/") else found.group(), text)


@lru_cache(maxsize=None)
def code_only(text):
    """@text with comments and the insides of literals blanked; #include lines stay whole."""
    lines = []
    for bare, commented in zip(
            _TOKEN.sub(lambda found: _blank(found.group()), text).split("\n"),
            without_comments(text).split("\n")):
        lines.append(commented if re.match(r"\s*#\s*include\b", commented) else bare)
    return "\n".join(lines)


def comments_of(text):
    """[(line number, comment)]"""
    return [(text.count("\n", 0, found.start()) + 1, found.group())
            for found in _TOKEN.finditer(text) if found.group().startswith("/")]


def includes_of(text):
    """[(line number, name as written with its quotes or angles)]"""
    return [(number, found.group(1))
            for number, line in enumerate(without_comments(text).split("\n"), 1)
            if (found := re.match(r'\s*#\s*include\s*(["<][^">]+[">])', line))]


@dataclass
class Function:
    name: str
    static: bool
    line: int
    lines: int
    nesting: int


_HEAD = re.compile(r"^([A-Za-z_]\w*) \(")


def functions_of(text):
    """Function definitions in our layout: name, brace and closing brace at line start."""
    lines = code_only(text).split("\n")
    found, number = [], 0
    while number < len(lines):
        head = _HEAD.match(lines[number])
        opening = _opening(lines, number) if head else None
        if opening is None:
            number += 1
            continue
        end = opening
        while end < len(lines) and not lines[end].startswith("}"):
            end += 1
        result = _result_type(lines, number)
        found.append(Function(head.group(1), bool(re.search(r"\bstatic\b", result)),
                              number + 1, end - number + 1, _nesting(lines[opening + 1:end])))
        number = end + 1
    return found


def _result_type(lines, number):
    """The line or lines before the name, back to an end of something."""
    words = []
    for line in reversed(lines[max(0, number - 3):number]):
        # A line that ends with a parenthesis may be an attribute of the type's own line.
        ends = (";", "}") if not words else (";", "}", ")")
        if not line.strip() or line.rstrip().endswith(ends) or line.startswith("#"):
            break
        words.append(line)
    return " ".join(words)


def _opening(lines, number):
    """The line of the brace that opens the body, when the head is one of a definition."""
    for position in range(number, min(number + 25, len(lines))):
        if position > number and lines[position].startswith("{"):
            return position
        if ";" in lines[position] or (position > number and not lines[position].strip()):
            return None
    return None


def _nesting(body):
    """Deepest block in a body: braces that stand alone open one."""
    depth = deepest = 0
    for line in body:
        if re.match(r"^\s*\{\s*$", line):
            depth += 1
            deepest = max(deepest, depth)
        elif re.match(r"^\s*\}\s*$", line):
            depth = max(0, depth - 1)
    return deepest
