/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "session-fixture.h"

/* A session that runs: turns, what it is told, how it stops and ends. */

#define SHELL(id, command) \
  "[{\"id\":\"" id "\",\"name\":\"shell\",\"arguments\":{\"command\":\"" command "\"}}]"

static void
assert_line_count (Fixture    *fixture,
                   const char *name,
                   guint       n)
{
  g_autofree char *path = g_build_filename (fixture->folder, name, NULL);
  g_autofree char *text = NULL;
  guint found = 0;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  for (const char *at = text; *at != '\0'; at++)
    found += *at == '\n';
  g_assert_cmpuint (found, ==, n);
}

static void
test_run (Fixture       *fixture,
          gconstpointer  data)
{
  json_t *row;

  session_make (fixture, script_model_new (SHELL ("c1", "echo x >> made"), "Done.", NULL), FALSE);
  session_begin (fixture, "make it");
  session_wait_end (fixture);
  g_assert_no_error (fixture->error);
  session_assert_ended (fixture, "done", 0);
  assert_line_count (fixture, "made", 1);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_SESSION_STARTED),
                                        "base_url"), ==, "http://127.0.0.1:1");
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_SESSION_STARTED),
                                        "notice"), ==, "No wall.");
  row = session_row (fixture);
  g_assert_cmpstr (ow_json_get_string (row, "model", ""), ==, "script:test");
  g_assert_cmpstr (ow_json_get_string (row, "title", ""), ==, "make it");
  json_decref (row);
}

/* The project's own instructions are read before the first turn, through the runner. */
static void
test_instructions (Fixture       *fixture,
                   gconstpointer  data)
{
  g_autofree char *path = g_build_filename (fixture->folder, "AGENTS.md", NULL);

  g_assert_true (g_file_set_contents (path, "Use tabs.\n", -1, NULL));
  session_make (fixture, script_model_new ("Done.", NULL), FALSE);
  session_begin (fixture, "make it");
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TOOL_ASKED), "purpose"),
                   ==, "instructions");
  g_test_message ("%s", ow_event_get_string (session_find (fixture, OW_EVENT_TOOL_ENDED),
                                             "result"));
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TOOL_ENDED), "outcome"),
                   ==, "ok");
  session_assert_roles (fixture, "system user user");
  g_assert_nonnull (strstr (ow_json_get_string (json_array_get (fixture->model->history, 1),
                                                "text", ""), "Use tabs."));
}

static void
say (Fixture    *fixture,
     const char *text,
     gboolean    expected)
{
  g_autoptr (GError) error = NULL;
  gboolean now = !expected;

  g_assert_true (ow_session_say (fixture->session, text, &now, &error));
  g_assert_no_error (error);
  g_assert_true (now == expected);
}

static void
test_kept (Fixture       *fixture,
           gconstpointer  data)
{
  session_make (fixture, script_model_new ("One.", SHELL ("c1", "echo x >> made"), "Two.", NULL),
                TRUE);
  session_begin (fixture, "first");
  g_assert_true (ow_session_is_working (fixture->session));
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  g_assert_false (fixture->done);
  g_assert_false (ow_session_is_working (fixture->session));
  g_assert_false (ow_session_stop_turn (fixture->session));
  say (fixture, "second", FALSE);
  g_assert_true (ow_session_is_working (fixture->session));
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 2);
  assert_line_count (fixture, "made", 1);
  g_assert_false (fixture->done);
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  g_assert_no_error (fixture->error);
  session_assert_ended (fixture, "done", 0);
}

/* Said before the wall is up: stored at once, answered in the turn that follows. */
static void
test_said_early (Fixture       *fixture,
                 gconstpointer  data)
{
  session_make (fixture, script_model_new ("Both.", NULL), TRUE);
  session_begin (fixture, "first");
  say (fixture, "second", FALSE);
  g_assert_cmpuint (session_count (fixture, OW_EVENT_USER_MESSAGE), ==, 2);
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  g_assert_cmpuint (json_array_size (fixture->model->history), >=, 3);
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  g_assert_cmpuint (session_count (fixture, OW_EVENT_TURN_ENDED), ==, 1);
}

