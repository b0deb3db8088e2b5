/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* The engine at the other end of a stream (docs/engine-protocol.md). What comes from there is
 * data: what is no message of the protocol ends the connection. Final GObject, implements OwEngine;
 * the main context of the thread that makes it.
 *
 * Signal "lost" (const char *reason): the connection is over; commands without an answer end as
 * OW_ERROR_INTERRUPTED right before that. Once, and not after ow_remote_engine_close(). */

#define OW_TYPE_REMOTE_ENGINE (ow_remote_engine_get_type ())
G_DECLARE_FINAL_TYPE (OwRemoteEngine, ow_remote_engine, OW, REMOTE_ENGINE, GObject)

/* @face: "window", "command" or "remote". */
OwRemoteEngine *ow_remote_engine_new         (GIOStream            *stream,
                                              const char           *face);
/* Says hello, within 10 s. OW_ERROR_REFUSED where the two do not speak the same protocol. */
void            ow_remote_engine_open_async  (OwRemoteEngine       *self,
                                              GAsyncReadyCallback   callback,
                                              gpointer              user_data);
gboolean        ow_remote_engine_open_finish (OwRemoteEngine       *self,
                                              GAsyncResult         *result,
                                              GError              **error);
/* The name of that engine's run; NULL before it is open. */
const char     *ow_remote_engine_get_id      (OwRemoteEngine       *self);
gboolean        ow_remote_engine_is_lost     (OwRemoteEngine       *self);
/* A command under an id of the caller's, who may send it again over another connection. @params
 * is stolen. It is finished by ow_engine_command_finish(). */
void            ow_remote_engine_send_async  (OwRemoteEngine       *self,
                                              const char           *id,
                                              const char           *command,
                                              json_t               *params,
                                              GCancellable         *cancellable,
                                              GAsyncReadyCallback   callback,
                                              gpointer              user_data);
void            ow_remote_engine_close       (OwRemoteEngine       *self);
