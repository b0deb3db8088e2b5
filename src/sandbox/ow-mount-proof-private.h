/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-channel.h"
#include "sandbox/ow-sandbox-plan.h"

/* Proves that each folder of @plan is, inside, the folder that was checked (REQ-W10), and behind a
 * wall the private home and the undo folder too: an engine can show an empty one in its place.
 * Read-write: a token that the host writes is read by the runner, and one that the
 * runner writes is read by the host, both by descriptor. Read-only: device and inode,
 * and, where @walled, a write that must fail; without a wall nothing hinders a command
 * from writing, which is no proof's business but is said to the person.
 *
 * It is the only place where the host writes into a session's folder; the token files
 * are removed at once, whatever happens; what a killed run left of them by the next proof
 * of the folder. A miss is OW_ERROR_REFUSED with the folder.
 * @plan must outlive it. Main thread. */
void     ow_mount_proof_run_async  (OwChannel           *channel,
                                    const OwSandboxPlan *plan,
                                    gboolean             walled,
                                    GCancellable        *cancellable,
                                    GAsyncReadyCallback  callback,
                                    gpointer             user_data);
gboolean ow_mount_proof_run_finish (GAsyncResult        *result,
                                    GError             **error);