static void
test_said_at_work (Fixture       *fixture,
                   gconstpointer  data)
{
  session_make (fixture, script_model_new (SHELL ("c1", "sleep 1; echo x >> made"), "Two.", NULL),
                FALSE);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TOOL_STARTED, 3);
  say (fixture, "in blue", TRUE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  assert_line_count (fixture, "made", 1);
  g_assert_cmpstr (ow_json_get_string (json_array_get (fixture->model->history,
                                                       json_array_size (fixture->model->history) -
                                                       1), "text", ""), ==, "in blue");
}

static void
test_cannot_be_said (Fixture       *fixture,
                     gconstpointer  data)
{
  static const char * const texts[] = { "", "\xff" };
  gboolean now = FALSE;

  session_make (fixture, script_model_new ("One.", NULL), TRUE);
  g_assert_false (ow_session_say (fixture->session, "early", &now, &fixture->error));
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_REFUSED);
  g_clear_error (&fixture->error);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_assert_false (ow_session_say (fixture->session, texts[i], &now, &fixture->error));
      g_assert_error (fixture->error, OW_ERROR, OW_ERROR_USAGE);
      g_clear_error (&fixture->error);
    }
  ow_session_end (fixture->session, FALSE);
  g_assert_false (ow_session_say (fixture->session, "late", &now, &fixture->error));
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_REFUSED);
  g_clear_error (&fixture->error);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
}

/* Stopped at once, also while a shell sleeps; a kept session takes the next words. */
static void
test_stopped_turn (Fixture       *fixture,
                   gconstpointer  data)
{
  gboolean keep = GPOINTER_TO_INT (data);
  gint64   begun;

  session_make (fixture, script_model_new (SHELL ("c1", "sleep 100"), "Fine.", NULL), keep);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TOOL_STARTED, 3);
  g_assert_true (ow_session_stop_turn (fixture->session));
  begun = g_get_monotonic_time ();
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 10 * G_USEC_PER_SEC);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TURN_ENDED), "reason"),
                   ==, "stopped");
  if (keep)
    {
      g_assert_false (fixture->done);
      say (fixture, "go on", FALSE);
      session_wait_for (fixture, OW_EVENT_TURN_ENDED, 2);
      g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TURN_ENDED),
                                            "reason"), ==, "done");
      ow_session_end (fixture->session, FALSE);
      session_wait_end (fixture);
      session_assert_ended (fixture, "done", 0);
      return;
    }
  session_wait_end (fixture);
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_INTERRUPTED);
  session_assert_ended (fixture, "stopped", 130);
}

static void
test_stopped_early (Fixture       *fixture,
                    gconstpointer  data)
{
  gboolean keep = GPOINTER_TO_INT (data);

  session_make (fixture, script_model_new ("Never.", NULL), keep);
  session_begin (fixture, "first");
  g_assert_true (ow_session_stop_turn (fixture->session));
  if (keep)
    {
      session_wait_for (fixture, OW_EVENT_WALL, 1);
      session_wait_for (fixture, OW_EVENT_TOOL_ENDED, 2);
      g_assert_false (ow_session_is_working (fixture->session));
      ow_session_end (fixture->session, FALSE);
    }
  session_wait_end (fixture);
  g_assert_false (fixture->model->asked);
  session_assert_ended (fixture, keep ? "done" : "stopped", keep ? 0 : 130);
}

/* At each step of a turn: nothing is left running, and the end says that a turn was stopped. */
static void
test_ended_at_work (Fixture       *fixture,
                    gconstpointer  data)
{
  static const OwEventType moments[] = { OW_EVENT_WALL, OW_EVENT_TOOL_ASKED, OW_EVENT_TOOL_STARTED,
                                         OW_EVENT_MODEL_MESSAGE };

  for (gsize i = 0; i < G_N_ELEMENTS (moments); i++)
    {
      session_make (fixture, script_model_new (SHELL ("c1", "sleep 100"), "Fine.", NULL), TRUE);
      session_begin (fixture, "first");
      session_wait_for (fixture, moments[i], 1);
      ow_session_end (fixture->session, FALSE);
      session_wait_end (fixture);
      g_assert_cmpuint (session_count (fixture, OW_EVENT_WALL), ==, 2);
      session_assert_ended (fixture, "stopped", 130);
    }
}

