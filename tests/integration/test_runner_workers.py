# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The processes that run openworker-runner's file tools: used again, and nothing of a call is left."""

import os
import re
import signal
import time

import pytest

from conftest import scaled, wait_until
from runner_client import Client, servers

NAME = "openworker-tool"


class Worked(Client):
    """A client of a server of its own, which looks at that server's processes."""

    def workers(self):
        """The numbers of the processes that run its file tools or wait for one."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as stream:
                    name, _, rest = stream.read().partition("(")[2].rpartition(")")
            except OSError:
                continue
            fields = rest.split()
            if name == NAME and int(fields[1]) == self.process.pid and fields[0] not in "ZX":
                found.append(int(entry))
        return found

    def worker(self):
        """The one that waits while nothing is asked."""
        wait_until(lambda: len(self.workers()) == 1, what="one process that waits")
        return self.workers()[0]

    def hold(self, tool, arguments):
        """A call that one process has as its order and is stopped over; that has begun nothing."""
        for pid in self.workers():
            os.kill(pid, signal.SIGSTOP)
        request = self.start_call(tool, arguments)
        # Requests are taken in their order, so by then that one was given out.
        self.request("ping", {})
        return request

    def release(self):
        for pid in self.workers():
            os.kill(pid, signal.SIGCONT)

    def make_wait(self, number):
        """Has so many wait, and gives their numbers."""
        while len(self.workers()) < number:
            # Those that are there stand still over a call each, so at least one more is made.
            for pid in self.workers():
                os.kill(pid, signal.SIGSTOP)
            asked = [self.start_call("list", {"path": "."}) for _ in range(number)]
            self.request("ping", {})
            self.release()
            for request in asked:
                assert not self.reply(request)["result"]["isError"]
        wait_until(lambda: len(self.workers()) == number, what=f"{number} processes")
        return self.workers()

    def text(self, tool, arguments):
        result = self.call(tool, arguments)
        assert not result["isError"], result
        return result["content"][0]["text"]


def resident_kib(pid):
    """One that ends has no memory any more."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
            return int((re.findall(r"VmRSS:\s*(\d+)", stream.read()) or ["0"])[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


@pytest.fixture
def serve(ordinary_user, workspace, runner):
    with servers(ordinary_user, runner, workspace.folder, Worked) as start:
        yield start


def facts(pid):
    """What a process has that a call could leave in it."""
    place = f"/proc/{pid}"
    with open(f"{place}/status", encoding="utf-8") as stream:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    with open(f"{place}/limits", encoding="utf-8") as stream:
        limits = stream.read()
    return {
        "descriptors": {number: os.readlink(f"{place}/fd/{number}")
                        for number in os.listdir(f"{place}/fd")},
        "folder": os.readlink(f"{place}/cwd"), "limits": limits,
        "children": [entry for task in os.listdir(f"{place}/task")
                     for entry in open(f"{place}/task/{task}/children", encoding="utf-8").read().split()],
        **{name: status[name] for name in ("Umask", "Threads", "SigBlk", "SigIgn", "SigCgt", "Uid",
                                           "Gid", "NoNewPrivs", "CapEff", "Seccomp")},
    }


def test_one_that_waits_holds_nothing_of_the_client(serve, workspace):
    """One waits from the start; it has the folders, and neither stream of the client."""
    client = serve()
    pid = client.worker()
    streams = {os.readlink(f"/proc/{client.process.pid}/fd/{number}") for number in (0, 1)}

    def held():
        return set(facts(pid)["descriptors"].values())

    wait_until(lambda: not held() & streams, what="a process without the client's streams")
    assert str(workspace.folder) in held()
    client.text("list", {"path": "."})
    assert client.workers() == [pid] and not held() & streams


CALLS_OF_ALL_KINDS = [
    ("write", {"path": "made", "content": "one\ntwo\n"}), ("read", {"path": "made"}),
    ("edit", {"path": "made", "old_text": "two", "new_text": "2"}), ("list", {"path": "."}),
    ("grep", {"pattern": "on[e]", "context": 2}), ("glob", {"pattern": "**/*"}),
    ("changes", {"changes": []}), ("undo", {"changes": [], "apply": True}),
    # What is refused, and at different points.
    ("read", {"path": "absent"}), ("read", {"path": "pipe"}), ("read", {"path": "binary"}),
    ("read", {"path": "/etc/passwd"}), ("read", {}), ("write", {"path": "sub", "content": "x"}),
    ("edit", {"path": "made", "old_text": "absent", "new_text": "x"}), ("grep", {"pattern": "("}),
    ("grep", {"pattern": "x", "path": "absent"}), ("glob", {"pattern": "{"}),
    ("list", {"path": "made"}), ("list", {"path": "closed"}),
]


def test_nothing_of_one_call_is_left_in_the_next(serve, workspace, ordinary_user):
    """Descriptors, threads, processes, mask, folder, limits and signals are as they were."""
    ordinary_user.write(workspace.folder / "sub/file", "one\n")
    (workspace.folder / "binary").write_bytes(os.urandom(5000))
    os.mkfifo(workspace.folder / "pipe")
    ordinary_user.mkdir(workspace.folder / "closed").chmod(0)
    client = serve("--undo", ordinary_user.mkdir(workspace.path / "undo"))
    pid = client.worker()
    before = facts(pid)
    assert before["Threads"] == "1" and before["children"] == []
    answers = {}
    for turn in range(3):
        for number, (tool, arguments) in enumerate(CALLS_OF_ALL_KINDS):
            result = client.call(tool, arguments)
            # A call says the same whatever came before it.
            if turn > 0 and tool != "write":
                assert answers.setdefault(number, result["isError"]) == result["isError"], arguments
            assert client.workers() == [pid], (tool, arguments)
            assert facts(pid) == before, (tool, arguments)
    (workspace.folder / "closed").chmod(0o755)


def test_each_call_has_a_process_of_its_own_while_it_runs(serve):
    client = serve()
    first = client.worker()
    held = client.hold("list", {"path": "."})
    assert client.text("write", {"path": "other", "content": "x"})
    both = client.workers()
    assert first in both and len(both) == 2
    client.release()
    assert "other" in client.reply(held)["result"]["content"][0]["text"]
    # And neither is thrown away.
    assert not client.call("read", {"path": "other"})["isError"]
    assert sorted(client.workers()) == sorted(both)


def test_one_that_is_killed_while_it_waits_costs_no_call(serve, workspace):
    client = serve()
    for number in range(5):
        pid = client.worker()
        os.kill(pid, signal.SIGKILL)
        client.text("write", {"path": f"f{number}", "content": "x"})
        wait_until(lambda: pid not in client.workers(), what="its end")
    # Given out, and killed before it was begun: nothing was done, so it is done now, once.
    killed = 0
    for number in range(20):
        pid = client.worker()
        request = client.hold("write", {"path": "once", "content": "x" * (number + 1)})
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass  # One of those that are let go after a while: it was not given the call.
        assert not client.reply(request)["result"]["isError"]
        assert (workspace.folder / "once").read_text() == "x" * (number + 1)
        if killed == 5:
            break
    assert killed == 5


def slow_file(workspace):
    """A search that takes long: many steps for each line, and not so many that it is given up."""
    (workspace.folder / "slow").write_bytes((b"a" * 15 + b"b\n") * 200_000)
    return {"path": "slow", "pattern": "(a+)+$"}


def begin_search(client, workspace):
    """(a search that has begun, its process)"""
    before = set(client.workers())
    request = client.start_call("grep", slow_file(workspace))

    def busy():
        for pid in client.workers():
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
                fields = stream.read().rpartition(")")[2].split()
            if int(fields[11]) + int(fields[12]) >= 20:
                return pid
        return None

    wait_until(busy, what=f"a search among {before}")
    return request, busy()


def test_one_that_is_killed_in_a_call_ends_that_call_and_no_other(serve, workspace):
    client = serve()
    client.make_wait(3)
    request, pid = begin_search(client, workspace)
    others = [client.hold("list", {"path": "."}) for _ in range(2)]
    os.kill(pid, signal.SIGKILL)
    result = client.reply(request)["result"]
    assert result["isError"] and "signal 9" in result["content"][0]["text"]
    client.release()
    for other in others:
        assert "slow" in client.reply(other)["result"]["content"][0]["text"]
    assert "slow" in client.text("list", {"path": "."}) and pid not in client.workers()


def test_a_cancelled_call_ends_its_process_and_no_other_call(serve, workspace):
    client = serve()
    client.make_wait(3)
    request, pid = begin_search(client, workspace)
    others = [client.hold("list", {"path": "."}) for _ in range(2)]
    begun = time.monotonic()
    client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    result = client.reply(request)["result"]
    assert time.monotonic() - begun < scaled(5)
    assert result["structuredContent"] == {"cancelled": True}
    wait_until(lambda: pid not in client.workers(), what="its end")
    client.release()
    for other in others:
        assert "slow" in client.reply(other)["result"]["content"][0]["text"]
    # A cancel that comes after the answer ends nothing, though the process may have another call.
    done = client.start_call("list", {"path": "."})
    client.reply(done)
    held = client.hold("list", {"path": "."})
    client.send({"method": "notifications/cancelled", "params": {"requestId": done}})
    client.request("ping", {})
    client.release()
    assert not client.reply(held)["result"]["isError"]


def test_a_call_that_was_cancelled_before_it_began_is_not_begun(serve, workspace):
    client = serve()
    client.worker()
    request = client.hold("write", {"path": "never", "content": "x"})
    client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    assert client.reply(request)["result"]["structuredContent"] == {"cancelled": True}
    assert "never" not in client.text("list", {"path": "."})
    assert not (workspace.folder / "never").exists()


def test_a_call_that_takes_much_memory_gives_it_back(serve, workspace, ordinary_user):
    """Its process ends with it; one that took little stays."""
    client = serve()
    ordinary_user.write(workspace.folder / "large", "line\n" * 1_600_000)
    pid = client.worker()
    client.text("read", {"path": "large", "limit": 1})
    assert client.worker() == pid
    # It holds the old and the new text whole.
    client.text("edit", {"path": "large", "old_text": "line\n", "new_text": "l\n",
                         "replace_all": True})
    wait_until(lambda: pid not in client.workers(), what="its end")
    assert resident_kib(client.worker()) < 8 * 1024


def test_arguments_of_any_size_reach_it(serve, workspace):
    client = serve()
    for size in (1, 60_000, 64 * 1024, 200_000, 1_000_000, 1):
        content = "é" * (size // 2) + "x" * (size % 2)
        client.text("write", {"path": "sized", "content": content})
        assert (workspace.folder / "sized").read_text() == content


def test_answers_are_those_of_their_calls(serve, workspace):
    client = serve()
    for number in range(200):
        (workspace.folder / f"f{number}").write_text(f"content {number}\n" * (number * 20 + 1))
    asked = [(number % 200, client.start_call("read", {"path": f"f{number % 200}", "limit": 9999}))
             for number in range(50)]
    for turn in range(400):
        number, request = asked.pop(0)
        text = client.reply(request)["result"]["content"][0]["text"]
        assert text.count(f"content {number}\n") >= min(number * 20 + 1, 900), turn
        following = (turn * 7) % 200
        asked.append((following, client.start_call("read", {"path": f"f{following}",
                                                            "limit": 9999})))
    for _, request in asked:
        assert not client.reply(request)["result"]["isError"]


def test_64_calls_run_side_by_side_and_few_processes_stay(serve, workspace):
    client = serve()
    client.worker()
    slow = slow_file(workspace)
    asked = [client.start_call("grep", slow) for _ in range(64)]
    wait_until(lambda: len(client.workers()) == 64, 60, what="64 processes")
    # One more is refused, by the server and not by a process.
    assert client.request("tools/call", {"name": "list", "arguments": {}})["error"]
    for request in asked:
        client.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    for request in asked:
        assert client.reply(request)["result"]["structuredContent"] == {"cancelled": True}
    asked = [client.start_call("list", {"path": "."}) for _ in range(64)]
    for request in asked:
        assert not client.reply(request)["result"]["isError"]
    assert len(client.workers()) <= 64
    wait_until(lambda: len(client.workers()) == 1, 30, what="one process")
    assert not client.call("list", {"path": "."})["isError"]


def test_ten_thousand_calls_take_no_memory(serve, workspace):
    """A process that has run many is followed by a new one, and none of them grows."""
    client = serve()
    (workspace.folder / "small").write_text("x" * 2000)
    (workspace.folder / "large").write_text("line\n" * 100_000)
    seen, sizes = set(), []
    for turn in range(100):
        batch = [client.start_call(*call) for call in [
            ("read", {"path": "small"}), ("list", {"path": "."}), ("read", {"path": "absent"}),
            ("write", {"path": "made", "content": "y" * turn}), ("read", {"path": "large"})] * 20]
        for request in batch:
            client.reply(request)
        client.messages.clear()
        seen.update(client.workers())
        sizes.append((resident_kib(client.process.pid),
                      max((resident_kib(pid) for pid in client.workers()), default=0)))
    assert len(seen) >= 2
    # A process begins with what the server has, and shares it.
    assert max(worker for _, worker in sizes) < 8 * 1024, sizes
    assert max(server for server, _ in sizes[50:]) < max(
        server for server, _ in sizes[:20]) + 1024, sizes


def test_rules_that_take_long_end_in_time(serve, workspace):
    """One name, asked of many .gitignore files that are long, takes longer than the whole call may:
    what was found till then is told, and the process is not killed for it."""
    folder = workspace.folder
    for _ in range(20):
        (folder / ".gitignore").write_text(("*[" + "b" * 3900 + "]\n") * 250)
        folder = folder / "d"
        folder.mkdir()
    for number in range(100):
        (folder / ("a" * 240 + str(number))).write_text("x")
    found = serve().call("glob", {"pattern": "**/*"}, timeout=180)
    assert not found["isError"] and "Cut: the time" in found["content"][0]["text"]
