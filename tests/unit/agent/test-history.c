/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "ow-agent-history-private.h"

/* What a model is sent is made from the event list each time. Whatever stands in that list,
 * and wherever it was cut short, it is a conversation that a model takes. */

#define LISTS  400
#define EVENTS 40

static void
append (OwEventList *list,
        OwEventType  type,
        json_t      *members)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEvent) event = ow_event_list_append (list, type, members, &error);

  g_assert_no_error (error);
  g_assert_nonnull (event);
}

static const char *
role_of (const json_t *entry)
{
  return ow_json_get_string (entry, "role", "");
}

/* Behind @at one result for each call of that message, in order, each once. */
static void
assert_results (const json_t *history,
                size_t        at)
{
  const json_t *calls = json_object_get (json_array_get (history, at), "tool_calls");
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);

  g_assert_true (json_is_array (calls));
  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *call = json_array_get (calls, i);
      const json_t *result = json_array_get (history, at + 1 + i);
      const char   *id = ow_json_get_string (call, "id", "");

      g_assert_cmpstr (id, !=, "");
      g_assert_true (g_hash_table_add (ids, (gpointer) id));
      g_assert_cmpstr (ow_json_get_string (call, "name", ""), !=, "");
      g_assert_true (json_is_object (json_object_get (call, "arguments")));
      g_assert_cmpstr (role_of (result), ==, "tool");
      g_assert_cmpstr (ow_json_get_string (result, "id", ""), ==, id);
      g_assert_cmpstr (ow_json_get_string (result, "text", ""), !=, "");
    }
}

static void
assert_valid (const json_t *history)
{
  char    message[OW_WIRE_ERROR_SIZE];
  char   *text = ow_json_dump (history, NULL);
  json_t *parsed = text != NULL ? ow_json_parse (text, strlen (text), message) : NULL;
  size_t  n_results = 0;

  g_assert_nonnull (parsed);
  g_assert_true (json_equal (parsed, history));
  g_assert_cmpstr (role_of (json_array_get (history, 0)), ==, "system");
  for (size_t i = 0; i < json_array_size (history); i++)
    {
      const json_t *entry = json_array_get (history, i);
      const char   *role = role_of (entry);
      const char   *said = ow_json_get_string (entry, "text", NULL);

      g_assert_nonnull (said);
      if (g_str_equal (role, "tool"))
        {
          g_assert_cmpuint (n_results, >, 0);
          n_results--;
          continue;
        }
      g_assert_cmpuint (n_results, ==, 0);
      g_assert_true (g_str_equal (role, "system") || g_str_equal (role, "user") ||
                     g_str_equal (role, "assistant"));
      if (!g_str_equal (role, "assistant"))
        continue;
      assert_results (history, i);
      n_results = json_array_size (json_object_get (entry, "tool_calls"));
      g_assert_true (n_results > 0 || *said != '\0');
    }
  g_assert_cmpuint (n_results, ==, 0);
  free (text);
  json_decref (parsed);
}

static json_t *
random_arguments (void)
{
  switch (g_test_rand_int_range (0, 6))
    {
    case 0:
      return json_string ("{\"command\": \"rm -r");
    case 1:
      return json_null ();
    case 2:
      return json_pack ("[i]", 7);
    case 3:
      return json_string ("");
    default:
      return json_pack ("{s:s}", "command", "ls");
    }
}

static const char * const ids[] = { "", "a", "b", "c", "call 1", "é" };

static const char *
random_id (void)
{
  return ids[g_test_rand_int_range (0, G_N_ELEMENTS (ids))];
}

