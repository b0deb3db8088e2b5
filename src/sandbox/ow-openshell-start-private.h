/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-instance.h"
#include "sandbox/ow-sandbox-plan.h"

/* One start of a sandbox of OpenShell, from the check to the running main command. @plan outlives
 * the instance. Whatever ends it, nothing is left at the gateway, or @plan is abandoned to a
 * reaper. Errors: OW_ERROR_REFUSED, OW_ERROR_INTERRUPTED. The thread of the engine. */
void               ow_openshell_start_async  (OwSandboxPlan *plan, GCancellable *cancellable,
                                              GAsyncReadyCallback callback, gpointer user_data);
OwSandboxInstance *ow_openshell_start_finish (GAsyncResult *result, GError **error);
