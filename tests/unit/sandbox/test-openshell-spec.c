/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "base/ow-error.h"
#include "ow-openshell-refuse-private.h"
#include "ow-openshell-spec-private.h"
#include "wire/ow-json.h"

static OwFolder outer = { .path = (char *) "/srv/work", .fd = -1 };
static OwFolder inner = { .path = (char *) "/srv/work/doc", .read_only = TRUE, .fd = -1 };
static OwFolder beside = { .path = (char *) "/srv/work-not", .fd = -1 };

/* The inner folder is given first. */
static OwSandboxPlan
make_plan (GPtrArray *folders)
{
  OwSandboxPlan plan = {
    .id = (char *) "0123456789ab", .folders = folders, .home = (char *) "/home/nina/h",
    .undo = (char *) "/home/nina/u",
    .runner = (char *) "/usr/libexec/openworker/openworker-runner",
  };

  g_ptr_array_add (folders, &inner);
  g_ptr_array_add (folders, &outer);
  g_ptr_array_add (folders, &beside);
  return plan;
}

static json_t *
read_mounts (const OwSandboxPlan *plan,
             gboolean             selinux)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = ow_openshell_words_mounts (plan, "podman", selinux, &error);
  char reason[OW_WIRE_ERROR_SIZE];
  json_t *json;
  json_t *mounts;

  g_assert_no_error (error);
  json = ow_json_parse (text, strlen (text), reason);
  g_assert_nonnull (json);
  mounts = json_incref (json_object_get (json_object_get (json, "podman"), "mounts"));
  json_decref (json);
  return mounts;
}

static const char *
get (const json_t *mounts,
     size_t        index,
     const char   *key)
{
  return ow_json_get_string (json_array_get (mounts, index), key, "");
}

/* S09, S12: a folder in a folder comes behind it, and each says whether it is read-only. */
static void
test_mounts (void)
{
  static const char * const targets[] = {
    "/home/nina/h", "/home/nina/u", "/opt/openworker/openworker-runner", "/srv/work",
    "/srv/work-not", "/srv/work/doc",
  };
  g_autoptr (GPtrArray) folders = g_ptr_array_new ();
  OwSandboxPlan plan = make_plan (folders);
  json_t *mounts = read_mounts (&plan, FALSE);

  g_assert_cmpuint (json_array_size (mounts), ==, G_N_ELEMENTS (targets));
  for (size_t i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      const json_t *mount = json_array_get (mounts, i);
      gboolean read_only = strstr (targets[i], "doc") != NULL || strstr (targets[i], "opt") != NULL;

      g_assert_cmpstr (get (mounts, i, "target"), ==, targets[i]);
      g_assert_cmpstr (get (mounts, i, "source"), ==,
                       i == 2 ? plan.runner : targets[i]);
      g_assert_true (json_is_boolean (json_object_get (mount, "read_only")));
      g_assert_cmpint (json_is_true (json_object_get (mount, "read_only")), ==, read_only);
      g_assert_null (json_object_get (mount, "selinux_label"));
    }
  json_decref (mounts);
}

/* A13: where SELinux is enforced every mount carries a label, or nothing inside may read it. */
static void
test_selinux (void)
{
  g_autoptr (GPtrArray) folders = g_ptr_array_new ();
  OwSandboxPlan plan = make_plan (folders);
  json_t *mounts = read_mounts (&plan, TRUE);

  for (size_t i = 0; i < json_array_size (mounts); i++)
    g_assert_cmpstr (get (mounts, i, "selinux_label"), !=, "");
  json_decref (mounts);
}

static void
test_enforcing (void)
{
  static const struct {
    const char *text;
    gboolean    enforcing;
  } rows[] = { { "1", TRUE }, { "1\n", TRUE }, { "0", FALSE }, { "", FALSE }, { NULL, FALSE } };
  g_autofree char *dir = g_dir_make_tmp ("ow-selinux-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "enforce", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      if (rows[i].text != NULL)
        g_assert_true (g_file_set_contents (path, rows[i].text, -1, NULL));
      else
        g_assert_cmpint (remove (path), ==, 0);
      g_assert_cmpint (ow_openshell_check_is_enforcing (path), ==, rows[i].enforcing);
    }
  g_assert_cmpint (remove (dir), ==, 0);
}

