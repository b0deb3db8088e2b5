/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Foreign text cut for the screen: an endless line must not reach a label (a
 * megabyte in one takes seconds to lay out). What is kept is visible text (ow_text_visible)
 * without ANSI sequences; a carriage return ends a line, so nothing is overwritten unseen.
 *
 * While text still comes (append) the last lines are kept, of a whole text (set) the
 * first ones; all are counted. Plain struct, one thread. */

/* Characters of a line, and lines, that are kept. */
#define OW_LINES_CHARS 400
#define OW_LINES_KEPT 1000

typedef struct _OwLines OwLines;

OwLines *ow_lines_new        (void);
void     ow_lines_free       (OwLines *self);
void     ow_lines_append     (OwLines *self, const char *text);
void     ow_lines_set        (OwLines *self, const char *text);
/* All that there are, an unfinished last one included. */
guint    ow_lines_get_n      (const OwLines *self);
/* Those that can be shown. */
guint    ow_lines_get_n_kept (const OwLines *self);
/* Borrowed; @index below ow_lines_get_n_kept(). */
const char *ow_lines_get     (const OwLines *self, guint index);

/* A message: visible text of at most @max_chars characters in lines of at most @line_chars,
 * longer ones cut with "…"; a word of hundreds of characters goes on in the next line, because
 * laying one out takes seconds. @cut (out) (nullable): something is missing. */
char    *ow_lines_clip       (const char *text, gsize line_chars, gsize max_chars,
                              gboolean *cut);
/* All of @text, visible, for a person to judge: nothing is cut. Only where a line is longer than
 * @line_chars each line gets its number in front, and what continues one "⋮" instead, so
 * that a break of ours and one of the text cannot be taken for each other. */
char    *ow_lines_whole      (const char *text, gsize line_chars);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwLines, ow_lines_free)
