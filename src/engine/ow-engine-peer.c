/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-peer-private.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-engine-lines-private.h"
#include "ow-engine-wire-private.h"

struct _OwEnginePeer
{
  GObject parent_instance;

  OwLocalEngine *engine;  /* (owned) */
  OwEngineOnce  *once;    /* borrowed */
  char          *id;      /* (owned) */
  OwEngineLines *lines;   /* (owned) (nullable) until it is closed */
  GSource       *hello;   /* (owned) (nullable) the end of waiting for its first words */
  guint          face;    /* 0: it has not said hello */
  guint          n_open;
  gboolean       ending;  /* it says no more, and waits for its answers */
};

G_DEFINE_FINAL_TYPE (OwEnginePeer, ow_engine_peer, G_TYPE_OBJECT)

static guint gone_signal;

static void
close_peer (OwEnginePeer *self,
            gboolean      flush)
{
  g_autoptr (OwEngineLines) lines = g_steal_pointer (&self->lines);

  if (lines == NULL)
    return;
  ow_source_clear (&self->hello);
  ow_engine_lines_close (lines, flush);
  if (self->face != 0)
    ow_engine_consents_remove_face (self->engine, self->face);
  self->face = 0;
  g_signal_emit (self, gone_signal, 0);
}

void
ow_engine_peer_close (OwEnginePeer *self)
{
  close_peer (self, TRUE);
}

GObject *
ow_engine_peer_get_lines (OwEnginePeer *self)
{
  return G_OBJECT (self->lines);
}

/* FALSE: it takes nothing any more, and is closed. */
static gboolean
check_waiting (OwEnginePeer *self)
{
  if (self->lines == NULL)
    return FALSE;
  if (ow_engine_lines_get_waiting (self->lines) > OW_ENGINE_PEER_MAX_BYTES)
    {
      close_peer (self, FALSE);
      return FALSE;
    }
  /* Who does not read is not listened to either. */
  if (ow_engine_lines_get_waiting (self->lines) > OW_ENGINE_PEER_SLOW_BYTES)
    ow_engine_lines_pause (self->lines);
  return TRUE;
}

static void
write_message (OwEnginePeer *self,
               const json_t *id,
               json_t       *message)
{
  if (self->lines == NULL)
    {
      json_decref (message);
      return;
    }
  if (!ow_engine_lines_write (self->lines, message) && self->lines != NULL)
    {
      g_autoptr (GError) error = NULL;

      ow_error_set (&error, OW_ERROR_DATA, "The answer cannot be given",
                    "it is longer than a message may be", NULL);
      ow_engine_lines_write (self->lines, ow_engine_wire_error (json_incref ((json_t *) id),
                                                                error));
    }
  check_waiting (self);
}

void
ow_engine_peer_send_event (OwEnginePeer *self,
                           const char   *line,
                           gsize         length,
                           gboolean      live)
{
  if (self->lines == NULL || self->face == 0 || self->ending)
    return;
  if (live && ow_engine_lines_get_waiting (self->lines) > OW_ENGINE_PEER_SLOW_BYTES)
    return;
  ow_engine_lines_write_line (self->lines, line, length);
  check_waiting (self);
}

/* The other side did what the protocol does not have: it is told, and that was it. */
static void
refuse (OwEnginePeer *self,
        const json_t *id,
        int           code,
        const char   *message)
{
  if (self->lines == NULL)
    return;
  ow_engine_lines_write (self->lines,
                         ow_rpc_error (json_incref ((json_t *) id), code, message, NULL));
  close_peer (self, TRUE);
}

static void
answered (OwEnginePeer *self)
{
  self->n_open--;
  if (self->ending && self->n_open == 0)
    close_peer (self, TRUE);
}

/* An answer of the table to the request that it is for. */
static void
write_answer (OwEnginePeer *self,
              const char   *id,
              const json_t *answer)
{
  json_t *name = json_string (id);
  json_t *message;

  message = json_object_get (answer, "result") != NULL
            ? ow_rpc_result (json_incref (name), json_incref (json_object_get (answer, "result")))
            : json_pack ("{s:s, s:O, s:O}", "jsonrpc", "2.0", "id", name,
                         "error", json_object_get (answer, "error"));
  write_message (self, name, message);
  json_decref (name);
}

typedef struct
{
  OwEnginePeer *peer;  /* (owned) */
  char         *id;    /* (owned) as it came */
} Request;

static Request *
request_new (OwEnginePeer *self,
             const char   *id)
{
  Request *request = g_new0 (Request, 1);

  request->peer = g_object_ref (self);
  request->id = g_strdup (id);
  return request;
}

