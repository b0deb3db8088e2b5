/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "session/ow-store.h"

typedef struct {
  char    *directory; /* (owned) */
  char    *path;      /* (owned) of the store */
  char    *record;    /* (owned) of the audit */
} Fixture;

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  fixture->directory = g_dir_make_tmp ("ow-store-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->directory, "sessions.sqlite", NULL);
  fixture->record = g_build_filename (fixture->directory, "audit.jsonl", NULL);
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  g_assert_true (ow_file_remove_tree (fixture->directory, NULL));
  g_free (fixture->directory);
  g_free (fixture->path);
  g_free (fixture->record);
}

static OwStore *
open_store (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  OwStore *store = ow_store_open (fixture->path, &error);

  g_assert_no_error (error);
  return store;
}

static char *
boot_id (void)
{
  char *text = NULL;

  g_assert_true (g_file_get_contents ("/proc/sys/kernel/random/boot_id", &text, NULL, NULL));
  return g_strchomp (text);
}

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

static void
append_started (OwEventList *list,
                GPid         pid,
                guint64      start,
                const char  *boot)
{
  append (list, OW_EVENT_SESSION_STARTED,
          json_pack ("{s:[{s:s,s:b}],s:s,s:s,s:s,s:[],s:s,s:s,s:I,s:I,s:s}",
                     "folders", "path", "/x", "read_only", 0, "provider", "bubblewrap",
                     "level", "bubblewrap", "profile", "strict", "hosts", "approve", "sandboxed",
                     "version", "0", "pid", (json_int_t) pid, "pid_start", (json_int_t) start,
                     "boot_id", boot));
}

static void
append_call (OwEventList *list,
             const char  *call,
             gboolean     started,
             gboolean     ended)
{
  append (list, OW_EVENT_TOOL_ASKED,
          json_pack ("{s:s,s:s,s:{},s:s,s:s}", "call", call, "tool", "shell", "arguments",
                     "level", "bubblewrap", "model_call", call));
  if (started)
    append (list, OW_EVENT_TOOL_STARTED,
            json_pack ("{s:s,s:s,s:{},s:s,s:s}", "call", call, "tool", "shell", "arguments",
                       "level", "bubblewrap", "approval", "policy:sandboxed"));
  if (ended)
    append (list, OW_EVENT_TOOL_ENDED,
            json_pack ("{s:s,s:s,s:s,s:s,s:s,s:i,s:i}", "call", call, "tool", "shell", "level",
                       "bubblewrap", "outcome", "ok", "result", "x", "duration_ms", 1, "bytes", 1));
}

static void
append_user (OwEventList *list,
             const char  *text)
{
  append (list, OW_EVENT_USER_MESSAGE, json_pack ("{s:s}", "text", text));
}

