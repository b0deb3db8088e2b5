/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What an answer calls a file, that can be given back. */
static void
test_names_given_back (void)
{
  static const char *const names[] = {
    "plain", "bad\xff", "gbk-\xc4\xe3\xba\xc3", "line\nbreak", "\x1b[31mred", "back\\xffslash", "back\\slash",
    "\xc3\xa9t\xc3\xa9", "tab\there", " blanks ", "\\x2e\\x2e", "del\x7f",
  };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("work/in/", names[i], NULL);
      g_autofree char *folder = g_strconcat ("work/folder-", names[i], "/x", NULL);

      files_put (files, path, names[i]);
      files_put (files, folder, "needle\n");
    }
  for (gsize i = 0; i < 2; i++)
    {
      json_t *entries;
      gsize n;

      files_call (files, "list", i == 0 ? "{'path': 'in'}" : "{}");
      entries = json_incref (json_object_get (files->result.structured, "entries"));
      for (n = 0; n < json_array_size (entries); n++)
        {
          const char *name = ow_json_get_string (json_array_get (entries, n), "name", "");
          g_autofree char *path = g_strconcat (i == 0 ? "in/" : "", name, NULL);

          if (i == 0)
            {
              files_call_json (files, "write", json_pack ("{s:s, s:s}", "path", path, "content",
                                                          "changed needle\n"));
              files_assert_done (files);
              g_assert_false (files_bool (files, "created"));
              files_call_json (files, "edit", json_pack ("{s:s, s:s, s:s}", "path", path, "old_text",
                                                         "changed", "new_text", "edited"));
              files_assert_done (files);
              files_call_json (files, "read", json_pack ("{s:s}", "path", path));
              files_assert_has (files->result.text, "edited needle");
            }
          else if (g_str_has_prefix (name, "folder-"))
            {
              g_autofree char *found = g_strconcat (path, "/x:1:needle\n", NULL);
              g_autofree char *globbed = g_strconcat (path, "/x\n", NULL);

              g_assert_cmpstr (files_call_json (files, "grep", json_pack ("{s:s, s:s}", "path", path,
                                                                          "pattern", "needle")),
                               ==, found);
              g_assert_cmpstr (files_call_json (files, "glob", json_pack ("{s:s, s:s}", "path", path,
                                                                          "pattern", "*")),
                               ==, globbed);
            }
        }
      g_assert_cmpuint (n, >=, G_N_ELEMENTS (names));
      json_decref (entries);
    }
  /* What needs no escape is not read as one: who is asked about the path reads what it is. */
  files_put (files, "work/.x/plain", "hidden");
  files_call (files, "read", "{'path': '\\\\x2ex/plain'}");
  files_assert_refused (files, "nothing at");
  files_call (files, "read", "{'path': '\\\\x2e\\\\x2e/outside/secret'}");
  files_assert_refused (files, "nothing at");
  files_call (files, "read", "{'path': '\\\\x2fetc\\\\x2fpasswd'}");
  files_assert_refused (files, "nothing at");
  files_call (files, "read", "{'path': 'plain\\\\x00'}");
  files_assert_refused (files, "NUL");
  files_free (files);
}

/* patch(1) makes of the old file and the diff what edit made. */
static void
test_diff_is_a_patch (void)
{
  static const struct {
    const char *before;
    const char *old_text;
    const char *new_text;
  } edits[] = {
    { "a\nb\nc\n", "b", "B" }, { "a\nb\nc", "c", "d" }, { "a\nb\nc", "c", "d\n" }, { "a\n", "a\n", "" },
    { "a\nb\n", "b\n", "b" }, { "a", "a", "b" }, { "x\n", "x\n", "x\ny\nz\n" }, { "\n\n\nx", "x", "y" },
    { "a\r\nb\r\n", "a\nb", "x\ny\nz" }, { "\xef\xbb\xbf" "a\n", "a", "b" }, { "-- a\n", "-- a", "++ b" },
    { "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nq\n14\nq\n", "q", "r" }, { "\\ No newline\n", "No", "A" },
    { "q\n1\n2\n3\n4\n5\n6\n7\n8\n9\nq\n", "q", "" }, { "q\n1\n2\n3\n4\n5\nq\n", "q\n", "" },
    { "@@ -1 +1 @@\nq\n", "q", "@@ -2 +2 @@" }, { "tab\t q\n", "\t", " " },
  };
  static const char *const names[] = { "f", "with blank", "d/f" };
  g_autofree char *program = g_find_program_in_path ("patch");

  if (program == NULL)
    {
      g_test_skip ("there is no patch(1)");
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (edits) * G_N_ELEMENTS (names); i++)
    {
      const char *name = names[i % G_N_ELEMENTS (names)];
      Files *files = files_new ();
      g_autofree char *path = g_strconcat ("work/", name, NULL);
      g_autofree char *copy = g_strconcat ("apply/", name, NULL);
      g_autofree char *after = NULL;
      g_autofree char *patched = NULL;
      g_autofree char *output = NULL;
      g_autofree char *input = g_strdup (files_path (files, "diff"));
      const char *arguments[] = { program, "-p0", "--binary", "-i", input, NULL };
      int status;

      files_put (files, path, edits[i / G_N_ELEMENTS (names)].before);
      files_put (files, copy, edits[i / G_N_ELEMENTS (names)].before);
      files_call_json (files, "edit", json_pack ("{s:s, s:s, s:s, s:b}", "path", name, "old_text",
                                                 edits[i / G_N_ELEMENTS (names)].old_text, "new_text",
                                                 edits[i / G_N_ELEMENTS (names)].new_text,
                                                 "replace_all", 1));
      files_assert_done (files);
      files_put (files, "diff", ow_json_get_string (files->result.structured, "diff", ""));
      g_assert_true (g_spawn_sync (files_path (files, "apply"), (char **) arguments, NULL,
                                   G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, NULL));
      if (status != 0)
        g_error ("%s\n%s", output, ow_json_get_string (files->result.structured, "diff", ""));
      after = files_get (files, path);
      patched = files_get (files, copy);
      /* patch takes away what it leaves empty. */
      g_assert_cmpstr (patched != NULL ? patched : "", ==, after);
      files_free (files);
    }
}

