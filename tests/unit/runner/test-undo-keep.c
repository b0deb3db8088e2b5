/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "undo-fixture.h"

static const char *
kept_path (Undo       *undo,
           const char *content)
{
  g_autofree char *hash = undo_hash (content);

  return files_path (undo->files, "undo/%s", hash);
}

static void
assert_not_written (Undo       *undo,
                    const char *why)
{
  files_call (undo->files, "write", "{'path':'a','content':'two'}");
  files_assert_refused (undo->files, "could not be kept for undo");
  files_assert_has (undo->files->result.text, why);
  files_call (undo->files, "edit", "{'path':'a','old_text':'one','new_text':'two'}");
  files_assert_refused (undo->files, "could not be kept for undo");
  undo_assert_file (undo, "work/a", "one\n");
}

static void
test_gone (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  g_assert_cmpint (g_rmdir (files_path (undo->files, "undo")), ==, 0);
  assert_not_written (undo, "No such file");
  /* What had no content before has none to keep. */
  files_call (undo->files, "write", "{'path':'new','content':'two'}");
  files_assert_done (undo->files);
  undo_free (undo);
}

/* A folder under its name is in the way of keeping it. */
static void
test_in_the_way (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  g_assert_cmpint (g_mkdir (kept_path (undo, "one\n"), 0700), ==, 0);
  assert_not_written (undo, "could not take it");
  undo_free (undo);
}

/* The disk is full: a limit of this process on what a file may have stands for that. */
static void
test_no_space (void)
{
  Undo *undo = undo_new ();
  int status;
  pid_t child;

  files_put (undo->files, "work/a", "one\n");
  child = fork ();
  if (child == 0)
    {
      const struct rlimit none = { 0, 0 };

      signal (SIGXFSZ, SIG_IGN);
      setrlimit (RLIMIT_FSIZE, &none);
      assert_not_written (undo, "could not take it");
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  undo_assert_file (undo, "work/a", "one\n");
  /* Nothing half written is left. */
  g_assert_cmpint (g_rmdir (files_path (undo->files, "undo")), ==, 0);
  undo_free (undo);
}

/* A command cannot reach what is kept, but can change its mode, as its owner. */
static void
test_closed_is_opened (void)
{
  static const mode_t modes[] = { 0, 0100, 0400, 0500 };
  Undo *undo = undo_new ();

  if (geteuid () == 0)
    {
      g_test_skip ("root may write to it");
      undo_free (undo);
      return;
    }
  files_put (undo->files, "work/a", "one\n");
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *content = g_strdup_printf ("%zu\n", i);

      g_assert_cmpint (g_chmod (files_path (undo->files, "undo"), modes[i]), ==, 0);
      undo_write (undo, "a", content);
    }
  g_assert_cmpint (g_chmod (kept_path (undo, "one\n"), 0), ==, 0);
  g_assert_cmpint (g_chmod (files_path (undo->files, "undo"), 0), ==, 0);
  undo_apply (undo);
  undo_assert_file (undo, "work/a", "one\n");
  undo_free (undo);
}

static void
test_is_private_and_once (void)
{
  Undo *undo = undo_new ();
  struct stat first;
  struct stat again;

  files_put (undo->files, "work/a", "one\n");
  files_put (undo->files, "work/b", "one\n");
  undo_write (undo, "a", "two\n");
  g_assert_cmpint (lstat (kept_path (undo, "one\n"), &first), ==, 0);
  g_assert_cmpuint (first.st_mode, ==, S_IFREG | 0600);
  undo_write (undo, "b", "two\n");
  g_assert_cmpint (lstat (kept_path (undo, "one\n"), &again), ==, 0);
  g_assert_cmpuint (first.st_ino, ==, again.st_ino);
  undo_free (undo);
}

