# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The rules that look at the whole tree: {path: text} in, problems out."""

import ast
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from source import code_only

CALLEE = "ow_tool_host_call_async"


def layout(texts):
    """C is laid out as .uncrustify.cfg says."""
    return _run_on(texts, lambda path, text: path.endswith((".c", ".h")),
                   ["uncrustify", "-q", "-l", "C", "--check", "-c", ".uncrustify.cfg"],
                   r"^FAIL: (\S+)")


def shell_syntax(texts):
    """Shell scripts parse, and shellcheck finds nothing of weight in them."""
    def is_shell(path, text):
        return path.endswith(".sh") or bool(re.match(r"#!.*\b(ba)?sh\b", text))
    problems = []
    for path, text in texts.items():
        if is_shell(path, text):
            done = subprocess.run(["bash", "-n"], input=text, text=True, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode != 0:
                problems.append(f"{path}: {done.stderr.strip()}")
    return problems + _run_on(texts, is_shell, ["shellcheck", "-s", "bash", "-S", "warning", "-f", "gcc"],
                              r"^(\S+:\d+:\d+: .*)$")


def _run_on(texts, wanted, argv, pattern):
    """Runs a checker over a copy of the wanted files and gives what its lines name."""
    if shutil.which(argv[0]) is None:
        return [f"{argv[0]} is not installed"]
    names = [path for path, text in texts.items() if wanted(path, text)]
    with tempfile.TemporaryDirectory() as directory:
        for path in names + [".uncrustify.cfg"]:
            target = Path(directory, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(texts.get(path, ""), encoding="utf-8")
        if not names:
            return []
        done = subprocess.run(argv + names, cwd=directory, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    problems = re.findall(pattern, done.stdout, re.MULTILINE)
    if done.returncode != 0 and not problems:
        problems.append(f"{argv[0]} ended with {done.returncode}: {done.stdout[-400:]}")
    if argv[0] == "uncrustify":
        return [problem if "ended" in problem else f"{problem}: run ./dev format"
                for problem in problems]
    return problems


def one_caller(texts):
    """Exactly one place in the program asks a tool host to do something."""
    places = []
    for path, text in texts.items():
        if not (path.startswith("src/") and path.endswith((".c", ".cpp"))):
            continue
        for number, line in enumerate(code_only(text).split("\n"), 1):
            # At the line's start it is the definition.
            if re.search(r"\b" + CALLEE + r"\b", line) and not line.startswith(CALLEE):
                places.append((path, number))
    if [path for path, _ in places] == ["src/tools/ow-tool-call.c"]:
        return []
    return [f"{CALLEE} is called from {places or 'nowhere'}, "
            "not once from src/tools/ow-tool-call.c"]


WRITES = (r"\b(ow_file_(?:write\w*|replace)|g_file_set_contents\w*|g_file_replace\w*|g_file_create\w*"
          r"|fopen|g_fopen|creat|g_creat|rename\w*|g_rename|O_WRONLY|O_RDWR|O_CREAT)\b")
WRITER = "src/config/ow-config-change.c"


def one_writer(texts):
    """One place writes config.toml: ow_file_replace() is called once, nothing else in its room writes
    a file, and who knows the file's place hands it to nothing that writes."""
    problems, calls = [], []
    for path, text in texts.items():
        if not (path.startswith("src/") and path.endswith((".c", ".cpp"))):
            continue
        code = code_only(text)
        if not path.startswith("src/base/"):
            calls += [path] * len(re.findall(r"\bow_file_replace\b", code))
        if path == WRITER:
            continue
        if path.startswith("src/config/") and not path.startswith("src/config/ow-keys"):
            problems += [f"{path}: {name} is for {WRITER} alone" for name in re.findall(WRITES, code)]
        for name in re.findall(r"(\w+(?:->\w+)?) = ow_paths_get_config_file\b", code):
            if re.search(rf"{WRITES}\s*\([^;]*(?<![\w>]){re.escape(name)}\b", code) or \
                    re.search(rf"\bopen \((?<![\w>]){re.escape(name)}\b[^;]*{WRITES}", code):
                problems.append(f"{path}: writes config.toml, which {WRITER} alone does")
    if calls != [WRITER]:
        problems.append(f"ow_file_replace is called from {calls or 'nowhere'}, not once from {WRITER}")
    return problems


ROW = re.compile(r"^\|\s*(REQ-[A-Z]\d\d)\s*\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|$",
                 re.MULTILINE)
STATES = ("built", "in part", "not yet")


def requirements(texts):
    """Each requirement that is called built, in whole or in part, names a test that names it."""
    text = texts.get("docs/requirements.md")
    if text is None:
        return ["docs/requirements.md is missing"]
    problems, seen = [], set()
    for number, state, _words, tests in ROW.findall(text):
        if number in seen:
            problems.append(f"{number} stands there twice")
        seen.add(number)
        if state not in STATES:
            problems.append(f"{number}: '{state}' is none of {', '.join(STATES)}")
        if state == "not yet":
            continue
        names = re.findall(r"tests/[\w/.-]+", tests)
        if not names:
            problems.append(f"{number} is called {state} and names no test")
        for name in names:
            if name not in texts:
                problems.append(f"{number}: {name} does not exist")
            elif number not in texts[name]:
                problems.append(f"{number}: {name} does not name it")
    if not seen:
        problems.append("docs/requirements.md holds no row")
    return problems


WALLS = {"bubblewrap", "openshell"}
# What is required of every wall.
OF_WALLS = re.compile(r"REQ-(W\d\d|N0[1-3]|S0[1-3])")
# "REQ-W01, REQ-W02 [bubblewrap, openshell]" in what a test says of itself.
MARKER = re.compile(r"((?:REQ-[A-Z]\d\d,? ?)+)\[([a-z, ]+)\]")


def _walls_of(function):
    """The walls that a test is run with: by the fixture, or as its decorator says."""
    names = {argument.arg for argument in function.args.args}
    for decorator in function.decorator_list:
        words = re.findall(r"[a-z_]+", ast.unparse(decorator))
        if "parametrize" in words and names & {"wall", "provider"} & set(words):
            return WALLS if "WALLS" in ast.unparse(decorator) else WALLS & set(words)
    return WALLS if "wall" in names else set()


def both_walls(texts):
    """What is required of the walls has a test on each, and says so where the test is."""
    tested, problems = {}, []
    for path, text in texts.items():
        if not re.search(r"tests/integration/test_\w+\.py$", path):
            continue
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
                continue
            for numbers, walls in MARKER.findall(ast.get_docstring(function) or ""):
                said = set(walls.split(", "))
                if not said <= _walls_of(function):
                    problems.append(f"{path}: {function.name} says [{walls}] and is run with "
                                    f"{sorted(_walls_of(function)) or 'no wall'}")
                for number in re.findall(r"REQ-[A-Z]\d\d", numbers):
                    tested.setdefault(number, set()).update(said)
    for number, state, _words, _tests in ROW.findall(texts.get("docs/requirements.md", "")):
        missing = WALLS - tested.get(number, set())
        if OF_WALLS.fullmatch(number) and state != "not yet" and missing:
            problems.append(f"{number}: no test says that it is one with {', '.join(sorted(missing))}")
    return problems


def links(texts):
    """Links between the docs lead somewhere."""
    problems = []
    for path, text in texts.items():
        if not path.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if re.match(r"[a-z]+:", target):
                continue
            place = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if place not in texts and not any(name.startswith(place + "/") for name in texts):
                problems.append(f"{path}: {target} leads nowhere")
    return problems


def required_guards(texts):
    """Each hole on the list has a patch that takes its guard out."""
    listed = texts.get("tests/guards/required.list", "")
    holes = re.findall(r"^[A-Z]\d+$", listed, re.MULTILINE)
    patches = [path for path in texts if re.match(r"^tests/guards/[^/]+\.patch$", path)]
    problems = [f"tests/guards: no patch for {hole}" for hole in holes
                if not any(re.match(rf"^tests/guards/{hole}(-[a-z0-9-]+)?\.patch$", path)
                           for path in patches)]
    return problems if holes else ["tests/guards/required.list names no hole"]


TREE_RULES = [layout, shell_syntax, one_caller, one_writer, requirements, both_walls, links,
              required_guards]
