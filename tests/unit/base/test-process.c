/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ow-error.h"

#define LONG_MS 30000

static void
keep_result (GObject      *object,
             GAsyncResult *result,
             gpointer      user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

static void
wait_for (GAsyncResult **result)
{
  while (*result == NULL)
    g_main_context_iteration (NULL, TRUE);
}

static OwProcessResult *
run (const OwProcessOptions  *options,
     guint                    deadline_ms,
     gsize                    cap,
     GError                 **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_process_run_async (options, deadline_ms, cap, NULL, keep_result, &result);
  wait_for (&result);

  return ow_process_run_finish (result, error);
}

static char *
run_shell (const char *script)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwProcessResult) result = run (&options, LONG_MS, 65536, &error);

  g_assert_no_error (error);
  g_assert_cmpint (result->status, ==, 0);

  return g_strndup (g_bytes_get_data (result->output, NULL), g_bytes_get_size (result->output));
}

static gboolean
is_gone (pid_t pid)
{
  gint64 end = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (g_get_monotonic_time () < end)
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int) pid);
      g_autofree char *stat = NULL;

      if (!g_file_get_contents (path, &stat, NULL, NULL) || strstr (stat, ") Z ") != NULL)
        return TRUE;
      g_usleep (10000);
    }
  return FALSE;
}

static void
test_run (void)
{
  const char *argv[] = { "/bin/sh", "-c", "printf out; printf err >&2; exit 3", NULL };
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwProcessResult) result = run (&options, LONG_MS, 100, &error);

  g_assert_no_error (error);
  g_assert_cmpint (WEXITSTATUS (result->status), ==, 3);
  g_assert_cmpmem (g_bytes_get_data (result->output, NULL), g_bytes_get_size (result->output),
                   "out", 3);
  g_assert_cmpmem (g_bytes_get_data (result->error_output, NULL),
                   g_bytes_get_size (result->error_output), "err", 3);
  g_assert_false (result->cut);
}

static void
test_surroundings (void)
{
  const char *argv[] = { "/usr/bin/env", NULL };
  const char *envp[] = { "A=1", "LC_ALL=de_DE", NULL };
  OwProcessOptions options = { .argv = argv, .envp = envp };
  g_autoptr (OwProcessResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *where = run_shell ("pwd; readlink /proc/self/fd/0; cat | wc -c");
  g_autofree char *group = run_shell ("set -- $(cat /proc/self/stat); "
                                      "[ \"$5\" = \"$$\" ] && [ \"$6\" = \"$$\" ] && printf own");

  g_assert_cmpstr (where, ==, "/\n/dev/null\n0\n");
  g_assert_cmpstr (group, ==, "own");

  result = run (&options, LONG_MS, 1000, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (result->output, NULL), g_bytes_get_size (result->output),
                   "A=1\nLC_ALL=C.UTF-8\n", 19);
}

static void
test_cap (void)
{
  const char *argv[] = { "/usr/bin/head", "-c", "5000000", "/dev/zero", NULL };
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwProcessResult) result = run (&options, LONG_MS, 1000, &error);

  g_assert_no_error (error);
  g_assert_cmpint (result->status, ==, 0);
  g_assert_cmpuint (g_bytes_get_size (result->output), ==, 1000);
  g_assert_true (result->cut);
}

static void
test_deadline (void)
{
  const char *argv[] = { "/bin/sh", "-c", "trap '' TERM; sleep 100 & sleep 100", NULL };
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GError) error = NULL;
  gint64 start = g_get_monotonic_time ();

  g_assert_null (run (&options, 200, 1000, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_TIMED_OUT);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
}

