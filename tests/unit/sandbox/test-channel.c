/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-error.h"
#include "channel-fixture.h"
#include "patience.h"
#include "wire/ow-mcp.h"

/* --- connecting --- */

static void
test_connect (gconstpointer data)
{
  const char *behaviour = data;
  Fixture fixture;
  Call call;

  fixture_init (&fixture, behaviour, NULL);
  g_assert_null (ow_channel_get_instance (fixture.channel));
  connect_well (&fixture);
  g_assert_cmpstr (ow_channel_get_instance (fixture.channel), ==,
                   "0123456789abcdef0123456789abcdef");
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, "one");
  g_assert_cmpint (call.result->exit_status, ==, 7);
  g_assert_cmpint (call.result->signal, ==, 0);
  g_assert_false (call.result->state_lost);
  g_assert_cmpuint (call.result->bytes, ==, 4 + 3);
  g_assert_cmpmem (fixture.output->str, fixture.output->len,
                   "stdout:out ;stderr:\xff\x00\xfe;", 12 + 11);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

typedef struct {
  const char *behaviour;
  OwErrorKind kind;
  const char *says;
} Refusal;

static const Refusal refusals[] = {
  { "exit", OW_ERROR_FAILED, "before it said hello" },
  { "no-hello", OW_ERROR_TIMED_OUT, "hello in time" },
  { "deaf", OW_ERROR_TIMED_OUT, "initialize in time" },
  { "version", OW_ERROR_REFUSED, "it is version 9.9.9" },
  { "initialize", OW_ERROR_REFUSED, "does not agree with its hello" },
  { "instance", OW_ERROR_REFUSED, "names no instance" },
  { "complain", OW_ERROR_FAILED, "before it said hello: the relay is away" },
  { "complain-stdout", OW_ERROR_FAILED, "before it said hello: the relay is away" },
  { "tty/exit", OW_ERROR_FAILED, "before it said hello" },
  { "tty/no-hello", OW_ERROR_TIMED_OUT, "hello in time" },
  { "tty/complain", OW_ERROR_FAILED, "before it said hello: the relay is away" },
};

static void
test_refused (gconstpointer data)
{
  const Refusal *refusal = data;
  g_autoptr (GError) error = NULL;
  Fixture fixture;
  Call call;

  fixture_init (&fixture, refusal->behaviour, NULL);
  error = try_connect (&fixture);
  g_assert_error (error, OW_ERROR, (gint) refusal->kind);
  g_assert_nonnull (strstr (error->message, refusal->says));
  g_assert_null (strchr (error->message, '\033'));
  g_assert_true ((strstr (refusal->says, "away") != NULL)
                 == (strstr (ow_channel_get_complaint (fixture.channel), "away") != NULL));
  /* What was refused is of no use afterwards, and says so without running anything. */
  run_call (&fixture, &call, "one");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 0);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_no_program (void)
{
  const char *argv[] = { "/nonexistent/attach", NULL };
  OwAttach attach = { .argv = (char **) argv };
  g_autoptr (GError) error = NULL;
  Fixture fixture;

  fixture_init (&fixture, "honest", NULL);
  g_object_unref (fixture.channel);
  fixture.channel = ow_channel_new (&attach, NULL);
  error = try_connect (&fixture);
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "/nonexistent/attach"));
  fixture_clear (&fixture);
}

/* --- P03: the runner lies --- */

static const char * const few_lies[] = { "garbage-few", "unknown-few", "output-lies" };

static void
test_few_lies (gconstpointer data)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, "one");
  /* What broke the protocol was not passed on. */
  g_assert_cmpmem (fixture.output->str, fixture.output->len,
                   "stdout:out ;stderr:\xff\x00\xfe;", 12 + 11);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

static const char * const many_lies[] = {
  "garbage", "unknown-reply", "output-flood", "hello-again",
};

