/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "consent/ow-consent.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-consent-private.h"

typedef struct {
  OwEventList *events;
  OwConsent   *consent;
  char        *id;       /* of the newest request */
  char        *subject;
  guint        asked;
} Fixture;

typedef struct {
  gboolean   done;
  gboolean   ok;
  OwDecision decision;
  char      *approval;
  GError    *error;
} Answer;

static void
set_up (Fixture       *f,
        gconstpointer  data)
{
  f->events = ow_event_list_new ("s");
  f->consent = ow_consent_new (f->events, (OwApprovePolicy) GPOINTER_TO_INT (data));
}

static void
tear_down (Fixture       *f,
           gconstpointer  data)
{
  g_object_add_weak_pointer (G_OBJECT (f->consent), (gpointer *) &f->consent);
  g_object_unref (f->consent);
  g_assert_null (f->consent);
  g_clear_object (&f->events);
  g_free (f->id);
  g_free (f->subject);
}

static void
on_appended (OwEventList *list,
             OwEvent     *event,
             Fixture     *f)
{
  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED)
    return;
  f->asked++;
  g_free (f->id);
  g_free (f->subject);
  f->id = g_strdup (ow_event_get_string (event, "request"));
  f->subject = g_strdup (ow_event_get_string (event, "subject"));
}

/* Somebody is there, who remembers the newest request. */
static void
attend (Fixture *f)
{
  ow_consent_set_attended (f->consent, TRUE);
  g_signal_connect (f->events, "appended", G_CALLBACK (on_appended), f);
}

static void
answer_it (Fixture    *f,
           OwDecision  decision,
           const char *reason)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (ow_consent_answer (f->consent, f->id, decision, reason, &error));
  g_assert_no_error (error);
}

