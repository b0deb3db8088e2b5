/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "session-fixture.h"

/* A session that ended, was parked, or whose program was killed goes on from what is stored. */

#define SHELL(id, command) \
  "[{\"id\":\"" id "\",\"name\":\"shell\",\"arguments\":{\"command\":\"" command "\"}}]"

static guint
count_lines (Fixture    *fixture,
             const char *name)
{
  g_autofree char *path = g_build_filename (fixture->folder, name, NULL);
  g_autofree char *text = NULL;
  guint n = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  for (const char *at = text; *at != '\0'; at++)
    n += *at == '\n';
  return n;
}

static char *
get_id (Fixture *fixture)
{
  return g_strdup (ow_session_get_id (fixture->session));
}

static void
assert_notice (Fixture    *fixture,
               const char *words)
{
  const OwEvent *notice = session_find (fixture, OW_EVENT_NOTICE);

  g_assert_nonnull (strstr (ow_event_get_string (notice, "text"), words));
}

/* --- parked --- */

/* What makes the file is itself what is stopped: a program that bash is about to start as it is
 * stopped runs on until it is killed, and bash with it, which then hands nothing on. */
#define STOPPED "sh -c 'echo x >> made; exec sleep 100'"

static void
test_parked_at_work (Fixture       *fixture,
                     gconstpointer  data)
{
  g_autofree char *id = NULL;
  const OwEvent *resumed;
  guint n;

  session_make (fixture, script_model_new (SHELL ("c1", STOPPED), NULL), TRUE);
  id = get_id (fixture);
  session_begin (fixture, "make it");
  session_wait_for (fixture, OW_EVENT_TOOL_STARTED, 3);
  while (count_lines (fixture, "made") == 0)
    g_main_context_iteration (NULL, FALSE);
  ow_session_end (fixture->session, TRUE);
  session_wait_end (fixture);
  g_assert_no_error (fixture->error);
  g_assert_true (fixture->result);
  session_assert_ended (fixture, "parked", 0);
  n = ow_event_list_get_n (ow_session_get_events (fixture->session));

  g_assert_true (session_make_again (fixture, id, script_model_new ("Done.", NULL), FALSE));
  g_assert_cmpuint (ow_event_list_get_n (ow_session_get_events (fixture->session)), ==, n);
  session_begin (fixture, NULL);
  g_assert_true (ow_session_is_working (fixture->session));
  resumed = ow_event_list_get (ow_session_get_events (fixture->session), n);
  g_assert_cmpint (ow_event_get_kind (resumed), ==, OW_EVENT_SESSION_RESUMED);
  g_assert_cmpstr (ow_event_get_string (resumed, "notice"), ==, "No wall.");
  g_assert_cmpint (ow_event_get_int (resumed, "pid", 0), ==, getpid ());
  assert_notice (fixture, "Shell state was lost");
  assert_notice (fixture, "- shell: " STOPPED);
  session_wait_end (fixture);
  g_assert_no_error (fixture->error);
  session_assert_ended (fixture, "done", 0);
  /* One note, of the sandbox that is new: the shell that was stopped had handed on its state. */
  session_assert_roles (fixture, "system user assistant tool system");
  g_assert_cmpuint (session_count (fixture, OW_EVENT_USER_MESSAGE), ==, 1);
  g_assert_cmpuint (count_lines (fixture, "made"), ==, 1);
}

