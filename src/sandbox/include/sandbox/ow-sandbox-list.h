/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "wire/ow-json.h"

/* The sandboxes of this account on this machine, as a person is shown them: what the registry
 * holds, and what OpenShell's gateway tells of those that it has. What the gateway tells is data.
 * The thread of the engine. */

/* New reference: {"sandboxes": [{"id"?, "name"?, "session", "provider", "level"?, "state" ("up",
 * "starting", "left over", "unknown"), "since"?, "pid"?, "image"?, "phase"?, "policy_version"?,
 * "ours"}], "gateway"?}. "gateway" is why it could not be asked. @all: also what it has of other
 * accounts and machines, where "ours" is false and the state "unknown"; nothing here ever touches
 * those. */
void    ow_sandbox_list_async       (gboolean all, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
json_t *ow_sandbox_list_finish      (GAsyncResult *result, GError **error);
/* Takes away what killed runs left. New reference: {"removed": […], "kept": [… with "why"]}, each
 * as above. */
void    ow_sandbox_list_reap_async  (GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
json_t *ow_sandbox_list_reap_finish (GAsyncResult *result, GError **error);
