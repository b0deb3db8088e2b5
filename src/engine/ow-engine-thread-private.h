/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* An engine in a thread of its own, for a face and for the others that join: what the face does
 * in its own main loop delays no session. Commands go in, results and events come out in the order
 * in which they were made; live events are left out while the face is far behind, numbered
 * ones never. Final GObject, implements OwEngine; the thread (main context) that makes it.
 *
 * Signal "running" (guint): how many sessions run that would end with it. */

#define OW_TYPE_ENGINE_THREAD (ow_engine_thread_get_type ())
G_DECLARE_FINAL_TYPE (OwEngineThread, ow_engine_thread, OW, ENGINE_THREAD, GObject)

/* @host: static, "window", "command" or "up". @id names this run. @lock and @socket are
 * taken, and @path (nullable), the socket's name, is removed at the end. */
OwEngineThread *ow_engine_thread_new          (const char           *host,
                                               const char           *id,
                                               int                   lock,
                                               int                   socket,
                                               const char           *path);
/* Completes when the engine is there: an "up" has found its wall by then. */
void            ow_engine_thread_start_async  (OwEngineThread       *self,
                                               GAsyncReadyCallback   callback,
                                               gpointer              user_data);
gboolean        ow_engine_thread_start_finish (OwEngineThread       *self,
                                               GAsyncResult         *result,
                                               GError              **error);
/* Ends it once no session runs any more, parked first where @park. May be called again, with
 * @park, by whoever does not want to wait any longer. */
void            ow_engine_thread_close_async  (OwEngineThread       *self,
                                               gboolean              park,
                                               GAsyncReadyCallback   callback,
                                               gpointer              user_data);
gboolean        ow_engine_thread_close_finish (OwEngineThread       *self,
                                               GAsyncResult         *result,
                                               GError              **error);
