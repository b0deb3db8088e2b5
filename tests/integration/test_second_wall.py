# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""What is behind the wall and still none of a command's: what the file tools keep for undo, the
runner's process and its socket; and the terminal of who started it all (hole S20). Tried from a
command of the shell, of `sandbox exec` and of a background task, behind each wall."""

import hashlib
import re

import pytest
from replays import replay, shell
from terminal import Terminal

OLD = "what it held before\n"
HASH = hashlib.sha256(OLD.encode()).hexdigest()
# The folder is one of the mounts.
UNDO = "u=$(awk '$5 ~ /sessions.*undo$/ { print $5 }' /proc/self/mountinfo); echo \"undo=$u\"; "


def tries(prefix=""):
    """Each line says what was done, where it could be."""
    return UNDO + f"""
cat "$u/{HASH}" 2>/dev/null && echo READ
(echo x >> "$u/{HASH}") 2>/dev/null && echo WRITTEN
(echo x > "$u/{prefix}new") 2>/dev/null && echo MADE
rm "$u/{HASH}" 2>/dev/null </dev/null && echo REMOVED
mv "$u/{HASH}" "$u/moved" 2>/dev/null && echo MOVED
ln "$u/{HASH}" stolen 2>/dev/null && echo LINKED
mkdir "$u/{prefix}folder" 2>/dev/null && echo FOLDER
rmdir "$u" 2>/dev/null && echo GONE
grep -E '^NoNewPrivs:.*1$' /proc/self/status
echo over
"""


def kept(workspace):
    folders = list((workspace.home / ".local/share/coworker/sessions").glob("*/undo"))
    assert len(folders) == 1, folders
    return folders[0]


def check(text):
    assert re.search(r"undo=/.+/undo\b", text), text
    assert "NoNewPrivs" in text and "over" in text, text
    for word in ["READ", "WRITTEN", "MADE", "REMOVED", "MOVED", "LINKED", "FOLDER", "GONE", OLD]:
        assert word not in text, text


@pytest.fixture
def folder(account, workspace, wall):
    account.write(workspace.folder / "f", OLD)
    return workspace.folder


def run(account, openworker, wall, folder, recording):
    return account.run([openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder", folder,
                        "--model", f"replay:{recording}", "Do it."], timeout=120)


def test_S24_command_does_not_reach_what_undo_needs(account, workspace, folder, openworker, wall):
    recording = replay(
        account, workspace, ("write", {"path": "f", "content": "new\n"}, "."),
        shell(f"exec > out 2>&1; {tries()}"),
        ("task_start", {"command": f"exec > out2 2>&1; {tries('t')}"}, "."),
        ("task_wait", {"task": "t1", "timeout_s": 60}, "exit 0"),
        ("edit", {"path": "f", "old_text": "new", "new_text": "newer"}, "."))
    done = run(account, openworker, wall, folder, recording)
    assert done.returncode == 0, done.stderr
    check((folder / "out").read_text())
    check((folder / "out2").read_text())
    # It is there all the same, and the file tools go on keeping.
    assert (kept(workspace) / HASH).read_text() == OLD
    assert (kept(workspace) / hashlib.sha256(b"new\n").hexdigest()).read_text() == "new\n"


def test_program_of_a_person_does_not_reach_it_either(account, workspace, folder, openworker, wall):
    done = account.run([openworker, "sandbox", "exec", *wall.argv, "--folder", folder, "--", "sh", "-c",
                        f"{tries()}"])
    check(done.stdout)


def test_S03_command_closes_what_undo_needs(account, workspace, folder, openworker, wall):
    """Its owner may change a file's mode, Landlock or not: it is opened again."""
    recording = replay(
        account, workspace, ("write", {"path": "f", "content": "new\n"}, "."),
        shell(f"{{ {UNDO} chmod 0 $u/{HASH} && chmod 0 $u && echo CLOSED; }} > out 2>&1"),
        ("write", {"path": "f", "content": "newer\n"}, "Replaced"),
        shell(f"{{ {UNDO} chmod 0 $u/{HASH} $u; }} > out2 2>&1"))
    done = run(account, openworker, wall, folder, recording)
    assert done.returncode == 0, done.stderr
    assert "CLOSED" in (folder / "out").read_text()
    assert (folder / "f").read_text() == "newer\n"
    # The next sandbox gets it open, and finds all that it needs.
    session = next((workspace.home / ".local/share/coworker/sessions").glob("*")).name
    done = account.run([openworker, "sessions", "undo", session, "--yes"], timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "f").read_text() == OLD


