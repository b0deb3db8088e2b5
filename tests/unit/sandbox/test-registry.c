/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "ow-registry-private.h"

#define ID       "0123456789ab"
#define OTHER_ID "ba9876543210"

/* HOME is the same for all tests: GLib asks for it once. */
static char *top;

typedef struct {
  char *dir;
  char *home;
  char *run_dir;
} Fixture;

static void
set_up (Fixture      *fixture,
        gconstpointer data)
{
  g_autofree char *homes = NULL;
  g_autofree char *runtime = NULL;

  fixture->dir = g_build_filename (top, "home", NULL);
  g_assert_cmpint (mkdir (fixture->dir, 0700), ==, 0);
  homes = ow_paths_get_private_homes ();
  runtime = ow_paths_get_runtime_dir ();
  fixture->home = g_build_filename (homes, ID, NULL);
  fixture->run_dir = g_build_filename (runtime, ID, NULL);
  g_assert_cmpint (g_mkdir_with_parents (fixture->home, 0700), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents (fixture->run_dir, 0700), ==, 0);
}

static void
tear_down (Fixture      *fixture,
           gconstpointer data)
{
  ow_registry_remove (ID);
  g_assert_true (ow_file_remove_tree (fixture->dir, NULL));
  g_free (fixture->dir);
  g_free (fixture->home);
  g_free (fixture->run_dir);
}

static char *
entry_path (const char *name)
{
  g_autofree char *dir = ow_paths_get_registry_dir ();

  return g_build_filename (dir, name, NULL);
}

