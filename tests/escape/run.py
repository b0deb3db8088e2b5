# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Tries to get out: one program of probes, unchanged, behind each wall.

    ./dev escape-bench [--wall WALL]… [--json] [--docs] [NAME…]

A probe counts as held only where the same probe, run outside as the same account or as root, came
through: one that fails there as well says nothing about a wall, and is a fault.
"""

import argparse
import ctypes
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "integration")]

import peers  # noqa: E402
import places  # noqa: E402
import probes  # noqa: E402
import table  # noqa: E402
import world  # noqa: E402
from common.tree import ROOT  # noqa: E402
from own_etc import own_etc  # noqa: E402
from walls import RealOpenshell  # noqa: E402

WALLS = {
    "direct": (places.Direct, False),
    "bubblewrap": (places.Bubblewrap, False),
    "bubblewrap-root": (places.Bubblewrap, True),
    "openshell": (places.Openshell, False),
    "openshell-real": (places.OpenshellReal, True),
    "docker": (peers.Docker, True),
    "srt": (peers.Srt, False),
    "codex": (peers.Codex, False),
}
PEERS = ["docker", "srt", "codex"]
OURS = ["direct", "bubblewrap", "bubblewrap-root", "openshell"]
CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, PR_SET_PDEATHSIG = 0x40000000, 0x00020000, 0x20000000, 1
CAP_SYS_ADMIN = 21
INNER = "OPENWORKER_ESCAPE_INNER"
_libc = ctypes.CDLL(None, use_errno=True)


class Bench:
    """What all runs share. @network: they are in a network of the bench's own."""

    def __init__(self, ids, programs, names, network):
        self.ids, self.programs, self.names, self.network = ids, programs, names, network
        self.probe = programs / "escape-probe"


def verdict_of(row, said, missing, controls):
    """(verdict, words): held, OPEN, n/a, no control, broken, fact"""
    verdict, words = said.get(row.name, ("broken", "not tried"))
    if row.fact:
        return "fact", words
    lacks = missing.get(row.name) or (row.lacks() if row.lacks else None)
    if lacks:
        return "n/a", lacks
    if row.root and os.geteuid() != 0:
        return "n/a", "only root has a control for it"
    if not any(control.get(row.name, ("",))[0] == "open" for control in controls):
        if row.root and is_held():
            return "n/a", "root is held by a container here"
        return "no control", "; ".join(control.get(row.name, ("", "not tried"))[1] for control in controls)
    if verdict == "void":
        return "n/a", words or "there is nothing to try it on"
    return {"open": "OPEN", "held": "held", "listed": "listed"}.get(verdict, "broken"), words


