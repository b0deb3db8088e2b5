/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-ready-process-private.h"
#include "sandbox/ow-sandbox-instance.h"
#include "sandbox/ow-sandbox-plan.h"

/* One raised wall of this room's providers: `serve` behind its socket, and the proxy
 * beside it where there is one. When either ends the other is ended too: a wall without
 * its list of hosts is not the wall that was promised.
 *
 * Final GObject, main thread; implements OwSandboxInstance. */

#define OW_TYPE_WALL_INSTANCE (ow_wall_instance_get_type ())
G_DECLARE_FINAL_TYPE (OwWallInstance, ow_wall_instance, OW, WALL_INSTANCE, GObject)

/* Takes @main and @proxy (nullable). */
OwWallInstance *ow_wall_instance_new (const OwSandboxPlan *plan, OwReadyProcess *main_process,
                                      OwReadyProcess *proxy);
