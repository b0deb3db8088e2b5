/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bridge-private.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <gio/gunixsocketaddress.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"

#define CONNECT_S 10

static GSocketConnection *connection; /* (owned) (nullable) */

/* As each side of the engine's socket does: the far end of this one cannot. */
static gboolean
is_own (GSocket  *socket,
        GError  **error)
{
  g_autoptr (GCredentials) peer = g_socket_get_credentials (socket, NULL);

  if (peer != NULL && g_credentials_get_unix_user (peer, NULL) == geteuid ())
    return TRUE;
  ow_error_set (error, OW_ERROR_REFUSED, "The engine cannot be used", "it runs as another user",
                NULL);
  return FALSE;
}

static void
connected (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;

  connection = g_socket_client_connect_finish (G_SOCKET_CLIENT (source), result, &error);
  if (connection != NULL && !is_own (g_socket_connection_get_socket (connection), &error))
    g_clear_object (&connection);
  if (connection == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  /* The limit was for the connection only. */
  g_socket_set_timeout (g_socket_connection_get_socket (connection), 0);
  g_task_return_boolean (task, TRUE);
}

void
ow_bridge_connect_async (GAsyncReadyCallback callback,
                         gpointer            user_data)
{
  GTask *task = g_task_new (NULL, NULL, callback, user_data);
  g_autofree char *place = ow_paths_get_runtime_dir ();
  g_autofree char *path = g_build_filename (place, "engine", NULL);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);
  g_autoptr (GSocketClient) client = g_socket_client_new ();

  g_task_set_source_tag (task, ow_bridge_connect_async);
  g_socket_client_set_timeout (client, CONNECT_S);
  g_socket_client_connect_async (client, G_SOCKET_CONNECTABLE (address), NULL, connected, task);
}

gboolean
ow_bridge_connect_finish (GAsyncResult  *result,
                          GError       **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

typedef struct
{
  guint   open;  /* ways that have not ended */
  GError *error; /* (owned) (nullable) the first */
} Ways;

static void
ways_free (gpointer data)
{
  Ways *ways = data;

  g_clear_error (&ways->error);
  g_free (ways);
}

static void
way_ended (GTask  *task,
           GError *error)
{
  Ways *ways = g_task_get_task_data (task);

  if (ways->error == NULL)
    ways->error = g_steal_pointer (&error);
  g_clear_error (&error);
  if (ways->open == 0 || --ways->open > 0)
    return;
  if (ways->error != NULL)
    g_task_return_error (task, g_steal_pointer (&ways->error));
  else
    g_task_return_boolean (task, TRUE);
}

static void
inwards_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;

  g_output_stream_splice_finish (G_OUTPUT_STREAM (source), result, &error);
  g_socket_shutdown (g_socket_connection_get_socket (connection), FALSE, TRUE, NULL);
  way_ended (task, error);
}

/* Without the engine there is nothing more to carry, even where stdin stays open. */
static void
outwards_ended (GObject      *source,
                GAsyncResult *result,
                gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Ways *ways = g_task_get_task_data (task);
  GError *error = NULL;

  g_output_stream_splice_finish (G_OUTPUT_STREAM (source), result, &error);
  ways->open = MIN (ways->open, 1);
  way_ended (task, error);
}

void
ow_bridge_run_async (GAsyncReadyCallback callback,
                     gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, NULL, callback, user_data);
  g_autoptr (GInputStream) input = g_unix_input_stream_new (STDIN_FILENO, FALSE);
  g_autoptr (GOutputStream) output = g_unix_output_stream_new (STDOUT_FILENO, FALSE);
  GIOStream *stream = G_IO_STREAM (connection);
  Ways *ways = g_new0 (Ways, 1);

  ways->open = 2;
  g_task_set_source_tag (task, ow_bridge_run_async);
  g_task_set_task_data (task, ways, ways_free);
  g_output_stream_splice_async (g_io_stream_get_output_stream (stream), input,
                                G_OUTPUT_STREAM_SPLICE_NONE, G_PRIORITY_DEFAULT, NULL,
                                inwards_ended, g_object_ref (task));
  g_output_stream_splice_async (output, g_io_stream_get_input_stream (stream),
                                G_OUTPUT_STREAM_SPLICE_NONE, G_PRIORITY_DEFAULT, NULL,
                                outwards_ended, g_object_ref (task));
}

gboolean
ow_bridge_run_finish (GAsyncResult  *result,
                      GError       **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}
