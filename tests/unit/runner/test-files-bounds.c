/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An answer is text for a model: far below what a message can carry. */
#define MAX_ANSWER (300u * 1024u)

static void
assert_cut (Files      *files,
            const char *part)
{
  files_assert_done (files);
  g_assert_cmpuint (files->result.length, <, MAX_ANSWER);
  g_assert_true (files_bool (files, "cut"));
  files_assert_has (files->result.text, part);
}

static void
test_sparse (void)
{
  Files *files = files_new ();
  const char *name;

  /* Text at first, so that nothing tells it from a text file, then 1 TiB of nothing. */
  for (gsize i = 0; i < 2; i++)
    {
      g_autoptr (GString) head = g_string_new (NULL);

      for (gsize line = 0; line < 1000; line++)
        g_string_append_printf (head, "line %" G_GSIZE_FORMAT " needle\n", line);
      files_put (files, i == 0 ? "work/sparse" : "work/empty", i == 0 ? head->str : "");
      name = files_path (files, i == 0 ? "work/sparse" : "work/empty");
      if (truncate (name, (off_t) 1 << 40) < 0)
        {
          g_test_skip ("this file system takes no file of 1 TiB");
          files_free (files);
          return;
        }
    }
  files_assert_has (files_call_bounded (files, "read", "{\"path\": \"sparse\"}"), "line 5 needle");
  assert_cut (files, "more than");
  files_call_bounded (files, "read", "{\"path\": \"sparse\", \"offset\": 100000}");
  assert_cut (files, "256 MiB");
  files_assert_has (files_call_bounded (files, "read", "{\"path\": \"empty\"}"), "binary file");
  g_assert_true (files_bool (files, "cut"));
  files_assert_has (files_call_bounded (files, "grep", "{\"pattern\": \"needle\", "
                                        "\"path\": \"sparse\"}"), "sparse:1:line 0 needle");
  assert_cut (files, "");
  files_call_bounded (files, "grep", "{\"pattern\": \"absent\"}");
  assert_cut (files, "256 MiB");
  files_call_bounded (files, "edit", "{\"path\": \"sparse\", \"old_text\": \"needle\", "
                      "\"new_text\": \"x\"}");
  files_assert_refused (files, "32 MiB");
  files_free (files);
}

static void
test_long_line (void)
{
  Files *files = files_new ();
  gsize length = 100 * 1000 * 1000;
  g_autofree char *line = g_strnfill (length, 'x');

  memcpy (line + 70 * 1000 * 1000, "needle", 6);
  /* Across the edge of whatever a buffer is. */
  memcpy (line + 1024 * 1024 - 3, "border", 6);
  line[length - 1] = '\n';
  files_put_bytes (files, "work/long", line, length);
  files_call_bounded (files, "read", "{\"path\": \"long\"}");
  files_assert_done (files);
  g_assert_cmpuint (files->result.length, <, 4096);
  files_assert_has (files->result.text, "more bytes in this line]");
  g_assert_cmpint (files_int (files, "total_lines"), ==, 1);

  for (gsize i = 0; i < 3; i++)
    {
      static const char *const patterns[] = { "needle", "n[e]+dle", "bor+der" };
      g_autofree char *arguments = g_strdup_printf ("{\"pattern\": \"%s\"}", patterns[i]);

      files_assert_has (files_call_bounded (files, "grep", arguments), "long:1:… xxx");
      g_assert_cmpint (files_int (files, "matches"), ==, 1);
      g_assert_cmpuint (files->result.length, <, 4096);
    }
  files_free (files);
}

static void
test_long_lines (void)
{
  Files *files = files_new ();
  g_autoptr (GString) content = g_string_new (NULL);

  for (gsize i = 0; i < 3000; i++)
    {
      g_autofree char *line = g_strnfill (3000, 'y');

      g_string_append_printf (content, "%s\n", line);
    }
  files_put (files, "work/lines", content->str);
  files_call_bounded (files, "read", "{\"path\": \"lines\", \"limit\": 20000}");
  assert_cut (files, "Go on with offset");
  g_assert_cmpint (files_int (files, "total_lines"), ==, 3000);
  files_call_bounded (files, "grep", "{\"pattern\": \"y\"}");
  assert_cut (files, "Cut after");
  files_free (files);
}

static void
test_many_lines (void)
{
  Files *files = files_new ();
  g_autoptr (GString) content = g_string_new (NULL);

  for (gsize i = 1; i <= 200000; i++)
    g_string_append_printf (content, "%" G_GSIZE_FORMAT "\n", i);
  files_put (files, "work/many", content->str);
  files_call (files, "read", "{'path': 'many'}");
  assert_cut (files, "lines 1 to 2000 of 200000");
  files_call (files, "read", "{'path': 'many', 'offset': 199999, 'limit': 50}");
  files_assert_has (files->result.text, "199999\t199999\n200000\t200000\n");
  g_assert_false (files_bool (files, "cut"));
  files_call (files, "read", "{'path': 'many', 'offset': 200001}");
  files_assert_has (files->result.text, "200000 lines");
  files_call (files, "grep", "{'pattern': '^1'}");
  assert_cut (files, "Cut after 1000");
  g_assert_cmpint (files_int (files, "matches"), ==, 1000);
  files_free (files);
}

