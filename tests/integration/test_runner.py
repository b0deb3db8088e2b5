# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""openworker-runner as a program: its shell, its calls and its output."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import scaled, wait_until
from runner_client import Client, Shell, servers

MIB = 1024 * 1024


@pytest.fixture
def serve(ordinary_user, workspace, runner):
    """Starts a server on stdin and stdout and gives its client."""
    with servers(ordinary_user, runner, workspace.folder) as start:
        yield start


@pytest.fixture
def listening(ordinary_user, workspace, runner):
    """Starts a server on a socket: (process, path, a function that connects)."""

    def start(*options):
        path = workspace.runtime / "runner"
        process = ordinary_user.popen(
            [runner, "serve", "--socket", path, "--folder", workspace.folder, *options],
            stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"

        def connect(initialize=True):
            link = socket.socket(socket.AF_UNIX)
            link.connect(str(path))
            client = Client(link.makefile("rb"), link.makefile("wb"))
            client.link = link
            client.hello = client.wait(
                lambda message: message.get("method") == "notifications/openworker/hello")
            assert client.messages[0][1] is client.hello
            if initialize:
                client.initialize()
            return client

        return process, path, connect

    return start


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^VmRSS:\s+(\d+)", file.read(), re.MULTILINE)[1]) * 1024


# The face.

def test_initialize_and_list(serve):
    client = serve()
    assert client.hello["protocolVersion"] == "2025-06-18"
    assert re.fullmatch("[0-9a-f]{32}", client.hello["_meta"]["openworker/instance"])
    assert client.hello["_meta"]["openworker/version"]
    tools = client.request("tools/list", {})["result"]["tools"]
    assert {tool["name"] for tool in tools} == {
        "shell", "exec", "list", "read", "write", "edit", "grep", "glob", "undo", "changes",
        "settings", "task_start", "task_read", "task_wait", "task_stop", "task_list"}
    for tool in tools:
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])
    assert client.request("no/such", {})["error"]["code"] == -32601
    assert "error" in client.request("tools/call", {"name": "nope", "arguments": {}})


def test_stdio_ends_with_stdin_and_leaves_nothing(serve):
    client = serve()
    left = client.shell("setsid -f sleep 600; sleep 600 &")
    assert len(left.leftovers) == 2
    client.process.stdin.close()
    assert client.process.wait(scaled(10)) == 0
    assert not any(is_alive(entry["pid"]) for entry in left.leftovers)


@pytest.mark.parametrize("argv", [
    [], ["nope"], ["serve"], ["serve", "--stdio"], ["serve", "--folder", "/"],
    ["serve", "--stdio", "--socket", "x", "--folder", "/"],
    ["serve", "--stdio", "--folder"], ["serve", "--stdio", "--folder", ""],
    ["serve", "--stdio", "--folder", "/", "--lease", "0"],
    ["serve", "--stdio", "--folder", "/", "--lease", "1x"],
    ["serve", "--stdio", "--folder", "/", "--proxy-port", "80"],
    ["serve", "--stdio", "--folder", "/", "--proxy-socket", "x", "--proxy-port", "65536"],
    ["serve", "--stdio", "--folder", "/", "--landlock-ro", "/"],
    ["attach"], ["attach", "--socket"], ["connect"], ["connect", "host"],
    ["connect", "host", "0"], ["connect", "host", "99999"], ["connect", "-x", "22"],
    ["--version", "x"]])
def test_wrong_use_is_2(ordinary_user, workspace, runner, argv):
    done = ordinary_user.run([runner, *argv])
    assert done.returncode == 2 and "sage" in done.stderr and done.stdout == ""


def test_folder_that_is_none_fails(ordinary_user, workspace, runner):
    done = ordinary_user.run([runner, "serve", "--stdio", "--folder", workspace.path / "nope"])
    assert done.returncode == 1 and "No such file" in done.stderr


# The shell.

def test_shell_keeps_its_state(serve, workspace):
    client = serve()
    (workspace.folder / "sub").mkdir()
    assert client.shell("cd sub; X=5; export Y=6; f() { echo f $X $1; }; declare -A m=([a]=b)"
                        ).cwd == str(workspace.folder / "sub")
    done = client.shell("f 1; echo ${m[a]}; sh -c 'echo $Y'; pwd")
    assert done.output == f"f 5 1\nb\n6\n{workspace.folder}/sub\n"
    assert re.fullmatch(r"\[exit 0, \d+\.\d\d s, " + re.escape(str(workspace.folder / "sub"))
                        + r"\]", done.last_line)
    assert client.shell("false").exit_status == 1
    assert client.shell("echo $?").output == "1\n"


def test_shell_has_no_person(serve):
    client = serve()
    names = ["PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "TERM", "DEBIAN_FRONTEND", "MANPAGER",
             "SYSTEMD_PAGER", "EDITOR", "SSH_ASKPASS_REQUIRE", "PIP_NO_INPUT"]
    done = client.shell("; ".join(f"echo ${name}" for name in names) + "; tty; cat; echo $-")
    assert done.output.split("\n")[:11] == ["cat", "cat", "0", "dumb", "noninteractive", "cat", "cat",
                                            "false", "never", "1", "not a tty"]
    assert "i" not in done.output.split("\n")[11]


