/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-decision-private.h"

#include <glib.h>
#include <string.h>

#define LINE_BYTES 4096
#define HOST_BYTES 255
#define ADDRESS_BYTES 64
#define PROGRAM_BYTES 1024

static const char * const decisions[] = { "allow", "refuse", NULL };
static const char * const reasons[] = {
  "listed", "not_listed", "address", "resolve", "connect", "malformed", NULL
};

/* @words: (nullable) what it may be; else any text of at most @max bytes. */
static gboolean
is_text (const json_t       *decision,
         const char         *key,
         const char * const *words,
         gsize               max)
{
  const char *text = ow_json_get_string (decision, key, NULL);

  if (text == NULL)
    return FALSE;
  if (words != NULL)
    return g_strv_contains (words, text);
  return strlen (text) <= max;
}

json_t *
ow_decision_parse (const char *line)
{
  char error[OW_WIRE_ERROR_SIZE];
  gsize length = strlen (line);
  json_t *decision = length <= LINE_BYTES ? ow_json_parse (line, length, error) : NULL;
  gboolean has_address = json_object_get (decision, "address") != NULL;
  gboolean has_dropped = json_object_get (decision, "dropped") != NULL;
  gboolean has_program = json_object_get (decision, "program") != NULL;
  gboolean has_time = json_object_get (decision, "time_ms") != NULL;
  json_int_t port = ow_json_get_int (decision, "port", -1);

  if (json_is_object (decision)
      && json_object_size (decision) == 4u + has_address + has_dropped + has_program + has_time
      && (!has_dropped || ow_json_get_int (decision, "dropped", -1) >= 0)
      && is_text (decision, "decision", decisions, 0)
      && is_text (decision, "reason", reasons, 0)
      && is_text (decision, "host", NULL, HOST_BYTES)
      && (!has_program || is_text (decision, "program", NULL, PROGRAM_BYTES))
      && (!has_time || ow_json_get_int (decision, "time_ms", -1) >= 0)
      && (!has_address || is_text (decision, "address", NULL, ADDRESS_BYTES))
      && port >= 0 && port <= G_MAXUINT16)
    return decision;
  json_decref (decision);
  return NULL;
}
