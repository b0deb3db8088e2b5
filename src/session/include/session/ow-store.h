/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"
#include "events/ow-event-list.h"

/* Sessions on disk: one sqlite file, one row an event (session, seq, json), WAL. An
 * event is stored before it is announced. Final GObject, the thread of the engine; a
 * busy database waits at most 5 s. */

#define OW_TYPE_STORE (ow_store_get_type ())
G_DECLARE_FINAL_TYPE (OwStore, ow_store, OW, STORE, GObject)

OwStore  *ow_store_open      (const char *path, GError **error);
/* Makes @list sink into this store (what is live is not stored). */
void      ow_store_attach    (OwStore *self, OwEventList *list);
/* Appends an "interrupted" tool-ended for each begin without an end, and the session's
 * end, to every session whose process is gone; the same into @audit. Called at each
 * start. */
gboolean  ow_store_close_interrupted (OwStore *self, OwAudit *audit, GError **error);
/* New reference: array of {"session","started","title","state","provider","level","model"},
 * newest first. State is "running", how the session ended ("parked" and "interrupted" ones can go
 * on), or "damaged". */
json_t   *ow_store_list      (OwStore *self, GError **error);
/* (transfer full) the session's stored list; unknown id: OW_ERROR_USAGE. */
OwEventList *ow_store_load   (OwStore *self, const char *session, GError **error);
/* Takes an ended session off the store (never off the record). One that runs, here or elsewhere:
 * OW_ERROR_REFUSED; an unknown id: OW_ERROR_USAGE. */
gboolean     ow_store_delete (OwStore *self, const char *session, GError **error);
/* Removes what sessions that are in the store no more had kept for undo: of those only that no
 * sandbox is there for, and that nobody touched for a day. What cannot be told apart, and what is
 * not ours, stays. Called at each start. */
void         ow_store_remove_leftovers (OwStore *self);