/* The model fails, the session does not. */
static void
test_failed_turn (Fixture       *fixture,
                  gconstpointer  data)
{
  session_make (fixture, script_model_new ("{\"error\":\"It is gone.\"}", "Back.", NULL), TRUE);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TURN_ENDED), "message"),
                   ==, "It is gone.");
  g_assert_false (fixture->done);
  say (fixture, "again", FALSE);
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 2);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TURN_ENDED), "reason"),
                   ==, "done");
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
}

static void
test_exec_has_no_agent (Fixture       *fixture,
                        gconstpointer  data)
{
  static const char * const argv[] = { "true", NULL };
  gboolean now = FALSE;

  session_make (fixture, script_model_new ("Never.", NULL), FALSE);
  ow_session_exec_async (fixture->session, argv, NULL, NULL, NULL);
  g_assert_false (ow_session_say (fixture->session, "words", &now, &fixture->error));
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_USAGE);
  ow_session_end (fixture->session, TRUE);
  session_wait_for (fixture, OW_EVENT_SESSION_ENDED, 1);
  session_assert_ended (fixture, "stopped", 130);
}

static void
execute (Fixture    *fixture,
         const char *sql)
{
  sqlite3 *database = NULL;

  g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
  sqlite3_busy_timeout (database, 5000);
  g_assert_cmpint (sqlite3_exec (database, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (database);
}

/* Taken out of the database by another program: it says so, ends, and its last event comes. */
static void
test_deleted_while_it_runs (Fixture       *fixture,
                            gconstpointer  data)
{
  gboolean waiting = GPOINTER_TO_INT (data);
  gboolean now = FALSE;
  json_t  *row;

  session_make (fixture, script_model_new (waiting ? "Done." : SHELL ("c1", "sleep 1"), "Done.",
                                           NULL), TRUE);
  session_begin (fixture, "first");
  session_wait_for (fixture, waiting ? OW_EVENT_TURN_ENDED : OW_EVENT_TOOL_STARTED,
                    waiting ? 1 : 2);
  execute (fixture, "DELETE FROM events; DELETE FROM sessions;");
  if (waiting)
    {
      g_assert_false (ow_session_say (fixture->session, "more", &now, &fixture->error));
      g_assert_nonnull (strstr (fixture->error->message, "was deleted from the store"));
      g_clear_error (&fixture->error);
      ow_session_end (fixture->session, FALSE);
    }
  session_wait_end (fixture);
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (fixture->error->message, "was deleted from the store while it ran"));
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_SESSION_ENDED),
                                        "outcome"), ==, "failed");
  row = session_row (fixture);
  g_assert_null (row);
}

static void
test_delete (Fixture       *fixture,
             gconstpointer  data)
{
  g_autoptr (OwEventList) loaded = NULL;
  const char *id;

  g_assert_false (ow_store_delete (fixture->store, "nosuch", &fixture->error));
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_nonnull (strstr (fixture->error->message, "There is no session nosuch"));
  g_clear_error (&fixture->error);
  session_make (fixture, script_model_new ("Done.", NULL), TRUE);
  id = ow_session_get_id (fixture->session);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  g_assert_false (ow_store_delete (fixture->store, id, &fixture->error));
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (fixture->error->message, "runs now"));
  g_clear_error (&fixture->error);
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  g_assert_true (ow_store_delete (fixture->store, id, &fixture->error));
  g_assert_no_error (fixture->error);
  loaded = ow_store_load (fixture->store, id, &fixture->error);
  g_assert_null (loaded);
  g_assert_error (fixture->error, OW_ERROR, OW_ERROR_USAGE);
}
typedef struct {
  gboolean  done;
  gboolean  changed;
  gboolean  pending;
  GError   *error;   /* (owned) (nullable) */
} FoldersChange;

static void
on_changed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  FoldersChange *change = user_data;

  change->changed = ow_session_change_folders_finish (OW_SESSION (source), result,
                                                      &change->pending, &change->error);
  change->done = TRUE;
}