static void
test_round_trip (Fixture       *fixture,
                 gconstpointer  data)
{
  g_autofree char *boot = boot_id ();
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (OwEventList) list = ow_event_list_new ("s1");
  g_autoptr (OwEventList) loaded = NULL;
  g_autoptr (GError) error = NULL;
  json_t *sessions;
  GStatBuf info;

  ow_store_attach (store, list);
  append_started (list, getpid (), ow_owner_process_start (getpid ()), boot);
  append_user (list, "first\ntask");
  append_user (list, "another");
  append (list, OW_EVENT_TOOL_OUTPUT,
          json_pack ("{s:s,s:s,s:s,s:s}", "call", "c", "level", "direct", "stream", "stdout",
                     "text", "not kept"));
  g_clear_object (&store);
  g_clear_object (&list);

  store = open_store (fixture);
  loaded = ow_store_load (store, "s1", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ow_event_list_get_n (loaded), ==, 3);
  g_assert_cmpstr (ow_event_get_string (ow_event_list_get (loaded, 2), "text"), ==, "another");
  sessions = ow_store_list (store, &error);
  g_assert_cmpuint (json_array_size (sessions), ==, 1);
  g_assert_cmpstr (ow_json_get_string (json_array_get (sessions, 0), "title", ""), ==,
                   "first task");
  g_assert_cmpstr (ow_json_get_string (json_array_get (sessions, 0), "state", ""), ==, "running");
  json_decref (sessions);
  g_assert_cmpint (g_stat (fixture->path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0600);
}

static void
test_unknown (Fixture       *fixture,
              gconstpointer  data)
{
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_store_load (store, "nope' OR 1=1 --", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
}

static void
test_foreign (Fixture       *fixture,
              gconstpointer  data)
{
  static const char * const scripts[] = {
    "CREATE TABLE mine (a)",
    "PRAGMA application_id = 7",
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 1331131252; PRAGMA user_version = 99",
    "PRAGMA application_id = 1331131252; PRAGMA user_version = -1",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (scripts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;
      gsize    length_before = 0;
      gsize    length_after = 0;
      sqlite3 *database = NULL;

      g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
      g_assert_cmpint (sqlite3_exec (database, scripts[i], NULL, NULL, NULL), ==, SQLITE_OK);
      sqlite3_close (database);
      g_file_get_contents (fixture->path, &before, &length_before, NULL);
      g_assert_null (ow_store_open (fixture->path, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_file_get_contents (fixture->path, &after, &length_after, NULL);
      g_assert_cmpmem (before, length_before, after, length_after);
      g_assert_cmpint (g_unlink (fixture->path), ==, 0);
    }
}

static void
test_not_a_database (Fixture       *fixture,
                     gconstpointer  data)
{
  g_autofree char *junk = g_strnfill (8192, 'j');
  g_autofree char *kept = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (fixture->path, junk, -1, NULL));
  g_assert_null (ow_store_open (fixture->path, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "left as it is"));
  g_assert_true (g_file_get_contents (fixture->path, &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, junk);
  g_clear_error (&error);

  g_assert_cmpint (g_unlink (fixture->path), ==, 0);
  g_assert_cmpint (mkfifo (fixture->path, 0600), ==, 0);
  g_assert_null (ow_store_open (fixture->path, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);

  g_assert_cmpint (g_unlink (fixture->path), ==, 0);
  g_assert_cmpint (g_mkdir (fixture->path, 0700), ==, 0);
  g_assert_null (ow_store_open (fixture->path, &error));
  g_assert_nonnull (error);
}

/* A link in the place of the store is not followed, not even to make what it names; on the
 * way there it is: homes lie behind links. */
static void
test_links (Fixture       *fixture,
            gconstpointer  data)
{
  g_autofree char *directory = g_path_get_dirname (fixture->path);
  g_autofree char *target = g_strconcat (fixture->path, ".target", NULL);
  g_autofree char *way = g_strconcat (directory, ".way", NULL);
  g_autofree char *through = g_build_filename (way, "sessions.sqlite", NULL);
  g_autoptr (OwStore) store = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (symlink (target, fixture->path), ==, 0);
  g_assert_null (ow_store_open (fixture->path, &error));
  g_assert_nonnull (strstr (error->message, "it is a symbolic link"));
  g_assert_false (g_file_test (target, G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_unlink (fixture->path), ==, 0);
  g_clear_error (&error);

  g_assert_cmpint (symlink (directory, way), ==, 0);
  store = ow_store_open (through, &error);
  g_assert_no_error (error);
  g_assert_nonnull (store);
  g_assert_cmpint (g_unlink (way), ==, 0);
}

/* A file of ours that is cut off is an error, and stays; never a shorter list. */
static void
test_truncated (Fixture       *fixture,
                gconstpointer  data)
{
  g_autofree char *boot = boot_id ();
  OwStore     *store = open_store (fixture);
  OwEventList *list = ow_event_list_new ("s1");
  GStatBuf     info;

  ow_store_attach (store, list);
  append_started (list, getpid (), ow_owner_process_start (getpid ()), boot);
  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *text = g_strnfill (1000, 'a');

      append_user (list, text);
    }
  g_object_unref (list);
  g_object_unref (store);
  g_assert_cmpint (g_stat (fixture->path, &info), ==, 0);
  for (off_t size = 1; size < info.st_size; size += info.st_size / 7)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwStore) cut = NULL;
      g_autoptr (OwEventList) loaded = NULL;

      g_assert_cmpint (truncate (fixture->path, info.st_size - size), ==, 0);
      cut = ow_store_open (fixture->path, &error);
      if (cut != NULL)
        loaded = ow_store_load (cut, "s1", &error);
      if (loaded != NULL)
        {
          /* The cut took only what no event stood in. */
          g_assert_cmpint (size, <, 4096);
          g_assert_cmpuint (ow_event_list_get_n (loaded), ==, 101);
          continue;
        }
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_true (g_file_test (fixture->path, G_FILE_TEST_EXISTS));
    }
}

static void
test_bad_rows (Fixture       *fixture,
               gconstpointer  data)
{
  static const char * const rows[] = {
    "UPDATE events SET json = '{' WHERE seq = 2",
    "UPDATE events SET json = '' WHERE seq = 2",
    "UPDATE events SET json = replace (json, '\"seq\":2', '\"seq\":3') WHERE seq = 2",
    "UPDATE events SET json = replace (json, '\"s1\"', '\"s2\"') WHERE seq = 2",
    "UPDATE events SET json = x'00ff' WHERE seq = 2",
    "DELETE FROM events WHERE seq = 2",
  };
  g_autofree char *boot = boot_id ();

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (OwStore) store = open_store (fixture);
      g_autoptr (OwEventList) list = ow_event_list_new ("s1");
      g_autoptr (GError) error = NULL;
      sqlite3 *database = NULL;

      ow_store_attach (store, list);
      append_started (list, getpid (), ow_owner_process_start (getpid ()), boot);
      append_user (list, "two");
      append_user (list, "three");
      g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
      g_assert_cmpint (sqlite3_exec (database, rows[i], NULL, NULL, NULL), ==, SQLITE_OK);
      g_assert_null (ow_store_load (store, "s1", &error));
      g_test_message ("%s: %s", rows[i], error != NULL ? error->message : "-");
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_cmpint (sqlite3_exec (database, "DELETE FROM events; DELETE FROM sessions", NULL,
                                     NULL, NULL), ==, SQLITE_OK);
      sqlite3_close (database);
    }
}

/* An event whose store is gone is not announced. */
static void
test_refused_event (Fixture       *fixture,
                    gconstpointer  data)
{
  g_autofree char *boot = boot_id ();
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (OwEventList) list = ow_event_list_new ("s1");
  g_autoptr (OwEvent) event = NULL;
  g_autoptr (GError) error = NULL;
  sqlite3 *database = NULL;

  ow_store_attach (store, list);
  append_started (list, getpid (), ow_owner_process_start (getpid ()), boot);
  g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (database, "DROP TABLE events", NULL, NULL, NULL), ==, SQLITE_OK);
  event = ow_event_list_append (list, OW_EVENT_USER_MESSAGE, json_pack ("{s:s}", "text", "x"),
                                &error);
  g_assert_null (event);
  g_assert_nonnull (error);
  g_assert_cmpuint (ow_event_list_get_n (list), ==, 1);
  sqlite3_close (database);
}

/* Two stores on one file, one of which holds the lock for a while. */
static gpointer
hold_lock (gpointer data)
{
  sqlite3 *database = data;

  g_usleep (300 * 1000);
  g_assert_cmpint (sqlite3_exec (database, "COMMIT", NULL, NULL, NULL), ==, SQLITE_OK);
  return NULL;
}

static void
test_two (Fixture       *fixture,
          gconstpointer  data)
{
  g_autofree char *boot = boot_id ();
  g_autoptr (OwStore) one = open_store (fixture);
  g_autoptr (OwStore) two = open_store (fixture);
  g_autoptr (OwEventList) first = ow_event_list_new ("s1");
  g_autoptr (OwEventList) second = ow_event_list_new ("s2");
  g_autoptr (OwEventList) loaded = NULL;
  guint64   start = ow_owner_process_start (getpid ());
  sqlite3  *database = NULL;
  GThread  *thread;

  ow_store_attach (one, first);
  ow_store_attach (two, second);
  append_started (first, getpid (), start, boot);
  g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (database, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
  thread = g_thread_new ("lock", hold_lock, database);
  append_started (second, getpid (), start, boot);
  g_thread_join (thread);
  sqlite3_close (database);
  for (guint i = 0; i < 50; i++)
    {
      append_user (first, "a");
      append_user (second, "b");
    }
  loaded = ow_store_load (one, "s2", NULL);
  g_assert_cmpuint (ow_event_list_get_n (loaded), ==, 51);
}

/* A store that loses its name while a session writes into it: the session hears of it. */
static void
test_removed (Fixture       *fixture,
              gconstpointer  data)
{
  static const char * const ways[] = { "removed", "moved", "replaced" };
  g_autofree char *boot = boot_id ();
  guint64 start = ow_owner_process_start (getpid ());

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (OwStore) store = open_store (fixture);
      g_autoptr (OwEventList) list = ow_event_list_new (ways[i]);
      g_autofree char *other = g_strconcat (fixture->path, ".other", NULL);

      ow_store_attach (store, list);
      append_started (list, getpid (), start, boot);
      append_user (list, "a");
      if (g_str_equal (ways[i], "removed"))
        g_assert_cmpint (g_unlink (fixture->path), ==, 0);
      else
        g_assert_cmpint (g_rename (fixture->path, other), ==, 0);
      if (g_str_equal (ways[i], "replaced"))
        g_assert_true (g_file_set_contents (fixture->path, "", 0, NULL));
      for (guint again = 0; again < 2; again++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (OwEvent) event = ow_event_list_append (list, OW_EVENT_USER_MESSAGE,
                                                            json_pack ("{s:s}", "text", "b"),
                                                            &error);

          g_assert_null (event);
          g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
          g_assert_nonnull (strstr (error->message, "removed or replaced while in use"));
        }
      g_assert_cmpuint (ow_event_list_get_n (list), ==, 2);
      if (g_str_equal (ways[i], "moved"))
        {
          g_assert_cmpint (g_rename (other, fixture->path), ==, 0);
          append_user (list, "c");
        }
    }
}

/* Several programs at once make the file and close the same leftover: once. */
static void
test_processes (Fixture       *fixture,
                gconstpointer  data)
{
  g_autoptr (OwStore) store = NULL;
  g_autoptr (OwEventList) list = ow_event_list_new ("gone");
  g_autoptr (OwEventList) loaded = NULL;
  pid_t children[4];
  guint n_ended = 0;

  store = open_store (fixture);
  ow_store_attach (store, list);
  append_started (list, 1, 1, "another boot");
  append_call (list, "c1", TRUE, FALSE);
  g_clear_object (&list);
  g_clear_object (&store);
  for (gsize i = 0; i < G_N_ELEMENTS (children); i++)
    {
      children[i] = fork ();
      if (children[i] == 0)
        {
          OwStore *mine = ow_store_open (fixture->path, NULL);
          OwAudit *audit = ow_audit_open (fixture->record, NULL);

          _exit (mine == NULL || audit == NULL ||
                 !ow_store_close_interrupted (mine, audit, NULL));
        }
    }
  for (gsize i = 0; i < G_N_ELEMENTS (children); i++)
    {
      int status = -1;

      g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
      g_assert_cmpint (status, ==, 0);
    }
  store = open_store (fixture);
  loaded = ow_store_load (store, "gone", NULL);
  g_assert_nonnull (loaded);
  for (guint i = 0; i < ow_event_list_get_n (loaded); i++)
    n_ended += ow_event_get_kind (ow_event_list_get (loaded, i)) == OW_EVENT_TOOL_ENDED;
  g_assert_cmpuint (n_ended, ==, 1);
}

/* Several programs make the file at once, while others read what is there of it: each has it. */
static void
test_made_at_once (Fixture       *fixture,
                   gconstpointer  data)
{
  for (int round = 0; round < 50; round++)
    {
      g_autofree char *path = g_strdup_printf ("%s-%d", fixture->path, round);
      pid_t children[6];

      for (gsize i = 0; i < G_N_ELEMENTS (children); i++)
        {
          children[i] = fork ();
          if (children[i] == 0)
            {
              g_autoptr (GError) error = NULL;

              for (int read = 0; i < 2 && read < 300; read++)
                {
                  sqlite3 *database = NULL;

                  if (sqlite3_open_v2 (path, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
                    sqlite3_exec (database, "SELECT count(*) FROM sessions", NULL, NULL, NULL);
                  sqlite3_close_v2 (database);
                }
              if (ow_store_open (path, &error) == NULL)
                g_printerr ("%s\n", error->message);
              _exit (error != NULL);
            }
        }
      for (gsize i = 0; i < G_N_ELEMENTS (children); i++)
        {
          int status = -1;

          g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
          g_assert_cmpint (status, ==, 0);
        }
    }
}

static char *
state_of (OwStore    *store,
          const char *session)
{
  json_t *sessions = ow_store_list (store, NULL);
  char   *state = NULL;

  for (size_t i = 0; i < json_array_size (sessions); i++)
    {
      const json_t *entry = json_array_get (sessions, i);

      if (g_str_equal (ow_json_get_string (entry, "session", ""), session))
        state = g_strdup (ow_json_get_string (entry, "state", ""));
    }
  json_decref (sessions);
  return state;
}

typedef struct {
  const char *session;
  gint64      pid;     /* 0: ours */
  gint64      start;   /* 0: ours */
  const char *boot;    /* NULL: ours */
  gboolean    gone;
} Owner;

static void
test_interrupted (Fixture       *fixture,
                  gconstpointer  data)
{
  static const Owner owners[] = {
    { "alive", 0, 0, NULL, FALSE },
    { "reused-pid", 0, 1, NULL, TRUE },
    { "other-boot", 0, 0, "another", TRUE },
    { "no-process", 0x3fffffff, 7, NULL, TRUE },
    { "no-pid", -1, 7, NULL, TRUE },
  };
  g_autofree char *boot = boot_id ();
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (OwAudit) audit = ow_audit_open (fixture->record, NULL);
  g_autoptr (OwAuditReport) report = NULL;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (owners); i++)
    {
      g_autoptr (OwEventList) list = ow_event_list_new (owners[i].session);
      gint64 pid = owners[i].pid == 0 ? getpid () : MAX (owners[i].pid, 0);

      ow_store_attach (store, list);
      append_started (list, (GPid) pid,
                      owners[i].start != 0 ? (guint64) owners[i].start
                                           : ow_owner_process_start (getpid ()),
                      owners[i].boot != NULL ? owners[i].boot : boot);
      append_user (list, "x");
      append_call (list, "ended", TRUE, TRUE);
      append_call (list, "asked", FALSE, FALSE);
      append_call (list, "open", TRUE, FALSE);
    }
  g_assert_true (ow_store_close_interrupted (store, audit, &error));
  g_assert_no_error (error);
  /* A second time finds nothing to do. */
  g_assert_true (ow_store_close_interrupted (store, audit, &error));

  for (gsize i = 0; i < G_N_ELEMENTS (owners); i++)
    {
      g_autoptr (OwEventList) list = ow_store_load (store, owners[i].session, NULL);
      g_autofree char *state = state_of (store, owners[i].session);
      guint n = ow_event_list_get_n (list);

      g_test_message ("%s", owners[i].session);
      g_assert_cmpstr (state, ==, owners[i].gone ? "interrupted" : "running");
      g_assert_cmpuint (n, ==, owners[i].gone ? 10 : 8);
      if (!owners[i].gone)
        continue;
      g_assert_cmpstr (ow_event_get_string (ow_event_list_get (list, 8), "call"), ==, "open");
      g_assert_cmpstr (ow_event_get_string (ow_event_list_get (list, 8), "model_call"), ==, "open");
      g_assert_cmpstr (ow_event_get_string (ow_event_list_get (list, 8), "outcome"), ==,
                       "interrupted");
      g_assert_cmpint (ow_event_get_int (ow_event_list_get (list, 9), "exit", 0), ==, 130);
    }
  report = ow_audit_verify (fixture->record, NULL);
  g_assert_true (ow_audit_report_is_clean (report));
  g_assert_cmpuint (report->n_records, ==, 8);
}

/* Killed between the store's end and the record's: the record's is made up for. */
static void
test_unrecorded_end (Fixture       *fixture,
                     gconstpointer  data)
{
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (OwAudit) audit = ow_audit_open (fixture->record, NULL);
  g_autoptr (OwEventList) list = ow_event_list_new ("gone");
  g_autoptr (OwAuditReport) before = NULL;
  g_autoptr (OwAuditReport) after = NULL;

  ow_store_attach (store, list);
  append_started (list, 1, 1, "another");
  append_call (list, "c1", TRUE, TRUE);
  g_assert_true (ow_audit_append (audit, ow_event_list_get (list, 2), TRUE, NULL));
  before = ow_audit_verify (fixture->record, NULL);
  g_assert_cmpuint (before->open_calls->len, ==, 1);
  g_assert_true (ow_store_close_interrupted (store, audit, NULL));
  after = ow_audit_verify (fixture->record, NULL);
  g_assert_cmpuint (after->open_calls->len, ==, 0);
  g_assert_true (ow_audit_report_is_clean (after));
}

/* One session that cannot be read neither stops the start nor hides the others. */
static void
test_damaged_session (Fixture       *fixture,
                      gconstpointer  data)
{
  g_autoptr (OwStore) store = open_store (fixture);
  g_autoptr (OwAudit) audit = ow_audit_open (fixture->record, NULL);
  g_autofree char *bad_state = NULL;
  g_autofree char *good_state = NULL;
  g_autoptr (GError) error = NULL;
  sqlite3 *database = NULL;

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (OwEventList) list = ow_event_list_new (i == 0 ? "bad" : "good");

      ow_store_attach (store, list);
      append_started (list, 1, 1, "another");
      append_call (list, "c1", TRUE, FALSE);
    }
  g_assert_cmpint (sqlite3_open (fixture->path, &database), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (database, "UPDATE events SET json = '{' WHERE session = 'bad' "
                                 "AND seq = 2", NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (database);
  g_assert_true (ow_store_close_interrupted (store, audit, &error));
  g_assert_no_error (error);
  bad_state = state_of (store, "bad");
  good_state = state_of (store, "good");
  g_assert_cmpstr (bad_state, ==, "damaged");
  g_assert_cmpstr (good_state, ==, "interrupted");
}

/* Killed between any two events: what was stored is there, and the store opens. */
static void
test_killed (Fixture       *fixture,
             gconstpointer  data)
{
  for (guint n = 0; n < 8; n++)
    {
      g_autofree char *id = g_strdup_printf ("k%u", n);
      g_autoptr (OwStore) store = NULL;
      g_autoptr (OwEventList) loaded = NULL;
      pid_t child = fork ();
      int   status = 0;

      if (child == 0)
        {
          OwStore     *mine = ow_store_open (fixture->path, NULL);
          OwEventList *list = ow_event_list_new (id);

          ow_store_attach (mine, list);
          append_started (list, getpid (), ow_owner_process_start (getpid ()), "boot");
          for (guint i = 0; i < n; i++)
            append_user (list, "x");
          kill (getpid (), SIGKILL);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_true (WIFSIGNALED (status));
      store = open_store (fixture);
      loaded = ow_store_load (store, id, NULL);
      g_assert_nonnull (loaded);
      g_assert_cmpuint (ow_event_list_get_n (loaded), ==, n + 1);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)
  ADD ("/store/round-trip", test_round_trip);
  ADD ("/store/unknown", test_unknown);
  ADD ("/store/foreign", test_foreign);
  ADD ("/store/not-a-database", test_not_a_database);
  ADD ("/store/S24/links", test_links);
  ADD ("/store/truncated", test_truncated);
  ADD ("/store/bad-rows", test_bad_rows);
  ADD ("/store/refused-event", test_refused_event);
  ADD ("/store/two", test_two);
  ADD ("/store/removed", test_removed);
  ADD ("/store/processes", test_processes);
  ADD ("/store/made-at-once", test_made_at_once);
  ADD ("/store/interrupted", test_interrupted);
  ADD ("/store/unrecorded-end", test_unrecorded_end);
  ADD ("/store/damaged-session", test_damaged_session);
  ADD ("/store/killed", test_killed);
  return g_test_run ();
}
