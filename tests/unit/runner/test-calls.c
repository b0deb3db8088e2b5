/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "ow-runner-calls-private.h"

static OwRunnerCallState
state_of (OwRunnerCalls *calls,
          const char    *id,
          gint64         now)
{
  OwRunnerCall *call;

  return ow_runner_calls_look_up (calls, id, now, &call);
}

static void
run_one (OwRunnerCalls *calls,
         const char    *id,
         gsize          size,
         gint64         now)
{
  OwRunnerCall *call = ow_runner_calls_begin (calls, id);

  g_assert_nonnull (call);
  ow_runner_calls_finish (calls, call, strdup (id), size, now);
}

static void
test_ids (void)
{
  static const char *const good[] = { "a", "Z", "0", "_", "-", "aZ09_-" };
  static const char *const bad[] = { "", " ", "a b", "a/b", "a.b", ".1", "ä", "a\n" };
  g_autofree char *longest = g_strnfill (64, 'x');
  g_autofree char *too_long = g_strnfill (65, 'x');

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (ow_runner_calls_is_id (good[i]));
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (ow_runner_calls_is_id (bad[i]));
  g_assert_true (ow_runner_calls_is_id (longest));
  g_assert_false (ow_runner_calls_is_id (too_long));
}

static void
test_life (void)
{
  OwRunnerCalls *calls = ow_runner_calls_new ();
  OwRunnerCall *call;
  OwRunnerCall *found;

  g_assert_cmpint (state_of (calls, "a", 0), ==, OW_RUNNER_CALL_UNKNOWN);
  call = ow_runner_calls_begin (calls, "a");
  g_assert_cmpint (ow_runner_calls_look_up (calls, "a", 0, &found), ==, OW_RUNNER_CALL_RUNNING);
  g_assert_true (found == call);
  /* Running ones do not age. */
  g_assert_cmpint (state_of (calls, "a", G_MAXINT32), ==, OW_RUNNER_CALL_RUNNING);
  ow_runner_calls_finish (calls, call, strdup ("r"), 1, 1000);
  g_assert_cmpint (state_of (calls, "a", 1000 + OW_RUNNER_CALLS_KEPT_MS), ==,
                   OW_RUNNER_CALL_FINISHED);
  g_assert_cmpint (ow_runner_calls_look_up (calls, "a", 1001 + OW_RUNNER_CALLS_KEPT_MS, &found),
                   ==, OW_RUNNER_CALL_FORGOTTEN);
  g_assert_null (found->result);
  g_assert_cmpint (state_of (calls, "b", 0), ==, OW_RUNNER_CALL_UNKNOWN);
  ow_runner_calls_free (calls);
}

/* The oldest results go first, by number and by bytes; ids stay. */
static void
test_limits (void)
{
  OwRunnerCalls *calls = ow_runner_calls_new ();

  for (guint i = 0; i < OW_RUNNER_CALLS_KEPT_MAX + 10; i++)
    {
      g_autofree char *id = g_strdup_printf ("n%u", i);

      run_one (calls, id, 1, 0);
    }
  for (guint i = 0; i < OW_RUNNER_CALLS_KEPT_MAX + 10; i++)
    {
      g_autofree char *id = g_strdup_printf ("n%u", i);

      g_assert_cmpint (state_of (calls, id, 0), ==,
                       i < 10 ? OW_RUNNER_CALL_FORGOTTEN : OW_RUNNER_CALL_FINISHED);
    }
  run_one (calls, "big1", OW_RUNNER_CALLS_KEPT_BYTES / 2, 0);
  run_one (calls, "big2", OW_RUNNER_CALLS_KEPT_BYTES / 2, 0);
  g_assert_cmpint (state_of (calls, "n265", 0), ==, OW_RUNNER_CALL_FORGOTTEN);
  g_assert_cmpint (state_of (calls, "big1", 0), ==, OW_RUNNER_CALL_FINISHED);
  run_one (calls, "big3", 1, 0);
  g_assert_cmpint (state_of (calls, "big1", 0), ==, OW_RUNNER_CALL_FORGOTTEN);
  g_assert_cmpint (state_of (calls, "big2", 0), ==, OW_RUNNER_CALL_FINISHED);
  g_assert_cmpint (state_of (calls, "big3", 0), ==, OW_RUNNER_CALL_FINISHED);
  /* One that is too big alone is not kept. */
  run_one (calls, "huge", OW_RUNNER_CALLS_KEPT_BYTES + 1, 0);
  g_assert_cmpint (state_of (calls, "huge", 0), ==, OW_RUNNER_CALL_FORGOTTEN);
  ow_runner_calls_free (calls);
}

static void
test_running (void)
{
  OwRunnerCalls *calls = ow_runner_calls_new ();
  OwRunnerCall *first = NULL;

  for (guint i = 0; i < OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      g_autofree char *id = g_strdup_printf ("r%u", i);
      OwRunnerCall *call = ow_runner_calls_begin (calls, id);

      g_assert_nonnull (call);
      if (i == 0)
        first = call;
    }
  g_assert_null (ow_runner_calls_begin (calls, "more"));
  g_assert_cmpint (state_of (calls, "more", 0), ==, OW_RUNNER_CALL_UNKNOWN);
  ow_runner_calls_finish (calls, first, NULL, 0, 0);
  g_assert_nonnull (ow_runner_calls_begin (calls, "more"));
  g_assert_cmpuint (ow_runner_calls_get_running (calls), ==, OW_RUNNER_CALLS_RUNNING_MAX);
  ow_runner_calls_free (calls);
}

/* One that is dropped while it runs was never there: its id may come again, and it is counted
 * nowhere. */
static void
test_drop (void)
{
  OwRunnerCalls *calls = ow_runner_calls_new ();
  OwRunnerCall *call;

  run_one (calls, "a", 1, 0);
  for (guint i = 0; i < 2 * OW_RUNNER_CALLS_RUNNING_MAX; i++)
    {
      call = ow_runner_calls_begin (calls, "b");
      g_assert_nonnull (call);
      ow_runner_calls_drop (calls, call);
      g_assert_cmpint (state_of (calls, "b", 1), ==, OW_RUNNER_CALL_UNKNOWN);
      g_assert_cmpuint (ow_runner_calls_get_running (calls), ==, 0);
    }
  run_one (calls, "c", 1, 2);
  g_assert_cmpint (state_of (calls, "a", 1 + OW_RUNNER_CALLS_KEPT_MS), ==,
                   OW_RUNNER_CALL_FORGOTTEN);
  g_assert_cmpint (state_of (calls, "c", 2 + OW_RUNNER_CALLS_KEPT_MS), ==,
                   OW_RUNNER_CALL_FINISHED);
  ow_runner_calls_free (calls);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/calls/ids", test_ids);
  g_test_add_func ("/calls/life", test_life);
  g_test_add_func ("/calls/limits", test_limits);
  g_test_add_func ("/calls/running", test_running);
  g_test_add_func ("/calls/drop", test_drop);
  return g_test_run ();
}
