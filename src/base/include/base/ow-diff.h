/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Tells what each line of a unified diff is, by the counts of its hunks and not by its first sign
 * alone: a line "-- x" that was taken out looks like the head of a file. What is no diff, or goes
 * on behind one, is told as that. Plain struct, any thread. */

typedef enum {
  OW_DIFF_TEXT,    /* no line of a diff: words around it */
  OW_DIFF_FILE,    /* "--- name", "+++ name", and what stands between two files */
  OW_DIFF_HUNK,    /* "@@ -1,3 +1,4 @@" */
  OW_DIFF_SAME,
  OW_DIFF_ADDED,
  OW_DIFF_REMOVED,
  OW_DIFF_NOTE,    /* "\ No newline at end of file" */
} OwDiffKind;

/* Zeroed before the first line. */
typedef struct {
  guint64  old_number; /* of the next line of each side */
  guint64  new_number;
  guint64  old_left;   /* of the hunk */
  guint64  new_left;
  gboolean began;      /* a file's head was seen */
} OwDiff;

/* The next line, without its end. @number (out) (nullable): of a line of a hunk, its number in
 * what was before where it was removed, else in what came of it; 0: it has none. */
OwDiffKind ow_diff_read (OwDiff     *self,
                         const char *line,
                         guint64    *number);
