/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "agent-fixture.h"
#include "base/ow-error.h"

/* What comes between a turn's beginning and its end: text in pieces, answers that are cut,
 * words of the person, limits that ask. */

typedef struct {
  GPtrArray *texts;    /* (owned) of model-text events */
  guint      n_after;  /* of them behind the message */
  gboolean   message;
} Heard;

static void
hear (OwEventList *events,
      OwEvent     *event,
      Heard       *heard)
{
  if (ow_event_get_kind (event) == OW_EVENT_MODEL_MESSAGE)
    heard->message = TRUE;
  if (ow_event_get_kind (event) != OW_EVENT_MODEL_TEXT)
    return;
  g_assert_cmpuint (ow_event_get_seq (event), ==, 0);
  g_ptr_array_add (heard->texts, g_strdup (ow_event_get_string (event, "text")));
  heard->n_after += heard->message;
}

static char *
join (GPtrArray *texts)
{
  GString *whole = g_string_new (NULL);

  for (guint i = 0; i < texts->len; i++)
    g_string_append (whole, g_ptr_array_index (texts, i));
  return g_string_free (whole, FALSE);
}

static void
test_streamed (void)
{
  Fixture fixture;
  Heard   heard = { .texts = g_ptr_array_new_with_free_func (g_free) };
  g_autofree char *told = NULL;
  const OwEvent *message;
  const json_t  *usage;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new ("{\"stream\":[\"One\",\" \",\"\",\"tw\",\"o.\"],"
                                  "\"text\":\"One two.\",\"usage\":{\"input_tokens\":7,"
                                  "\"output_tokens\":3}}", NULL), NULL);
  g_signal_connect (fixture.events, "appended", G_CALLBACK (hear), &heard);
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  told = join (heard.texts);
  g_assert_cmpstr (told, ==, "One two.");
  /* Five pieces at once are one event, and none is told behind the message. */
  g_assert_cmpuint (heard.texts->len, ==, 1);
  g_assert_cmpuint (heard.n_after, ==, 0);
  message = agent_find (&fixture, OW_EVENT_MODEL_MESSAGE);
  g_assert_cmpstr (ow_event_get_string (message, "text"), ==, "One two.");
  usage = json_object_get (ow_event_get_members (message), "usage");
  g_assert_cmpint (ow_json_get_int (usage, "output_tokens", 0), ==, 3);
  g_ptr_array_unref (heard.texts);
  agent_tear_down (&fixture);
}

static gboolean
stop_it (gpointer user_data)
{
  g_cancellable_cancel (user_data);
  return G_SOURCE_REMOVE;
}

/* What came stays; it is told while the model still hangs, and no later than its batch. */
static void
test_stopped_while_streaming (void)
{
  Fixture fixture;
  Heard   heard = { .texts = g_ptr_array_new_with_free_func (g_free) };
  gint64  begun;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new ("{\"stream\":[\"Half of\",\" it\"]}", "Fine.", NULL), NULL);
  fixture.model->hangs = TRUE;
  g_signal_connect (fixture.events, "appended", G_CALLBACK (hear), &heard);
  g_timeout_add (600, stop_it, fixture.cancellable);
  begun = g_get_monotonic_time ();
  agent_run (&fixture, "do it");
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 10 * G_USEC_PER_SEC);
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_INTERRUPTED);
  agent_assert_turn_ended (&fixture, "stopped");
  g_assert_cmpuint (heard.texts->len, ==, 1);
  g_assert_cmpstr (g_ptr_array_index (heard.texts, 0), ==, "Half of it");
  g_assert_cmpstr (ow_event_get_string (agent_find (&fixture, OW_EVENT_MODEL_MESSAGE), "text"),
                   ==, "Half of it");
  g_assert_cmpstr (ow_event_get_string (agent_find (&fixture, OW_EVENT_MODEL_MESSAGE), "cut"), ==,
                   "stopped");

  g_clear_error (&fixture.error);
  g_object_unref (fixture.cancellable);
  fixture.cancellable = g_cancellable_new ();
  fixture.model->hangs = FALSE;
  agent_run (&fixture, "go on");
  g_assert_no_error (fixture.error);
  agent_assert_roles (&fixture, "system user assistant system user");
  g_ptr_array_unref (heard.texts);
  agent_tear_down (&fixture);
}

