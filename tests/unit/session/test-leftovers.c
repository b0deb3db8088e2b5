/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "sandbox/ow-registry.h"
#include "session/ow-store.h"

/* What a session kept goes with it, and what a killed program left of one that is gone goes at a
 * start: never one that is there or runs, never what is not ours. */

#define KNOWN  "00000000000000aa"
#define GONE   "00000000000000bb"
#define DAY_S  (24 * 60 * 60)

typedef struct {
  char    *sessions; /* (owned) */
  char    *outside;  /* (owned) */
  OwStore *store;
} Fixture;

static void
append_session (Fixture    *fixture,
                const char *id)
{
  g_autoptr (OwEventList) list = ow_event_list_new (id);
  g_autoptr (OwEvent) event = NULL;

  ow_store_attach (fixture->store, list);
  event = ow_event_list_append (list, OW_EVENT_SESSION_STARTED, json_pack (
                                  "{s:[{s:s,s:b}],s:s,s:s,s:s,s:[],s:s,s:s,s:i,s:i,s:s}",
                                  "folders", "path", "/x", "read_only", 0, "provider", "direct",
                                  "level", "direct", "profile", "strict", "hosts", "approve",
                                  "ask", "version", "0", "pid", 1, "pid_start", 1, "boot_id", "b"),
                                NULL);
  g_assert_nonnull (event);
  g_clear_pointer (&event, ow_event_unref);
  event = ow_event_list_append (list, OW_EVENT_SESSION_ENDED,
                                json_pack ("{s:s, s:i}", "outcome", "done", "exit", 0), NULL);
  g_assert_nonnull (event);
}

static void
set_up (Fixture       *fixture,
        gconstpointer  data)
{
  g_autofree char *dir = ow_paths_get_data_dir ();
  g_autofree char *path = ow_paths_get_store_file ();

  g_assert_true (ow_paths_ensure (dir, NULL));
  fixture->sessions = g_build_filename (dir, "sessions", NULL);
  fixture->outside = g_build_filename (dir, "outside", NULL);
  g_assert_cmpint (g_mkdir (fixture->sessions, 0700), ==, 0);
  g_assert_cmpint (g_mkdir (fixture->outside, 0700), ==, 0);
  fixture->store = ow_store_open (path, NULL);
  g_assert_nonnull (fixture->store);
}

static void
tear_down (Fixture       *fixture,
           gconstpointer  data)
{
  g_autofree char *dir = ow_paths_get_data_dir ();

  g_clear_object (&fixture->store);
  g_assert_true (ow_file_remove_tree (dir, NULL));
  g_free (fixture->sessions);
  g_free (fixture->outside);
}

/* What a session of that name has, @age old; with one file in it. */
static void
make (Fixture    *fixture,
      const char *name,
      const char *below,
      gint64      age)
{
  g_autofree char *folder = g_build_filename (fixture->sessions, name, NULL);
  g_autofree char *undo = g_build_filename (folder, below, NULL);
  g_autofree char *file = g_build_filename (undo, "kept", NULL);
  struct utimbuf   times = { time (NULL) - age, time (NULL) - age };

  g_assert_cmpint (g_mkdir_with_parents (undo, 0700), ==, 0);
  g_assert_true (g_file_set_contents (file, "kept", -1, NULL));
  g_assert_cmpint (utime (folder, &times), ==, 0);
}

static gboolean
is_there (Fixture    *fixture,
          const char *name)
{
  g_autofree char *folder = g_build_filename (fixture->sessions, name, NULL);

  return g_file_test (folder, G_FILE_TEST_EXISTS);
}

static void
test_deleted (Fixture       *fixture,
              gconstpointer  data)
{
  append_session (fixture, KNOWN);
  append_session (fixture, GONE);
  make (fixture, KNOWN, "undo", 0);
  make (fixture, GONE, "undo", 0);
  g_assert_true (ow_store_delete (fixture->store, GONE, NULL));
  g_assert_false (is_there (fixture, GONE));
  g_assert_true (is_there (fixture, KNOWN));
  g_assert_false (ow_store_delete (fixture->store, "..", NULL));
  g_assert_true (is_there (fixture, KNOWN));
}