static json_t *
random_message (guint n)
{
  json_t *calls = json_array ();
  json_t *members;

  for (gint i = g_test_rand_int_range (-2, 4); i > 0; i--)
    json_array_append_new (calls,
                           json_pack ("{s:s, s:s, s:o}", "id", random_id (), "name",
                                      g_test_rand_bit () || g_test_rand_bit () ? "shell" : "",
                                      "arguments", random_arguments ()));
  members = json_pack ("{s:s, s:o, s:s}", "text", g_test_rand_bit () ? "Words." : "",
                       "tool_calls", calls, "finish", "stop");
  if (g_test_rand_int_range (0, 4) == 0)
    json_object_set_new (members, "cut", json_string ("It ended."));
  if (g_test_rand_int_range (0, 4) == 0)
    json_object_set_new (members, "x-seen",
                         json_integer (g_test_rand_int_range (-2, (gint) n + 2)));
  if (g_test_rand_int_range (0, 16) == 0)
    json_object_set_new (members, "x-seen", json_string ("none"));
  return members;
}

static void
append_random (OwEventList *list)
{
  const char *call = random_id ();
  const char *tool = "shell";

  switch (g_test_rand_int_range (0, 8))
    {
    case 0:
      append (list, OW_EVENT_USER_MESSAGE,
              json_pack ("{s:s}", "text", g_test_rand_bit () ? "Please." : ""));
      break;
    case 1:
    case 2:
      append (list, OW_EVENT_MODEL_MESSAGE, random_message (ow_event_list_get_n (list)));
      break;
    case 3:
      append (list, OW_EVENT_TOOL_ASKED,
              json_pack ("{s:s, s:s, s:{}, s:s, s:s?, s:s?}", "call", call, "tool", tool,
                         "arguments", "level", "direct", "model_call",
                         g_test_rand_bit () ? random_id () : NULL, "purpose",
                         g_test_rand_bit () ? NULL : "instructions"));
      break;
    case 4:
      append (list, OW_EVENT_TOOL_STARTED,
              json_pack ("{s:s, s:s, s:{}, s:s, s:s}", "call", call, "tool", tool, "arguments",
                         "level", "direct", "approval", "person:once"));
      break;
    case 5:
    case 6:
      append (list, OW_EVENT_TOOL_ENDED,
              json_pack ("{s:s, s:s, s:s, s:s, s:s?, s:i, s:i, s:s?}", "call", call, "tool", tool,
                         "level", "direct", "outcome", g_test_rand_bit () ? "ok" : "failed",
                         "result", g_test_rand_bit () ? "seen" : "", "duration_ms", 1, "bytes",
                         1, "model_call", g_test_rand_bit () ? random_id () : NULL));
      break;
    default:
      append (list, OW_EVENT_NOTICE, json_pack ("{s:s}", "text", "Something."));
      break;
    }
}

/* Each list is looked at after each event, which is every place at which it can be cut. */
static void
test_any_list (void)
{
  for (guint i = 0; i < LISTS; i++)
    {
      g_autoptr (OwEventList) list = ow_event_list_new ("s1");

      for (guint j = 0; j < EVENTS; j++)
        {
          json_t *history;

          append_random (list);
          history = ow_agent_history_make (list, "the prompt");
          assert_valid (history);
          json_decref (history);
        }
    }
}

static void
append_message (OwEventList *list,
                const char  *text,
                guint        n_calls,
                gint         seen)
{
  json_t *calls = json_array ();
  json_t *members;

  for (guint i = 0; i < n_calls; i++)
    {
      g_autofree char *id = g_strdup_printf ("c%u", i + 1);

      json_array_append_new (calls, json_pack ("{s:s, s:s, s:{}}", "id", id, "name", "shell",
                                               "arguments"));
    }
  members = json_pack ("{s:s, s:o, s:s}", "text", text, "tool_calls", calls, "finish", "stop");
  if (seen >= 0)
    json_object_set_new (members, "x-seen", json_integer (seen));
  append (list, OW_EVENT_MODEL_MESSAGE, members);
}

static void
append_text (OwEventList *list,
             OwEventType  type,
             const char  *text)
{
  append (list, type, json_pack ("{s:s}", "text", text));
}

