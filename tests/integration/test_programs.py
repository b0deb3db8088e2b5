# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Programs of the person's that sandboxes get (REQ-W14): which are offered, what comes with them, and
that no credential does, looked for by a token from inside. REQ-A03: the agent is told."""

import json
import os
import stat
import uuid

import pytest
from model_server import ModelServer

EXEC = ["sandbox", "exec"]
TOKEN = f"canary-{uuid.uuid4().hex}"


class Home:
    """The person's home, with folders of programs in it."""

    def __init__(self, account, workspace, openworker):
        self.account, self.workspace, self.openworker = account, workspace, openworker
        self.path = workspace.home
        self.search = []

    def program(self, place, text="ran"):
        """A program that says @text and its own folder's name."""
        path = self.account.write(self.path / place, f"#!/bin/sh\necho {text}\n", 0o755)
        if str(path.parent) not in self.search:
            self.search.append(str(path.parent))
        return path

    def link(self, place, target):
        path = self.path / place
        self.account.mkdir(path.parent)
        path.symlink_to(target)
        os.lchown(path, *self.account.owner(path))
        if str(path.parent) not in self.search:
            self.search.append(str(path.parent))
        return path

    @property
    def env(self):
        return {"PATH": ":".join([*self.search, self.account.env()["PATH"]])}

    def programs(self, *words):
        done = self.account.run([self.openworker, "sandbox", "programs", "--json", *words],
                                env=self.env)
        found = {item["path"]: item for item in map(json.loads, done.stdout.splitlines())}
        return done, found

    def share(self, place):
        done, found = self.programs("--share", self.path / place)
        assert done.returncode == 0, done.stderr
        return found

    def set(self, *places):
        """As a person does it in the file."""
        names = ", ".join(json.dumps(f"~/{place}") for place in places)
        return self.account.write(self.path / ".config/coworker/config.toml",
                                  f"# mine\nsandbox_programs = [{names}]\n", 0o600)

    def inside(self, wall, script, folder=None):
        return self.account.run([self.openworker, *EXEC, *wall.argv, "--folder",
                                 folder or self.workspace.folder, "--", "sh", "-c", script],
                                env=self.env)

    def look_for_token(self, wall):
        """Searches from inside, and reads there every file that the home has outside."""
        files = [path for path in sorted(self.path.rglob("*")) if path.is_file()]
        reads = " ".join(f"'{path}'" for path in files if "coworker" not in str(path))
        done = self.inside(wall, f"grep -rl {TOKEN} {self.path} /opt /run /tmp 2>/dev/null; "
                                 f"cat {reads} 2>/dev/null; echo end")
        assert done.stdout.endswith("end\n"), done.stderr
        assert any(TOKEN in path.read_text(errors="replace") for path in files)
        return TOKEN in done.stdout or "credentials" in done.stdout, done


@pytest.fixture
def person(account, workspace, openworker):
    return Home(account, workspace, openworker)


def test_nothing_is_shared_until_a_person_says_so(account, workspace, person, wall):
    """REQ-W14 [bubblewrap, openshell]."""
    tool = person.program(".cargo/bin/tool")
    done, found = person.programs()
    assert done.returncode == 0, done.stderr
    assert found[str(tool.parent)]["shared"] is False and found[str(tool.parent)]["can_be"] is True
    done = person.inside(wall, f"tool; ls {tool.parent}; echo $PATH")
    assert "tool: not found" in done.stderr and "No such file" in done.stderr
    assert str(tool.parent) not in done.stdout


def test_shared_program_runs_and_cannot_be_changed(account, workspace, person, wall):
    tool = person.program(".cargo/bin/tool", "mine")
    account.write(person.path / ".cargo/credentials.toml", TOKEN, 0o600)
    account.write(person.path / ".cargo/config.toml", TOKEN)
    account.write(person.path / ".npmrc", TOKEN)
    found = person.share(".cargo/bin")
    assert found[str(tool.parent)]["shared"] is True
    done = person.inside(wall, f"tool; echo x > {tool}; echo y > {tool.parent}/more; rm {tool}; "
                               f"mv {tool} {tool}.old; chmod 777 {tool}; echo ${{PATH%%:*}}")
    assert done.stdout == f"mine\n{tool.parent}\n", done.stderr
    assert done.stderr.count("Read-only file system") + done.stderr.count("ermission denied") == 5
    assert tool.read_text().endswith("echo mine\n") and os.listdir(tool.parent) == ["tool"]
    # The folder alone, and nothing that lies beside it.
    seen, done = person.look_for_token(wall)
    assert not seen, done.stdout
    assert "echo mine" in done.stdout


