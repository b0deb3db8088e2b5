# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The settings of the wall and the logins from the command line (REQ-U14, REQ-S01, REQ-U12): what is
written, what stays, what is refused, and what of it a session has. Holes R04, A31, A37, S07."""

import json
import os
import subprocess
import uuid

import pytest
from conftest import scaled, wait_until
from engines import Up, said, wait_begun
from model_server import ModelServer, calls
from terminal import Terminal

KEYS = ["sandbox_provider", "sandbox_network_profile", "sandbox_extra_hosts", "sandbox_openshell_any_version",
        "sandbox_limits.cpu", "sandbox_limits.memory", "sandbox_programs"]
OWN = ('\ufeff# mine\r\nsandbox_provider = "bubblewrap" # the wall\r\nother = { a = 1 }\r\n\r\n[theirs] # not ours\r\n'
       'x = [ # ]\r\n1,\r\n]\r\n')


class Person:
    """Somebody at the command line, and their settings."""

    def __init__(self, account, workspace, openworker):
        self.account, self.workspace, self.openworker = account, workspace, openworker
        self.path = workspace.config / "config.toml"
        self.backup = workspace.config / "config.toml.bak"
        account.mkdir(self.path.parent, 0o700)

    def run(self, *argv, **options):
        return self.account.run([self.openworker, *argv], **options)

    def set(self, *argv):
        return self.run("machine", "sandbox", "set", *argv)

    def settings(self):
        done = self.run("machine", "sandbox", "get", "--json")
        assert done.returncode == 0, done.stderr
        return {item["key"]: item["value"] for item in map(json.loads, done.stdout.splitlines())}

    def logins(self):
        done = self.run("credential", "list", "--json")
        assert done.returncode == 0, done.stderr
        return {item["name"]: item for item in map(json.loads, done.stdout.splitlines())}

    def write(self, content):
        data = content.encode() if isinstance(content, str) else content
        return self.account.write(self.path, data, 0o600)

    @property
    def bytes(self):
        return self.path.read_bytes()

    def exec(self, wall, *argv):
        return self.run("sandbox", "exec", *wall.argv, "--folder", self.workspace.folder, "--", *argv)


@pytest.fixture
def person(account, workspace, openworker):
    return Person(account, workspace, openworker)


# ---- settings

def test_settings_are_set_read_and_taken_out(person):
    assert person.settings() == dict.fromkeys(KEYS)
    for key, value in [("sandbox_provider", "bubblewrap"), ("sandbox_network_profile", "standard"),
                       ("sandbox_limits.cpu", "1.5"), ("sandbox_limits.memory", "2Gi"),
                       ("sandbox_openshell_any_version", "true")]:
        done = person.set(key, value)
        assert done.returncode == 0 and done.stdout.split() == [key, value], done.stderr
        assert person.settings()[key] == value
    done = person.set("sandbox_extra_hosts", "git.example:8443, *.b.example")
    assert person.settings()["sandbox_extra_hosts"] == '["git.example:8443", "*.b.example:443"]', done.stderr
    assert os.stat(person.path).st_mode & 0o777 == 0o600
    for key in KEYS:
        assert person.run("machine", "sandbox", "unset", key).returncode == 0
    assert person.settings() == dict.fromkeys(KEYS)


def test_every_other_byte_stays_R04_A31(person):
    """BOM, CRLF, comments, other programs' keys."""
    person.write(OWN)
    assert person.set("sandbox_network_profile", "standard").returncode == 0
    head, tail = OWN.split("\r\n\r\n", 1)
    wanted = f'{head}\r\nsandbox_network_profile = "standard"\r\n\r\n{tail}'
    assert person.bytes == wanted.encode()
    assert person.backup.read_bytes() == OWN.encode()
    assert person.set("sandbox_provider", "direct").returncode == 0
    assert person.bytes == wanted.replace('"bubblewrap"', '"direct"').encode()
    assert person.run("machine", "sandbox", "unset", "sandbox_network_profile").returncode == 0
    assert person.bytes == OWN.replace('"bubblewrap"', '"direct"').encode()


def test_link_mode_and_owner_stay_R04(person):
    real = person.account.write(person.workspace.path / "dotfiles" / "ow.toml", "# shared\n", 0o640)
    person.path.symlink_to(real)
    os.lchown(person.path, *person.account.owner(person.path.parent))
    before = os.stat(real)
    assert person.set("sandbox_limits.cpu", "2").returncode == 0
    assert person.path.is_symlink() and os.readlink(person.path) == str(real)
    assert real.read_text() == "# shared\n\n[sandbox_limits]\ncpu = 2\n"
    assert os.stat(real).st_mode == before.st_mode and os.stat(real).st_uid == before.st_uid


