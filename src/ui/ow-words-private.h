/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What the window calls things. Any thread; results are transfer full where not const. */

/* "OpenShell", "Built-in", "Not protected", "Connector"; of an unknown level "Not known". */
const char *ow_words_level        (const char *level);
/* The colour's style class; the word says the same. */
const char *ow_words_level_class  (const char *level);
const char *ow_words_level_icon   (const char *level);
/* What the level means, in a sentence. */
const char *ow_words_level_means  (const char *level);
/* "4 ms", "0.9 s", "42 s", "3 min 5 s". */
char       *ow_words_duration     (gint64 ms);
/* "Today", "Yesterday", the day of the week, or the date. @time is ISO 8601; where
 * it is not, "". */
char       *ow_words_day          (const char *time, GDateTime *now);
/* What stands below a session's title. */
char       *ow_words_state        (const char *state, const char *level, gboolean working,
                                   gboolean waiting, const char *started, GDateTime *now);
/* Why the key of a model cannot be read, or NULL where it can, or where none is needed: at an
 * address on this machine. */
char       *ow_words_key          (const char *model, const char *base_url, const char *key);
/* Foreign text on one line: visible, without newlines and tabs, at most @max_chars. */
char       *ow_words_line         (const char *text, gsize max_chars);
/* "~/src/dates (read-write)". */
char       *ow_words_folder       (const char *path, gboolean read_only);
/* "12,400 tokens". */
char       *ow_words_tokens       (gint64 tokens);
/* Puts a copy of @text (nullable), which may be a part of it, in place of what @member holds. */
void        ow_words_set          (char **member, const char *text);
/* How a call ended where that is not "ok": "exit 1", "signal 9", "denied", …; else NULL. */
char       *ow_words_outcome      (const char *outcome, gint64 exit_status, gint64 signal);
