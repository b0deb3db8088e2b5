/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "fake-host.h"
#include "tools/ow-tool-call.h"

typedef struct {
  char         *directory;  /* (owned) */
  char         *path;       /* (owned) of the audit */
  OwEventList  *events;
  OwConsent    *consent;
  OwAudit      *audit;
  FakeHost     *host;
  GCancellable *cancellable;
  OwToolCall   *call;
  OwToolResult *result;
  GError       *error;
  GString      *outputs;
  gboolean      done;
  gint          refused;      /* kind that the sink refuses; -1: none */
  gint          cancelled_at; /* kind at which @cancellable is cancelled; -1: never */
  gboolean      begin_seen;   /* the begin was in the audit when the host was asked */
  OwDecision    answer;
  const char   *answer_reason;
} Fixture;

static gboolean
sink (OwEvent   *event,
      gpointer   user_data,
      GError   **error)
{
  Fixture *fixture = user_data;

  if ((gint) ow_event_get_kind (event) != fixture->refused)
    return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "The store is full", NULL, NULL);
  return FALSE;
}

static void
on_appended (OwEventList *events,
             OwEvent     *event,
             Fixture     *fixture)
{
  if (ow_event_get_kind (event) == OW_EVENT_TOOL_OUTPUT)
    {
      const char *text = ow_event_get_string (event, "text");
      const char *data = ow_event_get_string (event, "data");

      g_string_append_printf (fixture->outputs, "%s:%s;", text != NULL ? "text" : "data",
                              text != NULL ? text : data);
    }
  if ((gint) ow_event_get_kind (event) == fixture->cancelled_at)
    g_cancellable_cancel (fixture->cancellable);
}

static gboolean
find_begin (guint64   n,
            OwEvent  *event,
            gpointer  user_data)
{
  Fixture *fixture = user_data;

  if (ow_event_get_kind (event) == OW_EVENT_TOOL_STARTED &&
      g_strcmp0 (ow_event_get_string (event, "call"),
                 ow_tool_call_get_id (fixture->call)) == 0)
    fixture->begin_seen = TRUE;
  return TRUE;
}

static void
on_host_asked (FakeHost   *host,
               const char *call_id,
               gpointer    user_data)
{
  Fixture *fixture = user_data;

  g_assert_cmpstr (call_id, ==, ow_tool_call_get_id (fixture->call));
  g_assert_true (ow_audit_foreach (fixture->path, find_begin, fixture, NULL));
  if (fixture->cancelled_at == OW_EVENT_N_TYPES)
    g_cancellable_cancel (fixture->cancellable);
}

static void
fixture_set_up (Fixture         *fixture,
                OwApprovePolicy  policy,
                FakeMode         mode)
{
  GError *error = NULL;

  memset (fixture, 0, sizeof *fixture);
  fixture->refused = -1;
  fixture->cancelled_at = -1;
  fixture->directory = g_dir_make_tmp ("ow-call-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->directory, "audit.jsonl", NULL);
  fixture->events = ow_event_list_new ("s1");
  ow_event_list_set_sink (fixture->events, sink, fixture, NULL);
  g_signal_connect (fixture->events, "appended", G_CALLBACK (on_appended), fixture);
  fixture->consent = ow_consent_new (fixture->events, policy);
  fixture->audit = ow_audit_open (fixture->path, &error);
  g_assert_no_error (error);
  fixture->host = fake_host_new (mode, "output of it");
  fixture->host->asked = on_host_asked;
  fixture->host->asked_data = fixture;
  fixture->cancellable = g_cancellable_new ();
  fixture->outputs = g_string_new (NULL);
}

static void
fixture_tear_down (Fixture *fixture)
{
  g_clear_object (&fixture->call);
  g_clear_object (&fixture->host);
  g_clear_object (&fixture->consent);
  g_clear_object (&fixture->audit);
  g_clear_object (&fixture->events);
  g_clear_object (&fixture->cancellable);
  ow_tool_result_free (fixture->result);
  g_clear_error (&fixture->error);
  g_string_free (fixture->outputs, TRUE);
  g_assert_true (ow_file_remove_tree (fixture->directory, NULL));
  g_free (fixture->directory);
  g_free (fixture->path);
}

static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  Fixture *fixture = user_data;

  fixture->result = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &fixture->error);
  fixture->done = TRUE;
}

