/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-listener-private.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-source.h"
#include "ow-engine-cut-private.h"
#include "ow-engine-once-private.h"
#include "ow-engine-peer-private.h"
#include "ow-engine-place-private.h"
#include "ow-engine-wire-private.h"

/* Accepted in one go; then whatever else the engine has to do has its turn. */
#define MAX_ACCEPTS 16
/* How long nobody is let in after descriptors or memory ran out. */
#define PAUSE_MS    250
#define KEEP_US     (10 * 60 * G_TIME_SPAN_SECOND)

struct _OwEngineListener
{
  GObject parent_instance;

  OwLocalEngine *engine;  /* (owned) */
  OwEngineOnce  *once;    /* (owned) */
  char          *id;      /* (owned) */
  GPtrArray     *peers;   /* (owned) of OwEnginePeer */
  GPtrArray     *leaving; /* (owned) of connections with last words, borrowed, watched */
  int            fd;      /* -1: none */
  GSource       *accept;  /* (owned) (nullable) */
  GSource       *pause;   /* (owned) (nullable) */
};

G_DEFINE_FINAL_TYPE (OwEngineListener, ow_engine_listener, G_TYPE_OBJECT)

static void watch_socket (OwEngineListener *self);

/* One line for all of them. */
static void
on_event (OwLocalEngine    *engine,
          OwEvent          *event,
          OwEngineListener *self)
{
  gboolean live = ow_event_kind_is_live (ow_event_get_kind (event));
  g_autoptr (GPtrArray) peers = NULL;
  size_t length = 0;
  gsize bytes;
  char *line;

  if (self->peers->len == 0)
    return;
  line = ow_rpc_line (ow_rpc_notification (OW_ENGINE_WIRE_EVENT,
                                           json_pack ("{s:o}", "event", ow_event_to_json (event))),
                      &length);
  if (line == NULL || length > OW_ENGINE_CUT_PAGE_BYTES)
    {
      free (line);
      line = ow_rpc_line (ow_rpc_notification (OW_ENGINE_WIRE_EVENT,
                                               json_pack ("{s:o}", "event",
                                                          ow_engine_cut_event (event, &bytes))),
                          &length);
    }
  /* One that takes nothing is closed, and leaves the list. */
  peers = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < self->peers->len; i++)
    g_ptr_array_add (peers, g_object_ref (g_ptr_array_index (self->peers, i)));
  for (guint i = 0; i < peers->len && line != NULL; i++)
    ow_engine_peer_send_event (g_ptr_array_index (peers, i), line, length, live);
  free (line);
}

static void
on_gone (OwEnginePeer     *peer,
         OwEngineListener *self)
{
  g_autoptr (OwEnginePeer) held = g_object_ref (peer);

  g_signal_handlers_disconnect_by_data (peer, self);
  g_ptr_array_remove (self->peers, peer);
}

static OwEnginePeer *
add_peer (OwEngineListener *self,
          GIOStream        *stream)
{
  OwEnginePeer *peer = ow_engine_peer_new (self->engine, self->once, self->id, stream);

  g_ptr_array_add (self->peers, peer);
  g_signal_connect (peer, "gone", G_CALLBACK (on_gone), self);
  return peer;
}

