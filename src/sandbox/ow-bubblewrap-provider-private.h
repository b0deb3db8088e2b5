/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-provider.h"

/* Walls by /usr/bin/bwrap, always the system's own: an AppArmor grant is bound to that
 * path. Whether further user namespaces can be forbidden is found by a trial, once.
 *
 * Final GObject, main thread; implements OwSandboxProvider. */

#define OW_TYPE_BUBBLEWRAP_PROVIDER (ow_bubblewrap_provider_get_type ())
G_DECLARE_FINAL_TYPE (OwBubblewrapProvider, ow_bubblewrap_provider, OW, BUBBLEWRAP_PROVIDER,
                      GObject)

OwBubblewrapProvider *ow_bubblewrap_provider_new      (void);
/* For tests: another program in bwrap's place. */
OwBubblewrapProvider *ow_bubblewrap_provider_new_with (const char *program);
