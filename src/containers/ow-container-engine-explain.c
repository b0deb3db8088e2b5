/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-container-engine-private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-program.h"

typedef struct {
  char  *name;     /* (owned) "Docker" or "Podman" */
  char  *socket;   /* (owned) (nullable) */
  char  *trouble;  /* (owned) */
  gid_t  group;    /* of the socket */
} Explain;

static void
explain_free (gpointer data)
{
  Explain *explain = data;

  g_free (explain->name);
  g_free (explain->socket);
  g_free (explain->trouble);
  g_free (explain);
}

static gboolean
says (const char *trouble,
      const char *words)
{
  g_autofree char *lower = g_ascii_strdown (trouble, -1);

  return strstr (lower, words) != NULL;
}

static gboolean
is_denied (const Explain *explain)
{
  /* As root nothing is denied here, but the command says so of another machine's socket. */
  return says (explain->trouble, "permission denied") ||
         (explain->socket != NULL && access (explain->socket, R_OK | W_OK) != 0 &&
          errno == EACCES);
}

static GError *
denied (const Explain *explain,
        const char    *group,
        gboolean       pending)
{
  GError *error = NULL;
  g_autofree char *next = NULL;

  if (pending)
    {
      ow_error_setf (&error, OW_ERROR_REFUSED, "Log out and in again",
                     "%s runs, but this login may not use it yet: the account is in the group %s, "
                     "which counts from the next login on", explain->name, group);
      return error;
    }
  next = group != NULL
    ? g_strdup_printf ("Run `sudo usermod -aG %s $USER`, which lets the account do on this machine "
                       "what root can, then log out and in again; or use Podman", group)
    : g_strdup ("Give the account access to its socket, or use Podman");
  ow_error_setf (&error, OW_ERROR_REFUSED, next, "%s runs, but this account may not use it%s%s",
                 explain->name, explain->socket != NULL ? ": " : "",
                 explain->socket != NULL ? explain->socket : "");
  return error;
}

static gboolean
is_in_login (gid_t group)
{
  int count = getgroups (0, NULL);
  g_autofree gid_t *groups = g_new0 (gid_t, MAX (count, 1));

  if (getegid () == group)
    return TRUE;
  count = getgroups (count, groups);
  for (int i = 0; i < count; i++)
    if (groups[i] == group)
      return TRUE;
  return FALSE;
}

/* "name:x:gid:member,member" */
static void
on_group (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Explain *explain = g_task_get_task_data (task);
  GError *error = NULL;
  g_autoptr (OwContainerSaid) said = ow_container_engine_ask_finish (result, &error);
  g_auto (GStrv) fields = NULL;
  gboolean member = FALSE;

  if (g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED))
    {
      g_task_return_error (task, error);
      return;
    }
  g_clear_error (&error);
  fields = g_strsplit (said != NULL ? g_strchomp (said->output) : "", ":", -1);
  if (g_strv_length (fields) >= 4)
    {
      g_auto (GStrv) members = g_strsplit (fields[3], ",", -1);

      member = g_strv_contains ((const char * const *) members, g_get_user_name ());
    }
  g_task_return_error (task, denied (explain, g_strv_length (fields) >= 4 ? fields[0] : NULL,
                                     member && !is_in_login (explain->group)));
}

static GError *
not_running (const Explain *explain)
{
  GError *error = NULL;
  gboolean docker = strcmp (explain->name, "Docker") == 0;

  ow_error_setf (&error, OW_ERROR_REFUSED,
                 docker ? "Start it, for example with `sudo systemctl start docker`"
                        : "Look at it with `podman info`",
                 "%s is installed but does not answer%s%s", explain->name,
                 *explain->trouble != '\0' ? ": " : "", explain->trouble);
  return error;
}

void
ow_container_engine_explain_async (const char          *program,
                                   const char          *socket,
                                   const char          *trouble,
                                   GCancellable        *cancellable,
                                   GAsyncReadyCallback  callback,
                                   gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_autofree char *command = g_path_get_basename (program);
  g_autofree char *getent = ow_program_find ("getent");
  Explain *explain = g_new0 (Explain, 1);
  struct stat info;

  g_task_set_source_tag (task, ow_container_engine_explain_async);
  g_task_set_check_cancellable (task, FALSE);
  explain->name = g_strdup (strcmp (command, "podman") == 0 ? "Podman" : "Docker");
  explain->socket = g_strdup (socket);
  explain->trouble = g_strdup (trouble);
  g_task_set_task_data (task, explain, explain_free);

  if (!is_denied (explain))
    {
      g_task_return_error (task, not_running (explain));
    }
  else if (socket == NULL || getent == NULL || stat (socket, &info) != 0)
    {
      g_task_return_error (task, denied (explain, NULL, FALSE));
    }
  else
    {
      g_autofree char *number = g_strdup_printf ("%u", (guint) info.st_gid);
      const char *arguments[] = { "group", number, NULL };

      explain->group = info.st_gid;
      ow_container_engine_ask_async (getent, arguments, NULL, cancellable, on_group,
                                     g_steal_pointer (&task));
    }
}

GError *
ow_container_engine_explain_finish (GAsyncResult *result)
{
  GError *error = NULL;

  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  g_task_propagate_boolean (G_TASK (result), &error);
  return error;
}
