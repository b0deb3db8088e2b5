# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A Secret Service that has its name on the bus and never answers (U09): the window comes up and
answers, what needs the key says so in time, what needs none goes on."""

import subprocess
import time

import pytest
from conftest import scaled
from desktop import SYSTEM_PYTHON
from model_server import ModelServer
from windows import SANDBOX, start_session, wait_text

# Takes the name and reads nothing of what is asked.
SILENT = """
import dbus, time
bus = dbus.SessionBus()
bus.request_name("org.freedesktop.secrets")
print("there", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def silent(ordinary_user, desktop):
    process = ordinary_user.popen([SYSTEM_PYTHON, "-c", SILENT], env=desktop.env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "there\n"
    yield process
    assert process.poll() is None, "the keyring that does not answer has ended"
    process.kill()
    process.wait()


def add_model(account, workspace, name, url):
    path = workspace.config / "config.toml"
    old = path.read_text() if path.exists() else ""
    account.write(path, f'{old}\n[[models]]\nname = "{name}"\nprovider = "openai"\nmodel = "any"\n'
                        f'base_url = "{url}"\n')


def start_with_model(window, workspace, model=None):
    window.click("New session")
    window.wait("Task", "text")
    window.type("Do it.", "Task", "text")
    window.type(str(workspace.folder), "Folder path", "text")
    window.click("Add folder")
    window.choose(SANDBOX)
    window.click("Start session")


def test_U09_window_comes_up_and_says_so(ordinary_user, workspace, desktop, silent,
                                         openworker_desktop):
    add_model(ordinary_user, workspace, "far", "https://models.invalid/v1")
    begun = time.monotonic()
    window = desktop.start(openworker_desktop)
    assert time.monotonic() - begun < scaled(10)
    # While the keyring is waited for, the window answers.
    assert window.latency() < scaled(1)
    window.key("F10")
    window.wait("Keyboard shortcuts", "menu item")
    window.key("Escape")
    wait_text(window, "The key of the model “far” cannot be read: the keyring does not answer.")
    # Whoever has done something about it need not start the window again.
    window.click("Try again")
    assert window.latency() < scaled(1)
    window.stop()
    assert window.process.returncode == 0


def test_U09_nothing_is_said_of_a_key_that_nobody_needs(ordinary_user, workspace, desktop, silent,
                                                        openworker_desktop):
    """A model on this machine needs none; the second one shows that the keys were looked at."""
    add_model(ordinary_user, workspace, "near", "http://127.0.0.1:9/v1")
    add_model(ordinary_user, workspace, "far", "https://models.invalid/v1")
    window = desktop.start(openworker_desktop)
    wait_text(window, "The key of the model “far” cannot be read")
    assert not window.has(contains="“near”", role="label")
    window.stop()


def test_U09_session_that_needs_the_key_is_refused(ordinary_user, workspace, desktop, silent,
                                                   openworker_desktop):
    add_model(ordinary_user, workspace, "far", "https://models.invalid/v1")
    window = desktop.start(openworker_desktop)
    begun = time.monotonic()
    start_with_model(window, workspace)
    window.wait(contains="keyring", role="label", timeout=30)
    assert time.monotonic() - begun < scaled(30)
    assert window.latency() < scaled(1)
    window.key("Escape")
    window.stop()


def test_U09_session_on_this_machine_needs_none(ordinary_user, workspace, desktop, silent,
                                                openworker_desktop):
    with ModelServer([{"text": "Said without a key."}]) as server:
        window = desktop.start(openworker_desktop)
        start_session(window, workspace.folder, server, opened=False)
        wait_text(window, "Said without a key.", timeout=30)
    window.stop()
