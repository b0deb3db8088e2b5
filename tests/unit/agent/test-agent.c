/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "agent-fixture.h"
#include "base/ow-error.h"

static void
test_turn (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER, script_model_new (ONE, "Done.", NULL),
                NULL);
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  g_assert_true (fixture.result);
  agent_assert_turn_ended (&fixture, "done");
  agent_assert_roles (&fixture, "system user assistant tool");
  g_assert_cmpstr (agent_history_text (&fixture, 0), ==, "the prompt");
  g_assert_cmpstr (agent_history_text (&fixture, 1), ==, "do it");
  g_assert_cmpstr (agent_history_text (&fixture, 3), ==, "seen");
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  agent_tear_down (&fixture);
}

static void
test_in_order (void)
{
  Fixture fixture;
  guint   next = 1;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL),
                NULL);
  agent_run (&fixture, "do it");
  g_assert_true (fixture.result);
  g_assert_cmpuint (fixture.host->n_calls, ==, 3);
  g_assert_cmpuint (fixture.host->max_running, ==, 1);
  agent_assert_roles (&fixture, "system user assistant tool tool tool");
  for (guint i = 0; i < ow_event_list_get_n (fixture.events); i++)
    {
      const OwEvent   *event = ow_event_list_get (fixture.events, i);
      g_autofree char *id = g_strdup_printf ("c%u", next);

      if (ow_event_get_kind (event) != OW_EVENT_TOOL_ENDED)
        continue;
      g_assert_cmpstr (ow_event_get_string (event, "model_call"), ==, id);
      next++;
    }
  agent_tear_down (&fixture);
}

static void
test_wrong_call (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new ("[{\"id\":\"c1\",\"name\":\"sudo\",\"arguments\":{}}]", "Sorry.",
                                  NULL), NULL);
  agent_run (&fixture, "do it");
  g_assert_true (fixture.result);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  g_assert_nonnull (strstr (agent_history_text (&fixture, 3), "no tool named \"sudo\""));
  agent_tear_down (&fixture);
}

/* Answers that cannot be told apart later are not taken. */
static void
test_unusable_answer (void)
{
  static const char * const answers[] = {
    "[" SHELL ("c1") "," SHELL ("c1") "]",
    "[{\"id\":\"\",\"name\":\"shell\",\"arguments\":{}}]",
    "[{\"name\":\"shell\",\"arguments\":{}}]",
    "[{\"id\":\"c1\",\"arguments\":{}}]",
    "[7]",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      Fixture fixture;

      agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                    script_model_new (answers[i], NULL),
                    NULL);
      agent_run (&fixture, "do it");
      g_assert_error (fixture.error, OW_ERROR, OW_ERROR_DATA);
      g_assert_cmpuint (fixture.host->n_calls, ==, 0);
      agent_assert_turn_ended (&fixture, "failed");
      agent_tear_down (&fixture);
    }
}

/* Stopped at the announcement of each event of a turn of three calls. */
static void
test_stop (void)
{
  static const struct { gint at; guint after; guint n_ended; } moments[] = {
    { OW_EVENT_USER_MESSAGE, 0, 0 },
    { OW_EVENT_MODEL_MESSAGE, 0, 3 },
    { OW_EVENT_TOOL_ASKED, 0, 3 },
    { OW_EVENT_TOOL_STARTED, 0, 3 },
    { OW_EVENT_TOOL_ENDED, 0, 3 },
    { OW_EVENT_TOOL_ASKED, 1, 3 },
    { OW_EVENT_TOOL_STARTED, 2, 3 },
    { OW_EVENT_TOOL_ENDED, 2, 3 },
    { OW_EVENT_MODEL_MESSAGE, 1, 3 },
  };

  for (guint fails = 0; fails < 2; fails++)
    for (gsize i = 0; i < G_N_ELEMENTS (moments); i++)
      {
        Fixture fixture;

        agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                      script_model_new (THREE, ONE, "Done.", NULL), NULL);
        fixture.stop_at = moments[i].at;
        fixture.stop_after = moments[i].after;
        fixture.fails = fails == 1;
        g_test_message ("moment %zu, fails %u", i, fails);
        /* Before the user's message is in the list there is no turn that could fail. */
        if (fixture.fails && moments[i].at == OW_EVENT_USER_MESSAGE)
          fixture.fails = FALSE;
        agent_run (&fixture, "do it");
        g_assert_false (fixture.result);
        g_assert_error (fixture.error, OW_ERROR,
                        (gint) (fixture.fails ? OW_ERROR_FAILED : OW_ERROR_INTERRUPTED));
        agent_assert_turn_ended (&fixture, fixture.fails ? "failed" : "stopped");
        g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==,
                          moments[i].n_ended + (moments[i].at == OW_EVENT_MODEL_MESSAGE &&
                                                moments[i].after == 1));
        agent_tear_down (&fixture);
      }
}