static void
start_call (Fixture    *fixture,
            const char *tool,
            const char *arguments)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *json = ow_json_parse (arguments, strlen (arguments), message);

  g_assert_nonnull (json);
  fixture->call = ow_tool_call_new (fixture->events, fixture->consent, fixture->audit,
                                    OW_TOOL_HOST (fixture->host), tool, json, "m1");
  json_decref (json);
  ow_tool_call_run_async (fixture->call, fixture->cancellable, on_done, fixture);
}

static void
run_call (Fixture    *fixture,
          const char *tool,
          const char *arguments)
{
  start_call (fixture, tool, arguments);
  fake_wait (&fixture->done);
  g_assert_cmpint (ow_tool_call_get_state (fixture->call), ==, OW_TOOL_CALL_ENDED);
}

/* The kinds of the list's events, such as "tool-asked tool-ended". */
static char *
kinds (Fixture *fixture)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < ow_event_list_get_n (fixture->events); i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "",
                            ow_event_kind_name (ow_event_get_kind (
                                                  ow_event_list_get (fixture->events, i))));
  return g_string_free (text, FALSE);
}

static const OwEvent *
last_event (Fixture *fixture)
{
  return ow_event_list_get (fixture->events, ow_event_list_get_n (fixture->events) - 1);
}

static void
assert_events (Fixture    *fixture,
               const char *expected)
{
  g_autofree char *seen = kinds (fixture);

  g_assert_cmpstr (seen, ==, expected);
}

static guint
count_audit (Fixture *fixture)
{
  g_autoptr (OwAuditReport) report = ow_audit_verify (fixture->path, NULL);

  g_assert_nonnull (report);
  g_assert_true (ow_audit_report_is_clean (report));
  return (guint) report->n_records;
}

static void
test_order (void)
{
  Fixture fixture;
  const OwEvent *ended;
  g_autoptr (OwAuditReport) report = NULL;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_no_error (fixture.error);
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_OK);
  g_assert_cmpstr (fixture.result->text, ==, "output of it");
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  g_assert_true (fixture.begin_seen);
  assert_events (&fixture, "tool-asked tool-started tool-ended");
  ended = last_event (&fixture);
  g_assert_cmpstr (ow_event_get_string (ended, "outcome"), ==, "ok");
  g_assert_cmpstr (ow_event_get_string (ended, "result"), ==, "output of it");
  g_assert_cmpstr (ow_event_get_string (ended, "model_call"), ==, "m1");
  g_assert_cmpstr (ow_event_get_string (ended, "level"), ==, "bubblewrap");
  g_assert_cmpint (ow_event_get_int (ended, "exit_status", -1), ==, 0);
  g_assert_cmpuint (count_audit (&fixture), ==, 2);
  report = ow_audit_verify (fixture.path, NULL);
  g_assert_cmpuint (report->open_calls->len, ==, 0);
  fixture_tear_down (&fixture);
}

static void
run_commanded (Fixture    *fixture,
               const char *tool,
               const char *undoes)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *arguments = json_pack ("{s:[], s:b}", "changes", "apply", TRUE);
  json_t *calls = ow_json_parse (undoes, strlen (undoes), message);

  fixture->call = ow_tool_call_new (fixture->events, fixture->consent, fixture->audit,
                                    OW_TOOL_HOST (fixture->host), tool, arguments, NULL);
  ow_tool_call_set_commanded (fixture->call, calls);
  json_decref (arguments);
  json_decref (calls);
  ow_tool_call_run_async (fixture->call, fixture->cancellable, on_done, fixture);
  fake_wait (&fixture->done);
}

