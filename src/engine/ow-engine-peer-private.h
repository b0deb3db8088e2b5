/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "ow-engine-once-private.h"
#include "ow-local-engine-private.h"

/* One client of the engine: what it says is data, and nothing it does or leaves undone costs
 * anybody else more than what stands below. Final GObject, the engine's thread.
 *
 * Signal "gone": its connection is over; once. */

#define OW_TYPE_ENGINE_PEER (ow_engine_peer_get_type ())
G_DECLARE_FINAL_TYPE (OwEnginePeer, ow_engine_peer, OW, ENGINE_PEER, GObject)

/* Where live events are left out, and where it is given up. */
#define OW_ENGINE_PEER_SLOW_BYTES (1024u * 1024u)
#define OW_ENGINE_PEER_MAX_BYTES  (32u * 1024u * 1024u)

/* @once and @id (the engine's run) are borrowed and outlive the peer's connection. */
OwEnginePeer *ow_engine_peer_new        (OwLocalEngine *engine,
                                         OwEngineOnce  *once,
                                         const char    *id,
                                         GIOStream     *stream);
void          ow_engine_peer_start      (OwEnginePeer  *self);
/* @line: the event as a whole line. @live: it may be left out. */
void          ow_engine_peer_send_event (OwEnginePeer  *self,
                                         const char    *line,
                                         gsize          length,
                                         gboolean       live);
/* With what waits for it written, where it takes that soon. */
void          ow_engine_peer_close      (OwEnginePeer  *self);
/* Its connection, to be watched for its end; borrowed, while it is not closed. */
GObject      *ow_engine_peer_get_lines  (OwEnginePeer  *self);