/* @fd is taken. */
static void
let_in (OwEngineListener *self,
        int               fd)
{
  static const char full[] =
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32002,"
    "\"message\":\"The engine has as many faces as it takes.\"}}\n";
  g_autoptr (GSocket) socket = NULL;
  g_autoptr (GSocketConnection) connection = NULL;

  /* Another user is told nothing at all. */
  if (!ow_engine_place_is_own (fd))
    {
      close (fd);
      return;
    }
  if (self->peers->len >= OW_ENGINE_LISTENER_MAX_CLIENTS)
    {
      if (send (fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        shutdown (fd, SHUT_WR);
      close (fd);
      return;
    }
  socket = g_socket_new_from_fd (fd, NULL);
  if (socket == NULL)
    {
      close (fd);
      return;
    }
  connection = g_socket_connection_factory_create_connection (socket);
  ow_engine_peer_start (add_peer (self, G_IO_STREAM (connection)));
}

static gboolean
on_pause_over (gpointer user_data)
{
  OwEngineListener *self = user_data;

  ow_source_clear (&self->pause);
  watch_socket (self);
  return G_SOURCE_REMOVE;
}

static gboolean
on_connect (int          fd,
            GIOCondition condition,
            gpointer     user_data)
{
  OwEngineListener *self = user_data;

  for (guint i = 0; i < MAX_ACCEPTS; i++)
    {
      int client = accept4 (fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

      if (client >= 0)
        let_in (self, client);
      else if (errno == EAGAIN)
        return G_SOURCE_CONTINUE;
      else if (errno != EINTR && errno != ECONNABORTED)
        {
          /* Whoever waits would wake us again at once. */
          ow_source_clear (&self->accept);
          self->pause = ow_source_timeout (PAUSE_MS, on_pause_over, self, NULL);
          return G_SOURCE_REMOVE;
        }
    }
  return G_SOURCE_CONTINUE;
}

static void
watch_socket (OwEngineListener *self)
{
  self->accept = g_unix_fd_source_new (self->fd, G_IO_IN);
  g_source_set_callback (self->accept, G_SOURCE_FUNC (on_connect), self, NULL);
  g_source_attach (self->accept, g_main_context_get_thread_default ());
}

void
ow_engine_listener_start (OwEngineListener *self)
{
  if (self->fd >= 0 && self->accept == NULL)
    watch_socket (self);
}

guint
ow_engine_listener_get_n (OwEngineListener *self)
{
  return self->peers->len;
}

static void
on_left (gpointer  user_data,
         GObject  *lines)
{
  g_ptr_array_remove (((OwEngineListener *) user_data)->leaving, lines);
}

gboolean
ow_engine_listener_is_flushing (OwEngineListener *self)
{
  return self->leaving->len > 0;
}

void
ow_engine_listener_close (OwEngineListener *self)
{
  ow_source_clear (&self->accept);
  ow_source_clear (&self->pause);
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  while (self->peers->len > 0)
    {
      g_autoptr (OwEnginePeer) peer = g_object_ref (g_ptr_array_index (self->peers, 0));
      GObject *lines = ow_engine_peer_get_lines (peer);

      g_ptr_array_add (self->leaving, lines);
      g_object_weak_ref (lines, on_left, self);
      ow_engine_peer_close (peer);
    }
}

static void
ow_engine_listener_dispose (GObject *object)
{
  OwEngineListener *self = OW_ENGINE_LISTENER (object);

  ow_engine_listener_close (self);
  if (self->engine != NULL)
    g_signal_handlers_disconnect_by_data (self->engine, self);
  g_clear_object (&self->engine);
  G_OBJECT_CLASS (ow_engine_listener_parent_class)->dispose (object);
}

static void
ow_engine_listener_finalize (GObject *object)
{
  OwEngineListener *self = OW_ENGINE_LISTENER (object);

  for (guint i = 0; i < self->leaving->len; i++)
    g_object_weak_unref (g_ptr_array_index (self->leaving, i), on_left, self);
  g_ptr_array_unref (self->leaving);
  g_ptr_array_unref (self->peers);
  ow_engine_once_free (self->once);
  g_free (self->id);
  G_OBJECT_CLASS (ow_engine_listener_parent_class)->finalize (object);
}

static void
ow_engine_listener_class_init (OwEngineListenerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_engine_listener_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_engine_listener_finalize;
}

static void
ow_engine_listener_init (OwEngineListener *self)
{
  self->fd = -1;
  self->once = ow_engine_once_new (KEEP_US);
  self->peers = g_ptr_array_new_with_free_func (g_object_unref);
  self->leaving = g_ptr_array_new ();
}

OwEngineListener *
ow_engine_listener_new (OwLocalEngine *engine,
                        const char    *id,
                        int            fd)
{
  OwEngineListener *self = g_object_new (OW_TYPE_ENGINE_LISTENER, NULL);

  self->engine = g_object_ref (engine);
  self->id = g_strdup (id);
  self->fd = fd;
  g_signal_connect (engine, "event", G_CALLBACK (on_event), self);
  return self;
}
