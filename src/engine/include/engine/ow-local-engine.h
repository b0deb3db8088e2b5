/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* The engine in this process: config, store, audit and the sessions at work. */

#define OW_TYPE_LOCAL_ENGINE (ow_local_engine_get_type ())
G_DECLARE_FINAL_TYPE (OwLocalEngine, ow_local_engine, OW, LOCAL_ENGINE, GObject)

OwLocalEngine *ow_local_engine_new (void);
