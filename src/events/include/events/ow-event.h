/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-level.h"
#include "wire/ow-json.h"

/* A session is an append-only, numbered list of these (docs/events.md has each type
 * and its members). Store rows, `--json` lines, recordings and what is shown are that
 * list in the same JSON form:
 *   {"seq":7,"time":"2026-01-31T09:00:00.123Z","session":"…","type":"tool-ended", …members}
 *
 * OwEvent is an immutable boxed type, safe to share between threads. */

typedef enum {
  OW_EVENT_SESSION_STARTED,
  OW_EVENT_SESSION_RESUMED,  /* after the end: the same conversation goes on */
  OW_EVENT_USER_MESSAGE,
  OW_EVENT_MODEL_TEXT,       /* a piece as it comes; neither stored nor audited, seq 0 */
  OW_EVENT_MODEL_MESSAGE,
  OW_EVENT_TOOL_ASKED,
  OW_EVENT_CONSENT_ASKED,
  OW_EVENT_CONSENT_ANSWERED,
  OW_EVENT_TOOL_STARTED,     /* the audit's begin */
  OW_EVENT_TOOL_OUTPUT,      /* neither stored nor audited, seq 0 */
  OW_EVENT_TOOL_ENDED,       /* the audit's end */
  OW_EVENT_HOST_DECISION,
  OW_EVENT_WALL,
  OW_EVENT_FOLDERS_CHANGED,  /* from the next tool call on */
  OW_EVENT_EXECUTABLE_SETTINGS, /* made or changed, and run later by programs outside */
  OW_EVENT_TRAFFIC,          /* totals: what went to each host and came from it */
  OW_EVENT_NOTICE,           /* said to the person, and to the agent in its next turn */
  OW_EVENT_TURN_ENDED,
  OW_EVENT_SESSION_ENDED,
  OW_EVENT_N_TYPES
} OwEventType;

#define OW_TYPE_EVENT (ow_event_get_type ())
typedef struct _OwEvent OwEvent;
GType ow_event_get_type (void);

/* @members (stolen) must be those of docs/events.md for @type, with their types; an
 * optional one may be null and is left out then. A programming error is a critical and
 * NULL. seq 0: only OwEventList gives numbers. */
OwEvent    *ow_event_new        (OwEventType type, const char *session, json_t *members);
OwEvent    *ow_event_ref        (OwEvent *self);
void        ow_event_unref      (OwEvent *self);
OwEventType ow_event_get_kind   (const OwEvent *self);
const char *ow_event_kind_name  (OwEventType type);
/* Announced only: neither stored nor audited, number 0. */
gboolean    ow_event_kind_is_live (OwEventType type);
guint64     ow_event_get_seq    (const OwEvent *self);
gint64      ow_event_get_time   (const OwEvent *self); /* µs since the epoch */
const char *ow_event_get_session (const OwEvent *self);
/* Borrowed; must not be changed. */
const json_t *ow_event_get_members (const OwEvent *self);
const char *ow_event_get_string (const OwEvent *self, const char *member); /* NULL when absent */
gint64      ow_event_get_int    (const OwEvent *self, const char *member, gint64 fallback);

/* JSON both ways. From JSON is strict about type and members (of unknown ones only
 * "x-…" are kept): what comes from a file or another process is data. */
char    *ow_event_to_line   (const OwEvent *self);
/* New reference; its values are the event's own and must not be changed. */
json_t  *ow_event_to_json   (const OwEvent *self);
OwEvent *ow_event_from_line (const char *line, gssize length, GError **error);
OwEvent *ow_event_from_json (const json_t *json, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEvent, ow_event_unref)