/* Parked while a person is asked: nothing ran, and the question is not there any more. */
static void
test_parked_at_a_question (Fixture       *fixture,
                           gconstpointer  data)
{
  g_autofree char *id = NULL;
  json_t *requests;

  fixture->silent = TRUE;
  session_make (fixture, script_model_new (SHELL ("c1", "echo x >> made"), NULL), TRUE);
  id = get_id (fixture);
  session_begin (fixture, "make it");
  session_wait_for (fixture, OW_EVENT_CONSENT_ASKED, 1);
  ow_session_end (fixture->session, TRUE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "parked", 0);
  requests = ow_consent_list (ow_session_get_consent (fixture->session));
  g_assert_cmpuint (json_array_size (requests), ==, 0);
  json_decref (requests);

  fixture->silent = FALSE;
  g_assert_true (session_make_again (fixture, id,
                                     script_model_new (SHELL ("c1", "echo x >> made"), "Done.",
                                                       NULL), FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  g_assert_cmpuint (count_lines (fixture, "made"), ==, 1);
}

/* Parked before the first turn began: the words are there. */
static void
test_parked_early (Fixture       *fixture,
                   gconstpointer  data)
{
  g_autofree char *id = NULL;

  session_make (fixture, script_model_new ("Never.", NULL), FALSE);
  id = get_id (fixture);
  session_begin (fixture, "make it");
  ow_session_end (fixture->session, TRUE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "parked", 0);
  g_assert_true (session_make_again (fixture, id, script_model_new ("Done.", NULL), FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  session_assert_roles (fixture, "system user system");
}

/* A turn that had its own end, also by a person's stop, is not begun again. */
static void
test_parked_waiting (Fixture       *fixture,
                     gconstpointer  data)
{
  gboolean stopped = GPOINTER_TO_INT (data);
  gboolean now = TRUE;
  g_autofree char *id = NULL;

  session_make (fixture, script_model_new (stopped ? SHELL ("c1", "sleep 100") : "One.", NULL),
                TRUE);
  id = get_id (fixture);
  session_begin (fixture, "first");
  if (stopped)
    {
      session_wait_for (fixture, OW_EVENT_TOOL_STARTED, 3);
      g_assert_true (ow_session_stop_turn (fixture->session));
    }
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  ow_session_end (fixture->session, TRUE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "parked", 0);

  g_assert_true (session_make_again (fixture, id, script_model_new ("Two.", NULL), TRUE));
  session_begin (fixture, NULL);
  session_wait_for (fixture, OW_EVENT_WALL, 3);
  session_wait_for (fixture, OW_EVENT_TOOL_ENDED, stopped ? 3 : 2);
  g_assert_false (ow_session_is_working (fixture->session));
  g_assert_false (fixture->model->asked);
  g_assert_true (ow_session_say (fixture->session, "second", &now, NULL));
  g_assert_false (now);
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 2);
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
}

/* --- killed --- */

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

/* The beginning of a session whose program is gone. */
static OwEventList *
begin_killed (Fixture    *fixture,
              const char *folder,
              gboolean    read_only)
{
  OwEventList *list = ow_event_list_new ("killed");
  g_autofree char *boot = ow_owner_boot_id ();

  ow_store_attach (fixture->store, list);
  append (list, OW_EVENT_SESSION_STARTED,
          json_pack ("{s:[{s:s,s:b}],s:s,s:s,s:s,s:[],s:s,s:s,s:i,s:i,s:s}",
                     "folders", "path", folder, "read_only", read_only, "provider", "bubblewrap",
                     "level", "bubblewrap", "profile", "strict", "hosts", "approve", "sandboxed",
                     "version", "0", "pid", 0, "pid_start", 1, "boot_id", boot));
  append (list, OW_EVENT_USER_MESSAGE, json_pack ("{s:s}", "text", "make it"));
  return list;
}

static void
append_message (OwEventList *list,
                guint        n_calls)
{
  json_t *calls = json_array ();

  for (guint i = 0; i < n_calls; i++)
    {
      g_autofree char *id = g_strdup_printf ("c%u", i + 1);

      json_array_append_new (calls, json_pack ("{s:s,s:s,s:{s:s}}", "id", id, "name", "shell",
                                               "arguments", "command", "make"));
    }
  append (list, OW_EVENT_MODEL_MESSAGE,
          json_pack ("{s:s,s:o,s:s}", "text", "Now.", "tool_calls", calls, "finish", "stop"));
}

static void
append_call (OwEventList *list,
             guint        number,
             gboolean     started,
             gboolean     ended)
{
  g_autofree char *id = g_strdup_printf ("c%u", number);
  g_autofree char *call = g_strdup_printf ("call-%u-%u", number, ow_event_list_get_n (list));

  append (list, OW_EVENT_TOOL_ASKED,
          json_pack ("{s:s,s:s,s:{s:s},s:s,s:s}", "call", call, "tool", "shell", "arguments",
                     "command", "make", "level", "bubblewrap", "model_call", id));
  if (started)
    append (list, OW_EVENT_TOOL_STARTED,
            json_pack ("{s:s,s:s,s:{s:s},s:s,s:s}", "call", call, "tool", "shell", "arguments",
                       "command", "make", "level", "bubblewrap", "approval", "policy:sandboxed"));
  if (ended)
    append (list, OW_EVENT_TOOL_ENDED,
            json_pack ("{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:s}", "call", call, "tool", "shell",
                       "level", "bubblewrap", "outcome", "ok", "result", "made", "duration_ms", 1,
                       "bytes", 1, "model_call", id));
}

/* Killed at each step of a turn of three calls: no call of it runs again, and the model is
 * told of each what is known of it. */
static void
test_killed (Fixture       *fixture,
             gconstpointer  data)
{
  guint step = GPOINTER_TO_UINT (data);
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);
  json_t *entry;

  if (step > 0)
    append_message (list, 3);
  if (step > 1)
    append_call (list, 1, step > 2, step > 3);
  if (step > 4)
    append_call (list, 2, TRUE, step > 5);
  if (step > 6)
    append_call (list, 3, TRUE, TRUE);
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  g_assert_no_error (fixture->error);
  session_assert_ended (fixture, "done", 0);
  session_assert_roles (fixture, step > 0 ? "system user assistant tool tool tool system"
                                          : "system user system");
  g_assert_cmpuint (session_count (fixture, OW_EVENT_TOOL_STARTED), ==,
                    1 + 2 * (step > 2) + (step > 4) + (step > 6));
  assert_notice (fixture, "Its enforcement level is direct now; it was bubblewrap.");
  if (step == 3 || step == 5)
    assert_notice (fixture, "whether they had an effect is not known:\n- shell: make");
  else
    g_assert_null (strstr (ow_event_get_string (session_find (fixture, OW_EVENT_NOTICE), "text"),
                           "effect"));
  if (step == 0)
    return;
  entry = json_array_get (fixture->model->history, 3);
  g_assert_nonnull (strstr (ow_json_get_string (entry, "text", ""),
                            step < 3 ? "did not run" : step == 3 ? "not known" : "made"));
  entry = json_array_get (fixture->model->history, 5);
  g_assert_nonnull (strstr (ow_json_get_string (entry, "text", ""),
                            step < 7 ? "did not run" : "made"));
}

/* Killed between its last words and the turn's end: there is nothing to ask. */
static void
test_killed_when_answered (Fixture       *fixture,
                           gconstpointer  data)
{
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);

  append_message (list, 0);
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Never.", NULL),
                                     FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  g_assert_false (fixture->model->asked);
  g_assert_cmpuint (session_count (fixture, OW_EVENT_TURN_ENDED), ==, 1);
}

/* Killed again right after it was resumed: the turn is still the one that was cut short. */
static void
test_killed_twice (Fixture       *fixture,
                   gconstpointer  data)
{
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);
  g_autofree char *boot = ow_owner_boot_id ();

  append (list, OW_EVENT_SESSION_ENDED,
          json_pack ("{s:s,s:i,s:b}", "outcome", "parked", "exit", 0, "cut", TRUE));
  append (list, OW_EVENT_SESSION_RESUMED,
          json_pack ("{s:s,s:s,s:s,s:[],s:s,s:s,s:i,s:i,s:s}", "provider", "direct", "level",
                     "direct", "profile", "strict", "hosts", "approve", "ask", "version", "0",
                     "pid", 0, "pid_start", 1, "boot_id", boot));
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  session_assert_roles (fixture, "system user system");
}