/* What a person commanded is recorded as any call, whatever the session asks for. */
static void
test_commanded (void)
{
  Fixture fixture;
  const OwEvent *asked;
  char *undoes;

  fixture_set_up (&fixture, OW_APPROVE_DENY, FAKE_ANSWER);
  run_commanded (&fixture, "undo", "[\"c1\",\"c2\"]");
  g_assert_no_error (fixture.error);
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_OK);
  g_assert_true (fixture.begin_seen);
  assert_events (&fixture, "tool-asked tool-started tool-ended");
  asked = ow_event_list_get (fixture.events, 0);
  undoes = ow_json_dump (json_object_get (ow_event_get_members (asked), "undoes"), NULL);
  g_assert_cmpstr (undoes, ==, "[\"c1\",\"c2\"]");
  free (undoes);
  g_assert_cmpstr (ow_event_get_string (ow_event_list_get (fixture.events, 1), "approval"), ==,
                   "person");
  g_assert_null (ow_event_get_string (last_event (&fixture), "model_call"));
  g_assert_cmpuint (count_audit (&fixture), ==, 2);
  fixture_tear_down (&fixture);
}

/* It stops where any call does: wrong, cancelled, not to be stored. */
static void
test_commanded_stops (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
  run_commanded (&fixture, "nosuch", "[]");
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_FAILED);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  fixture_tear_down (&fixture);

  fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
  g_cancellable_cancel (fixture.cancellable);
  run_commanded (&fixture, "undo", "[]");
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_CANCELLED);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  fixture_tear_down (&fixture);

  fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
  fixture.refused = OW_EVENT_TOOL_STARTED;
  run_commanded (&fixture, "undo", "[]");
  g_assert_nonnull (fixture.error);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  fixture_tear_down (&fixture);
}

/* A model has the tools that it is offered, however allowed everything is. */
static void
test_not_offered (void)
{
  static const char * const calls[][2] = {
    { "undo", "{\"changes\":[],\"apply\":true}" }, { "changes", "{\"changes\":[]}" },
    { "exec", "{\"argv\":[\"true\"]}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
      run_call (&fixture, calls[i][0], calls[i][1]);
      g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_FAILED);
      g_assert_nonnull (strstr (fixture.result->text, "There is no tool named"));
      g_assert_cmpuint (fixture.host->n_calls, ==, 0);
      fixture_tear_down (&fixture);
    }
}

static void
test_used_once (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
  run_call (&fixture, "list", "{\"path\":\".\"}");
  fixture.done = FALSE;
  g_clear_pointer (&fixture.result, ow_tool_result_free);
  ow_tool_call_run_async (fixture.call, NULL, on_done, &fixture);
  fake_wait (&fixture.done);
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  fixture_tear_down (&fixture);
}

typedef struct {
  const char *tool;
  const char *arguments;
  const char *says;
} WrongCase;

static void
test_wrong (void)
{
  static const WrongCase wrong[] = {
    { "sudo", "{}", "no tool named \"sudo\"" },
    { "", "{}", "no tool named" },
    { "shell", "{\"cmd\":\"ls\"}", "needs the argument command" },
    { "shell", "[1]", "JSON object" },
    { "read", "{\"path\":\"x\",\"offset\":-1}", "offset" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
      run_call (&fixture, wrong[i].tool, wrong[i].arguments);
      g_assert_no_error (fixture.error);
      g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_FAILED);
      g_assert_nonnull (strstr (fixture.result->text, wrong[i].says));
      g_assert_nonnull (strstr (fixture.result->text, "Nothing ran."));
      g_assert_cmpuint (fixture.host->n_calls, ==, 0);
      assert_events (&fixture, "tool-asked tool-ended");
      g_assert_cmpstr (ow_event_get_string (last_event (&fixture), "outcome"), ==, "failed");
      fixture_tear_down (&fixture);
    }
}