static void
test_left_over (Fixture       *fixture,
                gconstpointer  data)
{
  static const char * const others[] = {
    "00000000000000bB", "00000000000000b", "00000000000000bbb", "notes", "prove-00000000000000bb",
  };

  append_session (fixture, KNOWN);
  make (fixture, KNOWN, "undo", 2 * DAY_S);
  make (fixture, GONE, "undo", 2 * DAY_S);
  make (fixture, "00000000000000cc", "undo", DAY_S / 2);
  make (fixture, "00000000000000dd", "something", 2 * DAY_S);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    make (fixture, others[i], "undo", 2 * DAY_S);
  ow_store_remove_leftovers (fixture->store);
  g_assert_false (is_there (fixture, GONE));
  g_assert_true (is_there (fixture, KNOWN));
  g_assert_true (is_there (fixture, "00000000000000cc"));
  g_assert_true (is_there (fixture, "00000000000000dd"));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_true (is_there (fixture, others[i]));
}

/* A store that was put in place of another one knows no session, which says nothing. */
static void
test_empty_store (Fixture       *fixture,
                  gconstpointer  data)
{
  make (fixture, GONE, "undo", 2 * DAY_S);
  ow_store_remove_leftovers (fixture->store);
  g_assert_true (is_there (fixture, GONE));
}

/* A sandbox of it runs, whoever knows why. */
static void
test_running (Fixture       *fixture,
              gconstpointer  data)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();
  g_autofree char *home = g_build_filename (homes, "00000000000e", NULL);
  g_autofree char *run_dir = g_build_filename (runtime, "00000000000e", NULL);
  OwRegistryEntry  entry = { .id = (char *) "00000000000e", .session = (char *) GONE,
                             .provider = (char *) "direct", .home = home, .run_dir = run_dir };

  append_session (fixture, KNOWN);
  make (fixture, GONE, "undo", 2 * DAY_S);
  g_assert_true (ow_registry_put (&entry, NULL));
  ow_store_remove_leftovers (fixture->store);
  g_assert_true (is_there (fixture, GONE));
  ow_registry_remove (entry.id);
  ow_store_remove_leftovers (fixture->store);
  g_assert_false (is_there (fixture, GONE));
}

/* S03: links are not followed, whatever they are called. */
static void
test_S03_links (Fixture       *fixture,
                gconstpointer  data)
{
  g_autofree char *link = g_build_filename (fixture->sessions, GONE, NULL);
  g_autofree char *undo = g_build_filename (fixture->sessions, "00000000000000cc", NULL);
  g_autofree char *inner = g_build_filename (undo, "undo", NULL);
  g_autofree char *file = g_build_filename (fixture->outside, "mine", NULL);
  struct utimbuf   times = { time (NULL) - 2 * DAY_S, time (NULL) - 2 * DAY_S };

  append_session (fixture, KNOWN);
  g_assert_true (g_file_set_contents (file, "mine", -1, NULL));
  g_assert_cmpint (symlink (fixture->outside, link), ==, 0);
  g_assert_cmpint (g_mkdir (undo, 0700), ==, 0);
  g_assert_cmpint (symlink (fixture->outside, inner), ==, 0);
  g_assert_cmpint (utime (undo, &times), ==, 0);
  ow_store_remove_leftovers (fixture->store);
  g_assert_true (g_file_test (file, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = g_mkdtemp (g_strdup ("/tmp/ow-leftovers-XXXXXX"));
  int status;

  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_DATA_HOME");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_CONFIG_HOME");
  g_setenv ("XDG_RUNTIME_DIR", home, TRUE);
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/leftovers/deleted", test_deleted);
  ADD ("/leftovers/left-over", test_left_over);
  ADD ("/leftovers/empty-store", test_empty_store);
  ADD ("/leftovers/running", test_running);
  ADD ("/leftovers/S03/links", test_S03_links);
  status = g_test_run ();
  g_assert_true (ow_file_remove_tree (home, NULL));
  return status;
}
