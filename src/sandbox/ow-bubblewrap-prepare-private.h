/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-bubblewrap-hold-private.h"
#include "ow-bubblewrap-launch-private.h"
#include "sandbox/ow-sandbox-plan.h"

/* Gathers what one start of bwrap needs of this machine: the filter, the account, the
 * system's top-level names, the plan's folders. */

/* Returns bwrap's argv (transfer full) and, in @launch, its descriptors and child setup.
 * With @hold the wall of @plan, held by it, without one a trial for @plan's account or, where @plan
 * is NULL, our own. Each folder is checked once more, by its descriptor, just before it is handed
 * on. */
char **ow_bubblewrap_prepare (const char *program, const OwSandboxPlan *plan,
                              OwBubblewrapHold *hold, gboolean disable_userns,
                              OwBubblewrapLaunch **launch, GError **error);