static FoldersChange
change_folders (Fixture    *fixture,
                const char *add,
                const char *take)
{
  const char *const added[] = { add, NULL };
  const char *const taken[] = { take, NULL };
  FoldersChange change = { 0 };

  ow_session_change_folders_async (fixture->session, added, taken, on_changed, &change);
  while (!change.done)
    g_main_context_iteration (NULL, TRUE);
  return change;
}

/* REQ-W07: while a call runs it waits for that; stopped at @data, nothing of it is left. */
static void
test_folders (Fixture       *fixture,
              gconstpointer  data)
{
  gboolean stopped = GPOINTER_TO_INT (data);
  g_autofree char *other = g_build_filename (fixture->base, "other", NULL);
  FoldersChange change;

  g_assert_cmpint (g_mkdir (other, 0700), ==, 0);
  session_make (fixture, script_model_new (SHELL ("c1", "sleep 1"), SHELL ("c2", "true"), "Fine.",
                                           NULL), TRUE);
  g_assert_cmpuint (json_array_size (ow_session_get_folders (fixture->session)), ==, 1);
  change = change_folders (fixture, other, NULL);
  g_assert_error (change.error, OW_ERROR, OW_ERROR_REFUSED);
  g_clear_error (&change.error);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TOOL_STARTED, 3);
  change = change_folders (fixture, other, NULL);
  g_assert_no_error (change.error);
  g_assert_true (change.changed && change.pending);
  g_assert_cmpuint (json_array_size (ow_session_get_folders (fixture->session)), ==, 2);
  if (stopped)
    ow_session_end (fixture->session, FALSE);
  else
    session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  if (!stopped)
    {
      change = change_folders (fixture, NULL, other);
      g_assert_true (change.changed && !change.pending);
      g_assert_cmpuint (session_count (fixture, OW_EVENT_WALL), ==, 3);
      change = change_folders (fixture, NULL, other);
      g_assert_error (change.error, OW_ERROR, OW_ERROR_USAGE);
      g_clear_error (&change.error);
      ow_session_end (fixture->session, FALSE);
    }
  session_wait_end (fixture);
  session_assert_ended (fixture, stopped ? "stopped" : "done", stopped ? 130 : 0);
  g_assert_cmpuint (session_count (fixture, OW_EVENT_FOLDERS_CHANGED), ==, stopped ? 1 : 2);
}

static void
add (const char *path,
     void      (*test)(Fixture *, gconstpointer),
     gboolean    data)
{
  g_test_add (path, Fixture, GINT_TO_POINTER (data), session_set_up, test, session_tear_down);
}

static void
add_all (void)
{
  add ("/session/run", test_run, FALSE);
  add ("/session/instructions", test_instructions, FALSE);
  add ("/session/kept", test_kept, FALSE);
  add ("/session/said-early", test_said_early, FALSE);
  add ("/session/said-at-work", test_said_at_work, FALSE);
  add ("/session/cannot-be-said", test_cannot_be_said, FALSE);
  add ("/session/stopped-turn/kept", test_stopped_turn, TRUE);
  add ("/session/stopped-turn/not-kept", test_stopped_turn, FALSE);
  add ("/session/stopped-early/kept", test_stopped_early, TRUE);
  add ("/session/stopped-early/not-kept", test_stopped_early, FALSE);
  add ("/session/ended-at-work", test_ended_at_work, FALSE);
  add ("/session/failed-turn", test_failed_turn, FALSE);
  add ("/session/exec-has-no-agent", test_exec_has_no_agent, FALSE);
  add ("/session/deleted-while-it-runs/working", test_deleted_while_it_runs, FALSE);
  add ("/session/deleted-while-it-runs/waiting", test_deleted_while_it_runs, TRUE);
  add ("/session/delete", test_delete, FALSE);
  add ("/session/folders/changed", test_folders, FALSE);
  add ("/session/folders/stopped", test_folders, TRUE);
}

int
main (int   argc,
      char *argv[])
{
  return session_run_tests (argc, argv, add_all);
}
