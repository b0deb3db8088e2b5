/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-event-schema-private.h"

#include <string.h>

#include "base/ow-error.h"

#define MAX_MEMBERS 16

typedef enum {
  STRING = 1 << 0,
  INTEGER = 1 << 1,
  REAL = 1 << 2,
  BOOLEAN = 1 << 3,
  ARRAY = 1 << 4,
  OBJECT = 1 << 5,
  JSON_NULL_VALUE = 1 << 6,
  ANY = STRING | INTEGER | REAL | BOOLEAN | ARRAY | OBJECT | JSON_NULL_VALUE,
  COUNT = 1 << 7,     /* an integer that is not negative */
  OPTIONAL = 1 << 8,
} Kind;

typedef gboolean (*CheckFunc) (const json_t *value);

typedef struct {
  const char         *name;
  unsigned int        kind;
  const char * const *values;  /* (nullable) the texts that it may be */
  CheckFunc           check;   /* (nullable) */
} Member;

typedef struct {
  Member members[MAX_MEMBERS];
} Schema;

static const char * const level_values[] = {
  "openshell", "bubblewrap", "direct", "connector", NULL
};
static const char * const kind_values[] = {
  "tool", "host", "folder", "connector", "limit", NULL
};
static const char * const consent_values[] = { "deny", "once", "session", "always", NULL };
static const char * const purpose_values[] = { "instructions", "project", "settings", NULL };
static const char * const run_values[] = { "changes", NULL };
static const char * const stream_values[] = { "stdout", "stderr", NULL };
static const char * const outcome_values[] = {
  "ok", "failed", "cancelled", "interrupted", "denied", NULL
};
static const char * const host_values[] = { "allow", "refuse", NULL };
static const char * const wall_values[] = { "up", "lost", "down", NULL };
static const char * const turn_values[] = { "done", "stopped", "limit", "failed", NULL };
static const char * const session_values[] = {
  "done", "failed", "stopped", "refused", "parked", "interrupted", NULL
};