static void
test_untrusted (gconstpointer data)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_true (call.result->state_lost);
  g_assert_cmpint (call.result->exit_status, ==, -1);
  g_assert_cmpuint (fixture.n_lost, ==, 1);
  g_assert_nonnull (strstr (fixture.lost, "not trusted"));
  call_clear (&call);

  run_call (&fixture, &call, "two");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_two_replies (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "two-replies", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  /* The first one counts, and the others are counted. */
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, "one");
  patience_wait_until (&fixture.n_lost, 1);
  g_assert_nonnull (strstr (fixture.lost, "not trusted"));
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_claims (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "lies", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  /* Nobody asked to stop it: "cancelled" is no excuse and no success. */
  assert_outcome (&call, OW_OUTCOME_FAILED);
  g_assert_cmpint (call.result->exit_status, ==, -1);
  g_assert_cmpint (call.result->signal, ==, 0);
  g_assert_cmpstr (ow_json_get_string (call.result->structured, "path", ""), ==,
                   "/etc/shadow");
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_no_result (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "no-result", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_refused_call (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "refuse", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_FAILED);
  g_assert_cmpstr (call.result->text, ==, "no such tool");
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_huge (gconstpointer data)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpuint (strlen (call.result->text), <=, 1024 * 1024);
  g_assert_cmpuint (strlen (call.result->text), >, 1024 * 1024 - 256);
  g_assert_true (g_utf8_validate (call.result->text, -1, NULL));
  g_assert_true (g_str_has_suffix (call.result->text, "cut off here]"));
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_long_line (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "long-line", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  patience_wait_until (&fixture.n_lost, 1);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_bad_calls (void)
{
  static const char * const ids[] = { "", "a b", "ä", "../x", "a\nb" };
  g_autofree char *longest = g_strnfill (64, 'x');
  g_autofree char *too_long = g_strnfill (65, 'x');
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "honest", NULL);
  connect_well (&fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      run_call (&fixture, &call, ids[i]);
      g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
      call_clear (&call);
    }
  run_call (&fixture, &call, too_long);
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  call_clear (&call);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 0);

  run_call (&fixture, &call, longest);
  assert_outcome (&call, OW_OUTCOME_OK);
  call_clear (&call);
  /* An id that was used is not used again. */
  run_call (&fixture, &call, longest);
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  call_clear (&call);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  fixture_clear (&fixture);
}

/* --- stopping --- */

static void
test_cancel (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  OwChannelTimes patient = quick;
  Fixture fixture;
  Call call;

  patient.cancel_ms = 20000;
  fixture_init (&fixture, "cancel", &patient);
  connect_well (&fixture);
  start_call (&fixture, &call, "one", "shell", cancellable);
  while (fixture.output->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_cancellable_cancel (cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  g_assert_false (call.result->state_lost);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_cancel_before (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "honest", NULL);
  connect_well (&fixture);
  g_cancellable_cancel (cancellable);
  start_call (&fixture, &call, "one", "shell", cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  g_assert_false (call.result->state_lost);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_reply_after_cancel (gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  start_call (&fixture, &call, "one", "shell", cancellable);
  while (fixture.output->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_cancellable_cancel (cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  g_assert_true (call.result->state_lost);
  /* The reply that comes now changes nothing and is nobody's fault. */
  spin (700);
  g_assert_cmpuint (call.done, ==, 1);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_deadline (void)
{
  OwChannelTimes hasty = quick;
  Fixture fixture;
  Call call;

  hasty.call_ms = 200;
  fixture_init (&fixture, "never", &hasty);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_true (call.result->state_lost);
  call_clear (&call);
  fixture_clear (&fixture);
}

/* --- P13, P02: the stream breaks --- */

static void
test_break_joined (gconstpointer data)
{
  gboolean kept = g_str_has_suffix (data, "break-finished");
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, kept ? "kept" : "one");
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 2);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  /* Output that comes before the new link is initialized belongs to the call too. */
  g_assert_true (g_str_has_suffix (data, "break-early")
                 == (strstr (fixture.output->str, "stdout:early;") != NULL));
  call_clear (&call);
  /* The new link is as good as the old one. */
  run_call (&fixture, &call, "two");
  assert_outcome (&call, OW_OUTCOME_OK);
  call_clear (&call);
  fixture_clear (&fixture);
}

static const char * const terminal_breaks[] = {
  "tty/break-running", "tty/break-finished", "tty/break-hangup",
};

typedef struct {
  const char *behaviour;
  const char *says;
} Loss;

static const Loss losses[] = {
  { "break-other", "another one is in its place" },
  { "break-always", "could not be reached again" },
  { "break-mute", "could not be reached again" },
};

static void
test_break_lost (gconstpointer data)
{
  const Loss *loss = data;
  OwChannelTimes times = quick;
  Fixture fixture;
  Call call;

  times.hello_ms = 500;
  fixture_init (&fixture, loss->behaviour, &times);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_true (call.result->state_lost);
  patience_wait_until (&fixture.n_lost, 1);
  g_assert_nonnull (strstr (fixture.lost, loss->says));
  g_assert_nonnull (strstr (call.result->text, "not known"));
  /* What another instance says of the call is not passed on. */
  g_assert_null (strstr (fixture.output->str, "early"));
  /* Never repeated, and bounded. */
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (counted (&fixture, "attaches"), <=, 7);
  spin (100);
  g_assert_cmpuint (fixture.n_lost, ==, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

static const Loss answers[] = {
  { "break-unknown", "never got it" },
  { "break-forgotten", "no longer keeps it" },
  { "break-nonsense", "no tool result" },
};

/* The runner is the same one: what it cannot say of a call ends that call, and no other. */
static void
test_break_unanswered (gconstpointer data)
{
  const Loss *answer = data;
  Fixture fixture;
  Call call;

  fixture_init (&fixture, answer->behaviour, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_false (call.result->state_lost);
  g_assert_cmpint (call.result->exit_status, ==, -1);
  g_assert_nonnull (strstr (call.result->text, answer->says));
  call_clear (&call);
  /* An id that has ended is not one of a new call, whatever was run of it. */
  run_call (&fixture, &call, "one");
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  call_clear (&call);
  run_call (&fixture, &call, "two");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, "two");
  call_clear (&call);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 2);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  fixture_clear (&fixture);
}

/* A new link that takes the question and says nothing is given up like one that broke. */
static void
test_break_deaf (void)
{
  OwChannelTimes times = quick;
  Fixture fixture;
  Call call;

  times.silence_ms = 60000;
  times.request_ms = 300;
  fixture_init (&fixture, "break-deaf", &times);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 3);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  call_clear (&call);
  fixture_clear (&fixture);
}

/* A stop during the break is the person's, whatever the runner knows of the call. */
static void
test_break_stopped (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  OwChannelTimes times = quick;
  Fixture fixture;
  Call call;

  times.cancel_ms = 20000;
  fixture_init (&fixture, "break-unknown", &times);
  connect_well (&fixture);
  start_call (&fixture, &call, "one", "shell", cancellable);
  /* It has run, and the answer is on its way that never comes. */
  while (counted (&fixture, "attaches") < 2)
    spin (1);
  g_cancellable_cancel (cancellable);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_CANCELLED);
  g_assert_nonnull (strstr (call.result->text, "never got it"));
  call_clear (&call);
  fixture_clear (&fixture);
}

/* --- a way that stays broken for a while --- */

static void
on_unreached (OwChannel  *channel,
              const char *complaint,
              gpointer    user_data)
{
  guint *count = user_data;

  g_assert_nonnull (strstr (complaint, "the relay is away"));
  ++*count;
}

static void
test_patience (gconstpointer data)
{
  OwAttach attach = { .patience_ms = 60000 };
  guint unreached = 0;
  Fixture fixture;
  Call call;

  fixture_init_attach (&fixture, data, NULL, attach);
  g_signal_connect (fixture.channel, "unreached", G_CALLBACK (on_unreached), &unreached);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 8);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  g_assert_cmpuint (unreached, ==, 6);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_no_patience (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "break-away", NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 7);
  g_assert_nonnull (strstr (fixture.lost, "the relay is away"));
  g_assert_null (strchr (fixture.lost, '\033'));
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_silence (gconstpointer data)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, data, NULL);
  connect_well (&fixture);
  run_call (&fixture, &call, "one");
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 2);
  g_assert_cmpuint (counted (&fixture, "runs"), ==, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

/* A call that is made while another link is waited for goes over the one that stays: on the other
 * it would be thrown away. */
static void
test_silence_meanwhile (void)
{
  OwChannelTimes times = quick;
  Fixture fixture;
  Call one;
  Call two;

  times.hello_ms = 5000;
  fixture_init (&fixture, "silence-late", &times);
  connect_well (&fixture);
  start_call (&fixture, &one, "one", "shell", NULL);
  while (counted (&fixture, "attaches") < 2)
    spin (1);
  start_call (&fixture, &two, "two", "shell", NULL);
  patience_wait_until (&one.done, 1);
  patience_wait_until (&two.done, 1);
  assert_outcome (&one, OW_OUTCOME_OK);
  assert_outcome (&two, OW_OUTCOME_OK);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 2);
  call_clear (&one);
  call_clear (&two);
  fixture_clear (&fixture);
}

/* A runner that answers pings is alive, however long its command says nothing. */
static void
test_quiet_command (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "never", NULL);
  connect_well (&fixture);
  start_call (&fixture, &call, "one", "exec", NULL);
  spin (2500);
  g_assert_cmpuint (call.done, ==, 0);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 1);
  ow_channel_close (fixture.channel);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_INTERRUPTED);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_give_up (void)
{
  Fixture fixture;
  Call calls[3];

  fixture_init (&fixture, "never", NULL);
  connect_well (&fixture);
  start_call (&fixture, &calls[0], "one", "shell", NULL);
  start_call (&fixture, &calls[1], "two", "shell", NULL);
  start_call (&fixture, &calls[2], "three", "shell", NULL);
  spin (50);
  ow_channel_give_up (fixture.channel, "the wall has ended");
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      patience_wait_until (&calls[i].done, 1);
      assert_outcome (&calls[i], OW_OUTCOME_INTERRUPTED);
      g_assert_nonnull (strstr (calls[i].result->text, "the wall has ended"));
      call_clear (&calls[i]);
    }
  g_assert_cmpuint (fixture.n_lost, ==, 1);
  g_assert_cmpstr (fixture.lost, ==, "the wall has ended");
  fixture_clear (&fixture);
}

