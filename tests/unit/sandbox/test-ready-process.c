/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <gio/gio.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "ow-bubblewrap-provider-private.h"
#include "ow-direct-provider-private.h"
#include "ow-ready-process-private.h"

typedef struct {
  gboolean  done;
  gboolean  ended;
  GString  *lines;
  GError   *error;
} Seen;

static void
on_ready (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  Seen *seen = user_data;

  ow_ready_process_wait_finish (OW_READY_PROCESS (object), result, &seen->error);
  seen->done = TRUE;
}

static void
on_line (OwReadyProcess *self,
         const char     *line,
         Seen           *seen)
{
  g_string_append_printf (seen->lines, "%s;", line);
}

static void
on_ended (OwReadyProcess *self,
          const char     *reason,
          Seen           *seen)
{
  g_assert_false (seen->ended); /* once */
  seen->ended = TRUE;
}

static gboolean
on_tick (gpointer user_data)
{
  return G_SOURCE_CONTINUE;
}

static void
run_until (const gboolean *flag)
{
  gint64 end = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  guint tick = g_timeout_add (20, on_tick, NULL);

  while (!*flag && g_get_monotonic_time () < end)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (tick);
  g_assert_true (*flag);
}

static OwReadyProcess *
start (const char *script,
       Seen       *seen)
{
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  OwProcessOptions options = { .argv = argv, .stdout_pipe = TRUE, .stderr_pipe = TRUE };
  g_autoptr (GError) error = NULL;
  OwProcess *process = ow_process_spawn (&options, &error);
  OwReadyProcess *self;

  g_assert_no_error (error);
  self = ow_ready_process_new (process, "child");
  memset (seen, 0, sizeof *seen);
  seen->lines = g_string_new (NULL);
  g_signal_connect (self, "line", G_CALLBACK (on_line), seen);
  g_signal_connect (self, "ended", G_CALLBACK (on_ended), seen);
  return self;
}

static void
finish (OwReadyProcess *self,
        Seen           *seen)
{
  g_signal_handlers_disconnect_by_data (self, seen);
  g_object_unref (self);
  g_string_free (seen->lines, TRUE);
  g_clear_error (&seen->error);
}

static void
test_ready (void)
{
  Seen seen;
  OwReadyProcess *self = start ("echo ready; echo one; printf 'two\\r\\n\\nthree'; echo; exit 3", &seen);

  ow_ready_process_wait_async (self, 50000, NULL, on_ready, &seen);
  run_until (&seen.done);
  g_assert_no_error (seen.error);
  run_until (&seen.ended);
  g_assert_cmpstr (seen.lines->str, ==, "one;two;three;");
  g_assert_true (ow_ready_process_is_over (self));
  finish (self, &seen);
}

static const struct {
  const char *script;
  int         kind;
  const char *text;
} failures[] = {
  { "echo hello; sleep 100", OW_ERROR_DATA, "something else" },
  { "echo ' ready'; sleep 100", OW_ERROR_DATA, "something else" },
  { "exit 7", OW_ERROR_FAILED, "status 7" },
  { "echo why not >&2; exit 1", OW_ERROR_FAILED, "why not" },
  { "kill -9 $$", OW_ERROR_FAILED, "signal 9" },
  { "printf '\\033[31mred\\033[0m\\377' >&2; exit 1", OW_ERROR_FAILED, "red" },
  { "head -c 200000 /dev/zero | tr '\\0' a; sleep 100", OW_ERROR_DATA, "" },
  /* A descendant that keeps the streams open does not hide the end. */
  { "sleep 100 & exit 5", OW_ERROR_FAILED, "status 5" },
};

static void
test_failures (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (failures); i++)
    {
      Seen seen;
      OwReadyProcess *self = start (failures[i].script, &seen);

      ow_ready_process_wait_async (self, 50000, NULL, on_ready, &seen);
      run_until (&seen.done);
      g_assert_error (seen.error, OW_ERROR, failures[i].kind);
      g_assert_nonnull (strstr (seen.error->message, failures[i].text));
      g_assert_null (strchr (seen.error->message, '\033'));
      g_assert_true (g_utf8_validate (seen.error->message, -1, NULL));
      finish (self, &seen);
    }
}

static void
test_deadline (void)
{
  Seen seen;
  OwReadyProcess *self = start ("sleep 100", &seen);
  GPid pid = ow_process_get_pid (ow_ready_process_get_process (self));

  ow_ready_process_wait_async (self, 50, NULL, on_ready, &seen);
  run_until (&seen.done);
  g_assert_error (seen.error, OW_ERROR, OW_ERROR_TIMED_OUT);
  finish (self, &seen);
  /* Dropping it ends the child. */
  for (int i = 0; i < 2000 && ow_owner_process_start (pid) != 0; i++)
    g_usleep (5000);
  g_assert_cmpuint (ow_owner_process_start (pid), ==, 0);
}

