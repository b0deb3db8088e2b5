# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""For each rule what it must let pass and what it must refuse: a rule that refuses nothing
proves nothing. Texts that may not stand in the tree are put together from parts."""

from rules import SPDX

HEAD = f"/* {SPDX[0]}\n * {SPDX[1]} */\n"
LOOP = "static void\nf (void)\n{\n%s}\n"
NESTED = "".join("  " * n + "if (x)\n" + "  " * n + "  {\n" for n in range(1, 6)) + \
    "  y ();\n" + "".join("  " * n + "  }\n" for n in range(5, 0, -1))
SHALLOW = "".join("  " * n + "if (x)\n" + "  " * n + "  {\n" for n in range(1, 5)) + \
    "  y ();\n" + "".join("  " * n + "  }\n" for n in range(4, 0, -1))
PATCH = ("Hole: S01\nTest: unit:runner-files:/files/S01\n\n--- a/src/runner/ow-x.c\n"
         "+++ b/src/runner/ow-x.c\n@@ -1 +1 @@\n-a\n+b\n")
HOST = "py" + "pi.org"


def c(text, path="src/agent/ow-agent.c"):
    return (path, text)


FILE_SAMPLES = {
    "spdx": (
        [c(HEAD), ("dev", f"#!/bin/bash\n# {SPDX[0]}\n# {SPDX[1]}\n"), ("README.md", "words\n")],
        [c("int x;\n"), c(f"/* {SPDX[0]} */\n"), ("dev", "#!/bin/bash\n"),
         ("src/meson.build", "subdir('base')\n"), c("\n" * 5 + HEAD)]),
    "size": (
        [c("int x;\n" * 1000), c(LOOP % ("  x ();\n" * 90)), c(LOOP % SHALLOW)],
        [c("int x;\n" * 1001), c(LOOP % ("  x ();\n" * 100)), c(LOOP % NESTED),
         ("tests/x.py", "x = 1\n" * 1001)]),
    "line_length": (
        [c("x" * 100 + "\n"), c("/* " + "é" * 96 + "\n")],
        [c("x" * 101 + "\n"), ("tests/x.py", "#" * 101), ("tests/x.c", '"' + "x" * 120)]),
    "white_space": (
        [c("int x;\n")],
        [c("int x; \n"), c("\tint x;\n"), c("int x;")]),
    "include_users": (
        [c("#include <jansson.h>\n", "src/wire/include/wire/ow-json.h"),
         c("#include <sqlite3.h>\n", "src/session/ow-store.c"),
         c("/* #include <sqlite3.h> */\n"),
         c("#include <glib.h>\n", "src/base/ow-text.c"),
         ("tests/unit/wire/test-json.c", "#include <jansson.h>\n")],
        [c("#include <jansson.h>\n"), c("#  include <sqlite3.h>\n"), c("#include <pcre2.h>\n"),
         c("#include <toml++/toml.h>\n", "src/base/ow-x.cpp"),
         c("#include <seccomp.h>\n", "src/proxy/ow-proxy.c"), c("#include <nettle/sha2.h>\n"),
         c("#include <linux/seccomp.h>\n"), c("#include <gtk/gtk.h>\n"),
         c("#include <libsoup/soup.h>\n"), c("#include <yaml.h>\n"), c("#include <polkit/polkit.h>\n"),
         c("#include <glib.h>\n", "src/runner/ow-x.c"),
         c("#include <gio/gio.h>\n", "src/wire/ow-x.c")]),
    "include_rooms": (
        [c('#include "engine/ow-engine.h"\n', "src/cli/ow-x.c"),
         c('#include "wire/ow-json.h"\n', "src/runner/ow-x.c"),
         c('#include "sandbox/ow-sandbox.h"\n', "src/session/ow-x.c")],
        [c('#include "sandbox/ow-sandbox.h"\n', "src/cli/ow-x.c"),
         c('#include "agent/ow-agent.h"\n', "src/cli/ow-x.c"),
         c('#include "base/ow-text.h"\n', "src/runner/ow-x.c"),
         c('#include "events/ow-event.h"\n', "src/proxy/ow-x.c")]),
    "include_paths": (
        [c('#include "wire/ow-json.h"\n'), c('#include "ow-agent-private.h"\n')],
        [c('#include "../wire/ow-json.h"\n'), c('#include "wire/../base/ow-text.h"\n'),
         c('#include "/usr/include/stdio.h"\n'), c('#include "src/base/ow-text.h"\n')]),
    "call_users": (
        [c("json_loads (text);\n", "src/wire/ow-json.c"), c("/* json_loads */\n"),
         c("GSubprocess *p;\n", "src/base/ow-process.c"),
         c("g_main_loop_run (loop);\n", "src/cli/ow-main.c")],
        [c("json_loads (text);\n"), c("json_load_file (x);\n", "src/wire/ow-mcp.c"),
         c("g_subprocess_newv (x);\n"), c("g_autoptr (GSubprocess) p;\n"),
         c("g_spawn_async (x);\n", "src/sandbox/ow-sandbox.c"),
         c("g_main_context_iteration (NULL, TRUE);\n"),
         c("g_main_loop_run (loop);\n", "src/cli/ow-face.c")]),
    "banned_calls": (
        [c("ow_system (x);\n"), c('"system (x)";\n'), c("snprintf (x);\n"), c("x->gets (y);\n"),
         c("g_mkdtemp (x);\n")],
        [c("system (x);\n"), c("popen(x);\n"), c("  strcpy (a, b);\n"), c("sprintf (a, b);\n"),
         c("strtok (a, b);\n"), c("alloca (5);\n"), c("gets (x);\n"), c("mktemp (x);\n")]),
    "no_assert": (
        [c("/* assert (x) */\n"), c("g_return_if_fail (x);\n"), c("_Static_assert (1, x);\n"),
         ("tests/unit/x.c", "g_assert_true (x);\n")],
        [c("g_assert (x);\n"), c("assert (x);\n"), c("g_assert_nonnull (x);\n"),
         c("g_error (x);\n")]),
    "no_goto": ([c("/* goto */\n")], [c("  goto out;\n")]),
    "no_sync": (
        [c("ow_audit_sync (audit);\n"), c("g_dbus_connection_call_sync (x);\n",
                                          "src/base/ow-x.c")],
        [c("g_dbus_connection_call_sync (x);\n"),
         c("g_input_stream_read_sync(x);\n", "src/engine/ow-x.c")]),
    "quiet_libraries": (
        [c("g_debug (x);\n"), c("g_print (x);\n", "src/cli/ow-face.c"),
         c("g_string_append_printf (x);\n")],
        [c("g_warning (x);\n"), c("g_print (x);\n"), c("g_info (x);\n", "src/base/ow-x.c")]),
    "header_guard": (
        [("src/base/ow-x.h", "#pragma once\n")],
        [("src/base/ow-x.h", "#ifndef X\n#define X\n#endif\n")]),
    "exported_names": (
        [c("void\now_agent_run (void)\n{\n}\n"), c("static void\nrun (void)\n{\n}\n"),
         c("static void G_GNUC_PRINTF (1, 2)\nrun (const char *f)\n{\n}\n"),
         c("void run (void);\n"), c("static gboolean\nrun (int a,\n     int b)\n{\n}\n")],
        [c("void\nrun (void)\n{\n}\n"), c("OwAgent *\now_model_new (int a,\n   int b)\n{\n}\n")]),
    "unfinished": (
        [c('"TO' + 'DO in a string is data"\n'), c("/* done */\n")],
        [c("/* TO" + "DO later */\n"), c("int x; // FIX" + "ME\n"),
         ("docs/x.md", "X" * 3 + ": write\n")]),
    "outside_words": (
        [("docs/x.md", "the work of others\n")],
        [("docs/x.md", "see /wo" + "rk/main\n"), c("/* Cla" + "ude wrote this */\n")]),
    "registry_hosts": (
        [("src/sandbox/ow-network-profile.c", f'"{HOST}"\n')],
        [("src/sandbox/ow-sandbox.c", f'"{HOST}"\n'), ("README.md", f"https://{HOST}/\n")]),
    "python_compiles": (
        [("x.py", "x = 1\n"), ("run", "#!/usr/bin/env python3\nx = 1\n")],
        [("x.py", "x = = 1\n"), ("run", "#!/usr/bin/env python3\ndef f(:\n")]),
    "guard_header": (
        [("tests/guards/S01.patch", PATCH), ("tests/guards/S01-write.patch", PATCH)],
        [("tests/guards/S02.patch", PATCH), ("tests/guards/S01.patch", PATCH.replace("Test", "X")),
         ("tests/guards/S01.patch", PATCH.replace("unit:runner-files:", "unit:")),
         ("tests/guards/S01.patch", PATCH.replace("src/", "tests/")),
         ("tests/guards/S01.patch", PATCH.split("\n--- ")[0])]),
}

PROFILE = "indent_columns = 2\nindent_with_tabs = 0\nsp_before_sparen = force\n"
CALL = "  ow_tool_host_call_async (host);\n"
ONE = {"src/tools/ow-tool-call.c": CALL,
       "src/tools/ow-tool-host.c": "void\now_tool_host_call_async (OwToolHost *self)\n{\n}\n"}
REPLACE = "  return ow_file_replace (path, old, content, mode, &changed, error);\n"
WRITER = {"src/config/ow-config-change.c": REPLACE}
ROWS = "| REQ-W01 | built | words | tests/x.py |\n| REQ-W02 | not yet | words | |\n"

WALL_TEST = "tests/integration/test_x.py"
WALL_TEXT = 'def test_x(wall):\n    """REQ-W01 [bubblewrap, openshell]: words."""\n'
WALLED = {"docs/requirements.md": ROWS, WALL_TEST: WALL_TEXT}

TREE_SAMPLES = {
    "layout": (
        [{".uncrustify.cfg": PROFILE, "src/x.c": "int\nf (void)\n{\n  if (x)\n    y ();\n}\n"}],
        [{".uncrustify.cfg": PROFILE, "src/x.c": "int\nf (void)\n{\n      if(x)\n y ();\n}\n"}]),
    "shell_syntax": (
        [{"dev": "#!/bin/bash\nif true\nthen\n  echo x\nfi\n"}],
        [{"dev": "#!/bin/bash\nif true\n  echo x\n"}, {"x.sh": "#!/bin/sh\necho $((\n"}]),
    "one_caller": (
        [ONE],
        [{}, {"src/tools/ow-tool-call.c": CALL * 2}, {**ONE, "src/agent/ow-agent.c": CALL},
         {"src/agent/ow-agent.c": CALL},
         {**ONE, "src/agent/ow-agent.c": "  f = ow_tool_host_call_async;\n"}]),
    "one_writer": (
        [WRITER, {**WRITER, "src/engine/ow-x.c": "  p = ow_paths_get_config_file ();\n  q = f (p);\n"
                                                 "  return ow_file_write_atomic (state, b, 0600, error);\n"}],
        [{}, {"src/config/ow-config-change.c": REPLACE * 2}, {**WRITER, "src/engine/ow-x.c": REPLACE},
         {**WRITER, "src/config/ow-x.c": "  fd = open (path, O_WRONLY);\n"},
         {**WRITER, "src/config/ow-x.c": "  g_file_set_contents (path, text, -1, NULL);\n"},
         {**WRITER, "src/engine/ow-x.c": "  p = ow_paths_get_config_file ();\n"
                                         "  ow_file_write_atomic (p, b, 0600, error);\n"},
         {**WRITER, "src/engine/ow-x.c": "  job->file = ow_paths_get_config_file ();\n"
                                         "  fd = open (job->file, O_CREAT);\n"},
         {**WRITER, "src/engine/ow-x.c": "  job->file = ow_paths_get_config_file ();\n"
                                         "  g_file_set_contents (job->file, t, -1, NULL);\n"}]),
    "requirements": (
        [{"docs/requirements.md": ROWS, "tests/x.py": "REQ-W01"}],
        [{}, {"docs/requirements.md": "words\n"}, {"docs/requirements.md": ROWS},
         {"docs/requirements.md": ROWS, "tests/x.py": "nothing"},
         {"docs/requirements.md": ROWS.replace("tests/x.py", "")},
         {"docs/requirements.md": ROWS * 2, "tests/x.py": "REQ-W01"},
         {"docs/requirements.md": ROWS.replace("built", "sure"), "tests/x.py": "REQ-W01"}]),
    "both_walls": (
        [WALLED, {**WALLED, "docs/requirements.md": ROWS.replace("built", "not yet"), WALL_TEST: ""},
         {**WALLED, WALL_TEST: WALL_TEXT.replace("(wall)", "(provider)").replace(
             "def", '@mark.parametrize("provider", ["bubblewrap", "openshell"])\ndef')}],
        [{**WALLED, WALL_TEST: ""}, {**WALLED, WALL_TEST: WALL_TEXT.replace("bubblewrap, ", "")},
         {**WALLED, WALL_TEST: WALL_TEXT.replace("(wall)", "(x)")},
         {**WALLED, WALL_TEST: WALL_TEXT.replace("openshell", "moat")},
         {**WALLED, WALL_TEST: WALL_TEXT.replace(
             "def", '@mark.parametrize("wall", ["openshell"])\ndef')}]),
    "required_guards": (
        [{"tests/guards/required.list": "# x\nS01\nP02\n", "tests/guards/S01.patch": "",
          "tests/guards/P02-split.patch": ""}],
        [{}, {"tests/guards/required.list": "S01\n"},
         {"tests/guards/required.list": "S01\n", "tests/guards/S011.patch": ""}]),
    "links": (
        [{"docs/a.md": "[b](b.md) [c](https://example.org) [d](#d)", "docs/b.md": ""}],
        [{"docs/a.md": "[b](b.md)"}, {"README.md": "[b](docs/b.md#x)"}]),
}
