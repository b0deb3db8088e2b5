/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "config/ow-config.h"
#include "wire/ow-json.h"

/* What the last proof of a wall came to and on what machine, one file a wall:
 * ~/.local/state/coworker/proof-PROVIDER.json. A proof says something only of what was there: the
 * kernel, bubblewrap, or OpenShell, its gateway and its engine. */

/* What stands behind the wall of @kind now: {"kernel", "bubblewrap"} or {"kernel", "openshell",
 * "gateway", "engine"}, texts; what cannot be told is left out. A new reference, never NULL but
 * where it was cancelled. The thread of the engine. */
void    ow_proof_record_facts_async  (OwProviderKind kind, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
json_t *ow_proof_record_facts_finish (GAsyncResult *result, GError **error);

/* Keeps a proof of now. @claims as ow_prove_run_finish() gives them. Blocking, any thread. */
gboolean ow_proof_record_store (OwProviderKind kind, const json_t *claims, const json_t *facts,
                                GError **error);
/* What the last one says of the wall with @facts. New reference: {"provider", "state", "when"?,
 * "failed": [key…], "changed": [{"what", "was"?, "is"?}…]}, state one of unknown (there was none,
 * or it cannot be read), missed (a claim failed), stale (something changed since) and held. */
json_t  *ow_proof_record_judge (OwProviderKind kind, const json_t *facts);