# Where a login may lie, and how it is named there.
CANARIES = {
    "beside": lambda p: p.account.write(p.path / ".tools/bin/credentials.toml", TOKEN),
    "below": lambda p: p.account.write(p.path / ".tools/bin/a/b/.netrc", TOKEN),
    "owner-only": lambda p: p.account.write(p.path / ".tools/bin/auth.json", TOKEN, 0o600),
    "key": lambda p: p.account.write(p.path / ".tools/bin/x.pem",
                                     f"-----BEGIN PRIVATE KEY-----\n{TOKEN}"),
    "ssh-key": lambda p: p.account.write(p.path / ".tools/bin/id_work",
                                         f"-----BEGIN OPENSSH PRIVATE KEY-----\n{TOKEN}", 0o600),
    "key-copy": lambda p: p.account.write(p.path / ".tools/bin/id_work.bak",
                                          f"-----BEGIN OPENSSH PRIVATE KEY-----\n{TOKEN}", 0o600),
    "copy": lambda p: p.account.write(p.path / ".tools/bin/.netrc~", TOKEN),
    "program": lambda p: p.account.write(p.path / ".tools/bin/rclone.conf", TOKEN),
    "npmrc": lambda p: p.account.write(p.path / ".tools/bin/.npmrc", f"//r/:_authToken={TOKEN}\n"),
    "docker": lambda p: p.account.write(p.path / ".tools/bin/config.json",
                                        json.dumps({"auths": {"r": {"auth": TOKEN}}})),
    "folder": lambda p: p.account.write(p.path / ".tools/bin/.ssh/known", TOKEN),
    "link": lambda p: (p.account.write(p.path / ".elsewhere/credentials", TOKEN),
                       p.link(".tools/bin/settings", p.path / ".elsewhere/credentials")),
    "link-name": lambda p: (p.account.write(p.path / ".elsewhere/plain", TOKEN),
                            p.link(".tools/bin/token.json", p.path / ".elsewhere/plain")),
    "needed": lambda p: (p.account.write(p.path / ".local/share/app/token", TOKEN),
                         p.program(".local/share/app/run"),
                         p.link(".tools/bin/app", p.path / ".local/share/app/run")),
}


@pytest.mark.parametrize("where", CANARIES)
def test_S17_folder_with_a_credential_is_not_shared(account, workspace, person, wall, where):
    tool = person.program(".tools/bin/tool")
    CANARIES[where](person)
    if where != "needed":
        done, _ = person.programs("--share", tool.parent)
        assert done.returncode == 69 and "cannot be shared" in done.stderr, done.stderr
        assert not (person.path / ".config/coworker/config.toml").exists()
    person.set(".tools/bin")
    seen, done = person.look_for_token(wall)
    assert not seen, done.stdout
    if where == "needed":
        # What one program needs is refused; the others are there.
        _, found = person.programs()
        assert "app: " in found[str(tool.parent)]["missing"][0]
        assert person.inside(wall, "tool").stdout == "ran\n"
    else:
        assert "are not shared with this session" in done.stderr, done.stderr
        assert "tool: not found" in person.inside(wall, "tool").stderr


def test_S17_credential_that_comes_later_ends_the_sharing(account, workspace, person, wall):
    tool = person.program(".tools/bin/tool")
    person.share(".tools/bin")
    assert person.inside(wall, "tool").stdout == "ran\n"
    late = account.write(tool.parent / "sub/.pypirc", TOKEN)
    seen, done = person.look_for_token(wall)
    assert not seen and "sub/.pypirc" in done.stderr and str(tool.parent) in done.stderr
    _, found = person.programs()
    assert found[str(tool.parent)]["shared"] is True and found[str(tool.parent)]["can_be"] is False
    late.unlink()
    assert person.inside(wall, "tool").stdout == "ran\n"


