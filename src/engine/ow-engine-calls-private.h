/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* The commands of a face that have no answer yet. They go to whatever engine there is, and over a
 * break to the next one: there one that changes something is asked for under its id, or ends as
 * OW_ERROR_INTERRUPTED where it is not known whether it was done. What face.watch was told is told
 * to each engine. Final GObject, the thread (main context) that makes it. */

#define OW_TYPE_ENGINE_CALLS (ow_engine_calls_get_type ())
G_DECLARE_FINAL_TYPE (OwEngineCalls, ow_engine_calls, OW, ENGINE_CALLS, GObject)

OwEngineCalls *ow_engine_calls_new        (void);
/* What commands go to from here on; NULL: they wait for one. */
void           ow_engine_calls_set_engine (OwEngineCalls *self,
                                           OwEngine      *engine);
/* Ends @task with the command's result; @params (nullable) is stolen. */
void           ow_engine_calls_add        (OwEngineCalls *self,
                                           GTask         *task,
                                           const char    *command,
                                           json_t        *params);
/* All that there are end with @error. */
void           ow_engine_calls_end        (OwEngineCalls *self,
                                           const GError  *error);
