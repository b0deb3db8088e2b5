/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "wire/ow-json.h"

/* A session is an append-only, numbered list of these (docs/events.md has each type
 * and its members). Store rows, `--json` lines, recordings and what is shown are that
 * list in the same JSON form:
 *   {"seq":7,"time":"2026-01-31T09:00:00.123Z","session":"…","type":"tool-ended", …members}
 *
 * OwEvent is an immutable boxed type, safe to share between threads. */

typedef enum {
  OW_EVENT_SESSION_STARTED,  /* folders, provider, level, model, profile, version */
  OW_EVENT_USER_MESSAGE,     /* text */
  OW_EVENT_MODEL_MESSAGE,    /* text, tool_calls [{id, name, arguments}], finish */
  OW_EVENT_TOOL_ASKED,       /* call, tool, arguments, level */
  OW_EVENT_CONSENT_ASKED,    /* request, kind, call, subject, deadline */
  OW_EVENT_CONSENT_ANSWERED, /* request, decision, by, reason */
  OW_EVENT_TOOL_STARTED,     /* call, tool, arguments, level, approval: the audit's begin */
  OW_EVENT_TOOL_OUTPUT,      /* call, stream, text | data (base64); not stored, not audited */
  OW_EVENT_TOOL_ENDED,       /* call, outcome, level, result, duration_ms, bytes, exit_status,
                              * signal: the audit's end */
  OW_EVENT_HOST_DECISION,    /* host, port, verdict, reason, level */
  OW_EVENT_WALL,             /* state up|lost|down, level, reason */
  OW_EVENT_NOTICE,           /* text: said to the person, and to the agent in its next turn */
  OW_EVENT_TURN_ENDED,       /* reason: done|stopped|limit|failed, message */
  OW_EVENT_SESSION_ENDED,    /* outcome, exit */
  OW_EVENT_N_TYPES
} OwEventType;

/* Where the effect of a call happens; stands on every tool, host and wall event. */
typedef enum {
  OW_LEVEL_OPENSHELL,
  OW_LEVEL_BUBBLEWRAP,
  OW_LEVEL_DIRECT,
  OW_LEVEL_CONNECTOR,
} OwLevel;

const char *ow_level_to_string   (OwLevel level);
gboolean    ow_level_from_string (const char *text, OwLevel *level);
/* TRUE for a level with a wall around the call. */
gboolean    ow_level_is_walled   (OwLevel level);

#define OW_TYPE_EVENT (ow_event_get_type ())
typedef struct _OwEvent OwEvent;
GType ow_event_get_type (void);

/* @members (stolen) must have exactly the required members of @type with their types;
 * a programming error is a critical and NULL. seq 0 until the list numbers it. */
OwEvent    *ow_event_new        (OwEventType type, const char *session, json_t *members);
OwEvent    *ow_event_ref        (OwEvent *self);
void        ow_event_unref      (OwEvent *self);
OwEventType ow_event_get_kind   (const OwEvent *self);
const char *ow_event_kind_name  (OwEventType type);
guint64     ow_event_get_seq    (const OwEvent *self);
gint64      ow_event_get_time   (const OwEvent *self); /* µs since the epoch */
const char *ow_event_get_session (const OwEvent *self);
/* Borrowed; must not be changed. */
const json_t *ow_event_get_members (const OwEvent *self);
const char *ow_event_get_string (const OwEvent *self, const char *member); /* NULL when absent */
gint64      ow_event_get_int    (const OwEvent *self, const char *member, gint64 fallback);

/* JSON both ways. From JSON is strict about type and members: what comes from a
 * file or another process is data. */
char    *ow_event_to_line   (const OwEvent *self);
json_t  *ow_event_to_json   (const OwEvent *self); /* new reference */
OwEvent *ow_event_from_line (const char *line, gssize length, GError **error);
OwEvent *ow_event_from_json (const json_t *json, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEvent, ow_event_unref)
