/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <signal.h>
#include <unistd.h>

#include <gio/gio.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "channel-fixture.h"
#include "patience.h"
#include "wire/ow-json.h"

/* The real runner behind a relay that has no live stream: a command of its own for each thing
 * that is said, as a shell that counts, that can be away, and that says which process it is. */
#define RELAY \
        "cd \"$0\" || exit 3; echo >>relays; echo $$ >>pids;" \
        "if test -e away; then echo 'the relay is away' >&2; exit 1; fi; exec \"$@\""

typedef struct {
  Fixture    base;
  char      *folder;
  char      *socket;
  OwProcess *serve;  /* (owned) */
} Once;

/* --- helpers --- */

static void
start_serve (Once *once)
{
  const char *argv[] = { RUNNER, "serve", "--socket", once->socket, "--folder", once->folder,
                         NULL };
  OwProcessOptions options = { .argv = argv, .stdout_pipe = TRUE };
  g_autoptr (GError) error = NULL;
  char ready[6];
  gsize length;

  once->serve = ow_process_spawn (&options, &error);
  g_assert_no_error (error);
  g_input_stream_read_all (ow_process_get_stdout (once->serve), ready, sizeof ready, &length,
                           NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (ready, length, "ready\n", 6);
}

static void
once_init_attach (Once                 *once,
                  const char           *behaviour,
                  const OwChannelTimes *times,
                  OwAttach              attach)
{
  const char *argv[] = { FAKE_RUNNER, NULL, behaviour, NULL };
  const char *once_argv[] = { "/bin/sh", "-c", RELAY, NULL, RUNNER, "attach", "--once",
                              "--socket", NULL, NULL };

  *once = (Once) { 0 };
  fixture_init (&once->base, "honest", NULL);
  once->folder = g_strdup (once->base.state_dir);
  once->socket = g_build_filename (once->folder, "socket", NULL);
  argv[1] = once->folder;
  once_argv[3] = once->folder;
  once_argv[8] = once->socket;
  attach.argv = (char **) argv;
  attach.once_argv = (char **) once_argv;
  fixture_replace_channel (&once->base, ow_channel_new (&attach, times != NULL ? times : &quick));
  start_serve (once);
}

static void
once_init (Once                 *once,
           const char           *behaviour,
           const OwChannelTimes *times,
           guint                 patience_ms)
{
  once_init_attach (once, behaviour, times, (OwAttach) { .patience_ms = patience_ms });
}

static void
once_clear (Once *once)
{
  ow_process_signal (once->serve, SIGCONT);
  g_object_unref (once->serve);
  fixture_clear (&once->base);
  g_free (once->folder);
  g_free (once->socket);
}

static void
start_tool (Once         *once,
            Call         *call,
            const char   *id,
            const char   *tool,
            json_t       *arguments,
            GCancellable *cancellable)
{
  *call = (Call) { .fixture = &once->base };
  ow_channel_call_async (once->base.channel, id, tool, arguments, fixture_on_output, &once->base,
                         cancellable, call_on_done, call);
  json_decref (arguments);
}

static void
start_command (Once         *once,
               Call         *call,
               const char   *id,
               const char   *command,
               GCancellable *cancellable)
{
  start_tool (once, call, id, "shell", json_pack ("{s:s}", "command", command), cancellable);
}

static void
run_command (Once       *once,
             Call       *call,
             const char *id,
             const char *command)
{
  start_command (once, call, id, command, NULL);
  patience_wait_until (&call->done, 1);
}

/* What a command wrote into the folder. (transfer full) "" when it wrote nothing */
static char *
made (Once *once)
{
  g_autofree char *path = g_build_filename (once->folder, "made", NULL);
  char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? text : g_strdup ("");
}

static void
wait_for (Once       *once,
          const char *name)
{
  gint64 end = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  while (counted (&once->base, name) == 0)
    {
      spin (20);
      g_assert_cmpint (g_get_monotonic_time (), <, end);
    }
}

static const OwChannelTimes patient = {
  .hello_ms = 1500, .silence_ms = 10000, .request_ms = 10000, .cancel_ms = 30000,
  .call_ms = 60000, .idle_ms = 60000,
};

/* --- tests --- */

static void
test_connect (void)
{
  Once once;
  Call call;

  once_init (&once, "no-hello", NULL, 0);
  connect_well (&once.base);
  g_assert_true (ow_channel_is_once (once.base.channel));
  g_assert_cmpuint (strlen (ow_channel_get_instance (once.base.channel)), ==, 32);
  run_command (&once, &call, "one", "X=5; echo hello");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_true (g_str_has_prefix (call.result->text, "hello\n[exit 0"));
  g_assert_cmpstr (once.base.output->str, ==, "stdout:hello\n;");
  call_clear (&call);
  /* It is one shell, however many commands of the relay's there were. */
  run_command (&once, &call, "two", "echo $X");
  g_assert_true (g_str_has_prefix (call.result->text, "5\n"));
  call_clear (&call);
  g_assert_cmpuint (counted (&once.base, "relays"), ==, 3);
  g_assert_cmpuint (counted (&once.base, "attaches"), ==, 1);
  once_clear (&once);
}

static void
test_not_needed (void)
{
  Once once;

  once_init (&once, "honest", NULL, 0);
  connect_well (&once.base);
  g_assert_false (ow_channel_is_once (once.base.channel));
  g_assert_cmpuint (counted (&once.base, "relays"), ==, 0);
  once_clear (&once);
}

/* A command that is quiet for longer than silence may last, and then speaks. */
static void
test_long_call (void)
{
  Once once;
  Call call;

  once_init (&once, "no-hello", NULL, 0);
  connect_well (&once.base);
  run_command (&once, &call, "one", "echo x >>made; echo a; sleep 3; echo b; sleep 1; echo c");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_true (g_str_has_prefix (call.result->text, "a\nb\nc\n[exit 0"));
  g_assert_cmpstr (once.base.output->str, ==, "stdout:a\n;stdout:b\n;stdout:c\n;");
  g_assert_cmpuint (once.base.n_lost, ==, 0);
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "x\n");
  call_clear (&call);
  once_clear (&once);
}

