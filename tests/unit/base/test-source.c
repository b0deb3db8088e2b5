/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-source.h"

/* What a source did. */
typedef struct {
  GCancellable *cancellable;
  GMainContext *context;
  GSource      *source;
  guint         calls;
  guint         notes;
  gint          entered;  /* atomic: the thread that cancels is within the signal */
  gint          leave;    /* atomic: and may leave it */
} Watched;

static gboolean
on_stop (gpointer user_data)
{
  Watched *watched = user_data;

  watched->calls++;
  return G_SOURCE_REMOVE;
}

static gboolean
on_stop_and_clear (gpointer user_data)
{
  Watched *watched = user_data;

  ow_source_clear (&watched->source);
  return on_stop (watched);
}

static void
on_note (gpointer user_data)
{
  ((Watched *) user_data)->notes++;
}

static void
begin (Watched    *watched,
       GSourceFunc func)
{
  *watched = (Watched) { .cancellable = g_cancellable_new (), .context = g_main_context_new () };
  g_main_context_push_thread_default (watched->context);
  watched->source = ow_source_cancelled (watched->cancellable, func, watched, on_note);
  g_assert_nonnull (watched->source);
}

static void
turn (Watched *watched)
{
  while (g_main_context_iteration (watched->context, FALSE))
    continue;
}

static void
end (Watched *watched)
{
  ow_source_clear (&watched->source);
  g_assert_cmpuint (watched->notes, ==, 1);
  g_main_context_pop_thread_default (watched->context);
  g_main_context_unref (watched->context);
  g_object_unref (watched->cancellable);
}

static void
test_here (void)
{
  const GSourceFunc funcs[] = { on_stop, on_stop_and_clear };

  for (gsize i = 0; i < G_N_ELEMENTS (funcs); i++)
    {
      Watched watched;

      begin (&watched, funcs[i]);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 0);
      g_cancellable_cancel (watched.cancellable);
      /* Never from within the call. */
      g_assert_cmpuint (watched.calls, ==, 0);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 1);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 1);
      end (&watched);
    }
}

static void
test_none (void)
{
  Watched watched = { .calls = 0 };

  g_assert_null (ow_source_cancelled (NULL, on_stop, &watched, on_note));
  g_assert_cmpuint (watched.notes, ==, 1);
  g_assert_cmpuint (watched.calls, ==, 0);
}

static void
test_cancelled_before (void)
{
  Watched watched;

  begin (&watched, on_stop);
  g_cancellable_cancel (watched.cancellable);
  ow_source_clear (&watched.source);
  watched.source = ow_source_cancelled (watched.cancellable, on_stop, &watched, NULL);
  g_assert_cmpuint (watched.calls, ==, 0);
  turn (&watched);
  g_assert_cmpuint (watched.calls, ==, 1);
  end (&watched);
}

static void
test_cleared_before (void)
{
  Watched watched;

  begin (&watched, on_stop);
  ow_source_clear (&watched.source);
  g_assert_cmpuint (watched.notes, ==, 1);
  g_cancellable_cancel (watched.cancellable);
  turn (&watched);
  g_assert_cmpuint (watched.calls, ==, 0);
  end (&watched);
}

/* Whoever forgot it: a context that goes takes its sources along. */
static void
test_context_gone (void)
{
  Watched watched;

  begin (&watched, on_stop);
  g_source_unref (g_steal_pointer (&watched.source));
  g_main_context_pop_thread_default (watched.context);
  g_main_context_unref (watched.context);
  g_assert_cmpuint (watched.notes, ==, 1);
  g_cancellable_cancel (watched.cancellable);
  g_assert_cmpuint (watched.calls, ==, 0);
  g_object_unref (watched.cancellable);
}

static void
clear_within (GCancellable *cancellable,
              gpointer      user_data)
{
  ow_source_clear (&((Watched *) user_data)->source);
}

/* A handler of the same signal ends it: that neither waits for itself nor loses anything. */
static void
test_cleared_within (void)
{
  for (guint before = 0; before < 2; before++)
    {
      Watched watched;

      begin (&watched, on_stop);
      if (before == 1)
        {
          ow_source_clear (&watched.source);
          watched.notes = 0;
        }
      g_signal_connect (watched.cancellable, "cancelled", G_CALLBACK (clear_within), &watched);
      if (before == 1)
        watched.source = ow_source_cancelled (watched.cancellable, on_stop, &watched, on_note);
      g_cancellable_cancel (watched.cancellable);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 0);
      end (&watched);
    }
}

static void
stay_within (GCancellable *cancellable,
             gpointer      user_data)
{
  Watched *watched = user_data;

  g_atomic_int_set (&watched->entered, TRUE);
  while (!g_atomic_int_get (&watched->leave))
    g_usleep (100);
}

static gpointer
cancel (gpointer data)
{
  g_autoptr (GCancellable) cancellable = data;

  g_cancellable_cancel (cancellable);
  return NULL;
}

/* It ends while another thread is within the signal, behind it or not yet at it: it does not wait
 * for that thread, and nothing of it stays, which the search for leaks sees to. */
static void
test_other_thread (void)
{
  for (guint before = 0; before < 2; before++)
    {
      Watched watched;
      GThread *thread;

      begin (&watched, on_stop);
      if (before == 1)
        {
          ow_source_clear (&watched.source);
          watched.notes = 0;
        }
      g_signal_connect (watched.cancellable, "cancelled", G_CALLBACK (stay_within), &watched);
      if (before == 1)
        watched.source = ow_source_cancelled (watched.cancellable, on_stop, &watched, on_note);
      thread = g_thread_new ("cancel", cancel, g_object_ref (watched.cancellable));
      while (!g_atomic_int_get (&watched.entered))
        g_usleep (100);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 1 - before);
      ow_source_clear (&watched.source);
      g_assert_cmpuint (watched.notes, ==, 1);
      g_atomic_int_set (&watched.leave, TRUE);
      g_thread_join (thread);
      turn (&watched);
      g_assert_cmpuint (watched.calls, ==, 1 - before);
      end (&watched);
    }
}

/* The same without an order, many times, and with a context that goes at once. */
static void
test_race (void)
{
  for (guint i = 0; i < 2000; i++)
    {
      Watched watched;
      GThread *thread;

      begin (&watched, i % 2 == 0 ? on_stop : on_stop_and_clear);
      thread = g_thread_new ("cancel", cancel, g_object_ref (watched.cancellable));
      if (i % 3 == 0)
        g_thread_yield ();
      turn (&watched);
      g_assert_cmpuint (watched.calls, <=, 1);
      end (&watched);
      g_thread_join (thread);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/source/cancelled/here", test_here);
  g_test_add_func ("/source/cancelled/none", test_none);
  g_test_add_func ("/source/cancelled/before", test_cancelled_before);
  g_test_add_func ("/source/cancelled/cleared-before", test_cleared_before);
  g_test_add_func ("/source/cancelled/context-gone", test_context_gone);
  g_test_add_func ("/source/cancelled/cleared-within", test_cleared_within);
  g_test_add_func ("/source/cancelled/other-thread", test_other_thread);
  g_test_add_func ("/source/cancelled/race", test_race);
  return g_test_run ();
}