static void
test_says_more (Fixture       *fixture,
                gconstpointer  data)
{
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);

  append_message (list, 1);
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  session_begin (fixture, "leave it");
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  session_assert_roles (fixture, "system user assistant tool system user");
  g_assert_cmpuint (session_count (fixture, OW_EVENT_TURN_ENDED), ==, 1);
}

/* --- what cannot go on --- */

static void
assert_refused (Fixture    *fixture,
                const char *id,
                gint        kind,
                const char *words)
{
  g_assert_false (session_make_again (fixture, id, script_model_new ("Never.", NULL), FALSE));
  g_assert_error (fixture->error, OW_ERROR, kind);
  g_test_message ("%s", fixture->error->message);
  g_assert_nonnull (strstr (fixture->error->message, words));
}

static void
test_unknown (Fixture       *fixture,
              gconstpointer  data)
{
  static const char * const ids[] = { "nosuch", "", "../x", "a b", "\x1b[31m" };

  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    assert_refused (fixture, ids[i], OW_ERROR_USAGE, "There is no session");
  g_assert_null (strchr (fixture->error->message, '\x1b'));
}

static void
test_running (Fixture       *fixture,
              gconstpointer  data)
{
  g_autoptr (OwSession) first = NULL;
  g_autoptr (ScriptModel) model = NULL;
  g_autofree char *id = NULL;

  session_make (fixture, script_model_new ("One.", NULL), TRUE);
  id = get_id (fixture);
  session_begin (fixture, "first");
  session_wait_for (fixture, OW_EVENT_TURN_ENDED, 1);
  first = g_object_ref (fixture->session);
  model = g_object_ref (fixture->model);
  assert_refused (fixture, id, OW_ERROR_REFUSED, "runs now");
  fixture->session = g_steal_pointer (&first);
  fixture->done = FALSE;
  g_clear_error (&fixture->error);
  ow_session_end (fixture->session, FALSE);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
}