/* An event that cannot be stored, at each step. */
static void
test_store_full (void)
{
  static const struct { gint refused; guint n_calls; const char *events; } steps[] = {
    { OW_EVENT_TOOL_ASKED, 0, "" },
    { OW_EVENT_TOOL_STARTED, 0, "tool-asked tool-ended" },
    { OW_EVENT_TOOL_ENDED, 1, "tool-asked tool-started" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
      fixture.refused = steps[i].refused;
      run_call (&fixture, "list", "{\"path\":\".\"}");
      g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
      g_assert_nonnull (strstr (fixture.error->message, "The store is full"));
      g_assert_null (fixture.result);
      g_assert_cmpuint (fixture.host->n_calls, ==, steps[i].n_calls);
      assert_events (&fixture, steps[i].events);
      fixture_tear_down (&fixture);
    }
}

/* A record that cannot be written: the file may not grow any more. */
static void
test_audit_full (gconstpointer data)
{
  const char    *tool = data;
  Fixture        fixture;
  struct rlimit  before;
  struct rlimit  limit;
  GStatBuf       info;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
  g_assert_cmpint (g_stat (fixture.path, &info), ==, 0);
  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  limit = before;
  limit.rlim_cur = (rlim_t) info.st_size + 20;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  run_call (&fixture, tool, g_str_equal (tool, "read") ? "{\"path\":\"a\"}"
                                                       : "{\"command\":\"rm -r x\"}");
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
  g_assert_nonnull (fixture.error);
  g_assert_nonnull (strstr (fixture.error->message, "was not run"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  assert_events (&fixture, "tool-asked tool-started tool-ended");
  g_assert_cmpstr (ow_event_get_string (last_event (&fixture), "outcome"), ==, "failed");

  /* The file is left whole: the next call is recorded on lines of its own. */
  g_clear_error (&fixture.error);
  g_clear_object (&fixture.call);
  fixture.done = FALSE;
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_no_error (fixture.error);
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  g_assert_cmpuint (count_audit (&fixture), ==, 2);
  fixture_tear_down (&fixture);
}

static void
fill_disk (FakeHost   *host,
           const char *call_id,
           gpointer    user_data)
{
  Fixture       *fixture = user_data;
  struct rlimit  limit;
  GStatBuf       info;

  g_assert_cmpint (g_stat (fixture->path, &info), ==, 0);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  limit.rlim_cur = (rlim_t) info.st_size + 20;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
}

/* The end record cannot be written: said as such, because the call did run. */
static void
test_end_not_recorded (void)
{
  Fixture       fixture;
  struct rlimit before;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  fixture.host->asked = fill_disk;
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
  g_assert_nonnull (fixture.error);
  g_assert_nonnull (strstr (fixture.error->message, "The call ran, but"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 1);
  fixture_tear_down (&fixture);
}

static void
test_denied_by_policy (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_DENY, FAKE_ANSWER);
  fixture.host->level = OW_LEVEL_DIRECT;
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_no_error (fixture.error);
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_DENIED);
  g_assert_nonnull (strstr (fixture.result->text, "did not run"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  g_assert_cmpstr (ow_event_get_string (last_event (&fixture), "outcome"), ==, "denied");
  fixture_tear_down (&fixture);
}

static void
test_denied_by_nobody (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_DENIED);
  g_assert_nonnull (strstr (fixture.result->text, "Nobody was there to be asked"));
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  fixture_tear_down (&fixture);
}

static void
on_consent_asked (OwEventList *events,
                  OwEvent     *event,
                  Fixture     *fixture)
{
  g_autoptr (GError) error = NULL;

  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED)
    return;
  g_assert_cmpstr (ow_event_get_string (event, "subject"), ==,
                   "{\"arguments\":{\"command\":\"rm x\"},\"tool\":\"shell\"}");
  g_assert_cmpstr (ow_event_get_string (event, "call"), ==, ow_tool_call_get_id (fixture->call));
  g_assert_cmpint (ow_tool_call_get_state (fixture->call), ==, OW_TOOL_CALL_ASKED);
  g_assert_cmpuint (fixture->host->n_calls, ==, 0);
  g_assert_true (ow_consent_answer (fixture->consent, ow_event_get_string (event, "request"),
                                    fixture->answer, fixture->answer_reason, &error));
  g_assert_no_error (error);
}

/* Somebody is there who answers each request at once. */
static void
attend (Fixture *fixture)
{
  ow_consent_set_attended (fixture->consent, TRUE);
  g_signal_connect (fixture->events, "appended", G_CALLBACK (on_consent_asked), fixture);
}

static void
test_person (void)
{
  static const struct { OwDecision answer; OwToolOutcome outcome; } answers[] = {
    { OW_DECISION_DENY, OW_OUTCOME_DENIED },
    { OW_DECISION_ONCE, OW_OUTCOME_OK },
    { OW_DECISION_SESSION, OW_OUTCOME_OK },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
      fixture.answer = answers[i].answer;
      fixture.answer_reason = "not this file";
      attend (&fixture);
      run_call (&fixture, "shell", "{\"command\":\"rm x\"}");
      g_assert_no_error (fixture.error);
      g_assert_cmpint (fixture.result->outcome, ==, answers[i].outcome);
      g_assert_cmpuint (fixture.host->n_calls, ==, answers[i].answer != OW_DECISION_DENY);
      if (answers[i].answer == OW_DECISION_DENY)
        {
          g_assert_nonnull (strstr (fixture.result->text, "The person said no: not this file"));
          assert_events (&fixture, "tool-asked consent-asked consent-answered tool-ended");
        }
      else
        {
          assert_events (&fixture, "tool-asked consent-asked consent-answered tool-started "
                         "tool-ended");
        }
      fixture_tear_down (&fixture);
    }
}

typedef struct {
  const char *tool;
  const char *arguments;
  const char *always; /* (nullable) what may be allowed for always; NULL: nothing of it */
} AlwaysCase;

static void
remember_offer (OwEventList *events,
                OwEvent     *event,
                char       **always)
{
  if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ASKED)
    *always = g_strdup (ow_event_get_string (event, "always"));
}

/* "Always" is offered for a command line that is all there is to the call. */
static void
test_always_offered (void)
{
  static const AlwaysCase cases[] = {
    { "shell", "{\"command\":\"git status\"}", "git status" },
    { "shell", "{\"command\":\"git status\",\"timeout_s\":7}", "git status" },
    /* The same command is the same thing to allow, whether the shell waits for it or not. */
    { "task_start", "{\"command\":\"git status\"}", "git status" },
    { "task_start", "{\"command\":\"git status\",\"pty\":true}", "git status" },
    { "task_start", "{\"command\":\"git status; rm x\"}", NULL },
    { "task_stop", "{\"task\":\"t1\"}", NULL },
    { "shell", "{\"command\":\"git status; rm x\"}", NULL },
    { "shell", "{\"command\":\"git status\\nrm x\"}", NULL },
    { "write", "{\"path\":\"a\",\"content\":\"git status\"}", NULL },
    { "exec", "{\"argv\":[\"git\",\"status\"]}", NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture fixture;
      g_autofree char *rules_path = NULL;
      g_autofree char *always = NULL;
      g_autoptr (OwConsentRules) rules = NULL;

      fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
      rules_path = g_build_filename (fixture.directory, "approvals.json", NULL);
      rules = ow_consent_rules_open (rules_path, NULL);
      ow_consent_set_rules (fixture.consent, rules, "/srv");
      ow_consent_set_attended (fixture.consent, TRUE);
      g_signal_connect (fixture.events, "appended", G_CALLBACK (remember_offer), &always);
      start_call (&fixture, cases[i].tool, cases[i].arguments);
      g_assert_cmpstr (always, ==, cases[i].always);
      ow_consent_close (fixture.consent);
      fake_wait (&fixture.done);
      fixture_tear_down (&fixture);
    }
}

/* Allowed for always once: the next call runs without a question, another one does not. */
static void
test_always_runs (void)
{
  static const struct { const char *arguments; guint n_calls; } calls[] = {
    { "{\"command\":\"rm x\"}", 1 },
    { "{\"command\":\"'rm' x\"}", 2 },
    { "{\"command\":\"rm x; rm y\"}", 2 },
    { "{\"command\":\"rm y\"}", 2 },
  };
  Fixture fixture;
  g_autofree char *rules_path = NULL;
  g_autoptr (OwConsentRules) rules = NULL;

  fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_ANSWER);
  rules_path = g_build_filename (fixture.directory, "approvals.json", NULL);
  rules = ow_consent_rules_open (rules_path, NULL);
  ow_consent_set_rules (fixture.consent, rules, "/srv");
  fixture.answer = OW_DECISION_ALWAYS;
  attend (&fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      fixture.done = FALSE;
      g_clear_pointer (&fixture.result, ow_tool_result_free);
      g_clear_object (&fixture.call);
      if (i == 1)
        {
          ow_consent_set_attended (fixture.consent, FALSE);
          g_signal_handlers_disconnect_by_func (fixture.events, on_consent_asked, &fixture);
        }
      run_call (&fixture, "shell", calls[i].arguments);
      g_assert_no_error (fixture.error);
      g_assert_cmpuint (fixture.host->n_calls, ==, calls[i].n_calls);
    }
  fixture_tear_down (&fixture);
}

/* Cancelled while each event is announced, and while the host works. */
static void
test_cancel (void)
{
  static const struct { gint at; guint n_calls; guint n_audit; } moments[] = {
    { OW_EVENT_TOOL_ASKED, 0, 1 },
    { OW_EVENT_CONSENT_ASKED, 0, 1 },
    { OW_EVENT_CONSENT_ANSWERED, 0, 1 },
    { OW_EVENT_TOOL_STARTED, 0, 2 },
    { OW_EVENT_N_TYPES, 1, 2 },  /* when the host is asked */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (moments); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_ASK, FAKE_HANG);
      fixture.answer = OW_DECISION_ONCE;
      fixture.cancelled_at = moments[i].at;
      ow_consent_set_attended (fixture.consent, TRUE);
      if (moments[i].at != OW_EVENT_CONSENT_ASKED)
        attend (&fixture);
      run_call (&fixture, "shell", "{\"command\":\"rm x\"}");
      g_assert_no_error (fixture.error);
      g_assert_nonnull (fixture.result);
      if (moments[i].at != OW_EVENT_CONSENT_ASKED || fixture.result->outcome != OW_OUTCOME_DENIED)
        g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_CANCELLED);
      g_assert_cmpuint (fixture.host->n_calls, ==, moments[i].n_calls);
      g_assert_cmpint (ow_event_get_kind (last_event (&fixture)), ==, OW_EVENT_TOOL_ENDED);
      g_assert_cmpuint (count_audit (&fixture), ==, moments[i].n_audit);
      fixture_tear_down (&fixture);
    }
}