static gboolean
has_pair (char      **words,
          const char *option,
          const char *value)
{
  for (guint i = 0; words[i] != NULL && words[i + 1] != NULL; i++)
    if (strcmp (words[i], option) == 0 && strcmp (words[i + 1], value) == 0)
      return TRUE;
  return FALSE;
}

static void
test_command (void)
{
  g_autoptr (GPtrArray) folders = g_ptr_array_new ();
  OwSandboxPlan plan = make_plan (folders);
  g_auto (GStrv) words = ow_openshell_words_command (&plan);

  g_assert_cmpstr (words[0], ==, "/opt/openworker/openworker-runner");
  g_assert_cmpstr (words[1], ==, "serve");
  g_assert_true (has_pair (words, "--home", plan.home));
  g_assert_true (has_pair (words, "--undo", plan.undo));
  g_assert_true (has_pair (words, "--folder", "/srv/work"));
  g_assert_true (has_pair (words, "--folder-ro", "/srv/work/doc"));
  g_assert_true (has_pair (words, "--landlock-rw", "/srv/work"));
  g_assert_true (has_pair (words, "--landlock-ro", "/srv/work/doc"));
  g_assert_false (has_pair (words, "--landlock-rw", "/srv/work/doc"));
  g_assert_true (g_strv_contains ((const char * const *) words, "--landlock"));
}

/* REQ-U11: the words that a person looks for, with the line that downloads it. */
static void
test_image (void)
{
  OwContainerEngine engine = { .kind = OW_ENGINE_PODMAN, .program = (char *) "/usr/bin/podman" };
  g_autoptr (GError) pinned = ow_openshell_refuse_image (&engine, OW_OPENSHELL_BASE_IMAGE);
  g_autoptr (GError) other = ow_openshell_refuse_image (NULL, "a\033[31m/b");

  g_assert_error (pinned, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (pinned->message, "The sandbox base image is not downloaded yet"));
  g_assert_nonnull (strstr (pinned->message, OW_OPENSHELL_BASE_IMAGE));
  g_assert_nonnull (strstr (pinned->message, "podman pull"));
  g_assert_nonnull (strstr (pinned->message, "5 GB"));
  g_assert_null (strstr (other->message, "5 GB"));
  g_assert_null (strchr (other->message, '\033'));
}

/* A reason stays what it is; only what refuses is said as that, once. */
static void
test_refuse (void)
{
  g_autoptr (GError) stopped = ow_openshell_refuse (g_error_new_literal (OW_ERROR,
                                                                         OW_ERROR_INTERRUPTED, "x"));
  g_autoptr (GError) fault = ow_openshell_refuse (g_error_new_literal (OW_OPENSHELL_ERROR,
                                                                       OW_OPENSHELL_FAULT_DISK_FULL,
                                                                       "What: why. Next."));
  g_autoptr (GError) again = ow_openshell_refuse (g_error_copy (fault));

  g_assert_error (stopped, OW_ERROR, OW_ERROR_INTERRUPTED);
  g_assert_error (fault, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_cmpstr (fault->message, ==, "Sessions on this machine are refused: why. Next.");
  g_assert_cmpstr (again->message, ==, fault->message);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell-spec/S12/mounts", test_mounts);
  g_test_add_func ("/openshell-spec/A13/labels", test_selinux);
  g_test_add_func ("/openshell-spec/A13/enforcing", test_enforcing);
  g_test_add_func ("/openshell-spec/command", test_command);
  g_test_add_func ("/openshell-spec/image", test_image);
  g_test_add_func ("/openshell-spec/refuse", test_refuse);
  return g_test_run ();
}
