# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A service manager on a bus of a test's own: as much of org.freedesktop.systemd1 as a transient scope
needs. Run by the system's Python, which has its bus.

    python3 systemd.py MODE RECORD

MODE: "places" makes the cgroups for real, as far as the machine's hierarchies have the controllers;
"answers" says that it did and does nothing; "refuses" answers with an error; "fails" ends the job
as failed; "silent" never answers; "late" answers after the job is over. RECORD gets a line of JSON
for each call."""

import json
import sys
import time
from pathlib import Path

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME, PATH = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
INTERFACE = NAME + ".Manager"
JOB = PATH + "/job/1"


def hierarchies():
    """{controller: place of its hierarchy}; None: version 2."""
    found = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup2":
            found[None] = Path(place)
        if kind == "cgroup":
            found.update(dict.fromkeys(options.split(","), Path(place)))
    return found


def files(controller, wanted, modern):
    """[(file, what is written)] of one controller."""
    memory, quota = wanted.get("MemoryMax"), wanted.get("CPUQuotaPerSecUSec")
    if controller == "memory" and memory:
        return [("memory.max" if modern else "memory.limit_in_bytes", memory)] + (
            [("memory.swap.max", wanted["MemorySwapMax"])] if modern else [])
    if controller == "cpu" and quota:
        return [("cpu.max", f"{quota // 10} 100000")] if modern else [("cpu.cfs_quota_us", quota // 10)]
    return [("pids.max", wanted["TasksMax"])] if controller == "pids" else []


def place(unit, wanted):
    found = hierarchies()
    for controller in ("memory", "cpu", "pids"):
        modern = controller not in found
        if modern and None not in found:
            continue
        cgroup = found[None if modern else controller] / unit
        cgroup.mkdir(exist_ok=True)
        for name, value in files(controller, wanted, modern):
            try:
                (cgroup / name).write_text(str(value))
            except OSError:
                continue
        for pid in wanted["PIDs"]:
            (cgroup / "cgroup.procs").write_text(str(pid))


class Manager(dbus.service.Object):
    def __init__(self, bus, mode, record):
        super().__init__(bus, PATH)
        self.mode, self.record = mode, record

    @dbus.service.method(INTERFACE)
    def Subscribe(self):
        self.note({"subscribe": True})

    @dbus.service.signal(INTERFACE, signature="uoss")
    def JobRemoved(self, number, job, unit, result):
        pass

    @dbus.service.method(INTERFACE, in_signature="ssa(sv)a(sa(sv))", out_signature="o",
                         async_callbacks=("done", "fail"))
    def StartTransientUnit(self, unit, how, properties, more, done, fail):
        wanted = {str(key): [int(pid) for pid in value] if key == "PIDs" else
                  int(value) if isinstance(value, int) else str(value) for key, value in properties}
        self.note({"unit": str(unit), "how": str(how), "properties": wanted, "more": len(more)})
        if self.mode == "silent":
            return
        if self.mode == "refuses":
            fail(dbus.exceptions.DBusException("\x1b[1mno\x1b[0m scope for you",
                                               name=NAME + ".ScopeRefused"))
            return
        if self.mode == "places":
            place(str(unit), wanted)
        result = "failed" if self.mode == "fails" else "done"
        if self.mode == "late":
            self.JobRemoved(1, JOB, str(unit), result)
        done(dbus.ObjectPath(JOB))
        # One of somebody else's unit says nothing of ours.
        self.JobRemoved(1, JOB, "other.scope", "failed")
        if self.mode != "late":
            GLib.timeout_add(20, lambda: self.JobRemoved(1, JOB, str(unit), result))

    def note(self, what):
        with open(self.record, "a", encoding="utf-8") as file:
            print(json.dumps({"at": time.monotonic(), **what}), file=file)


def main():
    DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    manager = Manager(bus, sys.argv[1], sys.argv[2])
    name = dbus.service.BusName(NAME, bus, do_not_queue=True)
    print("ready", flush=True)
    GLib.MainLoop().run()
    del manager, name


main()
