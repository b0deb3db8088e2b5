/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-state.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The variable is read once a process, so each case is a process. */
static pid_t
start (const char *wanted,
       int       *said)
{
  int ends[2];
  pid_t pid;

  g_assert_cmpint (pipe (ends), ==, 0);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      dup2 (ends[1], STDERR_FILENO);
      close (ends[0]);
      close (ends[1]);
      if (wanted != NULL)
        g_setenv ("OPENWORKER_TEST_STATE", wanted, TRUE);
      ow_state_reach ("before");
      ow_state_reach ("here");
      ow_state_reach ("after");
      ow_state_reach ("here");
      _exit (5);
    }
  close (ends[1]);
  *said = ends[0];
  return pid;
}

static void
check_stops (const char *wanted,
             guint       times)
{
  int status, said;
  pid_t pid = start (wanted, &said);

  for (guint i = 0; i < times; i++)
    {
      char line[64] = { 0 };

      g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);
      g_assert_true (WIFSTOPPED (status));
      g_assert_cmpint (WSTOPSIG (status), ==, SIGSTOP);
      g_assert_cmpint (read (said, line, sizeof line - 1), >, 0);
      g_assert_cmpstr (line, ==, "state here\n");
      g_assert_cmpint (kill (pid, SIGCONT), ==, 0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 5);
  close (said);
}

/* Each time it is reached, or the one that the number names. */
static void
test_stops (void)
{
  check_stops ("here", 2);
  check_stops ("here:1", 1);
  check_stops ("here:2", 1);
}

static void
test_goes_on (void)
{
  static const char * const wanted[] = { NULL, "", "her", "here2", "HERE", "here:3", "here:0" };

  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      char line[64];
      int status, said;
      pid_t pid = start (wanted[i], &said);

      g_assert_cmpint (waitpid (pid, &status, WUNTRACED), ==, pid);
      g_assert_true (WIFEXITED (status));
      g_assert_cmpint (WEXITSTATUS (status), ==, 5);
      g_assert_cmpint (read (said, line, sizeof line), ==, 0);
      close (said);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_unsetenv ("OPENWORKER_TEST_STATE");
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/state/stops", test_stops);
  g_test_add_func ("/state/goes-on", test_goes_on);

  return g_test_run ();
}
