/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event.h"
#include "sandbox/ow-sandbox-instance.h"
#include "sandbox/ow-sandbox-plan.h"

/* Raises walls. OwOpenshellProvider, OwBubblewrapProvider and OwDirectProvider implement it. The
 * thread of the engine: children that die with their parent are tied to the spawning thread. */

#define OW_TYPE_SANDBOX_PROVIDER (ow_sandbox_provider_get_type ())
G_DECLARE_INTERFACE (OwSandboxProvider, ow_sandbox_provider, OW, SANDBOX_PROVIDER, GObject)

struct _OwSandboxProviderInterface {
  GTypeInterface parent_iface;
  OwLevel  (*get_level)    (OwSandboxProvider *self);
  /* Can a wall be raised on this machine now? Tries it for real (user namespaces,
   * Landlock, programs there). The error says why not and what to do:
   * "Sessions on this machine are refused: …". */
  void     (*check_async)  (OwSandboxProvider *self, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data);
  gboolean (*check_finish) (OwSandboxProvider *self, GAsyncResult *result, GError **error);
  /* Raises one wall and starts `serve` in it. @plan outlives the instance. */
  void     (*start_async)  (OwSandboxProvider *self, OwSandboxPlan *plan,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data);
  OwSandboxInstance *(*start_finish) (OwSandboxProvider *self, GAsyncResult *result,
                                      GError **error);
};
OwLevel  ow_sandbox_provider_get_level    (OwSandboxProvider *self);
void     ow_sandbox_provider_check_async  (OwSandboxProvider *self, GCancellable *cancellable,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_sandbox_provider_check_finish (OwSandboxProvider *self, GAsyncResult *result,
                                           GError **error);
void     ow_sandbox_provider_start_async  (OwSandboxProvider *self, OwSandboxPlan *plan,
                                           GCancellable *cancellable,
                                           GAsyncReadyCallback callback, gpointer user_data);
OwSandboxInstance *ow_sandbox_provider_start_finish (OwSandboxProvider *self,
                                                     GAsyncResult *result, GError **error);

/* The provider for @kind; UNSET is OW_ERROR_REFUSED, with the way to choose one. (transfer full) */
OwSandboxProvider *ow_sandbox_provider_for_kind (OwProviderKind kind, GError **error);
