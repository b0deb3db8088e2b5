# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The rules that look at one file. Each takes a path and its text and gives problems.

A word that must not stand in the tree is put together here from its parts, so that the
rule does not find itself.
"""

import ast
import re

from source import code_only, comments_of, functions_of, includes_of

WARN = "warning: "

# Rooms are named by their folder under src.
INCLUDE_USERS = {
    r"^<jansson\.h>": ("only wire includes it: use wire/ow-json.h", r"^src/wire/"),
    r"^<sqlite3\.h>": ("only session uses sqlite", r"^src/session/"),
    r"^<pcre2\.h>": ("only the runner uses PCRE2", r"^src/runner/"),
    r"^<nettle/": ("only the runner uses nettle", r"^src/runner/"),
    r"^<toml\+\+": ("only config reads TOML", r"^src/config/"),
    r"^<seccomp\.h>": ("only the sandbox uses libseccomp", r"^src/sandbox/"),
    r"^<yaml\.h>": ("only sandbox and credentials use libyaml", r"^src/(sandbox|credentials)/"),
    r"^<linux/seccomp\.h>": ("only what guards itself makes a filter",
                             r"^src/(sandbox|runner|proxy)/"),
    r"^<libsoup\b": ("only base/ow-http uses libsoup", r"^src/base/ow-http[\w-]*\.[ch]$"),
    r"^<libsecret\b": ("only config/ow-keys uses libsecret", r"^src/config/ow-keys[\w-]*\.c$"),
    r"^<(gtk|gdk|adwaita)\b": ("only the window uses GTK", r"^src/ui/"),
    r"^<polkit\b": ("no room uses it yet", r"^$"),
}
# What a room may not know at all.
INCLUDE_BANS = {
    r"^src/(runner|proxy|wire)/": (r"^<(glib|gio|gobject|gmodule)\b", "this room is without GLib"),
}
CALL_USERS = {
    r"\bjson_load\w*": ("only ow-json.c parses JSON", r"^src/wire/ow-json\.c$"),
    r"\b(g_subprocess_\w+|GSubprocess\w*|g_spawn_\w+)": (
        "only ow-process.c starts programs", r"^src/base/ow-process\w*[\w-]*\.[ch]$"),
    r"\b(g_main_loop_run|g_main_context_iteration)": (
        "only a program's main function and the engine's thread turn a loop",
        r"^src/(cli/ow-main|engine/ow-engine-thread)\.c$"),
}
BANNED_CALLS = ["system", "popen", "strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok",
                "alloca", "g_alloca", "tmpnam", "mktemp", "tempnam"]
# Faces see the engine and its events only; what runs beside the program sees wire only.
ROOMS_FOR = {
    r"^src/(cli|ui)/": {"cli", "ui", "engine", "events", "base"},
    r"^src/(runner|proxy)/": {"wire"},
}
LIBRARY_ROOMS = r"^src/(?!cli/|runner/|proxy/)"
REGISTRY_HOSTS = ["registry." + "npmjs.org", "py" + "pi.org", "files.python" + "hosted.org",
                  "crates" + ".io", "proxy." + "golang.org", "rubygems" + ".org",
                  "deb." + "debian.org"]
REGISTRY_PLACES = (r"^(src/sandbox/ow-network-profile|tests/unit/sandbox/test-network-profile"
                   r"|docs/(openshell|configuration)\.md)")
UNFINISHED = ["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK", "not yet " + "implemented"]
OUTSIDE_WORDS = ["/wo" + "rk/main", "/wo" + "rk/shared", "/wo" + "rk/.library", "cla" + "ude",
                 "sub" + "agent", "co-authored" + "-by", "chat" + "gpt", "/tmp/" + "brief",
                 "/root/" + ".pyenv", "as an " + "ai "]
SPDX = ("SPDX-License-" + "Identifier: Apache-2.0",
        "SPDX-FileCopyright" + "Text: The OpenWorker authors")


def is_c(path):
    return path.endswith((".c", ".h"))


def in_src(path):
    return path.startswith("src/") and path.endswith((".c", ".h", ".cpp"))


def _found(path, text, pattern, sentence, flags=0):
    return [f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {sentence}"
            for found in re.finditer(pattern, text, flags)]


def spdx(path, text):
    """Every source file says its licence in its first lines."""
    named = path.endswith((".c", ".h", ".cpp", ".py", ".sh", ".toml", ".cfg", ".list", ".service",
                           "meson.build", ".editorconfig"))
    # The demonstration's project stands for a person's own, which has its own rules.
    if path.startswith("data/demo/project/") or not text or not (
            named or text.startswith("#!")):
        return []
    head = "\n".join(text.split("\n")[:4])
    return [f"{path}:1: the two SPDX lines are missing"] if not all(
        line in head for line in SPDX) else []


def size(path, text):
    """Files of at most 1,000 lines, functions of at most 100."""
    if not path.endswith((".c", ".h", ".cpp", ".py", ".sh")) and not text.startswith("#!"):
        return []
    problems, count = [], text.count("\n")
    if count > 1000:
        problems.append(f"{path}: {count} lines, more than 1,000")
    elif count > 600:
        problems.append(f"{WARN}{path}: {count} lines, more than 600")
    if path.endswith((".c", ".h", ".cpp")):
        for function in functions_of(text):
            where = f"{path}:{function.line}: {function.name}"
            if function.lines > 100:
                problems.append(f"{where} has {function.lines} lines, more than 100")
            elif function.lines > 60 and in_src(path):
                problems.append(f"{WARN}{where} has {function.lines} lines, more than 60")
            if function.nesting > 4:
                problems.append(f"{where} nests {function.nesting} deep, more than 4")
    return problems


def line_length(path, text):
    """Lines of code of at most 100 columns; 120 where a test's data stands in a literal."""
    if not path.endswith((".c", ".h", ".cpp", ".py", ".sh", "meson.build")):
        return []
    return [f"{path}:{number}: {len(line)} columns, more than 100"
            for number, line in enumerate(text.split("\n"), 1)
            if len(line) > (120 if path.startswith("tests/") and '"' in line else 100)]


