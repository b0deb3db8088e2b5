/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-openai-request-private.h"
#include "ow-openai-stream-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
on_text (const char *text,
         gpointer    user_data)
{
  if (!g_utf8_validate (text, -1, NULL))
    abort ();
  g_string_append (user_data, text);
}

static OwModelTurn *
read_stream (const uint8_t *data,
             size_t         size,
             size_t         step)
{
  g_autoptr (GString) said = g_string_new (NULL);
  g_autoptr (OwOpenaiStream) stream = ow_openai_stream_new (on_text, said);
  g_autoptr (GError) error = NULL;
  OwModelTurn *turn;

  for (size_t at = 0; at < size; at += step)
    ow_openai_stream_feed (stream, (const char *) data + at, MIN (step, size - at));
  turn = ow_openai_stream_end (stream, NULL, &error);
  if ((turn == NULL) == (error == NULL) || (turn != NULL && strcmp (turn->text, said->str) != 0))
    abort ();
  return turn;
}

/* Stored, read again, and sent back: all of it parses. */
static void
check_turn (const OwModelTurn *turn)
{
  json_t *entry = json_object ();
  json_t *history = json_array ();
  json_t *again;
  GBytes *body;
  char    message[OW_WIRE_ERROR_SIZE];
  char   *text;
  size_t  length;

  if (turn->cut != NULL && json_array_size (turn->tool_calls) > 0)
    abort ();
  for (size_t i = 0; i < json_array_size (turn->tool_calls); i++)
    {
      const json_t *call = json_array_get (turn->tool_calls, i);

      if (*ow_json_get_string (call, "id", "") == '\0' ||
          *ow_json_get_string (call, "name", "") == '\0' ||
          !json_is_object (json_object_get (call, "arguments")))
        abort ();
    }
  json_object_set_new (entry, "role", json_string ("assistant"));
  json_object_set_new (entry, "text", json_string (turn->text));
  json_object_set (entry, "tool_calls", turn->tool_calls);
  json_array_append_new (history, entry);
  text = ow_json_dump (history, &length);
  again = text != NULL ? ow_json_parse (text, length, message) : NULL;
  if (again == NULL || !json_equal (again, history))
    abort ();
  json_decref (again);
  free (text);
  body = ow_openai_request_make ("m", history, NULL, FALSE);
  again = ow_json_parse (g_bytes_get_data (body, NULL), g_bytes_get_size (body), message);
  if (again == NULL)
    abort ();
  json_decref (again);
  g_bytes_unref (body);
  json_decref (history);
}

static gboolean
same_usage (const OwModelTurn *one,
            const OwModelTurn *two)
{
  return one->usage == NULL ? two->usage == NULL : json_equal (one->usage, two->usage);
}

/* Byte by byte and in one piece: the same turn, but for ids that are made here. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (OwModelTurn) bytes = read_stream (data, size, 1);
  g_autoptr (OwModelTurn) whole = read_stream (data, size, MAX (size, 1));

  if ((bytes == NULL) != (whole == NULL))
    abort ();
  if (bytes == NULL)
    return 0;
  if (strcmp (bytes->text, whole->text) != 0 || strcmp (bytes->finish, whole->finish) != 0 ||
      g_strcmp0 (bytes->cut, whole->cut) != 0 || !same_usage (bytes, whole) ||
      json_array_size (bytes->tool_calls) != json_array_size (whole->tool_calls))
    abort ();
  check_turn (whole);
  return 0;
}
