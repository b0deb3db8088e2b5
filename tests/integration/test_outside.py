# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The program itself opens no file in a session's folder and runs nothing there, whatever the
agent's tools do inside (REQ-W03, hole S06): seen in the system calls of the program outside."""

import json
import os
import re

import pytest
from replays import replay, shell

CALLS = ("open,openat,openat2,creat,execve,execveat,chdir,fchdir,truncate,rename,renameat,renameat2,"
         "link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,clone,clone3,fork,vfork")
LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$")
# Proving a mount is the one exception (REQ-W10): a random file, removed at once.
PROOF = re.compile(r'"\.openworker-proof-[0-9a-f]+"')


def traced(account, workspace, argv):
    """Runs @argv under strace; gives (exit status, the calls of its own threads)."""
    log = workspace.path / "strace"
    done = account.run(["strace", "-f", "-y", "-s", "4096", "-o", log, "-e", f"trace={CALLS}",
                        "-e", "signal=none", "--", *argv], timeout=120)
    own, calls = set(), []
    for text in log.read_text(errors="replace").splitlines():
        match = LINE.match(text)
        if not match:
            continue
        pid, name, _, rest = match.groups()
        if not own:
            own.add(pid)
        if pid not in own:
            continue
        calls.append((name, rest))
        # A thread is the program; a process that it made is another program soon.
        if name.startswith("clone") and "CLONE_THREAD" in rest:
            own.update(re.findall(r"= (\d+)$", rest))
    return done, calls


def inside(calls, folder):
    """The calls that name something below @folder or run or go there."""
    found = []
    for name, rest in calls:
        if name.startswith("exec"):
            rest = rest.split('", ["')[0]  # the program, without its words
        named = f'"{folder}/' in rest or re.search(rf'<{re.escape(str(folder))}[/>][^"]*"[^"]', rest)
        goes = name in ("chdir", "fchdir") and str(folder) in rest
        if (named or goes) and not PROOF.search(rest) and "O_DIRECTORY" not in rest:
            found.append((name, rest[:200]))
    return found


@pytest.fixture
def folder(account, workspace):
    account.write(workspace.folder / "f", "one\ntwo\n")
    account.write(workspace.folder / ".git/hooks/pre-commit", "#!/bin/sh\ntouch ran\n", 0o755)
    account.write(workspace.folder / "AGENTS.md", "Follow these.\n")
    return workspace.folder


def test_S06_program_opens_nothing_in_the_folder(account, workspace, folder, openworker, wall):
    """REQ-W03 [bubblewrap, openshell]."""
    recording = replay(
        account, workspace, [("list", {"path": "."}, "f"), ("read", {"path": "f"}, "one")],
        [("write", {"path": "new", "content": "x"}, "."),
         ("edit", {"path": "f", "old_text": "two", "new_text": "2"}, "2")],
        [("grep", {"pattern": "one"}, "f"), ("glob", {"pattern": "*"}, "new")],
        [shell("cat f new; echo done > made")])
    done, calls = traced(account, workspace, [
        openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder", folder,
        "--model", f"replay:{recording}", "Do it."])
    assert done.returncode == 0, done.stderr
    assert (folder / "f").read_text() == "one\n2\n" and (folder / "made").exists()
    # The trace is a real one: it has the program's own files and the proof of the mount.
    assert any("config.toml" in rest for _, rest in calls)
    assert any(PROOF.search(rest) for _, rest in calls)
    assert inside(calls, folder) == []


TASKS = """{"version": "2.0.0", "tasks": [{"label": "x", "type": "shell", "command": "id"}]}"""


def test_S06_nor_do_the_other_commands(account, workspace, folder, openworker, wall):
    """What looks at a session's folders, or at what is in them, asks the runner too (S06, S08, A37)."""
    account.write(folder / ".coworker/config.toml", 'sandbox_provider = "direct"\n')
    account.write(folder / ".env", "OPENWORKER_PROVIDER=direct\n")
    (folder / "out").symlink_to("/etc/passwd")
    recording = replay(
        account, workspace,
        [("write", {"path": ".git/hooks/post-merge", "content": "#!/bin/sh\n"}, "."),
         ("write", {"path": ".vscode/tasks.json", "content": TASKS}, "."),
         ("edit", {"path": "f", "old_text": "two", "new_text": "2"}, "2")],
        [shell("git init -q nested; git config core.fsmonitor ./f; echo x > .envrc; true")])
    commands = [["run", *wall.argv, "--approve", "sandboxed", "--folder", folder, "--model", f"replay:{recording}",
                 "Do it."]]
    done, calls = traced(account, workspace, [openworker, *commands[0]])
    assert done.returncode == 0, done.stderr
    assert inside(calls, folder) == []
    listed = account.run([openworker, "sessions", "list", "--json"]).stdout.splitlines()
    session = json.loads(listed[0])["session"]
    for words in (["sessions", "changes", session], ["sessions", "show", session],
                  ["sandbox", "explain", *wall.argv, "--folder", folder, folder / "f", folder / "out", folder / "no"],
                  ["sandbox", "exec", *wall.argv, "--folder", folder, "--", "cat", "f", ".env"],
                  ["sessions", "undo", session, "--yes"]):
        done, calls = traced(account, workspace, [openworker, *words])
        assert calls and inside(calls, folder) == [], words
        assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize("argv", [
    ["cat", "{folder}/f"], ["sh", "-c", "cd {folder}; : > f"], ["sh", "-c", "exec {folder}/run"],
    ["python3", "-c", "import os; d = os.open('{folder}', os.O_RDONLY); os.open('f', 0, dir_fd=d)"],
    ["mv", "{folder}/f", "{folder}/g"], ["ln", "-s", "x", "{folder}/link"], ["rm", "{folder}/f"],
])
def test_S06_the_look_outside_would_see_it(account, workspace, folder, argv):
    """The control: what the program must not do is found when another does it."""
    account.write(folder / "run", "#!/bin/sh\n", 0o755)
    done, calls = traced(account, workspace, [word.format(folder=folder) for word in argv])
    assert done.returncode == 0, done.stderr
    assert inside(calls, folder) != []
    assert os.listdir(folder)
