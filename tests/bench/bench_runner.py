# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The runner alone, over its own pipes, against plain programs: see [runner] in goals.toml.

    bench_runner.py BUILD [PART…]    one or more of: calls, flood, start, search

OPENWORKER_BENCH_TREE names a tree that search_tree.py made before.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import search_tree

ROUNDS = 5
READS = 10_000
FLOOD = 10 * 2**30
LITTLE_FLOOD = 2**27
THREADS = len(os.sched_getaffinity(0))
# Each name's first pattern is the tool's, its second ripgrep's: both say the same.
SEARCHES = {
    "literal": search_tree.RARE,
    "literal_in": search_tree.RARE.split("_", maxsplit=1)[0] + r"_\w+ = [A-Z]\d",
    "literal_case": "(?i)" + search_tree.RARE.upper(),
    "shape": r"\b[A-Z]\d[A-Z]{2}\d\b",
    "line": r"^\s+\w+ = [A-Z]\d",
}


class Bench:
    """The measuring program, the runner and what it is compared with."""

    def __init__(self, build, top):
        self.program = build / "tests/bench/bench-runner"
        self.plain = [build / "tests/bench/bench-runner-peer"]
        self.runner = build / "src/runner/openworker-runner"
        self.top = top
        self.environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(top)}

    def serve(self, folder):
        return [self.runner, "serve", "--stdio", "--folder", folder]

    def ask(self, *words, server):
        """{name: number, or the reply} of one run of the measuring program"""
        done = subprocess.run([self.program, *words, "--", *server], env=self.environment,
                              check=True, stdout=subprocess.PIPE, text=True)
        values = {}
        for line in done.stdout.splitlines():
            name, value = line.split(" ", 1)
            values[name] = json.loads(value)
        return values

    def command(self, text):
        """The milliseconds of a shell's command."""
        begun = time.monotonic()
        subprocess.run(["bash", "-c", text], env=self.environment, check=True,
                       stdin=subprocess.DEVNULL)
        return (time.monotonic() - begun) * 1000


def compact(value):
    """As the plain loop looks for it."""
    return json.dumps(value, separators=(",", ":"))


def middle(values):
    return statistics.median(values)


def in_turn(*functions, rounds=ROUNDS):
    """The median of what each gives, taken in turn, so that a slow moment is everybody's."""
    values = [[] for _ in functions]
    for _ in range(rounds):
        for function, kept in zip(functions, values):
            kept.append(function())
    return [middle(kept) for kept in values]


def measure_calls(bench, figures):
    folder = bench.top / "folder"
    (folder / "empty").mkdir(parents=True)
    (folder / "small").write_text("".join(f"{number}\n" for number in range(100)))
    runner = bench.serve(folder)
    empty, small = (compact({"path": str(folder / name)}) for name in ("empty", "small"))

    def call(server, tool, arguments, count=2000):
        return lambda: bench.ask("calls", str(count), "1", tool, arguments, server=server)["median"]

    def reads(server, at_once):
        return lambda: bench.ask("calls", str(READS), str(at_once), "read", small,
                                 server=server)["total"]

    figures["plain_list"], figures["list"] = in_turn(
        call(bench.plain, "list", empty), call(runner, "list", empty))
    figures["plain_read"], figures["read"] = in_turn(
        call(bench.plain, "read", small), call(runner, "read", small))
    figures["plain_reads"], figures["reads"] = in_turn(reads(bench.plain, 1), reads(runner, 1))
    figures["plain_reads_32"], figures["reads_32"] = in_turn(reads(bench.plain, 32),
                                                             reads(runner, 32))
    figures["shell"], = in_turn(call(runner, "shell", '{"command":":"}', 300))


def measure_flood(bench, figures):
    folder = bench.top / "flood"
    folder.mkdir()

    def stream(command, count=1, cancel_ms=0):
        return bench.ask("stream", str(count), str(cancel_ms), "shell",
                         compact({"command": command, "timeout_s": 600}),
                         server=bench.serve(folder))

    for name, size in (("gigabyte", 2**30), ("little", LITTLE_FLOOD)):
        with open(folder / name, "wb") as file:
            file.truncate(size)
    # The same writers, so that the memory of a long flood is compared with that of its beginning.
    little = [stream(command) for command in (f"head -c {LITTLE_FLOOD} /dev/zero",
                                              f"yes | head -c {LITTLE_FLOOD}",
                                              f"cat {folder}/little") for _ in range(3)]
    floods = []
    for name, command in (("flood", f"head -c {FLOOD} /dev/zero"),
                          ("flood_yes", f"yes | head -c {FLOOD}"),
                          ("flood_cat", f"cat {folder}/gigabyte" + f" {folder}/gigabyte" * 9)):
        times = {"": [], "plain_": []}
        for _ in range(3):
            times["plain_"].append(bench.command(f"{command} | cat >/dev/null"))
            floods.append(stream(command))
            times[""].append(floods[-1]["total"])
        for prefix, values in times.items():
            figures[prefix + name] = middle(values)
    figures["flood_channel"] = max(flood["bytes"] for flood in floods) / 2**20
    figures["little_flood_peak"] = max(flood["peak"] for flood in little) / 1024
    figures["flood_peak"] = max(flood["peak"] for flood in floods) / 1024
    figures["flood_cancel"] = middle([
        stream("sh -c 'echo $$; exec yes'", cancel_ms=1000)["cancel"] for _ in range(ROUNDS)])
    figures["plain_first"], figures["first"] = in_turn(
        lambda: bench.command("echo x >/dev/null"),
        lambda: stream("/bin/echo x; sleep 0.02", count=20)["first"])


