/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-plan.h"

#include "config/ow-config-credentials.h"
#include "credentials/ow-credentials.h"
#include "ow-wall-view-private.h"

static void
on_taken (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  OwCredentials *taken = ow_credentials_take_finish (result, &error);

  if (taken != NULL)
    g_task_return_pointer (task, taken, (GDestroyNotify) ow_credentials_free);
  else
    g_task_return_error (task, error);
}

void
ow_sandbox_plan_take_credentials_async (OwSandboxPlan       *plan,
                                        GPtrArray           *entries,
                                        GCancellable        *cancellable,
                                        GAsyncReadyCallback  callback,
                                        gpointer             user_data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);
  OwCredentialsRequest *request = ow_credentials_request_new (g_get_home_dir (), plan->home,
                                                              OW_WALL_RUNNER);

  g_task_set_source_tag (task, ow_sandbox_plan_take_credentials_async);
  g_task_set_check_cancellable (task, FALSE);
  request->uid = plan->uid;
  request->gid = plan->gid;
  for (guint i = 0; i < entries->len; i++)
    g_ptr_array_add (request->entries, ow_config_credential_copy (g_ptr_array_index (entries, i)));
  ow_credentials_take_async (request, cancellable, on_taken, task);
}

static char *
join (GPtrArray *sentences)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < sentences->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "",
                            (const char *) g_ptr_array_index (sentences, i));
  return g_string_free (text, sentences->len == 0);
}

gboolean
ow_sandbox_plan_take_credentials_finish (OwSandboxPlan *plan,
                                         GAsyncResult  *result,
                                         char         **notice,
                                         GError       **error)
{
  g_autoptr (OwCredentials) taken = g_task_propagate_pointer (G_TASK (result), error);

  if (taken == NULL)
    return FALSE;
  for (guint i = 0; i < taken->hosts->len; i++)
    ow_host_add_to (plan->hosts, g_ptr_array_index (taken->hosts, i));
  g_clear_pointer (&plan->credentials, g_ptr_array_unref);
  plan->credentials = g_steal_pointer (&taken->shared);
  taken->shared = g_ptr_array_new ();
  g_ptr_array_add (taken->environment, NULL);
  g_strfreev (plan->environment);
  plan->environment = g_strdupv ((char **) taken->environment->pdata);
  g_free (plan->wrappers);
  plan->wrappers = g_steal_pointer (&taken->bin);
  *notice = join (taken->sentences);
  return TRUE;
}