static void
request_free (gpointer data)
{
  Request *request = data;

  g_object_unref (request->peer);
  g_free (request->id);
  g_free (request);
}

static void
on_once (const char   *id,
         const json_t *answer,
         gpointer      user_data)
{
  Request *request = user_data;

  write_answer (request->peer, request->id, answer);
  answered (request->peer);
}

static json_t *
take_answer (GObject      *source,
             GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  json_t *answer;
  json_t *message;

  if (value != NULL)
    return json_pack ("{s:o}", "result", value);
  message = ow_engine_wire_error (NULL, error);
  answer = json_pack ("{s:O}", "error", json_object_get (message, "error"));
  json_decref (message);
  return answer;
}

static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  Request *request = user_data;

  ow_engine_once_done (request->peer->once, request->id, take_answer (source, result));
  request_free (request);
}

static void
on_read_done (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  Request *request = user_data;
  json_t *answer = take_answer (source, result);

  on_once (request->id, answer, request);
  json_decref (answer);
  request_free (request);
}

static void
run (OwEnginePeer       *self,
     const OwRpcMessage *message,
     const char         *id)
{
  json_t *params = message->params != NULL ? json_incref (message->params) : json_object ();
  GAsyncReadyCallback callback = on_read_done;

  self->n_open++;
  if (!ow_local_engine_is_reading (message->method))
    {
      OwEngineOnceState state = ow_engine_once_ask (self->once, id, message->method, params,
                                                    on_once, request_new (self, id), request_free);

      if (state != OW_ENGINE_ONCE_NEW)
        json_decref (params);
      if (state == OW_ENGINE_ONCE_OTHER)
        {
          self->n_open--;
          write_message (self, message->id,
                         ow_rpc_error (json_incref (message->id), -32001,
                                       "This id was that of another command.", NULL));
        }
      if (state != OW_ENGINE_ONCE_NEW)
        return;
      callback = on_done;
    }
  ow_local_engine_command_as_async (self->engine, self->face, message->method, params, NULL,
                                    callback, request_new (self, id));
}

/* What is wrong with a client's first words; NULL: nothing. */
static const char *
check_hello (const json_t *params)
{
  static const char * const KNOWN[] = { "protocol", "version", "face", NULL };
  static const char * const FACES[] = { "window", "command", "remote", NULL };
  const char *key;
  json_t *value;

  if (!json_is_object (params))
    return "The first request has to have parameters.";
  json_object_foreach ((json_t *) params, key, value)
    if (!g_strv_contains (KNOWN, key))
      return "The first request has a member that is not known.";
  if (!json_is_integer (json_object_get (params, "protocol")))
    return "The first request has to name a protocol.";
  if (!json_is_string (json_object_get (params, "version")))
    return "The first request has to name a version.";
  if (!g_strv_contains (FACES, ow_json_get_string (params, "face", "")))
    return "The first request has to name a face.";
  return NULL;
}

static void
say_hello (OwEnginePeer       *self,
           const OwRpcMessage *message)
{
  const char *wrong = check_hello (message->params);
  json_int_t protocol = ow_json_get_int (message->params, "protocol", 0);
  g_autofree char *text = NULL;

  if (wrong != NULL && !json_is_integer (json_object_get (message->params, "protocol")))
    refuse (self, message->id, OW_RPC_INVALID_PARAMS, wrong);
  else if (protocol != OW_ENGINE_WIRE_PROTOCOL)
    {
      text = g_strdup_printf ("The engine that runs (OpenWorker %s) speaks protocol %d and the "
                              "program that joined it %" JSON_INTEGER_FORMAT ". %s", OW_VERSION,
                              OW_ENGINE_WIRE_PROTOCOL, protocol,
                              protocol < OW_ENGINE_WIRE_PROTOCOL
                              ? "Update the program that joined."
                              : "End the engine that runs, or update it.");
      refuse (self, message->id, OW_ENGINE_WIRE_BAD_PROTOCOL, text);
    }
  else if (wrong != NULL)
    refuse (self, message->id, OW_RPC_INVALID_PARAMS, wrong);
  else
    {
      ow_source_clear (&self->hello);
      self->face = ow_engine_consents_add_face (self->engine);
      write_message (self, message->id,
                     ow_rpc_result (json_incref (message->id),
                                    json_pack ("{s:i, s:s, s:s, s:i, s:s}",
                                               "protocol", OW_ENGINE_WIRE_PROTOCOL,
                                               "version", OW_VERSION, "engine", self->id,
                                               "pid", (int) getpid (),
                                               "host", self->engine->host)));
    }
}