/* Whatever a cut answer holds, also whole calls, none of it runs, and the next request is a
 * whole conversation. */
static void
test_cut (void)
{
  static const char * const answers[] = {
    "{\"text\":\"I will\",\"cut\":\"The connection ended.\"}",
    "{\"text\":\"\",\"cut\":\"The connection ended.\"}",
    "{\"text\":\"I will\",\"cut\":\"It ended.\",\"finish\":\"tool_calls\",\"tool_calls\":" ONE "}",
    "{\"text\":\"\",\"cut\":\"It ended.\",\"tool_calls\":" THREE "}",
    "{\"text\":\"\",\"cut\":\"It ended.\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"shell\","
    "\"arguments\":\"{\\\"command\\\": \\\"rm -r\"}]}",
    "{\"stream\":[\"I \",\"will\"],\"text\":\"I will\",\"cut\":\"\",\"tool_calls\":" ONE "}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      Fixture        fixture;
      const OwEvent *message;

      g_test_message ("%s", answers[i]);
      agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                    script_model_new (answers[i], "Fine.", NULL), NULL);
      agent_run (&fixture, "do it");
      g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
      g_assert_nonnull (strstr (fixture.error->message, "was cut"));
      agent_assert_turn_ended (&fixture, "failed");
      g_assert_false (ow_agent_is_broken (fixture.agent));
      g_assert_cmpuint (fixture.host->n_calls, ==, 0);
      g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ASKED), ==, 0);
      message = agent_find (&fixture, OW_EVENT_MODEL_MESSAGE);
      g_assert_nonnull (ow_event_get_string (message, "cut"));
      g_assert_cmpuint (json_array_size (json_object_get (ow_event_get_members (message),
                                                          "tool_calls")), ==, 0);

      g_clear_error (&fixture.error);
      agent_run (&fixture, "again");
      g_assert_no_error (fixture.error);
      if (*ow_event_get_string (message, "text") != '\0')
        agent_assert_roles (&fixture, "system user assistant system user");
      else
        agent_assert_roles (&fixture, "system user system user");
      agent_tear_down (&fixture);
    }
}

/* Nothing came, or an error after some text, which is kept. */
static void
test_model_error (gconstpointer data)
{
  gboolean streamed = GPOINTER_TO_INT (data);
  Fixture  fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (streamed ? "{\"stream\":[\"Half\"],\"error\":\"It is gone.\"}"
                                           : "{\"error\":\"It is gone.\"}", "Fine.", NULL), NULL);
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpstr (fixture.error->message, ==, "It is gone.");
  agent_assert_turn_ended (&fixture, "failed");
  g_assert_cmpstr (ow_event_get_string (agent_last (&fixture), "message"), ==, "It is gone.");
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_MODEL_MESSAGE), ==, streamed);
  g_assert_false (ow_agent_is_broken (fixture.agent));
  g_clear_error (&fixture.error);
  agent_run (&fixture, "again");
  g_assert_no_error (fixture.error);
  agent_tear_down (&fixture);
}

static void
steer_once (ScriptModel *model,
            gpointer     data)
{
  Fixture *fixture = data;
  g_autoptr (GError) error = NULL;

  model->on_asked = NULL;
  g_assert_true (ow_agent_steer (fixture->agent, "in blue", &error));
  g_assert_no_error (error);
  g_assert_cmpint (ow_event_get_kind (agent_last (fixture)), ==, OW_EVENT_USER_MESSAGE);
}

static void
steer_from_host (FakeHost   *host,
                 const char *call_id,
                 gpointer    data)
{
  if (host->n_calls == 1)
    g_assert_true (ow_agent_steer (((Fixture *) data)->agent, "in blue", NULL));
}

