# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""`openworker model`: models of the machine's settings, their keys in the keyring or not, and what is
said where neither can be had (REQ-S04)."""

import json
import signal
import subprocess
import termios
import time

import pytest
from conftest import scaled, wait_until
from engines import said
from keyring import STATES, Keyring
from model_server import ModelServer, status
from terminal import Terminal

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def keyring(ordinary_user):
    made = []

    def start(state):
        made.append(Keyring(ordinary_user, state))
        return made[-1]
    yield start
    for each in made:
        each.stop()


@pytest.fixture
def model(ordinary_user, openworker):
    def run(*argv, **options):
        return ordinary_user.run([openworker, "model", *argv], **options)
    return run


def add_words(server, name="mine"):
    return ["add", name, "--base-url", server.url, "--model", "m"]


def test_add_list_test_remove(keyring, model, ordinary_user, workspace, openworker):
    """REQ-S04: the key goes to the keyring, and from there to the one server it is for."""
    env = keyring("unlocked").env
    with ModelServer([{"text": "Here."}], key=KEY) as server:
        done = model(*add_words(server), "--key-stdin", env=env, stdin=KEY + "\n")
        assert done.returncode == 0 and "in the keyring" in done.stdout, done.stderr
        listed = model("list", env=env)
        assert f"m at {server.url}" in listed.stdout and "key in the keyring (default)" in listed.stdout
        entry = json.loads(model("list", "--json", env=env).stdout)
        assert (entry["name"], entry["key"], entry["default"]) == ("mine", "keyring", True)
        tested = model("test", "mine", env=env)
        assert tested.returncode == 0 and "Model mine answers: Here." in tested.stdout, tested.stderr
        done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                                  "Do it."], env=env)
        assert done.returncode == 0 and "● Here." in done.stdout, done.stderr
        done = model("remove", "mine", env=env)
        assert done.returncode == 0 and "its key from the keyring" in done.stdout
        assert "No models yet" in model("list", env=env).stdout
    settings = (workspace.config / "config.toml").read_text()
    assert KEY not in settings and "mine" not in settings


def test_key_that_two_models_share_stays_with_the_other(keyring, model):
    """A key is kept for an address, however that is written."""
    env = keyring("unlocked").env
    with ModelServer([{"text": "Here."}], key=KEY) as server:
        assert model(*add_words(server), "--key-stdin", env=env, stdin=KEY + "\n").returncode == 0
        done = model("add", "other", "--base-url", server.url + "/v1/", "--model", "m", env=env)
        assert done.returncode == 0, done.stderr
        assert model("remove", "mine", env=env).returncode == 0
        tested = model("test", "other", env=env)
        assert tested.returncode == 0 and "Here." in tested.stdout, tested.stderr


def test_settings_keep_every_other_byte(model, ordinary_user, workspace):
    before = '\ufeff# mine\r\nsandbox_provider = "direct" # why\r\n\r\n[theirs]\r\nx = [ 1 ]\r\n'
    path = ordinary_user.write(workspace.config / "config.toml", before)
    with ModelServer([{"text": "x"}]) as server:
        assert model(*add_words(server)).returncode == 0
        assert path.read_bytes().decode().startswith(before)
        assert model("remove", "mine").returncode == 0
    assert path.read_bytes().decode() == before


WORDS = {"locked": "locked", "absent": "no keyring", "silent": "does not answer"}


@pytest.mark.parametrize("state", [state for state in STATES if state != "unlocked"])
def test_keyring_that_cannot_be_used(keyring, model, state):
    """REQ-S04: the program stays usable and says so; nothing waits for a prompt."""
    env = keyring(state).env
    with ModelServer([{"text": "Here."}]) as server:
        begin = time.monotonic()
        line = said(model(*add_words(server), "--key-stdin", env=env, stdin=KEY), 69, "keyring")
        assert KEY not in line
        assert "No models yet" in model("list", env=env).stdout
        done = model(*add_words(server), env=env)
        assert done.returncode == 0 and "without a key" in done.stdout
        listed = model("list", env=env)
        assert listed.returncode == 0 and WORDS[state] in listed.stdout, listed.stdout
        # A server of one's own may need no key.
        assert model("test", "mine", env=env).returncode == 0
        assert time.monotonic() - begin < scaled(60)


NEAR, FAR = "http://127.0.0.1:9/v1", "https://models.example.org/v1"
STILL_THERE = " Its key, if one was stored, is still in the keyring."


@pytest.mark.parametrize("url,rest,state", [
    *[(url, rest, state) for url, rest in ((NEAR, ""), (FAR, STILL_THERE))
      for state in (None, *STATES) if state != "unlocked"],
    ("http://localhost:9", "", None), ("http://[::1]:9", "", None)])
def test_removed_where_no_keyring_can_be_used(keyring, model, url, rest, state):
    """A server of this machine needs no key, so nothing is said of one."""
    env = keyring(state).env if state is not None else {}
    assert model("add", "work", "--base-url", url, "--model", "m", env=env).returncode == 0
    done = model("remove", "work", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Model work is removed.{rest}\n", "")
    said(model("remove", "work", env=env), 2, "work")


def test_no_bus_at_all(model):
    with ModelServer([{"text": "Here."}]) as server:
        said(model(*add_words(server), "--key-stdin", stdin=KEY), 69, "keyring")
        assert model(*add_words(server)).returncode == 0
        assert "no keyring" in model("list").stdout


def test_key_of_the_environment(model):
    with ModelServer([{"text": "Here."}], key=KEY) as server:
        assert model(*add_words(server)).returncode == 0
        assert model("test", "mine", env={"OPENWORKER_API_KEY": KEY}).returncode == 0
        assert "OPENWORKER_API_KEY" in model("list", env={"OPENWORKER_API_KEY": KEY}).stdout
        said(model("test", "mine", env={"OPENWORKER_API_KEY": "wrong"}), 69, "key")
        said(model("test", "mine"), 69, "key")


BAD_KEYS = {"empty": "", "only a line end": "\n", "two lines": f"{KEY}\n{KEY}\n", "space": "a b", "tab": "a\tb",
            "control": "a\x01b", "umlaut": "schlüssel", "long": "k" * 9000, "endless": "k" * 5_000_000,
            "carriage return": "a\rb"}


@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_no_key(keyring, model, key):
    """What ends a header must not get into one; and what is wrong is said without the key."""
    env = keyring("unlocked").env
    with ModelServer([{"text": "x"}]) as server:
        line = said(model(*add_words(server), "--key-stdin", env=env, stdin=key), 2, "no key")
    assert not key.strip() or key.strip() not in line
    assert "No models yet" in model("list", env=env).stdout


def test_key_is_asked_for_without_showing_it(keyring, ordinary_user, openworker):
    env = keyring("unlocked").env
    with ModelServer([{"text": "Here."}], key=KEY) as server:
        with Terminal(ordinary_user, [openworker, "model", *add_words(server)], env=env) as terminal:
            terminal.wait_for("not shown")
            assert not terminal.shows_typing()
            terminal.type(KEY)
            assert terminal.end() == 0
            assert terminal.shows_typing()
            assert KEY not in terminal.text and "in the keyring" in terminal.text
        assert ordinary_user.run([openworker, "model", "test", "mine"], env=env).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT,
                                    signal.SIGSEGV, signal.SIGALRM, signal.SIGUSR1])
def test_terminal_shows_typing_again_whatever_ends_it(ordinary_user, openworker, number):
    with ModelServer([{"text": "x"}]) as server, Terminal(
            ordinary_user, [openworker, "model", *add_words(server)]) as terminal:
        before = termios.tcgetattr(terminal.fd)
        terminal.wait_for("not shown")
        assert not terminal.shows_typing()
        terminal.process.send_signal(number)
        assert terminal.end() != 0
        assert termios.tcgetattr(terminal.fd) == before


@pytest.mark.parametrize("keys,code", [(b"\x03", 130), (b"\x04", 130), (b"\x1c", -signal.SIGQUIT)],
                         ids=["ctrl-c", "ctrl-d", "ctrl-backslash"])
def test_keys_that_end_the_asking(ordinary_user, openworker, workspace, keys, code):
    with ModelServer([{"text": "x"}]) as server, Terminal(
            ordinary_user, [openworker, "model", *add_words(server)]) as terminal:
        terminal.wait_for("not shown")
        terminal.press(keys)
        assert terminal.end() == code, terminal.text
        assert terminal.shows_typing()
    assert not (workspace.config / "config.toml").exists()


def test_asking_is_not_put_to_sleep(ordinary_user, openworker):
    """A shell would get a terminal that shows nothing."""
    with ModelServer([{"text": "x"}]) as server, Terminal(
            ordinary_user, [openworker, "model", *add_words(server)]) as terminal:
        terminal.wait_for("not shown")
        terminal.press(b"\x1a")
        time.sleep(0.3)
        with open(f"/proc/{terminal.process.pid}/stat", encoding="ascii") as stat:
            assert stat.read().rsplit(")", 1)[1].split()[0] in "RS"
        terminal.press(b"\x03")
        assert terminal.end() == 130


@pytest.mark.parametrize("words,said_words", [
    (["add", "Mine", "--base-url", "http://127.0.0.1:1", "--model", "m"], ["name"]),
    (["add", "a b", "--base-url", "http://127.0.0.1:1", "--model", "m"], ["name"]),
    (["add", "x\ny", "--base-url", "http://127.0.0.1:1", "--model", "m"], ["name"]),
    (["add", "mine", "--base-url", "ftp://127.0.0.1", "--model", "m"], ["address"]),
    (["add", "mine", "--base-url", "http://u:p@127.0.0.1", "--model", "m"], ["address"]),
    (["test", "nosuch"], ["nosuch", "model list"]), (["remove", "nosuch"], ["nosuch"]),
])
def test_wrong_words(model, words, said_words):
    said(model(*words), 2, *said_words)


def test_name_that_is_taken(model):
    with ModelServer([{"text": "x"}]) as server:
        assert model(*add_words(server)).returncode == 0
        said(model(*add_words(server)), 2, "mine")
        assert model("list").stdout.count("mine") == 1


@pytest.mark.parametrize("content", ["models = 3\n", "[[models]]\nname = 1\n", "sandbox_provider = \n", b"\xff"])
def test_broken_settings_are_not_edited(model, ordinary_user, workspace, content):
    path = ordinary_user.write(workspace.config / "config.toml", content)
    before = path.read_bytes()
    with ModelServer([{"text": "x"}]) as server:
        for words in (add_words(server), ["list"], ["remove", "mine"]):
            said(model(*words), 69, "config.toml")
    assert path.read_bytes() == before


@pytest.mark.parametrize("answer,word,code", [(status(401), "key", 69), (status(500), "500", 1),
                                              ({"misbehave": "hang-up"}, "127.0.0.1", 1),
                                              ({"text": "Half", "finish": None, "done": False}, "not whole", 1)])
def test_model_that_does_not_answer(model, answer, word, code):
    with ModelServer([answer]) as server:
        assert model(*add_words(server)).returncode == 0
        said(model("test", "mine", timeout=120), code, word)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_U09_stopped_while_the_keyring_is_silent(keyring, ordinary_user, workspace, openworker,
                                                 number):
    """A stop does not wait for who does not answer, and leaves no session behind."""
    env = keyring("silent").env
    with ModelServer([{"text": "Here."}]) as server:
        run = ordinary_user.popen(
            [openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
             "--model", "openai:m", "--base-url", server.url, "Do it."], env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until((workspace.runtime / "coworker/engine.lock").exists, 10, "the engine")
        time.sleep(1)
        assert run.poll() is None
        run.send_signal(number)
        out, words = run.communicate(timeout=2.5)
        assert run.returncode == 130 and out == "", words
        assert words == "openworker: The session was stopped before it began.\n"
        assert server.requests == []
    listed = ordinary_user.run([openworker, "sessions", "list"], env=env)
    assert "No sessions yet" in listed.stdout


@pytest.fixture
def tls(ordinary_user, workspace):
    """(certificate, key) files of a server that no authority vouches for."""
    certificate, key = workspace.path / "cert.pem", workspace.path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    ordinary_user.give(certificate)
    return certificate, key


def test_settings_hold_where_a_session_goes_on(model, ordinary_user, workspace, openworker, tls):
    """Whom to believe, and the way there, are the model's and not the run's."""
    with ModelServer([{"text": "Here."}, {"text": "Again."}], tls=tls) as server:
        add = [*add_words(server, "own"), "--ca-file", tls[0], "--proxy", "http://127.0.0.1:9"]
        assert model(*add).returncode == 0
        done = ordinary_user.run([openworker, "run", "--provider", "bubblewrap", "--folder", workspace.folder,
                                  "--json", "Do it."])
        assert done.returncode == 0, done.stderr
        session = json.loads(done.stdout.splitlines()[0])["session"]
        done = ordinary_user.run([openworker, "attach", session, "--say", "Go on."])
        assert done.returncode == 0 and "● Again." in done.stdout, done.stderr
        assert len(server.requests) == 2


def test_certificates_that_are_believed(model, workspace, tls):
    """--ca-file: these authorities only, and only where they are meant."""
    with ModelServer([{"text": "Here."}], tls=tls) as server:
        assert model(*add_words(server, "trusted"), "--ca-file", "cert.pem", cwd=workspace.path).returncode == 0
        assert model(*add_words(server, "untrusted")).returncode == 0
        done = model("test", "trusted", cwd=workspace.folder)
        assert done.returncode == 0, done.stderr
        said(model("test", "untrusted"), 1, "certificate")
        assert len(server.requests) == 1
