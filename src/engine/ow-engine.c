/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "engine/ow-engine.h"

#include "base/ow-error.h"

G_DEFINE_INTERFACE (OwEngine, ow_engine, G_TYPE_OBJECT)

static void
ow_engine_default_init (OwEngineInterface *iface)
{
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
