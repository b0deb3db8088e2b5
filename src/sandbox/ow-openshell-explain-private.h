/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-openshell-check-private.h"

/* Why the sandbox @name cannot be used although it was made: asks the gateway for its phase and
 * runs a command in it that does nothing. The result is always an error (transfer full):
 * "Sessions on this machine are refused: …" with the cause, or @failure where there is no more to
 * be said. The thread of the engine. */
void    ow_openshell_explain_async  (OwOpenshellFacts *facts, const char *name,
                                     const GError *failure, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
GError *ow_openshell_explain_finish (GAsyncResult *result);
