/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "check-request.h"
#include "ow-openai-request-private.h"
#include "tools/ow-tool-def.h"

static json_t *
parse (const char *text)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (text, strlen (text), message);

  if (json == NULL)
    g_error ("%s: %s", text, message);
  return json;
}

/* The messages of the request for @history, which a strict server takes. (new reference) */
static json_t *
make_messages (const json_t *history)
{
  g_autoptr (GBytes) body = ow_openai_request_make ("m", history, NULL, TRUE);
  g_autofree char *fault = NULL;
  json_t *json;
  json_t *messages;
  char    message[OW_WIRE_ERROR_SIZE];
  gsize   length = 0;
  const char *text = g_bytes_get_data (body, &length);

  fault = check_request (text, length);
  g_assert_cmpstr (fault, ==, NULL);
  json = ow_json_parse (text, length, message);
  messages = json_incref (json_object_get (json, "messages"));
  json_decref (json);
  return messages;
}

typedef struct {
  const char *history;
  const char *messages;
} Case;

#define GO "{\"role\":\"user\",\"text\":\"go\"}"
#define SAID_GO "{\"role\":\"user\",\"content\":\"go\"}"
#define ASKS(calls) "{\"role\":\"assistant\",\"text\":\"\",\"tool_calls\":[" calls "]}"
#define ASKED(calls) "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" calls "]}"
#define CALL(id, name, arguments) \
  "{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" arguments "}"
#define CALLED(id, name, arguments) \
  "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\"," \
  "\"arguments\":\"" arguments "\"}}"
#define GIVES(id, text) "{\"role\":\"tool\",\"id\":\"" id "\",\"name\":\"x\",\"text\":\"" text "\"}"
#define GAVE(id, text) \
  "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define UNKNOWN "[This call has no result; whether it had an effect is not known.]"

static const Case cases[] = {
  { "[{\"role\":\"system\",\"text\":\"s\"}," GO "]",
    "[{\"role\":\"system\",\"content\":\"s\"}," SAID_GO "]" },
  { "[" GO ",{\"role\":\"assistant\",\"text\":\"Hi.\",\"tool_calls\":[]}," GO "]",
    "[" SAID_GO ",{\"role\":\"assistant\",\"content\":\"Hi.\"}," SAID_GO "]" },
  { "[" GO "," ASKS (CALL ("a", "read", "{\"path\":\"x\"}") "," CALL ("b", "list", "{}")) ","
    GIVES ("b", "two") "," GIVES ("a", "one") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "read", "{\\\"path\\\":\\\"x\\\"}") ","
                           CALLED ("b", "list", "{}")) "," GAVE ("a", "one") "," GAVE ("b", "two")
    "]" },
  /* What is said while tools run comes behind all their results. */
  { "[" GO "," ASKS (CALL ("a", "read", "{}") "," CALL ("b", "read", "{}")) "," GIVES ("a", "one")
    ",{\"role\":\"user\",\"text\":\"stop that\"}," GIVES ("b", "two")
    ",{\"role\":\"system\",\"text\":\"a note\"}]",
    "[" SAID_GO "," ASKED (CALLED ("a", "read", "{}") "," CALLED ("b", "read", "{}")) ","
    GAVE ("a", "one") "," GAVE ("b", "two")
    ",{\"role\":\"user\",\"content\":\"stop that\\n\\na note\"}]" },
  /* A note in the middle is told as the user's. */
  { "[{\"role\":\"system\",\"text\":\"s\"}," GO ",{\"role\":\"system\",\"text\":\"n\"},"
    "{\"role\":\"assistant\",\"text\":\"a\"},{\"role\":\"system\",\"text\":\"o\"}]",
    "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"go\\n\\nn\"},"
    "{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"o\"}]" },
  /* What is said by nobody or says nothing is left out. */
  { "[" GO ",{\"role\":\"assistant\",\"text\":\"\"},{\"role\":\"user\",\"text\":\"\"},"
    "{\"role\":\"assistant\",\"text\":\"\",\"tool_calls\":[]},{\"role\":\"boss\",\"text\":\"x\"},"
    "7,{\"text\":\"x\"}]",
    "[" SAID_GO "]" },
  { "[" GO ",{\"role\":\"assistant\",\"text\":\"a\"},{\"role\":\"assistant\",\"text\":\"b\"},"
    ASKS (CALL ("a", "list", "{}")) "," GIVES ("a", "") "]",
    "[" SAID_GO ",{\"role\":\"assistant\",\"content\":\"a\\n\\nb\",\"tool_calls\":["
    CALLED ("a", "list", "{}") "]}," GAVE ("a", "(no output)") "]" },
};

