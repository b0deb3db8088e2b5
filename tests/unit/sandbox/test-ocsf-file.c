/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-ocsf-file.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-file.h"
#include "base/ow-paths.h"

#define MIB (1024 * 1024)

static char *
get (const char *path)
{
  char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  return content;
}

static void
test_kept (void)
{
  g_autofree char *path = ow_ocsf_file_get_path ("s1");
  g_autoptr (OwOcsfFile) file = ow_ocsf_file_open ("s1", NULL);
  g_autoptr (OwOcsfFile) again = NULL;
  g_autofree char *content = NULL;
  struct stat status;

  g_assert_true (ow_ocsf_file_append (file, "one", NULL));
  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 07777, ==, 0600);
  /* A session that goes on adds to what is there. */
  again = ow_ocsf_file_open ("s1", NULL);
  g_assert_true (ow_ocsf_file_append (again, "two", NULL));
  content = get (path);
  g_assert_cmpstr (content, ==, "one\ntwo\n");
}

static void
test_bounded (void)
{
  g_autofree char *path = ow_ocsf_file_get_path ("s2");
  g_autofree char *old = g_strconcat (path, ".1", NULL);
  g_autofree char *line = g_strnfill (MIB - 1, 'x');
  g_autoptr (OwOcsfFile) file = ow_ocsf_file_open ("s2", NULL);
  struct stat status;

  for (guint i = 0; i < 40; i++)
    g_assert_true (ow_ocsf_file_append (file, line, NULL));
  g_assert_true (ow_ocsf_file_append (file, "last", NULL));
  g_assert_cmpint (g_stat (old, &status), ==, 0);
  g_assert_cmpint (status.st_size, ==, 16 * MIB);
  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_assert_cmpint (status.st_size, ==, 8 * MIB + 5);
}

/* What stands in its place and is not a file of ours is not written to. */
static void
test_planted (void)
{
  g_autofree char *path = ow_ocsf_file_get_path ("s3");
  g_autofree char *target = g_strconcat (path, ".target", NULL);
  g_autofree char *fifo = ow_ocsf_file_get_path ("s4");
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (target, "theirs", -1, NULL));
  g_assert_cmpint (symlink (target, path), ==, 0);
  g_assert_null (ow_ocsf_file_open ("s3", &error));
  g_assert_nonnull (strstr (error->message, path));
  g_clear_error (&error);
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  g_assert_null (ow_ocsf_file_open ("s4", &error));
  g_assert_nonnull (error);
}

int
main (int   argc,
      char *argv[])
{
  g_autofree char *dir = g_dir_make_tmp ("ow-ocsf-XXXXXX", NULL);
  int result;

  g_assert_nonnull (dir);
  g_setenv ("XDG_STATE_HOME", dir, TRUE);
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/ocsf/kept", test_kept);
  g_test_add_func ("/ocsf/bounded", test_bounded);
  g_test_add_func ("/ocsf/planted", test_planted);

  result = g_test_run ();
  ow_file_remove_tree (dir, NULL);
  return result;
}
