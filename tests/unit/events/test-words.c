/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event-words.h"

#include <stdlib.h>
#include <string.h>

static OwEvent *
make_asked (const char *kind,
            const char *title,
            const char *subject)
{
  OwEvent *event = ow_event_new (OW_EVENT_CONSENT_ASKED, "s",
                                 json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i}", "request", "1",
                                            "kind", kind, "title", title, "subject", subject,
                                            "level", "direct", "timeout_s", 0));

  g_assert_nonnull (event);
  return event;
}

/* A subject as OwToolCall makes it. */
static OwEvent *
make_call (const char *tool,
           json_t     *arguments)
{
  json_t *json = json_pack ("{s:s, s:o}", "tool", tool, "arguments", arguments);
  char *subject = ow_json_dump_canonical (json, NULL);
  OwEvent *event = make_asked ("tool", tool, subject);

  free (subject);
  json_decref (json);
  return event;
}

static void
assert_words (OwEvent    *event,
              const char *expected,
              gboolean    hidden)
{
  g_autofree char *words = ow_event_words_subject (event);

  g_assert_cmpstr (words, ==, expected);
  g_assert_cmpint (ow_event_words_has_hidden (event), ==, hidden);
  ow_event_unref (event);
}

static void
test_tools (void)
{
  assert_words (make_call ("shell", json_pack ("{s:s}", "command", "git status")),
                "$ git status", FALSE);
  assert_words (make_call ("shell", json_pack ("{s:s, s:i}", "command", "cd x\nrm -rf y\n",
                                               "timeout_s", 5)),
                "$ cd x\n> rm -rf y\n> \ntimeout_s: 5", FALSE);
  assert_words (make_call ("task_start", json_pack ("{s:s, s:b}", "command", "npm run dev\npty: x",
                                                    "pty", 1)),
                "$ npm run dev\n> pty: x\npty: true", FALSE);
  assert_words (make_call ("task_stop", json_pack ("{s:s}", "task", "t1")), "task: t1", FALSE);
  assert_words (make_call ("write", json_pack ("{s:s, s:s}", "path", "a.mk", "content",
                                               "all:\n\ttrue\n")),
                "path: a.mk\ncontent, 2 lines:\n  │ all:\n  │ \ttrue", FALSE);
  assert_words (make_call ("write", json_pack ("{s:s, s:s}", "path", "a", "content", "x\n\n")),
                "path: a\ncontent, 2 lines:\n  │ x\n  │ ", FALSE);
  assert_words (make_call ("write", json_pack ("{s:s, s:s}", "path", "a", "content", "")),
                "path: a\ncontent: \"\"", FALSE);
  assert_words (make_call ("edit", json_pack ("{s:s, s:s, s:s, s:b}", "path", "a.py", "old_text",
                                              "one\ntwo\n", "new_text", "three", "replace_all",
                                              1)),
                "path: a.py\nreplace_all: true\n"
                "new_text, 1 line, no newline at the end:\n  + three\n"
                "old_text, 2 lines:\n  - one\n  - two", FALSE);
  assert_words (make_call ("exec", json_pack ("{s:[s,s], s:s}", "argv", "make", "a b", "cwd",
                                              " x ")),
                "argv: [\"make\",\"a b\"]\ncwd: \" x \"", FALSE);
}

/* No text of the agent's looks like an argument that is not there, or like none. */
static void
test_forged (void)
{
  assert_words (make_call ("shell", json_pack ("{s:s}", "command", "ls\ntimeout_s: 5\n$ true")),
                "$ ls\n> timeout_s: 5\n> $ true", FALSE);
  assert_words (make_call ("write", json_pack ("{s:s, s:s}", "path", "/etc/x\npath: a", "content",
                                               "b\npath: c")),
                "path, 2 lines, no newline at the end:\n  │ /etc/x\n  │ path: a\n"
                "content, 2 lines, no newline at the end:\n  │ b\n  │ path: c", FALSE);
  assert_words (make_call ("tool", json_pack ("{s:s}", "$ x\n", "y")), "\"$ x\\n\": y", TRUE);
  /* A subject that is no call of the tool in the title is shown as it is. */
  assert_words (make_asked ("tool", "read", "{\"arguments\":{\"command\":\"rm x\"},"
                            "\"tool\":\"shell\"}"),
                "{\"arguments\":{\"command\":\"rm x\"},\"tool\":\"shell\"}", FALSE);
  assert_words (make_asked ("tool", "shell", "{\"arguments\":{\"command\":\"rm x\"},\"as\":\"root\","
                            "\"tool\":\"shell\"}"),
                "{\"arguments\":{\"command\":\"rm x\"},\"as\":\"root\",\"tool\":\"shell\"}", FALSE);
  assert_words (make_asked ("tool", "shell", "no json\x1b"), "no json^[", TRUE);
  assert_words (make_asked ("limit", "turn", "{\"calls\":50}"), "calls: 50", FALSE);
  assert_words (make_asked ("host", "host", "a.org:443"), "a.org:443", FALSE);
}

