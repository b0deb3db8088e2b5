/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "config/ow-host.h"
#include "sandbox/ow-attach.h"

/* One raised wall, made by a provider and owned by OwSandbox. An end by itself is told by
 * "ended"; after stop_finish nothing of it runs, unless there is an error. Main thread. */

#define OW_TYPE_SANDBOX_INSTANCE (ow_sandbox_instance_get_type ())
G_DECLARE_INTERFACE (OwSandboxInstance, ow_sandbox_instance, OW, SANDBOX_INSTANCE, GObject)

/* Signals: "ended" (const char *reason): the wall's main process is gone;
 * "decision" (const char *line): one JSON line of openworker-proxy (docs/proxy.md), a decision;
 * "traffic" (const char *line): the same, with what went to a host and came from it. */
struct _OwSandboxInstanceInterface {
  GTypeInterface parent_iface;
  /* Borrowed: how OwChannel reaches the runner. */
  const OwAttach *(*get_attach) (OwSandboxInstance *self);
  GPid     (*get_main_pid) (OwSandboxInstance *self);
  void     (*stop_async)   (OwSandboxInstance *self, GAsyncReadyCallback callback,
                            gpointer user_data);
  gboolean (*stop_finish)  (OwSandboxInstance *self, GAsyncResult *result, GError **error);
  /* Optional: what must hold besides before anyone may use it, asked for while the channel
   * comes up. */
  void     (*verify_async) (OwSandboxInstance *self, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data);
  gboolean (*verify_finish) (OwSandboxInstance *self, GAsyncResult *result, GError **error);
  /* Optional: why the channel or a proof failed with @failure; always gives an error, which is
   * @failure where there is no more to be said. */
  void     (*explain_async) (OwSandboxInstance *self, const GError *failure,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data);
  GError  *(*explain_finish) (OwSandboxInstance *self, GAsyncResult *result);
  /* Optional: why the runner was not reached, from what the relay said of the attempt to reach it
   * again, as a clause; NULL when that tells nothing. (transfer full) @over: it never will be. */
  char    *(*judge_complaint) (OwSandboxInstance *self, const char *complaint, gboolean *over);
  /* Optional: adds a host to what the inside may reach while it runs. can_allow where not every
   * instance has it. */
  gboolean (*can_allow)    (OwSandboxInstance *self);
  void     (*allow_async)  (OwSandboxInstance *self, const OwHost *host,
                            GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data);
  gboolean (*allow_finish) (OwSandboxInstance *self, GAsyncResult *result, GError **error);
};
const OwAttach *ow_sandbox_instance_get_attach (OwSandboxInstance *self);
GPid     ow_sandbox_instance_get_main_pid (OwSandboxInstance *self);
void     ow_sandbox_instance_stop_async   (OwSandboxInstance *self,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_sandbox_instance_stop_finish  (OwSandboxInstance *self, GAsyncResult *result,
                                           GError **error);
/* TRUE at once where there is nothing to verify. */
void     ow_sandbox_instance_verify_async (OwSandboxInstance *self, GCancellable *cancellable,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_sandbox_instance_verify_finish (OwSandboxInstance *self, GAsyncResult *result,
                                            GError **error);
/* (transfer full) the result. */
void     ow_sandbox_instance_explain_async (OwSandboxInstance *self, const GError *failure,
                                            GCancellable *cancellable,
                                            GAsyncReadyCallback callback, gpointer user_data);
GError  *ow_sandbox_instance_explain_finish (OwSandboxInstance *self, GAsyncResult *result);
/* (transfer full) (nullable) */
char    *ow_sandbox_instance_judge_complaint (OwSandboxInstance *self, const char *complaint,
                                              gboolean *over);
gboolean ow_sandbox_instance_can_allow    (OwSandboxInstance *self);
/* Only where it can; else OW_ERROR_REFUSED. It is in force when this ends. */
void     ow_sandbox_instance_allow_async  (OwSandboxInstance *self, const OwHost *host,
                                           GCancellable *cancellable,
                                           GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_sandbox_instance_allow_finish (OwSandboxInstance *self, GAsyncResult *result,
                                           GError **error);
