/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session-fixture.h"

#include <glib/gstdio.h>

#include "base/ow-file.h"

#define PATIENCE_S 60

int
session_run_tests (int     argc,
                   char  **argv,
                   void (*add)(void))
{
  g_autofree char *root = g_mkdtemp (g_strdup ("/tmp/ow-session-test-XXXXXX"));
  g_autofree char *home = g_build_filename (root, "home", NULL);
  g_autofree char *runtime = g_build_filename (root, "run", NULL);
  g_autofree char *tmp = g_build_filename (root, "tmp", NULL);
  int status;

  /* Before GLib looks at them: nothing of a test lands in a person's home. */
  g_setenv ("HOME", home, TRUE);
  g_setenv ("XDG_RUNTIME_DIR", runtime, TRUE);
  g_setenv ("TMPDIR", tmp, TRUE);
  g_unsetenv ("XDG_CONFIG_HOME");
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_assert_true (g_mkdir (home, 0700) == 0 && g_mkdir (runtime, 0700) == 0 &&
                 g_mkdir (tmp, 0700) == 0);
  g_test_init (&argc, &argv, NULL);
  add ();
  status = g_test_run ();
  g_assert_true (ow_file_remove_tree (root, NULL));
  return status;
}

void
session_set_up (Fixture       *fixture,
                gconstpointer  data)
{
  g_autofree char *record = NULL;

  fixture->base = g_dir_make_tmp ("ow-session-XXXXXX", NULL);
  fixture->folder = g_build_filename (fixture->base, "work", NULL);
  fixture->path = g_build_filename (fixture->base, "sessions.sqlite", NULL);
  record = g_build_filename (fixture->base, "audit.jsonl", NULL);
  g_assert_cmpint (g_mkdir (fixture->folder, 0700), ==, 0);
  fixture->store = ow_store_open (fixture->path, NULL);
  fixture->audit = ow_audit_open (record, NULL);
  g_assert_nonnull (fixture->store);
  g_assert_nonnull (fixture->audit);
}

static void
drop_session (Fixture *fixture)
{
  g_clear_object (&fixture->session);
  g_clear_object (&fixture->model);
  g_clear_error (&fixture->error);
}

void
session_tear_down (Fixture       *fixture,
                   gconstpointer  data)
{
  drop_session (fixture);
  g_clear_object (&fixture->store);
  g_clear_object (&fixture->audit);
  g_assert_true (ow_file_remove_tree (fixture->base, NULL));
  g_free (fixture->base);
  g_free (fixture->folder);
  g_free (fixture->path);
}

typedef struct {
  OwConsent *consent;  /* (owned) */
  char      *request;  /* (owned) */
} Answer;

static gboolean
say_yes (gpointer data)
{
  Answer *answer = data;

  ow_consent_answer (answer->consent, answer->request, OW_DECISION_ONCE, NULL, NULL);
  return G_SOURCE_REMOVE;
}

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_object_unref (answer->consent);
  g_free (answer->request);
  g_free (answer);
}

static void
on_appended (OwEventList *events,
             OwEvent     *event,
             Fixture     *fixture)
{
  Answer *answer;

  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED || fixture->silent)
    return;
  answer = g_new0 (Answer, 1);
  answer->consent = g_object_ref (ow_session_get_consent (fixture->session));
  answer->request = g_strdup (ow_event_get_string (event, "request"));
  g_idle_add_full (G_PRIORITY_DEFAULT, say_yes, answer, answer_free);
}

static void
take (Fixture   *fixture,
      OwSession *session)
{
  fixture->session = session;
  fixture->done = FALSE;
  if (session == NULL)
    return;
  ow_consent_set_attended (ow_session_get_consent (session), TRUE);
  g_signal_connect (ow_session_get_events (session), "appended", G_CALLBACK (on_appended),
                    fixture);
}

static OwSessionOptions
make_options (Fixture     *fixture,
              ScriptModel *model,
              gboolean     keep)
{
  return (OwSessionOptions) {
           .provider = OW_PROVIDER_DIRECT,
           .profile = OW_PROFILE_STRICT,
           .model_name = "script:test",
           .base_url = "http://127.0.0.1:1",
           .notice = "No wall.",
           .model = OW_MODEL (model),
           .approve = OW_APPROVE_ASK,
           .keep = keep,
  };
}

