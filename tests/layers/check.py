# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The layers suite: on a scratch copy, what a room may not use does not pass.

The untouched copy must compile and satisfy the rules first. Each case then adds a file
to a room that includes what it may not: a wrong-way include must not compile, and a way
around that (`../`, a library's header) must be refused by the style rules.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "style")]

from common import build                          # noqa: E402
from common.tap import Writer                     # noqa: E402
from common.tree import ROOT, copy                # noqa: E402
from rules import include_paths, include_rooms, include_users    # noqa: E402

# The order of src/meson.build: a room may include what stands in an earlier group.
ORDER = [["base", "wire"], ["events", "config"],
         ["audit", "openshell", "containers", "credentials"], ["consent"], ["tools"],
         ["sandbox", "model"], ["agent"], ["session"], ["engine"], ["cli", "ui"]]
# (room, what it may not include): the compiler refuses.
WRONG_WAYS = [
    ("base", "events/ow-event.h"),
    ("base", "wire/ow-json.h"),
    ("wire", "base/ow-error.h"),
    ("events", "audit/ow-audit.h"),
    ("config", "events/ow-event.h"),
    ("audit", "consent/ow-consent.h"),
    ("openshell", "events/ow-event.h"),
    ("openshell", "containers/ow-container-engine.h"),
    ("openshell", "sandbox/ow-sandbox.h"),
    ("containers", "openshell/ow-openshell.h"),
    ("containers", "config/ow-config.h"),
    ("credentials", "sandbox/ow-sandbox.h"),
    ("credentials", "events/ow-event.h"),
    ("consent", "tools/ow-tool-host.h"),
    ("consent", "openshell/ow-openshell.h"),
    ("tools", "containers/ow-container-engine.h"),
    ("tools", "sandbox/ow-sandbox.h"),
    ("model", "agent/ow-agent.h"),
    ("sandbox", "model/ow-model.h"),
    ("agent", "sandbox/ow-sandbox.h"),
    ("agent", "session/ow-session.h"),
    ("session", "engine/ow-engine.h"),
    ("runner", "base/ow-text.h"),
    ("proxy", "events/ow-event.h"),
]
# (room, include): compiles or not, the rules refuse.
REFUSED = [
    ("base", '"../wire/include/wire/ow-json.h"', include_paths),
    ("agent", '"../sandbox/include/sandbox/ow-sandbox.h"', include_paths),
    ("agent", "<gtk/gtk.h>", include_users),
    ("agent", "<sqlite3.h>", include_users),
    ("tools", "<jansson.h>", include_users),
    ("sandbox", "<pcre2.h>", include_users),
    ("session", "<seccomp.h>", include_users),
    ("openshell", "<yaml.h>", include_users),
    ("model", "<libsoup/soup.h>", include_users),
    ("engine", "<libsecret/secret.h>", include_users),
    ("engine", "<gtk/gtk.h>", include_users),
    ("cli", "<adwaita.h>", include_users),
    ("ui", '"sandbox/ow-sandbox.h"', include_rooms),
    ("ui", '"session/ow-session.h"', include_rooms),
    ("ui", "<libsoup/soup.h>", include_users),
    ("runner", "<glib.h>", include_users),
    ("cli", '"sandbox/ow-sandbox.h"', include_rooms),
    ("cli", '"agent/ow-agent.h"', include_rooms),
]


def flags_of(commands, room):
    """The compiler line of the room without its file and output: what meson gives it. What other
    programs load is in no room's library."""
    for entry in commands:
        found = re.search(rf"\.\./src/{room}/[\w-]+\.c$", entry["file"])
        if found and ".so.p/" not in entry["output"]:
            words = shlex.split(entry["command"])
            return entry["directory"], words[:words.index("-MD")] if "-MD" in words else words[:-4]
    return None, None


def compiles(commands, room, include, scratch):
    """(whether a file of @room with @include compiles, what the compiler said)"""
    directory, flags = flags_of(commands, room)
    if flags is None:
        return None, f"no C file of {room} in the build"
    source = Path(scratch, "src", room, "ow-layer-trial.c")
    source.write_text(f'#include "{include}"\nint ow_layer_trial;\n', encoding="utf-8")
    done = subprocess.run([*flags, "-fsyntax-only", str(source)], cwd=directory, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    source.unlink()
    return done.returncode == 0, done.stdout


def allowed(room):
    """A header that the room may include, for the control of its wrong-way cases."""
    return {"base": "base/ow-text.h", "wire": "wire/ow-rpc.h", "config": "base/ow-file.h",
            "credentials": "config/ow-config.h",
            "openshell": "wire/ow-json.h", "containers": "base/ow-process.h",
            "runner": "wire/ow-rpc.h", "proxy": "wire/ow-json.h"}.get(room, "events/ow-event.h")


def meson_order(scratch):
    """The rooms as src/meson.build lists them."""
    text = Path(scratch, "src/meson.build").read_text(encoding="utf-8")
    return re.findall(r"\b(" + "|".join(room for group in ORDER for room in group) + r")\b",
                      re.sub(r"#.*", "", text))


def check_order(writer, scratch):
    place = {room: number for number, group in enumerate(ORDER) for room in group}
    listed = list(dict.fromkeys(meson_order(scratch)))
    numbers = [place[room] for room in listed]
    writer.result(len(listed) == len(place) and numbers == sorted(numbers),
                  "order of src/meson.build", f"listed: {listed}")


def check_wrong_ways(writer, scratch, trial):
    commands = json.loads((trial.directory / "compile_commands.json").read_text())
    for room in dict.fromkeys(room for room, _ in WRONG_WAYS):
        passed, said = compiles(commands, room, allowed(room), scratch)
        writer.result(passed, f"control/{room} may include {allowed(room)}", said)
    for room, include in WRONG_WAYS:
        passed, said = compiles(commands, room, include, scratch)
        # Refused for the right reason: the header is not to be found from there.
        missing = "No such file" in said or "file not found" in said
        writer.result(passed is False and missing, f"{room} may not include {include}", said)


def check_refused(writer, scratch):
    for room, include, rule in REFUSED:
        path = f"src/{room}/ow-layer-trial.c"
        problems = rule(path, f"#include {include}\n")
        writer.result(bool(problems), f"{room} may not include {include}")


def main():
    writer = Writer()
    with tempfile.TemporaryDirectory(prefix="ow-layers-") as scratch:
        copy(scratch)
        trial = build.Build(Path(scratch, "build"), [], build.UNIT.env)
        # The command is a program of its own, no library.
        targets = [f"src/{room}/libow-{room}.a" for group in ORDER for room in group
                   if room != "cli"]
        problem = build.compile_tree(trial, targets, root=scratch)
        if not writer.result(problem is None, "control/the untouched copy compiles", problem):
            return writer.end()
        check_order(writer, scratch)
        check_wrong_ways(writer, scratch, trial)
        check_refused(writer, scratch)
    return writer.end()


if __name__ == "__main__":
    sys.exit(main())