static void
test_messages (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      json_t *history = parse (cases[i].history);
      json_t *expected = parse (cases[i].messages);
      json_t *messages = make_messages (history);
      char   *text = ow_json_dump (messages, NULL);

      g_test_message ("case %u: %s", (guint) i, text);
      g_assert_true (json_equal (messages, expected));
      free (text);
      json_decref (history);
      json_decref (expected);
      json_decref (messages);
    }
}

/* What a history that was damaged, or is not of our making, may hold: half-written arguments,
 * results of nobody, calls without results, ids and names that are none. */
static const Case poisoned[] = {
  { "[" GO "," ASKS (CALL ("a", "shell", "\"{\\\"cmd\\\": \\\"rm -r\"")) "," GIVES ("a", "x") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "shell", "{}")) "," GAVE ("a", "x") "]" },
  { "[" GO "," ASKS (CALL ("a", "shell", "null") "," CALL ("b", "shell", "[1]")) ","
    GIVES ("a", "x") "," GIVES ("b", "y") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "shell", "{}") "," CALLED ("b", "shell", "{}")) ","
    GAVE ("a", "x") "," GAVE ("b", "y") "]" },
  { "[" GO "," ASKS (CALL ("a", "shell", "{}")) "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "shell", "{}")) "," GAVE ("a", UNKNOWN) "]" },
  { "[" GO "," ASKS (CALL ("a", "shell", "{}")) ",{\"role\":\"assistant\",\"text\":\"b\"},"
    GIVES ("a", "late") "," GO "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "shell", "{}")) "," GAVE ("a", UNKNOWN)
    ",{\"role\":\"assistant\",\"content\":\"b\"}," SAID_GO "]" },
  { "[" GIVES ("z", "of nobody") "," GO "," GIVES ("y", "of nobody") "]", "[" SAID_GO "]" },
  { "[" GO "," ASKS (CALL ("a", "shell", "{}")) "," GIVES ("a", "one") "," GIVES ("a", "two") ","
    GIVES ("b", "three") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "shell", "{}")) "," GAVE ("a", "one") "]" },
  { "[" GO "," ASKS (CALL ("a", "x", "{}") "," CALL ("a", "y", "{}")) "," GIVES ("a", "one") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "x", "{}") "," CALLED ("call_1_0", "y", "{}")) ","
    GAVE ("a", "one") "," GAVE ("call_1_0", UNKNOWN) "]" },
  { "[" GO "," ASKS ("{},7,{\"id\":7,\"name\":[]}") "]",
    "[" SAID_GO "," ASKED (CALLED ("call_0_0", "unnamed", "{}") ","
                           CALLED ("call_1_0", "unnamed", "{}") ","
                           CALLED ("call_2_0", "unnamed", "{}")) ","
    GAVE ("call_0_0", UNKNOWN) "," GAVE ("call_1_0", UNKNOWN) "," GAVE ("call_2_0", UNKNOWN) "]" },
  { "[" GO "," ASKS (CALL ("a", "functions.shell \xc3\xa9", "{}")) "," GIVES ("a", "x") "]",
    "[" SAID_GO "," ASKED (CALLED ("a", "functions_shell___", "{}")) "," GAVE ("a", "x") "]" },
  { "[" GO ",{\"role\":\"assistant\",\"text\":\"cut\",\"tool_calls\":{\"a\":1}}," GO "]",
    "[" SAID_GO ",{\"role\":\"assistant\",\"content\":\"cut\"}," SAID_GO "]" },
};

