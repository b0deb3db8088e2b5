/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "fake-command.h"

static char *
ask_version (FakeCommand *fake,
             GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_version_async (fake->openshell, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_version_finish (fake->openshell, result, error);
}

static char *
version_of (const char *script,
            GError    **error)
{
  g_autoptr (FakeCommand) fake = fake_command_new (script);

  return ask_version (fake, error);
}

/* The caller compares exactly, so nothing of the text may get lost. */
static void
test_C06 (void)
{
  static const struct { const char *script; const char *version; } known[] = {
    { "echo 'openshell 0.0.116'", OW_OPENSHELL_VERSION },
    { "printf '\\033[1mopenshell\\033[0m 0.0.116\\r\\n'", OW_OPENSHELL_VERSION },
    { "echo 'openshell 0.0.116-dev+g1a2b'", "0.0.116-dev+g1a2b" },
    { "echo 'openshell 0.0.112-dev.7+g2f7fb6559'", "0.0.112-dev.7+g2f7fb6559" },
    { "echo 'openshell 0.0.1160'", "0.0.1160" },
    { "echo 'warning: old'; echo 'openshell 0.0.116'", OW_OPENSHELL_VERSION },
  };
  static const char * const none[] = {
    "", "exit 127", "exit 126", "exit 1", "echo 'openshell 0.0.116'; exit 127", "echo openshell",
    "echo 'openshell '", "echo 0.0.116", "echo 'other 0.0.116'", "echo 'openshell error'",
    "kill -9 $$", "printf 'openshell: not found' >&2; exit 127",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (known); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *version = version_of (known[i].script, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (version, ==, known[i].version);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (none); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (version_of (none[i], &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_NOT_INSTALLED);
    }
}

static void
test_C06_no_program (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("");
  g_autoptr (GError) gone = NULL;
  g_autoptr (GError) garbage = NULL;

  g_assert_cmpint (g_remove (fake->program), ==, 0);
  g_assert_null (ask_version (fake, &gone));
  g_assert_error (gone, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_NOT_INSTALLED);

  g_assert_true (g_file_set_contents (fake->program, "\177ELF garbage", -1, NULL));
  g_assert_cmpint (g_chmod (fake->program, 0755), ==, 0);
  g_assert_null (ask_version (fake, &garbage));
  g_assert_error (garbage, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_NOT_INSTALLED);
}

typedef struct {
  int      status;
  GBytes  *output;  /* (owned) (nullable) */
  GError  *error;   /* (owned) (nullable) */
  gboolean done;
} Exec;

static void
exec_clear (Exec *exec)
{
  g_clear_pointer (&exec->output, g_bytes_unref);
  g_clear_error (&exec->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Exec, exec_clear)

static void
run_exec (FakeCommand  *fake,
          const char   *name,
          guint         deadline_ms,
          GCancellable *cancellable,
          Exec         *exec)
{
  static const char * const command[] = { "/bin/true", "an argument", NULL };
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_exec_async (fake->openshell, name, command, deadline_ms, cancellable,
                           fake_command_keep, &result);
  fake_command_wait (&result);
  exec->done = ow_openshell_exec_finish (fake->openshell, result, &exec->status, &exec->output,
                                         &exec->error);
  g_assert_true (exec->done == (exec->error == NULL));
}

static gboolean
is_gone (const char *pid)
{
  gint64 end = g_get_monotonic_time () + fake_command_scaled (20) * G_USEC_PER_SEC;

  while (g_get_monotonic_time () < end)
    {
      g_autofree char *path = g_strdup_printf ("/proc/%s/stat", pid);
      g_autofree char *stat = NULL;

      if (!g_file_get_contents (path, &stat, NULL, NULL) || strstr (stat, ") Z ") != NULL)
        return TRUE;
      g_usleep (10000);
    }
  return FALSE;
}

static gboolean
cancel (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

/* A command that never answers is ended, all of it, and said to have given no answer. */
static void
test_A01 (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "sleep 1000 & echo $! >\"$FOLDER/pid\"; echo begun; wait");
  g_autofree char *pid = NULL;
  g_autoptr (GCancellable) too_late = g_cancellable_new ();
  g_auto (Exec) exec = { 0 };
  gint64 begun = g_get_monotonic_time ();
  guint timer = g_timeout_add (fake_command_scaled (30000), cancel, too_late);

  run_exec (fake, "ow-0123456789ab", 1000, too_late, &exec);
  g_assert_error (exec.error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_NO_ANSWER);
  g_assert_nonnull (strstr (exec.error->message, "no answer from openshell"));
  g_assert_cmpint (g_get_monotonic_time () - begun, <,
                   fake_command_scaled (30) * G_USEC_PER_SEC);
  g_source_remove (timer);
  pid = fake_command_read (fake, "pid");
  g_assert_true (is_gone (g_strchomp (pid)));
}

/* It reads its stdin to the end before it acts; ours is a pipe that nobody closes. */
static void
test_A01_stdin (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("cat >\"$FOLDER/stdin\"; echo done");
  g_autofree char *got = NULL;
  g_auto (Exec) exec = { 0 };
  int pipe_fds[2];
  int saved = dup (STDIN_FILENO);

  g_assert_cmpint (pipe (pipe_fds), ==, 0);
  g_assert_cmpint (dup2 (pipe_fds[0], STDIN_FILENO), ==, STDIN_FILENO);
  run_exec (fake, "ow-0123456789ab", fake_command_scaled (20000), NULL, &exec);
  g_assert_cmpint (dup2 (saved, STDIN_FILENO), ==, STDIN_FILENO);
  close (saved);
  close (pipe_fds[0]);
  close (pipe_fds[1]);

  g_assert_no_error (exec.error);
  got = fake_command_read (fake, "stdin");
  g_assert_cmpstr (got, ==, "");
}

static void
test_exec (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf '%s|' \"$@\" >\"$FOLDER/arguments\"; printf 'a\\0b'; echo err >&2; exit 7");
  g_autofree char *arguments = NULL;
  g_auto (Exec) exec = { 0 };

  run_exec (fake, "ow-0123456789ab", 5000, NULL, &exec);
  g_assert_no_error (exec.error);
  g_assert_cmpint (exec.status, ==, 7);
  g_assert_cmpmem (g_bytes_get_data (exec.output, NULL), g_bytes_get_size (exec.output), "a\0b", 3);
  arguments = fake_command_read (fake, "arguments");
  g_assert_cmpstr (arguments, ==, "sandbox|exec|-n|ow-0123456789ab|--no-tty|--timeout|5|--|"
                   "/bin/true|an argument|");
}

/* An exit status that is the relay's is no result of the command. */
static void
test_exec_relay (void)
{
  static const struct { const char *script; int fault; } cases[] = {
    { "printf \"Error:   × sandbox 'x' is not ready (phase: Error)\\n\\n\" >&2; exit 1",
      OW_OPENSHELL_FAULT_NOT_READY },
    { "echo begun; printf 'Error:   × code: %s, message: \"exec relay closed\\n"
      "  │ before the command reported an exit status\"\\n\\n' x >&2; exit 1",
      OW_OPENSHELL_FAULT_RELAY_CLOSED },
    { "echo err of the command >&2; printf 'Error:   × transport error\\n' >&2; exit 1",
      OW_OPENSHELL_FAULT_GATEWAY_DOWN },
    { "kill -9 $$", OW_OPENSHELL_FAULT_OTHER },
    { "sleep 1.1; exit 124", OW_OPENSHELL_FAULT_NO_ANSWER },
    { "exit 124", -1 }, { "exit 1", -1 }, { "echo 'Error: of the command' >&2; exit 1", -1 },
    { "exit 127", -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (cases[i].script);
      g_auto (Exec) exec = { 0 };

      run_exec (fake, "ow-0123456789ab", 1000, NULL, &exec);
      if (cases[i].fault >= 0)
        g_assert_error (exec.error, OW_OPENSHELL_ERROR, cases[i].fault);
      else
        g_assert_no_error (exec.error);
    }
}

static void
test_output_cap (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("head -c 5000000 /dev/zero");
  g_auto (Exec) exec = { 0 };

  run_exec (fake, "ow-0123456789ab", fake_command_scaled (20000), NULL, &exec);
  g_assert_no_error (exec.error);
  g_assert_cmpuint (g_bytes_get_size (exec.output), ==, 65536);
}

static void
test_cancelled (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("echo $$ >\"$FOLDER/pid\"; exec sleep 1000");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_auto (Exec) exec = { 0 };
  g_auto (Exec) before = { 0 };
  g_autofree char *pid = NULL;

  g_timeout_add (300, cancel, cancellable);
  run_exec (fake, "ow-0123456789ab", 100000, cancellable, &exec);
  g_assert_error (exec.error, OW_ERROR, OW_ERROR_INTERRUPTED);
  pid = fake_command_read (fake, "pid");
  g_assert_true (is_gone (g_strchomp (pid)));

  run_exec (fake, "ow-0123456789ab", 100000, cancellable, &before);
  g_assert_error (before.error, OW_ERROR, OW_ERROR_INTERRUPTED);
}

/* A name that is none reaches no command. */
static void
test_S13_exec (void)
{
  static const char * const names[] = { "", "-rf", "--all", "a b", "a/b", "a\nb", "A", "ä", "a.b",
                                        "a;b", "$(a)", "a-" };
  g_autoptr (FakeCommand) fake = fake_command_new ("echo run >\"$FOLDER/run\"");
  g_autofree char *run = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (Exec) exec = { 0 };

      run_exec (fake, names[i], 5000, NULL, &exec);
      g_assert_error (exec.error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
    }
  run = fake_command_read (fake, "run");
  g_assert_cmpstr (run, ==, "");
}

static void
test_streams (void)
{
  static const char * const command[] = { "/opt/x", "attach", NULL };
  g_autoptr (OwOpenshell) openshell = ow_openshell_new ("/usr/bin/openshell");
  g_auto (GStrv) stream = ow_openshell_stream_argv (openshell, "ow-1", command);
  g_auto (GStrv) once = ow_openshell_once_argv (openshell, "ow-1", command);
  g_autofree char *stream_line = g_strjoinv (" ", stream);
  g_autofree char *once_line = g_strjoinv (" ", once);

  g_assert_cmpstr (stream_line, ==,
                   "/usr/bin/openshell sandbox exec -n ow-1 --tty -- /opt/x attach");
  g_assert_cmpstr (once_line, ==,
                   "/usr/bin/openshell sandbox exec -n ow-1 --no-tty -- /opt/x attach");
}

static void
test_environment (void)
{
  g_autoptr (FakeCommand) fake = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *version = NULL;
  g_autofree char *got = NULL;

  g_setenv ("HTTPS_PROXY", "http://proxy.example:1", TRUE);
  g_setenv ("LD_PRELOAD_OF_TEST", "x", TRUE);
  g_setenv ("OPENSHELL_GATEWAY", "dev", TRUE);
  g_setenv ("LC_ALL", "de_DE.UTF-8", TRUE);
  fake = fake_command_new ("env >\"$FOLDER/env\"; echo openshell 0.0.116");
  version = ask_version (fake, &error);
  g_assert_no_error (error);
  got = fake_command_read (fake, "env");
  g_assert_nonnull (strstr (got, "OPENSHELL_GATEWAY=dev\n"));
  g_assert_nonnull (strstr (got, "LC_ALL=C.UTF-8\n"));
  g_assert_nonnull (strstr (got, "NO_COLOR=1\n"));
  g_assert_nonnull (strstr (got, "HOME=/"));
  g_assert_null (strstr (got, "HTTPS_PROXY"));
  g_assert_null (strstr (got, "LD_PRELOAD_OF_TEST"));
}

static void
test_find (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("");
  g_autofree char *path = g_strdup_printf ("relative:%s/none:%s", fake->folder, fake->folder);
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *here = g_get_current_dir ();
  g_autoptr (OwOpenshell) found = NULL;
  g_autoptr (GError) error = NULL;

  /* An entry that is no full path is passed over, also where the program would be there. */
  g_assert_cmpint (g_chdir (fake->folder), ==, 0);
  g_assert_cmpint (g_mkdir ("relative", 0700), ==, 0);
  g_assert_true (g_file_set_contents ("relative/openshell", "#!/bin/sh\n", -1, NULL));
  g_assert_cmpint (g_chmod ("relative/openshell", 0755), ==, 0);
  g_setenv ("PATH", path, TRUE);
  found = ow_openshell_find (&error);
  g_setenv ("PATH", before, TRUE);
  g_assert_cmpint (g_chdir (here), ==, 0);
  g_assert_no_error (error);
  g_assert_cmpstr (ow_openshell_get_program (found), ==, fake->program);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell/version/C06", test_C06);
  g_test_add_func ("/openshell/version/C06/no-program", test_C06_no_program);
  g_test_add_func ("/openshell/exec/A01", test_A01);
  g_test_add_func ("/openshell/exec/A01/stdin", test_A01_stdin);
  g_test_add_func ("/openshell/exec/plain", test_exec);
  g_test_add_func ("/openshell/exec/relay", test_exec_relay);
  g_test_add_func ("/openshell/exec/output-cap", test_output_cap);
  g_test_add_func ("/openshell/exec/cancelled", test_cancelled);
  g_test_add_func ("/openshell/exec/S13", test_S13_exec);
  g_test_add_func ("/openshell/exec/streams", test_streams);
  g_test_add_func ("/openshell/environment", test_environment);
  g_test_add_func ("/openshell/find", test_find);
  return g_test_run ();
}