@pytest.fixture
def asking():
    """The port of a server that wants a name and a password for all that it has."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


REPOSITORY = ("git init -q r; cd r; git config user.email a@b; git config user.name x; "
              "git commit -q --allow-empty -m one; ")
# What a person would be asked for: (command, what it says, exit status).
ASKS = {
    "read": ("read x; echo \"<$x>\"", "<>", 0),
    "read-with-prompt": ("read -p 'sure? ' x || echo no", "no", 0),
    "select": ("select x in a b; do :; done; echo over", "over", 0),
    "input": ("python3 -c 'input()'", "EOFError", 1),
    "interpreter": ("python3; bash; echo over", "over", 0),
    "pager": ("less /etc/passwd | tail -n 1; git -C . --paginate help -a | head -n 1", "", None),
    "log": (REPOSITORY + "git log", "one", 0),
    "commit": (REPOSITORY + "git commit --allow-empty", "There is no editor", 1),
    "amend": (REPOSITORY + "git commit --amend --allow-empty", "There is no editor", 1),
    "rebase": (REPOSITORY + "git commit -q --allow-empty -m two; git rebase -i HEAD~1",
               "There is no editor", 1),
    "merge": (REPOSITORY + "git checkout -q -b b; git commit -q --allow-empty -m two; "
              "git checkout -q -; git merge --no-ff b; git log --format=%s | head -n 1",
              "Merge branch 'b'", 0),
    "password": ("git clone http://127.0.0.1:{port}/x y", "could not read Username", 128),
    "ssh": ("ssh -o ConnectTimeout=2 -p {port} 127.0.0.1 true; [ $? = 255 ]", "", 0),
    "ssh-key": ("ssh-keygen -q -t ed25519 -f k -N x; ssh-keygen -y -f k", "", None),
    "terminal": ("cat /dev/tty", "No such device or address", 1),
}


@pytest.mark.parametrize("way", ["shell", "task", "pty"])
@pytest.mark.parametrize("name", ASKS)
def test_shell_asks_nobody(serve, asking, name, way):
    """What would ask a person, or wait for one, ends at once; with a terminal of its own too,
    where nobody but a person could be meant."""
    command, says, status = ASKS[name]
    command = command.replace("{port}", str(asking))
    client = serve()
    begun = time.monotonic()
    if way == "shell":
        done = client.shell(command, timeout_s=60)
        output = done.output
    else:
        if way == "pty" and name in ("read", "read-with-prompt", "select", "input", "interpreter",
                                     "terminal", "pager", "ssh-key"):
            command = f"({command}) </dev/null" if name != "terminal" else "setsid -w " + command
            command = command if name != "ssh-key" else "true"
        task = client.call("task_start", {"command": command, "pty": way == "pty"})
        task = task["structuredContent"]["task"]
        done = Shell(client.call("task_wait", {"task": task, "timeout_s": 60}))
        output = done.output
        assert done.state == "ended"
    assert time.monotonic() - begun < scaled(15)
    assert says in output
    assert status is None or done.exit_status == status, output


BACKGROUND = {
    "sleep": ("sleep 600 &", {"sleep"}),
    "sleep-with-redirection": ("sleep 600 >/dev/null 2>&1 </dev/null &", {"sleep"}),
    "setsid": ("setsid -f sleep 600", {"sleep"}),
    "setsid-background": ("setsid sleep 600 &", {"sleep", "setsid"}),
    "nohup": ("nohup sleep 600 &", {"sleep", "nohup"}),
    "disown": ("sleep 600 & disown", {"sleep"}),
    "double-fork": ("( ( sleep 600 & ) & )", {"sleep"}),
    "pipeline": ("sleep 600 | cat &", {"sleep", "cat"}),
    "writes-for-ever": ("yes &", {"yes"}),
    "writes-for-ever-apart": ("setsid -f yes; setsid -f sh -c 'yes >&2'", {"yes", "sh", "setsid"}),
    "shell-writes-for-ever": ("while :; do echo x; done &", {"bash"}),
    "ignores-signals": ("(trap '' HUP INT TERM; sleep 600) &", {"sleep", "bash"}),
    "coprocess": ("coproc sleep 600", {"sleep"}),
    "holds-other-descriptors": ("sleep 600 3>&1 4>&2 5>&1 >/dev/null 2>&1 &", {"sleep"}),
}


@pytest.mark.parametrize("name", BACKGROUND)
def test_shell_P05_background_does_not_delay(serve, workspace, name):
    """What goes on in the background neither delays the call nor is missed in its result,
    nor writes into the next one's, and is ended with the server."""
    command, names = BACKGROUND[name]
    client = serve()
    client.shell("true")
    begun = time.monotonic()
    done = client.shell(command + "\necho >went-on", timeout=20)
    assert time.monotonic() - begun < scaled(5)
    assert (done.exit_status, done.timed_out) == (0, False)
    assert (workspace.folder / "went-on").exists()
    assert done.left and done.left <= names | {"bash", "setsid", "nohup", "sh"}
    assert "still running: " in done.last_line
    # What was still starting has its name by now.
    again = wait_until(lambda: (found := client.shell("echo next")).left <= names and found)
    assert again.output == "next\n" and again.left
    pids = [entry["pid"] for entry in again.leftovers]
    client.process.stdin.close()
    client.process.wait(scaled(10))
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("command", ["sleep 600 & echo ok", "setsid sleep 600 & echo ok",
                                     "setsid -f sleep 600; echo ok"])
def test_shell_A34_server_does_not_hold_the_call(serve, command):
    client = serve()
    client.shell("true")
    begun = time.monotonic()
    done = client.shell(command, timeout=20)
    assert time.monotonic() - begun < scaled(1)
    assert done.output == "ok\n" and done.exit_status == 0
    # Once it has the name of what it runs.
    assert wait_until(lambda: "sleep" in client.shell("true").left)