static void
test_cancel (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_command (&once, &call, "one", "echo begun; sleep 600", cancellable);
  while (once.base.output->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_cancellable_cancel (cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  /* The runner's own answer, not that there was none. */
  g_assert_true (g_str_has_prefix (call.result->text, "begun\n"));
  call_clear (&call);
  run_command (&once, &call, "two", "echo on");
  assert_outcome (&call, OW_OUTCOME_OK);
  call_clear (&call);
  once_clear (&once);
}

/* Stopped in the same moment: whatever the two meet as, what is said of it is true. */
static void
test_cancel_at_once (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char *text = NULL;
  gboolean ran;
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_command (&once, &call, "one", "echo x >>made; sleep 600", cancellable);
  g_cancellable_cancel (cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  ran = !g_str_equal (call.result->text, "Stopped before it ran.");
  call_clear (&call);
  run_command (&once, &call, "two", "echo y >>made");
  assert_outcome (&call, OW_OUTCOME_OK);
  call_clear (&call);
  text = made (&once);
  g_assert_true (g_str_equal (text, "y\n") || (ran && g_str_equal (text, "x\ny\n")));
  once_clear (&once);
}

static void
test_several_calls (void)
{
  json_t *list = json_pack ("{s:s}", "path", ".");
  Once once;
  Call slow;
  Call quick_call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_command (&once, &slow, "slow", "echo x >>made; echo begun; sleep 2; echo done", NULL);
  while (once.base.output->len == 0)
    g_main_context_iteration (NULL, TRUE);
  start_tool (&once, &quick_call, "quick", "list", list, NULL);
  patience_wait_until (&quick_call.done, 1);
  assert_outcome (&quick_call, OW_OUTCOME_OK);
  g_assert_cmpuint (slow.done, ==, 0);
  patience_wait_until (&slow.done, 1);
  assert_outcome (&slow, OW_OUTCOME_OK);
  g_assert_true (g_str_has_prefix (slow.result->text, "begun\ndone\n[exit 0"));
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "x\n");
  call_clear (&slow);
  call_clear (&quick_call);
  once_clear (&once);
}

static json_t *
writing (gsize length)
{
  g_autofree char *content = g_strnfill (length, 'x');

  return json_pack ("{s:s, s:s}", "path", "made", "content", content);
}

static void
test_too_large (gconstpointer data)
{
  gsize limit = GPOINTER_TO_SIZE (data);
  gsize max = limit > 0 ? limit : 4 * 1024 * 1024;
  g_autofree char *says = g_strdup_printf ("larger than the %" G_GSIZE_FORMAT " KiB", max / 1024);
  Once once;
  Call call;

  once_init_attach (&once, "no-hello", &patient, (OwAttach) { .once_bytes = limit });
  connect_well (&once.base);
  start_tool (&once, &call, "one", "write", writing (max - 512), NULL);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_FAILED);
  g_assert_nonnull (strstr (call.result->text, says));
  call_clear (&call);
  g_assert_cmpuint (counted (&once.base, "made"), ==, 0);
  start_tool (&once, &call, "two", "write", writing (max - 4096), NULL);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_OK);
  call_clear (&call);
  g_assert_cmpuint (counted (&once.base, "made"), ==, max - 4096);
  g_assert_cmpuint (once.base.n_lost, ==, 0);
  once_clear (&once);
}