static gboolean
cancel_it (gpointer user_data)
{
  g_cancellable_cancel (user_data);
  return G_SOURCE_REMOVE;
}

/* Stopped while it waits: for the model, for a person, for the host. */
static void
test_stop_while_waiting (gconstpointer data)
{
  const char      *what = data;
  Fixture          fixture;
  OwApprovePolicy  policy = g_str_equal (what, "person") ? OW_APPROVE_ASK : OW_APPROVE_SANDBOXED;
  ScriptModel     *model = script_model_new (THREE, "Done.", NULL);

  model->hangs = g_str_equal (what, "model");
  agent_set_up (&fixture, policy, FAKE_HANG, model, NULL);
  ow_consent_set_attended (fixture.consent, TRUE);
  g_timeout_add (50, cancel_it, fixture.cancellable);
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_INTERRUPTED);
  agent_assert_turn_ended (&fixture, "stopped");
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==,
                    g_str_equal (what, "model") ? 0 : 3);
  g_assert_cmpuint (fixture.host->n_calls, ==, g_str_equal (what, "host"));

  /* What is in the list makes a whole conversation again. */
  g_clear_error (&fixture.error);
  g_clear_object (&fixture.cancellable);
  fixture.cancellable = g_cancellable_new ();
  fixture.model->hangs = FALSE;
  g_ptr_array_set_size (fixture.model->turns, 0);
  g_ptr_array_add (fixture.model->turns, g_strdup ("Fine."));
  fixture.model->next = 0;
  agent_run (&fixture, "go on");
  g_assert_no_error (fixture.error);
  agent_assert_roles (&fixture, g_str_equal (what, "model")
                ? "system user user" : "system user assistant tool tool tool user");
  agent_tear_down (&fixture);
}

static void
test_call_limit (void)
{
  const OwAgentLimits limits = { .max_calls = 2 };
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL),
                &limits);
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (fixture.error->message, "limit of 2 tool calls"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 2);
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==, 3);
  agent_assert_turn_ended (&fixture, "limit");
  agent_tear_down (&fixture);
}

static void
take_long (FakeHost   *host,
           const char *call_id,
           gpointer    data)
{
  g_usleep (600 * 1000);
}

/* The call that runs is not broken off: what it did would be lost. */
static void
test_time_limit (void)
{
  const OwAgentLimits limits = { .max_seconds = 1 };
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL), &limits);
  fixture.host->asked = take_long;
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (fixture.error->message, "limit of 1 seconds"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 2);
  agent_assert_turn_ended (&fixture, "limit");
  agent_tear_down (&fixture);
}

static void
test_host_fails (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ERROR, script_model_new (THREE, "Done.", NULL),
                NULL);
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==, 3);
  agent_assert_turn_ended (&fixture, "failed");
  g_assert_true (ow_agent_is_broken (fixture.agent));
  agent_tear_down (&fixture);
}

static void
test_lost_state (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER, script_model_new (ONE, "Done.", NULL),
                NULL);
  fixture.host->state_lost = TRUE;
  agent_run (&fixture, "do it");
  g_assert_true (fixture.result);
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_NOTICE), ==, 1);
  agent_assert_roles (&fixture, "system user assistant tool system");
  g_assert_true (g_str_has_prefix (agent_history_text (&fixture, 4), "[Note from OpenWorker"));
  g_assert_nonnull (strstr (agent_history_text (&fixture, 4), "Shell state was lost"));
  agent_tear_down (&fixture);
}

static void
test_busy (void)
{
  Fixture fixture;
  Fixture second = { 0 };

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_HANG,
                script_model_new (ONE, "Done.", NULL), NULL);
  ow_agent_run_turn_async (fixture.agent, "one", fixture.cancellable, agent_on_done, &fixture);
  ow_agent_run_turn_async (fixture.agent, "two", NULL, agent_on_done, &second);
  fake_wait (&second.done);
  g_assert_error (second.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_USER_MESSAGE), ==, 1);
  g_cancellable_cancel (fixture.cancellable);
  fake_wait (&fixture.done);
  g_clear_error (&second.error);
  agent_tear_down (&fixture);
}

