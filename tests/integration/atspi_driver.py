# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Drives a window through AT-SPI, as a program of the account whose window it is.

Reads one JSON object a line and answers with one: {"op": "click", "name": …, "role": …}. The
tests' own process is another account's and may not speak on that account's buses; and a call
that hangs can be ended with this program.
"""

import json
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402


def children(node):
    try:
        return [node.get_child_at_index(i) for i in range(min(node.get_child_count(), 2000))]
    except GLib.Error:
        return []


def walk(node, depth=0):
    """Every accessible below @node, parents first; what goes away meanwhile is passed over."""
    if node is None or depth > 60:
        return
    yield node, depth
    for child in children(node):
        yield from walk(child, depth + 1)


def applications(pid):
    desktop = Atspi.get_desktop(0)
    for app in children(desktop):
        try:
            if app is not None and app.get_process_id() == pid:
                yield app
        except GLib.Error:
            continue


def describe(node):
    try:
        return node.get_name() or "", node.get_role_name() or ""
    except GLib.Error:
        return "", ""


def is_showing(node):
    try:
        return node.get_state_set().contains(Atspi.StateType.SHOWING)
    except GLib.Error:
        return False


def states(node):
    try:
        return [state.value_nick for state in node.get_state_set().get_states()]
    except GLib.Error:
        return []


def text_of(node):
    """What the node says: its text where it has one, else its name."""
    try:
        if "Text" in node.get_interfaces():
            return Atspi.Text.get_text(node, 0, Atspi.Text.get_character_count(node))
    except GLib.Error:
        pass
    return describe(node)[0]


def matches(node, request):
    name, role = describe(node)
    if "role" in request and role != request["role"]:
        return False
    if "name" in request and name != request["name"]:
        return False
    if "contains" in request and request["contains"] not in name and (
            request["contains"] not in (text_of(node) or "")):
        return False
    if "state" in request and request["state"] not in states(node):
        return False
    # GTK 4.8 says of the toplevel only whether it is shown.
    return not request.get("showing", False) or is_showing(node)


def roots(request):
    """Where to look: the whole program, or below what has the name "within"."""
    for app in applications(request["pid"]):
        if "within" not in request:
            yield app
        else:
            yield from (node for node, _ in walk(app) if describe(node)[0] == request["within"])


def find_all(request):
    return [node for root in roots(request) for node, _ in walk(root) if matches(node, request)]


def wait(request):
    deadline = time.monotonic() + request.get("timeout", 10)
    while True:
        found = find_all(request)
        if len(found) > request.get("nth", 0):
            return found[request.get("nth", 0)]
        if time.monotonic() > deadline:
            return None
        time.sleep(request.get("poll", 0.05))


def op_wait(request):
    node = wait(request)
    if node is None:
        return {"error": "not found"}
    name, role = describe(node)
    return {"name": name, "role": role, "text": text_of(node),
            "states": states(node)}


def op_gone(request):
    deadline = time.monotonic() + request.get("timeout", 10)
    while find_all(request):
        if time.monotonic() > deadline:
            return {"error": "still there"}
        time.sleep(0.05)
    return {}


def op_click(request):
    node = wait(request)
    if node is None:
        return {"error": "not found"}
    action = Atspi.Accessible.get_action_iface(node)
    if action is None or action.get_n_actions() == 0:
        return {"error": "has no action"}
    return {"done": action.do_action(0)}


def op_type(request):
    node = wait(request)
    if node is None:
        return {"error": "not found"}
    editable = node.get_editable_text_iface()
    if editable is None:
        return {"error": "is no text to edit"}
    return {"done": editable.set_text_contents(request["text"])}


def op_extents(request):
    node = wait(request)
    if node is None:
        return {"error": "not found"}
    rect = node.get_component_iface().get_extents(Atspi.CoordType.WINDOW)
    return {"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height}


def op_latency(request):
    """The longest of some answers of the program, one asked after the other, in seconds."""
    node = wait(request)
    if node is None:
        return {"error": "not found"}
    longest = 0
    for _ in range(request["n"]):
        begun = time.monotonic()
        node.get_component_iface().get_extents(Atspi.CoordType.WINDOW)
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.01)
    return {"seconds": longest}


def op_all(request):
    return {"nodes": [{"name": describe(node)[0], "role": describe(node)[1],
                       "text": text_of(node)} for node in find_all(request)]}


def op_tree(request):
    lines = []
    for app in applications(request["pid"]):
        for node, depth in walk(app):
            name, role = describe(node)
            text = text_of(node)
            lines.append(f"{'  ' * depth}{role}: {name!r}" +
                         (f" {text[:200]!r}" if text != name else ""))
    return {"tree": "\n".join(lines)}


OPS = {"wait": op_wait, "gone": op_gone, "click": op_click, "type": op_type,
       "extents": op_extents, "latency": op_latency, "all": op_all, "tree": op_tree}


def main():
    Atspi.init()
    # A window that does not answer must not hold the test for ever.
    Atspi.set_timeout(2000, 5000)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = OPS[request["op"]](request)
        except GLib.Error as error:
            answer = {"error": error.message}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