def white_space(path, text):
    """No tab and no space at a line's end, a newline at the file's end."""
    if not path.endswith((".c", ".h", ".cpp", ".py", "meson.build")):
        return []
    problems = _found(path, text, r"[ \t]+$", "white space at the end of the line", re.MULTILINE)
    problems += _found(path, text, r"^ *\t", "a tab", re.MULTILINE)
    if text and not text.endswith("\n"):
        problems.append(f"{path}: the file does not end with a newline")
    return problems


def include_users(path, text):
    """A library's header is included by the one room that owns the library."""
    if not in_src(path):
        return []
    problems = []
    for number, name in includes_of(text):
        for pattern, (sentence, users) in INCLUDE_USERS.items():
            if re.search(pattern, name) and not re.search(users, path):
                problems.append(f"{path}:{number}: {name}: {sentence}")
        for room, (pattern, sentence) in INCLUDE_BANS.items():
            if re.search(room, path) and re.search(pattern, name):
                problems.append(f"{path}:{number}: {name}: {sentence}")
    return problems


def include_rooms(path, text):
    """Faces and the programs beside the main one include only the rooms they may know."""
    return [f"{path}:{number}: {name} is none of its business"
            for where, rooms in ROOMS_FOR.items() if in_src(path) and re.search(where, path)
            for number, name in includes_of(text)
            if name.startswith('"') and "/" in name and name[1:].split("/")[0] not in rooms]


def include_paths(path, text):
    """Includes name a room's header or a private one beside the file, never a way up."""
    if not path.endswith((".c", ".h", ".cpp")):
        return []
    return [f"{path}:{number}: {name} leads out of the room"
            for number, name in includes_of(text)
            if name.startswith('"') and (".." in name or name.startswith('"/')
                                         or name.startswith('"src/'))]


def call_users(path, text):
    """A function that only one file may call is called there only."""
    if not in_src(path):
        return []
    return [problem for pattern, (sentence, users) in CALL_USERS.items()
            if not re.search(users, path)
            for problem in _found(path, code_only(text), pattern + r"\b", sentence)]


def banned_calls(path, text):
    """Functions that overrun, guess or start a shell are not used."""
    if not in_src(path):
        return []
    pattern = r"(?<![\w.>])(" + "|".join(BANNED_CALLS) + r")\s*\("
    return _found(path, code_only(text), pattern, "a banned function")


def no_assert(path, text):
    """An assertion is no guard: it goes away or takes the program with it."""
    if not in_src(path):
        return []
    return _found(path, code_only(text),
                  r"\b(g_assert\w*|assert|g_error|g_assert_not_reached)\s*\(",
                  "an assertion in src")


def no_goto(path, text):
    """Clean-up is by scope, not by jumps."""
    return _found(path, code_only(text), r"\bgoto\b", "a jump") if in_src(path) else []


