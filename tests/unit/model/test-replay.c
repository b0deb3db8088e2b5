/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "model/ow-replay-model.h"

#define CALL(id) \
  "{\"type\":\"model-message\",\"text\":\"\",\"tool_calls\":[{\"id\":\"" id "\"," \
  "\"name\":\"shell\",\"arguments\":{\"command\":\"x\"}}]}\n"
#define ENDED(id, pattern) \
  "{\"type\":\"tool-ended\",\"model_call\":\"" id "\",\"result_pattern\":\"" pattern "\"}\n"
#define SAYS(text) "{\"type\":\"model-message\",\"text\":\"" text "\"}\n"

static OwModel *
open_recording (const char  *content,
                gssize       length,
                GError     **error)
{
  g_autofree char *directory = g_dir_make_tmp ("ow-replay-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "r.jsonl", NULL);
  g_autofree char *name = g_strconcat ("replay:", path, NULL);
  OwModel *model;

  g_assert_true (g_file_set_contents (path, content, length, NULL));
  model = ow_model_new (&(OwModelOptions) { .name = name }, error);
  g_assert_true (ow_file_remove_tree (directory, NULL));
  return model;
}

typedef struct {
  const char *content;
  const char *line;  /* what the sentence names */
  const char *says;
} BadCase;

static const BadCase bad[] = {
  { "", "line 1", "no model-message" },
  { "\n\r\n", "line", "no model-message" },
  { "{\"type\":\"user-message\",\"text\":\"x\"}\n", "line 2", "no model-message" },
  { SAYS ("hi") "{\"type\":\"model-mess", "line 2", "not JSON" },
  { SAYS ("hi") "{\"type\":\"model-message\",\"text\":\"a\",\"text\":\"b\"}\n", "line 2",
    "not JSON" },
  { "not json at all\n", "line 1", "not JSON" },
  { "[1,2]\n", "line 1", "no type" },
  { "{\"a\":1}\n", "line 1", "no type" },
  { "{\"type\":7}\n", "line 1", "no type" },
  { SAYS ("hi") "{\"type\":\"session-started\"}\n", "line 2", "session-started" },
  { "{\"type\":\"model-message\"}\n", "line 1", "neither text nor tool calls" },
  { "{\"type\":\"model-message\",\"text\":7}\n", "line 1", "no string" },
  { "{\"type\":\"model-message\",\"text\":\"x\",\"tool_calls\":{}}\n", "line 1", "no array" },
  { "{\"type\":\"model-message\",\"tool_calls\":[7]}\n", "line 1", "without an id" },
  { "{\"type\":\"model-message\",\"tool_calls\":[{\"id\":\"a\",\"name\":\"x\","
    "\"arguments\":\"{}\"}]}\n", "line 1", "without an id" },
  { CALL ("c1") SAYS ("done"), "line 1", "no tool-ended" },
  { CALL ("c1"), "line 1", "no tool-ended" },
  { CALL ("c1") ENDED ("c2", "x"), "line 2", "does not ask for" },
  { ENDED ("c1", "x") CALL ("c1"), "line 1", "does not ask for" },
  { CALL ("c1") SAYS ("x") ENDED ("c1", "x"), "line 3", "does not ask for" },
  { CALL ("c1") ENDED ("c1", "x") ENDED ("c1", "x"), "line 3", "a second time" },
  { CALL ("c1") ENDED ("c1", "x") CALL ("c1"), "line 3", "a second time" },
  { CALL ("c1") "{\"type\":\"tool-ended\",\"model_call\":\"c1\",\"result\":\"x\"}\n", "line 2",
    "without result_pattern" },
  { CALL ("c1") "{\"type\":\"tool-ended\",\"result_pattern\":\"x\"}\n", "line 2",
    "without model_call" },
  { CALL ("c1") ENDED ("c1", "("), "line 2", "no regular expression" },
};

static void
test_bad (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModel) model = open_recording (bad[i].content, -1, &error);

      g_test_message ("%s", bad[i].content);
      g_assert_null (model);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, bad[i].line));
      g_assert_nonnull (strstr (error->message, bad[i].says));
      g_assert_null (strchr (error->message, '\n'));
    }
}

/* Patterns that hold for everything, in many spellings. */
static void
test_empty_patterns (void)
{
  static const char * const patterns[] = {
    "", ".*", "x*", "x?", "(?:)", "^$", "^", "$", "a|", "(?=)", "(?!x)", "[^x]*", "x{0}", "()",
    "(?i)", "(?#note)", "\\\\b|", "\\\\A",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      g_autofree char *content = g_strdup_printf (CALL ("c1") ENDED ("c1", "%s") SAYS ("x"),
                                                  patterns[i]);
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModel) model = open_recording (content, -1, &error);

      g_test_message ("pattern \"%s\"", patterns[i]);
      g_assert_null (model);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, "line 2"));
      g_assert_nonnull (strstr (error->message, "matches an empty result"));
    }
}

