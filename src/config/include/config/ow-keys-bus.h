/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Address of the session bus that runs already (transfer full), or NULL: one is never
 * started for a key. */
char *ow_keys_bus_get_address (void);

G_END_DECLS
