/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-sandbox-provider.h"

#include "base/ow-error.h"
#include "ow-bubblewrap-provider-private.h"
#include "ow-direct-provider-private.h"
#include "ow-openshell-provider-private.h"

G_DEFINE_INTERFACE (OwSandboxProvider, ow_sandbox_provider, G_TYPE_OBJECT)

static void
ow_sandbox_provider_default_init (OwSandboxProviderInterface *iface)
{
}

OwLevel
ow_sandbox_provider_get_level (OwSandboxProvider *self)
{
  g_return_val_if_fail (OW_IS_SANDBOX_PROVIDER (self), OW_LEVEL_DIRECT);

  return OW_SANDBOX_PROVIDER_GET_IFACE (self)->get_level (self);
}

void
ow_sandbox_provider_check_async (OwSandboxProvider  *self,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  g_return_if_fail (OW_IS_SANDBOX_PROVIDER (self));

  OW_SANDBOX_PROVIDER_GET_IFACE (self)->check_async (self, cancellable, callback, user_data);
}

gboolean
ow_sandbox_provider_check_finish (OwSandboxProvider *self,
                                  GAsyncResult      *result,
                                  GError           **error)
{
  g_return_val_if_fail (OW_IS_SANDBOX_PROVIDER (self), FALSE);

  return OW_SANDBOX_PROVIDER_GET_IFACE (self)->check_finish (self, result, error);
}

void
ow_sandbox_provider_start_async (OwSandboxProvider  *self,
                                 OwSandboxPlan      *plan,
                                 GCancellable       *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer            user_data)
{
  g_return_if_fail (OW_IS_SANDBOX_PROVIDER (self));
  g_return_if_fail (plan != NULL);

  OW_SANDBOX_PROVIDER_GET_IFACE (self)->start_async (self, plan, cancellable, callback,
                                                     user_data);
}

OwSandboxInstance *
ow_sandbox_provider_start_finish (OwSandboxProvider *self,
                                  GAsyncResult      *result,
                                  GError           **error)
{
  g_return_val_if_fail (OW_IS_SANDBOX_PROVIDER (self), NULL);

  return OW_SANDBOX_PROVIDER_GET_IFACE (self)->start_finish (self, result, error);
}

OwSandboxProvider *
ow_sandbox_provider_for_kind (OwProviderKind kind,
                              GError       **error)
{
  switch (kind)
    {
    case OW_PROVIDER_BUBBLEWRAP:
      return OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new ());
    case OW_PROVIDER_DIRECT:
      return OW_SANDBOX_PROVIDER (ow_direct_provider_new ());
    case OW_PROVIDER_OPENSHELL:
      return OW_SANDBOX_PROVIDER (ow_openshell_provider_new ());
    case OW_PROVIDER_UNSET:
    default:
      ow_error_set (error, OW_ERROR_REFUSED, "No session can be started",
                    "no sandbox was chosen for this machine",
                    "Give --provider bubblewrap, or set sandbox_provider in config.toml.");
      return NULL;
    }
}
