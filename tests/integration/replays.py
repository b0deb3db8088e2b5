# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Writes recordings for the tests: a model whose turns are given."""

import json


def replay(account, workspace, *turns, last="Done.", name="replay.jsonl"):
    """A recording of @turns, each a list of (tool, arguments, pattern) or one such tuple."""
    lines, number = [], 0
    for turn in turns:
        calls, ended = [], []
        for tool, arguments, pattern in [turn] if isinstance(turn, tuple) else turn:
            number += 1
            call = f"c{number}"
            calls.append({"id": call, "name": tool, "arguments": arguments})
            ended.append({"type": "tool-ended", "model_call": call, "result_pattern": pattern})
        lines += [{"type": "model-message", "text": "Next.", "tool_calls": calls}, *ended]
    if last is not None:
        lines.append({"type": "model-message", "text": last})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return account.write(workspace.path / name, text)


def shell(command, pattern=r"\[exit 0"):
    return ("shell", {"command": command}, pattern)