/* Said while a call runs: behind the results of its message, also of the calls to come. */
static void
test_steered_at_a_call (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL), NULL);
  fixture.host->asked = steer_from_host;
  fixture.host->asked_data = &fixture;
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  g_assert_cmpuint (fixture.host->n_calls, ==, 3);
  agent_assert_roles (&fixture, "system user assistant tool tool tool user");
  g_assert_cmpstr (agent_history_text (&fixture, 6), ==, "in blue");
  agent_tear_down (&fixture);
}

/* Said while the model answers: it has not read it, so the turn goes on behind its answer. */
static void
test_steered_while_answering (gconstpointer data)
{
  gboolean calls = GPOINTER_TO_INT (data);
  Fixture  fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (calls ? ONE : "Done in red.", "Done in blue.", NULL), NULL);
  fixture.model->on_asked = steer_once;
  fixture.model->asked_data = &fixture;
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TURN_ENDED), ==, 1);
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_MODEL_MESSAGE), ==, 2);
  agent_assert_roles (&fixture, calls ? "system user assistant tool user"
                                      : "system user assistant user");
  g_assert_cmpstr (agent_history_text (&fixture, calls ? 4 : 3), ==, "in blue");
  agent_tear_down (&fixture);
}

static void
test_steer_without_a_turn (void)
{
  Fixture fixture;
  g_autoptr (GError) error = NULL;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER, script_model_new ("Done.", NULL),
                NULL);
  g_assert_false (ow_agent_is_working (fixture.agent));
  g_assert_false (ow_agent_steer (fixture.agent, "in blue", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (ow_event_list_get_n (fixture.events), ==, 0);
  agent_tear_down (&fixture);
}

/* Without words of its own a turn answers what is there, or nothing when that is answered. */
static void
test_goes_on (void)
{
  Fixture fixture;
  json_t *members = json_pack ("{s:s}", "text", "do it");
  g_autoptr (OwEvent) event = NULL;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new ("Done.", "Done twice.", NULL), NULL);
  event = ow_event_list_append (fixture.events, OW_EVENT_USER_MESSAGE, members, NULL);
  agent_run (&fixture, NULL);
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  agent_assert_roles (&fixture, "system user");
  agent_run (&fixture, NULL);
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_MODEL_MESSAGE), ==, 1);
  agent_tear_down (&fixture);
}

typedef struct {
  OwConsent *consent;
  guint      yes;      /* how often */
  char      *request;  /* (owned) */
  char      *subject;  /* (owned) of the last one */
} Person;

static gboolean
answer (gpointer user_data)
{
  Person *person = user_data;
  g_autoptr (GError) error = NULL;

  ow_consent_answer (person->consent, person->request,
                     person->yes > 0 ? OW_DECISION_ONCE : OW_DECISION_DENY, NULL, &error);
  g_assert_no_error (error);
  person->yes -= person->yes > 0;
  return G_SOURCE_REMOVE;
}

static void
on_asked (OwEventList *events,
          OwEvent     *event,
          Person      *person)
{
  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED)
    return;
  g_assert_cmpstr (ow_event_get_string (event, "kind"), ==, "limit");
  g_assert_cmpstr (ow_event_get_string (event, "title"), ==, "Go on?");
  g_free (person->request);
  g_free (person->subject);
  person->request = g_strdup (ow_event_get_string (event, "request"));
  person->subject = g_strdup (ow_event_get_string (event, "subject"));
  g_idle_add (answer, person);
}

static void
person_come (Person  *person,
             Fixture *fixture)
{
  person->consent = fixture->consent;
  ow_consent_set_attended (fixture->consent, TRUE);
  g_signal_connect (fixture->events, "appended", G_CALLBACK (on_asked), person);
}

static void
person_clear (Person *person)
{
  g_free (person->request);
  g_free (person->subject);
}

