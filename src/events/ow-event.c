/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-event-private.h"
#include "ow-event-schema-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"

/* A result of 1 MiB, escaped, twice (text and structured), and room. */
#define MAX_LINE_BYTES    (32u * 1024u * 1024u)
#define MAX_SESSION_BYTES 128

struct _OwEvent
{
  gatomicrefcount ref_count;
  OwEventType     type;
  guint64         seq;
  gint64          time;     /* µs, whole milliseconds */
  char           *session;  /* (owned) */
  json_t         *members;  /* (owned) never changed */
};

G_DEFINE_BOXED_TYPE (OwEvent, ow_event, ow_event_ref, ow_event_unref)

static gboolean
is_session_id (const char *text)
{
  gsize length = text != NULL ? strlen (text) : 0;

  if (length == 0 || length > MAX_SESSION_BYTES)
    return FALSE;
  for (const char *p = text; *p != '\0'; p++)
    if (!g_ascii_isgraph (*p))
      return FALSE;

  return TRUE;
}

static OwEvent *
make_event (OwEventType  type,
            const char  *session,
            json_t      *members,
            guint64      seq,
            gint64       time)
{
  OwEvent *self = g_new0 (OwEvent, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->type = type;
  self->session = g_strdup (session);
  self->members = members;
  self->seq = seq;
  self->time = time;

  return self;
}

/* Callers pack optional members with null where there is nothing to say. */
static void
drop_nulls (json_t *members)
{
  const char *name;
  json_t *value;
  void *next;

  json_object_foreach_safe (members, next, name, value)
    if (json_is_null (value) && strcmp (name, "arguments") != 0)
      json_object_del (members, name);
}

OwEvent *
ow_event_new_numbered (OwEventType   type,
                       const char   *session,
                       json_t       *members,
                       guint64       seq,
                       GError      **error)
{
  gint64 now = g_get_real_time ();

  if ((guint) type >= OW_EVENT_N_TYPES || !is_session_id (session) || !json_is_object (members))
    {
      ow_error_set (error, OW_ERROR_DATA, "This is no event",
                    "its type, session or members are missing", NULL);
      json_decref (members);
      return NULL;
    }

  drop_nulls (members);
  if (!ow_event_schema_check (type, members, error))
    {
      json_decref (members);
      return NULL;
    }

  return make_event (type, session, members, seq, now - now % 1000);
}

OwEvent *
ow_event_new (OwEventType  type,
              const char  *session,
              json_t      *members)
{
  g_autoptr (GError) error = NULL;
  OwEvent *self = ow_event_new_numbered (type, session, members, 0, &error);

  if (self == NULL)
    g_return_if_fail_warning (G_LOG_DOMAIN, G_STRFUNC, error->message);

  return self;
}

OwEvent *
ow_event_ref (OwEvent *self)
{
  g_atomic_ref_count_inc (&self->ref_count);

  return self;
}

void
ow_event_unref (OwEvent *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  json_decref (self->members);
  g_free (self->session);
  g_free (self);
}

OwEventType
ow_event_get_kind (const OwEvent *self)
{
  return self->type;
}

guint64
ow_event_get_seq (const OwEvent *self)
{
  return self->seq;
}

gint64
ow_event_get_time (const OwEvent *self)
{
  return self->time;
}

const char *
ow_event_get_session (const OwEvent *self)
{
  return self->session;
}

const json_t *
ow_event_get_members (const OwEvent *self)
{
  return self->members;
}

const char *
ow_event_get_string (const OwEvent *self,
                     const char    *member)
{
  return ow_json_get_string (self->members, member, NULL);
}

gint64
ow_event_get_int (const OwEvent *self,
                  const char    *member,
                  gint64         fallback)
{
  return ow_json_get_int (self->members, member, fallback);
}

static char *
format_time (gint64 time)
{
  g_autoptr (GDateTime) moment = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autofree char *text = g_date_time_format (moment, "%Y-%m-%dT%H:%M:%S");

  return g_strdup_printf ("%s.%03dZ", text, (int) (time % G_USEC_PER_SEC / 1000));
}

/* Digits at the places of @pattern where it has 0, its own characters elsewhere. */
static gboolean
matches (const char *text,
         const char *pattern)
{
  if (strlen (text) != strlen (pattern))
    return FALSE;
  for (; *pattern != '\0'; text++, pattern++)
    if (*pattern == '0' ? !g_ascii_isdigit (*text) : *text != *pattern)
      return FALSE;

  return TRUE;
}

static gboolean
parse_time (const char *text,
            gint64     *time)
{
  g_autoptr (GDateTime) moment = NULL;

  if (text == NULL || !matches (text, "0000-00-00T00:00:00.000Z"))
    return FALSE;

  moment = g_date_time_new_utc (atoi (text), atoi (text + 5), atoi (text + 8),
                                atoi (text + 11), atoi (text + 14), atoi (text + 17));
  if (moment == NULL)
    return FALSE;
  *time = g_date_time_to_unix (moment) * G_USEC_PER_SEC + atoi (text + 20) * 1000;

  return *time >= 0;
}

json_t *
ow_event_to_json (const OwEvent *self)
{
  g_autofree char *time = format_time (self->time);
  json_t *json = json_object ();

  json_object_set_new (json, "seq", json_integer ((json_int_t) self->seq));
  json_object_set_new (json, "time", json_string (time));
  json_object_set_new (json, "session", json_string (self->session));
  json_object_set_new (json, "type", json_string (ow_event_kind_name (self->type)));
  json_object_update (json, self->members);

  return json;
}

char *
ow_event_to_line (const OwEvent *self)
{
  json_t *json = ow_event_to_json (self);
  char *text = ow_json_dump (json, NULL);
  char *line = g_strdup (text);

  free (text);
  json_decref (json);

  return line;
}

/* What is left of @json without the members that every event has. */
static json_t *
copy_members (const json_t *json)
{
  json_t *members = json_object ();
  const char *name;
  json_t *value;

  json_object_foreach ((json_t *) json, name, value)
    if (!ow_event_schema_is_common (name))
      json_object_set_new (members, name, json_deep_copy (value));

  return members;
}

OwEvent *
ow_event_from_json (const json_t  *json,
                    GError       **error)
{
  const char *session = ow_json_get_string (json, "session", NULL);
  json_int_t seq = ow_json_get_int (json, "seq", -1);
  const char *why = NULL;
  OwEventType type;
  json_t *members;
  gint64 time;

  if (!json_is_object (json))
    why = "it is not a JSON object";
  else if (!ow_event_kind_from_name (ow_json_get_string (json, "type", NULL), &type))
    why = "its type is not known";
  else if (seq < 0)
    why = "it has no number";
  else if (!is_session_id (session))
    why = "it has no session";
  else if (!parse_time (ow_json_get_string (json, "time", NULL), &time))
    why = "it has no time";
  if (why != NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, "This is no event", why, NULL);
      return NULL;
    }

  members = copy_members (json);
  if (!ow_event_schema_check (type, members, error))
    {
      json_decref (members);
      return NULL;
    }

  return make_event (type, session, members, (guint64) seq, time);
}

OwEvent *
ow_event_from_line (const char  *line,
                    gssize       length,
                    GError     **error)
{
  gsize bytes = length < 0 ? strlen (line) : (gsize) length;
  char why[OW_WIRE_ERROR_SIZE];
  OwEvent *self;
  json_t *json;

  if (bytes > MAX_LINE_BYTES)
    {
      ow_error_set (error, OW_ERROR_DATA, "This is no event", "the line is too long", NULL);
      return NULL;
    }

  json = ow_json_parse (line, bytes, why);
  if (json == NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, "This is no event", why, NULL);
      return NULL;
    }

  self = ow_event_from_json (json, error);
  json_decref (json);

  return self;
}
