/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "sandbox/ow-undo-folder.h"

static char *top; /* its XDG_DATA_HOME, in a folder of the test's own */

static char *
below (const char *name)
{
  return g_build_filename (top, "data", "coworker", name, NULL);
}

static void
assert_folder (const char *path,
               uid_t       uid)
{
  struct stat st;

  g_assert_cmpint (lstat (path, &st), ==, 0);
  g_assert_true (S_ISDIR (st.st_mode));
  g_assert_cmpuint (st.st_mode & 07777, ==, 0700);
  g_assert_cmpuint (st.st_uid, ==, uid);
}

static char *
make (const char *session,
      GError    **error)
{
  return ow_undo_folder_make (session, geteuid (), getegid (), error);
}

/* What a session kept is there for its next sandbox. */
static void
test_stays (void)
{
  g_autofree char *first = make ("one", NULL);
  g_autofree char *expected = below ("sessions/one/undo");
  g_autofree char *kept = g_build_filename (first, "kept", NULL);
  g_autofree char *again = NULL;

  g_assert_cmpstr (first, ==, expected);
  assert_folder (first, geteuid ());
  g_assert_true (g_file_set_contents (kept, "x", -1, NULL));
  g_assert_cmpint (g_chmod (first, 0755), ==, 0);
  again = make ("one", NULL);
  g_assert_cmpstr (again, ==, first);
  assert_folder (again, geteuid ());
  g_assert_true (g_file_test (kept, G_FILE_TEST_IS_REGULAR));
}

static void
test_owner (void)
{
  g_autofree char *path = NULL;
  g_autofree char *session = below ("sessions/owner");
  g_autofree char *kept = NULL;
  GError *error = NULL;

  if (geteuid () != 0)
    {
      g_assert_null (ow_undo_folder_make ("owner", geteuid () + 1, getegid (), &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
      g_error_free (error);
      return;
    }
  path = ow_undo_folder_make ("owner", 12345, 12345, &error);
  g_assert_no_error (error);
  assert_folder (path, 12345);
  assert_folder (session, 0);
  kept = g_build_filename (path, "kept", NULL);
  g_assert_true (g_file_set_contents (kept, "x", -1, NULL));
  g_assert_true (ow_undo_folder_remove ("owner", NULL));
  g_assert_false (g_file_test (session, G_FILE_TEST_EXISTS));
}

/* S02: what stands in its place, or in that of a parent, leads nowhere. */
static void
test_links (void)
{
  static const char * const places[] = { "sessions", "sessions/link", "sessions/link/undo" };

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *path = below (places[i]);
      g_autofree char *parent = g_path_get_dirname (path);
      g_autofree char *sessions = below ("sessions");
      g_autofree char *elsewhere = g_build_filename (top, "elsewhere", NULL);
      g_autofree char *victim = g_build_filename (elsewhere, "victim", NULL);
      g_autofree char *under = g_build_filename (elsewhere, "link", NULL);
      g_autofree char *made = NULL;
      GError *error = NULL;

      g_assert_true (ow_file_remove_tree (sessions, NULL));
      g_assert_true (ow_file_remove_tree (elsewhere, NULL));
      g_assert_cmpint (g_mkdir_with_parents (under, 0755), ==, 0);
      g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
      g_assert_true (g_file_set_contents (victim, "x", -1, NULL));
      g_assert_cmpint (symlink (elsewhere, path), ==, 0);
      g_assert_null (make ("link", &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
      g_clear_error (&error);
      made = g_build_filename (elsewhere, "undo", NULL);
      g_assert_false (g_file_test (made, G_FILE_TEST_EXISTS));
      /* Nor is anything removed behind it. */
      ow_undo_folder_remove ("link", NULL);
      g_assert_true (g_file_test (victim, G_FILE_TEST_IS_REGULAR));
      g_assert_true (g_file_test (under, G_FILE_TEST_IS_DIR));
      /* The link itself may have gone, as what was in the way. */
      unlink (path);
    }
}

static void
test_names (void)
{
  static const char * const bad[] = { "", ".", "..", "a/b", "../x", "/etc" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      GError *error = NULL;

      g_assert_null (make (bad[i], &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
      g_clear_error (&error);
      g_assert_false (ow_undo_folder_remove (bad[i], &error));
      g_clear_error (&error);
    }
  g_assert_true (ow_undo_folder_remove ("never-there", NULL));
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *data = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  top = g_dir_make_tmp ("ow-undo-XXXXXX", NULL);
  data = g_build_filename (top, "data", NULL);
  g_setenv ("XDG_DATA_HOME", data, TRUE);
  g_test_add_func ("/undo-folder/stays", test_stays);
  g_test_add_func ("/undo-folder/owner", test_owner);
  g_test_add_func ("/undo-folder/S02/links", test_links);
  g_test_add_func ("/undo-folder/names", test_names);
  status = g_test_run ();
  ow_file_remove_tree (top, NULL);
  g_free (top);
  return status;
}