def test_link_to_itself_is_refused(person):
    person.path.symlink_to("config.toml")
    said(person.set("sandbox_limits.cpu", "2"), 69, str(person.path))
    assert os.readlink(person.path) == "config.toml"


def _as_directory(person):
    person.account.mkdir(person.path)


def _as_fifo(person):
    os.mkfifo(person.path)
    person.account.give(person.path)


BROKEN = {
    "no-toml": (lambda p: p.write("a = 1\nb = \n"), "line 2"),
    "wrong-type": (lambda p: p.write("\n[sandbox_limits]\ncpu = true\n"), "line 3"),
    "same-twice": (lambda p: p.write("a = 1\na = 2\n"), "line 2"),
    "login-twice": (lambda p: p.write("[[sandbox_credentials]]\nname='ssh'\n" * 2), "line 4"),
    "login-outside": (lambda p: p.write("[[sandbox_credentials]]\nname='a'\npath='/etc/passwd'\n"), "line 3"),
    "utf-16": (lambda p: p.write("a = 1\n".encode("utf-16")), "UTF-16"),
    "no-utf-8": (lambda p: p.write(b"a = '\xff'\n"), "line 1"),
    "nul": (lambda p: p.write(b"a = 1\n\0"), "NUL"),
    "two-mib": (lambda p: p.write("# x\n" * (512 * 1024)), "larger than"),
    "directory": (_as_directory, ""),
    "fifo": (_as_fifo, ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_file_is_not_edited_and_refuses_S07(person, wall, kind):
    make, words = BROKEN[kind]
    make(person)
    before = person.bytes if person.path.is_file() else None
    for argv in [("machine", "sandbox", "set", "sandbox_limits.cpu", "2"), ("machine", "sandbox", "get"),
                 ("credential", "list"), ("credential", "enable", "ssh", "--yes"), ("credential", "remove", "ssh"),
                 ("machine", "sandbox", "unset", "sandbox_provider")]:
        done = person.run(*argv)
        assert done.returncode == 69, (argv, done.stdout, done.stderr)
        assert str(person.path) in done.stderr and words in done.stderr, (argv, done.stderr)
    said(person.exec(wall, "true"), 69, str(person.path), words)
    assert before is None or person.bytes == before
    assert os.listdir(person.path.parent).count("config.toml.bak") == 0


def test_read_only_file_is_not_written_R04(person):
    """Also by root, who could: it was made read-only for a reason."""
    person.write(OWN)
    person.path.chmod(0o400)
    done = person.set("sandbox_limits.cpu", "2")
    said(done, 1, str(person.path))
    assert person.bytes == OWN.encode() and os.stat(person.path).st_mode & 0o777 == 0o400


def test_two_writers_lose_nothing_R04(person):
    """Commands at once, each another key: all of them hold."""
    person.write("# mine\n")
    words = [["set", "sandbox_limits.cpu", "2"], ["set", "sandbox_limits.memory", "1Gi"],
             ["set", "sandbox_extra_hosts", "a.example"], ["set", "sandbox_network_profile", "standard"],
             ["set", "sandbox_openshell_any_version", "true"]]
    started = [person.account.popen([person.openworker, "machine", "sandbox", *argv], stdout=subprocess.DEVNULL)
               for argv in words]
    started += [person.account.popen([person.openworker, "credential", "enable", name, "--yes"],
                                     stdout=subprocess.DEVNULL) for name in ("ssh", "gh", "aws")]
    for process in started:
        assert process.wait(timeout=scaled(60)) == 0
    found = person.settings()
    assert (found["sandbox_limits.cpu"], found["sandbox_limits.memory"]) == ("2", "1Gi")
    assert found["sandbox_network_profile"] == "standard" and found["sandbox_openshell_any_version"] == "true"
    assert "a.example" in found["sandbox_extra_hosts"]
    assert [name for name, item in person.logins().items() if item["enabled"]] == ["ssh", "gh", "aws"]
    assert person.bytes.startswith(b"# mine\n")


@pytest.mark.parametrize("argv,words", [
    (("sandbox_provider", "docker"), "bubblewrap"), (("nothing", "1"), "sandbox_extra_hosts"),
    (("sandbox_extra_hosts", "127.0.0.1"), "127.0.0.1"), (("sandbox_extra_hosts", "10.0.0.1:80"), "private"),
    (("sandbox_limits.memory", "much"), "whole number"), (("sandbox_programs", "bin"), "whole path"),
    (("sandbox_provider", 'direct"\nsandbox_programs = ["/'), "control"),
    (("sandbox_extra_hosts", "[] # \n"), "control"),
])
def test_value_that_cannot_be_is_refused(person, argv, words):
    person.write(OWN)
    said(person.set(*argv), 2, words)
    assert person.bytes == OWN.encode()


def test_new_session_has_what_is_set(person, wall):
    """The host that is refused before is in the list after."""
    done = person.set("sandbox_extra_hosts", "x.example:8443")
    assert done.returncode == 0, done.stderr
    person.exec(wall, "true")
    shown = [json.loads(line) for line in person.run("sessions", "list", "--json").stdout.splitlines()]
    events = person.run("sessions", "show", shown[0]["session"], "--json").stdout.splitlines()
    assert "x.example:8443" in json.loads(events[0])["hosts"]


# ---- logins

def test_no_login_is_shared_until_a_person_says_so_S01(person):
    logins = person.logins()
    assert list(logins) == ["ssh", "gh", "aws", "kube"]
    assert not any(item["enabled"] for item in logins.values())
    assert all(item["built_in"] and item["state"] == "missing" for item in logins.values())
    person.account.write(person.workspace.home / ".ssh" / "id_work", "key", 0o600)
    assert person.logins()["ssh"]["enabled"] is False


def test_login_is_turned_on_and_off_R04(person):
    person.write(OWN)
    done = person.run("credential", "enable", "ssh", "--yes")
    assert done.returncode == 0 and "log in to" in done.stdout, done.stderr
    assert person.bytes == (OWN + '\r\n[[sandbox_credentials]]\r\nname = "ssh"\r\nenabled = true\r\n').encode()
    assert person.logins()["ssh"]["enabled"] is True
    assert person.run("credential", "disable", "ssh").returncode == 0
    assert person.logins()["ssh"]["enabled"] is False
    assert person.run("credential", "remove", "ssh").returncode == 0
    assert person.bytes == OWN.encode()


def test_own_login_as_the_docs_have_it_U12(person):
    done = person.run("credential", "add", "npm", "--path", "~/.npmrc", "--host", "registry.example:443")
    assert done.returncode == 0, done.stderr
    item = person.logins()["npm"]
    assert item["enabled"] and not item["built_in"] and item["path"] == "~/.npmrc"
    said(person.run("credential", "add", "npm", "--path", "~/.npmrc"), 2, "already")
    assert person.run("credential", "remove", "npm").returncode == 0
    assert "npm" not in person.logins()


@pytest.mark.parametrize("argv,words", [
    (("add", "x", "--path", "/etc/shadow"), "outside your home"), (("add", "x", "--path", "~"), "never shared"),
    (("add", "x", "--path", "~/../x"), "leads up"), (("add", "x", "--path", ".npmrc"), "~/"),
    (("add", "x", "--path", "~/.config/coworker"), "OpenWorker itself"), (("add", "x"), "--path"),
    (("add", "../x", "--path", "~/x"), "needs a name"), (("add", "x", "--path", "~/x", "--host", "localhost"), "own"),
    (("add", "ssh", "--path", "~/.ssh"), "built in"), (("enable", "none", "--yes"), "no login"),
    (("disable", "none"), "no login"), (("remove", "none"), "no login"), (("enable", "ssh"), "--yes"),
    (("add", "x", "--path", "~/x", "--private", "127.0.0.1:1"), "127.0.0.1"), (("dance", "x"), "takes"),
])
def test_login_that_cannot_be_is_refused(person, argv, words):
    person.write(OWN)
    said(person.run("credential", *argv), 2, words)
    assert person.bytes == OWN.encode()


def test_person_is_asked_before_a_login_is_shared(person):
    person.account.write(person.workspace.home / ".ssh" / "known_hosts", "x.example ssh-ed25519 AAAA\n", 0o600)
    for answer, shared in [("n", False), ("", False), ("y", True)]:
        with Terminal(person.account, [person.openworker, "credential", "enable", "ssh"]) as terminal:
            terminal.wait_for(r"\[y/N\]")
            assert "as you" in terminal.plain
            terminal.type(answer)
            terminal.end()
        assert person.logins()["ssh"]["enabled"] is shared


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: near, cluster: {server: "https://10.20.30.40:6443"}}
- {name: far, cluster: {server: "https://k8s.example:6443"}}
contexts:
- {name: a, context: {cluster: near, user: me}}
- {name: b, context: {cluster: far, user: me}}
users:
- {name: me, user: {token: abc}}
"""


@pytest.mark.parametrize("answer,agreed", [("n", []), ("y", ["10.20.30.40:6443"])])
def test_private_server_of_kubectl_needs_a_word_of_its_own_N03(person, answer, agreed):
    """Sharing the login is not consent to reach an address of the person's own network."""
    person.account.write(person.workspace.home / ".kube" / "config", KUBECONFIG, 0o600)
    item = person.logins()["kube"]
    assert item["consent"] == ["10.20.30.40:6443"] and "10.20.30.40:6443" not in item["hosts"]
    with Terminal(person.account, [person.openworker, "credential", "enable", "kube"]) as terminal:
        terminal.wait_for(r"kubectl.*Share it.*\[y/N\]")
        terminal.type("y")
        terminal.wait_for(r"10\.20\.30\.40:6443.*private.*\[y/N\]")
        terminal.type(answer)
        assert terminal.end() == 0
    item = person.logins()["kube"]
    assert item["enabled"] is True and item["private_hosts"] == agreed
    assert ("10.20.30.40:6443" in item["hosts"]) is bool(agreed)


def test_private_server_is_agreed_to_without_a_terminal(person):
    person.account.write(person.workspace.home / ".kube" / "config", KUBECONFIG, 0o600)
    assert person.run("credential", "enable", "kube", "--yes").returncode == 0
    assert person.logins()["kube"]["private_hosts"] == []
    done = person.run("credential", "enable", "kube", "--yes", "--private", "10.20.30.40:6443")
    assert done.returncode == 0, done.stderr
    assert person.logins()["kube"]["private_hosts"] == ["10.20.30.40:6443"]
    said(person.run("credential", "enable", "kube", "--yes", "--private", "169.254.169.254"), 2, "169.254")


# ---- a file that changes while an engine runs

def test_broken_file_is_told_and_the_session_keeps_its_wall_S07(person, wall):
    """Said once in the session and to the engine's log; a new session is refused, the running one
    goes on behind its wall, and a mended file lets sessions begin again."""
    person.write('sandbox_provider = "bubblewrap"\n')
    up = Up(person.account, person.openworker)
    script = [calls(("shell", {"command": "touch begun; while [ ! -e go ]; do sleep 0.1; done; "
                                          "cat /proc/self/mountinfo | wc -l > made"})), {"text": "Done."}]
    with ModelServer(script) as server:
        session = up.detach(server, provider=wall.name)
        wait_begun(person.workspace)
        person.write('sandbox_provider = "direct"\nbroken = \n')

        def told():
            return [e["text"] for e in up.events(session) if e["type"] == "notice" and "line 2" in e["text"]]
        assert len(wait_until(told, 20, "the notice")) == 1
        wait_until(lambda: "line 2" in up.log, 20, "the log")
        assert str(person.path) in up.run("status").stderr
        said(person.exec(wall, "true"), 69, "line 2")
        other = person.account.mkdir(person.workspace.path / "other")
        said(up.run("sessions", "folders", session, "--add", str(other)), 69, "line 2")
        person.write('sandbox_provider = "direct"\nbroken = \n# again\n')
        person.account.write(person.workspace.folder / "go", "")
        last = up.wait_end(session)
        assert last["outcome"] == "done", last
        levels = {e["level"] for e in up.events(session) if "level" in e}
        assert levels == {wall.name}
        assert len(told()) == 1
        person.write('sandbox_provider = "bubblewrap"\n')
        wait_until(lambda: "line 2" not in up.run("status").stderr, 20, "the end of the notice")
        assert person.exec(wall, "true").returncode == 0
    assert up.stop() == 0


def test_link_target_is_watched_too(person):
    real = person.account.write(person.workspace.path / "dotfiles" / "ow.toml", "", 0o600)
    person.path.symlink_to(real)
    os.lchown(person.path, *person.account.owner(person.path.parent))
    up = Up(person.account, person.openworker)
    person.account.write(real, "x = \n", 0o600)
    wait_until(lambda: "line 1" in up.log, 20, "the log")
    assert up.stop() == 0


# ---- a project's own settings

PROJECT = 'sandbox_provider = "direct"\nsandbox_network_profile = "standard"\n'


def spoil(person, folder):
    """What a project could hold to turn the wall off."""
    write = person.account.write
    write(folder / ".coworker" / "config.toml", PROJECT)
    write(folder / ".env", "sandbox_provider=direct\nOPENWORKER_SANDBOX=0\nXDG_CONFIG_HOME=.coworker\n"
                           "OPENWORKER_LIBEXEC=/nowhere\n")
    write(folder / "config.toml", PROJECT)
    write(folder / ".config" / "coworker" / "config.toml", PROJECT)
    write(folder / "openworker.toml", PROJECT)


def test_settings_of_a_project_are_ignored_and_said_once_A37_S07(person, wall):
    spoil(person, person.workspace.folder)
    token = uuid.uuid4().hex
    secret = person.account.write(person.workspace.home / "secret", token)
    script = [calls(("shell", {"command": f"cat {secret}; true"})), calls(("shell", {"command": "true"})),
              {"text": "Done."}]
    with ModelServer(script) as server:
        done = person.account.run([person.openworker, "run", *wall.argv, "--approve", "sandboxed", "--json", "--folder",
                                   person.workspace.folder, "--model", "openai:demo", "--base-url", server.url,
                                   "Do it."], cwd=person.workspace.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {e["level"] for e in events if "level" in e} == {wall.name}
    assert events[0]["profile"] == "strict"
    notices = [e["text"] for e in events if e["type"] == "notice" and "ignored" in e["text"]]
    assert len(notices) == 1 and ".coworker/config.toml" in notices[0], notices
    assert token not in done.stdout
    looks = [e for e in events if e["type"] == "tool-asked" and e.get("purpose") == "project"]
    assert len(looks) == 1 and looks[0]["tool"] == "list"


def _names(person, place):
    """As somebody who wants to be taken for something else would name them."""
    for name in ["\033]0;x\007.toml", "a\nNotice: all is well", "\u202etxt.x"] + [f"n{i}" for i in range(40)]:
        person.account.write(place / name, "x")


def _unreadable(person, place):
    person.account.mkdir(place)
    place.chmod(0)


PLACES = {
    "file": (lambda p, c: p.account.write(c, PROJECT), "/.coworker."),
    "unreadable": (_unreadable, "/.coworker."),
    "empty": (lambda p, c: p.account.mkdir(c), None),
    "fifo": (lambda p, c: (os.mkfifo(c), p.account.give(c)), "/.coworker."),
    "loop": (lambda p, c: c.symlink_to(".coworker"), "/.coworker."),
    "fifo-inside": (lambda p, c: (p.account.mkdir(c), os.mkfifo(c / "config.toml")), "/.coworker/config.toml"),
    "broken": (lambda p, c: p.account.write(c / "config.toml", "sandbox_provider = \n"), "/.coworker/config.toml"),
    "empty-file": (lambda p, c: p.account.write(c / "config.toml", ""), "/.coworker/config.toml"),
    "two-mib": (lambda p, c: p.account.write(c / "config.toml", "# x\n" * (512 * 1024)), "/.coworker/config.toml"),
    "names": (_names, "and more"),
}


@pytest.mark.parametrize("kind", PLACES)
def test_whatever_stands_there_changes_nothing_A37(ordinary_user, workspace, openworker, kind):
    """Also in a folder that is not the first, and read-only."""
    person = Person(ordinary_user, workspace, openworker)
    other = person.account.mkdir(workspace.path / "other project")
    make, words = PLACES[kind]
    make(person, other / ".coworker")
    with ModelServer([{"text": "Done."}]) as server:
        done = person.run("run", "--provider", "bubblewrap", "--approve", "sandboxed", "--json", "--folder",
                          workspace.folder, "--folder", f"{other}:ro", "--model", "openai:demo", "--base-url",
                          server.url, "Do it.")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {e["level"] for e in events if "level" in e} == {"bubblewrap"}
    notices = [e["text"] for e in events if e["type"] == "notice" and "ignored" in e["text"]]
    if words:
        assert len(notices) == 1 and words in notices[0], notices
        assert not set(notices[0]) & set("\033\007\u202e\n")
    else:
        assert notices == []
    if kind == "unreadable":
        (other / ".coworker").chmod(0o700)


def test_project_without_settings_is_not_mentioned(person, wall):
    with ModelServer([{"text": "Done."}]) as server:
        done = person.account.run([person.openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder",
                                   person.workspace.folder, "--model", "openai:demo", "--base-url", server.url,
                                   "Do it."])
    assert done.returncode == 0, done.stderr
    assert ".coworker" not in done.stdout and "ignored" not in done.stdout


def test_settings_of_a_project_choose_no_provider_S07(person):
    """With nothing set on the machine nothing is chosen, whatever folder it is asked from."""
    spoil(person, person.workspace.folder)
    done = person.account.run([person.openworker, "sandbox", "exec", "--folder", person.workspace.folder, "--", "true"],
                              cwd=person.workspace.folder)
    said(done, 69, "Nothing is set")