/* What stands under the name and is not it is put right, not trusted. */
static void
test_planted_is_replaced (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  g_assert_true (g_file_set_contents (kept_path (undo, "one\n"), "planted", -1, NULL));
  files_put (undo->files, "work/b", "uno\n");
  g_assert_cmpint (symlink (files_path (undo->files, "outside/secret"),
                            kept_path (undo, "uno\n")), ==, 0);
  files_put (undo->files, "work/c", "eins\n");
  g_assert_cmpint (mkfifo (kept_path (undo, "eins\n"), 0600), ==, 0);
  undo_write (undo, "a", "two\n");
  undo_write (undo, "b", "two\n");
  undo_write (undo, "c", "two\n");
  undo_apply (undo);
  undo_assert_file (undo, "work/a", "one\n");
  undo_assert_file (undo, "work/b", "uno\n");
  undo_assert_file (undo, "work/c", "eins\n");
  files_assert_outside (undo->files);
  undo_free (undo);
}

static void
plant_content (Undo       *undo,
               const char *path)
{
  g_assert_true (g_file_set_contents (path, "planted", -1, NULL));
}

static void
plant_link (Undo       *undo,
            const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (symlink (files_path (undo->files, "outside/secret"), path), ==, 0);
}

static void
plant_fifo (Undo       *undo,
            const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
}

static void
plant_folder (Undo       *undo,
              const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
}

static void
plant_nothing (Undo       *undo,
               const char *path)
{
  g_assert_cmpint (g_unlink (path), ==, 0);
}

static void
plant_giant (Undo       *undo,
             const char *path)
{
  g_assert_cmpint (truncate (path, (off_t) 1 << 40), ==, 0);
}

