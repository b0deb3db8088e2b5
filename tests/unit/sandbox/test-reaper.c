/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "openshell/ow-openshell-names.h"
#include "ow-reaper-private.h"
#include "sandbox/ow-openshell-labels.h"

/* A command in OpenShell's place: "list" prints the file of that name, "delete NAME" succeeds, or
 * fails where the file "refuse-NAME" is there; every call is a line of the file "calls". A list that
 * has a successor ("list.2") is followed by it. */
static const char command[] =
  "#!/bin/sh\n"
  "cd \"$(dirname \"$0\")\" || exit 1\n"
  "echo \"$*\" >> calls\n"
  "case \"$1 $2\" in\n"
  "  'sandbox list')\n"
  "    if [ -e down ]; then echo 'Error:   × client error (Connect)' >&2; exit 1; fi\n"
  "    cat list\n"
  "    if [ -e list.2 ]; then mv list.2 list; fi ;;\n"
  "  'sandbox delete')\n"
  "    for name; do :; done\n"
  "    if [ -e \"refuse-$name\" ]; then echo 'Error:   × it does not go' >&2; exit 1; fi\n"
  "    echo \"✓ Deleted sandbox $name\" ;;\n"
  "esac\n";

#define DEAD   "0123456789ab"
#define ALIVE  "ba9876543210"
#define ORPHAN "cccccccccccc"
#define OTHER  "dddddddddddd"

static char *top;

typedef struct {
  char        *dir;
  OwOpenshell *openshell;
} Fixture;

static char *
in_dir (Fixture    *fixture,
        const char *name)
{
  return g_build_filename (fixture->dir, name, NULL);
}

static void
put_file (Fixture    *fixture,
          const char *name,
          const char *text)
{
  g_autofree char *path = in_dir (fixture, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
set_up (Fixture      *fixture,
        gconstpointer data)
{
  g_autofree char *program = NULL;

  fixture->dir = g_build_filename (top, "home", NULL);
  g_assert_cmpint (mkdir (fixture->dir, 0700), ==, 0);
  program = in_dir (fixture, "openshell");
  put_file (fixture, "openshell", command);
  g_assert_cmpint (chmod (program, 0700), ==, 0);
  put_file (fixture, "list", "[]");
  fixture->openshell = ow_openshell_new (program);
}

static void
tear_down (Fixture      *fixture,
           gconstpointer data)
{
  ow_registry_remove (ALIVE);
  g_clear_object (&fixture->openshell);
  g_assert_true (ow_file_remove_tree (fixture->dir, NULL));
  g_free (fixture->dir);
}

/* --- entries, and what the gateway has --- */

static char *
home_of (const char *id)
{
  g_autofree char *homes = ow_paths_get_private_homes ();

  return g_build_filename (homes, id, NULL);
}

static char *
run_dir_of (const char *id)
{
  g_autofree char *runtime = ow_paths_get_runtime_dir ();

  return g_build_filename (runtime, id, NULL);
}

static void
make_folders (const char *id)
{
  g_autofree char *home = home_of (id);
  g_autofree char *run_dir = run_dir_of (id);

  g_assert_cmpint (g_mkdir_with_parents (home, 0700), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents (run_dir, 0700), ==, 0);
}

/* An entry of a process that is gone; without an image its sandbox was not made yet. */
static void
put_dead (const char *id,
          const char *provider,
          const char *image)
{
  g_autofree char *registry = ow_paths_get_registry_dir ();
  g_autofree char *path = ow_registry_get_path (id, ".json");
  g_autofree char *home = home_of (id);
  g_autofree char *run_dir = run_dir_of (id);
  g_autofree char *boot = ow_owner_boot_id ();
  g_autofree char *text = NULL;
  pid_t pid = fork ();

  if (pid == 0)
    _exit (0);
  waitpid (pid, NULL, 0);
  make_folders (id);
  text = g_strdup_printf ("{\"id\":\"%s\",\"session\":\"s\",\"provider\":\"%s\",\"home\":\"%s\","
                          "\"run_dir\":\"%s\"%s,\"main_pid\":0,\"main_start\":0,\"owner_pid\":%d,"
                          "\"owner_start\":12345,\"boot_id\":\"%s\"}", id, provider, home, run_dir,
                          image != NULL ? ",\"image\":\"i\"" : "", pid, boot);
  g_assert_true (ow_paths_ensure (registry, NULL));
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
put_alive (void)
{
  g_autofree char *home = home_of (ALIVE);
  g_autofree char *run_dir = run_dir_of (ALIVE);
  OwRegistryEntry entry = {
    .id = (char *) ALIVE, .session = (char *) "s", .provider = (char *) "openshell",
    .home = home, .run_dir = run_dir,
  };

  make_folders (ALIVE);
  g_assert_true (ow_registry_put (&entry, NULL));
}

static gboolean
has_entry (const char *id)
{
  g_autofree char *path = ow_registry_get_path (id, ".json");
  g_autofree char *home = home_of (id);

  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS) == g_file_test (home, G_FILE_TEST_EXISTS));
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* One sandbox in a list; @owner NULL: ours. */
static char *
sandbox_json (const char *name,
              const char *owner,
              const char *phase)
{
  g_autofree char *ours = ow_openshell_labels_owner ();

  return g_strdup_printf ("{\"name\":\"%s\",\"id\":\"x\",\"phase\":\"%s\",\"created_at\":\"\",\"labels\":"
                          "{\"openworker\":\"1\",\"openworker-owner\":\"%s\"}}", name, phase,
                          owner != NULL ? owner : ours);
}

static void
put_list (Fixture    *fixture,
          const char *file,
          ...)
{
  g_autoptr (GString) text = g_string_new ("[");
  const char *item;
  va_list items;

  va_start (items, file);
  while ((item = va_arg (items, const char *)) != NULL)
    g_string_append_printf (text, "%s%s", text->len > 1 ? "," : "", item);
  va_end (items);
  g_string_append (text, "]");
  put_file (fixture, file, text->str);
}

/* --- reaping --- */

typedef struct {
  gboolean done;
  gboolean good;
  guint    reaped;
  guint    kept;
  char    *message;
} Answer;

static void
on_reaped (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  Answer *answer = user_data;
  g_autoptr (GError) error = NULL;

  answer->good = ow_reaper_run_finish (result, &answer->reaped, &answer->kept, &error);
  answer->message = g_strdup (error != NULL ? error->message : "");
  answer->done = TRUE;
}

static Answer
reap (Fixture *fixture,
      gboolean orphans)
{
  Answer answer = { .reaped = 99, .kept = 99 };

  ow_reaper_run_with_async (fixture->openshell, orphans, NULL, on_reaped, &answer);
  while (!answer.done)
    g_main_context_iteration (NULL, TRUE);
  return answer;
}

static guint
count_calls (Fixture    *fixture,
             const char *words)
{
  g_autofree char *path = in_dir (fixture, "calls");
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  guint count = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], words) != NULL)
      count++;
  return count;
}

