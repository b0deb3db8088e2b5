/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-wall-view-private.h"
#include "sandbox/ow-sandbox-plan.h"

/* Where the runner's file is inside, and the folder that holds nothing else. */
#define OW_OPENSHELL_RUNNER_DIR OW_WALL_RUNNER_DIR
#define OW_OPENSHELL_RUNNER     OW_WALL_RUNNER

/* The policy of one sandbox, YAML of version 1, for `openshell sandbox create --policy`
 * (docs/openshell-contract.md, "The policy"): folders of @plan, its private home, its account,
 * its hosts. Landlock is demanded, never tried. (transfer full) Pure.
 *
 * OW_ERROR_REFUSED with the folder, account or host, and what to do, where OpenShell could not
 * hold it: NULL then. */
char *ow_openshell_policy_render (const OwSandboxPlan *plan, GError **error);
/* (transfer full): a host of our lists as OpenShell names it: there "*." is one label and "**." is
 * every depth. Pure. */
char *ow_openshell_policy_host (const char *host);
/* The sentence that names the hosts of @plan which OpenShell will not let through whatever its
 * policy says: its proxy has a list of ports (openshell-supervisor-network, "control-plane
 * ports"). (transfer full) (nullable) NULL: none. Pure. */
char *ow_openshell_policy_tell_ports (const OwSandboxPlan *plan);
/* Whether OpenShell keeps every sandbox from @port, whatever the policy says. Pure. */
gboolean ow_openshell_policy_keeps_from (guint port);
/* Whether OpenShell can mount @path at its own place inside. Pure. */
gboolean ow_openshell_policy_check_path (const char *path, GError **error);
