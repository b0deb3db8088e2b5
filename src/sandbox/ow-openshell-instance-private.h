/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-openshell-check-private.h"
#include "sandbox/ow-sandbox-instance.h"
#include "sandbox/ow-sandbox-plan.h"

/* A sandbox of OpenShell in phase Ready, known at the gateway as @name. Stopping it deletes it
 * there; disposed without a stop it is left to a reaper, and @plan, which outlives it, is
 * abandoned. Follows its log for refused hosts. Implements OwSandboxInstance. */

#define OW_TYPE_OPENSHELL_INSTANCE (ow_openshell_instance_get_type ())
G_DECLARE_FINAL_TYPE (OwOpenshellInstance, ow_openshell_instance, OW, OPENSHELL_INSTANCE, GObject)

OwSandboxInstance *ow_openshell_instance_new (OwSandboxPlan    *plan,
                                              OwOpenshellFacts *facts,
                                              const char       *name);
