/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#define WHAT_ALLOW  "The host was not allowed in the sandbox"
#define WHAT_REMOVE "The host was not taken away from the sandbox"
#define HOST_MAX    253

/* Only what cannot be read as another part of "HOST:PORT:ACCESS". What may be allowed at all is
 * decided elsewhere. */
static gboolean
is_host (const char *host)
{
  gsize length = strlen (host);

  if (length == 0 || length > HOST_MAX || host[0] == '-')
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isalnum (host[i]) && strchr ("-._*", host[i]) == NULL)
      return FALSE;
  return TRUE;
}

static void
on_allow (GTask                   *task,
          const OwOpenshellAnswer *answer)
{
  if (ow_openshell_call_failed (answer))
    g_task_return_error (task, ow_openshell_call_error_of (
                           GPOINTER_TO_INT (g_object_get_data (G_OBJECT (task), "remove"))
                           ? WHAT_REMOVE : WHAT_ALLOW, answer));
  else
    g_task_return_boolean (task, TRUE);
}

void
ow_openshell_allow_async (OwOpenshell         *self,
                          const char          *name,
                          const char          *host,
                          guint16              port,
                          gboolean             remove,
                          GCancellable        *cancellable,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_autofree char *endpoint = g_strdup_printf ("%s:%u%s", host, port, remove ? "" : ":full");
  /* Without --binary the rule would match no program at all. */
  const char *adding[] = { "policy", "update", name, "--add-endpoint", endpoint, "--binary", "/**",
                           "--wait", NULL };
  const char *removing[] = { "policy", "update", name, "--remove-endpoint", endpoint, "--wait",
                             NULL };
  OwOpenshellCall call = { .arguments = remove ? removing : adding, .answer = on_allow,
                           .what = remove ? WHAT_REMOVE : WHAT_ALLOW,
                           .deadline_ms = OW_OPENSHELL_ALLOW_MS };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_allow_async, cancellable, callback,
                            user_data);

  if (!ow_openshell_call_check_name (task, call.what, name))
    return;
  if (!is_host (host) || port == 0)
    {
      g_task_return_error (task, ow_openshell_call_error (call.what, OW_OPENSHELL_FAULT_INVALID,
                                                          NULL));
      return;
    }
  g_object_set_data (G_OBJECT (task), "remove", GINT_TO_POINTER (remove));
  ow_openshell_call_run (g_steal_pointer (&task), &call);
}

gboolean
ow_openshell_allow_finish (OwOpenshell   *self,
                           GAsyncResult  *result,
                           GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
