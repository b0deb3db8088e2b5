/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ow-runner-descent-private.h"

/* Every test of this file is run with openat2 and with the walk that stands in for it. */
typedef void (*PathTest) (Files *files);

typedef struct {
  PathTest test;
  bool     openat2;
} PathCase;

static void
run_case (gconstpointer data)
{
  const PathCase *path_case = data;
  Files *files = files_new ();

  ow_runner_descent_set_openat2 (path_case->openat2);
  path_case->test (files);
  files_assert_outside (files);
  ow_runner_descent_set_openat2 (true);
  files_free (files);
}

/* Gives the path to all six tools, each of which must refuse it. */
static void
assert_all_refuse (Files      *files,
                   const char *path,
                   gsize       length,
                   const char *part)
{
  static const struct {
    const char *tool;
    const char *rest;
  } calls[] = {
    { "read", "{}" },
    { "list", "{}" },
    { "write", "{\"content\": \"overwritten\"}" },
    { "edit", "{\"old_text\": \"outside\", \"new_text\": \"changed\"}" },
    { "grep", "{\"pattern\": \"secret\"}" },
    { "glob", "{\"pattern\": \"**\"}" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      char error[OW_WIRE_ERROR_SIZE];
      json_t *arguments = ow_json_parse (calls[i].rest, strlen (calls[i].rest), error);

      json_object_set_new (arguments, "path", json_stringn (path, length));
      files_call_json (files, calls[i].tool, arguments);
      files_assert_refused (files, part);
    }
}

static void
test_out_by_name (Files *files)
{
  static const char *const ways[] = {
    "../outside/secret", "./../outside/secret", "a/../../outside/secret", "..//outside//secret",
    "a/b/../../../outside/secret", "..", "../", "../..", "a/../..", "frozen/../../outside/secret",
    "/etc/passwd", "//etc/passwd", "/", "//", "/..", "/etc/../etc/passwd",
  };

  g_assert_cmpint (g_mkdir_with_parents (files_path (files, "work/a/b"), 0755), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    assert_all_refuse (files, ways[i], strlen (ways[i]), "leads out");
  for (gsize i = 0; i < 4; i++)
    {
      static const char *const tails[] = { "/../outside/secret", "/./../outside/secret",
                                           "//..//outside", "x/../outside/secret" };
      g_autofree char *way = g_strconcat (files->work, tails[i], NULL);

      assert_all_refuse (files, way, strlen (way), "leads out");
    }
  assert_all_refuse (files, files->outside, strlen (files->outside), "leads out");
}

static void
test_malformed (Files *files)
{
  g_autofree char *long_path = g_strnfill (4097, 'a');
  g_autofree char *long_name = g_strnfill (300, 'a');
  g_autofree char *deep = g_malloc (4097);

  for (gsize i = 0; i < 4096; i++)
    deep[i] = i % 2 == 0 ? 'a' : '/';
  deep[4096] = '\0';
  files_put (files, "work/plain", "text\n");
  assert_all_refuse (files, "", 0, "empty");
  assert_all_refuse (files, long_path, 4097, "4097 bytes");
  assert_all_refuse (files, "\0", 1, "NUL");
  assert_all_refuse (files, "plain\0", 6, "NUL");
  assert_all_refuse (files, "plain\0/../../outside/secret", 27, "NUL");

  files_call (files, "read", "{'path': '%s'}", long_name);
  files_assert_refused (files, "longer than the file system allows");
  files_call (files, "read", "{'path': '%s'}", deep);
  g_assert_true (files->result.is_error);
}

static void
test_slashes (Files *files)
{
  files_put (files, "work/a/plain", "text\n");
  files_assert_has (files_call (files, "read", "{'path': 'a//plain'}"), "text");
  files_assert_has (files_call (files, "read", "{'path': './a/.//./plain'}"), "text");
  files_assert_has (files_call (files, "read", "{'path': 'a/../a/plain'}"), "text");
  files_assert_has (files_call (files, "read", "{'path': '%s//a///plain'}", files->work), "text");
  files_assert_has (files_call (files, "list", "{'path': 'a/'}"), "plain");
  files_assert_has (files_call (files, "list", "{'path': 'a//'}"), "plain");

  files_call (files, "read", "{'path': 'a/plain/'}");
  files_assert_refused (files, "a/plain/");
  files_call (files, "read", "{'path': 'a/plain/.'}");
  g_assert_true (files->result.is_error);
  files_call (files, "write", "{'path': 'a/plain/', 'content': ''}");
  files_assert_refused (files, "slash");
  files_call (files, "write", "{'path': 'a/new/', 'content': ''}");
  files_assert_refused (files, "slash");
  files_call (files, "write", "{'path': 'a/..', 'content': ''}");
  files_assert_refused (files, "folder");
  files_call (files, "write", "{'path': '.', 'content': ''}");
  files_assert_refused (files, "folder");
  files_call (files, "read", "{'path': 'a'}");
  files_assert_refused (files, "folder");
}

static void
test_read_only (Files *files)
{
  g_autofree char *kept = NULL;

  files_put (files, "work/frozen/deep/kept", "as it was\n");
  files_link (files, "work/way-in", "frozen/deep");
  files_link (files, "work/file-in", "frozen/deep/kept");
  for (gsize i = 0; i < 6; i++)
    {
      g_autofree char *absolute = g_strconcat (files->work, "/frozen/deep/kept", NULL);
      const char *const paths[] = { "frozen/deep/kept", "way-in/kept", "file-in", absolute,
                                    "frozen/deep/new", "way-in/../new" };

      files_call (files, "write", "{'path': '%s', 'content': 'x'}", paths[i]);
      files_assert_refused (files, "only read");
      if (i < 4)
        {
          files_call (files, "edit", "{'path': '%s', 'old_text': 'was', 'new_text': 'is'}",
                      paths[i]);
          files_assert_refused (files, "only read");
          files_assert_has (files_call (files, "read", "{'path': '%s'}", paths[i]), "as it was");
        }
    }
  kept = files_get (files, "work/frozen/deep/kept");
  g_assert_cmpstr (kept, ==, "as it was\n");
}

static void
test_links_inside (Files *files)
{
  g_autofree char *real = g_strconcat (files->work, "/real", NULL);
  g_autofree char *other = g_strconcat (files->top, "/other/there", NULL);
  g_autofree char *content = NULL;
  struct stat status;

  files_put (files, "work/real", "real text\n");
  files_put (files, "other/there", "there\n");
  files_put (files, "work/sub/x", "x\n");
  files_link (files, "work/relative", "real");
  files_link (files, "work/sub/up", "../real");
  files_link (files, "work/absolute", real);
  files_link (files, "work/across", other);
  files_link (files, "work/chain", "sub/up");
  files_link (files, "work/folder", "sub");
  files_link (files, "work/new", "sub/made");
  for (gsize i = 0; i < 5; i++)
    {
      static const char *const ways[] = { "relative", "sub/up", "absolute", "chain",
                                          "folder/up" };

      files_assert_has (files_call (files, "read", "{'path': '%s'}", ways[i]), "real text");
    }
  files_assert_has (files_call (files, "read", "{'path': 'across'}"), "there");

  /* What is replaced is the file that the link names, and the link stays one. */
  files_call (files, "write", "{'path': 'chain', 'content': 'second'}");
  files_assert_done (files);
  content = files_get (files, "work/real");
  g_assert_cmpstr (content, ==, "second");
  g_assert_cmpint (lstat (files_path (files, "work/chain"), &status), ==, 0);
  g_assert_true (S_ISLNK (status.st_mode));
  files_call (files, "write", "{'path': 'new', 'content': 'made'}");
  files_assert_done (files);
  g_assert_true (g_file_test (files_path (files, "work/sub/made"), G_FILE_TEST_IS_REGULAR));
}

static void
test_links_outside (Files *files)
{
  g_autofree char *secret = g_strconcat (files->outside, "/secret", NULL);
  g_autofree char *fresh = g_strconcat (files->outside, "/fresh", NULL);

  files_put (files, "work/sub/x", "x\n");
  files_link (files, "work/l1", "../outside/secret");
  files_link (files, "work/l2", secret);
  files_link (files, "work/l3", "../outside");
  files_link (files, "work/l4", files->outside);
  files_link (files, "work/sub/l5", "../../outside/secret");
  files_link (files, "work/l6", "sub/l5");
  files_link (files, "work/l7", "l4/secret");
  files_link (files, "work/l8", "/");
  files_link (files, "work/l9", "..");
  files_link (files, "work/dangling", "../outside/fresh");
  files_link (files, "work/dangling2", fresh);
  for (gsize i = 0; i < 13; i++)
    {
      static const char *const ways[] = { "l1", "l2", "l3/secret", "l4/secret", "sub/l5", "l6", "l7",
                                          "l8/etc/passwd", "l9/outside/secret", "l3", "l4/../x",
                                          "dangling", "dangling2" };

      assert_all_refuse (files, ways[i], strlen (ways[i]), "leads out");
    }
  files_call (files, "write", "{'path': 'l3/fresh', 'content': 'x'}");
  files_assert_refused (files, "leads out");

  /* A walk goes past them. */
  files_assert_lacks (files_call (files, "grep", "{'pattern': 'secret'}"), FILES_SECRET);
  files_assert_lacks (files_call (files, "glob", "{'pattern': '**'}"), "l3/");
}

static void
test_link_loops (Files *files)
{
  files_link (files, "work/self", "self");
  files_link (files, "work/ping", "pong");
  files_link (files, "work/pong", "ping");
  files_link (files, "work/grow", "grow/grow");
  for (gsize i = 0; i < 100; i++)
    {
      g_autofree char *name = g_strdup_printf ("work/c%" G_GSIZE_FORMAT, i);
      g_autofree char *target = g_strdup_printf ("%s/c%" G_GSIZE_FORMAT, files->work, i + 1);

      files_link (files, name, target);
    }
  for (gsize i = 0; i < 5; i++)
    {
      static const char *const ways[] = { "self", "ping", "grow", "c0", "self/x" };

      files_call (files, "read", "{'path': '%s'}", ways[i]);
      files_assert_refused (files, "links");
      files_call (files, "write", "{'path': '%s', 'content': 'x'}", ways[i]);
      g_assert_true (files->result.is_error);
    }
}

typedef struct {
  char *one;
  char *other;
  gint  stop;
} Swapper;

/* Exchanges two names without a pause. */
static gpointer
swap (gpointer data)
{
  Swapper *self = data;

  while (!g_atomic_int_get (&self->stop))
    renameat2 (AT_FDCWD, self->one, AT_FDCWD, self->other, RENAME_EXCHANGE);
  return NULL;
}

static void
race (Files      *files,
      const char *one,
      const char *other,
      const char *path)
{
  guint tries = g_test_slow () ? 100000 : 3000;
  Swapper swapper = { g_strdup (files_path (files, "%s", one)),
                      g_strdup (files_path (files, "%s", other)), 0 };
  GThread *thread = g_thread_new ("swap", swap, &swapper);
  guint inside = 0;

  for (guint i = 0; i < tries; i++)
    {
      const char *text = files_call (files, "read", "{'path': '%s'}", path);

      files_assert_lacks (text, FILES_SECRET);
      inside += files->result.is_error ? 0 : 1;
      if (i % 3 == 0)
        files_assert_lacks (files_call (files, "grep", "{'pattern': '.'}"), FILES_SECRET);
    }
  /* A write may take the trap away, by putting a file in its place; so they come last.
   * Each is synced to disk, so there are fewer. */
  for (guint i = 0; i < tries / 50; i++)
    {
      files_call (files, "write", "{'path': '%s', 'content': 'inside'}", path);
      files_call (files, "edit", "{'path': '%s', 'old_text': 'e', 'new_text': 'E'}", path);
    }
  g_atomic_int_set (&swapper.stop, 1);
  g_thread_join (thread);
  /* Both sides were met, or nothing was shown. */
  g_assert_cmpuint (inside, >, 0);
  g_assert_cmpuint (inside, <, tries);
  files_assert_outside (files);
  g_free (swapper.one);
  g_free (swapper.other);
}

static void
test_race_folder (Files *files)
{
  files_put (files, "work/swap/secret", "inside");
  files_link (files, "work/trap", "../outside");
  race (files, "work/swap", "work/trap", "swap/secret");
}

static void
test_race_file (Files *files)
{
  files_put (files, "work/swap", "inside");
  files_link (files, "work/trap", "../outside/secret");
  race (files, "work/swap", "work/trap", "swap");
}

/* The folder that ".." is taken from moves out of the session's folders and back. */
static void
test_race_moved (Files *files)
{
  files_put (files, "work/a/b/inner", "inside");
  files_put (files, "work/a/secret", "inside");
  g_assert_cmpint (g_mkdir (files_path (files, "hide"), 0755), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (files, "hide/b"), 0755), ==, 0);
  files_put (files, "hide/secret", FILES_SECRET);
  race (files, "work/a/b", "hide/b", "a/b/../b/inner");
}

static void
test_hard_link (Files *files)
{
  g_autofree char *written = NULL;
  g_autofree char *edited = NULL;
  struct stat status;

  for (gsize i = 0; i < 2; i++)
    {
      const char *name = files_path (files, "work/hard%" G_GSIZE_FORMAT, i);

      g_assert_cmpint (link (files_path (files, "outside/secret"), name), ==, 0);
    }
  files_assert_has (files_call (files, "write", "{'path': 'hard0', 'content': 'mine'}"),
                    "hard links");
  files_assert_done (files);
  files_assert_outside (files);
  files_assert_has (files_call (files, "edit", "{'path': 'hard1', 'old_text': 'outside',"
                                " 'new_text': 'my'}"), "hard links");
  files_assert_done (files);
  files_assert_outside (files);

  written = files_get (files, "work/hard0");
  edited = files_get (files, "work/hard1");
  g_assert_cmpstr (written, ==, "mine");
  g_assert_cmpstr (edited, ==, "my-secret-4711");
  g_assert_cmpint (stat (files_path (files, "outside/secret"), &status), ==, 0);
  g_assert_cmpuint (status.st_nlink, ==, 1);
}

static void
add (const char *path,
     PathTest    test)
{
  static PathCase cases[64];
  static gsize n;

  for (gsize i = 0; i < 2; i++)
    {
      g_autofree char *full = g_strdup_printf ("%s/%s", path, i == 0 ? "openat2" : "walk");

      g_assert_cmpuint (n, <, G_N_ELEMENTS (cases));
      cases[n].test = test;
      cases[n].openat2 = i == 0;
      g_test_add_data_func (full, &cases[n++], run_case);
    }
}

void
files_add_path_tests (void)
{
  add ("/files/S01/out-by-name", test_out_by_name);
  add ("/files/S01/malformed", test_malformed);
  add ("/files/S01/slashes", test_slashes);
  add ("/files/S09/read-only-within-writable", test_read_only);
  add ("/files/S02/links-inside", test_links_inside);
  add ("/files/S02/links-outside", test_links_outside);
  add ("/files/S02/link-loops", test_link_loops);
  add ("/files/S02/race-folder", test_race_folder);
  add ("/files/S02/race-file", test_race_file);
  add ("/files/S02/race-moved", test_race_moved);
  add ("/files/S03/hard-link", test_hard_link);
}
