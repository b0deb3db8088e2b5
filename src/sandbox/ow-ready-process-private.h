/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "base/ow-process.h"

/* A child that says "ready" on a line of its own once it can be used: the runner's
 * `serve` and openworker-proxy. Owns the child (spawned with stdout and stderr pipes) and
 * always drains both, so that neither can block it; of stderr the first 8 KiB are kept.
 * Disposing it kills the child.
 *
 * Final GObject, main thread. Signals: "line" (const char *line) for each further line of
 * stdout; "ended" (const char *reason), once. */

#define OW_TYPE_READY_PROCESS (ow_ready_process_get_type ())
G_DECLARE_FINAL_TYPE (OwReadyProcess, ow_ready_process, OW, READY_PROCESS, GObject)

/* Takes @process; @name is for error texts. */
OwReadyProcess *ow_ready_process_new         (OwProcess *process, const char *name);
/* Completes when "ready" was read. Once only. */
void            ow_ready_process_wait_async  (OwReadyProcess *self, guint deadline_ms,
                                              GCancellable *cancellable,
                                              GAsyncReadyCallback callback,
                                              gpointer user_data);
gboolean        ow_ready_process_wait_finish (OwReadyProcess *self, GAsyncResult *result,
                                              GError **error);
/* What the child wrote to stderr, made safe to show. (transfer full) */
char           *ow_ready_process_get_errors  (OwReadyProcess *self);
/* TRUE once "ended" was told. */
gboolean        ow_ready_process_is_over     (OwReadyProcess *self);
OwProcess      *ow_ready_process_get_process (OwReadyProcess *self);
