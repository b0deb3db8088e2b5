/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-spec-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "config/ow-config.h"
#include "openshell/ow-openshell-mounts.h"
#include "ow-openshell-policy-private.h"
#include "ow-openshell-refuse-private.h"
#include "sandbox/ow-openshell-labels.h"

#define POLICY_NAME "policy.yaml"
/* As long as a bubblewrap session's. */
#define LEASE "600"

void
ow_openshell_words_free (OwOpenshellWords *words)
{
  if (words == NULL)
    return;
  g_free (words->name);
  g_free (words->policy);
  g_free (words->mounts);
  g_strfreev (words->labels);
  g_strfreev (words->command);
  g_free (words->cpu);
  g_free (words->memory);
  g_free (words);
}

char **
ow_openshell_words_command (const OwSandboxPlan *plan)
{
  g_autoptr (GStrvBuilder) command = g_strv_builder_new ();
  g_autoptr (GArray) view = ow_wall_view_openshell (plan);

  g_strv_builder_add_many (command, OW_OPENSHELL_RUNNER, "serve", "--socket", OW_OPENSHELL_SOCKET,
                           "--home", plan->home, "--lease", LEASE, NULL);
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      g_strv_builder_add_many (command, folder->read_only ? "--folder-ro" : "--folder",
                               folder->path, NULL);
    }
  /* No names to be listed besides: OpenShell's own rules have none. */
  g_strv_builder_add_many (command, "--landlock", NULL);
  for (guint i = 0; i < view->len; i++)
    {
      const OwWallPlace *place = &g_array_index (view, OwWallPlace, i);
      const char *option = ow_wall_place_landlock (place);

      if (option != NULL && place->rule != OW_WALL_RULE_UNDO)
        g_strv_builder_add_many (command, option, place->path, NULL);
    }
  if (plan->undo != NULL)
    g_strv_builder_add_many (command, "--undo", plan->undo, NULL);
  if (plan->wrappers != NULL)
    g_strv_builder_add_many (command, "--path", plan->wrappers, NULL);
  for (guint i = 0; plan->bins != NULL && i < plan->bins->len; i++)
    g_strv_builder_add_many (command, "--path", g_ptr_array_index (plan->bins, i), NULL);
  return g_strv_builder_end (command);
}

static int
compare_mounts (gconstpointer a,
                gconstpointer b)
{
  return strcmp (((const OwOpenshellMount *) a)->target, ((const OwOpenshellMount *) b)->target);
}

char *
ow_openshell_words_mounts (const OwSandboxPlan *plan,
                           const char          *driver,
                           gboolean             selinux,
                           GError             **error)
{
  g_autoptr (GArray) mounts = g_array_new (FALSE, TRUE, sizeof (OwOpenshellMount));
  g_autoptr (GArray) view = ow_wall_view_openshell (plan);
  g_autoptr (GError) reason = NULL;
  char *json;

  for (guint i = 0; i < view->len; i++)
    {
      const OwWallPlace *place = &g_array_index (view, OwWallPlace, i);
      OwOpenshellMount mount = { .source = place->detail, .target = place->path,
                                 .read_only = place->read_only };

      if (place->kind == OW_WALL_HANDED)
        g_array_append_val (mounts, mount);
    }
  /* A folder in a folder comes behind it, or it would be covered. */
  g_array_sort (mounts, compare_mounts);
  json = ow_openshell_mounts_to_json (driver, (const OwOpenshellMount *) mounts->data, mounts->len,
                                      selinux, &reason);
  if (json == NULL)
    g_propagate_error (error, ow_openshell_refuse (g_steal_pointer (&reason)));
  return json;
}

/* Docker from the snap store shows an empty folder in place of one that it may not see. */
static gboolean
check_mountable (const OwSandboxPlan    *plan,
                 const OwOpenshellFacts *facts,
                 GError                **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  if (facts->engine == NULL)
    return TRUE;
  for (guint i = 0; i < plan->folders->len; i++)
    g_ptr_array_add (paths, ((const OwFolder *) g_ptr_array_index (plan->folders, i))->path);
  g_ptr_array_add (paths, plan->home);
  if (plan->undo != NULL)
    g_ptr_array_add (paths, plan->undo);
  g_ptr_array_add (paths, plan->runner);
  for (guint i = 0; plan->programs != NULL && i < plan->programs->len; i++)
    g_ptr_array_add (paths, ((const OwFolder *) plan->programs->pdata[i])->path);
  for (guint i = 0; i < paths->len; i++)
    {
      const char *path = g_ptr_array_index (paths, i);
      g_autofree char *why = ow_container_engine_cannot_mount (facts->engine, path);
      g_autofree char *shown = ow_text_visible (path);

      if (why == NULL)
        continue;
      ow_error_setf (error, OW_ERROR_REFUSED, NULL,
                     OW_OPENSHELL_REFUSED ": \"%s\" cannot be in a sandbox: %s", shown, why);
      return FALSE;
    }
  return TRUE;
}

static gboolean
write_policy (OwOpenshellWords    *words,
              const OwSandboxPlan *plan,
              GError             **error)
{
  char *text = ow_openshell_policy_render (plan, error);
  g_autoptr (GBytes) bytes = NULL;

  if (text == NULL)
    return FALSE;
  bytes = g_bytes_new_take (text, strlen (text));
  words->policy = g_build_filename (plan->run_dir, POLICY_NAME, NULL);
  return ow_file_write_atomic (words->policy, bytes, 0600, error);
}

static gboolean
read_limits (OwOpenshellWords *words,
             GError          **error)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (OwConfig) config = ow_config_load (path, error);

  if (config == NULL)
    return FALSE;
  words->cpu = g_strdup (ow_config_get_sandbox_cpu (config));
  words->memory = g_strdup (ow_config_get_sandbox_memory (config));
  return TRUE;
}

OwOpenshellWords *
ow_openshell_words_new (const OwSandboxPlan    *plan,
                        const OwOpenshellFacts *facts,
                        GError                **error)
{
  OwOpenshellWords *words = g_new0 (OwOpenshellWords, 1);
  gboolean good = TRUE;

  for (guint i = 0; good && i < plan->folders->len; i++)
    good = ow_folder_check (g_ptr_array_index (plan->folders, i), error);
  words->name = ow_openshell_labels_name (plan->id);
  words->labels = ow_openshell_labels_make (plan->session);
  words->command = ow_openshell_words_command (plan);
  if (good && check_mountable (plan, facts, error) && read_limits (words, error) &&
      write_policy (words, plan, error))
    words->mounts = ow_openshell_words_mounts (plan, facts->gateway->driver, facts->selinux,
                                               error);
  if (words->mounts == NULL)
    {
      ow_openshell_words_free (words);
      return NULL;
    }
  words->spec.name = words->name;
  words->spec.image = facts->image;
  words->spec.policy_file = words->policy;
  words->spec.driver_config = words->mounts;
  words->spec.labels = (const char * const *) words->labels;
  words->spec.environment = (const char * const *) plan->environment;
  words->spec.cpu = words->cpu;
  words->spec.memory = words->memory;
  words->spec.command = (const char * const *) words->command;
  return words;
}
