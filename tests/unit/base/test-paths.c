/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-paths.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"

static void
test_places (void)
{
  g_autofree char *config = NULL;
  g_autofree char *state = NULL;
  g_autofree char *audit = NULL;

  g_setenv ("XDG_CONFIG_HOME", "/c", TRUE);
  g_setenv ("XDG_STATE_HOME", "relative", TRUE);
  config = ow_paths_get_config_file ();
  state = ow_paths_get_state_dir ();
  audit = ow_paths_get_audit_file ();
  g_assert_cmpstr (config, ==, "/c/coworker/config.toml");
  g_assert_true (g_path_is_absolute (state));
  g_assert_true (g_str_has_suffix (state, "/.local/state/coworker"));
  g_assert_true (g_str_has_suffix (audit, "/.local/state/coworker/audit.jsonl"));
}

static void
test_runtime (void)
{
  g_autofree char *dir = g_dir_make_tmp ("ow-paths-XXXXXX", NULL);
  g_autofree char *good = NULL;
  g_autofree char *bad = NULL;

  g_setenv ("XDG_RUNTIME_DIR", dir, TRUE);
  good = ow_paths_get_runtime_dir ();
  g_assert_true (g_str_has_prefix (good, dir));
  g_assert_cmpint (g_chmod (dir, 0755), ==, 0);
  bad = ow_paths_get_runtime_dir ();
  g_assert_false (g_str_has_prefix (bad, dir));
  g_assert_true (g_str_has_suffix (bad, "/coworker/run"));
  g_assert_cmpint (g_rmdir (dir), ==, 0);
}

static void
test_ensure (void)
{
  g_autofree char *dir = g_dir_make_tmp ("ow-paths-XXXXXX", NULL);
  g_autofree char *deep = g_build_filename (dir, "a", "b", "c", NULL);
  g_autofree char *middle = g_build_filename (dir, "a", NULL);
  g_autofree char *file = g_build_filename (dir, "file", NULL);
  g_autofree char *below = g_build_filename (file, "x", NULL);
  g_autoptr (GError) error = NULL;
  struct stat st;

  g_assert_true (ow_paths_ensure (deep, &error));
  g_assert_no_error (error);
  g_assert_true (ow_paths_ensure (deep, &error));
  g_assert_cmpint (g_stat (middle, &st), ==, 0);
  g_assert_cmpint (st.st_mode & 07777, ==, 0700);

  g_assert_cmpint (g_chmod (deep, 0777), ==, 0);
  g_assert_false (ow_paths_ensure (deep, &error));
  g_assert_nonnull (strstr (error->message, "chmod"));
  g_clear_error (&error);

  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  g_assert_false (ow_paths_ensure (file, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_false (ow_paths_ensure (below, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_false (ow_paths_ensure ("relative", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);

  if (geteuid () == 0)
    {
      g_clear_error (&error);
      g_assert_cmpint (chown (middle, 12345, 12345), ==, 0);
      g_assert_false (ow_paths_ensure (middle, &error));
      g_assert_nonnull (strstr (error->message, "12345"));
    }
  g_assert_true (ow_file_remove_tree (dir, NULL));
}

static void
test_error (void)
{
  g_autoptr (GError) error = NULL;

  ow_error_set (&error, OW_ERROR_REFUSED, "Cannot start.", "the wall is down", "Run setup");
  g_assert_cmpstr (error->message, ==, "Cannot start: the wall is down. Run setup.");
  g_assert_cmpint (ow_error_exit_status (error), ==, 69);
  g_clear_error (&error);
  ow_error_setf (&error, OW_ERROR_USAGE, "Say which.", "No folder %d", 3);
  g_assert_cmpstr (error->message, ==, "No folder 3. Say which.");
  g_assert_cmpint (ow_error_exit_status (error), ==, 2);
  ow_error_set (NULL, OW_ERROR_FAILED, "x", NULL, NULL);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/paths/places", test_places);
  g_test_add_func ("/paths/runtime", test_runtime);
  g_test_add_func ("/paths/ensure", test_ensure);
  g_test_add_func ("/paths/error", test_error);

  return g_test_run ();
}
