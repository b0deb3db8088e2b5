/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gtk/gtk.h>

/* A unified diff to read: text that is never markup, nothing invisible in it, with the lines that
 * came and went in colour. Bounded, so that no diff stalls the window: what is left out is said in
 * a sentence at its end. Main thread. */

#define OW_TYPE_DIFF_VIEW (ow_diff_view_get_type ())
G_DECLARE_FINAL_TYPE (OwDiffView, ow_diff_view, OW, DIFF_VIEW, GtkWidget)

/* Lines that are shown, characters of one line, and of all. */
#define OW_DIFF_VIEW_LINES      4000
#define OW_DIFF_VIEW_LINE_CHARS 400
#define OW_DIFF_VIEW_CHARS      (512 * 1024)

/* @more (nullable): plain lines behind the diff. */
void  ow_diff_view_set   (OwDiffView *self, const char *diff, const char *more);
/* The text that is shown for it, and of each of its lines an OwDiffKind in @kinds (nullable).
 * (transfer full) */
char *ow_diff_view_words (const char *diff, GByteArray *kinds);