/* A yes gives as much again, for as often as it is said. */
static void
test_call_limit_asks (void)
{
  static const struct { guint yes; guint n_ran; const char *subject; const char *end; } cases[] = {
    { 0, 1, "{\"limit\":\"calls\",\"used\":1}", "limit" },
    { 1, 2, "{\"limit\":\"calls\",\"used\":2}", "limit" },
    { 2, 3, "{\"limit\":\"calls\",\"used\":2}", "done" },
  };
  const OwAgentLimits limits = { .max_calls = 1 };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture fixture;
      Person  person = { .yes = cases[i].yes };

      agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                    script_model_new (THREE, "Done.", NULL), &limits);
      person_come (&person, &fixture);
      agent_run (&fixture, "do it");
      agent_assert_turn_ended (&fixture, cases[i].end);
      g_assert_cmpuint (fixture.host->n_calls, ==, cases[i].n_ran);
      g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==, 3);
      g_assert_cmpstr (person.subject, ==, cases[i].subject);
      g_assert_false (ow_agent_is_broken (fixture.agent));
      person_clear (&person);
      agent_tear_down (&fixture);
    }
}

static void
take_long (FakeHost   *host,
           const char *call_id,
           gpointer    data)
{
  g_usleep (600 * 1000);
}

static void
test_time_limit_asks (void)
{
  const OwAgentLimits limits = { .max_seconds = 1 };
  Fixture fixture;
  Person  person = { .yes = 1 };

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL), &limits);
  fixture.host->asked = take_long;
  person_come (&person, &fixture);
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  g_assert_cmpuint (fixture.host->n_calls, ==, 3);
  g_assert_cmpstr (person.subject, ==, "{\"limit\":\"seconds\",\"used\":1}");
  person_clear (&person);
  agent_tear_down (&fixture);
}

static gboolean
say_yes (gpointer user_data)
{
  Fixture *fixture = user_data;
  json_t  *requests = ow_consent_list (fixture->consent);
  g_autoptr (GError) error = NULL;

  ow_consent_answer (fixture->consent,
                     ow_json_get_string (json_array_get (requests, 0), "request", ""),
                     OW_DECISION_ONCE, NULL, &error);
  g_assert_no_error (error);
  json_decref (requests);
  return G_SOURCE_REMOVE;
}

/* A person who thinks for longer than the limit has not used it up. */
static void
test_time_of_a_person (void)
{
  const OwAgentLimits limits = { .max_seconds = 1 };
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER, script_model_new (ONE, "Done.", NULL),
                &limits);
  ow_consent_set_attended (fixture.consent, TRUE);
  g_timeout_add (1500, say_yes, &fixture);
  agent_run (&fixture, "do it");
  g_assert_no_error (fixture.error);
  agent_assert_turn_ended (&fixture, "done");
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  agent_tear_down (&fixture);
}

static void
test_stopped_at_a_limit (void)
{
  const OwAgentLimits limits = { .max_calls = 1 };
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                script_model_new (THREE, "Done.", NULL), &limits);
  ow_consent_set_attended (fixture.consent, TRUE);
  fixture.stop_at = OW_EVENT_CONSENT_ASKED;
  agent_run (&fixture, "do it");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_INTERRUPTED);
  agent_assert_turn_ended (&fixture, "stopped");
  g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==, 3);
  agent_tear_down (&fixture);
}

static void
on_instructions (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  Fixture *fixture = user_data;

  fixture->result = ow_agent_read_instructions_finish (OW_AGENT (source), result,
                                                       &fixture->error);
  fixture->done = TRUE;
}

static void
read_instructions (Fixture *fixture)
{
  fixture->done = FALSE;
  ow_agent_read_instructions_async (fixture->agent, NULL, on_instructions, fixture);
  fake_wait (&fixture->done);
  g_assert_no_error (fixture->error);
  g_assert_true (fixture->result);
}