static gboolean
has (const char *name)
{
  g_autofree char *path = entry_path (name);

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
write_entry (const char *name,
             const char *text)
{
  g_autofree char *path = entry_path (name);
  g_autofree char *dir = ow_paths_get_registry_dir ();

  g_assert_true (ow_paths_ensure (dir, NULL));
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* An entry as another instance would have written it, with no lock held. */
static void
write_foreign (Fixture    *fixture,
               GPid        owner,
               guint64     owner_start,
               const char *boot,
               GPid        main_pid,
               guint64     main_start)
{
  g_autofree char *text =
    g_strdup_printf ("{\"id\":\"" ID "\",\"session\":\"s\",\"provider\":\"bubblewrap\","
                     "\"home\":\"%s\",\"run_dir\":\"%s\",\"main_pid\":%d,\"main_start\":%"
                     G_GUINT64_FORMAT ",\"owner_pid\":%d,\"owner_start\":%" G_GUINT64_FORMAT
                     ",\"boot_id\":\"%s\"}", fixture->home, fixture->run_dir, main_pid, main_start,
                     owner, owner_start, boot);

  write_entry (ID ".json", text);
}

static GPid
start_sleeper (const char *mark)
{
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      char *envp[] = { (char *) mark, NULL };

      execle ("/bin/sleep", "sleep", "1000", NULL, envp);
      _exit (127);
    }
  /* Its environment is there once it has executed. */
  for (int i = 0; i < 1000; i++)
    {
      g_autofree char *name = g_strdup_printf ("/proc/%d/comm", pid);
      g_autofree char *comm = NULL;

      if (g_file_get_contents (name, &comm, NULL, NULL) && strcmp (comm, "sleep\n") == 0)
        break;
      g_usleep (2000);
    }
  return pid;
}

static gboolean
was_killed (GPid pid)
{
  int status = 0;

  for (int i = 0; i < 1000; i++)
    {
      if (waitpid (pid, &status, WNOHANG) == pid)
        return WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
      g_usleep (2000);
    }
  return FALSE;
}

static gboolean
still_runs (GPid pid)
{
  gboolean runs;

  g_usleep (50000);
  runs = waitpid (pid, NULL, WNOHANG) == 0;
  if (runs)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
  return runs;
}

/* A pid that is free: of a child that has ended and was waited for. */
static GPid
dead_pid (void)
{
  pid_t pid = fork ();

  if (pid == 0)
    _exit (0);
  waitpid (pid, NULL, 0);
  return pid;
}

static guint
reap (void)
{
  g_autoptr (GError) error = NULL;
  guint reaped = 999;

  g_assert_true (ow_registry_reap (&reaped, &error));
  g_assert_no_error (error);
  return reaped;
}

static void
assert_gone (Fixture *fixture)
{
  g_assert_false (g_file_test (fixture->home, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (fixture->run_dir, G_FILE_TEST_EXISTS));
  g_assert_false (has (ID ".json"));
  g_assert_false (has (ID ".lock"));
}

static void
assert_kept (Fixture *fixture)
{
  g_assert_true (g_file_test (fixture->home, G_FILE_TEST_IS_DIR));
  g_assert_true (g_file_test (fixture->run_dir, G_FILE_TEST_IS_DIR));
  g_assert_true (has (ID ".json"));
}

static void
test_dead_owner (Fixture      *fixture,
                 gconstpointer data)
{
  g_autofree char *boot = ow_owner_boot_id ();
  GPid main_pid = start_sleeper ("A=b");
  GPid stray = start_sleeper ("OPENWORKER_SANDBOX=" ID);
  GPid other = start_sleeper ("OPENWORKER_SANDBOX=" OTHER_ID);
  GPid longer = start_sleeper ("OPENWORKER_SANDBOX=" ID "0");

  write_foreign (fixture, dead_pid (), 12345, boot, main_pid,
                 ow_owner_process_start (main_pid));
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
  g_assert_true (was_killed (main_pid));
  g_assert_true (was_killed (stray));
  g_assert_true (still_runs (other));
  g_assert_true (still_runs (longer));
}

static void
test_live_owner (Fixture      *fixture,
                 gconstpointer data)
{
  g_autofree char *boot = ow_owner_boot_id ();
  GPid owner = start_sleeper ("A=b");
  GPid main_pid = start_sleeper ("OPENWORKER_SANDBOX=" ID);

  write_foreign (fixture, owner, ow_owner_process_start (owner), boot, main_pid,
                 ow_owner_process_start (main_pid));
  g_assert_cmpuint (reap (), ==, 0);
  assert_kept (fixture);
  g_assert_true (still_runs (main_pid));
  /* And once it has gone, it is an ordinary leftover. */
  g_assert_true (still_runs (owner));
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
}

/* The number of the owner is another process now. */
static void
test_reused_owner (Fixture      *fixture,
                   gconstpointer data)
{
  g_autofree char *boot = ow_owner_boot_id ();
  GPid owner = start_sleeper ("A=b");

  write_foreign (fixture, owner, ow_owner_process_start (owner) - 1, boot, 0, 0);
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
  g_assert_true (still_runs (owner));
}

/* The number of the main process is somebody else's now. */
static void
test_reused_main (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *boot = ow_owner_boot_id ();
  GPid stranger = start_sleeper ("A=b");

  write_foreign (fixture, dead_pid (), 1, boot, stranger,
                 ow_owner_process_start (stranger) + 1);
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
  g_assert_true (still_runs (stranger));
}

/* Before the last start of the machine: all numbers are others' now. */
static void
test_other_boot (Fixture      *fixture,
                 gconstpointer data)
{
  GPid main_pid = start_sleeper ("A=b");
  GPid owner = start_sleeper ("A=b");

  write_foreign (fixture, owner, ow_owner_process_start (owner),
                 "00000000-0000-0000-0000-000000000000", main_pid,
                 ow_owner_process_start (main_pid));
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
  g_assert_true (still_runs (main_pid));
  g_assert_true (still_runs (owner));
}

static void
put_own (Fixture *fixture)
{
  OwRegistryEntry entry = {
    .id = (char *) ID, .session = (char *) "s", .provider = (char *) "direct",
    .home = fixture->home, .run_dir = fixture->run_dir,
  };
  g_autoptr (GError) error = NULL;

  g_assert_true (ow_registry_put (&entry, &error));
  g_assert_no_error (error);
}

static void
test_own (Fixture      *fixture,
          gconstpointer data)
{
  put_own (fixture);
  g_assert_cmpuint (reap (), ==, 0);
  assert_kept (fixture);
  /* Replacing it keeps it ours. */
  put_own (fixture);
  g_assert_cmpuint (reap (), ==, 0);
  assert_kept (fixture);
  ow_registry_remove (ID);
  g_assert_false (has (ID ".json"));
  g_assert_false (has (ID ".lock"));
}

/* An owner that holds the lock is alive even where the numbers say otherwise, as they
 * do for one in another pid namespace. */
static void
test_lock_counts (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *boot = ow_owner_boot_id ();

  put_own (fixture);
  write_foreign (fixture, dead_pid (), 1, boot, 0, 0);
  g_assert_cmpuint (reap (), ==, 0);
  assert_kept (fixture);
}

/* A process that is killed leaves what another then clears away. */
static void
test_killed (Fixture      *fixture,
             gconstpointer data)
{
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      put_own (fixture);
      raise (SIGSTOP);
      _exit (0);
    }
  g_assert_cmpint (waitpid (pid, NULL, WUNTRACED), ==, pid);
  g_assert_cmpuint (reap (), ==, 0);
  assert_kept (fixture);
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
  g_assert_cmpuint (reap (), ==, 1);
  assert_gone (fixture);
}

static const char * const damaged[] = {
  "", "{", "null", "[]", "42", "{}", "\"text\"", "{\"id\":\"" ID "\"}",
  "{\"id\":\"" OTHER_ID "\",\"home\":\"/tmp\",\"run_dir\":\"/tmp\",\"owner_pid\":1}",
  "{\"id\":12,\"home\":[],\"run_dir\":{},\"owner_pid\":\"x\",\"boot_id\":5}",
  /* Folders that are not ours to remove. */
  "{\"id\":\"" ID "\",\"home\":\"/\",\"run_dir\":\"/\",\"owner_pid\":999999,\"owner_start\":1,"
  "\"boot_id\":\"x\"}",
  "{\"id\":\"" ID "\",\"home\":\"/etc/" ID "\",\"run_dir\":\"/etc/" ID "\",\"owner_pid\":999999,"
  "\"owner_start\":1,\"boot_id\":\"x\"}",
};

/* Nothing that it names is touched; the private home of its own name goes, with the copies of
 * logins in it. */
static void
test_damaged (Fixture      *fixture,
              gconstpointer data)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *other = g_build_filename (homes, OTHER_ID, NULL);

  g_assert_cmpint (mkdir (other, 0700), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (damaged); i++)
    {
      g_assert_cmpint (g_mkdir_with_parents (fixture->home, 0700), ==, 0);
      write_entry (ID ".json", damaged[i]);
      g_assert_cmpuint (reap (), ==, 0);
      g_assert_false (has (ID ".json"));
      g_assert_true (has (ID ".json.damaged"));
      g_assert_false (g_file_test (fixture->home, G_FILE_TEST_EXISTS));
      g_assert_true (g_file_test (other, G_FILE_TEST_IS_DIR));
      g_assert_true (g_file_test ("/etc", G_FILE_TEST_IS_DIR));
    }
}

