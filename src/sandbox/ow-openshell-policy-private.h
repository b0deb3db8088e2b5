/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-plan.h"

/* Where the runner's file is inside, and the folder that holds nothing else. */
#define OW_OPENSHELL_RUNNER_DIR "/opt/openworker"
#define OW_OPENSHELL_RUNNER     OW_OPENSHELL_RUNNER_DIR "/openworker-runner"

/* What every sandbox may read, and write, besides its own folders; NULL at the end. Source:
 * docs/openshell-contract.md, "The policy". */
extern const char * const ow_openshell_policy_read_only[];
extern const char * const ow_openshell_policy_read_write[];

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
/* Whether OpenShell can mount @path at its own place inside. Pure. */
gboolean ow_openshell_policy_check_path (const char *path, GError **error);