static void
assert_answer (Answer *answer,
               guint   reaped,
               guint   kept)
{
  if (answer->reaped != reaped || answer->kept != kept)
    g_test_message ("%s", answer->message);
  g_assert_cmpuint (answer->reaped, ==, reaped);
  g_assert_cmpuint (answer->kept, ==, kept);
  g_assert_cmpint (answer->good, ==, kept == 0);
  g_clear_pointer (&answer->message, g_free);
}

static void
test_dead (Fixture      *fixture,
           gconstpointer data)
{
  g_autofree char *listed = sandbox_json ("ow-" DEAD, NULL, "Ready");
  Answer answer;

  put_dead (DEAD, "openshell", "i");
  g_assert_true (ow_reaper_has_work ());
  put_list (fixture, "list", listed, NULL);
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 1, 0);
  g_assert_cmpuint (count_calls (fixture, "sandbox delete"), ==, 1);
  g_assert_false (has_entry (DEAD));
  g_assert_false (ow_reaper_has_work ());
}

/* The registry's own reaper leaves it: without the gateway its sandbox would stay for ever. */
static void
test_not_by_the_registry (Fixture      *fixture,
                          gconstpointer data)
{
  guint reaped = 99;
  Answer answer;

  put_dead (DEAD, "openshell", "i");
  put_dead (OTHER, "bubblewrap", NULL);
  g_assert_true (ow_registry_reap (&reaped, NULL));
  g_assert_cmpuint (reaped, ==, 1);
  g_assert_true (has_entry (DEAD));
  g_assert_false (has_entry (OTHER));
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 1, 0);
}

static void
test_gateway_down (Fixture      *fixture,
                   gconstpointer data)
{
  Answer answer;

  put_dead (DEAD, "openshell", "i");
  put_file (fixture, "down", "");
  answer = reap (fixture, TRUE);
  g_assert_nonnull (strstr (answer.message, "1 sandbox of killed sessions could not be removed"));
  assert_answer (&answer, 0, 1);
  g_assert_true (has_entry (DEAD));
  g_assert_true (ow_reaper_has_work ());
}

static void
test_not_deleted (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *listed = sandbox_json ("ow-" DEAD, NULL, "Ready");
  Answer answer;

  put_dead (DEAD, "openshell", "i");
  put_list (fixture, "list", listed, NULL);
  put_file (fixture, "refuse-ow-" DEAD, "");
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 0, 1);
  g_assert_true (has_entry (DEAD));
}

/* Ours without an entry goes where orphans are looked for; one that is alive, one of another
 * owner and one that has only a name like ours never do. */
