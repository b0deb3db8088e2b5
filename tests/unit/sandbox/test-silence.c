/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-silence-private.h"

#define S ((gint64) G_USEC_PER_SEC)

static void
test_silence (void)
{
  OwSilence silence;

  ow_silence_heard (&silence, (OwSilenceClocks) { 100 * S, 100 * S });
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 100 * S, 100 * S }), ==, 0);
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 109 * S, 109 * S }), ==,
                   9000);
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 111 * S, 111 * S }), ==,
                   11000);
  ow_silence_heard (&silence, (OwSilenceClocks) { 111 * S, 111 * S });
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 112 * S, 112 * S }), ==,
                   1000);
}

/* R06: a night's sleep is no silence, and what follows it is measured from there. */
static void
test_suspend (void)
{
  OwSilence silence;

  ow_silence_heard (&silence, (OwSilenceClocks) { 100 * S, 500 * S });
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 109 * S, 509 * S }), ==,
                   9000);
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 110 * S, 40000 * S }), ==, 0);
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 114 * S, 40004 * S }), ==,
                   4000);
  /* A step back is no negative time. */
  g_assert_cmpint (ow_silence_measure (&silence, (OwSilenceClocks) { 90 * S, 39980 * S }), ==, 0);
}

static void
test_clocks (void)
{
  OwSilenceClocks first = ow_silence_clocks ();
  OwSilenceClocks second;
  OwSilence silence;

  ow_silence_heard (&silence, first);
  g_usleep (30000);
  second = ow_silence_clocks ();
  g_assert_cmpint (second.monotonic_us - first.monotonic_us, >=, 30000);
  g_assert_cmpint (second.boottime_us - first.boottime_us, >=, 30000);
  g_assert_cmpint (ow_silence_measure (&silence, second), >=, 30);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/silence/measure", test_silence);
  g_test_add_func ("/silence/R06/suspend", test_suspend);
  g_test_add_func ("/silence/clocks", test_clocks);
  return g_test_run ();
}
