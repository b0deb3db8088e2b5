/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "audit/ow-audit.h"

/* One line of the record: how it is made, and how it is found again in a file that
 * may be torn, fused or full of NULs. */

#define OW_AUDIT_HASH_CHARS 64

/* A line that is longer is neither written nor read. */
#define OW_AUDIT_MAX_LINE_BYTES (16u * 1024u * 1024u)

/* What the first record has as its "prev". */
extern const char ow_audit_record_first_hash[OW_AUDIT_HASH_CHARS + 1];

typedef struct {
  guint64  n;
  char     prev[OW_AUDIT_HASH_CHARS + 1];
  char     hash[OW_AUDIT_HASH_CHARS + 1];
  json_t  *event;     /* (owned) */
  gboolean true_hash; /* the hash is the one of the content */
  gboolean whole;     /* the line is this record and nothing else */
} OwAuditRecord;

/* The event as it stands in the record: secrets off, the result as its hash and head,
 * without the tool's structured answer. New reference. */
json_t  *ow_audit_record_make_event (OwEvent        *event);

/* The line with its newline, and its hash in @hash; NULL when it cannot be written
 * or is too long. */
char    *ow_audit_record_make_line  (guint64         n,
                                     const char     *prev,
                                     json_t         *event,
                                     char            hash[OW_AUDIT_HASH_CHARS + 1],
                                     gsize          *length);

/* Finds a record in a line (without its newline): the line itself, or, where
 * something torn stands before it, its tail. FALSE: there is none. */
gboolean ow_audit_record_parse      (OwAuditRecord  *record,
                                     const char     *line,
                                     gsize           length);
void     ow_audit_record_clear      (OwAuditRecord  *record);
