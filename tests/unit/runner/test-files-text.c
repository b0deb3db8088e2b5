/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static void
test_foreign_bytes (void)
{
  Files *files = files_new ();
  g_autofree char *wide = g_strnfill (180 * 1024, 'w');
  g_autofree char *long_line = g_strconcat (wide, "needle", wide, "\n", NULL);

  files_put (files, "work/a-good", "one needle\n");
  files_put (files, "work/b-gbk", "needle \xc4\xe3\xba\xc3\n\xc4\xe3 alone\n");
  files_put_bytes (files, "work/c-utf16", "\xff\xfen\0e\0e\0d\0l\0e\0\n\0", 16);
  files_put (files, "work/d-wide", long_line);
  files_put_bytes (files, "work/e-nul", "\0\1needle\0\n", 10);
  files_put (files, "work/f-latin1", "caf\xe9 needle \\xe9\n");
  files_put (files, "work/g-broken", "needle \xf0\x9f\x98\n\xed\xa0\x80 needle\n\xc0\x80needle\n");
  files_put (files, "work/h-good", "last needle\n");

  for (gsize i = 0; i < 4; i++)
    {
      static const char *const patterns[] = { "needle", "ne+dle", "(?i)NEEDLE", "\\\\bneedle" };
      const char *text = files_call (files, "grep", "{'pattern': '%s'}", patterns[i]);

      files_assert_done (files);
      files_assert_has (text, "a-good:1:one needle\n");
      files_assert_has (text, "b-gbk:1!:needle \\xc4\\xe3\\xba\\xc3\n");
      files_assert_has (text, "c-utf16 is UTF-16 text");
      files_assert_has (text, "f-latin1:1!:caf\\xe9 needle \\x5cxe9\n");
      files_assert_has (text, "g-broken:1!:needle \\xf0\\x9f\\x98\n");
      files_assert_has (text, "h-good:1:last needle\n");
      files_assert_has (text, "not UTF-8");
      if (i < 3)
        {
          files_assert_has (text, "d-wide:1:… www");
          files_assert_has (text, "e-nul matches; it is not text");
          files_assert_has (text, "g-broken:2!:\\xed\\xa0\\x80 needle\n");
          files_assert_has (text, "g-broken:3!:\\xc0\\x80needle\n");
        }
    }
  files_assert_has (files_call (files, "read", "{'path': 'f-latin1'}"),
                    "1!\tcaf\\xe9 needle \\x5cxe9\n");
  files_assert_has (files_call (files, "read", "{'path': 'h-good'}"), "1\tlast needle\n");
  files_assert_has (files_call (files, "read", "{'path': 'c-utf16'}"), "iconv");
  files_free (files);
}

/* A name is bytes as well. */
static void
test_foreign_names (void)
{
  Files *files = files_new ();

  files_put (files, "work/bad\xff\\xffname", "needle\n");
  files_put (files, "work/line\nbreak\x1b[31m", "needle\n");
  files_assert_has (files_call (files, "list", "{}"), "bad\\xff\\x5cxffname\n");
  files_assert_has (files_call (files, "list", "{}"), "line\\x0abreak\\x1b[31m\n");
  files_assert_has (files_call (files, "grep", "{'pattern': 'needle'}"),
                    "line\\x0abreak\\x1b[31m:1:needle\n");
  files_assert_has (files_call (files, "glob", "{'pattern': 'bad*'}"), "bad\\xff\\x5cxffname\n");
  files_free (files);
}

static void
test_read (void)
{
  Files *files = files_new ();

  files_put (files, "work/empty", "");
  files_put (files, "work/end", "one\ntwo");
  files_put (files, "work/crlf", "one\r\ntwo\r\n");
  files_put (files, "work/bom", "\xef\xbb\xbfone\n");
  files_put_bytes (files, "work/png", "\x89PNG\r\n\x1a\n\0\0", 10);
  files_assert_has (files_call (files, "read", "{'path': 'empty'}"), "empty");
  g_assert_cmpint (files_int (files, "total_lines"), ==, 0);
  files_assert_has (files_call (files, "read", "{'path': 'end'}"), "     1\tone\n     2\ttwo\n");
  g_assert_cmpint (files_int (files, "total_lines"), ==, 2);
  files_assert_has (files_call (files, "read", "{'path': 'crlf'}"), "1\tone\n     2\ttwo\n");
  files_assert_has (files->result.text, "CRLF");
  files_assert_has (files_call (files, "read", "{'path': 'bom'}"), "1\tone\n");
  files_assert_has (files->result.text, "byte-order mark");
  files_assert_has (files_call (files, "read", "{'path': 'png'}"), "PNG image");
  files_assert_has (files_call (files, "read", "{'path': 'absent'}"), "list or glob");
  g_assert_true (files->result.is_error);
  files_free (files);
}

