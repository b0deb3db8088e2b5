/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* The record of what agents did, made outside the wall: JSON lines, each
 *   {"n":12,"prev":"<sha256 hex>","event":{…the event…},"hash":"<sha256 hex>"}
 * where hash is over the canonical text of {n, prev, event}. Several programs may
 * append: each append takes the file's lock, reads the end of the chain, and is one
 * write(). A short write is truncated away and is an error. A damaged line is passed
 * over and reported, never hides the lines after it.
 *
 * Final GObject. Blocking: appends are one line and one fdatasync (measured in
 * tests/bench); any thread, one at a time. */

#define OW_TYPE_AUDIT (ow_audit_get_type ())
G_DECLARE_FINAL_TYPE (OwAudit, ow_audit, OW, AUDIT, GObject)

OwAudit  *ow_audit_open   (const char *path, GError **error);
/* Appends @event. @sync: on disk before it returns (fdatasync); otherwise with the
 * next synced append or ow_audit_sync(). An error means: not recorded, do not act. */
gboolean  ow_audit_append (OwAudit *self, OwEvent *event, gboolean sync, GError **error);
gboolean  ow_audit_sync   (OwAudit *self, GError **error);

/* TRUE for the types that belong in the record: calls, consent, hosts, the wall, and a
 * session's begin and end. ow_audit_append() refuses the others. */
gboolean  ow_audit_wants  (OwEventType type);

typedef struct {
  guint64   n_records;
  guint64   n_damaged;        /* lines that are no record */
  guint64   n_broken;         /* records whose hash, number or link does not hold */
  guint64   first_bad_line;   /* 0: none */
  GPtrArray *open_calls;      /* (owned) "session call tool" of begins without an end */
  char      *head;            /* (owned) last hash */
  guint64   n_anchored;       /* records up to the newest journal anchor; 0 without a journal */
} OwAuditReport;

OwAuditReport *ow_audit_verify      (const char *path, GError **error);
void           ow_audit_report_free (OwAuditReport *report);
/* TRUE when nothing is damaged or broken. */
gboolean       ow_audit_report_is_clean (const OwAuditReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwAuditReport, ow_audit_report_free)

/* Calls @func for each readable record's event, oldest first; FALSE stops. */
typedef gboolean (*OwAuditFunc) (guint64 n, OwEvent *event, gpointer user_data);
gboolean       ow_audit_foreach     (const char *path, OwAuditFunc func,
                                     gpointer user_data, GError **error);

/* Takes secrets off a value before it is recorded: values of members and environment
 * words named like a secret (token, password, authorization, api_key …) and well-known
 * token shapes. New reference. */
json_t        *ow_audit_redact      (const json_t *value);