static void
execute (Fixture    *fixture,
         const char *sql)
{
  sqlite3 *database = NULL;

  g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (database, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (database);
}

static void
test_damaged (Fixture       *fixture,
              gconstpointer  data)
{
  static const char * const damages[] = {
    "UPDATE events SET json = '{' WHERE seq = 2",
    "DELETE FROM events WHERE seq = 1",
    "UPDATE events SET json = replace (json, '\"read_only\":false', '\"read_only\":3')",
    "UPDATE events SET json = x'00ff' WHERE seq = 1",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (damages); i++)
    {
      g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);

      execute (fixture, damages[i]);
      assert_refused (fixture, "killed", OW_ERROR_DATA, "");
      execute (fixture, "DELETE FROM events; DELETE FROM sessions;");
    }
}

/* Where the folder is gone, was replaced by a link, or was never one that is allowed. */
static void
test_folder (Fixture       *fixture,
             gconstpointer  data)
{
  g_autofree char *moved = g_build_filename (fixture->base, "moved", NULL);
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);

  g_assert_cmpint (g_rename (fixture->folder, moved), ==, 0);
  assert_refused (fixture, "killed", OW_ERROR_USAGE, "No such file");
  g_assert_cmpint (symlink (moved, fixture->folder), ==, 0);
  assert_refused (fixture, "killed", OW_ERROR_REFUSED, "leads to another place now");
  g_assert_cmpint (g_unlink (fixture->folder), ==, 0);
  g_assert_cmpint (g_rename (moved, fixture->folder), ==, 0);
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Never.", NULL),
                                     FALSE));
}

static void
test_forbidden_folder (Fixture       *fixture,
                       gconstpointer  data)
{
  g_autoptr (OwEventList) list = begin_killed (fixture, "/etc", FALSE);

  assert_refused (fixture, "killed", OW_ERROR_REFUSED, "/etc");
}

/* A name that ends like the mode's own suffix, and the mode itself, are kept. */
static void
test_folder_name (Fixture       *fixture,
                  gconstpointer  data)
{
  g_autofree char *odd = g_build_filename (fixture->base, "odd:ro", NULL);
  g_autoptr (OwEventList) list = NULL;

  g_assert_cmpint (g_mkdir (odd, 0700), ==, 0);
  list = begin_killed (fixture, odd, FALSE);
  g_assert_true (session_make_again (fixture, "killed",
                                     script_model_new (SHELL ("c1", "echo x > made"), "Done.",
                                                       NULL), FALSE));
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  session_assert_ended (fixture, "done", 0);
  g_assert_cmpstr (ow_event_get_string (session_find (fixture, OW_EVENT_TOOL_ENDED), "outcome"),
                   ==, "ok");
  g_free (odd);
  odd = g_build_filename (fixture->base, "odd:ro", "made", NULL);
  g_assert_true (g_file_test (odd, G_FILE_TEST_IS_REGULAR));
}

typedef struct {
  gboolean done;
  GError  *error; /* (owned) (nullable) */
} Outcome;

static void
on_ended (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  Outcome *outcome = user_data;

  ow_session_run_finish (OW_SESSION (source), result, &outcome->error);
  outcome->done = TRUE;
}