def resident_kib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def measure_start(bench, figures):
    folder = bench.top / "start"
    folder.mkdir()
    serve = [bench.runner, "serve", "--socket", bench.top / "socket", "--folder", folder]
    figures["plain_ready"], figures["ready"] = in_turn(
        lambda: bench.ask("ready", "50", server=[*bench.plain, "ready"])["median"],
        lambda: bench.ask("ready", "50", server=serve)["median"])
    stripped = bench.top / "stripped"
    subprocess.run(["strip", "-o", stripped, bench.runner], check=True)
    figures["size"] = stripped.stat().st_size / 2**20
    with subprocess.Popen(serve, env=bench.environment, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.5)
        figures["resident"] = resident_kib(process.pid) / 1024
        process.terminate()


def drop_caches():
    """Whether the kernel forgot what it had of the disk."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True


def ripgrep(tree, *words):
    """(milliseconds, the lines it found)"""
    begun = time.monotonic()
    done = subprocess.run(["rg", "--no-config", "--hidden", "--no-require-git", "--threads",
                           str(THREADS), "--no-heading", "--line-number", *words, tree],
                          check=False, stdout=subprocess.PIPE)
    if done.returncode > 1:
        raise RuntimeError("ripgrep failed")
    return (time.monotonic() - begun) * 1000, done.stdout.count(b"\n")


def search_pair(bench, tree, tool, arguments, words, count):
    """(ripgrep's milliseconds, the tool's), which have to find the same."""
    plain, found = ripgrep(tree, *words)
    values = bench.ask("once", tool, compact({**arguments, "path": str(tree)}),
                       server=bench.serve(tree))
    mine = values["reply"]["result"]["structuredContent"][count]
    if mine != found:
        raise RuntimeError(f"{tool} {arguments} found {mine}, ripgrep {found}")
    return plain, values["total"]


def measure_search(bench, figures):
    tree = Path(os.environ.get("OPENWORKER_BENCH_TREE") or bench.top / "tree")
    if not tree.exists():
        search_tree.make(tree)
    kinds = [(name, "grep", {"pattern": pattern}, [pattern], "matches")
             for name, pattern in SEARCHES.items()]
    kinds.append(("glob", "glob", {"pattern": "**/*.c"}, ["--files", "--glob", "*.c"], "total"))
    for name, *kind in kinds:
        search_pair(bench, tree, *kind)
        pairs = [search_pair(bench, tree, *kind) for _ in range(ROUNDS)]
        figures[f"rg_{name}"], figures[name] = (middle(values) for values in zip(*pairs))
    for name, *kind in (kinds[0], kinds[3], kinds[-1]):
        figures[f"rg_{name}_cold"], figures[f"{name}_cold"] = cold_pair(bench, tree, *kind)


def cold_pair(bench, tree, tool, arguments, words, _):
    """The same with nothing of the tree in memory; (None, None) where that cannot be had."""
    plain, mine = [], []
    for _ in range(3):
        if not drop_caches():
            return None, None
        plain.append(ripgrep(tree, *words)[0])
        drop_caches()
        mine.append(bench.ask("once", tool, compact({**arguments, "path": str(tree)}),
                              server=bench.serve(tree))["total"])
    return middle(plain), middle(mine)


PARTS = {"calls": measure_calls, "flood": measure_flood, "start": measure_start,
         "search": measure_search}


def measure(build, parts=PARTS):
    top = Path(tempfile.mkdtemp(prefix="ow-bench-", dir="/var/tmp"))
    try:
        bench, figures = Bench(build, top), {}
        for part in parts:
            PARTS[part](bench, figures)
        return figures
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    for figure, number in measure(Path(sys.argv[1]), sys.argv[2:] or PARTS).items():
        print(f"{figure:<20} {number if number is None else round(number, 4)}")