/* What is left out of a result can be had, by the way that the tool has. */
static void
test_cut_ways (void)
{
  static const struct { const char *tool; const char *last; const char *way; } ways[] = {
    { "shell", "[exit 0, 1.00 s, /f]", "run the command again with its output in a file" },
    { "shell", "[exit 0, 1.00 s, /f, all of the output is in /h/1.txt]", "need not run again" },
    { "shell", "[exit 0, 1.00 s, /f, the first 9 bytes of the output are in /h/1.txt]",
      "need not run again" },
    { "read", "x", "offset and limit" },
    { "grep", "x", "a narrower pattern, glob or path" },
    { "glob", "x", "a narrower pattern or path" },
    { "list", "x", "a folder below this one" },
    { "task_read", "[t1 is running]", "Read more often" },
    { NULL, "x", "They are not kept" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *many = g_strnfill (70000, 'x');
      g_autofree char *text = g_strdup_printf ("%s\n%s", many, ways[i].last);
      g_autofree char *given = ow_agent_result_for_model (ways[i].tool, text);
      g_autofree char *end = g_strdup_printf ("\n%s", ways[i].last);

      g_assert_nonnull (strstr (given, ways[i].way));
      g_assert_nonnull (strstr (given, "bytes left out here. "));
      g_assert_true (g_str_has_suffix (given, end));
    }
}

/* What the model is given of a result, at the edges of the cut and inside characters. */
static void
test_cut (void)
{
  static const gsize sizes[] = { 0, 1, 65535, 65536, 65537, 65538, 65539, 1024 * 1024 };
  static const char * const fills[] = { "x", "é", "你", "😀" };

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (fills); j++)
      {
        g_autoptr (GString) text = g_string_new (NULL);
        g_autofree char *given = NULL;

        while (text->len < sizes[i])
          g_string_append (text, fills[j]);
        given = ow_agent_result_for_model ("shell", text->str);
        g_assert_true (g_utf8_validate (given, -1, NULL));
        g_assert_cmpstr (given, !=, "");
        if (text->len > 0 && text->len <= 65536)
          g_assert_cmpstr (given, ==, text->str);
        if (text->len > 65536)
          {
            g_assert_cmpuint (strlen (given), <, 66200);
            g_assert_nonnull (strstr (given, "bytes left out here"));
          }
      }
}

static void
test_environment (void)
{
  json_t *folders = json_pack ("[{s:s, s:b}, {s:s, s:b}]", "path", "/home/a/p", "read_only", 0,
                               "path", "/home/a/q\n- /etc (read and write)", "read_only", 1);
  json_t *hosts = json_pack ("[s]", "github.com:443");
  json_t *credentials = json_pack ("[s, s]", "ssh", "npm");
  g_autofree char *walled = ow_agent_describe_environment (folders, OW_LEVEL_BUBBLEWRAP, "strict",
                                                           hosts, NULL);
  g_autofree char *shared = ow_agent_describe_environment (folders, OW_LEVEL_BUBBLEWRAP, "strict",
                                                           hosts, credentials);
  g_autofree char *open = ow_agent_describe_environment (folders, OW_LEVEL_DIRECT, "strict",
                                                         hosts, NULL);

  g_assert_nonnull (strstr (walled, "- /home/a/p (read and write; work starts here"));
  g_assert_nonnull (strstr (walled, "(read-only)"));
  g_assert_null (strstr (walled, "\n- /etc"));
  g_assert_nonnull (strstr (walled, "Enforcement level: bubblewrap"));
  g_assert_nonnull (strstr (walled, "profile strict"));
  g_assert_nonnull (strstr (walled, "- github.com:443"));
  g_assert_nonnull (strstr (walled, "Shared credentials: none"));
  g_assert_nonnull (strstr (shared, "Shared credentials: ssh, npm."));
  g_assert_null (strstr (open, "Shared credentials"));
  json_decref (credentials);
  g_assert_nonnull (strstr (walled, "shell state was lost"));
  g_assert_nonnull (strstr (open, "There is NO sandbox"));
  g_assert_null (strstr (open, "github.com"));
  json_decref (folders);
  json_decref (hosts);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/turn", test_turn);
  g_test_add_func ("/agent/in-order", test_in_order);
  g_test_add_func ("/agent/wrong-call", test_wrong_call);
  g_test_add_func ("/agent/unusable-answer", test_unusable_answer);
  g_test_add_func ("/agent/stop", test_stop);
  g_test_add_data_func ("/agent/stop-while-waiting/model", "model", test_stop_while_waiting);
  g_test_add_data_func ("/agent/stop-while-waiting/person", "person", test_stop_while_waiting);
  g_test_add_data_func ("/agent/stop-while-waiting/host", "host", test_stop_while_waiting);
  g_test_add_func ("/agent/call-limit", test_call_limit);
  g_test_add_func ("/agent/time-limit", test_time_limit);
  g_test_add_func ("/agent/host-fails", test_host_fails);
  g_test_add_func ("/agent/lost-state", test_lost_state);
  g_test_add_func ("/agent/busy", test_busy);
  g_test_add_func ("/agent/cut", test_cut);
  g_test_add_func ("/agent/cut-ways", test_cut_ways);
  g_test_add_func ("/agent/REQ-A03/environment", test_environment);
  return g_test_run ();
}