static void
assert_texts (OwEventList        *list,
              const char * const *texts)
{
  json_t *history = ow_agent_history_make (list, "the prompt");
  size_t  n = 0;

  for (; texts[n] != NULL; n++)
    g_assert_nonnull (strstr (ow_json_get_string (json_array_get (history, n), "text", ""),
                              texts[n]));
  g_assert_cmpuint (json_array_size (history), ==, n);
  assert_valid (history);
  json_decref (history);
}

/* A call that did not begin is told from one that did not end. */
static void
test_open_calls (void)
{
  static const char * const texts[] = { "the prompt", "do it", "Now.", "did not end",
                                        "did not run", "did not run", "goes on", NULL };
  g_autoptr (OwEventList) list = ow_event_list_new ("s1");

  append_text (list, OW_EVENT_USER_MESSAGE, "do it");
  append_message (list, "Now.", 3, -1);
  append (list, OW_EVENT_TOOL_ASKED,
          json_pack ("{s:s, s:s, s:{}, s:s, s:s}", "call", "x", "tool", "shell", "arguments",
                     "level", "direct", "model_call", "c1"));
  append (list, OW_EVENT_TOOL_STARTED,
          json_pack ("{s:s, s:s, s:{}, s:s, s:s}", "call", "x", "tool", "shell", "arguments",
                     "level", "direct", "approval", "person:once"));
  append (list, OW_EVENT_TOOL_ASKED,
          json_pack ("{s:s, s:s, s:{}, s:s, s:s}", "call", "y", "tool", "shell", "arguments",
                     "level", "direct", "model_call", "c2"));
  append_text (list, OW_EVENT_NOTICE, "It goes on.");
  assert_texts (list, texts);
}

/* Words stand where the model read them. */
static void
test_order_of_words (void)
{
  static const char * const texts[] = {
    "the prompt", "one", "First.", "did not run", "two", "three", "Second.", "five", "Third.",
    "four", "Fourth.", NULL
  };
  g_autoptr (OwEventList) list = ow_event_list_new ("s1");

  append_text (list, OW_EVENT_USER_MESSAGE, "one");
  append_text (list, OW_EVENT_USER_MESSAGE, "two");
  append_message (list, "First.", 1, 1);
  append_text (list, OW_EVENT_USER_MESSAGE, "three");
  append_message (list, "Second.", 0, -1);
  append_text (list, OW_EVENT_NOTICE, "five");
  append_text (list, OW_EVENT_USER_MESSAGE, "four");
  append_message (list, "Third.", 0, 6);
  append_message (list, "Fourth.", 0, -1);
  assert_texts (list, texts);
}

static void
test_is_answered (void)
{
  static const struct { const char *history; gboolean answered; } cases[] = {
    { "[{\"role\":\"system\"},{\"role\":\"user\"}]", FALSE },
    { "[{\"role\":\"system\"}]", FALSE },
    { "[]", FALSE },
    { "[{\"role\":\"user\"},{\"role\":\"assistant\",\"tool_calls\":[]}]", TRUE },
    { "[{\"role\":\"user\"},{\"role\":\"assistant\"},{\"role\":\"system\"}]", TRUE },
    { "[{\"role\":\"user\"},{\"role\":\"assistant\",\"cut\":true},{\"role\":\"system\"}]", FALSE },
    { "[{\"role\":\"assistant\",\"tool_calls\":[1]},{\"role\":\"tool\"}]", FALSE },
    { "[{\"role\":\"assistant\"},{\"role\":\"user\"},{\"role\":\"system\"}]", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char    message[OW_WIRE_ERROR_SIZE];
      json_t *history = ow_json_parse (cases[i].history, strlen (cases[i].history), message);

      g_assert_nonnull (history);
      g_assert_true (ow_agent_history_is_answered (history) == cases[i].answered);
      json_decref (history);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/P09/any-list", test_any_list);
  g_test_add_func ("/agent/P09/open-calls", test_open_calls);
  g_test_add_func ("/agent/P09/order-of-words", test_order_of_words);
  g_test_add_func ("/agent/P09/is-answered", test_is_answered);
  return g_test_run ();
}
