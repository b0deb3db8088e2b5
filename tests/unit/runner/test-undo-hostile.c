/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-descent-private.h"
#include "undo-fixture.h"

static void
assert_skipped (Undo       *undo,
                const char *path,
                const char *reason)
{
  undo_apply (undo);
  files_assert_done (undo->files);
  undo_assert_state (undo, path, "skipped");
  files_assert_has (undo_reason (undo, path), reason);
  files_assert_outside (undo->files);
}

/* With and without openat2. */
static void
both_ways (void (*test)(void))
{
  test ();
  ow_runner_descent_set_openat2 (false);
  test ();
  ow_runner_descent_set_openat2 (true);
}

static void
link_in_place (void)
{
  Undo *undo = undo_new ();
  const char *target = files_path (undo->files, "outside/secret");

  /* The target holds just what a tool left: only that it is a link stops it. */
  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", FILES_SECRET);
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/a")), ==, 0);
  files_link (undo->files, "work/a", target);
  assert_skipped (undo, "work/a", "symbolic link");
  undo_changes (undo);
  undo_assert_state (undo, "work/a", "unknown");
  files_assert_lacks (undo->files->result.text, FILES_SECRET);
  undo_free (undo);
}

static void
test_link_in_place (void)
{
  both_ways (link_in_place);
}

/* A link to a file of the session is a link too. */
static void
link_inside (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  g_assert_cmpint (g_rename (files_path (undo->files, "work/a"),
                             files_path (undo->files, "work/b")), ==, 0);
  files_link (undo->files, "work/a", "b");
  assert_skipped (undo, "work/a", "symbolic link");
  undo_assert_file (undo, "work/b", "two\n");
  undo_free (undo);
}

static void
test_link_inside (void)
{
  both_ways (link_inside);
}

static void
parent_swapped (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/d/secret", "one\n");
  undo_write (undo, "d/secret", FILES_SECRET);
  g_assert_cmpint (g_rename (files_path (undo->files, "work/d"),
                             files_path (undo->files, "work/e")), ==, 0);
  files_link (undo->files, "work/d", files_path (undo->files, "outside"));
  assert_skipped (undo, "work/d/secret", "link");
  g_assert_cmpint (g_unlink (files_path (undo->files, "work/d")), ==, 0);
  files_link (undo->files, "work/d", "e");
  assert_skipped (undo, "work/d/secret", "link");
  undo_assert_file (undo, "work/e/secret", FILES_SECRET);
  undo_free (undo);
}

static void
test_parent_swapped (void)
{
  both_ways (parent_swapped);
}

/* A change made through a link belongs to the file that it led to. */
static void
test_changed_through_a_link (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/d/real", "one\n");
  files_link (undo->files, "work/link", "d/real");
  files_link (undo->files, "work/e", "d");
  undo_write (undo, "link", "two\n");
  undo_write (undo, "e/real", "three\n");
  g_assert_cmpstr (ow_json_get_string (json_array_get (undo->changes, 0), "path", ""), ==,
                   files_path (undo->files, "work/d/real"));
  g_assert_cmpstr (ow_json_get_string (json_array_get (undo->changes, 1), "path", ""), ==,
                   files_path (undo->files, "work/d/real"));
  undo_apply (undo);
  undo_assert_state (undo, "work/d/real", "restored");
  undo_assert_file (undo, "work/d/real", "one\n");
  g_assert_true (g_file_test (files_path (undo->files, "work/link"), G_FILE_TEST_IS_SYMLINK));
  undo_free (undo);
}

/* Another name of the file keeps what it has. */
static void
test_hard_link (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  undo_write (undo, "made", "two\n");
  g_assert_cmpint (link (files_path (undo->files, "work/a"),
                         files_path (undo->files, "outside/other")), ==, 0);
  g_assert_cmpint (link (files_path (undo->files, "work/made"),
                         files_path (undo->files, "outside/made")), ==, 0);
  undo_apply (undo);
  undo_assert_file (undo, "work/a", "one\n");
  undo_assert_file (undo, "outside/other", "two\n");
  undo_assert_file (undo, "work/made", NULL);
  undo_assert_file (undo, "outside/made", "two\n");
  undo_free (undo);
}