/* Two that both found it ended: one goes on, the other has started nothing. */
static void
test_two_at_once (Fixture       *fixture,
                  gconstpointer  data)
{
  g_autoptr (OwEventList) list = begin_killed (fixture, fixture->folder, FALSE);
  g_autoptr (OwStore) other_store = ow_store_open (fixture->path, NULL);
  g_autoptr (ScriptModel) other_model = script_model_new ("Never.", NULL);
  g_autoptr (OwSession) other = NULL;
  g_autoptr (OwEventList) stored = NULL;
  Outcome outcome = { 0 };
  OwSessionOptions options = {
    .provider = OW_PROVIDER_DIRECT,
    .model = OW_MODEL (other_model),
    .approve = OW_APPROVE_DENY,
  };

  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  other = ow_session_resume (other_store, fixture->audit, "killed", &options, &fixture->error);
  g_assert_no_error (fixture->error);
  session_begin (fixture, NULL);
  ow_session_run_async (other, "me too", NULL, on_ended, &outcome);
  session_wait_end (fixture);
  while (!outcome.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_error (outcome.error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (outcome.error->message, "cannot go on here"));
  g_assert_false (other_model->asked);
  session_assert_ended (fixture, "done", 0);
  stored = ow_store_load (fixture->store, "killed", NULL);
  g_assert_cmpuint (ow_event_list_get_n (stored), ==,
                    ow_event_list_get_n (ow_session_get_events (fixture->session)));

  /* One that is late, after the first has ended again, has an old list and is refused too. */
  g_clear_error (&outcome.error);
  g_clear_object (&other);
  other = ow_session_resume (other_store, fixture->audit, "killed", &options, NULL);
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  session_begin (fixture, "more");
  session_wait_end (fixture);
  outcome.done = FALSE;
  ow_session_run_async (other, "me too", NULL, on_ended, &outcome);
  while (!outcome.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_error (outcome.error, OW_ERROR, OW_ERROR_REFUSED);
  g_clear_error (&outcome.error);
  session_assert_ended (fixture, "done", 0);
}

/* A long session is there in a moment. */
static void
test_long (Fixture       *fixture,
           gconstpointer  data)
{
  g_autoptr (OwEventList) list = NULL;
  gint64 begun;

  list = begin_killed (fixture, fixture->folder, FALSE);
  for (guint i = 0; i < 2500; i++)
    {
      append_message (list, 1);
      append_call (list, 1, TRUE, TRUE);
    }
  g_assert_cmpuint (ow_event_list_get_n (list), >, 10000);
  begun = g_get_monotonic_time ();
  g_assert_true (session_make_again (fixture, "killed", script_model_new ("Done.", NULL), FALSE));
  g_test_message ("made again after %.3f s",
                  (double) (g_get_monotonic_time () - begun) / G_USEC_PER_SEC);
  session_begin (fixture, NULL);
  session_wait_end (fixture);
  g_test_message ("ended after %.3f s",
                  (double) (g_get_monotonic_time () - begun) / G_USEC_PER_SEC);
  session_assert_ended (fixture, "done", 0);
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 10 * G_USEC_PER_SEC);
}

static void
add (const char *path,
     void      (*test)(Fixture *, gconstpointer),
     guint       data)
{
  g_test_add (path, Fixture, GUINT_TO_POINTER (data), session_set_up, test, session_tear_down);
}

static void
add_all (void)
{
  add ("/resume/parked/at-work", test_parked_at_work, 0);
  add ("/resume/parked/at-a-question", test_parked_at_a_question, 0);
  add ("/resume/parked/early", test_parked_early, 0);
  add ("/resume/parked/waiting", test_parked_waiting, FALSE);
  add ("/resume/parked/stopped-before", test_parked_waiting, TRUE);
  for (guint step = 0; step < 8; step++)
    {
      g_autofree char *path = g_strdup_printf ("/resume/P13/killed/step-%u", step);

      add (path, test_killed, step);
    }
  add ("/resume/P13/killed/when-answered", test_killed_when_answered, 0);
  add ("/resume/P13/killed/twice", test_killed_twice, 0);
  add ("/resume/P13/killed/says-more", test_says_more, 0);
  add ("/resume/refused/unknown", test_unknown, 0);
  add ("/resume/refused/running", test_running, 0);
  add ("/resume/refused/damaged", test_damaged, 0);
  add ("/resume/refused/folder", test_folder, 0);
  add ("/resume/refused/forbidden-folder", test_forbidden_folder, 0);
  add ("/resume/folder-name", test_folder_name, 0);
  add ("/resume/R03/two-at-once", test_two_at_once, 0);
  add ("/resume/long", test_long, 0);
}

int
main (int   argc,
      char *argv[])
{
  return session_run_tests (argc, argv, add_all);
}
