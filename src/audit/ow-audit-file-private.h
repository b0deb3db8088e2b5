/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-audit-record-private.h"

#include <sys/types.h>

/* The file below the record: opening it, its lock, its end, its lines. */

/* Opens the record for appending and reading; creates it 0600 with its entry in the
 * directory on disk. Refused: links, other kinds of file, another user's. -1: error. */
int      ow_audit_file_open     (const char     *path,
                                 gboolean        create,
                                 GError        **error);

/* Takes the file's lock, waiting for others a bounded time. */
gboolean ow_audit_file_lock     (int             fd,
                                 GError        **error);
void     ow_audit_file_unlock   (int             fd);

/* The newest record of the first @size bytes, read from their end backwards.
 * @record is empty (event NULL) when there is none; @torn: the last line has no end. */
gboolean ow_audit_file_find_end (int             fd,
                                 off_t           size,
                                 OwAuditRecord  *record,
                                 gboolean       *torn,
                                 GError        **error);

/* Each line up to what the file holds now, without its newline; @line is NULL for one
 * that is too long to be looked at. */
typedef gboolean (*OwAuditLineFunc) (const char *line,
                                     gsize       length,
                                     gpointer    user_data);
gboolean ow_audit_file_foreach  (const char      *path,
                                 OwAuditLineFunc  func,
                                 gpointer         user_data,
                                 GError         **error);