static void
test_special_file_in_place (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/fifo", "one\n");
  files_put (undo->files, "work/folder", "one\n");
  undo_write (undo, "fifo", "two\n");
  undo_write (undo, "folder", "two\n");
  undo_write (undo, "made", "two\n");
  for (guint i = 0; i < 3; i++)
    {
      static const char *const names[] = { "work/fifo", "work/folder", "work/made" };

      g_assert_cmpint (g_unlink (files_path (undo->files, "%s", names[i])), ==, 0);
    }
  g_assert_cmpint (mkfifo (files_path (undo->files, "work/fifo"), 0600), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (undo->files, "work/folder"), 0755), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (undo->files, "work/made"), 0755), ==, 0);
  undo_apply (undo);
  files_assert_has (undo_reason (undo, "work/fifo"), "FIFO");
  files_assert_has (undo_reason (undo, "work/folder"), "folder");
  files_assert_has (undo_reason (undo, "work/made"), "folder");
  g_assert_true (g_file_test (files_path (undo->files, "work/made"), G_FILE_TEST_IS_DIR));
  undo_changes (undo);
  undo_assert_state (undo, "work/fifo", "unknown");
  undo_free (undo);
}

/* What may not be written, or is none of the session's, is refused by itself. */
static void
test_other_folders (void)
{
  Undo *undo = undo_new ();
  g_autofree char *made = undo_hash (FILES_SECRET);
  json_t *change = json_object ();
  json_t *frozen;

  files_put (undo->files, "work/a", "one\n");
  files_put (undo->files, "work/frozen/b", FILES_SECRET);
  undo_write (undo, "a", "two\n");
  json_object_set_new (change, "path", json_string (files_path (undo->files, "outside/secret")));
  json_object_set_new (change, "before", json_null ());
  json_object_set_new (change, "after", json_string (made));
  frozen = json_deep_copy (change);
  json_object_set_new (frozen, "path", json_string (files_path (undo->files, "work/frozen/b")));
  json_array_append_new (undo->changes, change);
  json_array_append_new (undo->changes, json_deep_copy (change));
  json_object_set_new (json_array_get (undo->changes, 2), "path",
                       json_string (files_path (undo->files, "work/../outside/secret")));
  json_array_append_new (undo->changes, frozen);
  assert_skipped (undo, "outside/secret", "leads out");
  undo_assert_state (undo, "work/../outside/secret", "skipped");
  undo_assert_state (undo, "work/frozen/b", "skipped");
  files_assert_has (undo_reason (undo, "work/frozen/b"), "only read");
  undo_assert_state (undo, "work/a", "restored");
  undo_assert_file (undo, "work/frozen/b", FILES_SECRET);
  undo_free (undo);
}

/* Where the undo folder lies in a folder of the session, no tool writes there. */
static void
test_undo_folder_in_a_folder (void)
{
  Files *files = files_new ();
  char error[OW_RUNNER_ERROR_SIZE];
  g_autofree char *hash = undo_hash ("one\n");
  g_autofree char *kept = g_strconcat ("work/.undo/", hash, NULL);

  g_assert_cmpint (g_mkdir (files_path (files, "work/.undo"), 0700), ==, 0);
  g_assert_true (ow_runner_keep_open (&files->keep, files_path (files, "work/.undo"), error));
  files->roots.keep = &files->keep;
  files_put (files, "work/a", "one\n");
  files_call (files, "write", "{'path':'a','content':'two'}");
  files_assert_done (files);
  files_call (files, "write", "{'path':'.undo/%s','content':'planted'}", hash);
  files_assert_refused (files, "leads out");
  files_call (files, "edit", "{'path':'.undo/%s','old_text':'one','new_text':'two'}", hash);
  files_assert_refused (files, "leads out");
  g_assert_true (g_file_test (files_path (files, "%s", kept), G_FILE_TEST_EXISTS));
  files_free (files);
}

