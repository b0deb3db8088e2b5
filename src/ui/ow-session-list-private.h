/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"
#include "ow-session-item-private.h"

/* The sessions that the engine has, newest first: a GListModel of OwSessionItem, asked for again
 * after events that change a row, a few times a second at most. An item stays the same
 * object for as long as its session is there, so that a selection holds.
 *
 * Signal "answered": the engine has told its list, or "error" is another one. Main thread. */

#define OW_TYPE_SESSION_LIST (ow_session_list_get_type ())
G_DECLARE_FINAL_TYPE (OwSessionList, ow_session_list, OW, SESSION_LIST, GObject)

OwSessionList *ow_session_list_new         (OwEngine *engine);
void           ow_session_list_refresh     (OwSessionList *self);
/* Takes the rows of session.list. */
void           ow_session_list_set_rows    (OwSessionList *self, const json_t *rows);
/* The engine has answered at least once. */
gboolean       ow_session_list_is_known    (OwSessionList *self);
const char    *ow_session_list_get_error   (OwSessionList *self); /* (nullable) */
/* (nullable): the end of a session that is not known to be stored; where it could not be, the
 * engine tells it once, and nobody can be asked for it. */
OwEvent       *ow_session_list_get_end     (OwSessionList *self, const char *session);
/* The person knows, and has it deleted. */
void           ow_session_list_drop_end    (OwSessionList *self, const char *session);
/* Position, or GTK_INVALID_LIST_POSITION (G_MAXUINT). */
guint          ow_session_list_find        (OwSessionList *self, const char *session);