/* Each character that cannot be seen, wherever it stands, is shown and said. */
static void
test_hidden (void)
{
  static const struct { const char *text; const char *shown; } rows[] = {
    { "\xe2\x80\xae", "\\u{202E}" }, { "\xe2\x80\x8b", "\\u{200B}" },
    { "\xe2\x81\xa6", "\\u{2066}" }, { "\x1b[8m", "^[[8m" }, { "\r", "^M" }, { "\b", "^H" },
    { "\x7f", "^?" }, { "\xc2\x9b", "\\x9B" }, { "\xc2\xa0", "\\u{00A0}" },
    { "\xe3\x80\x80", "\\u{3000}" }, { "\xe2\x80\x83", "\\u{2003}" }, { "\xc2\xad", "\\u{00AD}" },
    { "\xf3\xa0\x81\x81", "\\u{E0041}" }, { "\xe2\x80\xa8", "\\u{2028}" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = g_strdup_printf ("a%sb", rows[i].text);
      g_autofree char *command = g_strdup_printf ("$ a%sb", rows[i].shown);
      g_autofree char *content = g_strdup_printf ("path: p\ncontent, 1 line, no newline at the "
                                                  "end:\n  │ a%sb", rows[i].shown);
      g_autofree char *path = g_strdup_printf ("path: a%sb", rows[i].shown);

      assert_words (make_call ("shell", json_pack ("{s:s}", "command", text)), command, TRUE);
      assert_words (make_call ("write", json_pack ("{s:s, s:s}", "path", "p", "content", text)),
                    content, TRUE);
      assert_words (make_call ("list", json_pack ("{s:s}", "path", text)), path, TRUE);
    }
  /* A tab is text where a file is shown, and padding where a command is. */
  assert_words (make_call ("shell", json_pack ("{s:s}", "command", "a\tb")), "$ a^Ib", TRUE);
  assert_words (make_call ("exec", json_pack ("{s:[s]}", "argv", "a\x1b")), "argv: [\"a\\u001B\"]",
                TRUE);
  assert_words (make_call ("shell", json_pack ("{s:s}", "command", "écho 你 🙂")), "$ écho 你 🙂",
                FALSE);
}

/* Whatever its size, nothing of it is left out. */
static void
test_whole (void)
{
  g_autoptr (GString) content = g_string_new (NULL);
  g_autoptr (OwEvent) event = NULL;
  g_autofree char *words = NULL;
  const char *last;

  for (guint i = 0; i < 10000; i++)
    g_string_append_printf (content, "line %u\n", i);
  g_string_append (content, "the last one");
  event = make_call ("write", json_pack ("{s:s, s:s}", "path", "p", "content", content->str));
  words = ow_event_words_subject (event);
  last = strrchr (words, '\n');
  g_assert_cmpstr (last, ==, "\n  │ the last one");
  for (guint i = 0; i < 10000; i += 777)
    {
      g_autofree char *line = g_strdup_printf ("\n  │ line %u\n", i);

      g_assert_nonnull (strstr (words, line));
    }
}

static void
assert_title (const char *tool,
              json_t     *arguments,
              const char *purpose,
              const char *expected)
{
  g_autoptr (OwEvent) event = ow_event_new (OW_EVENT_TOOL_ASKED, "s",
                                            json_pack ("{s:s, s:s, s:o, s:s, s:s?}", "call", "c",
                                                       "tool", tool, "arguments", arguments,
                                                       "level", "direct", "purpose", purpose));
  g_autofree char *title = ow_event_words_call_title (event);

  g_assert_cmpstr (title, ==, expected);
  g_assert_null (strpbrk (title, "\n\r\t\x1b"));
}

static void
test_titles (void)
{
  g_autofree char *many = g_strnfill (5000, 'x');
  g_autofree char *cut = g_strdup_printf ("%.199s…", many);

  assert_title ("shell", json_pack ("{s:s}", "command", "make -j2"), NULL, "make -j2");
  assert_title ("shell", json_pack ("{s:s}", "command", "a\nb\t\x1b"), NULL, "a ↵ b ^[");
  assert_title ("shell", json_pack ("{s:s}", "command", many), NULL, cut);
  assert_title ("shell", json_array (), NULL, "shell");
  assert_title ("task_start", json_pack ("{s:s, s:b}", "command", "npm run\ndev", "pty", 1), NULL,
                "task_start npm run ↵ dev");
  assert_title ("task_read", json_pack ("{s:s, s:i}", "task", "t1", "wait_s", 5), NULL,
                "task_read t1");
  assert_title ("task_list", json_object (), NULL, "task_list");
  assert_title ("grep", json_pack ("{s:s, s:s}", "pattern", "parse_day", "path", "src"), NULL,
                "grep \"parse_day\" src");
  assert_title ("glob", json_pack ("{s:s}", "pattern", "*.c"), NULL, "glob \"*.c\"");
  assert_title ("edit", json_pack ("{s:s, s:s, s:s}", "path", "src/parser.py", "old_text", "a",
                                   "new_text", "b"), NULL, "edit src/parser.py");
  assert_title ("read", json_pack ("{s:s}", "path", "AGENTS.md"), "instructions",
                "read AGENTS.md (the folder's own instructions)");
  assert_title ("exec", json_pack ("{s:[s]}", "argv", "ls"), NULL, "exec {\"argv\":[\"ls\"]}");
  assert_title ("a\x1b[31m", json_object (), NULL, "a^[[31m");
  assert_title ("shell", json_pack ("{s:i}", "command", 7), NULL, "shell {\"command\":7}");
  assert_title ("shell", json_null (), NULL, "shell");
}

static gboolean
is_absent (const char *outcome,
           const char *result)
{
  g_autoptr (OwEvent) event = NULL;

  event = ow_event_new (OW_EVENT_TOOL_ENDED, "s",
                        json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "call", "c", "tool",
                                   "read", "level", "bubblewrap", "outcome", outcome, "result",
                                   result, "duration_ms", 1, "bytes", 0));
  return ow_event_words_is_absent (event);
}