static void
test_wrong_arguments (void)
{
  static const struct {
    const char *tool;
    const char *arguments;
    const char *part;
  } calls[] = {
    { "read", "{}", "\"path\" is missing" },
    { "read", "{'path': 7}", "must be a text" },
    { "read", "{'path': ['x']}", "must be a text" },
    { "read", "{'path': 'x', 'offset': 0}", "whole number" },
    { "read", "{'path': 'x', 'offset': -1}", "whole number" },
    { "read", "{'path': 'x', 'limit': '9'}", "whole number" },
    { "read", "{'path': 'x', 'limit': 1.5}", "whole number" },
    { "write", "{'path': 'x'}", "\"content\" is missing" },
    { "write", "{'path': 'x', 'content': null}", "\"content\" is missing" },
    { "edit", "{'path': 'x', 'old_text': '', 'new_text': 'y'}", "empty" },
    { "edit", "{'path': 'x', 'old_text': 'y', 'new_text': 'y'}", "same" },
    { "edit", "{'path': 'x', 'old_text': 'y', 'new_text': 'z'}", "no file" },
    { "edit", "{'path': 'x', 'old_text': 'y', 'new_text': 'z', 'replace_all': 1}", "true or" },
    { "grep", "{'pattern': '('}", "regular expression" },
    { "grep", "{'pattern': 'x', 'context': 1000}", "whole number" },
    { "grep", "{'pattern': 'x', 'path': 'absent'}", "nothing at" },
    { "glob", "{'pattern': ''}", "relative" },
    { "glob", "{'pattern': '/etc/*'}", "relative" },
    { "list", "{'path': 'absent/x'}", "nothing at" },
  };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      files_call (files, calls[i].tool, "%s", calls[i].arguments);
      files_assert_refused (files, calls[i].part);
    }
  files_free (files);
}

static void
test_write (void)
{
  Files *files = files_new ();
  g_autofree char *content = NULL;
  g_autoptr (GDir) directory = NULL;
  struct stat status;
  guint n = 0;

  files_assert_has (files_call (files, "write", "{'path': 'new', 'content': 'a\\nb'}"), "Created");
  g_assert_cmpint (files_int (files, "bytes"), ==, 3);
  g_assert_true (files_bool (files, "created"));
  for (gsize i = 0; i < 3; i++)
    {
      static const mode_t modes[] = { 0755, 0600, 0644 };

      g_assert_cmpint (g_chmod (files_path (files, "work/new"), (int) modes[i]), ==, 0);
      files_assert_has (files_call (files, "write", "{'path': 'new', 'content': '%u'}", (guint) i),
                        "Replaced");
      g_assert_false (files_bool (files, "created"));
      g_assert_cmpint (stat (files_path (files, "work/new"), &status), ==, 0);
      g_assert_cmpuint (status.st_mode & 07777, ==, modes[i]);
    }
  content = files_get (files, "work/new");
  g_assert_cmpstr (content, ==, "2");
  /* Nothing temporary stays. */
  directory = g_dir_open (files->work, 0, NULL);
  while (g_dir_read_name (directory) != NULL)
    n++;
  g_assert_cmpuint (n, ==, 2);
  files_free (files);
}