FALSE_MARKER = "d\\n" + "0" * 32 + " 0 1 0\\n"
# name: (command, exit status, signal, whether the shell is a new one after it)
ENDS = {
    "exit": ("exit 7", 7, None, True),
    "exit-in-function": ("f() { exit 8; }; f; echo no", 8, None, True),
    "exit-in-subshell": ("(exit 9)", 9, None, False),
    "exec-program": ("exec sh -c 'echo in; exit 11'", 11, None, True),
    "exec-missing": ("exec /nonexistent", 127, None, True),
    "close-stdout": ("exec 1>&-; (exit 3)", 3, None, False),
    "close-all": ("exec 0<&- 1>&- 2>&-; (exit 3)", 3, None, False),
    "close-low-descriptors": ("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; (exit 3)", 3, None, False),
    "redirect-for-good": ("exec >/dev/null 2>&1; (exit 3)", 3, None, False),
    "use-8-and-9": ("exec 8>/dev/null 9</dev/null; (exit 3)", 3, None, False),
    "kill-term": ("kill $$; sleep 5", None, signal.SIGTERM, True),
    "kill-kill": ("kill -KILL $$", None, signal.SIGKILL, True),
    "kill-hup": ("kill -HUP $$; sleep 5", None, signal.SIGHUP, True),
    "kill-int": ("kill -INT $$; sleep 5", 130, None, True),
    "kill-int-trapped": ("trap 'echo i' INT; kill -INT $$; (exit 4)", 4, None, False),
    "errexit": ("set -e; (exit 6); echo no", 6, None, True),
    "nounset": ("set -u; echo $nope; echo no", 1, None, True),
    "syntax-error": ("if then (", 2, None, False),
    "unfinished-quote": ("echo 'x", 2, None, False),
    "unfinished-heredoc": ("cat <<E >/dev/null\nx", 0, None, False),
    "heredoc": ("cat <<'E' >/dev/null\n$x `y` '\nE\n(exit 3)", 3, None, False),
    "not-found": ("no-such-program-here", 127, None, False),
    "child-killed": ("sh -c 'kill -9 $$'", 137, None, False),
    "false-marker-out": (f"printf '{FALSE_MARKER}'; (exit 5)", 5, None, False),
    "false-marker-err": (f"printf '{FALSE_MARKER}' >&2; (exit 5)", 5, None, False),
    "false-marker-everywhere": (
        f"for n in 3 4 5 6 7 8 9 10 11 12 13 250 255; do eval \"printf '{FALSE_MARKER}' >&$n\"; "
        "done 2>/dev/null; (exit 5)", 5, None, False),
    "prompts": ("PS1='x$(exit 9)'; PS0=y; PROMPT_COMMAND='echo p; exit 9'; (exit 3)",
                3, None, False),
    "trap-debug": ("trap 'echo dbg; false' DEBUG; (exit 3)", 3, None, False),
    "trap-err": ("trap 'echo err; false' ERR; (exit 3)", 3, None, False),
    "trap-return": ("trap 'echo ret; false' RETURN; (exit 3)", 3, None, False),
    "trap-exit": ("trap 'echo bye' EXIT; (exit 3)", 3, None, False),
    "trap-exit-changes-status": ("trap 'exit 44' EXIT; exit 3", 44, None, True),
    "inherited-traps": ("set -ET; trap 'echo e' ERR; trap 'echo d' DEBUG; (exit 3)",
                        3, None, False),
    "break": ("break; break 9; continue; (exit 3)", 3, None, False),
    "break-in-loop": ("while :; do break 5; done; (exit 3)", 3, None, False),
    "return": ("return 4", None, None, False),
    "functions": ("read() { :; }; printf() { :; }; echo() { :; }; trap() { :; }; set() { :; }; "
                  "exit() { :; }; unset() { :; }; declare() { :; }; source() { :; }; (false)",
                  1, None, False),
    "function-builtin": ("builtin() { :; }; (false)", 1, None, False),
    "function-command": ("command() { :; }; (false)", 1, None, False),
    "function-eval": ("eval() { :; }; (false)", 1, None, False),
    "aliases": ("shopt -s expand_aliases; alias eval=: builtin=: printf=: exit=: unset=:; (exit 3)",
                3, None, False),
    "posix": ("set -o posix; (exit 3)", 3, None, False),
    "noclobber": ("set -C; (exit 3)", 3, None, False),
    "noglob-failglob": ("set -f; shopt -s failglob nullglob; (exit 3)", 3, None, False),
    "verbose": ("set -vx; (exit 3)", 3, None, False),
    "field-separator": ("IFS=0123456789abcdef; (exit 3)", 3, None, False),
    "few-descriptors": ("ulimit -n 20; (exit 3)", 3, None, False),
    "few-processes": ("ulimit -c 0; ulimit -t 60; (exit 3)", 3, None, False),
    "limit-of-files": ("ulimit -f 0; (exit 3)", 3, None, False),
    "limit-of-memory": ("ulimit -v 300000; (exit 3)", 3, None, False),
    "no-descriptors": ("ulimit -n 3; (exit 3)", 3, None, True),
    "no-script": ("for i in $(seq 0 300); do eval \"exec $i<&-\"; done", None, None, True),
    "reads-its-script": ("exec 10<&0; cat <&10 >/dev/null; for f in /proc/$$/fd/*; do "
                         "[ -p $f ] && timeout 0.3 cat $f; done; (exit 3)", None, None, True),
    "read-only-ours": ("readonly __ow_status=5 __ow_nonce=x __ow_hidden=1 __ow_text=y; (exit 3)",
                       3, None, False),
    "read-only-posix": ("readonly POSIXLY_CORRECT=y; (exit 3)", 3, None, False),
    "read-only-separator": ("readonly IFS=0123; (exit 3)", 3, None, False),
    "other-kinds": ("declare -i __ow_status __ow_nonce; declare -u __ow_hidden; (exit 3)",
                    3, None, False),
    "no-builtins": ("enable -n printf read umask; (exit 3)", 3, None, False),
    "restricted": ("set -r; (exit 3)", 3, None, True),
    "one-command": ("set -t; (exit 3)", 3, None, True),
    "reads-only": ("set -n; (exit 3)", None, None, True),
    "skips-all": ("shopt -s extdebug; trap false DEBUG; (exit 3)", None, None, True),
    "all-options": ("set -kbhm; shopt -s execfail lastpipe xpg_echo; (exit 3)", 3, None, False),
    "coprocess": ("coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; [ $x = hi ]",
                  0, None, False),
    "job-control": ("set -m; sleep 0.1 & fg; sleep 0.1 & wait; (exit 3)", 3, None, False),
    "deaf": ("trap '' INT TERM HUP; (exit 3)", 3, None, False),
    "own-group": ("kill -TERM 0; sleep 5", None, signal.SIGTERM, True),
    "stops-itself": ("(sleep 0.3; kill -CONT $$) & kill -STOP $$; (exit 3)", 3, None, False),
    "terminal": ("stty raw; cat /dev/tty; echo x >/dev/tty; suspend; (exit 3)", 3, None, False),
    "logout": ("logout; (exit 3)", 3, None, False),
    "bash": ("exec bash", 0, None, True),
    "interactive": ("bash -i; (exit 3)", 3, None, False),
    "unset": ("unset PATH HOME PWD OLDPWD; (exit 3)", 3, None, False),
    "mask": ("umask 777; (exit 3)", 3, None, False),
    "nul": ("printf 'a\\0b'; (exit 3)", 3, None, False),
    "folder-vanishes": ("mkdir gone; cd gone; rmdir ../gone; (exit 3)", 3, None, False),
    "reads-stdin": ("read x; cat; (exit 3)", 3, None, False),
    "quotes": ("printf '%s' \"'\" '\"' \"'\\''\" >/dev/null; (exit 3)", 3, None, False),
    "newlines": ("\n\n(exit 3)\n\n", 3, None, False),
    "carriage-return": ("true\r\n(exit 3)", 3, None, False),
    "comment": ("(exit 3) # and no more", 3, None, False),
    "empty": ("", 0, None, False),
    "no-tmout": ("TMOUT=1; (exit 3)", 3, None, False),
    "long": ("x='" + "a b\\\n\"$(" * (MIB // 8) + "'; [ ${#x} = 1048576 ] && (exit 3)",
             3, None, False),
    "long-with-quotes": ("x='" + ("a" * 998 + "'\\''") * 600 + "'; [ ${#x} = 599400 ] && (exit 3)",
                         3, None, False),
}


@pytest.mark.parametrize("name", ENDS)
def test_shell_P06_status_is_true(serve, name):
    """Whatever a command does to the shell, its call ends in time with the true status, and
    the next command runs as if nothing had been."""
    command, exit_status, number, restarted = ENDS[name]
    client = serve()
    client.shell("kept=yes")
    begun = time.monotonic()
    done = client.shell(command, timeout=20)
    assert time.monotonic() - begun < scaled(10)
    assert not done.is_error and not done.timed_out
    if exit_status is not None or number:
        assert (done.exit_status, done.signal) == (exit_status, number and int(number))
    assert done.shell_restarted is restarted
    assert done.last_line.startswith(
        f"[signal {done.signal} " if done.signal else f"[exit {done.exit_status}, ")
    assert ("a new one starts" in done.last_line) is restarted
    again = client.shell("unset -f echo printf; unalias -a; trap - DEBUG ERR; set +vx; "
                         "/bin/echo next \"$kept\"", timeout=20)
    assert again.output.replace("e\n", "").endswith("next yes\n" if not restarted else "next \n")
    assert (again.exit_status, again.shell_restarted) == (0, False)


def test_shell_P06_new_shell_stays_where_it_was(serve, workspace):
    client = serve()
    (workspace.folder / "a b'c\n").mkdir()
    client.shell("cd 'a b'\\''c\n'")
    assert client.shell("exit 1").cwd == f"{workspace.folder}/a b'c\n"
    done = client.shell("pwd")
    assert done.output == f"{workspace.folder}/a b'c\n\n"
    # The last line is one line, whatever a folder is called.
    assert done.last_line.endswith(f"{workspace.folder}/a b'c?]")
    client.shell("rmdir ../a*")
    client.shell("exit 1")
    assert client.shell("pwd").output == f"{workspace.folder}\n"


def test_shell_killed_between_commands(serve):
    client = serve()
    pid = int(client.shell("echo $$").output)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    # Nobody was told of it yet.
    done = client.shell("echo on")
    assert done.output == "on\n" and done.shell_restarted and not done.state_kept
    assert "the shell had ended before this" in done.last_line
    assert client.shell("echo on").shell_restarted is False


def test_shell_timeout_says_so(serve, workspace):
    client = serve()
    begun = time.monotonic()
    done = client.shell("kept=1; sleep 600; touch after", timeout_s=1)
    assert 1 <= time.monotonic() - begun < scaled(5)
    assert done.timed_out and "timed out after 1 s" in done.last_line
    assert not (workspace.folder / "after").exists()
    assert client.shell("echo $kept").output == "1\n"


def test_shell_timeout_kills_what_does_not_listen(serve, workspace):
    client = serve()
    done = client.shell("trap '' INT; (trap '' INT TERM; setsid sleep 601) & sleep 602; touch after",
                        timeout_s=1, timeout=30)
    assert done.timed_out and done.shell_restarted and done.signal == signal.SIGKILL
    assert done.leftovers == []
    assert "a new one starts" in done.last_line
    assert not (workspace.folder / "after").exists()
    assert client.shell("echo on").output == "on\n"


@pytest.mark.parametrize("value", [0, -1, 601, 1e300, "1", [], True])
def test_shell_refuses_wrong_timeouts(serve, value):
    done = serve().call("shell", {"command": "echo x >made", "timeout_s": value})
    assert done["isError"] and "timeout_s" in done["content"][0]["text"]


@pytest.mark.parametrize("arguments", [{}, {"command": 1}, {"command": None}, {"command": []}])
def test_shell_refuses_wrong_commands(serve, arguments):
    assert serve().call("shell", arguments)["isError"]


# Cancelling.

@pytest.mark.parametrize("command", [
    "sleep 600; touch after", "while :; do :; done; touch after",
    "for i in $(seq 600); do sleep 1; done; touch after",
    "sh -c 'sleep 600'; touch after", "sleep 600 | cat; touch after",
    "python3 -c 'import time; time.sleep(600)'; touch after",
    "f() { sleep 600; touch after; }; f; touch after"])
def test_cancel_is_quick_and_ends_all(serve, workspace, command):
    client = serve()
    client.shell("cd /usr; kept=1; g() { echo g; }; export E=2")
    request = client.start_call("shell", {"command": f"cd {workspace.folder}; {command}"}, "c1")
    time.sleep(0.3)
    begun = time.monotonic()
    client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    reply = client.reply(request)["result"]
    assert time.monotonic() - begun < scaled(1)
    assert reply["structuredContent"]["cancelled"] is True
    assert "cancelled" in reply["content"][0]["text"]
    again = client.shell("echo $kept $E; g; pwd")
    assert again.output == f"1 2\ng\n{workspace.folder}\n"
    assert not (workspace.folder / "after").exists()
    assert not again.leftovers


def test_cancel_kills_after_three_seconds(serve):
    client = serve()
    request = client.start_call("exec", {"argv": ["sh", "-c", "trap '' INT; sleep 600; sleep 600"]})
    time.sleep(0.3)
    begun = time.monotonic()
    client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    facts = client.reply(request)["result"]["structuredContent"]
    assert 2.5 < time.monotonic() - begun < scaled(10)
    assert facts["cancelled"] and facts["signal"] == signal.SIGKILL and not facts["leftovers"]


def test_cancel_of_one_that_waits(serve, workspace):
    client = serve()
    first = client.start_call("shell", {"command": "sleep 1"})
    second = client.start_call("shell", {"command": "touch second"})
    client.send({"method": "notifications/cancelled", "params": {"requestId": second}})
    facts = client.reply(second)["result"]["structuredContent"]
    assert facts["cancelled"] and facts["exit_status"] is None
    assert client.reply(first)["result"]["structuredContent"]["exit_status"] == 0
    assert not (workspace.folder / "second").exists()


# exec.

def test_exec(serve, workspace):
    client = serve()
    done = client.call("exec", {"argv": ["sh", "-c", "pwd; echo e >&2; exit 3", "x y"]})
    assert done["content"][0]["text"].startswith(f"{workspace.folder}\ne\n[exit 3, ")
    assert done["structuredContent"]["exit_status"] == 3
    done = client.call("exec", {"argv": ["sh", "-c", "kill -9 $$"], "cwd": "/"})
    assert (done["structuredContent"]["signal"], done["isError"]) == (9, False)
    (workspace.folder / "sub").mkdir()
    done = client.call("exec", {"argv": ["pwd"], "cwd": "sub"})
    assert done["content"][0]["text"].startswith(f"{workspace.folder}/sub\n")
    done = client.call("exec", {"argv": ["sh", "-c", "sleep 600 & setsid -f sleep 601"]})
    assert len(done["structuredContent"]["leftovers"]) == 2
    done = client.call("exec", {"argv": ["sleep", "600"], "timeout_s": 1})
    assert done["structuredContent"]["timed_out"] and done["structuredContent"]["signal"] == 2


@pytest.mark.parametrize("arguments", [
    {}, {"argv": []}, {"argv": "ls"}, {"argv": [1]}, {"argv": [""]}, {"argv": ["ls", None]},
    {"argv": ["ls"], "timeout_s": -1}, {"argv": ["ls"], "timeout_s": "1"}])
def test_exec_refuses(serve, arguments):
    assert serve().call("exec", arguments)["isError"]


@pytest.mark.parametrize("argv, cwd, status", [
    (["/nonexistent"], "/", 127), (["ls"], "/nonexistent", 127), (["/etc/passwd"], "/", 126),
    (["/etc/passwd/x"], "/", 127), (["x" * 300], "/", 126)])
def test_exec_of_what_is_no_program(serve, argv, cwd, status):
    done = serve().call("exec", {"argv": argv, "cwd": cwd})
    assert done["structuredContent"]["exit_status"] == status
    assert "could not be started" in done["content"][0]["text"]


# Calls.

def test_call_runs_at_most_once(serve, workspace):
    client = serve()
    first = client.call("shell", {"command": "echo x >>made; cat made"}, "once")
    assert client.call("shell", {"command": "echo x >>made"}, "once") == first
    assert client.call("write", {"path": "made", "content": ""}, "once") == first
    assert (workspace.folder / "made").read_text() == "x\n"
    assert client.request("openworker/resume", {"callId": "once"})["result"] == {
        "state": "finished", "result": first}
    assert client.request("openworker/resume", {"callId": "none"})["result"] == {
        "state": "unknown"}


def test_call_join(serve, workspace):
    client = serve()
    requests = [client.start_call("shell", {"command": "echo x >>made; sleep 0.5"}, "same")
                for _ in range(5)]
    assert client.request("openworker/resume", {"callId": "same"})["result"] == {
        "state": "running"}
    replies = [client.reply(request)["result"] for request in requests]
    assert all(reply == replies[0] for reply in replies)
    assert (workspace.folder / "made").read_text() == "x\n"


@pytest.mark.parametrize("call_id", ["", "x" * 65, "a b", "a/b", "é", 1, None, []])
def test_call_id_must_be_one(serve, call_id):
    reply = serve().request("tools/call", {"name": "shell", "arguments": {"command": "true"},
                                           "_meta": {"openworker/callId": call_id}})
    assert reply["error"]["code"] == -32602


def test_at_most_64_at_once(serve):
    client = serve()
    requests = [client.start_call("exec", {"argv": ["sleep", "2"]}, f"c{n}") for n in range(66)]
    assert "error" in client.reply(requests[64]) and "error" in client.reply(requests[65])
    assert all(client.reply(request)["result"]["structuredContent"]["exit_status"] == 0
               for request in requests[:64])


def test_kept_results_are_limited(serve):
    client = serve()
    for n in range(260):
        client.call("exec", {"argv": ["true"]}, f"c{n}")
    assert client.request("openworker/resume", {"callId": "c0"})["result"]["state"] == "forgotten"
    assert client.request("openworker/resume", {"callId": "c259"})["result"]["state"] == "finished"
    # It is not run again either.
    reply = client.reply(client.start_call("exec", {"argv": ["true"]}, "c0"))
    assert reply["error"]["code"] == -32001


# Output.

def test_first_output_is_quick(serve):
    client = serve()
    client.shell("true")
    delays = []
    for n in range(5):
        client.shell("date +%s%N; sleep 0.2", f"c{n}")
        when, _, data, _ = client.outputs(f"c{n}")[0]
        offset = time.time_ns() / 1e9 - time.monotonic()
        delays.append(when + offset - int(data) / 1e9)
    assert min(delays) < scaled(0.02)


@pytest.mark.parametrize("size", range(1, 9))
def test_output_split_utf8(serve, size):
    """A character that is written in pieces arrives whole, at whatever byte it is cut."""
    client = serve()
    whole = "aä€😀b😀€ä".encode()
    pieces = [whole[at:at + size] for at in range(0, len(whole), size)]
    script = "; sleep 0.06; ".join(
        "printf '" + "".join(f"\\x{byte:02x}" for byte in piece) + "'" for piece in pieces)
    done = client.shell(script, "c")
    assert client.stream("c", "stdout") == whole
    assert all(is_text for *_, is_text in client.outputs("c"))
    assert done.output == whole.decode() + "\n"


@pytest.mark.parametrize("data, text", [
    (b"\xff", "�"), (b"a\x00b", "a�b"), (b"\xed\xa0\x80", "���"), (b"\xc3", "�"),
    (b"ok\xe2\x82", "ok��")])
def test_output_that_is_no_text(serve, data, text):
    client = serve()
    done = client.shell("printf '" + "".join(f"\\{byte:03o}" for byte in data) + "'", "c")
    assert client.stream("c", "stdout") == data
    assert not client.outputs("c")[-1][3]
    assert done.output == text + "\n"


def test_output_of_both_streams(serve):
    client = serve()
    done = client.shell("for i in 1 2 3; do echo o$i; sleep 0.1; echo e$i >&2; sleep 0.1; done", "c")
    assert done.output == "o1\ne1\no2\ne2\no3\ne3\n"
    assert client.stream("c", "stdout") == b"o1\no2\no3\n"
    assert client.stream("c", "stderr") == b"e1\ne2\ne3\n"
    assert done.bytes == 18
    # Without an id there is no output while it runs.
    count = len(client.messages)
    client.shell("echo x")
    assert len(client.messages) == count + 1


def test_output_limits(serve):
    """At most 32 KiB a message and 30 messages a second, also when the streams take turns."""
    client = serve()
    client.shell("for i in $(seq 3000); do echo o; echo e >&2; done; yes | head -c 3000000; "
                 "sleep 0.1; yes é | head -c 3000000", "c")
    outputs = client.outputs("c")
    assert len(outputs) > 5
    assert all(len(data) <= 32768 for _, _, data, _ in outputs)
    times = [when for when, *_ in outputs]
    for at in range(len(times) - 31):
        assert times[at + 31] - times[at] > 0.9


def test_result_keeps_head_and_tail(serve):
    client = serve()
    done = client.shell("echo first; seq 1000000; echo last")
    assert len(done.text.encode()) <= MIB
    assert done.text.startswith("first\n1\n2\n") and "\nlast\n[exit 0" in done.text
    cut = int(re.search(r"\[(\d+) bytes left out here\]", done.text)[1])
    assert done.cut == cut and f"{cut} bytes of output left out" in done.last_line
    kept = done.output.replace(f"\n[{cut} bytes left out here]\n", "")
    assert len(kept) + cut == done.bytes == len("first\nlast\n") + 6888896


def numbers(client, first, last, path):
    return client.shell(f"sed -n '{first},{last}p' {path}").output


def test_long_output_is_kept_whole(serve, workspace, ordinary_user):
    """What a model is not given of a command's output can be had without running it again."""
    client = serve("--home", workspace.home)
    short = client.shell("seq 5000")
    assert "of the output" not in short.last_line and not (workspace.home / FOLDER).exists()
    done = client.shell("seq 100000; echo end >&2; exit 3")
    path = re.search(r", all of the output is in (~/\S+)\]$", done.last_line)[1]
    assert numbers(client, 50000, 50002, path) == "50000\n50001\n50002\n"
    assert numbers(client, 100001, 100001, path) == "end\n"
    kept = workspace.home / path[2:]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    done = client.shell("seq 10000000")
    first, path = re.search(r", the first (\d+) bytes of the output are in (~/\S+)\]$",
                            done.last_line).groups()
    assert int(first) == 8 * MIB == (workspace.home / path[2:]).stat().st_size
    assert numbers(client, 400000, 400000, path) == "400000\n"
    # The oldest go first, and all with the server.
    for _ in range(8):
        client.shell("seq 20000")
    assert len(os.listdir(workspace.home / FOLDER)) == 8 and not kept.exists()
    client.process.stdin.close()
    client.process.wait(scaled(10))
    assert os.listdir(workspace.home / FOLDER) == []


FOLDER = ".openworker-output"


@pytest.mark.parametrize("spoil", [
    f"ln -s {{folder}} ~/{FOLDER}", f"touch ~/{FOLDER}", f"mkdir -m 777 ~/{FOLDER}",
    f"mkdir -m 500 ~/{FOLDER}", f"mkdir -m 700 ~/{FOLDER}; for i in $(seq 99); do ln -s "
    f"{{folder}}/x ~/{FOLDER}/$i.txt; done"])
def test_long_output_goes_nowhere_else(serve, workspace, spoil):
    """The folder is in reach of what runs: a link there leads nowhere, and the output is what it
    was, with no word of a file."""
    client = serve("--home", workspace.home)
    assert client.shell(spoil.replace("{folder}", str(workspace.folder))).exit_status == 0
    done = client.shell("seq 100000")
    assert done.exit_status == 0 and "of the output" not in done.last_line
    assert os.listdir(workspace.folder) == [] and done.output.startswith("1\n2\n")


def test_long_output_without_a_home_of_its_own_is_not_kept(serve, workspace):
    done = serve().shell("seq 100000")
    assert "of the output" not in done.last_line
    assert not (workspace.home / FOLDER).exists()


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero", "cat /dev/urandom", "yes ééé",
                                     "yes >&2 & yes"])