static void
test_no_file (void)
{
  g_autofree char *directory = g_dir_make_tmp ("ow-replay-XXXXXX", NULL);
  g_autofree char *fifo = g_build_filename (directory, "fifo", NULL);
  g_autofree char *huge = g_build_filename (directory, "huge", NULL);
  g_autofree char *missing = g_build_filename (directory, "missing", NULL);
  const char *paths[] = { directory, fifo, huge, missing, "/dev/zero" };

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  g_assert_true (g_file_set_contents (huge, "", 0, NULL));
  g_assert_cmpint (truncate (huge, 16 * 1024 * 1024 + 1), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;
      gint64 before = g_get_monotonic_time ();

      g_assert_null (ow_replay_model_new (paths[i], &error));
      g_assert_nonnull (error);
      g_assert_true (error->domain == OW_ERROR);
      g_assert_nonnull (strstr (error->message, "The recording"));
      g_assert_cmpint (g_get_monotonic_time () - before, <, 1000 * 1000);
    }
  g_assert_true (ow_file_remove_tree (directory, NULL));
}

static void
test_binary (void)
{
  static const char bytes[] = "{\"type\":\"model-message\",\"text\":\"a\0b\"}\n";
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = open_recording (bytes, sizeof bytes - 1, &error);

  g_assert_null (model);
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
}

static void
test_names (void)
{
  static const char * const names[] = { "", "replay", "replay:", "gpt", "openai", "openai:", "REPLAY:x" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (ow_model_new (&(OwModelOptions) { .name = names[i] }, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, "replay:FILE"));
    }
}

typedef struct {
  OwModelTurn *turn;
  GError      *error;
  gboolean     done;
} Answer;

static void
on_answer (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Answer *answer = user_data;

  answer->turn = ow_model_complete_finish (OW_MODEL (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_text (const char *text,
         gpointer    user_data)
{
  g_string_append (user_data, text);
}

static OwModelTurn *
complete (OwModel       *model,
          json_t        *history,
          GString       *text,
          GCancellable  *cancellable,
          GError       **error)
{
  Answer  answer = { 0 };
  json_t *tools = json_array ();

  ow_model_complete_async (model, history, tools, text != NULL ? on_text : NULL, text, cancellable,
                           on_answer, &answer);
  while (!answer.done)
    g_main_context_iteration (NULL, TRUE);
  json_decref (tools);
  if (answer.error != NULL)
    g_propagate_error (error, answer.error);
  return answer.turn;
}

static json_t *
begin_history (void)
{
  json_t *history = json_array ();

  json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "system", "text", "s"));
  json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "user", "text", "go"));
  return history;
}

static void
append_assistant (json_t *history)
{
  json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "assistant", "text", ""));
}

static void
append_tool (json_t     *history,
             const char *id,
             const char *text)
{
  json_array_append_new (history, json_pack ("{s:s, s:s, s:s, s:s}", "role", "tool", "id", id,
                                             "name", "shell", "text", text));
}

#define TWO_CALLS \
  "{\"type\":\"model-message\",\"text\":\"I look.\",\"tool_calls\":[" \
  "{\"id\":\"c1\",\"name\":\"list\",\"arguments\":{\"path\":\".\"}}," \
  "{\"id\":\"c2\",\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}]}\n" \
  ENDED ("c1", "^a.*z$") ENDED ("c2", "tw[o0]")

static void
test_conversation (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = NULL;
  g_autoptr (OwModelTurn) first = NULL;
  g_autoptr (OwModelTurn) second = NULL;
  g_autoptr (OwModelTurn) third = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  json_t *history = begin_history ();

  model = open_recording ("{\"type\":\"user-message\",\"text\":\"go\"}\n\n" TWO_CALLS
                          "{\"type\":\"model-message\",\"text\":\"Done.\"}", -1, &error);
  g_assert_no_error (error);
  first = complete (model, history, text, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (json_array_size (first->tool_calls), ==, 2);
  g_assert_cmpstr (first->finish, ==, "tool_calls");
  g_assert_cmpstr (text->str, ==, "I look.");
  g_assert_false (ow_model_check_done (model, &error));
  g_assert_nonnull (strstr (error->message, "1 of the recording's 2"));
  g_clear_error (&error);

  append_assistant (history);
  append_tool (history, "c1", "a\nb\nz");
  append_tool (history, "c2", "one two");
  json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "system", "text", "note"));
  second = complete (model, history, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (json_array_size (second->tool_calls), ==, 0);
  g_assert_cmpstr (second->finish, ==, "stop");
  g_assert_true (ow_model_check_done (model, &error));

  append_assistant (history);
  third = complete (model, history, NULL, NULL, &error);
  g_assert_null (third);
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "another one was asked for"));
  json_decref (history);
}