/* Two that fit one command each and not one together. */
static void
test_too_large_together (void)
{
  Once once;
  Call calls[2];

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_tool (&once, &calls[0], "one", "write", writing (3 * 1024 * 1024), NULL);
  start_tool (&once, &calls[1], "two", "write", writing (2 * 1024 * 1024), NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      patience_wait_until (&calls[i].done, 1);
      assert_outcome (&calls[i], OW_OUTCOME_OK);
      call_clear (&calls[i]);
    }
  g_assert_cmpuint (once.base.n_lost, ==, 0);
  once_clear (&once);
}

/* --- P13: what breaks --- */

static void
kill_last_relay (Once *once)
{
  g_autofree char *path = g_build_filename (once->folder, "pids", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) pids = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  pids = g_strsplit (g_strstrip (text), "\n", -1);
  kill ((pid_t) g_ascii_strtoll (pids[g_strv_length (pids) - 1], NULL, 10), SIGKILL);
}

static void
test_relay_killed (void)
{
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_command (&once, &call, "one", "echo x >>made; sleep 2; echo done", NULL);
  wait_for (&once, "made");
  kill_last_relay (&once);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_true (g_str_has_prefix (call.result->text, "done\n[exit 0"));
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "x\n");
  g_assert_cmpuint (once.base.n_lost, ==, 0);
  call_clear (&call);
  once_clear (&once);
}

static void
test_relay_away (void)
{
  g_autofree char *away = NULL;
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 60000);
  connect_well (&once.base);
  start_command (&once, &call, "one", "echo x >>made; sleep 1; echo done", NULL);
  wait_for (&once, "made");
  away = g_build_filename (once.folder, "away", NULL);
  g_assert_true (g_file_set_contents (away, "", 0, NULL));
  kill_last_relay (&once);
  spin (3000);
  g_assert_cmpuint (call.done, ==, 0);
  g_assert_nonnull (strstr (ow_channel_get_complaint (once.base.channel), "is away"));
  g_assert_cmpint (unlink (away), ==, 0);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_OK);
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "x\n");
  call_clear (&call);
  once_clear (&once);
}