static void
test_planted_is_not_used (void)
{
  static const struct {
    void      (*plant) (Undo *undo, const char *path);
    const char *reason;
  } cases[] = {
    { plant_content, "damaged" }, { plant_link, "no file that can be read" },
    { plant_fifo, "no file that can be read" }, { plant_folder, "no file that can be read" },
    { plant_nothing, "no longer kept" }, { plant_giant, "too large" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Undo *undo = undo_new ();

      files_put (undo->files, "work/a", "one\n");
      files_put (undo->files, "work/b", "uno\n");
      undo_write (undo, "a", "two\n");
      undo_write (undo, "b", "two\n");
      cases[i].plant (undo, kept_path (undo, "one\n"));
      undo_apply (undo);
      undo_assert_state (undo, "work/a", "skipped");
      files_assert_has (undo_reason (undo, "work/a"), cases[i].reason);
      undo_assert_state (undo, "work/b", "restored");
      undo_assert_file (undo, "work/a", "two\n");
      undo_changes (undo);
      undo_assert_state (undo, "work/a", "unknown");
      files_assert_has (undo_reason (undo, "work/a"), cases[i].reason);
      files_assert_lacks (undo->files->result.text, FILES_SECRET);
      undo_free (undo);
    }
}

/* A file that is too large to be kept is changed, and both say that this stays. */
static void
test_too_large (void)
{
  Undo *undo = undo_new ();

  undo->files->keep.max_one = 100;
  files_put (undo->files, "work/a", "0123456789012345678901234567890123456789012345678901234567890"
             "123456789012345678901234567890123456789x");
  undo_write (undo, "a", "two\n");
  files_assert_has (undo->files->result.text, "cannot be undone");
  g_assert_true (json_is_false (json_object_get (json_array_get (undo->changes, 0), "kept")));
  undo_apply (undo);
  undo_assert_state (undo, "work/a", "skipped");
  files_assert_has (undo_reason (undo, "work/a"), "not kept");
  undo_assert_file (undo, "work/a", "two\n");
  undo_free (undo);
}

/* The largest that is kept comes back whole. */
static void
test_largest (void)
{
  Undo *undo = undo_new ();
  g_autofree char *large = g_malloc (OW_RUNNER_KEEP_ONE_MAX);
  g_autofree char *content = NULL;
  gsize length;

  memset (large, 'x', OW_RUNNER_KEEP_ONE_MAX);
  files_put_bytes (undo->files, "work/a", large, OW_RUNNER_KEEP_ONE_MAX);
  undo_write (undo, "a", "two\n");
  undo_apply (undo);
  undo_assert_state (undo, "work/a", "restored");
  g_assert_true (g_file_get_contents (files_path (undo->files, "work/a"), &content, &length,
                                      NULL));
  g_assert_cmpmem (content, length, large, OW_RUNNER_KEEP_ONE_MAX);
  undo_free (undo);
}

static void
make_old (const char *path,
          gint64      seconds)
{
  struct timeval times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

  g_assert_cmpint (utimes (path, times), ==, 0);
}

/* Where all have no room the oldest go: work goes on, and what was done last can be
 * undone. */
static void
test_oldest_go (void)
{
  Undo *undo = undo_new ();
  const char *contents[] = { "one\n", "uno\n", "eins\n" };

  undo->files->keep.max_all = 2 * 4096;
  for (gsize i = 0; i < G_N_ELEMENTS (contents); i++)
    {
      g_autofree char *name = g_strdup_printf ("f%zu", i);
      g_autofree char *path = g_strdup_printf ("work/f%zu", i);

      files_put (undo->files, path, contents[i]);
      undo_write (undo, name, "two\n");
      if (i < 2)
        make_old (kept_path (undo, contents[i]), 1000 + (gint64) i);
    }
  files_assert_has (undo->files->result.text, "can no longer be undone");
  g_assert_cmpint (ow_json_get_int (json_array_get (undo->changes, 2), "dropped", 0), >=, 1);
  undo_apply (undo);
  undo_assert_state (undo, "work/f0", "skipped");
  files_assert_has (undo_reason (undo, "work/f0"), "no longer kept");
  undo_assert_state (undo, "work/f2", "restored");
  undo_assert_file (undo, "work/f2", "eins\n");
  undo_free (undo);
}

/* An undo never drops what another undo needs; it is done even so. */
static void
test_undo_drops_nothing (void)
{
  Undo *undo = undo_new ();

  undo->files->keep.max_all = 4096;
  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  files_assert_has (undo_apply (undo), "cannot be undone itself");
  undo_assert_file (undo, "work/a", "one\n");
  g_assert_true (g_file_test (kept_path (undo, "one\n"), G_FILE_TEST_EXISTS));
  undo_free (undo);
}

/* What a killed call has left is cleared away, and counted for nothing. */
static void
test_left_temporaries_go (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "undo/.keep-0123", "half");
  files_put (undo->files, "undo/.keep-4567", "half");
  make_old (files_path (undo->files, "undo/.keep-0123"), 1000);
  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  g_assert_false (g_file_test (files_path (undo->files, "undo/.keep-0123"), G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (files_path (undo->files, "undo/.keep-4567"), G_FILE_TEST_EXISTS));
  undo_free (undo);
}

void
undo_add_keep_tests (void)
{
  g_test_add_func ("/undo/kept/gone", test_gone);
  g_test_add_func ("/undo/kept/in-the-way", test_in_the_way);
  g_test_add_func ("/undo/kept/no-space", test_no_space);
  g_test_add_func ("/undo/S03/closed-is-opened", test_closed_is_opened);
  g_test_add_func ("/undo/kept/is-private-and-once", test_is_private_and_once);
  g_test_add_func ("/undo/S03/planted-is-replaced", test_planted_is_replaced);
  g_test_add_func ("/undo/S03/planted-is-not-used", test_planted_is_not_used);
  g_test_add_func ("/undo/kept/too-large", test_too_large);
  g_test_add_func ("/undo/kept/largest", test_largest);
  g_test_add_func ("/undo/kept/oldest-go", test_oldest_go);
  g_test_add_func ("/undo/kept/undo-drops-nothing", test_undo_drops_nothing);
  g_test_add_func ("/undo/kept/left-temporaries-go", test_left_temporaries_go);
}