void
session_make (Fixture     *fixture,
              ScriptModel *model,
              gboolean     keep)
{
  OwSessionOptions options = make_options (fixture, model, keep);
  const char      *folders[] = { fixture->folder, NULL };

  drop_session (fixture);
  fixture->model = model;
  options.folders = folders;
  take (fixture, ow_session_new (fixture->store, fixture->audit, &options, &fixture->error));
  g_assert_no_error (fixture->error);
}

gboolean
session_make_again (Fixture     *fixture,
                    const char  *id,
                    ScriptModel *model,
                    gboolean     keep)
{
  OwSessionOptions options = make_options (fixture, model, keep);
  g_autofree char *kept = g_strdup (id);

  drop_session (fixture);
  fixture->model = model;
  take (fixture, ow_session_resume (fixture->store, fixture->audit, kept, &options,
                                    &fixture->error));
  g_assert_true ((fixture->session == NULL) == (fixture->error != NULL));
  return fixture->session != NULL;
}

static void
on_ended (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  Fixture *fixture = user_data;

  fixture->result = ow_session_run_finish (OW_SESSION (source), result, &fixture->error);
  fixture->done = TRUE;
}

void
session_begin (Fixture    *fixture,
               const char *task)
{
  ow_session_run_async (fixture->session, task, NULL, on_ended, fixture);
}

static gboolean
on_too_long (gpointer data)
{
  g_error ("the test took too long");
  return G_SOURCE_REMOVE;
}

void
session_wait_end (Fixture *fixture)
{
  guint patience = g_timeout_add_seconds (PATIENCE_S, on_too_long, NULL);

  while (!fixture->done)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (patience);
}

guint
session_count (Fixture     *fixture,
               OwEventType  kind)
{
  OwEventList *events = ow_session_get_events (fixture->session);
  guint n = 0;

  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    n += ow_event_get_kind (ow_event_list_get (events, i)) == kind;
  return n;
}

void
session_wait_for (Fixture     *fixture,
                  OwEventType  kind,
                  guint        n)
{
  guint patience = g_timeout_add_seconds (PATIENCE_S, on_too_long, NULL);

  while (session_count (fixture, kind) < n)
    g_main_context_iteration (NULL, TRUE);
  /* What follows it at once has happened too. */
  while (g_main_context_iteration (NULL, FALSE))
    continue;
  g_source_remove (patience);
}

const OwEvent *
session_find (Fixture     *fixture,
              OwEventType  kind)
{
  OwEventList *events = ow_session_get_events (fixture->session);

  for (guint i = ow_event_list_get_n (events); i > 0; i--)
    {
      if (ow_event_get_kind (ow_event_list_get (events, i - 1)) == kind)
        return ow_event_list_get (events, i - 1);
    }
  g_assert_not_reached ();
}

json_t *
session_row (Fixture *fixture)
{
  json_t *sessions = ow_store_list (fixture->store, NULL);
  json_t *found = NULL;

  g_assert_nonnull (sessions);
  for (size_t i = 0; i < json_array_size (sessions) && found == NULL; i++)
    {
      json_t *session = json_array_get (sessions, i);

      if (g_str_equal (ow_json_get_string (session, "session", ""),
                       ow_session_get_id (fixture->session)))
        found = json_incref (session);
    }
  json_decref (sessions);
  return found;
}

void
session_assert_ended (Fixture    *fixture,
                      const char *outcome,
                      int         exit_status)
{
  OwEventList   *events = ow_session_get_events (fixture->session);
  const OwEvent *last = ow_event_list_get (events, ow_event_list_get_n (events) - 1);
  json_t        *row = session_row (fixture);

  g_assert_cmpint (ow_event_get_kind (last), ==, OW_EVENT_SESSION_ENDED);
  g_assert_cmpstr (ow_event_get_string (last, "outcome"), ==, outcome);
  g_assert_cmpint (ow_event_get_int (last, "exit", -1), ==, exit_status);
  g_assert_cmpstr (ow_json_get_string (row, "state", ""), ==, outcome);
  g_assert_cmpuint (session_count (fixture, OW_EVENT_TOOL_STARTED), <=,
                    session_count (fixture, OW_EVENT_TOOL_ENDED));
  g_assert_false (ow_session_is_working (fixture->session));
  json_decref (row);
}

void
session_assert_roles (Fixture    *fixture,
                      const char *expected)
{
  g_autoptr (GString) roles = g_string_new (NULL);

  for (size_t i = 0; i < json_array_size (fixture->model->history); i++)
    g_string_append_printf (roles, "%s%s", i > 0 ? " " : "",
                            ow_json_get_string (json_array_get (fixture->model->history, i),
                                                "role", "?"));
  g_assert_cmpstr (roles->str, ==, expected);
}
