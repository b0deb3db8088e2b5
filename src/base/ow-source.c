/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-source.h"

/* Shared by the source and by the handler of the cancellable's signal, which another thread may
 * be in, or on its way to, when the source ends. */
typedef struct {
  GMutex         mutex;
  GSource       *source;       /* (unowned) (nullable) until it ended; under the mutex */
  GCancellable  *cancellable;  /* (owned) (nullable) until it ended */
  gulong         handler;
  GSourceFunc    func;
  gpointer       user_data;
  GDestroyNotify notify;
} Stop;

GSource *
ow_source_timeout (guint          ms,
                   GSourceFunc    func,
                   gpointer       user_data,
                   GDestroyNotify notify)
{
  GSource *source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, user_data, notify);
  g_source_attach (source, g_main_context_get_thread_default ());
  return source;
}

void
ow_source_idle (int            priority,
                GSourceFunc    func,
                gpointer       user_data,
                GDestroyNotify notify)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, priority);
  g_source_set_callback (source, func, user_data, notify);
  g_source_attach (source, g_main_context_get_thread_default ());
}

static void
stop_clear (gpointer data)
{
  g_mutex_clear (&((Stop *) data)->mutex);
}

static void
stop_unref (gpointer stop)
{
  g_atomic_rc_box_release_full (stop, stop_clear);
}

/* In whatever thread cancels. */
static void
on_cancelled (GCancellable *cancellable,
              gpointer      user_data)
{
  Stop *stop = user_data;

  g_mutex_lock (&stop->mutex);
  if (stop->source != NULL)
    g_source_set_ready_time (stop->source, 0);
  g_mutex_unlock (&stop->mutex);
}

/* The source ended, by whatever way. It does not wait for who is cancelling, as
 * g_cancellable_disconnect() does: that may be the caller. */
static void
on_stop_ended (gpointer data)
{
  Stop *stop = data;

  g_mutex_lock (&stop->mutex);
  stop->source = NULL;
  g_mutex_unlock (&stop->mutex);
  if (stop->handler != 0)
    g_signal_handler_disconnect (stop->cancellable, stop->handler);
  g_clear_object (&stop->cancellable);
  if (stop->notify != NULL)
    stop->notify (stop->user_data);
  stop_unref (stop);
}

static gboolean
on_stop (gpointer user_data)
{
  Stop *stop = user_data;

  return stop->func (stop->user_data);
}

static gboolean
dispatch_stop (GSource    *source,
               GSourceFunc func,
               gpointer    user_data)
{
  g_source_set_ready_time (source, -1);
  return func (user_data);
}

GSource *
ow_source_cancelled (GCancellable  *cancellable,
                     GSourceFunc    func,
                     gpointer       user_data,
                     GDestroyNotify notify)
{
  static GSourceFuncs funcs = { .dispatch = dispatch_stop };
  GSource *source;
  Stop *stop;

  if (cancellable == NULL)
    {
      if (notify != NULL)
        notify (user_data);
      return NULL;
    }

  source = g_source_new (&funcs, sizeof (GSource));
  stop = g_atomic_rc_box_new0 (Stop);
  g_mutex_init (&stop->mutex);
  stop->source = source;
  stop->cancellable = g_object_ref (cancellable);
  stop->func = func;
  stop->user_data = user_data;
  stop->notify = notify;
  g_source_set_callback (source, on_stop, stop, on_stop_ended);
  g_source_attach (source, g_main_context_get_thread_default ());
  stop->handler = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled),
                                         g_atomic_rc_box_acquire (stop), stop_unref);
  return source;
}

void
ow_source_clear (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}