static void
handle (OwEnginePeer       *self,
        const OwRpcMessage *message)
{
  const char *id = json_string_value (message->id);

  if (message->kind != OW_RPC_REQUEST)
    refuse (self, NULL, OW_RPC_INVALID_REQUEST, "A face sends requests only.");
  else if (!ow_engine_wire_is_id (id))
    refuse (self, message->id, OW_RPC_INVALID_REQUEST,
            "The id of a request has to be 16 to 64 hex digits.");
  else if (self->face == 0 && g_str_equal (message->method, OW_ENGINE_WIRE_INITIALIZE))
    say_hello (self, message);
  else if (self->face == 0 || g_str_equal (message->method, OW_ENGINE_WIRE_INITIALIZE))
    refuse (self, message->id, OW_RPC_INVALID_REQUEST,
            "The first request, and no other, has to be initialize.");
  else if (self->n_open >= OW_ENGINE_WIRE_MAX_OPEN)
    write_message (self, message->id,
                   ow_rpc_error (json_incref (message->id), -32002,
                                 "Too many commands of this face are open.", NULL));
  else
    run (self, message, id);
}

static void
on_line (char     *line,
         gsize     length,
         gpointer  user_data)
{
  g_autoptr (OwEnginePeer) self = g_object_ref (user_data);
  char why[OW_WIRE_ERROR_SIZE];
  OwRpcMessage message;
  int code = 0;

  if (!ow_rpc_message_parse (&message, line, length, &code, why))
    {
      refuse (self, NULL, code, why);
      return;
    }
  handle (self, &message);
  ow_rpc_message_clear (&message);
}

static void
on_ended (const char *reason,
          gpointer    user_data)
{
  g_autoptr (OwEnginePeer) self = g_object_ref (user_data);

  if (reason != NULL || self->n_open == 0 || self->face == 0)
    {
      close_peer (self, reason == NULL);
      return;
    }
  /* It has closed its half and may still read; nobody is there any more who could answer. */
  self->ending = TRUE;
  ow_engine_consents_remove_face (self->engine, self->face);
}

static void
on_drained (gpointer user_data)
{
  OwEnginePeer *self = user_data;

  if (self->lines != NULL)
    ow_engine_lines_resume (self->lines);
}

static const OwEngineLinesHandlers HANDLERS = { on_line, on_ended, on_drained };

static gboolean
on_no_hello (gpointer user_data)
{
  g_autoptr (OwEnginePeer) self = g_object_ref (user_data);

  close_peer (self, FALSE);
  return G_SOURCE_REMOVE;
}

void
ow_engine_peer_start (OwEnginePeer *self)
{
  self->hello = ow_source_timeout (OW_ENGINE_WIRE_HANDSHAKE_MS, on_no_hello, self, NULL);
  ow_engine_lines_start (self->lines);
}

static void
ow_engine_peer_dispose (GObject *object)
{
  OwEnginePeer *self = OW_ENGINE_PEER (object);

  ow_source_clear (&self->hello);
  if (self->lines != NULL)
    ow_engine_lines_close (self->lines, FALSE);
  g_clear_object (&self->lines);
  g_clear_object (&self->engine);
  G_OBJECT_CLASS (ow_engine_peer_parent_class)->dispose (object);
}

static void
ow_engine_peer_finalize (GObject *object)
{
  OwEnginePeer *self = OW_ENGINE_PEER (object);

  g_free (self->id);
  G_OBJECT_CLASS (ow_engine_peer_parent_class)->finalize (object);
}

static void
ow_engine_peer_class_init (OwEnginePeerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_engine_peer_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_engine_peer_finalize;

  /* "gone": the connection is over. */
  gone_signal = g_signal_new ("gone", OW_TYPE_ENGINE_PEER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                              G_TYPE_NONE, 0);
}

static void
ow_engine_peer_init (OwEnginePeer *self)
{
}

OwEnginePeer *
ow_engine_peer_new (OwLocalEngine *engine,
                    OwEngineOnce  *once,
                    const char    *id,
                    GIOStream     *stream)
{
  OwEnginePeer *self = g_object_new (OW_TYPE_ENGINE_PEER, NULL);

  self->engine = g_object_ref (engine);
  self->once = once;
  self->id = g_strdup (id);
  self->lines = ow_engine_lines_new (stream, &HANDLERS, self);
  return self;
}