/* Read like any other file, and told as what it is. */
static void
test_instructions (void)
{
  g_autofree char *long_text = g_strnfill (40 * 1024, 'x');
  const char * const texts[] = { "Use tabs.", long_text };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      Fixture     fixture;
      const char *told;

      agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                    script_model_new ("Done.", NULL), NULL);
      g_free (fixture.host->text);
      fixture.host->text = g_strdup (texts[i]);
      read_instructions (&fixture);
      g_assert_cmpstr (ow_event_get_string (agent_find (&fixture, OW_EVENT_TOOL_ASKED), "purpose"),
                       ==, "instructions");
      g_assert_cmpstr (ow_event_get_string (agent_find (&fixture, OW_EVENT_TOOL_ASKED), "tool"),
                       ==, "read");
      g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_STARTED), ==, 1);
      agent_run (&fixture, "do it");
      agent_assert_roles (&fixture, "system user user");
      told = agent_history_text (&fixture, 1);
      g_assert_true (g_str_has_prefix (told, "[From OpenWorker, not from the user"));
      g_assert_nonnull (strstr (told, "cannot change"));
      g_assert_nonnull (strstr (told, i == 0 ? "Use tabs." : "is left out here"));
      g_assert_cmpuint (strlen (told), <, 33 * 1024 + 512);
      g_assert_cmpstr (agent_history_text (&fixture, 2), ==, "do it");
      agent_tear_down (&fixture);
    }
}

static void
test_no_instructions (void)
{
  static const OwToolOutcome outcomes[] = { OW_OUTCOME_FAILED, OW_OUTCOME_CANCELLED,
                                            OW_OUTCOME_INTERRUPTED };

  for (gsize i = 0; i < G_N_ELEMENTS (outcomes); i++)
    {
      Fixture fixture;

      agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER,
                    script_model_new ("Done.", NULL), NULL);
      fixture.host->outcome = outcomes[i];
      read_instructions (&fixture);
      g_assert_cmpuint (agent_count (&fixture, OW_EVENT_TOOL_ENDED), ==, 1);
      agent_run (&fixture, "do it");
      agent_assert_roles (&fixture, "system user");
      agent_tear_down (&fixture);
    }
}

/* A recording was made before, and its results are held against what was recorded. */
static void
test_instructions_of_a_recording (void)
{
  Fixture fixture;

  agent_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER, script_model_new ("Done.", NULL),
                NULL);
  fixture.model->recorded = TRUE;
  read_instructions (&fixture);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  g_assert_cmpuint (ow_event_list_get_n (fixture.events), ==, 0);
  agent_tear_down (&fixture);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/streamed", test_streamed);
  g_test_add_func ("/agent/stopped-while-streaming", test_stopped_while_streaming);
  g_test_add_func ("/agent/A39/cut", test_cut);
  g_test_add_data_func ("/agent/model-error/nothing", GINT_TO_POINTER (FALSE), test_model_error);
  g_test_add_data_func ("/agent/model-error/streamed", GINT_TO_POINTER (TRUE), test_model_error);
  g_test_add_func ("/agent/steered-at-a-call", test_steered_at_a_call);
  g_test_add_data_func ("/agent/steered-while-answering/words", GINT_TO_POINTER (FALSE),
                        test_steered_while_answering);
  g_test_add_data_func ("/agent/steered-while-answering/calls", GINT_TO_POINTER (TRUE),
                        test_steered_while_answering);
  g_test_add_func ("/agent/steer-without-a-turn", test_steer_without_a_turn);
  g_test_add_func ("/agent/goes-on", test_goes_on);
  g_test_add_func ("/agent/call-limit-asks", test_call_limit_asks);
  g_test_add_func ("/agent/time-limit-asks", test_time_limit_asks);
  g_test_add_func ("/agent/time-of-a-person", test_time_of_a_person);
  g_test_add_func ("/agent/stopped-at-a-limit", test_stopped_at_a_limit);
  g_test_add_func ("/agent/instructions", test_instructions);
  g_test_add_func ("/agent/no-instructions", test_no_instructions);
  g_test_add_func ("/agent/instructions-of-a-recording", test_instructions_of_a_recording);
  return g_test_run ();
}
