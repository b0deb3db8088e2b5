/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-instance.h"

G_DEFINE_INTERFACE (OwSandboxInstance, ow_sandbox_instance, G_TYPE_OBJECT)

static void
ow_sandbox_instance_default_init (OwSandboxInstanceInterface *iface)
{
  g_signal_new ("ended", OW_TYPE_SANDBOX_INSTANCE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                G_TYPE_NONE, 1, G_TYPE_STRING);
  g_signal_new ("decision", OW_TYPE_SANDBOX_INSTANCE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                G_TYPE_NONE, 1, G_TYPE_STRING);
}

const char * const *
ow_sandbox_instance_get_attach_argv (OwSandboxInstance *self)
{
  g_return_val_if_fail (OW_IS_SANDBOX_INSTANCE (self), NULL);

  return OW_SANDBOX_INSTANCE_GET_IFACE (self)->get_attach_argv (self);
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