/* A folder that only looks like ours: an entry whose folder has climbed out. */
static void
test_climbing (Fixture      *fixture,
               gconstpointer data)
{
  g_autofree char *victim = g_build_filename (fixture->dir, ID, NULL);
  g_autofree char *kept = fixture->home;

  g_assert_cmpint (mkdir (victim, 0700), ==, 0);
  fixture->home = g_strdup_printf ("%s/../../../../%s", kept, ID);
  write_foreign (fixture, dead_pid (), 1, "x", 0, 0);
  g_free (fixture->home);
  fixture->home = g_steal_pointer (&kept);
  g_assert_cmpuint (reap (), ==, 0);
  g_assert_true (g_file_test (victim, G_FILE_TEST_IS_DIR));
  g_assert_true (has (ID ".json.damaged"));
}

/* Other programs' files in the directory are none of our business. */
static void
test_foreign_files (Fixture      *fixture,
                    gconstpointer data)
{
  write_entry ("notes.json", "{}");
  write_entry ("0123456789AB.json", "{}");
  write_entry ("0123.json", "{}");
  write_entry (OTHER_ID ".lock", "");
  g_assert_cmpuint (reap (), ==, 0);
  g_assert_true (has ("notes.json"));
  g_assert_true (has ("0123456789AB.json"));
  g_assert_true (has ("0123.json"));
  g_assert_false (has (OTHER_ID ".lock"));
}

