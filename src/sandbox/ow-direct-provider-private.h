/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-provider.h"

/* No wall: `serve` as the person, with their own environment and home, less what is
 * ours. For where the person chose that, or nothing was chosen in the app.
 *
 * Final GObject, main thread; implements OwSandboxProvider. */

#define OW_TYPE_DIRECT_PROVIDER (ow_direct_provider_get_type ())
G_DECLARE_FINAL_TYPE (OwDirectProvider, ow_direct_provider, OW, DIRECT_PROVIDER, GObject)

OwDirectProvider *ow_direct_provider_new (void);

/* @environment without what belongs to this program, marked with the sandbox's id.
 * (transfer full) */
char **ow_direct_provider_environment (const char * const *environment, const char *id);
