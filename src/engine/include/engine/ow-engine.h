/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event.h"
#include "wire/ow-json.h"

/* The one thing a face sees: commands in, numbered events out (docs/engine.md lists
 * the commands with their parameters and results). A command's parameters and result are JSON so
 * that an engine in this process, in the background and on another machine are the
 * same to a face.
 *
 * Signal "event" (OwEvent *event): every event of every session that is at work here.
 * Main thread. */

#define OW_TYPE_ENGINE (ow_engine_get_type ())
G_DECLARE_INTERFACE (OwEngine, ow_engine, OW, ENGINE, GObject)

struct _OwEngineInterface {
  GTypeInterface parent_iface;
  void    (*command_async)  (OwEngine *self, const char *command, json_t *params,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data);
  /* Where it is not set the result is a GTask, and what that came to. */
  json_t *(*command_finish) (OwEngine *self, GAsyncResult *result, GError **error);
};

/* @params (stolen, nullable). The result is a new reference. Errors carry OW_ERROR kinds. */
void    ow_engine_command_async  (OwEngine *self, const char *command, json_t *params,
                                  GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data);
json_t *ow_engine_command_finish (OwEngine *self, GAsyncResult *result, GError **error);
