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
    { OW_APPROVE_ASK, OW_CONSENT_LIMIT, OW_LEVEL_BUBBLEWRAP, TRUE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_LIMIT, OW_LEVEL_BUBBLEWRAP, FALSE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_LIMIT, OW_LEVEL_OPENSHELL, TRUE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_LIMIT, OW_LEVEL_DIRECT, TRUE, "denied:nobody" },
    { OW_APPROVE_SANDBOXED, OW_CONSENT_CONNECTOR, OW_LEVEL_BUBBLEWRAP, TRUE, "denied:nobody" },
    { OW_APPROVE_DENY, OW_CONSENT_LIMIT, OW_LEVEL_BUBBLEWRAP, TRUE, "denied:policy" },
    { OW_APPROVE_DENY, OW_CONSENT_LIMIT, OW_LEVEL_DIRECT, FALSE, "denied:policy" },
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

/* The same words do another thing where work starts in another folder (REQ-W07). */
static void
test_session_place (Fixture      *f,
                    gconstpointer data)
{
  Answer answer;

  attend (f);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *approval = NULL;
      guint before = f->asked;

      request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "make", NULL, &answer);
      g_assert_cmpuint (f->asked, ==, before + 1);
      answer_it (f, OW_DECISION_SESSION, NULL);
      g_free (wait_for (&answer));
      request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "make", NULL, &answer);
      approval = wait_for (&answer);
      g_assert_cmpstr (approval, ==, "person:session");
      g_assert_cmpuint (f->asked, ==, before + 1);
      ow_consent_set_place (f->consent, "/another");
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

/* What cannot be shown whole is not asked for; what is just short enough is. */
static void
test_too_long (Fixture       *f,
               gconstpointer  data)
{
  const gsize limit = 1024 * 1024;

  attend (f);
  for (gsize length = limit; length <= limit + 1; length++)
    {
      g_autofree char *subject = g_strnfill (length, 'x');
      g_autofree char *approval = NULL;
      Answer answer;

      request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, subject, NULL, &answer);
      if (length == limit)
        answer_it (f, OW_DECISION_ONCE, NULL);
      approval = wait_for (&answer);
      g_assert_cmpstr (approval, ==, length == limit ? "person:once" : "denied:too-long");
      g_assert_cmpint (answer.decision, ==,
                       length == limit ? OW_DECISION_ONCE : OW_DECISION_DENY);
      g_assert_cmpuint (f->asked, ==, 1);
    }
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

/* What a face is told of the only open request; seconds that are left, -1: parked. */
static gint
read_list (Fixture *f)
{
  json_t *list = ow_consent_list (f->consent);
  const json_t *entry = json_array_get (list, 0);
  gint left = (gint) ow_json_get_int (entry, "remaining_s", -1);

  g_assert_cmpuint (json_array_size (list), ==, 1);
  g_assert_cmpstr (ow_json_get_string (entry, "request", ""), ==, f->id);
  g_assert_cmpstr (ow_json_get_string (entry, "session", ""), ==, "s");
  g_assert_cmpstr (ow_json_get_string (entry, "kind", ""), ==, "tool");
  g_assert_cmpstr (ow_json_get_string (entry, "title", ""), ==, "shell");
  g_assert_cmpstr (ow_json_get_string (entry, "subject", ""), ==, "x");
  g_assert_cmpstr (ow_json_get_string (entry, "level", ""), ==, "direct");
  g_assert_cmpint (ow_json_get_bool (entry, "parked", -1), ==, left < 0);
  json_decref (list);
  return left;
}

static void
turn_for (guint ms)
{
  gint64 until = g_get_monotonic_time () + (gint64) ms * 1000;

  while (g_get_monotonic_time () < until)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (1000);
    }
}

