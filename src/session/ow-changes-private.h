/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "session/ow-changes.h"

/* Shared by the files of OwChanges: ow-changes.c reads them out of the events,
 * ow-changes-calls.c makes calls of them and reads what those answered. */

/* 64 hex digits in lower case: SHA-256. (nullable) */
gboolean ow_changes_is_hash (const char *text);
