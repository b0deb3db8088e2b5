/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-cut-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-text.h"

/* A text longer than this is shortened; what matters to a person stands at its beginning. */
#define LONG_BYTES 65536
#define KEPT_CHARS 16384

static gsize
measure (const json_t *value)
{
  size_t length = 0;
  char *text = ow_json_dump (value, &length);

  free (text);
  return length;
}

static json_t *
shorten (const json_t *value)
{
  json_t *copy;
  const char *key;
  json_t *member;

  if (json_is_string (value) && json_string_length (value) > LONG_BYTES)
    {
      g_autofree char *text = ow_text_shorten (json_string_value (value), KEPT_CHARS, FALSE);

      return json_string (text);
    }
  if (json_is_object (value))
    {
      copy = json_object ();
      json_object_foreach ((json_t *) value, key, member)
        json_object_set_new (copy, key, shorten (member));
      return copy;
    }
  if (json_is_array (value))
    {
      copy = json_array ();
      for (size_t i = 0; i < json_array_size (value); i++)
        json_array_append_new (copy, shorten (json_array_get (value, i)));
      return copy;
    }
  return json_incref ((json_t *) value);
}

/* Very many short texts: what has no place in one text goes. */
static void
drop_structure (json_t *json)
{
  static const char * const OPTIONAL[] = { "structured", "usage" };

  for (guint i = 0; i < G_N_ELEMENTS (OPTIONAL); i++)
    json_object_del (json, OPTIONAL[i]);
  if (json_object_get (json, "arguments") != NULL)
    json_object_set_new (json, "arguments", json_object ());
  if (json_object_get (json, "tool_calls") != NULL)
    json_object_set_new (json, "tool_calls", json_array ());
}

json_t *
ow_engine_cut_event (const OwEvent *event,
                     gsize         *bytes)
{
  json_t *json = ow_event_to_json (event);
  json_t *cut;

  *bytes = measure (json);
  if (*bytes <= OW_ENGINE_CUT_PAGE_BYTES)
    return json;
  cut = shorten (json);
  json_decref (json);
  if (measure (cut) > OW_ENGINE_CUT_PAGE_BYTES)
    drop_structure (cut);
  json_object_set_new (cut, "x-cut", json_true ());
  *bytes = measure (cut);
  return cut;
}