static void
test_whose (Fixture      *fixture,
            gconstpointer data)
{
  g_autofree char *orphan = sandbox_json ("ow-" ORPHAN, NULL, "Ready");
  g_autofree char *alive = sandbox_json ("ow-" ALIVE, NULL, "Ready");
  g_autofree char *other = sandbox_json ("ow-" OTHER, "0123456789abcdef", "Ready");
  g_autofree char *named = sandbox_json ("ow-mine", NULL, "Ready");
  Answer answer;

  put_alive ();
  put_list (fixture, "list", orphan, alive, other, named, NULL);
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 0, 0);
  g_assert_cmpuint (count_calls (fixture, "sandbox"), ==, 0);
  answer = reap (fixture, TRUE);
  assert_answer (&answer, 1, 0);
  g_assert_cmpuint (count_calls (fixture, "sandbox delete"), ==, 1);
  g_assert_cmpuint (count_calls (fixture, "ow-" ORPHAN), ==, 1);
  g_assert_true (has_entry (ALIVE));
}

/* The gateway heard of it, and has it only a moment after its owner was killed. */
static void
test_late (Fixture      *fixture,
           gconstpointer data)
{
  g_autofree char *listed = sandbox_json ("ow-" DEAD, NULL, "Ready");
  Answer answer;

  put_dead (DEAD, "openshell", NULL);
  put_list (fixture, "list.2", listed, NULL);
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 1, 0);
  g_assert_cmpuint (count_calls (fixture, "sandbox delete"), ==, 1);
}

/* One that is being made is waited for: deleted then, it would leave its container. */
static void
test_being_made (Fixture      *fixture,
                 gconstpointer data)
{
  g_autofree char *making = sandbox_json ("ow-" DEAD, NULL, "Provisioning");
  g_autofree char *made = sandbox_json ("ow-" DEAD, NULL, "Ready");
  Answer answer;

  put_dead (DEAD, "openshell", NULL);
  put_list (fixture, "list", making, NULL);
  put_list (fixture, "list.2", made, NULL);
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 1, 0);
  g_assert_cmpuint (count_calls (fixture, "sandbox list"), ==, 2);
  g_assert_cmpuint (count_calls (fixture, "sandbox delete"), ==, 1);
}

/* What this process itself could not end is a reaper's at once, and not after its end. */
static void
test_abandoned (Fixture      *fixture,
                gconstpointer data)
{
  Answer answer;

  put_alive ();
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 0, 0);
  ow_reaper_leave (ALIVE);
  g_assert_true (ow_reaper_has_work ());
  answer = reap (fixture, FALSE);
  assert_answer (&answer, 1, 0);
  g_assert_false (has_entry (ALIVE));
}

