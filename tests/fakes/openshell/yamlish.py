# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The part of YAML 1.2 that policies use: block and flow maps and lists, plain and quoted text.

load(text) gives dict, list, str, int, float, bool and None; Syntax tells line and column."""

import json
import re


# Of YAML's escapes those that JSON does not have.
ESCAPE = r"\\(?:U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))"
OTHERS = {"_": "\u00a0", "N": "\u0085", "L": "\u2028", "P": "\u2029", "e": "\x1b", "a": "\a", "0": "\0"}


def _as_json(match):
    number = match[1] or match[2]
    if number is None and match[3] not in OTHERS:
        return match[0]
    return json.dumps(chr(int(number, 16)) if number else OTHERS[match[3]])[1:-1]


class Syntax(Exception):
    """The text is no YAML that we know."""

    def __init__(self, message, line, column):
        super().__init__(f"{message} at line {line} column {column}")
        self.line, self.column = line, column


class Map(dict):
    """A map that knows where it and the values of its keys begin."""
    mark = (1, 1)
    marks = {}


class List(list):
    mark = (1, 1)


def _plain(text):
    lowered = text.lower()
    if lowered in ("null", "~", ""):
        return None
    if lowered in ("true", "false"):
        return lowered == "true"
    if re.fullmatch(r"[-+]?(0|[1-9][0-9]*)", text):
        return int(text)
    if re.fullmatch(r"[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?", text):
        return float(text)
    return text


class _Parser:
    def __init__(self, text, expected):
        self.text, self.at, self.expected = text, 0, expected

    def mark(self, at=None):
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return line, at - (self.text.rfind("\n", 0, at) + 1) + 1

    def fail(self, message, at=None):
        raise Syntax(message, *self.mark(at))

    def peek(self):
        return self.text[self.at:self.at + 1]

    def blank(self):
        """Over spaces, comments and line ends."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\n"):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in " \t\r\n":
                self.at += 1
            elif self.text.startswith("---", self.at) and self.mark()[1] == 1:
                self.at += 3
            else:
                return

    def column(self):
        return self.mark()[1] - 1

    def rest_is_blank(self):
        end = self.text.find("\n", self.at)
        line = self.text[self.at:len(self.text) if end < 0 else end]
        return not line.strip() or line.lstrip().startswith("#")

    def block(self, indent):
        self.blank()
        if self.at >= len(self.text) or self.column() < indent:
            return None
        char = self.peek()
        if char in "{[":
            return self.flow()
        if re.match(r"-(\s|$)", self.text[self.at:self.at + 2]):
            return self.block_list(self.column())
        if self.key_here():
            return self.block_map(self.column())
        if char in "\"'":
            return self.quoted()
        return self.plain_line()

    def key_here(self):
        end = self.text.find("\n", self.at)
        line = self.text[self.at:len(self.text) if end < 0 else end]
        return re.match(r"(\"(\\.|[^\"\\])*\"|'[^']*'|[^\s#\[\]{},&*!|>'\"%@`][^#\n]*?)\s*:(\s|$)",
                        line)

    def block_list(self, column):
        found = List()
        found.mark = self.mark()
        while True:
            self.blank()
            if self.at >= len(self.text) or self.column() != column or \
                    not re.match(r"-(\s|$)", self.text[self.at:self.at + 2]):
                return found
            self.at += 1
            found.append(self.block(column + 1))

    def block_map(self, column):
        found = Map()
        found.mark, found.marks = self.mark(), {}
        while True:
            self.blank()
            if self.at >= len(self.text) or self.column() < column:
                return found
            if self.column() != column:
                self.fail("did not find expected key")
            match = self.key_here()
            if not match:
                if re.match(r"-(\s|$)", self.text[self.at:self.at + 2]):
                    return found
                self.fail("could not find expected ':'")
            key = match.group(1)
            key = self.unquote(key) if key[0] in "\"'" else _plain(key.strip())
            if key in found:
                self.fail(f'duplicate entry with key "{key}"')
            self.at += match.end() - len(match.group(3))
            while self.peek() in (" ", "\t"):
                self.at += 1
            where = self.mark()
            if column == 0 and self.peek() == "[" and key in self.expected:
                # A reader with types stops here, before it sees what else is wrong.
                raise Syntax(f"{key}: invalid type: sequence, expected {self.expected[key]}",
                             *where)
            if self.rest_is_blank():
                self.blank()
                where = self.mark()
                dash = re.match(r"-(\s|$)", self.text[self.at:self.at + 2])
                value = self.block(column if dash else column + 1)
            elif self.peek() in "{[":
                value = self.flow()
            elif self.peek() in "\"'":
                value = self.quoted()
            else:
                value = self.plain_line()
            found[key] = value
            found.marks[key] = where

    def plain_line(self):
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = re.split(r"\s#", self.text[self.at:end])[0].strip()
        if line[:1] in "&*!|>%@`":
            self.fail("found character that cannot start any token")
        self.at = end
        return _plain(line)

    def unquote(self, word):
        if word[0] == "'":
            return word[1:-1].replace("''", "'")
        try:
            return json.loads(re.sub(ESCAPE, _as_json, word), strict=False)
        except ValueError:
            self.fail("found unknown escape character")

    def quoted(self):
        match = re.compile(r"\"(\\.|[^\"\\])*\"|'([^']|'')*'", re.S).match(self.text, self.at)
        if not match:
            self.fail("found unexpected end of stream", len(self.text))
        self.at = match.end()
        return self.unquote(match.group(0))

    def flow(self):
        where, opened = self.mark(), self.peek()
        self.at += 1
        found = Map() if opened == "{" else List()
        found.mark = where
        if opened == "{":
            found.marks = {}
        while True:
            self.blank()
            char = self.peek()
            if not char:
                self.fail("did not find expected ',' or '" + ("}" if opened == "{" else "]") + "'")
            if char == ("}" if opened == "{" else "]"):
                self.at += 1
                return found
            if char == ",":
                self.at += 1
                continue
            item_at = self.mark()
            item = self.flow_item()
            self.blank()
            if opened == "{":
                if self.peek() != ":":
                    self.fail("did not find expected ':'")
                self.at += 1
                self.blank()
                found.marks[item] = self.mark()
                found[item] = self.flow_item()
            elif self.peek() == ":":
                self.at += 1
                self.blank()
                pair = Map({item: self.flow_item()})
                pair.mark, pair.marks = item_at, {item: item_at}
                found.append(pair)
            else:
                found.append(item)
            self.blank()
            if self.peek() not in (",", "}", "]"):
                self.fail("did not find expected ',' or '" + ("}" if opened == "{" else "]") + "'")

    def flow_item(self):
        char = self.peek()
        if char and char in "{[":
            return self.flow()
        if char and char in "\"'":
            return self.quoted()
        match = re.compile(r"[^,\[\]{}\n#:]*(:(?![\s,\[\]{}]|$)[^,\[\]{}\n#:]*)*").match(
            self.text, self.at)
        self.at = match.end()
        return _plain(match.group(0).strip())


def load(text, expected=()):
    """@expected: {key of the outermost map: what it must be}, for those that are maps."""
    parser = _Parser(text, expected)
    value = parser.block(0)
    parser.blank()
    if parser.at < len(parser.text):
        parser.fail("did not find expected <document start>")
    return value