/* An answer that nobody asked for is an error and decides nothing. */
static void
assert_refused (Fixture    *f,
                const char *id,
                OwDecision  decision,
                const char *says)
{
  g_autoptr (GError) error = NULL;
  guint before = ow_event_list_get_n (f->events);

  g_assert_false (ow_consent_answer (f->consent, id, decision, NULL, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_cmpint (ow_error_exit_status (error), ==, 2);
  g_assert_cmpuint (ow_event_list_get_n (f->events), ==, before);
}

static void
on_done (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Answer *answer = user_data;

  answer->ok = ow_consent_request_finish (OW_CONSENT (object), result, &answer->decision,
                                          &answer->approval, &answer->error);
  answer->done = TRUE;
}

static void
request (Fixture      *f,
         OwConsentKind kind,
         OwLevel       level,
         gboolean      read_only,
         const char   *subject,
         GCancellable *cancellable,
         Answer       *answer)
{
  OwConsentQuestion question = {
    .kind = kind,
    .level = level,
    .read_only = read_only,
    .call = "c1",
    .title = "shell",
    .subject = subject,
  };

  memset (answer, 0, sizeof *answer);
  ow_consent_request_async (f->consent, &question, cancellable, on_done, answer);
}

/* Takes the answer's approval. */
static char *
wait_for (Answer *answer)
{
  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_no_error (answer->error);
  g_assert_true (answer->ok);
  return g_steal_pointer (&answer->approval);
}

static guint
count (Fixture    *f,
       OwEventType type)
{
  guint n = 0;

  for (guint i = 0; i < ow_event_list_get_n (f->events); i++)
    n += ow_event_get_kind (ow_event_list_get (f->events, i)) == type;
  return n;
}

/* Every policy, level, kind and read-only: what is decided without a question. */
static void
test_policy (void)
{
  static const struct {
    OwApprovePolicy policy;
    OwConsentKind   kind;
    OwLevel         level;
    gboolean        read_only;
    const char     *approval;
  } rows[] = {
    { OW_APPROVE_ASK, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, TRUE, "policy:read-only" },
    { OW_APPROVE_ASK, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, TRUE, "policy:read-only" },
    { OW_APPROVE_ASK, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, FALSE, "denied:nobody" },
    { OW_APPROVE_ASK, OW_CONSENT_TOOL, OW_LEVEL_OPENSHELL, FALSE, "denied:nobody" },
    { OW_APPROVE_ASK, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "denied:nobody" },
    { OW_APPROVE_ASK, OW_CONSENT_HOST, OW_LEVEL_BUBBLEWRAP, TRUE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, FALSE, "policy:sandboxed" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_TOOL, OW_LEVEL_OPENSHELL, FALSE, "policy:sandboxed" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_TOOL, OW_LEVEL_CONNECTOR, FALSE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, TRUE, "policy:read-only" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_HOST, OW_LEVEL_BUBBLEWRAP, FALSE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_FOLDER, OW_LEVEL_BUBBLEWRAP, FALSE, "denied:nobody" },
    { OW_APPROVE_DENY, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, TRUE, "policy:read-only" },
    { OW_APPROVE_DENY, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, FALSE, "denied:policy" },
    { OW_APPROVE_DENY, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, TRUE, "denied:policy" },
    { OW_APPROVE_DENY, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "denied:policy" },
    { OW_APPROVE_DENY, OW_CONSENT_HOST, OW_LEVEL_BUBBLEWRAP, TRUE, "denied:policy" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      Fixture f = { 0 };
      g_autofree char *approval = NULL;
      Answer answer;

      set_up (&f, GINT_TO_POINTER (rows[i].policy));
      request (&f, rows[i].kind, rows[i].level, rows[i].read_only, "{}", NULL, &answer);
      approval = wait_for (&answer);
      g_assert_cmpstr (approval, ==, rows[i].approval);
      g_assert_cmpint (answer.decision == OW_DECISION_DENY, ==,
                       g_str_has_prefix (approval, "denied:"));
      /* Nobody was asked, so nothing says so. */
      g_assert_cmpuint (ow_event_list_get_n (f.events), ==, 0);
      tear_down (&f, NULL);
    }
}

static void
test_answers (Fixture       *f,
              gconstpointer  data)
{
  static const struct {
    OwDecision  given;
    OwDecision  decision;
    const char *approval;
    const char *recorded;
  } rows[] = {
    { OW_DECISION_DENY, OW_DECISION_DENY, "denied:person", "deny" },
    { OW_DECISION_ONCE, OW_DECISION_ONCE, "person:once", "once" },
    { (OwDecision) 7, OW_DECISION_DENY, "denied:person", "deny" },
    { (OwDecision) - 1, OW_DECISION_DENY, "denied:person", "deny" },
    { OW_DECISION_SESSION, OW_DECISION_SESSION, "person:session", "session" },
  };
  const char *subject = "{\"arguments\":{\"command\":\"rm -rf x\"},\"tool\":\"shell\"}";

  attend (f);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *approval = NULL;
      g_autofree char *id = NULL;
      OwEvent *asked, *answered;
      Answer answer;

      request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, subject, NULL, &answer);
      g_assert_cmpuint (f->asked, ==, i + 1);
      g_assert_cmpstr (f->subject, ==, subject);
      id = g_strdup (f->id);
      g_assert_cmpuint (strlen (id), ==, 32);
      assert_refused (f, "0", OW_DECISION_ONCE, "no such open request");
      answer_it (f, rows[i].given, "because\xff");
      assert_refused (f, id, OW_DECISION_ONCE, "no such open request");
      approval = wait_for (&answer);
      g_assert_cmpint (answer.decision, ==, rows[i].decision);
      g_assert_cmpstr (approval, ==, rows[i].approval);

      g_assert_cmpuint (ow_event_list_get_n (f->events), ==, 2 * (i + 1));
      asked = ow_event_list_get (f->events, 2 * (guint) i);
      answered = ow_event_list_get (f->events, 2 * (guint) i + 1);
      g_assert_cmpstr (ow_event_get_string (asked, "subject"), ==, subject);
      g_assert_cmpint (ow_event_get_int (asked, "timeout_s", 0), ==, 600);
      g_assert_cmpstr (ow_event_get_string (answered, "request"), ==, id);
      g_assert_cmpstr (ow_event_get_string (answered, "decision"), ==, rows[i].recorded);
      g_assert_cmpstr (ow_event_get_string (answered, "approval"), ==, rows[i].approval);
      g_assert_cmpstr (ow_event_get_string (answered, "reason"), ==, "because\xef\xbf\xbd");
    }
}

/* "For this session" is for the same bytes, kind and level, and for nothing near them. */
static void
test_remembered (Fixture       *f,
                 gconstpointer  data)
{
  static const struct {
    OwConsentKind kind;
    OwLevel       level;
    const char   *subject;
    gboolean      asked;
  } rows[] = {
    { OW_CONSENT_TOOL, OW_LEVEL_DIRECT, "make", FALSE },
    { OW_CONSENT_TOOL, OW_LEVEL_DIRECT, "make ", TRUE },
    { OW_CONSENT_TOOL, OW_LEVEL_DIRECT, "Make", TRUE },
    { OW_CONSENT_TOOL, OW_LEVEL_DIRECT, "mak", TRUE },
    { OW_CONSENT_TOOL, OW_LEVEL_DIRECT, "make\xe2\x80\x8b", TRUE },
    { OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, "make", TRUE },
    { OW_CONSENT_TOOL, OW_LEVEL_CONNECTOR, "make", TRUE },
    { OW_CONSENT_HOST, OW_LEVEL_DIRECT, "make", TRUE },
  };
  Answer answer;

  attend (f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "make", NULL, &answer);
  answer_it (f, OW_DECISION_SESSION, NULL);
  g_free (wait_for (&answer));

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      guint before = f->asked;
      g_autofree char *approval = NULL;

      request (f, rows[i].kind, rows[i].level, FALSE, rows[i].subject, NULL, &answer);
      g_assert_cmpuint (f->asked - before, ==, rows[i].asked ? 1 : 0);
      if (rows[i].asked)
        answer_it (f, OW_DECISION_DENY, NULL);
      approval = wait_for (&answer);
      g_assert_cmpstr (approval, ==, rows[i].asked ? "denied:person" : "person:session");
    }
}

