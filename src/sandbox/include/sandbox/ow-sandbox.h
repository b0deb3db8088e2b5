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
/* Raises the wall again around other folders (moved in, checked as a set), between two calls: at
 * once where none runs, else when those that run have ended; calls that come meanwhile wait for
 * it. The private home and all that ran inside go with the old wall. An error ends the sandbox
 * as one of its start does; it is never left with the old folders. */
void       ow_sandbox_change_async  (OwSandbox *self, GPtrArray *folders,
                                     GAsyncReadyCallback callback, gpointer user_data);
gboolean   ow_sandbox_change_finish (OwSandbox *self, GAsyncResult *result, GError **error);
/* It is up, and no wall of it is being raised or taken down. */
gboolean   ow_sandbox_can_change   (OwSandbox *self);
/* A call runs. */
gboolean   ow_sandbox_is_busy      (OwSandbox *self);
/* Until ow_sandbox_give_back() only the call with this id is run, and others wait. FALSE: a call
 * runs, or another one has it for itself. */
gboolean   ow_sandbox_take_alone   (OwSandbox *self, const char *call_id);
void       ow_sandbox_give_back    (OwSandbox *self);
OwLevel    ow_sandbox_get_level    (OwSandbox *self);
/* Borrowed: the folders (char) with programs of the person's that are shared; NULL: none. */
GPtrArray *ow_sandbox_get_bins     (OwSandbox *self);
/* Before it is started: git's settings and what the settings of the machine enable of the person's
 * logins is copied into each private home that it has (REQ-S01 to S03). */
void       ow_sandbox_share_credentials (OwSandbox *self);
/* Borrowed: names (char) of the logins that were copied; NULL: none. */
GPtrArray *ow_sandbox_get_credentials   (OwSandbox *self);
/* Borrowed: what the wall was raised with (OwHost); NULL before. */
GPtrArray *ow_sandbox_get_hosts    (OwSandbox *self);
/* Borrowed: the id of the sandbox; NULL before there is one. */
const char *ow_sandbox_get_id      (OwSandbox *self);
/* Whether hosts can be added while it is up. */
gboolean   ow_sandbox_can_allow    (OwSandbox *self);
/* Adds @host to what the inside may reach; it is in force when this ends, and in each wall that
 * this sandbox has later. */
void       ow_sandbox_allow_async  (OwSandbox *self, const OwHost *host,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean   ow_sandbox_allow_finish (OwSandbox *self, GAsyncResult *result, GError **error);
/* What the person has to be told about this sandbox once it is up; NULL: nothing.
 * (In direct: nothing hinders a command from writing into a read-only folder.) */
const char *ow_sandbox_get_notice  (OwSandbox *self);