/* Who waits for the second waits for what the first has begun. */
static void
test_two (Fixture      *fixture,
          gconstpointer data)
{
  g_autofree char *listed = sandbox_json ("ow-" DEAD, NULL, "Ready");
  Answer first = { 0 };
  Answer second = { 0 };

  put_dead (DEAD, "openshell", "i");
  put_list (fixture, "list", listed, NULL);
  ow_reaper_run_with_async (fixture->openshell, TRUE, NULL, on_reaped, &first);
  ow_reaper_run_with_async (fixture->openshell, FALSE, NULL, on_reaped, &second);
  while (!second.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (first.done);
  g_assert_false (has_entry (DEAD));
  assert_answer (&first, 1, 0);
  assert_answer (&second, 0, 0);
}

/* --- how many (REQ-W11) --- */

static gboolean
reserve (const char *id,
         guint       max,
         GError    **error)
{
  g_autofree char *home = home_of (id);
  g_autofree char *run_dir = run_dir_of (id);
  OwRegistryEntry entry = {
    .id = (char *) id, .session = (char *) "s", .provider = (char *) "openshell",
    .home = home, .run_dir = run_dir,
  };

  return ow_registry_reserve (&entry, max, error);
}

static void
test_cap (Fixture      *fixture,
          gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  /* What is dead, and what is of another kind, takes no place. */
  put_dead (DEAD, "openshell", "i");
  put_dead (OTHER, "bubblewrap", NULL);
  g_assert_true (reserve (ALIVE, 1, NULL));
  /* Its own place is not another's. */
  g_assert_true (reserve (ALIVE, 1, NULL));
  g_assert_false (reserve (ORPHAN, 1, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "openworker sandbox list"));
  g_assert_nonnull (strstr (error->message, "openworker sandbox reap"));
  g_assert_true (reserve (ORPHAN, 2, NULL));
  ow_registry_remove (ORPHAN);
  ow_registry_remove (DEAD);
  ow_registry_remove (OTHER);
}

/* Many processes at once: never more than may. */
static void
test_cap_race (Fixture      *fixture,
               gconstpointer data)
{
  pid_t children[12];
  guint taken = 0;

  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    {
      children[i] = fork ();
      if (children[i] == 0)
        {
          g_autofree char *id = g_strdup_printf ("%012x", i + 1);

          if (!reserve (id, 5, NULL))
            _exit (1);
          /* It holds its place until all have tried. */
          g_usleep ((gulong) (3 * G_USEC_PER_SEC));
          ow_registry_remove (id);
          _exit (0);
        }
    }
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    {
      int status = 0;

      g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
      taken += WIFEXITED (status) && WEXITSTATUS (status) == 0;
    }
  g_assert_cmpuint (taken, ==, 5);
}

/* --- names and labels --- */

static void
test_labels (Fixture      *fixture,
             gconstpointer data)
{
  static const char * const sessions[] = {
    "0123456789abcdef", "", "a session with words, 'quotes' and \"more\"", "\n\033[31m", "\u00fcml",
    "--", "-", ".", "a=b,c=d", "openworker-owner=0000000000000000",
    "a name that is far longer than what any label of any gateway may hold at all, by a lot",
  };
  g_autofree char *owner = ow_openshell_labels_owner ();
  g_autofree char *again = ow_openshell_labels_owner ();
  g_autofree char *expected = g_strconcat ("openworker-owner=", owner, NULL);
  g_autofree char *state = g_strdup (g_getenv ("XDG_STATE_HOME"));
  g_autofree char *elsewhere = NULL;

  g_assert_cmpuint (strlen (owner), ==, 16);
  g_assert_cmpuint (strspn (owner, "0123456789abcdef"), ==, 16);
  g_assert_cmpstr (owner, ==, again);
  for (gsize i = 0; i < G_N_ELEMENTS (sessions); i++)
    {
      g_auto (GStrv) labels = ow_openshell_labels_make (sessions[i]);
      const char *value = labels[2] + strlen ("openworker-session=");

      g_assert_cmpuint (g_strv_length (labels), ==, 3);
      g_assert_cmpstr (labels[0], ==, "openworker=1");
      g_assert_cmpstr (labels[1], ==, expected);
      g_assert_true (g_str_has_prefix (labels[2], "openworker-session="));
      g_assert_true (ow_openshell_label_is_valid (value));
    }
  /* Two places of state are two owners. */
  g_setenv ("XDG_STATE_HOME", "/var/tmp/elsewhere", TRUE);
  elsewhere = ow_openshell_labels_owner ();
  g_assert_cmpstr (elsewhere, !=, owner);
  if (state != NULL)
    g_setenv ("XDG_STATE_HOME", state, TRUE);
  else
    g_unsetenv ("XDG_STATE_HOME");
}

static void
test_names (Fixture      *fixture,
            gconstpointer data)
{
  static const char * const others[] = {
    "", "ow-", "ow-0123456789a", "ow-0123456789abc", "ow-0123456789aB", "ow-0123456789a/", "x-0123456789ab",
    "0123456789ab", "OW-0123456789ab", "ow-0123456789ab\n",
  };
  g_autofree char *name = ow_openshell_labels_name (DEAD);
  g_autofree char *id = ow_openshell_labels_id (name);

  g_assert_cmpstr (name, ==, "ow-" DEAD);
  g_assert_cmpstr (id, ==, DEAD);
  g_assert_true (ow_openshell_name_is_valid (name));
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *none = ow_openshell_labels_id (others[i]);

      g_assert_null (none);
    }
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int    argc,
      char **argv)
{
  g_autofree char *home = NULL;
  int status;

  top = g_dir_make_tmp ("ow-reaper-XXXXXX", NULL);
  home = g_build_filename (top, "home", NULL);
  g_setenv ("HOME", home, TRUE);
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_unsetenv ("XDG_STATE_HOME");
  g_unsetenv ("XDG_CONFIG_HOME");
  g_test_init (&argc, &argv, NULL);
  ADD ("/reaper/S21/dead", test_dead);
  ADD ("/reaper/S21/not-by-the-registry", test_not_by_the_registry);
  ADD ("/reaper/S21/gateway-down", test_gateway_down);
  ADD ("/reaper/S21/not-deleted", test_not_deleted);
  ADD ("/reaper/S21/whose", test_whose);
  ADD ("/reaper/A43/late", test_late);
  ADD ("/reaper/A43/being-made", test_being_made);
  ADD ("/reaper/S21/abandoned", test_abandoned);
  ADD ("/reaper/S21/two", test_two);
  ADD ("/reaper/W11/cap", test_cap);
  ADD ("/reaper/W11/race", test_cap_race);
  ADD ("/labels/A14/labels", test_labels);
  ADD ("/labels/S13/names", test_names);
  status = g_test_run ();
  ow_file_remove_tree (top, NULL);
  g_free (top);
  return status;
}