/* With nobody there a request waits for as long as it takes; who comes has the whole time. */
static void
test_parked (Fixture       *f,
             gconstpointer  data)
{
  g_autofree char *approval = NULL;
  OwEvent *asked;
  Answer answer;

  ow_consent_set_timeout (f->consent, 20);
  attend (f);
  ow_consent_set_parks (f->consent, TRUE);
  ow_consent_set_attended (f->consent, FALSE);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
  g_assert_cmpuint (f->asked, ==, 1);
  asked = ow_event_list_get (f->events, 0);
  g_assert_cmpint (ow_event_get_int (asked, "timeout_s", -1), ==, 0);
  g_assert_cmpint (read_list (f), ==, -1);
  turn_for (200);
  g_assert_false (answer.done);

  /* It runs from when somebody came, not from when a second one did. */
  ow_consent_set_timeout (f->consent, 600 * 1000);
  ow_consent_set_attended (f->consent, TRUE);
  g_assert_cmpint (read_list (f), ==, 600);
  turn_for (1100);
  ow_consent_set_attended (f->consent, TRUE);
  g_assert_cmpint (read_list (f), <=, 599);
  /* Gone and come again: the whole time. */
  ow_consent_set_attended (f->consent, FALSE);
  g_assert_cmpint (read_list (f), ==, -1);
  ow_consent_set_attended (f->consent, TRUE);
  g_assert_cmpint (read_list (f), ==, 600);
  ow_consent_set_attended (f->consent, FALSE);
  g_assert_false (answer.done);
  g_assert_cmpuint (ow_event_list_get_n (f->events), ==, 1);

  ow_consent_set_timeout (f->consent, 20);
  ow_consent_set_attended (f->consent, TRUE);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "denied:timeout");
  assert_refused (f, f->id, OW_DECISION_ONCE, "no such open request");
}

/* A parked request is answered like any other, also by a face that does not count as there. */
static void
test_parked_answer (Fixture       *f,
                    gconstpointer  data)
{
  g_autofree char *approval = NULL;
  Answer answer;

  ow_consent_set_parks (f->consent, TRUE);
  g_signal_connect (f->events, "appended", G_CALLBACK (on_appended), f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
  answer_it (f, OW_DECISION_ONCE, NULL);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "person:once");
}

/* A request that is open when the last face leaves has nobody to answer it, unless it parks. */
static void
test_left (Fixture       *f,
           gconstpointer  data)
{
  Answer answers[3];
  Answer late;
  Answer again;
  g_autofree char *after = NULL;
  g_autofree char *end = NULL;

  attend (f);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answers[i]);
  ow_consent_set_attended (f->consent, FALSE);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autofree char *approval = wait_for (&answers[i]);

      g_assert_cmpstr (approval, ==, "denied:nobody");
      g_assert_cmpint (answers[i].decision, ==, OW_DECISION_DENY);
    }
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 3);

  /* Nobody is there any more: not even asked. */
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &late);
  after = wait_for (&late);
  g_assert_cmpstr (after, ==, "denied:nobody");
  g_assert_cmpuint (f->asked, ==, 3);

  /* What was parked is denied when the session stops parking. */
  ow_consent_set_parks (f->consent, TRUE);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &again);
  g_assert_cmpuint (f->asked, ==, 4);
  ow_consent_set_parks (f->consent, FALSE);
  end = wait_for (&again);
  g_assert_cmpstr (end, ==, "denied:nobody");
}

/* An answer is for one request of one session: the others stay open, and another session's
 * cannot be reached. */
static void
test_bound (Fixture       *f,
            gconstpointer  data)
{
  Fixture other = { 0 };
  Answer first, second, foreign;
  g_autofree char *first_id = NULL;
  g_autofree char *cut = NULL;
  json_t *list;

  set_up (&other, GINT_TO_POINTER (OW_APPROVE_ASK));
  attend (f);
  attend (&other);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &first);
  first_id = g_strdup (f->id);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &second);
  request (&other, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &foreign);
  g_assert_cmpstr (first_id, !=, f->id);
  list = ow_consent_list (f->consent);
  g_assert_cmpuint (json_array_size (list), ==, 2);
  g_assert_cmpstr (ow_json_get_string (json_array_get (list, 0), "request", ""), ==, first_id);
  json_decref (list);

  cut = g_strndup (f->id, 31);
  assert_refused (f, other.id, OW_DECISION_ONCE, "no such open request");
  assert_refused (&other, first_id, OW_DECISION_ONCE, "no such open request");
  assert_refused (f, NULL, OW_DECISION_ONCE, "no such open request");
  assert_refused (f, "", OW_DECISION_ONCE, "no such open request");
  assert_refused (f, cut, OW_DECISION_ONCE, "no such open request");

  answer_it (f, OW_DECISION_ONCE, NULL);
  g_free (wait_for (&second));
  turn_for (20);
  g_assert_false (first.done);
  g_assert_false (foreign.done);
  ow_consent_close (f->consent);
  ow_consent_close (other.consent);
  g_free (wait_for (&first));
  g_free (wait_for (&foreign));
  assert_refused (f, first_id, OW_DECISION_ONCE, "no such open request");
  tear_down (&other, NULL);
}

static void
leave_at_once (OwEventList *list,
               OwEvent     *event,
               Fixture     *f)
{
  ow_consent_set_attended (f->consent, ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED);
}

