/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "engine/ow-engine.h"

#include "base/ow-error.h"

G_DEFINE_INTERFACE (OwEngine, ow_engine, G_TYPE_OBJECT)

static json_t *
finish_task (OwEngine      *self,
             GAsyncResult  *result,
             GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
ow_engine_default_init (OwEngineInterface *iface)
{
  iface->command_finish = finish_task;
  g_signal_new ("event",
                OW_TYPE_ENGINE,
                G_SIGNAL_RUN_LAST,
                0,
                NULL, NULL,
                NULL,
                G_TYPE_NONE,
                1,
                OW_TYPE_EVENT | G_SIGNAL_TYPE_STATIC_SCOPE);
}

void
ow_engine_command_async (OwEngine            *self,
                         const char          *command,
                         json_t              *params,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  if (params == NULL)
    params = json_object ();

  OW_ENGINE_GET_IFACE (self)->command_async (self, command, params, cancellable,
                                             callback, user_data);
}

json_t *
ow_engine_command_finish (OwEngine      *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  return OW_ENGINE_GET_IFACE (self)->command_finish (self, result, error);
}
