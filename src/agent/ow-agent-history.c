/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-agent-history-private.h"

#include <string.h>

#include "agent/ow-agent.h"

/* What of one result the model is given: enough for a file or a test run, little
 * enough that a few results do not fill its window. */
#define RESULT_HEAD_BYTES (48u * 1024u)
#define RESULT_TAIL_BYTES (16u * 1024u)

#define NOTE_MARK "[Note from OpenWorker, not from the user or a tool] "
#define NO_RESULT "[This call did not end; whether it had an effect is not known.]"

char *
ow_agent_result_for_model (const char *result)
{
  gsize       length;
  const char *head_end;
  const char *tail;

  if (result == NULL || *result == '\0')
    return g_strdup ("(no output)");
  length = strlen (result);
  if (length <= RESULT_HEAD_BYTES + RESULT_TAIL_BYTES)
    return g_strdup (result);
  head_end = g_utf8_find_prev_char (result, result + RESULT_HEAD_BYTES + 1);
  tail = g_utf8_find_next_char (result + length - RESULT_TAIL_BYTES - 1, NULL);
  return g_strdup_printf ("%.*s\n[… %" G_GSIZE_FORMAT " bytes left out here. To see them, ask for "
                          "less at a time: read with offset and limit, grep for what matters, or "
                          "send a command's output to a file and read parts of it. …]\n%s",
                          (int) (head_end - result), result, (gsize) (tail - head_end), tail);
}

static json_t *
append_text (json_t     *history,
             const char *role,
             const char *text)
{
  json_t *entry = json_object ();

  json_object_set_new (entry, "role", json_string (role));
  json_object_set_new (entry, "text", json_string (text != NULL ? text : ""));
  json_array_append_new (history, entry);
  return entry;
}

/* The message, and behind it one tool entry for each call, filled when its end comes. */
static void
append_model_message (json_t        *history,
                      GHashTable    *open,
                      const OwEvent *event)
{
  json_t *calls = json_object_get (ow_event_get_members (event), "tool_calls");
  json_t *entry = append_text (history, "assistant", ow_event_get_string (event, "text"));

  json_object_set_new (entry, "tool_calls",
                       json_is_array (calls) ? json_deep_copy (calls) : json_array ());
  /* Models use their ids again in later turns: only those of the last message count. */
  g_hash_table_remove_all (open);
  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *call = json_array_get (calls, i);
      const char   *id = ow_json_get_string (call, "id", "");
      json_t       *tool = append_text (history, "tool", NO_RESULT);

      json_object_set_new (tool, "id", json_string (id));
      json_object_set_new (tool, "name", json_string (ow_json_get_string (call, "name", "")));
      g_hash_table_insert (open, g_strdup (id), tool);
    }
}

static void
fill_result (GHashTable    *open,
             const OwEvent *event)
{
  const char       *id = ow_event_get_string (event, "model_call");
  json_t           *tool = id != NULL ? g_hash_table_lookup (open, id) : NULL;
  g_autofree char  *text = NULL;

  if (tool == NULL)
    return;
  text = ow_agent_result_for_model (ow_event_get_string (event, "result"));
  json_object_set_new (tool, "text", json_string (text));
}

static void
append_note (json_t        *history,
             const OwEvent *event)
{
  g_autofree char *text = g_strconcat (NOTE_MARK, ow_event_get_string (event, "text"), NULL);

  append_text (history, "system", text);
}

json_t *
ow_agent_history_make (OwEventList *events,
                       const char  *system_prompt)
{
  g_autoptr (GHashTable) open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  json_t *history = json_array ();
  guint   n = ow_event_list_get_n (events);

  append_text (history, "system", system_prompt);
  for (guint i = 0; i < n; i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      switch (ow_event_get_kind (event))
        {
        case OW_EVENT_USER_MESSAGE:
          append_text (history, "user", ow_event_get_string (event, "text"));
          break;
        case OW_EVENT_MODEL_MESSAGE:
          append_model_message (history, open, event);
          break;
        case OW_EVENT_TOOL_ENDED:
          fill_result (open, event);
          break;
        case OW_EVENT_NOTICE:
          append_note (history, event);
          break;
        default:
          break;
        }
    }
  return history;
}
