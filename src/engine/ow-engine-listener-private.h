/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "ow-local-engine-private.h"

/* Lets other faces in (docs/engine-protocol.md). Final GObject, the engine's thread. */

#define OW_TYPE_ENGINE_LISTENER (ow_engine_listener_get_type ())
G_DECLARE_FINAL_TYPE (OwEngineListener, ow_engine_listener, OW, ENGINE_LISTENER, GObject)

#define OW_ENGINE_LISTENER_MAX_CLIENTS 64

/* @id names this run of the engine. @fd (taken; -1: none) listens already; who comes waits for
 * the start. */
OwEngineListener *ow_engine_listener_new        (OwLocalEngine    *engine,
                                                 const char       *id,
                                                 int               fd);
void              ow_engine_listener_start      (OwEngineListener *self);
/* Nobody is let in any more, and who is there is let go with what waits for them. */
void              ow_engine_listener_close      (OwEngineListener *self);
/* After that: somebody is still being told last words. */
gboolean          ow_engine_listener_is_flushing (OwEngineListener *self);
guint             ow_engine_listener_get_n      (OwEngineListener *self);