static void
test_write_protected (void)
{
  Undo *undo = undo_new ();

  if (geteuid () == 0)
    {
      g_test_skip ("root may write to it");
      undo_free (undo);
      return;
    }
  files_put (undo->files, "work/a", "one\n");
  undo_write (undo, "a", "two\n");
  undo_write (undo, "made", "two\n");
  g_assert_cmpint (g_chmod (files_path (undo->files, "work/a"), 0444), ==, 0);
  g_assert_cmpint (g_chmod (files_path (undo->files, "work/made"), 0444), ==, 0);
  undo_show (undo);
  undo_assert_state (undo, "work/a", "skipped");
  undo_apply (undo);
  files_assert_has (undo_reason (undo, "work/a"), "permissions");
  files_assert_has (undo_reason (undo, "work/made"), "permissions");
  undo_assert_file (undo, "work/made", "two\n");
  undo_free (undo);
}

/* Swaps a file and a folder with links that lead out, as fast as it can. */
static pid_t
start_swapping (Undo *undo)
{
  g_autofree char *file = g_strdup (files_path (undo->files, "work/d/secret"));
  g_autofree char *folder = g_strdup (files_path (undo->files, "work/d"));
  g_autofree char *aside = g_strdup (files_path (undo->files, "work/aside"));
  g_autofree char *out = g_strdup (files_path (undo->files, "outside"));
  g_autofree char *secret = g_strdup (files_path (undo->files, "outside/secret"));
  pid_t child = fork ();

  if (child != 0)
    return child;
  /* Until it is killed. */
  for (guint i = 0;; i++)
    {
      if (i % 2 == 0)
        {
          if (rename (folder, aside) == 0 && symlink (out, folder) == 0)
            unlink (folder);
          rename (aside, folder);
        }
      else if (rename (file, aside) == 0)
        {
          if (symlink (secret, file) == 0)
            unlink (file);
          rename (aside, file);
        }
    }
}

static void
test_swapped_while_it_runs (void)
{
  Undo *undo = undo_new ();
  gint64 end = g_get_monotonic_time () + 3 * G_USEC_PER_SEC;
  guint restored = 0;
  guint rounds = 0;
  pid_t child;

  /* As a tool left it, the file holds what the secret does. */
  files_put (undo->files, "work/d/secret", "one\n");
  undo_write (undo, "d/secret", FILES_SECRET);
  child = start_swapping (undo);
  g_assert_cmpint (child, >, 0);
  for (; g_get_monotonic_time () < end || restored == 0; rounds++)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end + 120 * G_USEC_PER_SEC);
      undo_apply (undo);
      restored += g_str_equal (undo_state (undo, "work/d/secret"), "restored");
      if (g_str_equal (undo_state (undo, "work/d/secret"), "restored"))
        undo_take_back (undo);
      files_assert_outside (undo->files);
    }
  kill (child, SIGKILL);
  waitpid (child, NULL, 0);
  files_assert_outside (undo->files);
  g_test_message ("%u rounds, %u of them did it", rounds, restored);
  undo_free (undo);
}

/* Others write the file all the time: what they wrote last is never lost. */
static void
test_written_while_it_runs (void)
{
  Undo *undo = undo_new ();
  gint64 end = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;
  g_autofree char *file = g_strdup (files_path (undo->files, "work/made"));
  g_autofree char *other = g_strdup (files_path (undo->files, "work/other"));

  undo_write (undo, "made", "two\n");
  while (g_get_monotonic_time () < end)
    {
      pid_t child;
      int status;

      g_assert_true (g_file_set_contents (file, "two\n", -1, NULL));
      g_assert_true (g_file_set_contents (other, "theirs\n", -1, NULL));
      child = fork ();
      if (child == 0)
        _exit (rename (other, file) == 0 ? 0 : 1);
      undo_apply (undo);
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
      undo_assert_file (undo, "work/made", "theirs\n");
    }
  undo_free (undo);
}

