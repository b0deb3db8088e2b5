/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* Timeouts, idles and stops on the main context of the calling thread (its thread default), not on
 * the program's: an engine in a thread of its own must not be called back in a window's.
 * For use from one thread; the sources run in it. */

/* (transfer full) to be ended by ow_source_clear(), also after @func has returned
 * G_SOURCE_REMOVE. @notify (nullable) is called once for @user_data. */
GSource *ow_source_timeout   (guint ms, GSourceFunc func, gpointer user_data,
                              GDestroyNotify notify);
/* Runs @func once (or for as long as it returns G_SOURCE_CONTINUE) from the loop. Nothing to
 * keep: who may go before it runs gives a reference as @user_data and drops it in @notify. */
void     ow_source_idle      (int priority, GSourceFunc func, gpointer user_data,
                              GDestroyNotify notify);
/* Calls @func from the loop, never from within the call, when @cancellable is cancelled or if it
 * was before; that may be done in any thread. NULL: without a @cancellable nothing stops. Not
 * g_cancellable_source_new(): of a source that ends while another thread is still within
 * g_cancellable_cancel(), GLib 2.74 keeps a reference for ever. */
GSource *ow_source_cancelled (GCancellable *cancellable, GSourceFunc func, gpointer user_data,
                              GDestroyNotify notify);
/* Ends the source, if there is one, and forgets it. */
void     ow_source_clear     (GSource **source);