static void
test_cancelled (void)
{
  for (int before = 0; before < 2; before++)
    {
      Seen seen;
      OwReadyProcess *self = start ("sleep 100", &seen);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();

      if (before)
        g_cancellable_cancel (cancellable);
      ow_ready_process_wait_async (self, 50000, cancellable, on_ready, &seen);
      g_cancellable_cancel (cancellable);
      run_until (&seen.done);
      g_assert_error (seen.error, OW_ERROR, OW_ERROR_INTERRUPTED);
      finish (self, &seen);
    }
}

/* Megabytes of complaints neither block the child nor fill our memory. */
static void
test_flood (void)
{
  Seen seen;
  OwReadyProcess *self = start ("head -c 20000000 /dev/zero | tr '\\0' e >&2; echo ready; exit 0",
                                &seen);
  g_autofree char *errors = NULL;

  ow_ready_process_wait_async (self, 50000, NULL, on_ready, &seen);
  run_until (&seen.done);
  g_assert_no_error (seen.error);
  errors = ow_ready_process_get_errors (self);
  g_assert_cmpuint (strlen (errors), <=, 8192);
  g_assert_cmpuint (strlen (errors), >, 1000);
  finish (self, &seen);
}

static void
on_checked (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  Seen *seen = user_data;

  ow_sandbox_provider_check_finish (OW_SANDBOX_PROVIDER (object), result, &seen->error);
  seen->done = TRUE;
}

static void
check_refused (OwSandboxProvider *provider,
               const char        *words)
{
  Seen seen = { 0 };

  ow_sandbox_provider_check_async (provider, NULL, on_checked, &seen);
  run_until (&seen.done);
  g_assert_error (seen.error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_true (g_str_has_prefix (seen.error->message, "Sessions on this machine are refused: "));
  g_assert_nonnull (strstr (seen.error->message, words));
  g_clear_error (&seen.error);
  g_object_unref (provider);
}

static void
write_program (const char *dir,
               const char *name,
               const char *text)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);

  g_assert_true (g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
}

static void
test_providers (void)
{
  /* Not below /tmp, which is covered for what root starts as another account. */
  char dir[] = "/var/tmp/ow-provider-XXXXXX";
  g_autofree char *bwrap = NULL;
  g_autofree char *runner = NULL;
  g_autofree char *proxy = NULL;

  g_assert_nonnull (mkdtemp (dir));
  bwrap = g_build_filename (dir, "bwrap", NULL);
  runner = g_build_filename (dir, "openworker-runner", NULL);
  proxy = g_build_filename (dir, "openworker-proxy", NULL);
  g_setenv ("OPENWORKER_LIBEXEC", dir, TRUE);
  check_refused (OW_SANDBOX_PROVIDER (ow_direct_provider_new ()), "openworker-runner");
  check_refused (OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new_with (bwrap)),
                 "sudo apt install bubblewrap");
  write_program (dir, "bwrap", "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n");
  check_refused (OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new_with (bwrap)),
                 "openworker-runner");
  write_program (dir, "openworker-runner", "#!/bin/sh\n");
  check_refused (OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new_with (bwrap)),
                 "openworker-proxy");
  write_program (dir, "openworker-proxy", "#!/bin/sh\n");
  /* To root no switch of the machine is the cause: bwrap's own words are passed on. */
  check_refused (OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new_with (bwrap)),
                 geteuid () == 0 ? "setting up uid map" : ". ");
  write_program (dir, "bwrap", "no program");
  check_refused (OW_SANDBOX_PROVIDER (ow_bubblewrap_provider_new_with (bwrap)), ". ");
  g_assert_cmpint (unlink (bwrap), ==, 0);
  g_assert_cmpint (unlink (runner), ==, 0);
  g_assert_cmpint (unlink (proxy), ==, 0);
  g_assert_cmpint (rmdir (dir), ==, 0);
}

static void
test_kinds (void)
{
  g_autoptr (GError) error = NULL;
  OwSandboxProvider *provider = ow_sandbox_provider_for_kind (OW_PROVIDER_BUBBLEWRAP, &error);

  g_assert_no_error (error);
  g_assert_cmpint (ow_sandbox_provider_get_level (provider), ==, OW_LEVEL_BUBBLEWRAP);
  g_object_unref (provider);
  provider = ow_sandbox_provider_for_kind (OW_PROVIDER_DIRECT, &error);
  g_assert_no_error (error);
  g_assert_cmpint (ow_sandbox_provider_get_level (provider), ==, OW_LEVEL_DIRECT);
  g_object_unref (provider);
  provider = ow_sandbox_provider_for_kind (OW_PROVIDER_OPENSHELL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (ow_sandbox_provider_get_level (provider), ==, OW_LEVEL_OPENSHELL);
  g_object_unref (provider);
  g_assert_null (ow_sandbox_provider_for_kind (OW_PROVIDER_UNSET, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ready-process/ready", test_ready);
  g_test_add_func ("/ready-process/failures", test_failures);
  g_test_add_func ("/ready-process/deadline", test_deadline);
  g_test_add_func ("/ready-process/cancelled", test_cancelled);
  g_test_add_func ("/ready-process/flood", test_flood);
  g_test_add_func ("/provider/refused", test_providers);
  g_test_add_func ("/provider/kinds", test_kinds);
  return g_test_run ();
}
