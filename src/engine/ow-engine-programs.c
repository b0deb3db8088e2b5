/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <stdlib.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "config/ow-config-programs.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-programs.h"

/* The face's PATH, with the task. */
#define SEARCH_PATH "openworker-search-path"

/* sandbox.programs: what of the person's programs sandboxes could have and what they get. */

static json_t *
texts_to_json (GPtrArray *texts)
{
  json_t *json = json_array ();

  for (guint i = 0; i < texts->len; i++)
    json_array_append_new (json, json_string (g_ptr_array_index (texts, i)));
  return json;
}

static json_t *
folders_to_json (GPtrArray *folders)
{
  json_t *json = json_array ();

  for (guint i = 0; i < folders->len; i++)
    json_array_append_new (json, json_string (((const OwFolder *) folders->pdata[i])->path));
  return json;
}

/* The settings may name it by another way. */
static gboolean
is_shared (GPtrArray  *shared,
           const char *path)
{
  for (guint i = 0; i < shared->len; i++)
    {
      char *real = realpath (g_ptr_array_index (shared, i), NULL);
      gboolean same = g_strcmp0 (real != NULL ? real : shared->pdata[i], path) == 0;

      free (real);
      if (same)
        return TRUE;
    }
  return FALSE;
}

static void
on_looked (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (GPtrArray) all = ow_programs_look_finish (result, &error);
  g_autoptr (OwConfig) config = all != NULL ? ow_local_engine_load_config (&error) : NULL;
  json_t *programs;

  if (config == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  programs = json_array ();
  for (guint i = 0; i < all->len; i++)
    {
      const OwPrograms *one = g_ptr_array_index (all, i);
      json_t *json = json_object ();

      json_object_set_new (json, "path", json_string (one->path));
      json_object_set_new (json, "shared",
                           json_boolean (is_shared (ow_config_get_programs (config), one->path)));
      json_object_set_new (json, "can_be", json_boolean (one->why == NULL));
      if (one->why != NULL)
        json_object_set_new (json, "why", json_string (one->why));
      json_object_set_new (json, "folders", folders_to_json (one->folders));
      json_object_set_new (json, "bins", texts_to_json (one->bins));
      json_object_set_new (json, "missing", texts_to_json (one->missing));
      json_array_append_new (programs, json);
    }
  ow_engine_return_json (task, json_pack ("{s:o}", "programs", programs));
}

/* Those of the person's PATH, and what the settings name besides. */
static void
list_all (GTask *task)
{
  const char *search_path = g_object_get_data (G_OBJECT (task), SEARCH_PATH);
  GError *error = NULL;
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);
  g_autoptr (GPtrArray) paths = NULL;
  GPtrArray *shared;

  if (config == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  paths = ow_programs_list (search_path);
  shared = ow_config_get_programs (config);
  for (guint i = 0; i < shared->len; i++)
    {
      char *real = realpath (g_ptr_array_index (shared, i), NULL);
      const char *path = real != NULL ? real : g_ptr_array_index (shared, i);

      if (!g_ptr_array_find_with_equal_func (paths, path, g_str_equal, NULL))
        g_ptr_array_add (paths, g_strdup (path));
      free (real);
    }
  ow_programs_look_async (paths, g_task_get_cancellable (task), on_looked, g_object_ref (task));
}

static void
on_share_looked (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autofree char *path = ow_paths_get_config_file ();
  GError *error = NULL;
  g_autoptr (GPtrArray) all = ow_programs_look_finish (result, &error);
  const OwPrograms *one = all != NULL && all->len == 1 ? g_ptr_array_index (all, 0) : NULL;

  if (one != NULL && one->why != NULL)
    ow_error_setf (&error, OW_ERROR_REFUSED, NULL, "The programs in %s cannot be shared: %s",
                   one->path, one->why);
  if (error != NULL || !ow_config_add_program (path, one->path, &error))
    g_task_return_error (task, error);
  else
    list_all (task);
}

/* The place of @folder as the settings name it. (transfer full) */
static char *
find_name (const char *folder)
{
  g_autoptr (OwConfig) config = ow_local_engine_load_config (NULL);
  g_autofree char *canonical = g_canonicalize_filename (folder, "/");
  char *real = realpath (folder, NULL);
  char *found = NULL;

  for (guint i = 0; config != NULL && i < ow_config_get_programs (config)->len; i++)
    {
      const char *name = g_ptr_array_index (ow_config_get_programs (config), i);
      char *other = realpath (name, NULL);

      if (found == NULL && (g_str_equal (name, canonical) ||
                            (real != NULL && g_strcmp0 (real, other) == 0)))
        found = g_strdup (name);
      free (other);
    }
  free (real);
  return found != NULL ? found : g_steal_pointer (&canonical);
}

void
ow_engine_programs_run (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  const char *share = ow_json_get_string (params, "share", NULL);
  const char *unshare = ow_json_get_string (params, "unshare", NULL);
  const char *named = share != NULL ? share : unshare;
  g_autofree char *path = ow_paths_get_config_file ();
  g_autofree char *name = NULL;
  g_autoptr (GPtrArray) one = NULL;
  GError *error = NULL;

  g_object_set_data_full (G_OBJECT (task), SEARCH_PATH,
                          g_strdup (ow_json_get_string (params, "path", g_getenv ("PATH"))),
                          g_free);
  if ((share != NULL && unshare != NULL) || (named != NULL && !g_path_is_absolute (named)))
    {
      ow_error_set (&error, OW_ERROR_USAGE, "The folder cannot be taken",
                    "one whole path is needed", "Give one, beginning with \"/\".");
      g_task_return_error (task, error);
    }
  else if (share != NULL)
    {
      one = g_ptr_array_new ();
      g_ptr_array_add (one, (char *) share);
      ow_programs_look_async (one, g_task_get_cancellable (task), on_share_looked,
                              g_object_ref (task));
    }
  else
    {
      name = unshare != NULL ? find_name (unshare) : NULL;
      if (name != NULL && !ow_config_remove_program (path, name, &error))
        g_task_return_error (task, error);
      else
        list_all (task);
    }
}