/* The last face goes while the question is still being announced to it. */
static void
test_left_at_once (Fixture       *f,
                   gconstpointer  data)
{
  g_autofree char *approval = NULL;
  Answer answer;

  attend (f);
  g_signal_connect (f->events, "appended", G_CALLBACK (leave_at_once), f);
  request (f, OW_CONSENT_TOOL, OW_LEVEL_DIRECT, FALSE, "x", NULL, &answer);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "denied:nobody");
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 1);
}

/* A limit is asked about whatever the wall. */
static void
test_limit (Fixture       *f,
            gconstpointer  data)
{
  Fixture sandboxed = { 0 };
  g_autofree char *approval = NULL;
  Answer answer;

  set_up (&sandboxed, GINT_TO_POINTER (OW_APPROVE_SANDBOXED));
  attend (&sandboxed);
  request (&sandboxed, OW_CONSENT_LIMIT, OW_LEVEL_BUBBLEWRAP, TRUE, "{\"calls\":50}", NULL,
           &answer);
  g_assert_cmpuint (sandboxed.asked, ==, 1);
  answer_it (&sandboxed, OW_DECISION_ONCE, NULL);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "person:once");
  tear_down (&sandboxed, NULL);
}

typedef struct {
  gboolean fails;
  guint    kept;
} Keeper;

static gboolean
keep (gpointer data,
      GError **error)
{
  Keeper *keeper = data;

  if (keeper->fails)
    ow_error_set (error, OW_ERROR_FAILED, "It is not kept", NULL, NULL);
  else
    keeper->kept++;
  return !keeper->fails;
}

static void
ask_for_host (Fixture *f,
              Keeper  *keeper,
              Answer  *answer)
{
  OwConsentQuestion question = {
    .kind = OW_CONSENT_HOST, .level = OW_LEVEL_OPENSHELL, .title = "a.org:443",
    .subject = "{\"host\":\"a.org\"}", .always = "a.org:443", .keep = keep,
    .keep_data = keeper,
  };

  memset (answer, 0, sizeof *answer);
  ow_consent_request_async (f->consent, &question, NULL, on_done, answer);
}

/* "Always" for what is no command is kept by who asks, before it counts (REQ-N02). */
static void
test_kept (Fixture      *f,
           gconstpointer data)
{
  g_autofree char *approval = NULL;
  g_autoptr (GError) error = NULL;
  Keeper keeper = { .fails = TRUE };
  Answer answer;

  attend (f);
  ask_for_host (f, &keeper, &answer);
  g_assert_cmpstr (ow_event_get_string (ow_event_list_get (f->events, 0), "always"), ==,
                   "a.org:443");
  g_assert_false (ow_consent_answer (f->consent, f->id, OW_DECISION_ALWAYS, NULL, &error));
  g_assert_nonnull (strstr (error->message, "It is not kept"));
  g_assert_false (answer.done);
  g_assert_cmpuint (count (f, OW_EVENT_CONSENT_ANSWERED), ==, 0);

  keeper.fails = FALSE;
  answer_it (f, OW_DECISION_ALWAYS, NULL);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "person:always");
  g_assert_cmpint (answer.decision, ==, OW_DECISION_ALWAYS);
  g_assert_cmpuint (keeper.kept, ==, 1);
  g_clear_pointer (&approval, g_free);

  /* What was answered otherwise is not kept. */
  ask_for_host (f, &keeper, &answer);
  answer_it (f, OW_DECISION_SESSION, NULL);
  approval = wait_for (&answer);
  g_assert_cmpstr (approval, ==, "person:session");
  g_assert_cmpuint (keeper.kept, ==, 1);
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
  ADD ("/consent/parked", test_parked);
  ADD ("/consent/parked-answer", test_parked_answer);
  ADD ("/consent/left", test_left);
  ADD ("/consent/left-at-once", test_left_at_once);
  ADD ("/consent/U06/bound", test_bound);
  ADD ("/consent/limit", test_limit);
  ADD ("/consent/kept", test_kept);
  ADD ("/consent/remembered", test_remembered);
  ADD ("/consent/remembered-place", test_session_place);
  ADD ("/consent/timeout", test_timeout);
  ADD ("/consent/U03/too-long", test_too_long);
  ADD ("/consent/cancelled", test_cancelled);
  ADD ("/consent/closed", test_closed);
  ADD ("/consent/at-once", test_at_once);
  ADD ("/consent/not-written", test_not_written);

  return g_test_run ();
}