static void
test_process_start (Fixture      *fixture,
                    gconstpointer data)
{
  GPid pid = start_sleeper ("A=b");
  guint64 start = ow_owner_process_start (pid);

  g_assert_cmpuint (start, >, 0);
  g_assert_cmpuint (ow_owner_process_start (pid), ==, start);
  kill (pid, SIGKILL);
  while (ow_owner_process_start (pid) != 0) /* a zombie counts as gone */
    g_usleep (1000);
  waitpid (pid, NULL, 0);
  g_assert_cmpuint (ow_owner_process_start (pid), ==, 0);
  g_assert_cmpuint (ow_owner_process_start (0), ==, 0);
  g_assert_cmpuint (ow_owner_process_start (-1), ==, 0);
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

/* What is shown is what stands there, whoever owns it; what is no entry is not shown. */
static void
test_list (Fixture      *fixture,
           gconstpointer data)
{
  OwRegistryEntry entry = {
    .id = (char *) OTHER_ID, .session = (char *) "other", .provider = (char *) "openshell",
    .image = (char *) "image@sha256:00",
  };
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();
  g_autofree char *home = g_build_filename (homes, OTHER_ID, NULL);
  g_autofree char *run_dir = g_build_filename (runtime, OTHER_ID, NULL);
  g_autoptr (GPtrArray) none = ow_registry_list ();
  g_autoptr (GPtrArray) both = NULL;
  g_autofree char *boot = ow_owner_boot_id ();
  const OwRegistryItem *item;
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (none->len, ==, 0);
  write_foreign (fixture, dead_pid (), 12345, boot, 0, 0);
  write_entry ("aaaaaaaaaaaa.json", "{");
  entry.home = home;
  entry.run_dir = run_dir;
  g_assert_true (ow_registry_put (&entry, &error));
  g_assert_no_error (error);
  both = ow_registry_list ();
  g_assert_cmpuint (both->len, ==, 2);
  for (guint i = 0; i < both->len; i++)
    {
      item = g_ptr_array_index (both, i);
      g_assert_cmpint (ABS (item->since - now), <=, 60);
      if (strcmp (item->id, ID) == 0)
        {
          g_assert_false (item->alive);
          g_assert_cmpstr (item->provider, ==, "bubblewrap");
          g_assert_null (item->image);
          continue;
        }
      g_assert_cmpstr (item->id, ==, OTHER_ID);
      g_assert_cmpstr (item->session, ==, "other");
      g_assert_cmpstr (item->provider, ==, "openshell");
      g_assert_cmpstr (item->image, ==, "image@sha256:00");
      g_assert_cmpint (item->owner_pid, ==, getpid ());
      g_assert_true (item->alive);
    }
  ow_registry_remove (OTHER_ID);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = NULL;
  int status;

  top = g_dir_make_tmp ("ow-registry-XXXXXX", NULL);
  home = g_build_filename (top, "home", NULL);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_CONFIG_HOME");
  g_test_init (&argc, &argv, NULL);
  ADD ("/registry/S21/dead-owner", test_dead_owner);
  ADD ("/registry/S21/live-owner", test_live_owner);
  ADD ("/registry/S21/reused-owner", test_reused_owner);
  ADD ("/registry/S21/reused-main", test_reused_main);
  ADD ("/registry/S21/other-boot", test_other_boot);
  ADD ("/registry/S21/own", test_own);
  ADD ("/registry/S21/lock-counts", test_lock_counts);
  ADD ("/registry/S21/killed", test_killed);
  ADD ("/registry/list", test_list);
  ADD ("/registry/damaged", test_damaged);
  ADD ("/registry/climbing", test_climbing);
  ADD ("/registry/foreign-files", test_foreign_files);
  ADD ("/registry/process-start", test_process_start);
  status = g_test_run ();
  ow_file_remove_tree (top, NULL);
  g_free (top);
  return status;
}