def no_sync(path, text):
    """Rooms that a face waits on never block on someone else."""
    if not re.search(r"^src/(ui|cli|session|agent|engine)/", path):
        return []
    return _found(path, code_only(text), r"\b(?!ow_)\w+_sync\s*\(", "a call that blocks")


def quiet_libraries(path, text):
    """Library rooms log nothing above debug."""
    if not (in_src(path) and re.search(LIBRARY_ROOMS, path)):
        return []
    return _found(path, code_only(text),
                  r"\bg_(warning|message|critical|info|print|printerr|log)\s*\(",
                  "a library room that logs")


def header_guard(path, text):
    """Headers are included once."""
    if not path.endswith(".h"):
        return []
    return [] if re.search(r"^#pragma once$", text, re.MULTILINE) else [
        f"{path}: #pragma once is missing"]


def exported_names(path, text, headers=None):
    """An exported function begins with the name of its file, or of the header that the
    file is a part of (ow-file-tree.c of ow-file.h), or stands in its own public header.

    @headers: {name: text} of the room's headers."""
    if not (path.startswith("src/") and path.endswith(".c")):
        return []
    stem = path.rsplit("/", 1)[1][:-2]
    own = [name for name in headers or {} if stem == name or stem.startswith(name + "-")]
    stems = [stem, *own]
    prefixes = tuple(name.replace("-", "_") for name in stems)
    return [f"{path}:{function.line}: {function.name} does not begin with {prefixes[0]}"
            for function in functions_of(text)
            if not function.static and function.name != "main"
            and not function.name.startswith(prefixes)
            and not any(re.search(rf"\b{function.name} +\(", headers[name]) for name in own)
            and not re.match(r"^[A-Z0-9_]+$", function.name)]


def unfinished(path, text):
    """No comment marks work that was left for later."""
    if path.endswith((".c", ".h", ".cpp")):
        where = "\n".join(comment for _, comment in comments_of(text))
    elif path.endswith((".py", ".sh", ".md", "meson.build")) or text.startswith("#!"):
        where = text
    else:
        return []
    return [f"{path}: '{word}' marks unfinished work" for word in UNFINISHED
            if re.search(r"\b" + re.escape(word) + r"\b", where)]


def outside_words(path, text):
    """Nothing of the machine or the way the tree was made stands in it."""
    if path == "LICENSE":
        return []
    return [problem for word in OUTSIDE_WORDS
            for problem in _found(path, text, re.escape(word), f"'{word}'", re.IGNORECASE)]


def registry_hosts(path, text):
    """The hosts of package registries stand in the allow list only."""
    if re.search(REGISTRY_PLACES, path):
        return []
    return [problem for host in REGISTRY_HOSTS
            for problem in _found(path, text, r"(?<![\w.-])" + re.escape(host), f"{host}")]


def python_compiles(path, text):
    """Python files are Python."""
    if not (path.endswith(".py") or re.match(r"#!.*\bpython3?\b", text)):
        return []
    try:
        ast.parse(text, path)
    except SyntaxError as error:
        return [f"{path}:{error.lineno}: {error.msg}"]
    return []


def guard_header(path, text):
    """A guard patch names its hole and the tests that must fail, and touches src only."""
    if not re.match(r"^tests/guards/[^/]+\.patch$", path):
        return []
    name, head = path.rsplit("/", 1)[1][:-len(".patch")], text.split("\n--- ", 1)[0]
    problems = []
    hole = re.search(r"^Hole: ([A-Z]\d+)$", head, re.MULTILINE)
    if not hole or not re.match(re.escape(hole.group(1)) + r"(-[a-z0-9-]+)?$", name):
        problems.append(f"{path}: no line 'Hole: {name}'")
    tests = re.findall(r"^Test: (.*)$", head, re.MULTILINE)
    if not tests:
        problems.append(f"{path}: no line 'Test: …'")
    for test in tests:
        if not re.match(r"^(unit:[\w-]+:/\S+|pytest:tests/integration/\w+\.py::\S+)$", test):
            problems.append(f"{path}: '{test}' names no test")
    for touched in re.findall(r"^\+\+\+ (\S+)", text, re.MULTILINE):
        if not touched.startswith("b/src/"):
            problems.append(f"{path}: touches {touched}, not src")
    if "\n+++ " not in text:
        problems.append(f"{path}: holds no diff")
    return problems


FILE_RULES = [spdx, size, line_length, white_space, include_users, include_rooms, include_paths,
              call_users, banned_calls, no_assert, no_goto, no_sync, quiet_libraries, header_guard,
              exported_names, unfinished, outside_words, registry_hosts, python_compiles,
              guard_header]