/* What read does not show is not lost by writing what it shows. */
static void
test_write_keeps_manner (void)
{
  static const struct {
    const char *before; /* NULL: no file */
    const char *content;
    const char *after;
    const char *part;
  } cases[] = {
    { "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "kept CRLF" }, { "a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n", "Replaced" },
    { "a\r\nb\n", "x\ny\n", "x\ny\n", "Replaced" }, { "a\nb\n", "x\r\n", "x\r\n", "Replaced" },
    { "a\r\n", "x", "x", "Replaced" }, { "", "x\n", "x\n", "Replaced" }, { NULL, "x\ny\n", "x\ny\n", "Created" },
    { "\xef\xbb\xbf" "a\n", "x\n", "\xef\xbb\xbf" "x\n", "byte-order mark was kept" },
    { "\xef\xbb\xbf" "a\n", "\xef\xbb\xbf" "x\n", "\xef\xbb\xbf" "x\n", "Replaced" },
    { "\xef\xbb\xbf" "a\r\n", "x\n", "\xef\xbb\xbf" "x\r\n", "both" },
  };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *after = NULL;

      g_unlink (files_path (files, "work/f"));
      if (cases[i].before != NULL)
        files_put (files, "work/f", cases[i].before);
      files_call_json (files, "write", json_pack ("{s:s, s:s}", "path", "f", "content",
                                                  cases[i].content));
      files_assert_done (files);
      files_assert_has (files->result.text, cases[i].part);
      after = files_get (files, "work/f");
      g_assert_cmpstr (after, ==, cases[i].after);
      g_assert_cmpint (files_int (files, "bytes"), ==, (json_int_t) strlen (cases[i].after));
    }
  files_free (files);
}

static guint
count_names (Files *files)
{
  g_autoptr (GDir) directory = g_dir_open (files->work, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (directory) != NULL)
    n++;
  return n;
}

/* A disk that takes no more, as far as anyone can tell without one of one's own. */
static void
test_write_without_room (void)
{
  Files *files = files_new ();
  g_autofree char *content = g_strnfill (100000, 'n');
  g_autofree char *kept = NULL;
  struct rlimit before;
  struct rlimit little = { .rlim_cur = 4096 };
  guint names;

  files_put (files, "work/f", "old\n");
  names = count_names (files);
  signal (SIGXFSZ, SIG_IGN);
  getrlimit (RLIMIT_FSIZE, &before);
  little.rlim_max = before.rlim_max;
  setrlimit (RLIMIT_FSIZE, &little);
  files_call (files, "write", "{'path': 'f', 'content': '%s'}", content);
  g_assert_true (files->result.is_error);
  files_assert_has (files->result.text, "What was there is unchanged");
  files_call (files, "edit", "{'path': 'f', 'old_text': 'old', 'new_text': '%s'}", content);
  g_assert_true (files->result.is_error);
  files_call (files, "write", "{'path': 'new', 'content': '%s'}", content);
  g_assert_true (files->result.is_error);
  setrlimit (RLIMIT_FSIZE, &before);
  signal (SIGXFSZ, SIG_DFL);
  kept = files_get (files, "work/f");
  g_assert_cmpstr (kept, ==, "old\n");
  g_assert_cmpuint (count_names (files), ==, names);
  files_free (files);
}

/* Whoever reads sees one whole text, whoever writes. */
static void
test_write_at_once (void)
{
  Files *files = files_new ();
  pid_t children[2];
  guint seen = 0;

  files_put (files, "work/f", "0");
  for (gsize i = 0; i < 2; i++)
    {
      children[i] = fork ();
      if (children[i] == 0)
        {
          g_autofree char *content = g_strnfill (50000, i == 0 ? 'a' : 'b');

          for (guint n = 0; n < 60; n++)
            files_call (files, "write", "{'path': 'f', 'content': '%s'}", content);
          _exit (files->result.is_error ? 1 : 0);
        }
    }
  for (gsize alive = 2; alive > 0;)
    {
      g_autofree char *content = files_get (files, "work/f");
      gsize length = strlen (content);
      int status;

      g_assert_true (length == 1 || length == 50000);
      g_assert_cmpuint (strspn (content, (char[]) { content[0], '\0' }), ==, length);
      seen++;
      if (waitpid (children[alive - 1], &status, WNOHANG) > 0)
        {
          g_assert_cmpint (status, ==, 0);
          alive--;
        }
    }
  g_assert_cmpuint (seen, >, 1);
  g_assert_cmpuint (count_names (files), ==, 2);
  files_free (files);
}

