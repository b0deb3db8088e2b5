/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-audit-record-private.h"

#include <stdlib.h>
#include <string.h>

#define RESULT_HEAD_CHARS 200
#define RECORD_START      "{\"n\":"
/* How many places of a damaged line are tried as the start of a record. */
#define MAX_STARTS        16

const char ow_audit_record_first_hash[OW_AUDIT_HASH_CHARS + 1] =
  "0000000000000000000000000000000000000000000000000000000000000000";

gboolean
ow_audit_wants (OwEventType type)
{
  switch (type)
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_SESSION_RESUMED:
    case OW_EVENT_CONSENT_ASKED:
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_TOOL_ENDED:
    case OW_EVENT_HOST_DECISION:
    case OW_EVENT_WALL:
    case OW_EVENT_FOLDERS_CHANGED:
    case OW_EVENT_EXECUTABLE_SETTINGS:
    case OW_EVENT_TRAFFIC:
    case OW_EVENT_SESSION_ENDED:
      return TRUE;
    case OW_EVENT_USER_MESSAGE:
    case OW_EVENT_MODEL_MESSAGE:
    case OW_EVENT_TOOL_ASKED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_MODEL_TEXT:
    case OW_EVENT_NOTICE:
    case OW_EVENT_TURN_ENDED:
    case OW_EVENT_N_TYPES:
      break;
    }

  return FALSE;
}

/* The hash is of what the tool really gave; the head is cut from what has been
 * redacted, because a secret over its edge would be past recognition. */
static void
replace_result (json_t *json)
{
  const json_t *result = json_object_get (json, "result");
  g_autofree char *hash = NULL;
  g_autofree char *head = NULL;
  json_t *clean;
  glong chars;

  if (!json_is_string (result))
    return;

  hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, json_string_value (result), -1);
  clean = ow_audit_redact (result);
  chars = g_utf8_strlen (json_string_value (clean), -1);
  head = g_utf8_substring (json_string_value (clean), 0, MIN (chars, RESULT_HEAD_CHARS));
  json_decref (clean);

  json_object_del (json, "result");
  json_object_set_new (json, "result_sha256", json_string (hash));
  json_object_set_new (json, "result_head", json_string (head));
}

/* A request's subject is JSON in a text, where member names have to be seen. */
static void
redact_subject (json_t *json)
{
  const char *subject = ow_json_get_string (json, "subject", NULL);
  char why[OW_WIRE_ERROR_SIZE];
  json_t *value, *clean;
  char *text;

  if (subject == NULL)
    return;
  value = ow_json_parse (subject, strlen (subject), why);
  if (value == NULL)
    return;

  clean = ow_audit_redact (value);
  text = ow_json_dump_canonical (clean, NULL);
  json_object_set_new (json, "subject", json_string (text != NULL ? text : ""));
  free (text);
  json_decref (clean);
  json_decref (value);
}

json_t *
ow_audit_record_make_event (OwEvent *event)
{
  json_t *json = ow_event_to_json (event);
  json_t *clean;

  redact_subject (json);
  replace_result (json);
  json_object_del (json, "structured");
  clean = ow_audit_redact (json);
  json_decref (json);

  return clean;
}

/* FALSE: there is no canonical text of it. */
static gboolean
compute_hash (guint64     n,
              const char *prev,
              json_t     *event,
              char        hash[OW_AUDIT_HASH_CHARS + 1])
{
  json_t *link = json_pack ("{s:I, s:s, s:O}", "n", (json_int_t) n, "prev", prev, "event", event);
  g_autofree char *hex = NULL;
  size_t length = 0;
  char *text = link != NULL ? ow_json_dump_canonical (link, &length) : NULL;

  json_decref (link);
  if (text == NULL)
    return FALSE;

  hex = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
  free (text);
  g_strlcpy (hash, hex, OW_AUDIT_HASH_CHARS + 1);

  return TRUE;
}

char *
ow_audit_record_make_line (guint64     n,
                           const char *prev,
                           json_t     *event,
                           char        hash[OW_AUDIT_HASH_CHARS + 1],
                           gsize      *length)
{
  json_t *record;
  char *line = NULL;
  size_t bytes = 0;
  char *text;

  if (!compute_hash (n, prev, event, hash))
    return NULL;

  record = json_pack ("{s:I, s:s, s:O, s:s}", "n", (json_int_t) n, "prev", prev, "event", event,
                      "hash", hash);
  text = ow_json_dump (record, &bytes);
  json_decref (record);
  if (text != NULL && bytes < OW_AUDIT_MAX_LINE_BYTES)
    {
      line = g_malloc (bytes + 2);
      memcpy (line, text, bytes);
      memcpy (line + bytes, "\n", 2);
      *length = bytes + 1;
    }
  free (text);

  return line;
}

static gboolean
copy_hash (const json_t *json,
           const char   *member,
           char          hash[OW_AUDIT_HASH_CHARS + 1])
{
  const char *text = ow_json_get_string (json, member, "");

  if (strlen (text) != OW_AUDIT_HASH_CHARS ||
      strspn (text, "0123456789abcdef") != OW_AUDIT_HASH_CHARS)
    return FALSE;
  memcpy (hash, text, OW_AUDIT_HASH_CHARS + 1);

  return TRUE;
}

/* The hash is of the content, which can also be spelt otherwise: what does not stand as it
 * was written has been changed. */
static gboolean
is_as_written (json_t     *json,
               const char *text,
               gsize       length)
{
  size_t bytes = 0;
  char *written = ow_json_dump (json, &bytes);
  gboolean same = written != NULL && bytes == length && memcmp (written, text, length) == 0;

  free (written);

  return same;
}

static gboolean
parse_exact (OwAuditRecord *record,
             const char    *text,
             gsize          length)
{
  char why[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (text, length, why);
  json_t *event = json_object_get (json, "event");
  json_int_t n = ow_json_get_int (json, "n", 0);
  char hash[OW_AUDIT_HASH_CHARS + 1];
  gboolean ok = n > 0 && json_is_object (event) && json_object_size (json) == 4 &&
                copy_hash (json, "prev", record->prev) && copy_hash (json, "hash", record->hash);

  if (ok)
    {
      record->n = (guint64) n;
      record->event = json_incref (event);
      record->true_hash = compute_hash (record->n, record->prev, event, hash) &&
                          strcmp (hash, record->hash) == 0;
      record->whole = is_as_written (json, text, length);
    }
  json_decref (json);

  return ok;
}

gboolean
ow_audit_record_parse (OwAuditRecord *record,
                       const char    *line,
                       gsize          length)
{
  const char *end = line + length;
  const char *start = line;

  memset (record, 0, sizeof *record);
  if (parse_exact (record, line, length))
    return TRUE;

  for (guint i = 0; i < MAX_STARTS && start < end; i++)
    {
      start = memmem (start + 1, (gsize) (end - start - 1), RECORD_START, strlen (RECORD_START));
      if (start == NULL)
        return FALSE;
      if (parse_exact (record, start, (gsize) (end - start)))
        {
          record->whole = FALSE;
          if (record->true_hash)
            return TRUE;
          ow_audit_record_clear (record);
        }
    }

  return FALSE;
}

void
ow_audit_record_clear (OwAuditRecord *record)
{
  json_decref (record->event);
  record->event = NULL;
}
