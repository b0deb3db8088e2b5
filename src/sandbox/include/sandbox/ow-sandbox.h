/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-provider.h"
#include "tools/ow-tool-host.h"

/* One session's wall with the runner behind it: plan, provider's instance, channel,
 * and proof of every mount before anyone may use it. Implements OwToolHost. Starting
 * reaps leftovers of killed runs first. Disposing it ends everything.
 *
 * Final GObject, the thread of the engine. Signals: "lost" (const char *reason), "decision"
 * (const char *line, one JSON line of the proxy, checked). */

#define OW_TYPE_SANDBOX (ow_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (OwSandbox, ow_sandbox, OW, SANDBOX, GObject)

/* @folders: GPtrArray of OwFolder, moved in. @hosts: GPtrArray of OwHost, moved in. */
OwSandbox *ow_sandbox_new          (OwSandboxProvider *provider, const char *session,
                                    GPtrArray *folders, GPtrArray *hosts);
void       ow_sandbox_start_async  (OwSandbox *self, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean   ow_sandbox_start_finish (OwSandbox *self, GAsyncResult *result, GError **error);
void       ow_sandbox_stop_async   (OwSandbox *self, GAsyncReadyCallback callback,
                                    gpointer user_data);
gboolean   ow_sandbox_stop_finish  (OwSandbox *self, GAsyncResult *result, GError **error);
OwLevel    ow_sandbox_get_level    (OwSandbox *self);
/* What the person has to be told about this sandbox once it is up; NULL: nothing.
 * (In direct: nothing hinders a command from writing into a read-only folder.) */
const char *ow_sandbox_get_notice  (OwSandbox *self);
