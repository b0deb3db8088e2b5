# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What a person does in the window, for the tests of it."""

import json
import time

from conftest import scaled, wait_until

SANDBOX = "In a sandbox (Built-in)"
DIRECT = "Directly on this machine, with the same access as your user account"
SANDBOXED = "Allow what stays in the sandbox, ask for the rest"
# A button of a card takes nothing before this, and a window that answers needs far less.
ARMED = 0.5


def start_session(window, folder, model, task="Do it.", provider=SANDBOX, name="demo", approve=None,
                  opened=False):
    """Through the dialog, as somebody with a keyboard would: a typed path, a model's address."""
    if not opened:
        window.click("New session")
    window.wait("Task", "text")
    window.type(task, "Task", "text")
    window.type(str(folder), "Folder path", "text")
    window.click("Add folder")
    if provider is not None:
        window.choose(provider)
    else:
        window.wait(DIRECT, "check box", state="checked")
    window.type(name, "Model name", "text")
    window.type(model.url, "Model address", "text")
    if approve is not None:
        window.choose(approve)
    window.click("Start session")
    window.gone("Task", "text")


def card(window, **more):
    """The approval card that asks: its buttons can be pressed from now on."""
    # Asked for as seldom as a person looks: GTK 4.8's own side of the accessibility bus has been
    # seen to crash where every widget is asked for its name while the list makes and drops them.
    window.wait("Deny", poll=0.4, **more)
    time.sleep(scaled(ARMED) + 0.3)


def say(window, text):
    window.type(text, "Message", "text")
    window.click("Send")


def wait_text(window, text, timeout=20):
    return window.wait(contains=text, timeout=timeout)


def level(window):
    """What the header says of the session's level, in words."""
    return next(node["name"] for node in window.ask("all", contains="Protection: ")["nodes"]
                if node["name"].startswith("Protection: "))


def sessions(account, openworker):
    done = account.run([openworker, "sessions", "list", "--json"])
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(account, openworker, session):
    done = account.run([openworker, "sessions", "show", session, "--json"])
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def only_session(account, openworker):
    def there():
        found = sessions(account, openworker)
        return found[0]["session"] if len(found) == 1 else None
    return wait_until(there, 20, "the session")


def wait_event(account, openworker, session, nth=0, **members):
    """The first event with these members, or a later one."""
    def there():
        found = [event for event in events(account, openworker, session)
                 if all(event.get(name) == value for name, value in members.items())]
        return found[nth] if len(found) > nth else None
    return wait_until(there, 20, f"an event with {members}")
