/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-provider.h"

/* Raises walls with OpenShell: a container that holds the session's folders, the private home and
 * the runner, closed with Landlock and a network policy by OpenShell's own supervisor
 * (docs/openshell.md). The gateway makes them; this provider asks for one by the `openshell`
 * command and deletes it again.
 *
 * The registry's entry of a sandbox says "openshell" before it is asked for and goes after it is
 * deleted, so that a reaper finds what a killed run left. Final GObject, the engine's thread. */

#define OW_TYPE_OPENSHELL_PROVIDER (ow_openshell_provider_get_type ())
G_DECLARE_FINAL_TYPE (OwOpenshellProvider, ow_openshell_provider, OW, OPENSHELL_PROVIDER, GObject)

OwOpenshellProvider *ow_openshell_provider_new (void);
