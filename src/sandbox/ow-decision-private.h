/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "wire/ow-json.h"

/* Reads one decision line of openworker-proxy (docs/proxy.md), or of what stands in its place with
 * OpenShell (ow-openshell-watch-private.h), strictly: the members
 * it has, their types, words and ranges, and no other. Any thread.
 *
 * Returns: (new reference) the decision; NULL when it is none. */
json_t *ow_decision_parse (const char *line);
