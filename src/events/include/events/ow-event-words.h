/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* What faces show of calls and requests, the same in a terminal and in a window: plain text, never
 * markup, in which nothing invisible is left. Any thread; results are transfer full. */

/* All of what a consent-asked event asks for, nothing left out or shortened, in lines:
 *
 *   $ first line of a shell command
 *   > its next lines
 *   name: value of another argument
 *   content, 2 lines:
 *     │ a text of several lines, or that an edit takes out ("-") or puts in ("+")
 *
 * No text of the agent's can begin a line, so none can look like another argument. It may be
 * megabytes long. */
char     *ow_event_words_subject     (const OwEvent *asked);
/* TRUE: characters that would not be seen are in it, and are shown escaped, such as \u{200B}. */
gboolean  ow_event_words_has_hidden  (const OwEvent *asked);
/* The same two for an entry of consent.list (docs/engine.md). @hidden may be NULL. */
char     *ow_event_words_request     (const json_t  *request,
                                      gboolean      *hidden);

/* A card's one line for a tool-asked or tool-started event, such as grep "parse_day" src; at most
 * 200 characters. */
char     *ow_event_words_call_title  (const OwEvent *asked);
/* One line for an event with folders: "/a, /b (read-only)". */
char     *ow_event_words_folders    (const OwEvent *event);
/* What an executable-settings event, or session.changes, tells, in lines, at most @max of them with
 * a path; the first is what it is about. */
char     *ow_event_words_settings    (const OwEvent *event,
                                      guint          max);
char     *ow_event_words_settings_of (const json_t  *settings,
                                      gint64         total,
                                      gboolean       cut,
                                      gboolean       late,
                                      guint          max);
/* TRUE: the program made the call for itself, to see what the session leaves that others run. */
gboolean  ow_event_words_is_look     (const OwEvent *asked);
/* TRUE: the call that ended found nothing in the place that it looked at. Where the program itself
 * looked for a project's instructions there is nothing to tell then: most have none. */
gboolean  ow_event_words_is_absent   (const OwEvent *ended);
