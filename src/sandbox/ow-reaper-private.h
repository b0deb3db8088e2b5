/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "openshell/ow-openshell.h"
#include "ow-registry-private.h"
#include "sandbox/ow-reaper.h"

/* What of the reaper the rest of the room uses. */

/* The registry's word for sandboxes of OpenShell. */
#define OW_REAPER_REMOTE "openshell"

/* A command that was killed may have been heard: its sandbox can come to be a moment later, so one
 * that is not there is looked for once more after SETTLE_MS. And one that is deleted while it is
 * being made leaves a container behind at times, so its end is waited for, LOOKS times LOOK_MS;
 * some are in that phase for good. Measured: docs/openshell-contract.md, "Create". */
#define OW_REAPER_SETTLE_MS 1500
#define OW_REAPER_LOOK_MS   250
#define OW_REAPER_LOOKS     20

/* Only the gateway of OpenShell can end what @record names. */
gboolean ow_reaper_is_remote (const OwRegistryRecord *record);
/* Leaves the entry @id, whose sandbox could not be ended, to a later reaper. */
void     ow_reaper_leave     (const char *id);
/* As ow_reaper_run_async(), with this command in place of the one that is found. */
void     ow_reaper_run_with_async (OwOpenshell *openshell, gboolean orphans,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