static void
test_cancelled_before (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_HANG);
  g_cancellable_cancel (fixture.cancellable);
  run_call (&fixture, "shell", "{\"command\":\"rm x\"}");
  g_assert_cmpint (fixture.result->outcome, ==, OW_OUTCOME_CANCELLED);
  g_assert_cmpuint (fixture.host->n_calls, ==, 0);
  assert_events (&fixture, "tool-asked tool-ended");
  fixture_tear_down (&fixture);
}

static void
test_host_error (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ERROR);
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_error (fixture.error, OW_ERROR, OW_ERROR_FAILED);
  assert_events (&fixture, "tool-asked tool-started tool-ended");
  g_assert_cmpstr (ow_event_get_string (last_event (&fixture), "outcome"), ==, "failed");
  g_assert_cmpuint (count_audit (&fixture), ==, 2);
  fixture_tear_down (&fixture);
}

static void
test_outcomes (void)
{
  static const OwToolOutcome outcomes[] = {
    OW_OUTCOME_OK, OW_OUTCOME_FAILED, OW_OUTCOME_CANCELLED, OW_OUTCOME_INTERRUPTED,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (outcomes); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
      fixture.host->outcome = outcomes[i];
      fixture.host->state_lost = TRUE;
      run_call (&fixture, "shell", "{\"command\":\"true\"}");
      g_assert_cmpint (fixture.result->outcome, ==, outcomes[i]);
      g_assert_cmpstr (ow_event_get_string (last_event (&fixture), "outcome"), ==,
                       ow_tool_outcome_to_string (outcomes[i]));
      g_assert_true (ow_json_get_bool (ow_event_get_members (last_event (&fixture)),
                                       "state_lost", FALSE));
      fixture_tear_down (&fixture);
    }
}

