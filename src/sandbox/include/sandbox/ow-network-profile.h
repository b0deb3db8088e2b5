/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-config.h"

/* The hosts of a network profile with @extra_hosts (array of OwHost, nullable) added:
 * a new array of OwHost. Source: docs/openshell.md, "The allow list". Any thread. */
GPtrArray *ow_network_profile_hosts (OwNetworkProfile profile, GPtrArray *extra_hosts);