static void
test_write_makes_folders (void)
{
  Files *files = files_new ();
  g_autofree char *absolute = g_strconcat (files->work, "/p/q/r", NULL);
  g_autofree char *content = NULL;

  files_link (files, "work/out", "../outside");
  files_link (files, "work/dangling", "../outside/fresh");
  files_link (files, "work/inner", "frozen");
  files_put (files, "work/file", "x");
  for (gsize i = 0; i < 3; i++)
    {
      const char *const paths[] = { "a/b/c", "a//./d/e", absolute };

      files_assert_has (files_call (files, "write", "{'path': '%s', 'content': 'made'}", paths[i]),
                        "made for it");
      files_assert_done (files);
    }
  content = files_get (files, "work/a/d/e");
  g_assert_cmpstr (content, ==, "made");
  for (gsize i = 0; i < 9; i++)
    {
      static const char *const paths[] = { "out/x/y", "dangling/x", "dangling/x/y", "frozen/x/y",
                                           "inner/x/y", "file/x/y", "n/../../outside/x/y", "../outside/x/y",
                                           "new/x/" };

      files_call (files, "write", "{'path': '%s', 'content': 'made'}", paths[i]);
      if (!files->result.is_error)
        g_error ("%s: %s", paths[i], files->result.text);
      files_assert_outside (files);
    }
  g_assert_false (g_file_test (files_path (files, "work/frozen/x"), G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (files_path (files, "work/new"), G_FILE_TEST_EXISTS));
  files_free (files);
}

static void
test_attributes (void)
{
  Files *files = files_new ();
  char value[16] = "";
  const char *path;

  files_put (files, "work/f", "old\n");
  path = files_path (files, "work/f");
  if (setxattr (path, "user.note", "kept", 4, 0) < 0)
    {
      g_test_skip ("this file system takes no attributes");
      files_free (files);
      return;
    }
  files_call (files, "edit", "{'path': 'f', 'old_text': 'old', 'new_text': 'new'}");
  files_assert_done (files);
  files_call (files, "write", "{'path': 'f', 'content': 'newer'}");
  files_assert_done (files);
  g_assert_cmpint (getxattr (path, "user.note", value, sizeof value), ==, 4);
  g_assert_cmpstr (value, ==, "kept");
  files_free (files);
}

static void
test_kinds (void)
{
  static const struct {
    const char *content;
    gsize       length;
    const char *part;
  } cases[] = {
    { "GIF89a is a format\n", 19, "1\tGIF89a is" }, { "ID3 tags\n", 9, "1\tID3" },
    { "BZh!\n", 5, "1\tBZh" }, { "abcdftyp\n", 9, "1\tabcdftyp" }, { "PK\3\4x\n", 6, "1\tPK" },
    { "GIF89a\1\0\1\0\x80", 11, "GIF image, 11 bytes" }, { "PK\3\4\0\0", 6, "ZIP archive" },
    { "h\0e\0l\0l\0o\0\n\0", 12, "UTF-16 text" }, { "\0h\0e\0l\0l\0o\0\n", 12, "UTF-16 text" },
    { "\xff\xfeh\0", 4, "UTF-16 text" }, { "a\0b", 3, "binary file" }, { "\0", 1, "binary file" },
    { "\xc4\xe3\xba\xc3\n", 5, "1!\t\\xc4\\xe3\\xba\\xc3" }, { "\r\n\r\n", 4, "CRLF" },
    { "lone\rcr\n", 8, "1\tlone\rcr" }, { "\n", 1, "1\t\n" }, { "\xef\xbb\xbf", 3, "empty" },
  };
  Files *files = files_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      files_put_bytes (files, "work/f", cases[i].content, cases[i].length);
      files_assert_has (files_call (files, "read", "{'path': 'f'}"), cases[i].part);
      files_assert_done (files);
    }
  files_free (files);
}

void
files_add_change_tests (void)
{
  g_test_add_func ("/files/A32/names-given-back", test_names_given_back);
  g_test_add_func ("/files/edit/diff-is-a-patch", test_diff_is_a_patch);
  g_test_add_func ("/files/write/keeps-manner", test_write_keeps_manner);
  g_test_add_func ("/files/write/without-room", test_write_without_room);
  g_test_add_func ("/files/write/at-once", test_write_at_once);
  g_test_add_func ("/files/write/S02/makes-folders", test_write_makes_folders);
  g_test_add_func ("/files/write/attributes", test_attributes);
  g_test_add_func ("/files/read/kinds", test_kinds);
}