static void
test_output (void)
{
  static const struct { const char *bytes; gsize length; const char *seen; } outputs[] = {
    { "one\n", 4, "text:one\n;" },
    { "\xff\xfe", 2, "data://4=;" },
    { "a\0b", 3, "data:YQBi;" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (outputs); i++)
    {
      Fixture fixture;

      fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
      fixture.host->output = outputs[i].bytes;
      fixture.host->output_length = outputs[i].length;
      run_call (&fixture, "shell", "{\"command\":\"true\"}");
      g_assert_cmpstr (fixture.outputs->str, ==, outputs[i].seen);
      /* Neither stored nor numbered, nor recorded; and nothing counts after the end. */
      assert_events (&fixture, "tool-asked tool-started tool-ended");
      fixture.host->kept_output ("stdout", "late", 4, fixture.host->kept_data);
      g_assert_cmpstr (fixture.outputs->str, ==, outputs[i].seen);
      g_assert_cmpuint (count_audit (&fixture), ==, 2);
      fixture_tear_down (&fixture);
    }
}

/* What a host returns is data: bytes that are no UTF-8 must not lose the end record. */
static void
test_hostile_result (void)
{
  Fixture fixture;

  fixture_set_up (&fixture, OW_APPROVE_SANDBOXED, FAKE_ANSWER);
  g_free (fixture.host->text);
  fixture.host->text = g_strdup ("bad \xff\xc3 bytes");
  run_call (&fixture, "shell", "{\"command\":\"true\"}");
  g_assert_no_error (fixture.error);
  g_assert_cmpuint (count_audit (&fixture), ==, 2);
  g_assert_nonnull (ow_event_get_string (last_event (&fixture), "result"));
  fixture_tear_down (&fixture);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tool-call/order", test_order);
  g_test_add_func ("/tool-call/used-once", test_used_once);
  g_test_add_func ("/tool-call/S06/commanded", test_commanded);
  g_test_add_func ("/tool-call/S06/commanded-stops", test_commanded_stops);
  g_test_add_func ("/tool-call/S06/not-offered", test_not_offered);
  g_test_add_func ("/tool-call/wrong", test_wrong);
  g_test_add_func ("/tool-call/E02/store-full", test_store_full);
  g_test_add_data_func ("/tool-call/A38/audit-full", "shell", test_audit_full);
  g_test_add_data_func ("/tool-call/A38/audit-full-read", "read", test_audit_full);
  g_test_add_func ("/tool-call/E02/end-not-recorded", test_end_not_recorded);
  g_test_add_func ("/tool-call/U04/always-offered", test_always_offered);
  g_test_add_func ("/tool-call/U04/always-runs", test_always_runs);
  g_test_add_func ("/tool-call/denied-by-policy", test_denied_by_policy);
  g_test_add_func ("/tool-call/denied-by-nobody", test_denied_by_nobody);
  g_test_add_func ("/tool-call/person", test_person);
  g_test_add_func ("/tool-call/cancel", test_cancel);
  g_test_add_func ("/tool-call/cancelled-before", test_cancelled_before);
  g_test_add_func ("/tool-call/host-error", test_host_error);
  g_test_add_func ("/tool-call/outcomes", test_outcomes);
  g_test_add_func ("/tool-call/output", test_output);
  g_test_add_func ("/tool-call/P03/hostile-result", test_hostile_result);
  return g_test_run ();
}
