/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>
#include <sys/types.h>

/* Holds an inside that is being made still at its end, until it is released: bwrap and its child,
 * the first process of the inside, are there then, and nothing else that comes from them.
 * Freed without a release it goes on too, unless bwrap was ended before.
 *
 * Source: bwrap(1), --info-fd and --block-fd. The thread's own main context. */

typedef struct _OwBubblewrapHold OwBubblewrapHold;

OwBubblewrapHold *ow_bubblewrap_hold_new     (GError **error);
void              ow_bubblewrap_hold_free    (OwBubblewrapHold *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwBubblewrapHold, ow_bubblewrap_hold_free)

/* bwrap's ends: what it writes its news to, and what it waits for. Borrowed. */
int  ow_bubblewrap_hold_get_info  (OwBubblewrapHold *self);
int  ow_bubblewrap_hold_get_block (OwBubblewrapHold *self);
/* bwrap has been started with them: ours are closed. */
void ow_bubblewrap_hold_started   (OwBubblewrapHold *self);

/* @self is to be there until @callback. */
void  ow_bubblewrap_hold_wait_async  (OwBubblewrapHold *self, GCancellable *cancellable,
                                      GAsyncReadyCallback callback, gpointer user_data);
/* The first process of the inside, as we see its id; -1: bwrap has ended, or said none. */
pid_t ow_bubblewrap_hold_wait_finish (GAsyncResult *result, GError **error);
/* Lets it go on. */
void  ow_bubblewrap_hold_release     (OwBubblewrapHold *self);