static void
test_edit (void)
{
  static const struct {
    const char *before;
    const char *arguments;
    const char *after;    /* NULL: refused */
    const char *part;
  } edits[] = {
    { "a\nb\nc\n", "'old_text': 'b', 'new_text': 'B'", "a\nB\nc\n",
      "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
    { "a\nb\n", "'old_text': 'a\\n', 'new_text': ''", "b\n", "@@ -1,2 +1 @@\n-a\n b\n" },
    { "a", "'old_text': 'a', 'new_text': 'b\\n'", "b\n", "\\ No newline at end of file" },
    { "a\r\nb\r\n", "'old_text': 'a\\nb', 'new_text': 'x\\ny\\nz'", "x\r\ny\r\nz\r\n", "CRLF" },
    { "a\r\nb\r\n", "'old_text': 'a', 'new_text': 'x\\ny'", "x\r\ny\r\nb\r\n", "CRLF" },
    { "\xef\xbb\xbf" "a\n", "'old_text': 'a', 'new_text': 'b'", "\xef\xbb\xbf" "b\n", "+" },
    { "x x x\n", "'old_text': 'x', 'new_text': 'yy', 'replace_all': true", "yy yy yy\n",
      "3 places" },
    { "aaa\n", "'old_text': 'aa', 'new_text': 'b', 'replace_all': true", "ba\n", "1 place " },
    { "caf\xe9 a\n", "'old_text': 'a\\n', 'new_text': 'b\\n'", "caf\xe9 b\n", "\\xe9" },
    { "x\nx\n", "'old_text': 'x', 'new_text': 'y'", NULL, "2 times (line 1, 2)" },
    { "a\n\tb\n", "'old_text': 'a\\n  b', 'new_text': 'y'", NULL,
      "white space (blanks, tabs, indentation) stands at line 1" },
    { "z\nFoo Bar\n", "'old_text': 'foo bar', 'new_text': 'y'", NULL,
      "other upper and lower case stands at line 2" },
    { "a\r\nb\nc\nd\n", "'old_text': 'a\\nb\\nc', 'new_text': 'y'", NULL,
      "other line ends stands at line 1" },
    { "a\r\nb\nc\nd\n", "'old_text': 'a\\nb', 'new_text': 'y\\nz'", "y\r\nz\nc\nd\n", "CRLF" },
    { "a\r\nb\r\nc\nd\n", "'old_text': 'c\\nd', 'new_text': 'y\\nz'", "a\r\nb\r\ny\nz\n", "+z" },
    { "say \xe2\x80\x9chi\xe2\x80\x9d\n", "'old_text': 'say \\\"hi\\\"', 'new_text': 'y'", NULL,
      "quotation marks, dashes or special blanks stands at line 1" },
    { "z\na\xc2\xa0" "b\n", "'old_text': 'a b', 'new_text': 'y'", NULL, "special blanks stands at line 2" },
    { "puts (\"a\\n\");\n", "'old_text': 'puts (\\\"a\\n\\\");', 'new_text': 'y'", NULL, "" },
    { "z\n\"a\"\n", "'old_text': '\\\\\\\"a\\\\\\\"', 'new_text': 'y'", NULL, "backslashes" },
    { "one\ntwo\nthree\nfour\n", "'old_text': 'two\\nthree\\nfive', 'new_text': 'y'", NULL,
      "line 4 of the file is \"four\"" },
    { "int main (void)\n", "'old_text': 'int main (int argc)', 'new_text': 'y'", NULL,
      "most like its first one is line 1: \"int main (void)\"" },
    { "z\nfirst line\nsecond\n", "'old_text': 'first line\\nother', 'new_text': 'y'", NULL,
      "first line stands at line 2, but what follows is not the same: line 3 of the file is \"second\"" },
    { "one\ntwo\n", "'old_text': '     1\\tone\\n     2\\ttwo', 'new_text': 'y'", NULL,
      "line numbers in front" },
    { "one\n", "'old_text': 'absent', 'new_text': 'y'", NULL, "does not stand in it" },
  };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      g_autofree char *after = NULL;

      files_put (files, "work/f", edits[i].before);
      files_call (files, "edit", "{'path': 'f', %s}", edits[i].arguments);
      files_assert_has (files->result.text, edits[i].part);
      after = files_get (files, "work/f");
      g_assert_cmpstr (after, ==, edits[i].after != NULL ? edits[i].after : edits[i].before);
      g_assert_cmpint (files->result.is_error, ==, edits[i].after == NULL);
    }
  files_free (files);
}

static void
test_list (void)
{
  Files *files = files_new ();
  const char *text;

  files_put (files, "work/b", "12345");
  files_put (files, "work/a", "");
  files_put (files, "work/z/inner", "");
  files_link (files, "work/link", "../outside/secret");
  text = files_call (files, "list", "{}");
  g_assert_true (strstr (text, "frozen/") < strstr (text, "z/"));
  g_assert_true (strstr (text, "z/") < strstr (text, " a\n"));
  g_assert_true (strstr (text, " a\n") < strstr (text, " b\n"));
  files_assert_has (text, "link -> ../outside/secret");
  g_assert_cmpuint (json_array_size (json_object_get (files->result.structured, "entries")), ==, 5);
  g_assert_false (files_bool (files, "cut"));
  files_assert_has (files_call (files, "list", "{'path': 'a'}"), "not a folder");
  g_assert_true (files->result.is_error);
  files_free (files);
}

void
files_add_text_tests (void)
{
  g_test_add_func ("/files/A32/P11/foreign-bytes", test_foreign_bytes);
  g_test_add_func ("/files/A32/foreign-names", test_foreign_names);
  g_test_add_func ("/files/read", test_read);
  g_test_add_func ("/files/wrong-arguments", test_wrong_arguments);
  g_test_add_func ("/files/write", test_write);
  g_test_add_func ("/files/edit", test_edit);
  g_test_add_func ("/files/list", test_list);
}
