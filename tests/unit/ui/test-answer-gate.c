/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>

#include "ow-answer-gate-private.h"

#define MS 1000

/* At no moment of the first half second does an answer count, whatever else holds. */
static void
test_first_half_second (void)
{
  OwAnswerGate gate = { 0 };

  gate.read = TRUE;
  ow_answer_gate_came (&gate, 10 * MS);
  for (gint64 ms = 0; ms < OW_ANSWER_GATE_MS; ms++)
    {
      g_assert_false (ow_answer_gate_may_allow (&gate, (10 + ms) * MS));
      g_assert_false (ow_answer_gate_may_deny (&gate, (10 + ms) * MS));
    }
  g_assert_true (ow_answer_gate_may_allow (&gate, (10 + OW_ANSWER_GATE_MS) * MS));
  g_assert_true (ow_answer_gate_may_deny (&gate, (10 + OW_ANSWER_GATE_MS) * MS));
}

/* The click that raises the window closes the gate again. */
static void
test_raised_window (void)
{
  OwAnswerGate gate = { 0 };

  gate.read = TRUE;
  ow_answer_gate_came (&gate, 1 * MS);
  g_assert_true (ow_answer_gate_may_allow (&gate, 5000 * MS));
  ow_answer_gate_came (&gate, 5000 * MS);
  g_assert_false (ow_answer_gate_may_allow (&gate, 5000 * MS));
  g_assert_false (ow_answer_gate_may_allow (&gate, 5499 * MS));
  g_assert_true (ow_answer_gate_may_allow (&gate, 5500 * MS));
}

/* What is not on the screen, or was answered, is not answered. */
static void
test_stale (void)
{
  OwAnswerGate gate = { 0 };

  gate.read = TRUE;
  g_assert_false (ow_answer_gate_may_deny (&gate, 9000 * MS));
  ow_answer_gate_came (&gate, 1 * MS);
  ow_answer_gate_went (&gate);
  g_assert_false (ow_answer_gate_may_deny (&gate, 9000 * MS));
  ow_answer_gate_came (&gate, 1 * MS);
  gate.done = TRUE;
  g_assert_false (ow_answer_gate_may_deny (&gate, 9000 * MS));
  g_assert_false (ow_answer_gate_may_allow (&gate, 9000 * MS));
}

static void
test_read_to_its_end (void)
{
  OwAnswerGate gate = { 0 };

  ow_answer_gate_came (&gate, 1 * MS);
  /* Nothing has a size before it is laid out, and nothing was read then. */
  ow_answer_gate_saw (&gate, 0, 0, 0);
  g_assert_false (gate.read);
  ow_answer_gate_saw (&gate, 0, 0, 900);
  g_assert_false (gate.read);
  for (double top = 0; top + 200 < 899; top += 1)
    {
      ow_answer_gate_saw (&gate, top, 200, 900);
      g_assert_false (gate.read);
      g_assert_false (ow_answer_gate_may_allow (&gate, 9000 * MS));
      /* Who does not read may still deny. */
      g_assert_true (ow_answer_gate_may_deny (&gate, 9000 * MS));
    }
  ow_answer_gate_saw (&gate, 700, 200, 900);
  g_assert_true (gate.read);
  /* Scrolled back it stays read. */
  ow_answer_gate_saw (&gate, 0, 200, 900);
  g_assert_true (ow_answer_gate_may_allow (&gate, 9000 * MS));
}

static void
test_fits (void)
{
  OwAnswerGate gate = { 0 };

  ow_answer_gate_saw (&gate, 0, 80, 80);
  g_assert_true (gate.read);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/answer-gate/U06/first-half-second", test_first_half_second);
  g_test_add_func ("/answer-gate/U06/raised-window", test_raised_window);
  g_test_add_func ("/answer-gate/U06/stale", test_stale);
  g_test_add_func ("/answer-gate/U03/read-to-its-end", test_read_to_its_end);
  g_test_add_func ("/answer-gate/U03/fits", test_fits);
  return g_test_run ();
}
