/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Carries bytes, as they are, between this process's stdin and stdout and the socket of the
 * machine's engine (docs/engine-protocol.md). One a program. Main thread. */

/* Connects, within 10 s. FALSE: no engine listens. */
void     ow_bridge_connect_async  (GAsyncReadyCallback   callback,
                                   gpointer              user_data);
gboolean ow_bridge_connect_finish (GAsyncResult         *result,
                                   GError              **error);
/* Completes when both ways have ended: stdin's end is passed on, and what still comes from the
 * engine is waited for. */
void     ow_bridge_run_async      (GAsyncReadyCallback   callback,
                                   gpointer              user_data);
gboolean ow_bridge_run_finish     (GAsyncResult         *result,
                                   GError              **error);