static void
test_timeout (Fixture       *f,
              gconstpointer  data)
{
  g_autofree char *approval = NULL;
  Answer answer;

  ow_consent_set_timeout (f->consent, 50);
  attend (f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "denied:timeout");
  g_assert_cmpint (answer.decision, ==, OW_DECISION_DENY);
  assert_refused (f, f->id, OW_DECISION_ONCE, "no such open request");
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 1);
}

static void
test_cancelled (Fixture       *f,
                gconstpointer  data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char *approval = NULL;
  g_autofree char *second = NULL;
  Answer answer;

  attend (f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", cancellable, &answer);
  g_cancellable_cancel (cancellable);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "denied:cancelled");
  g_assert_cmpint (answer.decision, ==, OW_DECISION_DENY);

  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", cancellable, &answer);
  second = wait_for (&answer);
  g_assert_cmpstr (second, ==, "denied:cancelled");
  g_assert_cmpuint (f->asked, ==, 1);
}

static void
test_closed (Fixture       *f,
             gconstpointer  data)
{
  Answer answers[3], late;
  g_autofree char *after = NULL;

  attend (f);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answers[i]);
  ow_consent_close (f->consent);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autofree char *approval = wait_for (&answers[i]);

      g_assert_cmpstr (approval, ==, "denied:closed");
      g_assert_cmpint (answers[i].decision, ==, OW_DECISION_DENY);
    }
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 3);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_BUBBLEWRAP, TRUE, "x", NULL, &late);
  after = wait_for (&late);
  g_assert_cmpstr (after, ==, "denied:closed");
}

static void
answer_at_once (OwEventList *list,
                OwEvent     *event,
                Fixture     *f)
{
  if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ASKED)
    g_assert_true (ow_consent_answer (f->consent, ow_event_get_string (event, "request"),
                                      OW_DECISION_ONCE, NULL, NULL));
}

/* A face that answers while the question is still being announced. */
static void
test_at_once (Fixture       *f,
              gconstpointer  data)
{
  g_autofree char *approval = NULL;
  Answer answer;

  attend (f);
  g_signal_connect (f->events, "appended", G_CALLBACK (answer_at_once), f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "person:once");
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ASKED), ==, 1);
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 1);
}

static gboolean
refuse (OwEvent   *event,
        gpointer   user_data,
        GError   **error)
{
  if (ow_event_get_kind (event) != *(OwEventType *) user_data)
    return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "full", NULL, NULL);
  return FALSE;
}

/* A question, or a yes, that cannot be written down is no consent. */
static void
test_not_written (Fixture       *f,
                  gconstpointer  data)
{
  static const OwEventType types[] = { OW_EVENT_CONSENT_ASKED, OW_EVENT_CONSENT_ANSWERED };

  attend (f);
  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    {
      OwEventType type = types[i];
      Answer answer;

      ow_event_list_set_sink (f->events, refuse, &type, NULL);
      request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
      if (type == OW_EVENT_CONSENT_ANSWERED)
        answer_it (f, OW_DECISION_SESSION, NULL);
      while (!answer.done)
        g_main_context_iteration (NULL, TRUE);
      g_assert_false (answer.ok);
      g_assert_error (answer.error, OW_ERROR, OW_ERROR_FAILED);
      g_clear_error (&answer.error);
      ow_event_list_set_sink (f->events, NULL, NULL, NULL);
    }

  {
    Answer answer;

    request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
    answer_it (f, OW_DECISION_DENY, NULL);
    g_free (wait_for (&answer));
  }
}

#define ADD(path, func) \
  g_test_add (path, Fixture, GINT_TO_POINTER (OW_APPROVE_ASK), set_up, func, tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/consent/policy", test_policy);
  ADD ("/consent/answers", test_answers);
  ADD ("/consent/remembered", test_remembered);
  ADD ("/consent/timeout", test_timeout);
  ADD ("/consent/cancelled", test_cancelled);
  ADD ("/consent/closed", test_closed);
  ADD ("/consent/at-once", test_at_once);
  ADD ("/consent/not-written", test_not_written);

  return g_test_run ();
}
