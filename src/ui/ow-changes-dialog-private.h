/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "engine/ow-engine.h"

/* What a session changed, or what an undo would do, to read; for an undo with a button that lets
 * it be done. It closes with either.
 *
 * Signal "undo": the person wants it. Main thread. */

#define OW_TYPE_CHANGES_DIALOG (ow_changes_dialog_get_type ())
G_DECLARE_FINAL_TYPE (OwChangesDialog, ow_changes_dialog, OW, CHANGES_DIALOG, AdwWindow)

/* @result (borrowed): of session.changes, or of session.undo that only showed it. */
OwChangesDialog *ow_changes_dialog_new (GtkWindow *parent, const json_t *result);

/* Why files are left as they are, one a line; (transfer full) NULL: none is. */
char            *ow_changes_dialog_skipped (const json_t *result);
/* How many of its files have one of the two states. */
guint            ow_changes_dialog_count   (const json_t *result, const char *state,
                                            const char *other);