def test_flood_is_cheap(serve, command):
    """200 MB go by quickly with memory flat, and a reader that stalls loses the middle."""
    client = serve()
    client.shell("true")
    before = resident(client.process.pid)
    peak = [0]
    stop = threading.Event()

    def watch():
        while not stop.wait(0.02):
            peak[0] = max(peak[0], resident(client.process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.monotonic()
    done = client.shell(f"({command}) | head -c 200000000", "c", timeout=120)
    took = time.monotonic() - begun
    stop.set()
    watcher.join()
    assert done.bytes >= 200000000 and done.dropped > 0
    assert took < scaled(20)
    assert peak[0] - before < 24 * MIB
    assert len(done.text.encode()) <= MIB
    assert "not shown while it ran" in done.last_line


def bytes_of_count(last):
    """What `seq @last` writes."""
    return sum((min(last, 10**digits - 1) - 10**(digits - 1) + 1) * (digits + 1)
               for digits in range(1, len(str(last)) + 1))


@pytest.mark.parametrize("command, last", [
    ("seq 20000000", 20_000_000), ("seq 6000000; seq 6000001 12000000 >&2", 12_000_000),
    # Little pieces in the end.
    ("seq 8000000; for i in $(seq 8000001 8003000); do echo $i; done", 8_003_000)])
def test_end_of_a_flood_is_whole(serve, command, last):
    """What was passed over stands in the middle and is counted; nothing is missing behind it."""
    done = serve().shell(command, "c", timeout=120)
    begin, cut, end = re.split(r"\n\[(\d+) bytes left out here\]\n", done.output)
    numbers = [int(line) for line in end.split()[1:]]
    assert len(numbers) > 20_000 and numbers == list(range(last - len(numbers) + 1, last + 1))
    lines = begin.split()[:-1]
    assert len(lines) > 20_000 and lines == [str(number + 1) for number in range(len(lines))]
    assert done.bytes == bytes_of_count(last)
    assert len(begin) + len(end) + int(cut) == done.bytes and done.cut == int(cut)


def test_flood_is_little_on_the_way_and_the_view_follows_its_end(serve):
    """Megabytes a second are shown as a few messages, and what comes after them at once."""
    client = serve()
    begun = time.monotonic()
    done = client.shell("yes | head -c 1000000000; echo; echo after; sleep 4", "c", timeout=180)
    outputs = client.outputs("c")
    took = outputs[-1][0] - begun
    assert done.bytes > 1_000_000_000
    assert sum(len(data) for _, _, data, _ in outputs) < MIB + 32768 * took
    seen = next(when for when, _, data, _ in outputs if data.endswith(b"after\n"))
    assert done.duration_ms / 1000 - (seen - begun) > 4 - scaled(2.5)


def test_cancel_in_a_flood_ends_it(serve):
    client = serve()
    request = client.start_call("shell", {"command": "sh -c 'echo $$; exec yes'"}, "c")
    wait_until(lambda: client.outputs("c"), what="the flood")
    time.sleep(0.5)
    pid = int(client.outputs("c")[0][2].split()[0])
    begun = time.monotonic()
    client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    done = Shell(client.reply(request)["result"])
    assert time.monotonic() - begun < scaled(2) and done.cancelled
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 2, what="the end of the writer")
    assert resident(client.process.pid) < 24 * MIB


def test_slow_reader_does_not_stop_the_work(listening):
    process, _, connect = listening()
    client = connect()
    client.call("exec", {"argv": ["true"]})
    # Nobody reads from this one any more.
    link = client.link
    link.sendall(json.dumps({
        "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": {"name": "exec", "arguments": {"argv": ["sh", "-c", "yes | head -c 50000000"]},
                   "_meta": {"openworker/callId": "flood"}}}).encode() + b"\n")
    other = connect()
    wait_until(lambda: other.request("openworker/resume", {"callId": "flood"})["result"]["state"]
               == "finished", 30)
    assert resident(process.pid) < 64 * MIB


# The socket.

def test_socket_is_private_and_says_hello(listening):
    process, path, connect = listening()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    client = connect()
    params = client.hello["params"]
    assert re.fullmatch("[0-9a-f]{32}", params["instance"]) and params["version"]
    assert params["pid"] == process.pid
    process.terminate()
    assert process.wait(scaled(10)) == 0
    assert not path.exists()


def test_second_server_is_refused_and_a_dead_socket_replaced(listening, ordinary_user, workspace,
                                                             runner):
    process, path, connect = listening()
    connect()
    argv = [runner, "serve", "--socket", path, "--folder", workspace.folder]
    done = ordinary_user.run(argv)
    assert done.returncode == 1 and "served already" in done.stderr
    process.kill()
    process.wait()
    assert path.exists()
    again, _, connect = listening()
    assert connect().shell("echo on").output == "on\n"
    again.terminate()
    again.wait(scaled(10))
    path.write_text("precious")
    done = ordinary_user.run(argv)
    assert done.returncode == 1 and "no socket" in done.stderr
    assert path.read_text() == "precious"


def test_newest_connection_gets_output_and_reply(listening, workspace):
    _, _, connect = listening()
    first = connect()
    first.start_call("shell", {"command": "echo one; echo x >>made; sleep 1; echo two"}, "c")
    first.wait(lambda message: message.get("params", {}).get("text") == "one\n")
    second = connect()
    wait_until(lambda: first.ended)
    assert second.request("openworker/resume", {"callId": "c"})["result"] == {"state": "running"}
    result = second.call("shell", {}, "c")
    assert result["content"][0]["text"].startswith("one\ntwo\n[exit 0")
    assert second.stream("c", "stdout") == b"two\n"
    third = connect()
    assert third.request("openworker/resume", {"callId": "c"})["result"] == {
        "state": "finished", "result": result}
    assert (workspace.folder / "made").read_text() == "x\n"


def test_state_outlives_connections(listening):
    _, _, connect = listening()
    first = connect()
    first.shell("x=1")
    first.link.shutdown(socket.SHUT_RDWR)
    assert connect().shell("echo $x").output == "1\n"


def test_lease_ends_all(listening):
    process, path, connect = listening("--lease", "2")
    client = connect()
    pids = [entry["pid"] for entry in client.shell("setsid -f sleep 600").leftovers]
    # Each message renews it.
    for _ in range(3):
        time.sleep(1)
        client.request("ping", {})
    assert process.poll() is None
    assert process.wait(scaled(10)) == 0
    assert not any(is_alive(pid) for pid in pids) and not path.exists()


def test_attach(listening, ordinary_user, runner):
    _, path, _ = listening()
    process = ordinary_user.popen([runner, "attach", "--socket", path], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
    client = Client(process.stdout, process.stdin)
    client.wait(lambda message: message.get("method") == "notifications/openworker/hello")
    client.initialize()
    done = client.shell("yes é | head -c 400000")
    assert done.bytes == 400000
    process.stdin.close()
    assert process.wait(scaled(10)) == 0


def test_attach_without_server(ordinary_user, workspace, runner):
    done = ordinary_user.run([runner, "attach", "--socket", workspace.runtime / "none"])
    assert done.returncode == 1 and "Nobody answers" in done.stderr


# The end.

@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("whom", ["parent", "runner", "worker"])
def test_die_with_parent_leaves_nothing(ordinary_user, workspace, runner, number, whom):
    """Whichever is killed, and however: no process is left."""
    parent = ordinary_user.popen(
        ["python3", "-c", "import subprocess, sys; "
         "subprocess.Popen(sys.argv[1:]); sys.stdin.read()",
         runner, "serve", "--socket", workspace.runtime / "runner", "--folder", workspace.folder,
         "--die-with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout.readline() == b"ready\n"
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(workspace.runtime / "runner"))
    client = Client(link.makefile("rb"), link.makefile("wb"))
    worker = client.wait(lambda message: "hello" in message.get("method", ""))["params"]["pid"]
    client.initialize()
    done = client.shell("setsid -f sleep 600; (trap '' INT TERM HUP; sleep 600; sleep 600) & "
                        "setsid -f sh -c '(sleep 600; :) & sleep 600; :'")
    client.start_call("shell", {"command": "trap '' TERM; sleep 600; sleep 600"})
    client.start_call("exec", {"argv": ["sleep", "600"]})
    time.sleep(0.3)
    with open(f"/proc/{worker}/stat", encoding="utf-8") as file:
        guard = int(file.read().rsplit(")", 1)[1].split()[1])
    before = workspace.processes()
    assert len(before) > 8 and len(done.leftovers) > 2
    os.kill({"parent": parent.pid, "runner": guard, "worker": worker}[whom], number)
    wait_until(lambda: not set(workspace.processes()) - {parent.pid}, 15, "the end of all")


def test_terminate_ends_all(listening):
    process, _, connect = listening()
    client = connect()
    pids = [entry["pid"] for entry in client.shell("setsid -f sleep 600; sleep 600 &").leftovers]
    client.start_call("shell", {"command": "trap '' TERM INT; sleep 600; sleep 600"})
    time.sleep(0.2)
    process.terminate()
    assert process.wait(scaled(10)) == 0
    assert not any(is_alive(pid) for pid in pids)


def test_fork_storm_ends(serve):
    client = serve()
    client.shell("ulimit -u 400; f() { f | f & }; f; sleep 0.3", timeout_s=5, timeout=30)
    client.process.stdin.close()
    assert client.process.wait(scaled(20)) == 0
