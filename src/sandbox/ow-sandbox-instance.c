/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-instance.h"

#include "base/ow-error.h"

G_DEFINE_INTERFACE (OwSandboxInstance, ow_sandbox_instance, G_TYPE_OBJECT)

static void
ow_sandbox_instance_default_init (OwSandboxInstanceInterface *iface)
{
  g_signal_new ("ended", OW_TYPE_SANDBOX_INSTANCE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                G_TYPE_NONE, 1, G_TYPE_STRING);
  g_signal_new ("decision", OW_TYPE_SANDBOX_INSTANCE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                G_TYPE_NONE, 1, G_TYPE_STRING);
  g_signal_new ("traffic", OW_TYPE_SANDBOX_INSTANCE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                G_TYPE_NONE, 1, G_TYPE_STRING);
}

const OwAttach *
ow_sandbox_instance_get_attach (OwSandboxInstance *self)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), NULL);

  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->get_attach (self);
}

GPid
ow_sandbox_instance_get_main_pid (OwSandboxInstance *self)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), 0);

  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->get_main_pid (self);
}

void
ow_sandbox_instance_stop_async (OwSandboxInstance  *self,
                                GAsyncReadyCallback callback,
                                gpointer            user_data)
{
  g_return_if_fail (OW_IS_SANDBOX_INSTANCE (self));

  OW_SANDBOX_INSTANCE_GET_IFACE (self)->stop_async (self, callback, user_data);
}

gboolean
ow_sandbox_instance_stop_finish (OwSandboxInstance *self,
                                 GAsyncResult      *result,
                                 GError           **error)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), FALSE);

  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->stop_finish (self, result, error);
}

void
ow_sandbox_instance_verify_async (OwSandboxInstance  *self,
                                  GCancellable       *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;

  g_return_if_fail (OW_IS_SANDBOX_INSTANCE (self));

  if (OW_SANDBOX_INSTANCE_GET_IFACE (self)->verify_async != NULL)
    {
      OW_SANDBOX_INSTANCE_GET_IFACE (self)->verify_async (self, cancellable, callback, user_data);
      return;
    }
  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_sandbox_instance_verify_async);
  g_task_return_boolean (task, TRUE);
}

gboolean
ow_sandbox_instance_verify_finish (OwSandboxInstance *self,
                                   GAsyncResult      *result,
                                   GError           **error)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), FALSE);

  if (g_async_result_is_tagged (result, ow_sandbox_instance_verify_async))
    return g_task_propagate_boolean (G_TASK (result), error);
  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->verify_finish (self, result, error);
}

void
ow_sandbox_instance_explain_async (OwSandboxInstance  *self,
                                   const GError       *failure,
                                   GCancellable       *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer            user_data)
{
  g_return_if_fail (OW_IS_SANDBOX_INSTANCE (self));

  if (OW_SANDBOX_INSTANCE_GET_IFACE (self)->explain_async != NULL)
    OW_SANDBOX_INSTANCE_GET_IFACE (self)->explain_async (self, failure, cancellable, callback,
                                                         user_data);
  else
    g_task_report_error (self, callback, user_data, ow_sandbox_instance_explain_async,
                         g_error_copy (failure));
}

GError *
ow_sandbox_instance_explain_finish (OwSandboxInstance *self,
                                    GAsyncResult      *result)
{
  GError *error = NULL;

  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), NULL);

  if (!g_async_result_is_tagged (result, ow_sandbox_instance_explain_async))
    return OW_SANDBOX_INSTANCE_GET_IFACE (self)->explain_finish (self, result);
  g_task_propagate_boolean (G_TASK (result), &error);
  return error;
}

char *
ow_sandbox_instance_judge_complaint (OwSandboxInstance *self,
                                     const char        *complaint,
                                     gboolean          *over)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), NULL);

  *over = FALSE;

  if (OW_SANDBOX_INSTANCE_GET_IFACE (self)->judge_complaint == NULL || complaint == NULL)
    return NULL;
  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->judge_complaint (self, complaint, over);
}

gboolean
ow_sandbox_instance_can_allow (OwSandboxInstance *self)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), FALSE);

  if (OW_SANDBOX_INSTANCE_GET_IFACE (self)->can_allow != NULL)
    return OW_SANDBOX_INSTANCE_GET_IFACE (self)->can_allow (self);
  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->allow_async != NULL;
}

void
ow_sandbox_instance_allow_async (OwSandboxInstance  *self,
                                 const OwHost       *host,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  GError *error = NULL;

  g_return_if_fail (OW_IS_SANDBOX_INSTANCE (self));

  if (ow_sandbox_instance_can_allow (self))
    {
      OW_SANDBOX_INSTANCE_GET_IFACE (self)->allow_async (self, host, cancellable, callback,
                                                         user_data);
      return;
    }
  ow_error_set (&error, OW_ERROR_REFUSED, "The host was not allowed",
                "the list of a running sandbox of this kind cannot be changed",
                "Add it to sandbox_extra_hosts in config.toml and start the session again");
  g_task_report_error (self, callback, user_data, ow_sandbox_instance_allow_async, error);
}

gboolean
ow_sandbox_instance_allow_finish (OwSandboxInstance *self,
                                  GAsyncResult      *result,
                                  GError           **error)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), FALSE);

  if (g_async_result_is_tagged (result, ow_sandbox_instance_allow_async))
    return g_task_propagate_boolean (G_TASK (result), error);
  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->allow_finish (self, result, error);
}