def is_held():
    """Whether this process is itself behind a wall, where root may not do what root can."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return fields["Seccomp"].strip() != "0" or not int(fields["CapEff"], 16) >> CAP_SYS_ADMIN & 1


def run_all(bench, walls):
    """{wall: {"version", "rows": {probe: (verdict, words)}}}"""
    kinds = [False, True] if os.geteuid() == 0 else [False]
    controls = []
    for by_root in kinds:
        with places.Outside(bench, by_root) as place:
            print(f"outside, as {'root' if by_root else 'an ordinary account'} …", file=sys.stderr)
            controls.append(place.run()[0])
    result = {}
    for name in walls:
        kind, by_root = WALLS[name]
        print(f"{name} …", file=sys.stderr)
        with kind(bench, by_root) as place:
            said, missing = place.run()
            missing = {**missing, **{row: why for row, why in place.not_carried.items()
                                     if said.get(row, ("",))[0] == "held"}}
            rows = {row: verdict_of(probes.ROWS[row], said, missing, controls)
                    for row in bench.names if row in probes.ROWS}
            sane = said.get(probes.SANITY, ("broken", ""))
            if probes.SANITY in bench.names and sane[0] != "open":
                rows = {row: ("broken", f"the folder itself cannot be written: {sane[1]}")
                        for row in rows}
            result[name] = {"version": place.version(), "rows": rows, "notes": place.notes}
    return result


def parse():
    parser = argparse.ArgumentParser(prog="./dev escape-bench", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these probes")
    parser.add_argument("--wall", action="append", choices=list(WALLS), help="only this; repeatable")
    parser.add_argument("--peers", action="store_true", help=f"also {', '.join(PEERS)}")
    parser.add_argument("--json", action="store_true", help="print all that came of it as JSON")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/security.md")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in probes.ROWS]
    if unknown:
        parser.error(f"there is no probe {', '.join(unknown)}; known: {', '.join(probes.ROWS)}")
    if args.wall is None:
        args.wall = [wall for wall in WALLS if wall in OURS or
                     (wall == "openshell-real" and RealOpenshell.COMMAND)]
    args.wall += [wall for wall in PEERS if args.peers and wall not in args.wall]
    if "openshell-real" in args.wall and not RealOpenshell.COMMAND:
        parser.error("openshell-real needs the variables that docs/openshell-contract.md names")
    args.wall = [wall for wall in args.wall if os.geteuid() == 0 or not WALLS[wall][1]]
    return args


def copy_programs(target):
    """The built programs, where every account can read them."""
    build = Path(os.environ.get("OPENWORKER_BUILD", ROOT / "build"))
    libexec = Path(os.environ.get("OPENWORKER_LIBEXEC", build / "libexec"))
    (target / "libexec").mkdir()
    for source, name in [(build / "src/cli/openworker", "openworker"),
                         (build / "tests/escape/escape-probe", "escape-probe"),
                         (libexec / "openworker-runner", "libexec/openworker-runner"),
                         (libexec / "openworker-proxy", "libexec/openworker-proxy")]:
        (target / name).write_bytes(source.read_bytes())
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755)


# --- root's own spaces ---

def _call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _die_with_parent():
    _call(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))


def in_own_spaces(place):
    """Runs this program again as the first process of a pid namespace, in a network and a mount
    namespace of its own: all that is tried starts there and ends with it. The exit status."""
    child = os.fork()
    if child == 0:
        _die_with_parent()
        _call(_libc.unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID))
        first = os.fork()
        if first == 0:
            _die_with_parent()
            os.execve(sys.executable, [sys.executable, "-B", __file__, *sys.argv[1:]],
                      {**os.environ, INNER: str(place)})
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def may_make_spaces():
    done = subprocess.run(["unshare", "-n", "-m", "-p", "-f", "--mount-proc", "ip", "link", "set", "lo",
                           "up"], check=False, capture_output=True)
    return done.returncode == 0


def make_spaces(place):
    """A /proc of the pid namespace; a loopback with a metadata address, a public one and a name
    server; an /etc that names the latter."""
    def call(*argv):
        subprocess.run(argv, check=True)

    call("mount", "--make-rprivate", "/")
    call("mount", "-t", "proc", "proc", "/proc")
    call("ip", "link", "set", "lo", "up")
    for address in (world.OUTSIDE, world.NAMESERVER, world.METADATA):
        call("ip", "addr", "add", f"{address}/32", "dev", "lo")
    own_etc(place, {"resolv.conf": f"nameserver {world.NAMESERVER}\n"})


def as_first(work):
    """Runs @work in a child, and takes whatever loses its parent, as a first process does."""
    child = os.fork()
    if child == 0:
        os._exit(work())
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


# --- the program ---

def work(args, ids, programs, network):
    names = args.names or list(probes.ROWS)
    result = run_all(Bench(ids, programs, [probes.SANITY, *names], network), args.wall)
    print(json.dumps(result, indent=1) if args.json else table.text(result), flush=True)
    if args.docs:
        table.write(ROOT / "docs/security.md", result, datetime.date.today().isoformat())
    return 1 if table.faults(result) else 0


def main():
    args, inner = parse(), os.environ.pop(INNER, None)
    if inner is not None:
        place = Path(inner)
        make_spaces(place)
        ids = tuple(map(int, (place / "ids").read_text().split()))
        return as_first(lambda: work(args, ids, place, True))
    with places.People() as ids, tempfile.TemporaryDirectory(prefix="ow-escape-",
                                                             dir="/var/tmp") as programs:
        programs = Path(programs)
        copy_programs(programs)
        peers.fetch(args.wall)
        if os.geteuid() != 0 or not may_make_spaces():
            return work(args, ids, programs, False)
        (programs / "ids").write_text(f"{ids[0]} {ids[1]}")
        return in_own_spaces(programs)


if __name__ == "__main__":
    sys.exit(main())
