/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "engine/ow-shared-engine.h"

/* How a face comes to an engine: it takes the lock and becomes it, or finds whoever listens. Where
 * one is about to come or go, it is tried again until the time is over. */

typedef struct
{
  OwEngineRole role;
  int          lock;   /* HOST, else -1 */
  int          socket; /* HOST: listens; CLIENT: connected; else -1 */
  char        *path;   /* (owned) (nullable) HOST: the socket's name */
} OwEngineJoin;

void          ow_engine_join_free   (OwEngineJoin         *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEngineJoin, ow_engine_join_free)

/* @until_us: monotonic. @again: an engine was lost, so that another face may be about to be the
 * next one. Whatever ends it, also @cancellable, @callback is called, and a place that was taken
 * by then is left with the result that nobody has. */
void          ow_engine_join_async  (OwFaceKind            kind,
                                     gint64                until_us,
                                     gboolean              again,
                                     GCancellable         *cancellable,
                                     GAsyncReadyCallback   callback,
                                     gpointer              user_data);
OwEngineJoin *ow_engine_join_finish (GAsyncResult         *result,
                                     GError              **error);
