/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <gio/gio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/ow-engine.h"
#include "ow-engine-follow-private.h"
#include "ow-remote-engine-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* A face whose engine says anything: what it hears is events, each number of a session once and in
 * order, or nothing. */

static guint64 last;

static void
on_told (OwEngineFollow *follow,
         OwEvent        *event,
         gpointer        user_data)
{
  if (ow_event_get_seq (event) == 0 || strcmp (ow_event_get_session (event), "s") != 0)
    return;
  if (last != 0 && ow_event_get_seq (event) != last + 1)
    abort ();
  last = ow_event_get_seq (event);
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  ow_engine_follow_take (user_data, event);
}

static void
on_opened (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  ow_remote_engine_open_finish (OW_REMOTE_ENGINE (source), result, NULL);
}

static void
turn (void)
{
  for (guint i = 0; i < 200 && g_main_context_iteration (NULL, FALSE); i++)
    ;
}

/* The answer to the first words, whose id nobody can know before. */
static void
say_hello (int fd)
{
  char buffer[4096] = { 0 };
  g_autofree char *answer = NULL;
  char *id;

  if (recv (fd, buffer, sizeof buffer - 1, MSG_DONTWAIT) <= 0)
    return;
  id = strstr (buffer, "\"id\":\"");
  if (id == NULL)
    abort ();
  id[6 + 32] = '\0';
  answer = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"protocol\":1,"
                            "\"version\":\"0\",\"engine\":\"0123456789abcdef\",\"pid\":1,"
                            "\"host\":\"up\"}}\n", id + 6);
  if (send (fd, answer, strlen (answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return;
  turn ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (OwEngineFollow) follow = ow_engine_follow_new ();
  g_autoptr (GSocket) socket = NULL;
  g_autoptr (GSocketConnection) connection = NULL;
  g_autoptr (OwRemoteEngine) remote = NULL;
  size_t chunk = size > 0 ? data[0] % 61 + 1 : 1;
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
    return 0;
  last = 0;
  socket = g_socket_new_from_fd (fds[0], NULL);
  connection = g_socket_connection_factory_create_connection (socket);
  remote = ow_remote_engine_new (G_IO_STREAM (connection), "window");
  g_clear_object (&connection);
  g_clear_object (&socket);
  ow_engine_follow_set_engine (follow, OW_ENGINE (remote));
  g_signal_connect (remote, "event", G_CALLBACK (on_event), follow);
  g_signal_connect (follow, "event", G_CALLBACK (on_told), NULL);
  ow_remote_engine_open_async (remote, on_opened, NULL);
  turn ();
  if (size > 0 && (data[0] & 1) != 0)
    say_hello (fds[1]);
  for (size_t at = 1; at < size; at += chunk)
    {
      if (send (fds[1], data + at, MIN (chunk, size - at), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        break;
      turn ();
    }
  ow_engine_follow_set_engine (follow, NULL);
  ow_remote_engine_close (remote);
  close (fds[1]);
  turn ();
  return 0;
}
