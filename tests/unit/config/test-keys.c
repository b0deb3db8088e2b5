/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "memory-search.h"

#define VARIABLE "OPENWORKER_API_KEY"
#define URL      "https://models.example/v1"

typedef struct {
  gboolean    done;
  OwKeyState  state;
  char       *key;
} Found;

static void
on_looked_up (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  Found *found = user_data;
  g_autoptr (GError) error = NULL;

  found->key = ow_keys_lookup_finish (result, &found->state, &error);
  g_assert_no_error (error);
  found->done = TRUE;
}

static Found
look_up (const char *url)
{
  Found found = { FALSE, OW_KEY_NONE, NULL };

  ow_keys_lookup_async (url, NULL, on_looked_up, &found);
  while (!found.done)
    g_main_context_iteration (NULL, TRUE);
  return found;
}

/* Reads by itself, so that no copy is left behind that the search would find. */
static gboolean
file_holds (const char *path,
            const char *veiled)
{
  char text[65536];
  char wanted[128];
  gsize length = 0;
  ssize_t n;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  gboolean holds;

  g_assert_cmpint (fd, >=, 0);
  while ((n = read (fd, text + length, sizeof text - length)) > 0)
    length += (gsize) n;
  close (fd);
  g_assert_cmpuint (length, >, 0);
  g_strlcpy (wanted, veiled, sizeof wanted);
  memory_search_veil (wanted);
  holds = memmem (text, length, wanted, strlen (wanted)) != NULL;
  explicit_bzero (wanted, sizeof wanted);
  explicit_bzero (text, sizeof text);
  return holds;
}

static void
assert_key (const char *key,
            const char *veiled)
{
  g_assert_nonnull (key);
  g_assert_cmpuint (strlen (key), ==, strlen (veiled));
  for (gsize i = 0; key[i] != '\0'; i++)
    {
      char pair[] = { veiled[i], '\0' };

      memory_search_veil (pair);
      g_assert_true (key[i] == pair[0]);
    }
}

/* What main() does first, in a process of its own that had the key in its environment. */
static int
take (const char *veiled)
{
  const guint foreign = MEMORY_SEARCH_FOREIGN;
  Found found;
  pid_t pid;
  int status;

  g_assert_true (file_holds ("/proc/self/environ", veiled));
  ow_keys_take_environment ();
  g_assert_true (ow_keys_check_environment (NULL));
  g_assert_null (g_getenv (VARIABLE));
  g_assert_false (file_holds ("/proc/self/environ", veiled));
  g_assert_cmpuint (memory_search_count (veiled), ==, foreign + 1);

  found = look_up (URL);
  g_assert_cmpint (found.state, ==, OW_KEY_ENVIRONMENT);
  assert_key (found.key, veiled);
  g_assert_cmpuint (memory_search_count (veiled), ==, foreign + 2);
  g_assert_true (memory_search_is_not_dumped (found.key));

  /* A child that is started has nothing of it. */
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    _exit (memory_search_count (veiled) == foreign ? 0 : 1);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);

  ow_keys_free (found.key);
  g_assert_cmpuint (memory_search_count (veiled), ==, foreign + 1);
  ow_keys_free (NULL);

  /* An address that is none gets no key. */
  found = look_up ("https://u:p@models.example");
  g_assert_cmpint (found.state, ==, OW_KEY_NONE);
  g_assert_null (found.key);

  /* Only what was there at the start counts. */
  g_setenv (VARIABLE, "other", TRUE);
  ow_keys_take_environment ();
  g_assert_null (g_getenv (VARIABLE));
  found = look_up (URL);
  assert_key (found.key, veiled);
  ow_keys_free (found.key);

  return 0;
}

/* Prints what came of the environment this process has. */
static int
tell (void)
{
  g_autoptr (GError) error = NULL;
  Found found;

  ow_keys_take_environment ();
  if (!ow_keys_check_environment (&error))
    printf ("%d %s\n", ow_error_exit_status (error), error->message);
  found = look_up (URL);
  printf ("%s %s\n", ow_key_state_to_string (found.state), found.key != NULL ? found.key : "-");
  printf ("%s\n", g_getenv (VARIABLE) != NULL ? "there" : "gone");
  ow_keys_free (found.key);

  return 0;
}