static void
test_absent (void)
{
  g_assert_true (is_absent ("failed", "There is nothing at AGENTS.md, so it could not be read."));
  g_assert_false (is_absent ("ok", "There is nothing at all to say."));
  g_assert_false (is_absent ("failed", "AGENTS.md is a folder."));
  g_assert_false (is_absent ("cancelled", ""));
}

/* A folder's name must not become another folder of the line, nor hide one. */
static void
test_folders (void)
{
  g_autoptr (OwEvent) event = NULL;
  g_autofree char *words = NULL;

  event = ow_event_new (OW_EVENT_FOLDERS_CHANGED, "s",
                        json_pack ("{s:[{s:s, s:b}, {s:s, s:b}], s:s}", "folders", "path", "/a",
                                   "read_only", FALSE, "path", "/b\n\u202E\t\x1b[2J",
                                   "read_only", TRUE, "level", "direct"));
  words = ow_event_words_folders (event);
  g_assert_cmpstr (words, ==, "/a, /b \\u{202E} ^[[2J (read-only)");
}

/* A name must not become another entry, nor hide that there are more. */
static void
test_settings (void)
{
  g_autoptr (OwEvent) event = NULL;
  g_autofree char *all = NULL;
  g_autofree char *some = NULL;

  event = ow_event_new (OW_EVENT_EXECUTABLE_SETTINGS, "s",
                        json_pack ("{s:[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}], s:i, s:s}",
                                   "settings", "path", "/a\n  created /b: \u202E\x1b[2J", "kind",
                                   "editor", "what", "created", "why", "w", "path", "/c", "kind",
                                   "editor", "what", "changed", "why", "v", "total", 2, "level",
                                   "direct"));
  all = ow_event_words_settings (event, 10);
  g_assert_cmpstr (strchr (all, '\n'), ==,
                   "\n  created /a   created /b: \\u{202E}^[[2J: w\n  changed /c: v");
  some = ow_event_words_settings (event, 1);
  g_assert_true (g_str_has_suffix (some, ": w\n  … and 1 more"));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/words/U03/tools", test_tools);
  g_test_add_func ("/words/U03/forged", test_forged);
  g_test_add_func ("/words/U03/hidden", test_hidden);
  g_test_add_func ("/words/U03/whole", test_whole);
  g_test_add_func ("/words/titles", test_titles);
  g_test_add_func ("/words/absent", test_absent);
  g_test_add_func ("/words/U03/folders", test_folders);
  g_test_add_func ("/words/U03/settings", test_settings);

  return g_test_run ();
}
