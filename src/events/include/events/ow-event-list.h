/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* The list of one session: appends, numbers from 1, tells its listeners. Final
 * GObject, the thread of the engine. It is the only place where a number is given. A sink, when
 * set, sees the event before any listener and may refuse it (a store that is full):
 * then nothing is appended.
 *
 * Signal "appended" (OwEvent *event). */

#define OW_TYPE_EVENT_LIST (ow_event_list_get_type ())
G_DECLARE_FINAL_TYPE (OwEventList, ow_event_list, OW, EVENT_LIST, GObject)

typedef gboolean (*OwEventSink) (OwEvent *event, gpointer user_data, GError **error);

OwEventList *ow_event_list_new        (const char *session);
const char  *ow_event_list_get_session (OwEventList *self);
void         ow_event_list_set_sink   (OwEventList *self, OwEventSink sink,
                                       gpointer user_data, GDestroyNotify destroy);
/* Restores stored events, numbers kept; they must follow each other from the last. */
gboolean     ow_event_list_restore    (OwEventList *self, OwEvent *event, GError **error);
/* Makes, numbers, sinks and announces; steals @members. Returns (transfer full). What is
 * live (ow_event_kind_is_live()) is announced only: number 0, no sink, not in the list.
 * Wrong members are an error. What a listener appends is announced after this event has
 * reached every listener. */
OwEvent     *ow_event_list_append     (OwEventList *self, OwEventType type,
                                       json_t *members, GError **error);
/* The same for a type that has a text and nothing else. FALSE: it was not appended. */
gboolean     ow_event_list_append_text (OwEventList *self, OwEventType type,
                                        const char *text, GError **error);
guint        ow_event_list_get_n      (OwEventList *self);
OwEvent     *ow_event_list_get        (OwEventList *self, guint index); /* borrowed */
