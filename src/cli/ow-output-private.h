/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What goes to stdout and stderr, and what interrupts the program. A reader who is slow is
 * waited for; one who has gone, a full disk, and one who still does not read after an
 * interrupt are not, and what follows is let go. Main thread. */

/* From here on g_print() and g_printerr() go through ow_output_write(), in the person's
 * character set: typographic characters that it lacks become plain ones, others a "?". */
void     ow_output_init      (void);
/* @text, which is UTF-8, with what the person's character set lacks as \u{XXXX}: for what
 * somebody is asked to allow, where a likeness could mean something else. The mark in front of a
 * line of such a text stays. (transfer full) */
char    *ow_output_escape    (const char    *text);
/* FALSE: not all of it was taken. */
gboolean ow_output_write     (int            fd,
                              gconstpointer  data,
                              gsize          length);
/* Why stdout takes nothing any more, as errno, or 0. */
int      ow_output_get_fault (void);
/* Says that output was lost, if it was and nobody chose so by going away, and returns the
 * exit status that is true then. */
int      ow_output_finish    (int            status);

/* Calls @func for SIGINT, SIGTERM and SIGHUP, and for ow_output_interrupt(). A later call
 * puts another in its place. */
void     ow_output_watch     (GSourceFunc    func,
                              gpointer       user_data);
void     ow_output_interrupt (void);
