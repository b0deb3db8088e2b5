/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Takes away what killed runs left, also what only the gateway of OpenShell can end: what
 * ow_registry_reap() does, and every sandbox there of an entry whose owner is gone. With
 * @orphans also sandboxes that carry our owner label and have no entry at all. One whose entry
 * is live or just being made, another instance's or somebody else's is never touched.
 *
 * What cannot be ended now (the gateway is down) stays, with its entry and its folders, for the
 * next time, and is counted and told. The thread of the engine. */

/* Whether something waits for the gateway. Looks at the registry only. */
gboolean ow_reaper_has_work   (void);
void     ow_reaper_run_async  (gboolean orphans, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data);
/* @reaped and @kept (nullable) are set in either case. FALSE when something was kept. */
gboolean ow_reaper_run_finish (GAsyncResult *result, guint *reaped, guint *kept, GError **error);
