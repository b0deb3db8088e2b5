/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <sqlite3.h>

#include "session/ow-store.h"

/* Shared by the two files of OwStore. */

/* Runs statements that return nothing. */
gboolean      ow_store_exec         (OwStore *self, const char *sql, GError **error);
/* NULL and @error when it cannot be prepared. */
sqlite3_stmt *ow_store_prepare      (OwStore *self, const char *sql, GError **error);
/* The database's last error as one of ours. */
void          ow_store_set_error    (OwStore *self, const char *what, GError **error);