static void
test_poisoned (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (poisoned); i++)
    {
      json_t *history = parse (poisoned[i].history);
      json_t *expected = parse (poisoned[i].messages);
      json_t *messages = make_messages (history);
      char   *text = ow_json_dump (messages, NULL);

      g_test_message ("case %u: %s", (guint) i, text);
      g_assert_true (json_equal (messages, expected));
      free (text);
      json_decref (history);
      json_decref (expected);
      json_decref (messages);
    }
}

static json_t *
draw_entry (GRand *random)
{
  static const char * const roles[] = { "system", "user", "assistant", "tool", "assistant", "tool" };
  static const char * const texts[] = { "", "a", "b\n", "\xc3\xa9" };
  static const char * const ids[] = { "", "a", "b", "c" };
  static const char * const arguments[] = { "{}", "{\"a\":\"\\\"\"}", "\"{\"", "null", "7" };
  json_t *entry = json_pack ("{s:s, s:s, s:s}", "role", roles[g_rand_int_range (random, 0, 6)],
                             "text", texts[g_rand_int_range (random, 0, 4)], "id",
                             ids[g_rand_int_range (random, 0, 4)]);
  json_t *calls = json_array ();

  for (gint32 n = g_rand_int_range (random, 0, 4); n > 0; n--)
    json_array_append_new (calls, json_pack ("{s:s, s:s, s:o}", "id",
                                             ids[g_rand_int_range (random, 0, 4)], "name",
                                             texts[g_rand_int_range (random, 0, 4)], "arguments",
                                             parse (arguments[g_rand_int_range (random, 0, 5)])));
  if (json_array_size (calls) > 0 || g_rand_boolean (random))
    json_object_set (entry, "tool_calls", calls);
  json_decref (calls);
  return entry;
}

/* Whatever is in a history: a strict server takes what comes of it. */
static void
test_any_history (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (9);

  for (guint i = 0; i < 5000; i++)
    {
      json_t *history = json_array ();
      json_t *messages;

      json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "user", "text", "go"));
      for (gint32 n = g_rand_int_range (random, 0, 12); n > 0; n--)
        json_array_append_new (history, draw_entry (random));
      messages = make_messages (history);
      json_decref (messages);
      json_decref (history);
    }
}

static void
test_body (void)
{
  json_t *history = parse ("[" GO "]");
  json_t *tools = ow_tool_def_for_model ();
  json_t *none = json_array ();

  for (guint i = 0; i < 3; i++)
    {
      const json_t *given = i == 0 ? tools : i == 1 ? none : NULL;
      g_autoptr (GBytes) body = ow_openai_request_make ("a \"model\"", history, given, i == 0);
      gsize length = 0;
      const char *text = g_bytes_get_data (body, &length);
      g_autofree char *copy = g_strndup (text, length);
      g_autofree char *fault = check_request (text, length);
      json_t *json = parse (copy);

      g_assert_cmpstr (fault, ==, NULL);
      g_assert_cmpstr (ow_json_get_string (json, "model", ""), ==, "a \"model\"");
      g_assert_true (json_is_true (json_object_get (json, "stream")));
      g_assert_cmpint (ow_json_get_bool (json_object_get (json, "stream_options"),
                                         "include_usage", FALSE), ==, i == 0);
      g_assert_cmpuint (json_array_size (json_object_get (json, "tools")), ==,
                        i == 0 ? json_array_size (tools) : 0);
      g_assert_true ((json_object_get (json, "tools") != NULL) == (i == 0));
      if (i == 0)
        {
          const json_t *function =
            json_object_get (json_array_get (json_object_get (json, "tools"), 0), "function");

          g_assert_true (json_equal (json_object_get (function, "parameters"),
                                     json_object_get (json_array_get (tools, 0), "schema")));
          g_assert_true (json_equal (json_object_get (function, "description"),
                                     json_object_get (json_array_get (tools, 0), "description")));
        }
      json_decref (json);
    }
  json_decref (history);
  json_decref (tools);
  json_decref (none);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openai-request/messages", test_messages);
  g_test_add_func ("/openai-request/P09/poisoned", test_poisoned);
  g_test_add_func ("/openai-request/P09/any-history", test_any_history);
  g_test_add_func ("/openai-request/body", test_body);
  return g_test_run ();
}
