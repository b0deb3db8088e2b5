# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What openworker-runner keeps of files before it changes them, how it takes changes back, and
what it tells of the changes that commands make."""

import hashlib
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import scaled, wait_until
from runner_client import servers


@pytest.fixture
def undo_folder(workspace, ordinary_user):
    path = workspace.folder.parent / "undo"
    path.mkdir(mode=0o700)
    shutil.chown(path, *owner(workspace.folder))
    return path


@pytest.fixture
def serve(ordinary_user, workspace, runner, undo_folder):
    """Starts a server on stdin and stdout with an undo folder and gives its client."""
    with servers(ordinary_user, runner, workspace.folder) as start:
        yield lambda *options, undo=True: start(*(["--undo", undo_folder] if undo else []), *options)


class Work:
    """A client that remembers the changes which the tools answered."""

    def __init__(self, client, folder):
        self.client, self.folder, self.changes = client, folder, []

    def call(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        if "change" in result["structuredContent"]:
            self.changes.append(result["structuredContent"]["change"])
        return result

    def write(self, name, content):
        result = self.call("write", path=str(self.folder / name), content=content)
        assert not result["isError"], result
        return result

    def undo(self, apply=True):
        return self.call("undo", changes=self.changes, apply=apply)

    def states(self, result):
        return {os.path.relpath(file["path"], self.folder): file["state"]
                for file in result["structuredContent"]["files"]}


@pytest.fixture
def work(serve, workspace):
    return Work(serve(), workspace.folder)


def text(result):
    return result["content"][0]["text"]


def patch(folder, diff, *options):
    """Whether patch(1) takes the diff in that folder."""
    done = subprocess.run(["patch", "-p1", "--batch", "--quiet", *options], cwd=folder,
                          input=diff.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")


def test_write_edit_undo_over_the_channel(work, undo_folder):
    (work.folder / "a").write_text("one\ntwo\n")
    os.chown(work.folder / "a", *owner(work.folder))
    work.write("a", "one\n2\n")
    work.call("edit", path="a", old_text="one", new_text="1")
    work.write("made", "new\n")
    kept = {path.name for path in undo_folder.iterdir()}
    assert hashlib.sha256(b"one\ntwo\n").hexdigest() in kept
    shown = work.undo(apply=False)
    assert work.states(shown) == {"a": "would restore", "made": "would remove"}
    assert (work.folder / "a").read_text() == "1\n2\n"
    done = work.undo()
    assert work.states(done) == {"a": "restored", "made": "removed"}
    assert (work.folder / "a").read_text() == "one\ntwo\n"
    assert not (work.folder / "made").exists()


def owner(path):
    status = os.stat(path)
    return status.st_uid, status.st_gid


NAMES = ["plain", "with space", "new\nline", 'quo"te', "back\\slash", "tab\t", "été", "sub/deep/x",
         "-dash", "no newline", "empty", "crlf"]


def content_of(name, word):
    if name == "empty":
        return ""
    if name == "crlf":
        return f"one\r\n{word}\r\nthree\r\n"
    body = "".join(f"line {n}\n" for n in range(50)) + word + "\nlast"
    return body if name == "no newline" else body + "\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch(1)")
def test_the_diffs_are_for_patch(work, tmp_path):
    """What undo shows, given to patch(1), does what undo then does; and what changes tells,
    reversed, does too."""
    for folder in ["sub/deep"]:
        (work.folder / folder).mkdir(parents=True)
    before = {}
    for name in NAMES:
        path = work.folder / name
        path.write_bytes(content_of(name, "before").encode())
        before[name] = path.read_bytes()
    subprocess.run(["chown", "-R", ":".join(map(str, owner(work.folder))), work.folder],
                   check=True)
    for name in NAMES:
        work.write(name, content_of(name, "after"))
        work.write("made " + name.replace("/", "_"), content_of(name, "made"))
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        shutil.copytree(work.folder, copy)
    shown = work.undo(apply=False)
    assert shown["structuredContent"]["base"] == str(work.folder)
    patch(copies[0], text(shown))
    changes = work.call("changes", changes=work.changes)
    patch(copies[1], text(changes), "--reverse")
    work.undo()
    for place in [work.folder, *copies]:
        assert {str(path.relative_to(place)): path.read_bytes()
                for path in place.rglob("*") if path.is_file()} == before


def test_S03_kept_before_changed(work, undo_folder):
    """A file is not changed when what it holds cannot be kept: also a command that takes the
    undo folder away makes no change that could not be undone."""
    (work.folder / "a").write_text("one\n")
    os.chown(work.folder / "a", *owner(work.folder))
    shutil.rmtree(undo_folder)
    for tool, arguments in [("write", {"content": "two\n"}),
                            ("edit", {"old_text": "one", "new_text": "two"})]:
        result = work.call(tool, path="a", **arguments)
        assert result["isError"] and "could not be kept for undo" in text(result)
    assert (work.folder / "a").read_text() == "one\n"


def test_S03_swapped_by_a_command(work, workspace):
    """A command swaps the file for a link out of the folder while undo runs."""
    secret = workspace.path / "secret"
    secret.write_text("tool\n")
    os.chown(secret, *owner(work.folder))
    (work.folder / "a").write_text("one\n")
    os.chown(work.folder / "a", *owner(work.folder))
    work.write("a", "tool\n")
    other = Work(work.client, work.folder)
    call = work.client.start_call("shell", {
        "command": f"end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do mv a b && ln -s {secret} a;"
                   " rm -f a; mv b a; done 2>/dev/null", "timeout_s": 60})
    other.changes = work.changes
    end = time.monotonic() + scaled(2)
    while time.monotonic() < end:
        file = other.undo()["structuredContent"]["files"][0]
        if file["state"] == "restored":
            other.changes = [{"path": file["path"], **file["change"]}]
        assert secret.read_text() == "tool\n"
    assert not work.client.reply(call)["result"]["isError"]


def test_without_an_undo_folder(serve, workspace):
    work = Work(serve(undo=False), workspace.folder)
    (work.folder / "a").write_text("one\n")
    os.chown(work.folder / "a", *owner(work.folder))
    work.write("a", "two\n")
    work.write("made", "two\n")
    assert [change["kept"] for change in work.changes] == [False, False]
    assert work.states(work.undo()) == {"a": "skipped", "made": "removed"}
    assert (work.folder / "a").read_text() == "two\n"


def test_undo_folder_that_is_not_there(ordinary_user, workspace, runner):
    done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.folder,
                              "--undo", workspace.folder / "none"])
    assert done.returncode == 1 and "undo folder" in done.stderr


def test_undo_folder_that_is_a_link(ordinary_user, workspace, runner, undo_folder):
    (workspace.folder / "link").symlink_to(undo_folder)
    done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.folder,
                              "--undo", workspace.folder / "link"])
    assert done.returncode == 1 and "undo folder" in done.stderr


def test_ten_thousand_changes_in_one_message(work):
    after = hashlib.sha256(b"x").hexdigest()
    for number in range(10000):
        (work.folder / f"f{number}").write_bytes(b"x")
    subprocess.run(["chown", "-R", ":".join(map(str, owner(work.folder))), work.folder],
                   check=True)
    work.changes = [{"path": str(work.folder / f"f{number}"), "before": None, "after": after}
                    for number in range(10000)]
    reply = work.client.reply(work.client.start_call(
        "undo", {"changes": work.changes, "apply": True}), 300)["result"]
    assert reply["structuredContent"]["removed"] == 10000
    assert not list(work.folder.iterdir())


# --- what commands change ---

def told(shell, folder):
    changes = shell.facts["changes"]
    assert changes["undoable"] is False
    return {os.path.relpath(file["path"], folder): file["what"] for file in changes["files"]}


def test_changes_of_a_command(serve, workspace):
    client = serve()
    assert client.shell("true").facts["changes"] == {
        "files": [], "total": 0, "between": 0, "cut": False, "undoable": False}
    made = client.shell("echo 1 > a; echo 1 > b; mkdir -p d/e; echo 1 > d/e/f")
    assert told(made, workspace.folder) == {
        "a": "created", "b": "created", "d": "created", "d/e": "created", "d/e/f": "created"}
    changed = client.shell("echo 2 >> a; mv b c; chmod 600 d/e/f; touch -d @1 a")
    assert told(changed, workspace.folder) == {
        "a": "changed", "b": "deleted", "c": "created", "d/e/f": "changed"}
    assert told(client.shell("rm -r d; cat a"), workspace.folder) == {
        "d": "deleted", "d/e": "deleted", "d/e/f": "deleted"}
    assert told(client.shell("ls -lR; cat a c"), workspace.folder) == {}


def test_changes_of_commands_that_end_otherwise(serve, workspace):
    """Whatever way a command ends, what it changed is told."""
    client = serve()
    for number, end in enumerate(["exit 3", "kill -9 $$", "exec true", "sleep 60", "false"]):
        shell = client.shell(f"echo 1 > f{number}; {end}", timeout_s=1)
        assert told(shell, workspace.folder) == {f"f{number}": "created"}, end
    call = client.start_call("shell", {"command": "echo 1 > cancelled; sleep 600"})
    wait_until(lambda: (workspace.folder / "cancelled").exists(), 30)
    client.send({"method": "notifications/cancelled", "params": {"requestId": call}})
    result = client.reply(call)["result"]
    assert result["structuredContent"]["cancelled"]
    assert [file["what"] for file in result["structuredContent"]["changes"]["files"]] == ["created"]


def test_changes_in_git_are_one_entry(serve, workspace):
    client = serve()
    client.shell("git init -q . && git config user.email a@b && git config user.name n")
    (workspace.folder / "a").write_text("1")
    time.sleep(0.05)
    assert told(client.shell("git add a && git commit -qm one"), workspace.folder) == {
        ".git": "changed"}


def test_changes_by_others_are_not_the_commands(serve, workspace):
    """What a person, a tool or a background process changes between two commands is counted
    and not named as the next command's; a tool's is not even counted."""
    work = Work(serve(), workspace.folder)
    client = work.client
    client.shell("true")
    (workspace.folder / "person").write_text("1")
    time.sleep(0.05)
    shell = client.shell("echo 1 > command")
    assert told(shell, workspace.folder) == {"command": "created"}
    assert shell.facts["changes"]["between"] == 1
    client.shell("(sleep 0.3; echo 1 > background) &")
    wait_until(lambda: (workspace.folder / "background").exists(), 30)
    time.sleep(0.05)
    shell = client.shell("echo 1 >> command")
    assert told(shell, workspace.folder) == {"command": "changed"}
    assert shell.facts["changes"]["between"] == 1
    work.write("tool", "1")
    shell = client.shell("true")
    assert shell.facts["changes"]["total"] == 0 and shell.facts["changes"]["between"] == 0
    # The tool's own change just before does not hide the command's.
    work.write("tool", "2")
    assert told(client.shell("echo 3 >> tool"), workspace.folder) == {"tool": "changed"}
    work.undo()
    shell = client.shell("true")
    assert shell.facts["changes"]["total"] == 0 and shell.facts["changes"]["between"] == 0


def test_changes_by_a_tool_while_a_command_runs(serve, workspace):
    work = Work(serve(), workspace.folder)
    call = work.client.start_call("shell", {"command": "echo 1 > command; until [ -e go ]; do "
                                                       "sleep 0.05; done"})
    wait_until(lambda: (workspace.folder / "command").exists(), 30)
    work.write("tool", "1")
    work.write("go", "")
    changes = work.client.reply(call)["result"]["structuredContent"]["changes"]
    assert [os.path.basename(file["path"]) for file in changes["files"]] == ["command"]


def test_changes_are_bounded(serve, workspace):
    """A tree too large to be followed is told as cut, and costs little from then on; what lies
    in its upper levels is followed all the same."""
    client = serve()
    shell = client.shell("mkdir -p d/e; for i in $(seq 300); do echo > d/e/f$i; done")
    changes = shell.facts["changes"]
    assert changes["total"] == 302 and len(changes["files"]) == 200 and not changes["cut"]
    client.shell("cd d/e; for i in $(seq 25000); do echo -n > g$i; done; cd ../..", timeout_s=300,
                 timeout=300)
    shell = client.shell("true")
    assert shell.facts["changes"]["cut"]
    shell = client.shell("echo 1 > top; echo 1 > d/e/g1")
    assert shell.facts["changes"]["cut"]
    assert told(shell, workspace.folder) == {"top": "created"}


def test_changes_names_that_are_no_text(serve, workspace):
    client = serve()
    shell = client.shell("printf 1 > $'line\\nend'; printf 1 > $'caf\\xe9'")
    names = {os.path.basename(file["path"]): file.get("escaped", False)
             for file in shell.facts["changes"]["files"]}
    assert names == {"line\nend": False, "caf\\xe9": True}


def test_changes_outside_and_read_only(serve, workspace):
    frozen = workspace.path / "frozen"
    frozen.mkdir()
    os.chown(frozen, *owner(workspace.folder))
    client = serve("--folder-ro", frozen)
    shell = client.shell(f"echo 1 > {workspace.path}/outside; echo 1 > {frozen}/x; echo 1 > in")
    assert shell.exit_status == 0 and (frozen / "x").exists()
    assert told(shell, workspace.folder) == {"in": "created"}


def watcher(client):
    """The process that looks: the only child of the server that waits in recv."""
    children = subprocess.run(["ps", "-o", "pid=,wchan:32=", "--ppid", str(client.process.pid)],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [int(line.split()[0]) for line in children.splitlines()
             if is_watcher(int(line.split()[0]))]
    assert len(found) == 1, children
    return found[0]


def is_watcher(pid):
    """Its stdin is a SOCK_SEQPACKET socket."""
    try:
        inode = os.stat(f"/proc/{pid}/fd/0").st_ino
    except OSError:
        return False
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        return any(line.split()[4] == "0005" and line.split()[6] == str(inode)
                   for line in list(file)[1:])


def test_changes_when_looking_hangs(serve, workspace):
    """A file system that hangs holds no command up for long, and none after it at all."""
    client = serve()
    assert client.shell("true").facts["changes"]["cut"] is False
    pid = watcher(client)
    os.kill(pid, signal.SIGSTOP)
    try:
        start = time.monotonic()
        shell = client.shell("echo 1 > a")
        assert shell.exit_status == 0 and shell.facts["changes"]["cut"]
        assert time.monotonic() - start < scaled(5)
        for _ in range(3):
            assert client.shell("true").facts["changes"]["cut"]
        # A server that waited for it each time would take 500 ms for each.
        start = time.monotonic()
        for _ in range(40):
            client.shell("true")
        assert time.monotonic() - start < scaled(10)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not client.shell("true").facts["changes"]["cut"], 30)
    assert told(client.shell("echo 1 > b"), workspace.folder) == {"b": "created"}


def test_changes_when_the_looker_is_killed(serve, workspace):
    client = serve()
    client.shell("true")
    os.kill(watcher(client), signal.SIGKILL)
    shell = client.shell("echo 1 > a")
    assert shell.exit_status == 0
    wait_until(lambda: not client.shell("true").facts["changes"]["cut"], 30)
    assert told(client.shell("echo 1 > b"), workspace.folder) == {"b": "created"}
    assert client.shell("true").left == set()


def test_commands_run_at_once_are_told_apart(serve, workspace):
    client = serve()
    calls = [client.start_call("shell", {"command": f"echo 1 > f{number}"})
             for number in range(8)]
    for number, call in enumerate(calls):
        files = client.reply(call)["result"]["structuredContent"]["changes"]["files"]
        assert [os.path.basename(file["path"]) for file in files] == [f"f{number}"]


def test_cancelled_before_its_turn(serve, workspace):
    """A command that waits for another is taken out of the queue, whatever the first look at the
    folders does."""
    client = serve()
    first = client.start_call("shell", {"command": "sleep 0.5"})
    second = client.start_call("shell", {"command": "echo 1 > never"})
    client.send({"method": "notifications/cancelled", "params": {"requestId": second}})
    assert client.reply(second)["result"]["structuredContent"]["cancelled"]
    assert client.reply(first)["result"]["structuredContent"]["exit_status"] == 0
    assert not (workspace.folder / "never").exists()


def test_cancelled_write_is_told_or_not_done(work):
    """A write that is cancelled while it runs has made no change, or tells the one that it made:
    else that could not be undone."""
    done = cancelled = 0
    content = ""
    for number in range(150):
        call = work.client.start_call("write", {"path": str(work.folder / "a"),
                                                "content": f"{number}\n"})
        time.sleep(number % 15 / 5000)
        work.client.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        result = work.client.reply(call)["result"]
        if "change" in result["structuredContent"]:
            content = f"{number}\n"
            done += 1
        else:
            assert result["structuredContent"]["cancelled"]
            cancelled += 1
        path = work.folder / "a"
        assert (path.read_text() if path.exists() else "") == content
    assert done + cancelled == 150 and done > 0
