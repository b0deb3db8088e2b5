/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* One raised wall, made by a provider and owned by OwSandbox. An end by itself is told by
 * "ended"; after stop_finish nothing of it runs, unless there is an error. Main thread. */

#define OW_TYPE_SANDBOX_INSTANCE (ow_sandbox_instance_get_type ())
G_DECLARE_INTERFACE (OwSandboxInstance, ow_sandbox_instance, OW, SANDBOX_INSTANCE, GObject)

/* Signals: "ended" (const char *reason): the wall's main process is gone;
 * "decision" (const char *line): one JSON line of openworker-proxy (docs/proxy.md). */
struct _OwSandboxInstanceInterface {
  GTypeInterface parent_iface;
  /* argv of `attach`, run by OwChannel with pipes on stdin and stdout. */
  const char * const *(*get_attach_argv) (OwSandboxInstance *self);
  GPid     (*get_main_pid) (OwSandboxInstance *self);
  void     (*stop_async)   (OwSandboxInstance *self, GAsyncReadyCallback callback,
                            gpointer user_data);
  gboolean (*stop_finish)  (OwSandboxInstance *self, GAsyncResult *result, GError **error);
};
const char * const *ow_sandbox_instance_get_attach_argv (OwSandboxInstance *self);
GPid     ow_sandbox_instance_get_main_pid (OwSandboxInstance *self);
void     ow_sandbox_instance_stop_async   (OwSandboxInstance *self,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_sandbox_instance_stop_finish  (OwSandboxInstance *self, GAsyncResult *result,
                                           GError **error);
