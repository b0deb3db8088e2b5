# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The style suite: each rule over the tree, and each rule's proof that it can fail."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from common.tap import Writer            # noqa: E402
from common.tree import ROOT, files      # noqa: E402
from rules import FILE_RULES, WARN, exported_names  # noqa: E402
from samples import FILE_SAMPLES, TREE_SAMPLES      # noqa: E402
from tree_rules import TREE_RULES        # noqa: E402


def read_tree():
    """{path: text} of the files that are text; a picture is there and says nothing."""
    texts = {}
    for path in files():
        if path.endswith(".png"):
            texts[path] = ""
            continue
        try:
            texts[path] = Path(ROOT, path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
    return texts


def headers_by_room(texts):
    """{room: {name without the ending: text}} of public and private headers"""
    rooms = {}
    for path, text in texts.items():
        parts = path.split("/")
        if parts[0] == "src" and path.endswith(".h"):
            name = parts[-1][:-2].removesuffix("-private")
            room = rooms.setdefault(parts[1], {})
            room[name] = room.get(name, "") + text
    return rooms


def apply(rule, path, text, rooms):
    if rule is exported_names:
        return rule(path, text, rooms.get(path.split("/")[1]) if "/" in path else None)
    return rule(path, text)


def check_samples(writer):
    """What each rule must let pass and must refuse."""
    for rule in FILE_RULES:
        good, bad = FILE_SAMPLES[rule.__name__]
        missed = [sample for sample in bad
                  if not [line for line in rule(*sample) if not line.startswith(WARN)]]
        wrong = [line for sample in good for line in rule(*sample) if not line.startswith(WARN)]
        writer.result(not missed and not wrong and bad, f"self-test/{rule.__name__}",
                      *[f"let pass: {sample}" for sample in missed],
                      *[f"refused: {line}" for line in wrong])
    for rule in TREE_RULES:
        good, bad = TREE_SAMPLES[rule.__name__]
        missed = [sample for sample in bad if not rule(sample)]
        wrong = [line for sample in good for line in rule(sample)]
        writer.result(not missed and not wrong and bad, f"self-test/{rule.__name__}",
                      *[f"let pass: {sample}" for sample in missed],
                      *[f"refused: {line}" for line in wrong])


def main():
    writer, texts = Writer(), read_tree()
    rooms = headers_by_room(texts)
    for rule in FILE_RULES:
        lines = [line for path, text in texts.items() for line in apply(rule, path, text, rooms)]
        for line in lines:
            if line.startswith(WARN):
                writer.note(line)
        problems = [line for line in lines if not line.startswith(WARN)]
        writer.result(not problems, rule.__name__, rule.__doc__ if problems else "", *problems)
    for rule in TREE_RULES:
        problems = rule(texts)
        writer.result(not problems, rule.__name__, rule.__doc__ if problems else "", *problems)
    check_samples(writer)
    return writer.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
