/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "base/ow-random.h"
#include "base/ow-state.h"
#include "base/ow-text.h"
#include "ow-mount-table-private.h"
#include "ow-reaper-private.h"
#include "sandbox/ow-programs.h"
#include "sandbox/ow-registry.h"
#include "sandbox/ow-undo-folder.h"

/* A unix socket's path holds 107 bytes. */
#define MAX_SOCKET_PATH 107
#define ID_BYTES        6

/* Root becomes the folders' owner inside, with that account's own group: a folder's
 * group may be one that its owner is not in. Everybody else stays who they are. */
static void
choose_account (OwSandboxPlan *plan)
{
  const OwFolder *first = g_ptr_array_index (plan->folders, 0);
  g_autofree char *buffer = g_malloc (16384);
  struct passwd *found = NULL;
  struct passwd entry;

  if (geteuid () != 0)
    {
      plan->uid = geteuid ();
      plan->gid = getegid ();
      return;
    }
  plan->uid = first->uid;
  plan->gid = first->gid;
  if (getpwuid_r (plan->uid, &entry, buffer, 16384, &found) == 0 && found != NULL)
    plan->gid = found->pw_gid;
}

static gboolean
make_folder (const OwSandboxPlan *plan,
             const char          *parent,
             const char          *path,
             GError             **error)
{
  if (!ow_paths_ensure (parent, error))
    return FALSE;
  if (mkdir (path, 0700) == 0 &&
      (geteuid () != 0 || lchown (path, plan->uid, plan->gid) == 0))
    return TRUE;
  ow_error_setf (error, OW_ERROR_FAILED, "Check the free space and the rights there.",
                 "The folder %s cannot be made: %s", path, g_strerror (errno));
  return FALSE;
}

static gboolean
check_socket_path (const OwSandboxPlan *plan,
                   GError             **error)
{
  if (strlen (plan->run_dir) + strlen ("/runner.sock") <= MAX_SOCKET_PATH)
    return TRUE;
  ow_error_setf (error, OW_ERROR_FAILED, "Set XDG_RUNTIME_DIR to a folder with a shorter path.",
                 "The session cannot be started: the path of its socket below %s is longer than "
                 "107 bytes", plan->run_dir);
  return FALSE;
}

static gboolean
make_folders (OwSandboxPlan *plan,
              GError       **error)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();
  OwRegistryEntry entry = { .id = plan->id, .session = plan->session, .provider = (char *) "" };

  plan->home = g_build_filename (homes, plan->id, NULL);
  plan->run_dir = g_build_filename (runtime, plan->id, NULL);
  if (!check_socket_path (plan, error))
    return FALSE;

  entry.home = plan->home;
  entry.run_dir = plan->run_dir;
  if (!ow_registry_put (&entry, error))
    return FALSE;
  ow_state_reach ("registry-written");
  if (!make_folder (plan, homes, plan->home, error) ||
      !make_folder (plan, runtime, plan->run_dir, error))
    return FALSE;
  ow_state_reach ("home-made");
  if (*plan->session == '\0')
    return TRUE;
  plan->undo = ow_undo_folder_make (plan->session, plan->uid, plan->gid, error);
  return plan->undo != NULL;
}

OwSandboxPlan *
ow_sandbox_plan_new (const char *session,
                     GPtrArray  *folders,
                     GPtrArray  *hosts,
                     GError    **error)
{
  g_autoptr (OwSandboxPlan) plan = g_new0 (OwSandboxPlan, 1);

  plan->session = g_strdup (session);
  plan->folders = folders;
  plan->hosts = hosts;
  plan->runner = ow_paths_get_libexec ("openworker-runner");
  plan->proxy = ow_paths_get_libexec ("openworker-proxy");
  if (!ow_folder_check_set (folders, error))
    return NULL;
  choose_account (plan);
  plan->id = ow_random_hex (ID_BYTES, error);
  if (plan->id == NULL || !make_folders (plan, error))
    return NULL;
  return g_steal_pointer (&plan);
}

/* A folder of the session keeps its own mode. */
static gboolean
is_in_session (const OwSandboxPlan *plan,
               const char          *path)
{
  for (guint i = 0; i < plan->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->folders, i);

      if (ow_path_contains (folder->path, path) || ow_path_contains (path, folder->path))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_shared (const OwSandboxPlan *plan,
           const char          *path)
{
  for (guint i = 0; i < plan->programs->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (plan->programs, i);

      if (ow_path_contains (folder->path, path))
        return TRUE;
    }
  return FALSE;
}

static void
take_folders (OwSandboxPlan *plan,
              OwPrograms    *programs)
{
  while (programs->folders->len > 0)
    {
      OwFolder *folder = g_ptr_array_steal_index (programs->folders, 0);

      if (is_shared (plan, folder->path))
        ow_folder_free (folder);
      else
        g_ptr_array_add (plan->programs, folder);
    }
  for (guint i = 0; i < programs->bins->len; i++)
    g_ptr_array_add (plan->bins, g_strdup (g_ptr_array_index (programs->bins, i)));
}

char *
ow_sandbox_plan_take_programs (OwSandboxPlan *plan,
                               GPtrArray     *programs)
{
  g_autoptr (GString) notice = g_string_new (NULL);

  plan->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  plan->bins = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < programs->len; i++)
    {
      OwPrograms *one = g_ptr_array_index (programs, i);
      const char *why = one->why;
      g_autofree char *path = ow_text_visible (one->path);

      for (guint j = 0; why == NULL && j < one->folders->len; j++)
        if (is_in_session (plan, ((const OwFolder *) one->folders->pdata[j])->path))
          why = "it lies in, or holds, a folder of the session";
      if (why == NULL)
        take_folders (plan, one);
      else
        g_string_append_printf (notice, "%sThe programs in %s are not shared with this session: "
                                "%s.", notice->len > 0 ? " " : "", path, why);
    }
  return notice->len > 0 ? g_strdup (notice->str) : NULL;
}

/* What cannot be removed stays in the registry, for a later start to try again. */
static void
remove_made (OwSandboxPlan *plan)
{
  g_autoptr (GError) error = NULL;

  if (plan->id == NULL || plan->home == NULL || plan->run_dir == NULL)
    return;
  if (plan->abandoned)
    {
      ow_reaper_leave (plan->id);
      return;
    }
  if (ow_file_remove_tree (plan->run_dir, &error) && ow_file_remove_tree (plan->home, &error))
    ow_registry_remove (plan->id);
  else
    g_debug ("Sandbox %s: %s", plan->id, error->message);
}

void
ow_sandbox_plan_free (OwSandboxPlan *plan)
{
  if (plan == NULL)
    return;
  remove_made (plan);
  g_clear_pointer (&plan->folders, g_ptr_array_unref);
  g_clear_pointer (&plan->hosts, g_ptr_array_unref);
  g_free (plan->id);
  g_free (plan->session);
  g_free (plan->home);
  g_free (plan->undo);
  g_clear_pointer (&plan->programs, g_ptr_array_unref);
  g_clear_pointer (&plan->bins, g_ptr_array_unref);
  g_clear_pointer (&plan->credentials, g_ptr_array_unref);
  g_strfreev (plan->environment);
  g_free (plan->wrappers);
  g_free (plan->run_dir);
  g_free (plan->runner);
  g_free (plan->proxy);
  g_free (plan->notice);
  g_free (plan);
}