static gboolean
check_folders (const json_t *value)
{
  for (size_t i = 0; i < json_array_size (value); i++)
    {
      const json_t *folder = json_array_get (value, i);

      if (!json_is_string (json_object_get (folder, "path")) ||
          !json_is_boolean (json_object_get (folder, "read_only")))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_texts (const json_t *value)
{
  for (size_t i = 0; i < json_array_size (value); i++)
    if (!json_is_string (json_array_get (value, i)))
      return FALSE;
  return TRUE;
}

static gboolean
check_tool_calls (const json_t *value)
{
  for (size_t i = 0; i < json_array_size (value); i++)
    {
      const json_t *call = json_array_get (value, i);

      if (!json_is_string (json_object_get (call, "id")) ||
          !json_is_string (json_object_get (call, "name")) ||
          json_object_get (call, "arguments") == NULL)
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_settings (const json_t *value)
{
  for (size_t i = 0; i < json_array_size (value); i++)
    {
      const json_t *setting = json_array_get (value, i);

      if (!json_is_string (json_object_get (setting, "path")) ||
          !json_is_string (json_object_get (setting, "kind")) ||
          !json_is_string (json_object_get (setting, "what")) ||
          !json_is_string (json_object_get (setting, "why")))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_port (const json_t *value)
{
  return json_integer_value (value) <= G_MAXUINT16;
}

/* A count, or null where nobody counted. */
static gboolean
is_total (const json_t *value,
          gboolean      nullable)
{
  return (nullable && json_is_null (value)) ||
         (json_is_integer (value) && json_integer_value (value) >= 0);
}

static gboolean
check_traffic (const json_t *value)
{
  for (size_t i = 0; i < json_array_size (value); i++)
    {
      const json_t *host = json_array_get (value, i);
      const json_t *program = json_object_get (host, "program");

      if (!json_is_string (json_object_get (host, "host")) ||
          !is_total (json_object_get (host, "port"), FALSE) ||
          !check_port (json_object_get (host, "port")) ||
          !is_total (json_object_get (host, "up"), TRUE) ||
          !is_total (json_object_get (host, "down"), TRUE) ||
          !is_total (json_object_get (host, "connections"), FALSE) ||
          !is_total (json_object_get (host, "refused"), FALSE) ||
          (program != NULL && !json_is_string (program)) ||
          json_object_size (host) != 6u + (program != NULL))
        return FALSE;
    }
  return TRUE;
}

#define LEVEL { "level", STRING, level_values, NULL }
#define CALL  { "call", STRING, NULL, NULL }
#define TOOL  { "tool", STRING, NULL, NULL }
/* Who runs a session, and how. */
#define RUN \
  { "provider", STRING, NULL, NULL }, \
  LEVEL, \
  { "model", STRING | OPTIONAL, NULL, NULL }, \
  { "base_url", STRING | OPTIONAL, NULL, NULL }, \
  { "profile", STRING, NULL, NULL }, \
  { "hosts", ARRAY, NULL, check_texts }, \
  { "approve", STRING, NULL, NULL }, \
  { "version", STRING, NULL, NULL }, \
  { "pid", COUNT, NULL, NULL }, \
  { "pid_start", COUNT | STRING, NULL, NULL }, \
  { "boot_id", STRING, NULL, NULL }, \
  { "notice", STRING | OPTIONAL, NULL, NULL }

static const Schema schemas[OW_EVENT_N_TYPES] = {
  [OW_EVENT_SESSION_STARTED] = { { { "folders", ARRAY, NULL, check_folders }, RUN } },
  [OW_EVENT_SESSION_RESUMED] = { { RUN, { "purpose", STRING | OPTIONAL, run_values, NULL } } },
  [OW_EVENT_MODEL_TEXT] = { { { "text", STRING, NULL, NULL } } },
  [OW_EVENT_USER_MESSAGE] = { { { "text", STRING, NULL, NULL } } },
  [OW_EVENT_MODEL_MESSAGE] = { {
                                 { "text", STRING, NULL, NULL },
                                 { "tool_calls", ARRAY, NULL, check_tool_calls },
                                 { "finish", STRING, NULL, NULL },
                                 { "cut", STRING | OPTIONAL, NULL, NULL },
                                 { "usage", OBJECT | OPTIONAL, NULL, NULL },
                               } },
  [OW_EVENT_TOOL_ASKED] = { {
                              CALL,
                              TOOL,
                              { "arguments", ANY, NULL, NULL },
                              LEVEL,
                              { "model_call", STRING | OPTIONAL, NULL, NULL },
                              { "purpose", STRING | OPTIONAL, purpose_values, NULL },
                              { "undoes", ARRAY | OPTIONAL, NULL, check_texts },
                            } },
  [OW_EVENT_CONSENT_ASKED] = { {
                                 { "request", STRING, NULL, NULL },
                                 { "kind", STRING, kind_values, NULL },
                                 { "call", STRING | OPTIONAL, NULL, NULL },
                                 { "title", STRING, NULL, NULL },
                                 { "subject", STRING, NULL, NULL },
                                 LEVEL,
                                 { "timeout_s", COUNT, NULL, NULL },
                                 { "always", STRING | OPTIONAL, NULL, NULL },
                               } },
  [OW_EVENT_CONSENT_ANSWERED] = { {
                                    { "request", STRING, NULL, NULL },
                                    { "decision", STRING, consent_values, NULL },
                                    { "approval", STRING, NULL, NULL },
                                    { "reason", STRING | OPTIONAL, NULL, NULL },
                                  } },
  [OW_EVENT_TOOL_STARTED] = { {
                                CALL,
                                TOOL,
                                { "arguments", ANY, NULL, NULL },
                                LEVEL,
                                { "approval", STRING, NULL, NULL },
                              } },
  [OW_EVENT_TOOL_OUTPUT] = { {
                               CALL,
                               LEVEL,
                               { "stream", STRING, stream_values, NULL },
                               { "text", STRING | OPTIONAL, NULL, NULL },
                               { "data", STRING | OPTIONAL, NULL, NULL },
                             } },
  [OW_EVENT_TOOL_ENDED] = { {
                              CALL,
                              TOOL,
                              LEVEL,
                              { "outcome", STRING, outcome_values, NULL },
                              { "result", STRING | OPTIONAL, NULL, NULL },
                              { "result_sha256", STRING | OPTIONAL, NULL, NULL },
                              { "result_head", STRING | OPTIONAL, NULL, NULL },
                              { "duration_ms", COUNT, NULL, NULL },
                              { "bytes", COUNT, NULL, NULL },
                              { "exit_status", INTEGER | OPTIONAL, NULL, NULL },
                              { "signal", COUNT | OPTIONAL, NULL, NULL },
                              { "state_lost", BOOLEAN | OPTIONAL, NULL, NULL },
                              { "model_call", STRING | OPTIONAL, NULL, NULL },
                              { "structured", ANY | OPTIONAL, NULL, NULL },
                            } },
  [OW_EVENT_HOST_DECISION] = { {
                                 { "host", STRING, NULL, NULL },
                                 { "port", COUNT, NULL, check_port },
                                 { "decision", STRING, host_values, NULL },
                                 { "reason", STRING, NULL, NULL },
                                 LEVEL,
                                 { "address", STRING | OPTIONAL, NULL, NULL },
                                 { "private", BOOLEAN | OPTIONAL, NULL, NULL },
                                 { "program", STRING | OPTIONAL, NULL, NULL },
                                 { "sandbox", STRING | OPTIONAL, NULL, NULL },
                                 { "call", STRING | OPTIONAL, NULL, NULL },
                               } },
  [OW_EVENT_WALL] = { {
                        { "state", STRING, wall_values, NULL },
                        LEVEL,
                        { "reason", STRING | OPTIONAL, NULL, NULL },
                        { "credentials", ARRAY | OPTIONAL, NULL, check_texts },
                      } },
  [OW_EVENT_FOLDERS_CHANGED] = { { { "folders", ARRAY, NULL, check_folders }, LEVEL } },
  [OW_EVENT_EXECUTABLE_SETTINGS] = { {
                                       { "settings", ARRAY, NULL, check_settings },
                                       { "total", COUNT, NULL, NULL },
                                       LEVEL,
                                       { "cut", BOOLEAN | OPTIONAL, NULL, NULL },
                                       { "late", BOOLEAN | OPTIONAL, NULL, NULL },
                                     } },
  [OW_EVENT_TRAFFIC] = { { { "traffic", ARRAY, NULL, check_traffic }, LEVEL } },
  [OW_EVENT_NOTICE] = { { { "text", STRING, NULL, NULL } } },
  [OW_EVENT_TURN_ENDED] = { {
                              { "reason", STRING, turn_values, NULL },
                              { "message", STRING | OPTIONAL, NULL, NULL },
                            } },
  [OW_EVENT_SESSION_ENDED] = { {
                                 { "outcome", STRING, session_values, NULL },
                                 { "exit", COUNT, NULL, NULL },
                                 { "message", STRING | OPTIONAL, NULL, NULL },
                                 { "cut", BOOLEAN | OPTIONAL, NULL, NULL },
                               } },
};

static gboolean
has_kind (const json_t *value,
          unsigned int  kind)
{
  switch (json_typeof (value))
    {
    case JSON_STRING:
      return (kind & STRING) != 0;
    case JSON_INTEGER:
      return (kind & INTEGER) != 0 || ((kind & COUNT) != 0 && json_integer_value (value) >= 0);
    case JSON_REAL:
      return (kind & REAL) != 0;
    case JSON_TRUE:
    case JSON_FALSE:
      return (kind & BOOLEAN) != 0;
    case JSON_ARRAY:
      return (kind & ARRAY) != 0;
    case JSON_OBJECT:
      return (kind & OBJECT) != 0;
    case JSON_NULL:
      return (kind & JSON_NULL_VALUE) != 0;
    }

  return FALSE;
}

static const Member *
find_member (OwEventType  type,
             const char  *name)
{
  for (const Member *member = schemas[type].members; member->name != NULL; member++)
    if (strcmp (member->name, name) == 0)
      return member;
  return NULL;
}

static gboolean
fail (GError      **error,
      OwEventType   type,
      const char   *member,
      const char   *why)
{
  ow_error_setf (error, OW_ERROR_DATA, NULL, "This is no %s event: \"%.60s\" %s",
                 ow_event_kind_name (type), member, why);
  return FALSE;
}

static gboolean
check_member (OwEventType    type,
              const char    *name,
              const json_t  *value,
              GError       **error)
{
  const Member *member = find_member (type, name);

  if (member == NULL)
    return g_str_has_prefix (name, "x-") || fail (error, type, name, "does not belong in it");
  if (!has_kind (value, member->kind))
    return fail (error, type, name, "is of the wrong type");
  if (member->values != NULL && !g_strv_contains (member->values, json_string_value (value)))
    return fail (error, type, name, "has a value that is not known");
  if (member->check != NULL && !member->check (value))
    return fail (error, type, name, "is not formed as it should be");

  return TRUE;
}

/* Of two forms of one thing exactly one must be there. */
static gboolean
check_alternatives (OwEventType    type,
                    const json_t  *members,
                    GError       **error)
{
  if (type == OW_EVENT_TOOL_OUTPUT &&
      (json_object_get (members, "text") != NULL) == (json_object_get (members, "data") != NULL))
    return fail (error, type, "text", "or \"data\" must be there, and only one of them");

  if (type == OW_EVENT_TOOL_ENDED)
    {
      gboolean whole = json_object_get (members, "result") != NULL;
      gboolean hash = json_object_get (members, "result_sha256") != NULL;
      gboolean head = json_object_get (members, "result_head") != NULL;

      if (hash != head || whole == hash)
        return fail (error, type, "result",
                     "must be there, or its \"result_sha256\" and \"result_head\"");
    }

  return TRUE;
}

gboolean
ow_event_schema_check (OwEventType    type,
                       const json_t  *members,
                       GError       **error)
{
  const char *name;
  json_t *value;

  json_object_foreach ((json_t *) members, name, value)
    if (!check_member (type, name, value, error))
      return FALSE;

  for (const Member *member = schemas[type].members; member->name != NULL; member++)
    if ((member->kind & OPTIONAL) == 0 && json_object_get (members, member->name) == NULL)
      return fail (error, type, member->name, "is missing");

  return check_alternatives (type, members, error);
}

gboolean
ow_event_schema_is_common (const char *member)
{
  static const char * const common[] = { "seq", "time", "session", "type", NULL };

  return g_strv_contains (common, member);
}
