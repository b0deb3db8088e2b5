/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-sandbox-provider.h"
#include "wire/ow-json.h"

/* "Prove the wall" (REQ-U16): raises a throw-away sandbox on a temporary folder pair
 * and tries what must not work. Every claim has a positive control outside the wall:
 * a canary that could not be read outside, or a listener that does not answer outside, makes the
 * claim "not proven", never "held".
 *
 * The result is an array, new reference, of {"key","claim","held","detail"} with keys
 * folder, home, read_only, proc_sys, host, loopback, abstract_socket. Without a wall the
 * claims simply do not hold, which is no error. @hosts (nullable) is shared, not moved. */
void    ow_prove_run_async  (OwSandboxProvider *provider, GPtrArray *hosts,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data);
json_t *ow_prove_run_finish (GAsyncResult *result, GError **error);