# The runner's process is the parent of the shell.
RUNNER = """
kill -9 $PPID 2>/dev/null && echo KILLED
kill -STOP $PPID 2>/dev/null && echo STOPPED
head -c 1 /proc/$PPID/mem >/dev/null 2>&1 && echo MEMORY
head -c 1 /proc/$PPID/environ 2>/dev/null | grep -q . && echo ENVIRONMENT
for f in /proc/$PPID/fd/*; do readlink $f >/dev/null 2>&1 && echo "FD $f"; done
ls /proc/$PPID/cwd/ >/dev/null 2>&1 && echo CWD
ls -l /proc/self/fd | grep -c -- '->'
echo over
"""


def test_S24_command_does_not_reach_the_runner(account, workspace, folder, openworker, wall):
    recording = replay(account, workspace, shell("x=kept"), shell(f"{{ {RUNNER} }} > out 2>&1"),
                       shell("echo $x > out2"))
    done = run(account, openworker, wall, folder, recording)
    assert done.returncode == 0, done.stderr
    # Its own three, and the folder that is being listed.
    assert (folder / "out").read_text() == "4\nover\n"
    assert (folder / "out2").read_text() == "kept\n"


KNOCK = """
import os, socket
for path in ["/run/ow/runner.sock", "/tmp/.openworker.sock"]:
    if not os.path.exists(path):
        continue
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    try:
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"openworker/probe","params":'
                  b'{"op":"read","path":"/etc/passwd"}}\\n')
        print("heard", s.recv(65536))
    except (ConnectionResetError, BrokenPipeError):
        print("heard", b"")
    if path.startswith("/run"):
        for name in [os.remove, lambda p: os.rename(p, p + "x"), lambda p: open(p + "x", "w")]:
            try:
                name(path)
                print("CHANGED")
            except OSError:
                pass
print("over")
"""


def test_S24_command_is_not_heard_at_the_runners_socket(account, workspace, folder, openworker,
                                                        wall):
    account.write(folder / "knock.py", KNOCK)
    recording = replay(account, workspace, shell("python3 knock.py > out 2>&1"),
                       # One that has lost its parent is one all the same.
                       shell("(setsid python3 knock.py > out2 2>&1 &) ; sleep 1; "
                             "while ! grep -q over out2; do sleep 0.1; done"),
                       shell("echo still here > out3"))
    done = run(account, openworker, wall, folder, recording)
    assert done.returncode == 0, done.stderr
    for name in ["out", "out2"]:
        assert (folder / name).read_text() == "heard b''\nover\n"
    assert (folder / "out3").read_text() == "still here\n"


# A letter into the terminal, and the console's selection and paste.
TERMINAL = """
import fcntl, os, sys, termios
TIOCLINUX = 0x541C
for name in ["/dev/tty", 0, 1, 2]:
    try:
        fd = os.open(name, os.O_RDWR | os.O_NOCTTY) if isinstance(name, str) else name
    except OSError:
        continue
    for what, request, letters in [("STI", termios.TIOCSTI, b"typed!"), ("SELECT", TIOCLINUX, b"\\2"),
                                   ("PASTE", TIOCLINUX, b"\\3")]:
        for letter in letters:
            try:
                fcntl.ioctl(fd, request, bytes([letter]) + bytes(16))
                print("DONE", what, name)
            except OSError:
                pass
print("over")
"""


def test_S20_no_command_types_into_a_terminal(account, workspace, folder, openworker, wall):
    account.write(folder / "tty.py", TERMINAL)
    recording = replay(
        account, workspace, shell("python3 tty.py > out 2>&1"),
        ("task_start", {"command": "python3 tty.py > out2 2>&1; tty > out3", "pty": True}, "."),
        ("task_wait", {"task": "t1", "timeout_s": 60}, "exit 0"))
    # The program itself stands on a terminal.
    with Terminal(account, [openworker, "run", *wall.argv, "--approve", "sandboxed", "--folder", folder,
                            "--model", f"replay:{recording}", "Do it."]) as terminal:
        assert terminal.end(120) == 0, terminal.text
    done = account.run([openworker, "sandbox", "exec", *wall.argv, "--folder", folder, "--", "python3",
                        "tty.py"])
    for name, text in [("shell", (folder / "out").read_text()), ("exec", done.stdout),
                       ("task", (folder / "out2").read_text())]:
        assert text.endswith("over\n"), text
        assert "DONE" not in text, (name, text)
    assert re.match(r"/dev/pts/\d+\n|/dev/(console|tty)\n|not a tty\n", (folder / "out3").read_text())


@pytest.mark.parametrize("account_kind", ["ordinary"], indirect=True)
def test_direct_is_no_wall(account, workspace, openworker):
    """There a command is the person, and reaches what undo needs: the control of all the above."""
    done = account.run([openworker, "sandbox", "exec", "--provider", "direct", "--folder",
                        workspace.folder, "--", "sh", "-c",
                        "for d in ~/.local/share/coworker/sessions/*/undo; do echo x > $d/new && "
                        "echo MADE; done"])
    assert "MADE" in done.stdout, done.stderr
    assert (kept(workspace) / "new").read_text() == "x\n"