/* --- a terminal --- */

static const OwChannelTimes unhurried = { 0 };

static void
test_large_argument (gconstpointer data)
{
  g_autofree char *text = g_malloc (4000001);
  g_autofree char *expected = NULL;
  json_t *arguments;
  guint hash = 0;
  Fixture fixture;
  Call call;

  /* All that a terminal could take as meant for itself, as far as JSON leaves it in. */
  for (guint i = 0; i < 4000000; i++)
    {
      text[i] = (char) (0x7f - i % 0x60);
      hash = hash * 31 + (guchar) text[i];
    }
  text[4000000] = '\0';
  expected = g_strdup_printf ("4000000 %08x", hash);
  arguments = json_pack ("{s:s}", "command", text);
  /* Megabytes take their time on a machine under load: none of the short deadlines here. */
  fixture_init (&fixture, data, &unhurried);
  connect_well (&fixture);
  call = (Call) { .fixture = &fixture };
  ow_channel_call_async (fixture.channel, "one", "shell", arguments, fixture_on_output, &fixture, NULL,
                         call_on_done, &call);
  json_decref (arguments);
  patience_wait_until (&call.done, 1);
  assert_outcome (&call, OW_OUTCOME_OK);
  g_assert_cmpstr (call.result->text, ==, expected);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

/* Whether a far end that ends when it hears nothing stays when nothing is said. */
static void
test_keep_alive (gconstpointer data)
{
  Fixture fixture;
  Call call;

  fixture_init_attach (&fixture, data, NULL, (OwAttach) { .keep_alive_ms = 150 });
  connect_well (&fixture);
  spin (5000);
  g_assert_cmpuint (counted (&fixture, "attaches"), ==, 1);
  if (!g_str_has_suffix (data, "mute"))
    {
      run_call (&fixture, &call, "one");
      assert_outcome (&call, OW_OUTCOME_OK);
      call_clear (&call);
    }
  g_assert_cmpuint (fixture.n_lost, ==, 0);
  fixture_clear (&fixture);
}

static void
test_no_keep_alive (void)
{
  gint64 end = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  Fixture fixture;

  fixture_init (&fixture, "tty/watchful", NULL);
  connect_well (&fixture);
  while (counted (&fixture, "attaches") < 2 && g_get_monotonic_time () < end)
    spin (100);
  g_assert_cmpuint (counted (&fixture, "attaches"), >=, 2);
  fixture_clear (&fixture);
}

/* --- requests --- */

static void
on_requested (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  Call *call = user_data;
  json_t *answer = ow_channel_request_finish (OW_CHANNEL (source), result, &call->error);

  if (answer != NULL)
    json_decref (answer);
  call->done++;
}

static void
test_requests (void)
{
  Fixture fixture;
  Call call;

  fixture_init (&fixture, "honest", NULL);
  call = (Call) { .fixture = &fixture };
  ow_channel_request_async (fixture.channel, OW_MCP_PING, NULL, NULL, on_requested, &call);
  patience_wait_until (&call.done, 1);
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  call_clear (&call);

  connect_well (&fixture);
  ow_channel_request_async (fixture.channel, OW_MCP_PING, NULL, NULL, on_requested, &call);
  patience_wait_until (&call.done, 2);
  g_assert_no_error (call.error);
  ow_channel_request_async (fixture.channel, "openworker/none", NULL, NULL, on_requested,
                            &call);
  patience_wait_until (&call.done, 3);
  g_assert_error (call.error, OW_ERROR, OW_ERROR_FAILED);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
test_request_deadline (void)
{
  OwChannelTimes times = quick;
  Fixture fixture;
  Call call;
  Call request;

  times.request_ms = 200;
  times.silence_ms = 20000;
  fixture_init (&fixture, "silence-always", &times);
  connect_well (&fixture);
  start_call (&fixture, &call, "one", "shell", NULL);
  request = (Call) { .fixture = &fixture };
  spin (100);
  ow_channel_request_async (fixture.channel, OW_MCP_PING, NULL, NULL, on_requested,
                            &request);
  patience_wait_until (&request.done, 1);
  g_assert_error (request.error, OW_ERROR, OW_ERROR_TIMED_OUT);
  call_clear (&request);
  ow_channel_close (fixture.channel);
  patience_wait_until (&call.done, 1);
  call_clear (&call);
  fixture_clear (&fixture);
}

static void
add_table (const char     *prefix,
           const char     *name,
           gconstpointer   data,
           GTestDataFunc   func)
{
  g_autofree char *path = g_strconcat (prefix, name, NULL);

  g_test_add_data_func (path, data, func);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/channel/connect", "honest", test_connect);
  g_test_add_data_func ("/channel/P02/banner", "banner", test_connect);
  g_test_add_data_func ("/channel/P02/drip", "drip", test_connect);
  g_test_add_data_func ("/channel/P02/banner-json", "banner-json", test_connect);
  g_test_add_data_func ("/channel/P02/banner-open", "tty/banner-open", test_connect);
  g_test_add_data_func ("/channel/terminal/connect", "tty/terminal", test_connect);
  g_test_add_data_func ("/channel/terminal/drip", "tty/drip", test_connect);
  g_test_add_data_func ("/channel/terminal/huge", "tty/huge", test_huge);
  g_test_add_data_func ("/channel/terminal/large-argument", "tty/measure", test_large_argument);
  g_test_add_data_func ("/channel/terminal/slow-reader", "tty/sip", test_large_argument);
  g_test_add_data_func ("/channel/large-argument", "measure", test_large_argument);
  g_test_add_data_func ("/channel/terminal/keep-alive", "tty/watchful", test_keep_alive);
  g_test_add_data_func ("/channel/terminal/keep-alive-unanswered", "tty/watchful-mute",
                        test_keep_alive);
  g_test_add_func ("/channel/terminal/no-keep-alive", test_no_keep_alive);
  for (gsize i = 0; i < G_N_ELEMENTS (refusals); i++)
    add_table ("/channel/refused/", refusals[i].behaviour, &refusals[i], test_refused);
  g_test_add_func ("/channel/refused/no-program", test_no_program);
  for (gsize i = 0; i < G_N_ELEMENTS (few_lies); i++)
    add_table ("/channel/P03/few/", few_lies[i], few_lies[i], test_few_lies);
  for (gsize i = 0; i < G_N_ELEMENTS (many_lies); i++)
    add_table ("/channel/P03/untrusted/", many_lies[i], many_lies[i], test_untrusted);
  g_test_add_func ("/channel/P03/two-replies", test_two_replies);
  g_test_add_func ("/channel/P03/claims", test_claims);
  g_test_add_func ("/channel/P03/no-result", test_no_result);
  g_test_add_func ("/channel/refused-call", test_refused_call);
  g_test_add_data_func ("/channel/huge", "huge", test_huge);
  g_test_add_func ("/channel/P02/long-line", test_long_line);
  g_test_add_func ("/channel/bad-calls", test_bad_calls);
  g_test_add_func ("/channel/cancel", test_cancel);
  g_test_add_func ("/channel/cancel-before", test_cancel_before);
  g_test_add_data_func ("/channel/P03/reply-after-cancel", "late", test_reply_after_cancel);
  g_test_add_data_func ("/channel/P04/no-reply-to-cancel", "mute", test_reply_after_cancel);
  g_test_add_func ("/channel/P04/deadline", test_deadline);
  g_test_add_data_func ("/channel/P13/running", "break-running", test_break_joined);
  g_test_add_data_func ("/channel/P13/early-output", "break-early", test_break_joined);
  g_test_add_data_func ("/channel/P13/finished", "break-finished", test_break_joined);
  for (gsize i = 0; i < G_N_ELEMENTS (losses); i++)
    add_table ("/channel/P13/lost/", losses[i].behaviour, &losses[i], test_break_lost);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    add_table ("/channel/P13/call/", answers[i].behaviour, &answers[i], test_break_unanswered);
  g_test_add_func ("/channel/P13/deaf", test_break_deaf);
  g_test_add_func ("/channel/P13/stopped", test_break_stopped);
  for (gsize i = 0; i < G_N_ELEMENTS (terminal_breaks); i++)
    add_table ("/channel/P13/terminal/", terminal_breaks[i], terminal_breaks[i],
               test_break_joined);
  g_test_add_data_func ("/channel/P13/patience", "tty/break-away", test_patience);
  g_test_add_func ("/channel/P13/no-patience", test_no_patience);
  g_test_add_data_func ("/channel/silence", "silence", test_silence);
  g_test_add_data_func ("/channel/terminal/silence", "tty/silence", test_silence);
  g_test_add_func ("/channel/P13/silence-meanwhile", test_silence_meanwhile);
  g_test_add_func ("/channel/quiet-command", test_quiet_command);
  g_test_add_func ("/channel/give-up", test_give_up);
  g_test_add_func ("/channel/requests", test_requests);
  g_test_add_func ("/channel/request-deadline", test_request_deadline);
  return g_test_run ();
}