static void
test_many_entries (void)
{
  Files *files = files_new ();
  guint n = g_test_slow () ? 1000000 : 100000;

  g_assert_cmpint (g_mkdir (files_path (files, "work/wide"), 0755), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (files, "work/wide/zz-folder"), 0755), ==, 0);
  for (guint i = 1; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s/wide/f%06u", files->work, n - i);
      int fd = open (name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

      g_assert_cmpint (fd, >=, 0);
      close (fd);
    }
  files_call_bounded (files, "list", "{\"path\": \"wide\"}");
  assert_cut (files, "the first 1000 of");
  g_assert_cmpint (files_int (files, "total"), ==, n);
  files_assert_has (files->result.text, "zz-folder/\n");
  files_assert_has (files->result.text, " f000001\n");
  files_assert_has (files->result.text, " f000999\n");
  files_assert_lacks (files->result.text, " f001001\n");
  files_call_bounded (files, "glob", "{\"pattern\": \"wide/f*\"}");
  assert_cut (files, "Cut: ");
  files_call_bounded (files, "grep", "{\"pattern\": \"absent\"}");
  files_assert_has (files->result.text, "No match");
  files_free (files);
}

static void
test_deep (void)
{
  Files *files = files_new ();
  int at = open (files->work, O_PATH | O_DIRECTORY | O_CLOEXEC);

  for (guint i = 0; i < 5000; i++)
    {
      int next;

      g_assert_cmpint (mkdirat (at, "d", 0755), ==, 0);
      next = openat (at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
      g_assert_cmpint (next, >=, 0);
      close (at);
      at = next;
    }
  close (at);
  files_put (files, "work/d/d/here", "needle\n");
  files_assert_has (files_call_bounded (files, "grep", "{\"pattern\": \"needle\"}"),
                    "d/d/here:1:needle");
  assert_cut (files, "levels down");
  files_assert_has (files_call_bounded (files, "glob", "{\"pattern\": \"**/here\"}"), "d/d/here");
  assert_cut (files, "levels down");
  files_assert_has (files_call (files, "list", "{'path': 'd/d/d'}"), "d/");

  /* nftw() would need as many descriptors or a path too long; from the bottom up. */
  g_assert_cmpint (chdir (files->work), ==, 0);
  for (guint i = 0; i < 5000; i++)
    g_assert_cmpint (chdir ("d"), ==, 0);
  for (guint i = 0; i < 5000; i++)
    {
      g_assert_cmpint (chdir (".."), ==, 0);
      g_unlink ("here");
      g_assert_cmpint (g_rmdir ("d"), ==, 0);
    }
  g_assert_cmpint (chdir ("/"), ==, 0);
  files_free (files);
}

static void
test_replace_all_large (void)
{
  Files *files = files_new ();
  gsize length = 512 * 1024;
  g_autofree char *content = g_strnfill (length, 'a');
  g_autofree char *longer = g_strnfill (6000, 'b');
  g_autofree char *kept = NULL;

  for (gsize i = 79; i < length; i += 80)
    content[i] = '\n';
  files_put_bytes (files, "work/big", content, length);
  files_call (files, "edit", "{'path': 'big', 'old_text': '\\n', 'new_text': '%s',"
              " 'replace_all': true}", longer);
  files_assert_refused (files, "32 MiB");
  kept = files_get (files, "work/big");
  g_assert_true (memcmp (kept, content, length) == 0);
  files_call (files, "edit", "{'path': 'big', 'old_text': 'a\\n', 'new_text': 'b\\n',"
              " 'replace_all': true}");
  files_assert_done (files);
  g_assert_cmpuint (files->result.length, <, MAX_ANSWER);
  files_assert_has (files->result.text, "[The diff is longer than can be shown and is cut here.]");
  g_assert_cmpint (files_int (files, "replacements"), ==, (json_int_t) length / 80);
  files_free (files);
}

void
files_add_bound_tests (void)
{
  g_test_add_func ("/files/S05/sparse", test_sparse);
  g_test_add_func ("/files/S05/long-line", test_long_line);
  g_test_add_func ("/files/S05/long-lines", test_long_lines);
  g_test_add_func ("/files/S05/many-lines", test_many_lines);
  g_test_add_func ("/files/S05/many-entries", test_many_entries);
  g_test_add_func ("/files/S05/deep", test_deep);
  g_test_add_func ("/files/S05/replace-all-large", test_replace_all_large);
}