static void
test_mismatch (void)
{
  static const struct { const char *c1; const char *c2; const char *says; } results[] = {
    { "a z", "one", "call \"c2\" (read) was to give a result that matches \"tw[o0]\", and gave "
      "\"one\"" },
    { "b", "two", "call \"c1\" (list)" },
    { NULL, "two", "call \"c1\" has no result" },
    { "a z", "", "call \"c2\"" },
    { "a z\nb", "two", "call \"c1\"" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (results); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModel) model = open_recording (TWO_CALLS SAYS ("x"), -1, NULL);
      g_autoptr (OwModelTurn) first = NULL;
      g_autoptr (OwModelTurn) second = NULL;
      json_t *history = begin_history ();

      first = complete (model, history, NULL, NULL, NULL);
      g_assert_nonnull (first);
      append_assistant (history);
      if (results[i].c1 != NULL)
        append_tool (history, "c1", results[i].c1);
      append_tool (history, "c2", results[i].c2);
      second = complete (model, history, NULL, NULL, &error);
      g_assert_null (second);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_nonnull (strstr (error->message, results[i].says));
      json_decref (history);
    }
}

/* A recording that is opened anew, after the program has ended, goes on where the conversation
 * is; what was cut short counts for nothing, and one that is too long is told. */
static void
test_goes_on (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = open_recording (CALL ("c1") ENDED ("c1", "one") SAYS ("x"), -1,
                                              NULL);
  g_autoptr (OwModelTurn) turn = NULL;
  json_t *history = begin_history ();

  json_array_append_new (history, json_pack ("{s:s, s:s, s:b}", "role", "assistant", "text", "Ha",
                                             "cut", 1));
  append_assistant (history);
  append_tool (history, "c1", "one");
  turn = complete (model, history, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (turn->text, ==, "x");
  g_assert_true (ow_model_check_done (model, &error));
  append_assistant (history);
  append_assistant (history);
  g_assert_null (complete (model, history, NULL, NULL, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  json_decref (history);
}

/* A result of an earlier round does not stand for one of this round. */
static void
test_old_result (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = open_recording (CALL ("c1") ENDED ("c1", "one") SAYS ("x"), -1,
                                              NULL);
  g_autoptr (OwModelTurn) first = NULL;
  g_autoptr (OwModelTurn) second = NULL;
  json_t *history = begin_history ();

  first = complete (model, history, NULL, NULL, NULL);
  append_tool (history, "c1", "one");
  append_assistant (history);
  second = complete (model, history, NULL, NULL, &error);
  g_assert_null (second);
  g_assert_nonnull (strstr (error->message, "has no result"));
  json_decref (history);
}

/* A look-ahead matches nothing anywhere, and so does not hold for a result; a pattern
 * that backtracks without end is given up. */
static void
test_hostile_patterns (void)
{
  static const char * const patterns[] = {
    "(?=one)", "(a+)+$", "(?:a|aa)+$", "^(a|a?)+$", "(.*)*(.*)*(.*)*x",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      g_autofree char *content = g_strdup_printf (CALL ("c1") ENDED ("c1", "%s") SAYS ("x"),
                                                  patterns[i]);
      g_autofree char *many = g_strnfill (5000, 'a');
      g_autofree char *text = g_strconcat ("one", many, "!", NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModel) model = open_recording (content, -1, &error);
      g_autoptr (OwModelTurn) first = NULL;
      g_autoptr (OwModelTurn) second = NULL;
      json_t *history;
      gint64  before;

      if (model == NULL)
        {
          g_assert_nonnull (strstr (error->message, "matches an empty result"));
          continue;
        }
      history = begin_history ();
      first = complete (model, history, NULL, NULL, NULL);
      append_assistant (history);
      append_tool (history, "c1", text);
      before = g_get_monotonic_time ();
      second = complete (model, history, NULL, NULL, &error);
      g_assert_null (second);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_cmpint (g_get_monotonic_time () - before, <, 20 * 1000 * 1000);
      json_decref (history);
    }
}

static void
test_cancelled (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModel) model = open_recording (SAYS ("x"), -1, NULL);
  g_autoptr (OwModelTurn) turn = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  json_t *history = begin_history ();

  g_cancellable_cancel (cancellable);
  turn = complete (model, history, NULL, cancellable, &error);
  g_assert_null (turn);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_false (ow_model_check_done (model, NULL));
  json_decref (history);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/replay/bad", test_bad);
  g_test_add_func ("/replay/empty-patterns", test_empty_patterns);
  g_test_add_func ("/replay/no-file", test_no_file);
  g_test_add_func ("/replay/binary", test_binary);
  g_test_add_func ("/replay/names", test_names);
  g_test_add_func ("/replay/conversation", test_conversation);
  g_test_add_func ("/replay/mismatch", test_mismatch);
  g_test_add_func ("/replay/goes-on", test_goes_on);
  g_test_add_func ("/replay/old-result", test_old_result);
  g_test_add_func ("/replay/hostile-patterns", test_hostile_patterns);
  g_test_add_func ("/replay/cancelled", test_cancelled);
  return g_test_run ();
}