/* Runs this program with just that environment, and no session bus. */
static char *
run_self (const char * const *environment,
          const char         *mode,
          const char         *argument)
{
  const char * const argv[] = { "/proc/self/exe", mode, argument, NULL };
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_true (g_spawn_sync (NULL, (char **) argv, (char **) environment, G_SPAWN_DEFAULT, NULL,
                               NULL, &output, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  return g_steal_pointer (&output);
}

static char *
make_key (void)
{
  g_autofree char *random = g_uuid_string_random ();

  return g_strconcat ("sk-", random, NULL);
}

static void
test_taken (void)
{
  g_autofree char *key = make_key ();
  g_autofree char *entry = g_strconcat (VARIABLE "=", key, NULL);
  g_autofree char *output = NULL;

  memory_search_veil (key);
  {
    const char * const environment[] = { "A=1", entry, "B=2", NULL };

    output = run_self (environment, "--take", key);
  }
}

static void
test_environment (void)
{
  g_autofree char *longest = g_strnfill (8192, 'k');
  g_autofree char *too_long = g_strnfill (8193, 'k');
  const struct {
    const char *value;
    const char *says;
  } rows[] = {
    { "", "none -" }, { "\n", "none -" }, { "sk-1", "environment sk-1" },
    { "sk-1\n", "environment sk-1" }, { "sk-1\r\n", "environment sk-1" },
    { "a=b/c+d==", "environment a=b/c+d==" }, { longest, "environment kkkk" },
    { "sk 1", NULL }, { " sk1", NULL }, { "sk1\r\nX-Other: 1", NULL }, { "sk\t1", NULL },
    { "sk\xc3\xa9", NULL }, { "sk\x7f", NULL }, { "sk\x01", NULL }, { "\xff", NULL }, { too_long, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *entry = g_strconcat (VARIABLE "=", rows[i].value, NULL);
      const char * const environment[] = { entry, VARIABLE "X=kept", NULL };
      g_autofree char *output = run_self (environment, "--tell", NULL);

      g_test_message ("%.60s: %.200s", rows[i].value, output);
      g_assert_true (g_str_has_suffix (output, "\ngone\n"));
      if (rows[i].says != NULL)
        {
          /* Nothing set and no keyring is "absent". */
          const char *says = strcmp (rows[i].says, "none -") == 0 ? "absent -" : rows[i].says;

          g_assert_true (g_str_has_prefix (output, says));
          continue;
        }
      g_assert_true (g_str_has_prefix (output, "2 " VARIABLE " is not used: "));
      g_assert_nonnull (strstr (output, "absent -"));
      if (strlen (rows[i].value) > 2)
        g_assert_null (strstr (output, rows[i].value));
    }
}

/* A name that stands there twice is gone twice; the first counts, as everywhere. */
static void
test_twice (void)
{
  const char * const environment[] = { VARIABLE "=first", "A=1", VARIABLE "=second", NULL };
  g_autofree char *output = run_self (environment, "--tell", NULL);

  g_assert_cmpstr (output, ==, "environment first\ngone\n");
}

static void
test_check (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (ow_keys_check ("sk-1", &error));
  g_assert_no_error (error);
  g_assert_false (ow_keys_check ("se cret", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_assert_cmpint (ow_error_exit_status (error), ==, 2);
  g_assert_null (strstr (error->message, "se cret"));
}

/* Each state has its name and one sentence, which says what to do. */
static void
test_states (void)
{
  static const struct {
    OwKeyState  state;
    const char *name;
    const char *next;
  } rows[] = {
    { OW_KEY_NONE, "none", "store one" }, { OW_KEY_KEYRING, "keyring", "removing the model" },
    { OW_KEY_ENVIRONMENT, "environment", "store it" }, { OW_KEY_LOCKED, "locked", "unlock it" },
    { OW_KEY_ABSENT, "absent", "install and start" }, { OW_KEY_SILENT, "silent", "log in again" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *sentence = ow_key_state_describe (rows[i].state);

      g_assert_cmpstr (ow_key_state_to_string (rows[i].state), ==, rows[i].name);
      g_assert_nonnull (strstr (sentence, rows[i].next));
      g_assert_true (g_str_has_suffix (sentence, "."));
    }
}

int
main (int   argc,
      char *argv[])
{
  if (argc == 3 && strcmp (argv[1], "--take") == 0)
    return take (argv[2]);
  if (argc == 2 && strcmp (argv[1], "--tell") == 0)
    return tell ();

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/keys/S22/taken", test_taken);
  g_test_add_func ("/keys/environment", test_environment);
  g_test_add_func ("/keys/twice", test_twice);
  g_test_add_func ("/keys/check", test_check);
  g_test_add_func ("/keys/U09/states", test_states);

  return g_test_run ();
}
