/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* Sees to it that a face gets each session's events once and in the order of their numbers, over
 * breaks and changes of the engine: what is missing is asked for by session.show. Final
 * GObject, the thread that makes it.
 *
 * Signals: "event" (OwEvent *event); "garbage": what the engine answered is no list of events. */

#define OW_TYPE_ENGINE_FOLLOW (ow_engine_follow_get_type ())
G_DECLARE_FINAL_TYPE (OwEngineFollow, ow_engine_follow, OW, ENGINE_FOLLOW, GObject)

OwEngineFollow *ow_engine_follow_new        (void);
/* Another engine, or (NULL) none: what of the sessions at work was missed is asked for. */
void            ow_engine_follow_set_engine (OwEngineFollow *self,
                                             OwEngine       *engine);
/* An event that came. */
void            ow_engine_follow_take       (OwEngineFollow *self,
                                             OwEvent        *event);