def test_toolchains_come_with_what_they_need(account, workspace, person, wall):
    # rustup: the proxies are of no use there, the toolchain itself is.
    person.program(".cargo/bin/cargo", "proxy")
    person.program(".cargo/bin/cargo-more", "more")
    chain = ".rustup/toolchains/stable-x86_64-unknown-linux-gnu"
    account.write(person.path / chain / "lib/std", "std\n")
    account.write(person.path / chain / "bin/cargo",
                  '#!/bin/sh\ncat "$(dirname "$0")/../lib/std"\n', 0o755)
    account.write(person.path / ".rustup/settings.toml",
                  f'version = "12"\ndefault_toolchain = "{os.path.basename(chain)}"\n')
    # nvm: links into lib.
    node = ".nvm/versions/node/v20.1.0"
    account.write(person.path / node / "lib/node_modules/npm/bin/npm-cli.js", "#!/bin/sh\necho npm\n",
                  0o755)
    person.program(f"{node}/bin/node", "node")
    person.link(f"{node}/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js")
    # pyenv: the chosen version in place of the shims.
    person.program(".pyenv/shims/python", "shim")
    account.write(person.path / ".pyenv/version", "3.12.1\n")
    account.write(person.path / ".pyenv/versions/3.12.1/lib/x", "x")
    account.write(person.path / ".pyenv/versions/3.12.1/bin/python", "#!/bin/sh\necho py3.12.1\n",
                  0o755)
    account.write(person.path / ".pyenv/versions/2.7.1/bin/python", "#!/bin/sh\necho no\n", 0o755)
    # pipx: a link to an environment whose interpreter is a link to another one.
    venv = ".local/share/pipx/venvs/tool"
    account.write(person.path / ".local/share/uv/python/cpy/lib/l", "l")
    account.write(person.path / ".local/share/uv/python/cpy/bin/python3",
                  '#!/bin/sh\necho interpreter; exec sh "$@"\n', 0o755)
    person.link(f"{venv}/bin/python", person.path / ".local/share/uv/python/cpy/bin/python3")
    account.write(person.path / venv / "lib/l", "l")
    account.write(person.path / venv / "bin/tool",
                  f"#!/usr/bin/env {person.path}/{venv}/bin/python\necho tool\n", 0o755)
    person.link(".local/bin/tool", person.path / venv / "bin/tool")
    account.write(person.path / "work/own.sh", "#!/bin/sh\necho own\n", 0o755)
    person.link(".local/bin/own", person.path / "work/own.sh")
    person.set(".cargo/bin", f"{node}/bin", ".pyenv/shims", ".local/bin")
    done = person.inside(wall, "cargo; cargo-more; node; npm; python; tool; own; "
                               f"cat {person.path}/.pyenv/versions/2.7.1/bin/python "
                               f"{person.path}/work/own.sh {person.path}/.rustup/settings.toml")
    assert done.stdout.splitlines() == ["std", "more", "node", "npm", "py3.12.1", "interpreter",
                                        "tool"], (done.stdout, done.stderr)
    assert "own: not found" in done.stderr
    _, found = person.programs()
    assert any("own: " in line and "no place of programs" in line
               for line in found[str(person.path / ".local/bin")]["missing"])


def refuse(person, place, word):
    done, _ = person.programs("--share", place)
    assert done.returncode == 69 and word in done.stderr, (place, done.returncode, done.stderr)


def test_what_is_no_folder_of_programs_is_refused(account, workspace, person):
    tool = person.program(".tools/bin/tool")
    refuse(person, person.path, "home itself")
    refuse(person, "/usr/bin", "out of the home")
    refuse(person, person.path / "none", "not there")
    person.link(".away", "/usr/lib")
    refuse(person, person.path / ".away", "out of the home")
    account.write(person.path / ".ssh/x", "x")
    refuse(person, person.path / ".ssh", ".ssh")
    account.write(person.path / ".local/share/coworker/x", "x")
    refuse(person, person.path / ".local/share/coworker", "coworker")
    refuse(person, person.path / ".local", "coworker")
    tool.chmod(0o757)
    refuse(person, tool.parent, "everybody can write")
    tool.chmod(0o755)
    tool.parent.chmod(0o777)
    refuse(person, tool.parent, "others can write")
    tool.parent.chmod(0o755)
    os.mkfifo(tool.parent / "pipe")
    refuse(person, tool.parent, "a socket, pipe or device")
    assert not (person.path / ".config/coworker/config.toml").exists()


