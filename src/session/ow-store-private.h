/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <sqlite3.h>

#include "session/ow-store.h"

/* Shared by the files of OwStore and with OwSession. */

/* Runs statements that return nothing. */
gboolean      ow_store_exec         (OwStore *self, const char *sql, GError **error);
/* NULL and @error when it cannot be prepared. */
sqlite3_stmt *ow_store_prepare      (OwStore *self, const char *sql, GError **error);
/* The database's last error as one of ours. */
void          ow_store_set_error    (OwStore *self, const char *what, GError **error);
/* Runs @statement, which returns no rows, and frees it. @what: what did not work. */
gboolean      ow_store_step_done    (OwStore *self, sqlite3_stmt *statement, const char *what,
                                     GError **error);
/* NULL counts as empty. */
void          ow_store_bind_text    (sqlite3_stmt *statement, int index, const char *text);
/* FALSE with @error for a session that is not there or runs. @what: what was to be done with
 * it, such as "deleted". */
gboolean      ow_store_check_ended  (OwStore *self, const char *session, const char *what,
                                     GError **error);