static gboolean
cancel (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

static void
test_cancel (void)
{
  const char *argv[] = { "/bin/sleep", "100", NULL };
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_timeout_add (100, cancel, cancellable);
  ow_process_run_async (&options, LONG_MS, 100, cancellable, keep_result, &result);
  wait_for (&result);
  g_assert_null (ow_process_run_finish (result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* A child that leaves something in the background with the pipe open does not keep
 * its caller waiting, nor that thing alive. */
static void
test_background (void)
{
  gint64 start = g_get_monotonic_time ();
  g_autofree char *pid = run_shell ("sleep 100 & printf $!");

  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
  g_assert_true (is_gone (atoi (pid)));
}

static char *
read_line (OwProcess *process)
{
  char buffer[64] = { 0 };
  gssize n = g_input_stream_read (ow_process_get_stdout (process), buffer, sizeof buffer - 1,
                                  NULL, NULL);

  g_assert_cmpint (n, >, 0);
  return g_strdup (buffer);
}

static void
test_dispose (void)
{
  const char *argv[] = { "/bin/sh", "-c", "trap '' TERM HUP; sleep 100 & echo $!; wait", NULL };
  OwProcessOptions options = { .argv = argv, .stdout_pipe = TRUE };
  g_autoptr (GError) error = NULL;
  OwProcess *process = ow_process_spawn (&options, &error);
  g_autofree char *line = NULL;
  GPid pid;

  g_assert_no_error (error);
  line = read_line (process);
  pid = ow_process_get_pid (process);
  g_object_unref (process);
  g_assert_true (is_gone (pid));
  g_assert_true (is_gone (atoi (line)));
}

static void
test_stop (void)
{
  const char *argv[] = { "/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done", NULL };
  OwProcessOptions options = { .argv = argv, .stdout_pipe = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwProcess) process = ow_process_spawn (&options, &error);
  g_autoptr (GAsyncResult) result = NULL;
  g_autofree char *line = NULL;

  g_assert_no_error (error);
  line = read_line (process);
  g_assert_cmpint (ow_process_get_status (process), ==, -1);
  ow_process_stop_async (process, 200, keep_result, &result);
  wait_for (&result);
  g_assert_true (ow_process_stop_finish (process, result, &error));
  g_assert_no_error (error);
  g_assert_true (WIFSIGNALED (ow_process_get_status (process)));
  g_assert_cmpint (WTERMSIG (ow_process_get_status (process)), ==, SIGKILL);
  /* Its number may be another's by now: nothing must be hit. */
  ow_process_signal (process, SIGKILL);
}

static void
test_refused (void)
{
  const char *relative[] = { "sh", NULL };
  const char *missing[] = { "/nonexistent/program", NULL };
  OwProcessOptions options = { .argv = relative };
  g_autoptr (GError) error = NULL;

  g_assert_null (ow_process_spawn (&options, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
  g_clear_error (&error);

  options.argv = missing;
  g_assert_null (ow_process_spawn (&options, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "/nonexistent/program"));
}

/* 200 descriptors without close-on-exec, one of them a directory: the child has 0, 1
 * and 2 only, and the one that it was handed. */
static void
test_descriptors (void)
{
  const char *argv[] = { "/bin/ls", "/proc/self/fd", NULL };
  int fds[200], source, target = 57;
  OwProcessOptions options = { .argv = argv };
  g_autoptr (GError) error = NULL;
  g_autoptr (OwProcessResult) result = NULL;
  g_autoptr (OwProcessResult) handed = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    {
      fds[i] = open (i == 0 ? "/" : "/dev/null", O_RDONLY);
      g_assert_cmpint (fds[i], >=, 0);
    }

  result = run (&options, LONG_MS, 4096, &error);
  g_assert_no_error (error);
  /* 3 is ls reading the directory. */
  g_assert_cmpmem (g_bytes_get_data (result->output, NULL), g_bytes_get_size (result->output),
                   "0\n1\n2\n3\n", 8);

  source = fds[7];
  options.fds = &source;
  options.target_fds = &target;
  options.n_fds = 1;
  handed = run (&options, LONG_MS, 4096, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (handed->output, NULL), g_bytes_get_size (handed->output),
                   "0\n1\n2\n3\n57\n", 11);

  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    g_assert_cmpint (close (fds[i]), ==, 0);
}

static void
mark_session (gpointer data)
{
  /* Its own session stands already when the caller's part runs. */
  char mark = getsid (0) == getpid () ? 'y' : 'n';

  if (write (*(int *) data, &mark, 1) != 1)
    _exit (1);
}

/* Descriptors whose numbers and targets cross, 0 and 1 among them, and the caller's
 * own step before exec. */
static void
test_handed (void)
{
  const char *argv[] = { "/bin/sh", "-c", "read line; printf \"$line\"; printf c >&7", NULL };
  int in[2], out[2], third[2], marks[2];
  int fds[3], targets[3] = { 0, 1, 7 };
  OwProcessOptions options = { .argv = argv, .fds = fds, .target_fds = targets, .n_fds = 3,
                               .child_setup = mark_session, .child_setup_data = &marks[1] };
  g_autoptr (OwProcess) process = NULL;
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  char buffer[8] = { 0 };

  g_assert_cmpint (pipe (in), ==, 0);
  g_assert_cmpint (pipe (out), ==, 0);
  g_assert_cmpint (pipe (third), ==, 0);
  g_assert_cmpint (pipe2 (marks, O_CLOEXEC), ==, 0);
  fds[0] = in[0];
  fds[1] = out[1];
  fds[2] = third[1];
  process = ow_process_spawn (&options, &error);
  g_assert_no_error (error);
  g_assert_null (ow_process_get_stdout (process));
  g_assert_null (ow_process_get_stdin (process));
  /* Ours are not taken. */
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    g_assert_cmpint (close (fds[i]), ==, 0);

  g_assert_cmpint (write (in[1], "ab\n", 3), ==, 3);
  g_assert_cmpint (read (out[0], buffer, 2), ==, 2);
  g_assert_cmpint (read (third[0], buffer + 2, 2), ==, 1);
  g_assert_cmpint (read (marks[0], buffer + 3, 1), ==, 1);
  g_assert_cmpstr (buffer, ==, "abcy");
  ow_process_wait_async (process, NULL, keep_result, &result);
  wait_for (&result);
  g_assert_true (ow_process_wait_finish (process, result, NULL));
  g_assert_cmpint (ow_process_get_status (process), ==, 0);
  close (in[1]);
  close (out[0]);
  close (third[0]);
  close (marks[0]);
  close (marks[1]);
}

/* A child that has ended before anybody looks still has its pid and status. */
static void
test_quick (void)
{
  const char *argv[] = { "/bin/true", NULL };
  OwProcessOptions options = { .argv = argv };

  for (guint i = 0; i < 100; i++)
    {
      g_autoptr (OwProcess) process = ow_process_spawn (&options, NULL);
      g_autoptr (GAsyncResult) result = NULL;

      g_assert_nonnull (process);
      g_assert_cmpint (ow_process_get_pid (process), >, 1);
      ow_process_wait_async (process, NULL, keep_result, &result);
      wait_for (&result);
      g_assert_true (ow_process_wait_finish (process, result, NULL));
      g_assert_cmpint (ow_process_get_status (process), ==, 0);
    }
}

static gpointer
spawn_in_thread (gpointer data)
{
  const char *argv[] = { "/bin/true", NULL };
  OwProcessOptions options = { .argv = argv };

  return ow_process_spawn (&options, data);
}

/* --die-with-parent looks at the thread that spawned. */
static void
test_thread (void)
{
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("spawn", spawn_in_thread, &error);

  g_assert_null (g_thread_join (thread));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
}

/* Many sessions have more open files than a shell's limit, which what is started keeps. */
static void
test_files (void)
{
  struct rlimit limit;
  g_autofree char *output = NULL;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  limit.rlim_cur = 256;
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  ow_process_raise_files ();
  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &limit), ==, 0);
  g_assert_cmpuint (limit.rlim_cur, >=, MIN (limit.rlim_max, 65536));
  output = run_shell ("ulimit -S -n");
  g_assert_cmpstr (output, ==, "256\n");
}

/* What we ignore or block the child does not. */
static void
test_signals (void)
{
  g_autofree char *masks = NULL;
  sigset_t blocked;

  sigemptyset (&blocked);
  sigaddset (&blocked, SIGUSR1);
  sigprocmask (SIG_BLOCK, &blocked, NULL);
  signal (SIGINT, SIG_IGN);
  masks = run_shell ("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t\\n'");
  signal (SIGINT, SIG_DFL);
  sigprocmask (SIG_UNBLOCK, &blocked, NULL);
  g_assert_cmpstr (masks, ==, "SigBlk:0000000000000000SigIgn:0000000000000000");
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/process/run", test_run);
  g_test_add_func ("/process/surroundings", test_surroundings);
  g_test_add_func ("/process/cap", test_cap);
  g_test_add_func ("/process/deadline", test_deadline);
  g_test_add_func ("/process/cancel", test_cancel);
  g_test_add_func ("/process/background", test_background);
  g_test_add_func ("/process/dispose", test_dispose);
  g_test_add_func ("/process/stop", test_stop);
  g_test_add_func ("/process/refused", test_refused);
  g_test_add_func ("/process/handed", test_handed);
  g_test_add_func ("/process/quick", test_quick);
  g_test_add_func ("/process/thread", test_thread);
  g_test_add_func ("/process/signals", test_signals);
  g_test_add_func ("/process/files", test_files);
  g_test_add_func ("/process/H22/descriptors", test_descriptors);

  return g_test_run ();
}