@pytest.mark.root
@pytest.mark.parametrize("account_kind", ["ordinary"], indirect=True)
def test_program_of_another_account_is_refused(account, workspace, person):
    tool = person.program(".tools/bin/tool")
    other = tool.parent / "other"
    other.write_text("#!/bin/sh\n")
    os.chown(other, 12345, 12345)
    refuse(person, tool.parent, "another account")


def test_setting_keeps_every_other_byte(account, workspace, person):
    one, two = person.program(".one/bin/a"), person.program(".two/bin/b")
    path = account.write(person.path / ".config/coworker/config.toml",
                         '# Mine.\nsandbox_network_profile = "strict" # so\n\n[x]\ny = 1\n', 0o600)
    before = path.read_text()
    person.share(".one/bin")
    person.share(".two/bin")
    person.share(".two/bin")
    text = path.read_text()
    assert 'sandbox_programs = ["~/.two/bin", "~/.one/bin"]\n' in text
    assert text.replace('sandbox_programs = ["~/.two/bin", "~/.one/bin"]\n', "") == before
    done, found = person.programs("--unshare", one.parent)
    assert done.returncode == 0, done.stderr
    assert not found[str(one.parent)]["shared"] and found[str(two.parent)]["shared"]
    assert path.read_text() == text.replace('["~/.two/bin", "~/.one/bin"]', '["~/.two/bin", ]')
    done, _ = person.programs("--unshare", one.parent)
    assert done.returncode == 2 and "is not shared" in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # On lines of its own, with comments.
    path.write_text('sandbox_programs = [\n  # first\n  "~/.one/bin", # it\n  \'~/.two/bin\',\n]\n')
    done, _ = person.programs("--unshare", two.parent)
    assert path.read_text() == 'sandbox_programs = [\n  # first\n  "~/.one/bin", # it\n]\n'


def test_setting_that_is_wrong_refuses_with_its_line(account, workspace, person, wall):
    for value, word in [('"~/x"', "list of texts"), ("[1]", "list of texts"), ('["bin"]', "whole path"),
                        ('["../bin"]', "whole path"), ('["~ann/bin"]', "whole path")]:
        account.write(person.path / ".config/coworker/config.toml", f"sandbox_programs = {value}\n")
        done = person.inside(wall, "true")
        assert done.returncode == 69 and "line 1" in done.stderr and word in done.stderr, done.stderr


def test_project_shares_nothing(account, workspace, person, wall):
    """REQ-U14, S07: only the machine's file counts."""
    person.program(".tools/bin/tool")
    for name in [".config/coworker/config.toml", ".coworker/config.toml", "config.toml"]:
        account.write(workspace.folder / name, 'sandbox_programs = ["~/.tools/bin"]\n')
    done = person.inside(wall, "tool")
    assert "tool: not found" in done.stderr


def test_folder_of_the_session_is_not_shared_twice(account, workspace, person, wall):
    tool = person.program(".tools/bin/tool")
    person.share(".tools/bin")
    account.give(tool.parent)
    if account.folder_owner is not None:
        pytest.skip("a folder under the home is root's here, and no folder of this wall")
    done = person.inside(wall, f"tool; echo new > {tool.parent}/new && echo written", tool.parent)
    assert "a folder of the session" in done.stderr and "written" in done.stdout


def test_agent_is_told_what_is_shared(account, workspace, person, wall):
    """REQ-A03."""
    tool = person.program(".tools/bin/tool")
    for shared in (False, True):
        if shared:
            person.share(".tools/bin")
        with ModelServer([{"text": "Done."}]) as server:
            done = account.run([person.openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder",
                                workspace.folder, "--model", "openai:any", "--base-url", server.url,
                                "Do it."], env={**person.env, "OPENWORKER_API_KEY": "k"})
            assert done.returncode == 0, done.stderr
            told = server.requests[0].messages[0]["content"]
        assert (f"- {tool.parent}\n" in told and "read-only" in told) is shared, told