/* One that no relay has carried yet is as new when the way is there again. */
static void
test_relay_killed_before (void)
{
  Once once;
  Call calls[2];

  once_init (&once, "no-hello", &patient, 60000);
  connect_well (&once.base);
  start_command (&once, &calls[0], "one", "echo x >>made; sleep 600", NULL);
  wait_for (&once, "made");
  kill_last_relay (&once);
  start_tool (&once, &calls[1], "three", "list", json_pack ("{s:s}", "path", "."), NULL);
  patience_wait_until (&calls[1].done, 1);
  assert_outcome (&calls[1], OW_OUTCOME_OK);
  g_assert_cmpuint (calls[0].done, ==, 0);
  g_assert_cmpuint (once.base.n_lost, ==, 0);
  ow_channel_close (once.base.channel);
  patience_wait_until (&calls[0].done, 1);
  call_clear (&calls[0]);
  call_clear (&calls[1]);
  once_clear (&once);
}

static void
restart_serve (Once *once)
{
  ow_process_signal (once->serve, SIGKILL);
  g_object_unref (once->serve);
  spin (300);
  start_serve (once);
}

static void
test_runner_restarted (void)
{
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  start_command (&once, &call, "one", "echo x >>made; sleep 600", NULL);
  wait_for (&once, "made");
  restart_serve (&once);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_true (call.result->state_lost);
  g_assert_cmpuint (once.base.n_lost, ==, 1);
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "x\n");
  call_clear (&call);
  once_clear (&once);
}

/* What is meant for one runner is not done by the one in its place, whose shell has neither its
 * directory nor its variables. */
static void
test_runner_restarted_before (void)
{
  Once once;
  Call call;

  once_init (&once, "no-hello", &patient, 0);
  connect_well (&once.base);
  restart_serve (&once);
  run_command (&once, &call, "one", "echo x >>made");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_nonnull (strstr (once.base.lost, "another one is in its place"));
  spin (300);
  g_autofree char *text = made (&once);
  g_assert_cmpstr (text, ==, "");
  call_clear (&call);
  once_clear (&once);
}

/* A sandbox that is paused takes connections and never answers. */
static void
test_P04_runner_hangs (void)
{
  OwChannelTimes times = quick;
  Once once;
  Call call;

  times.hello_ms = 300;
  once_init (&once, "no-hello", &times, 0);
  connect_well (&once.base);
  ow_process_signal (once.serve, SIGSTOP);
  run_command (&once, &call, "one", "echo x >>made");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_cmpuint (once.base.n_lost, ==, 1);
  g_assert_nonnull (strstr (once.base.lost, "could not be reached again"));
  call_clear (&call);
  once_clear (&once);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/channel-once/connect", test_connect);
  g_test_add_func ("/channel-once/not-needed", test_not_needed);
  g_test_add_func ("/channel-once/long-call", test_long_call);
  g_test_add_func ("/channel-once/cancel", test_cancel);
  g_test_add_func ("/channel-once/cancel-at-once", test_cancel_at_once);
  g_test_add_func ("/channel-once/several-calls", test_several_calls);
  g_test_add_data_func ("/channel-once/too-large", NULL, test_too_large);
  g_test_add_data_func ("/channel-once/too-large-for-relay", GSIZE_TO_POINTER (1000000),
                        test_too_large);
  g_test_add_func ("/channel-once/too-large-together", test_too_large_together);
  g_test_add_func ("/channel-once/P13/relay-killed", test_relay_killed);
  g_test_add_func ("/channel-once/P13/relay-away", test_relay_away);
  g_test_add_func ("/channel-once/P13/relay-killed-before", test_relay_killed_before);
  g_test_add_func ("/channel-once/P13/runner-restarted", test_runner_restarted);
  g_test_add_func ("/channel-once/P13/runner-restarted-before", test_runner_restarted_before);
  g_test_add_func ("/channel-once/P04/runner-hangs", test_P04_runner_hangs);
  return g_test_run ();
}