/* The name of a change is the file's own: what looks like an escape in it is none, and leads to no
 * other file. */
static void
test_name_that_looks_escaped (void)
{
  Undo *undo = undo_new ();

  files_put (undo->files, "work/a\\x09", "one\n");
  undo_write (undo, "a\\x5cx09", "two\n");
  undo_assert_file (undo, "work/a\\x09", "two\n");
  files_put (undo->files, "work/a\t", "two\n");
  files_assert_has (undo_changes (undo), "-one\n+two\n");
  undo_apply (undo);
  undo_assert_state (undo, "work/a\\x09", "restored");
  undo_assert_file (undo, "work/a\\x09", "one\n");
  undo_assert_file (undo, "work/a\t", "two\n");
  undo_free (undo);
}

#define MANY 10000

static void
test_many (void)
{
  Undo *undo = undo_new ();
  g_autofree char *after = undo_hash ("new\n");
  json_t *arguments;
  gint64 start;

  for (guint i = 0; i < MANY; i++)
    {
      json_t *change = json_object ();
      g_autofree char *path = g_strdup_printf ("work/f%05u", i);

      json_object_set_new (change, "path", json_string (files_path (undo->files, "%s", path)));
      json_object_set_new (change, "before", json_null ());
      json_object_set_new (change, "after", json_string (after));
      json_array_append_new (undo->changes, change);
      files_put (undo->files, path, "new\n");
    }
  start = g_get_monotonic_time ();
  undo_changes (undo);
  files_assert_done (undo->files);
  g_test_message ("changes of %d: %.2f s", MANY,
                  (double) (g_get_monotonic_time () - start) / G_USEC_PER_SEC);
  start = g_get_monotonic_time ();
  undo_apply (undo);
  files_assert_done (undo->files);
  g_test_message ("undo of %d: %.2f s", MANY,
                  (double) (g_get_monotonic_time () - start) / G_USEC_PER_SEC);
  g_assert_cmpint (files_int (undo->files, "removed"), ==, MANY);
  undo_assert_file (undo, "work/f00000", NULL);
  undo_assert_file (undo, "work/f09999", NULL);

  arguments = json_object ();
  for (guint i = 0; i < MANY + 1; i++)
    json_array_append_new (undo->changes, json_deep_copy (json_array_get (undo->changes, 0)));
  json_object_set (arguments, "changes", undo->changes);
  files_call_json (undo->files, "changes", arguments);
  files_assert_refused (undo->files, "ask for fewer");
  undo_free (undo);
}

void
undo_add_hostile_tests (void)
{
  g_test_add_func ("/undo/S03/link-in-place", test_link_in_place);
  g_test_add_func ("/undo/S03/link-inside", test_link_inside);
  g_test_add_func ("/undo/S03/parent-swapped", test_parent_swapped);
  g_test_add_func ("/undo/S03/changed-through-a-link", test_changed_through_a_link);
  g_test_add_func ("/undo/S03/hard-link", test_hard_link);
  g_test_add_func ("/undo/S03/name-that-looks-escaped", test_name_that_looks_escaped);
  g_test_add_func ("/undo/S03/swapped-while-it-runs", test_swapped_while_it_runs);
  g_test_add_func ("/undo/written-while-it-runs", test_written_while_it_runs);
  g_test_add_func ("/undo/special-file-in-place", test_special_file_in_place);
  g_test_add_func ("/undo/other-folders", test_other_folders);
  g_test_add_func ("/undo/undo-folder-in-a-folder", test_undo_folder_in_a_folder);
  g_test_add_func ("/undo/write-protected", test_write_protected);
  g_test_add_func ("/undo/many", test_many);
}
