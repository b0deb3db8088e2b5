/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-remote-engine-private.h"

#include "config.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-random.h"
#include "base/ow-source.h"
#include "ow-engine-lines-private.h"
#include "ow-engine-wire-private.h"

#define ENGINE_ID_BYTES 16
#define MAX_WAITING     (32u * 1024u * 1024u)

struct _OwRemoteEngine
{
  GObject parent_instance;

  OwEngineLines *lines;    /* (owned) (nullable) until the connection is over */
  char          *face;     /* (owned) */
  char          *engine;   /* (owned) (nullable) */
  char          *hello_id; /* (owned) (nullable) */
  GTask         *opening;  /* (owned) (nullable) */
  GSource       *hello;    /* (owned) (nullable) the end of waiting for it */
  GHashTable    *open;     /* (owned) id → GTask */
  GQueue         later;    /* of Later (owned): more than the engine takes at a time */
  gboolean       lost;
};

typedef struct
{
  char   *id;      /* (owned) */
  json_t *message; /* (owned) (nullable) until it is sent */
  GTask  *task;    /* (owned) */
} Later;

static void ow_remote_engine_iface_init (OwEngineInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwRemoteEngine, ow_remote_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_remote_engine_iface_init))

static guint lost_signal;

static void
later_free (gpointer data)
{
  Later *later = data;

  json_decref (later->message);
  g_object_unref (later->task);
  g_free (later->id);
  g_free (later);
}

/* What was to be sent later is open as well: to whoever waits it makes no difference. */
static void
end_open (OwRemoteEngine *self,
          const char     *reason)
{
  GHashTableIter iter;
  gpointer key;
  gpointer value;
  Later *later;

  while ((later = g_queue_pop_head (&self->later)) != NULL)
    {
      g_hash_table_replace (self->open, g_strdup (later->id), g_object_ref (later->task));
      later_free (later);
    }
  for (;;)
    {
      g_autoptr (GTask) task = NULL;
      GError *error = NULL;

      g_hash_table_iter_init (&iter, self->open);
      if (!g_hash_table_iter_next (&iter, &key, &value))
        return;
      task = g_object_ref (value);
      g_hash_table_iter_remove (&iter);
      ow_error_set (&error, OW_ERROR_INTERRUPTED, "The engine was lost before it answered",
                    reason, NULL);
      g_task_return_error (task, error);
    }
}

static void
finish_opening (OwRemoteEngine *self,
                GError         *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->opening);

  ow_source_clear (&self->hello);
  g_clear_pointer (&self->hello_id, g_free);
  if (task == NULL)
    g_clear_error (&error);
  else if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
lose (OwRemoteEngine *self,
      const char     *reason)
{
  g_autoptr (OwRemoteEngine) held = g_object_ref (self);
  g_autoptr (OwEngineLines) lines = g_steal_pointer (&self->lines);
  gboolean was_open = self->engine != NULL;
  GError *error = NULL;

  if (lines == NULL)
    return;
  self->lost = TRUE;
  ow_engine_lines_close (lines, FALSE);
  ow_error_set (&error, OW_ERROR_FAILED, "The engine cannot be joined", reason, NULL);
  finish_opening (self, error);
  end_open (self, reason);
  if (was_open)
    g_signal_emit (self, lost_signal, 0, reason);
}

static gboolean
is_engine_id (const char *text)
{
  if (text == NULL || strlen (text) != ENGINE_ID_BYTES)
    return FALSE;
  for (gsize i = 0; i < ENGINE_ID_BYTES; i++)
    if (!g_ascii_isxdigit (text[i]))
      return FALSE;
  return TRUE;
}

static void
take_hello (OwRemoteEngine     *self,
            const OwRpcMessage *message)
{
  const char *engine = ow_json_get_string (message->result, "engine", NULL);
  GError *error = NULL;

  if (message->kind == OW_RPC_ERROR)
    {
      ow_engine_wire_read_error (message->error, &error);
      finish_opening (self, error);
      lose (self, "it refused");
    }
  else if (ow_json_get_int (message->result, "protocol", 0) != OW_ENGINE_WIRE_PROTOCOL)
    {
      ow_error_setf (&error, OW_ERROR_REFUSED, "Update the older of the two.",
                     "The engine that runs speaks another protocol than this program (%d)",
                     OW_ENGINE_WIRE_PROTOCOL);
      finish_opening (self, error);
      lose (self, "it speaks another protocol");
    }
  else if (!is_engine_id (engine))
    lose (self, "it did not say which engine it is");
  else
    {
      self->engine = g_strdup (engine);
      finish_opening (self, NULL);
    }
}

/* @message is taken. */
static void
send_now (OwRemoteEngine *self,
          const char     *id,
          json_t         *message,
          GTask          *task)
{
  GError *error = NULL;

  if (self->lines == NULL || ow_engine_lines_get_waiting (self->lines) >= MAX_WAITING)
    {
      json_decref (message);
    }
  else if (ow_engine_lines_write (self->lines, message))
    {
      g_hash_table_replace (self->open, g_strdup (id), g_object_ref (task));
      return;
    }
  ow_error_set (&error, OW_ERROR_USAGE, "The command cannot be given",
                "it is longer than a message may be, or the engine takes none", NULL);
  g_task_return_error (task, error);
}

static void
send_later (OwRemoteEngine *self)
{
  while (g_hash_table_size (self->open) < OW_ENGINE_WIRE_MAX_OPEN &&
         !g_queue_is_empty (&self->later))
    {
      Later *later = g_queue_pop_head (&self->later);

      send_now (self, later->id, g_steal_pointer (&later->message), later->task);
      later_free (later);
    }
}

/* An answer to nothing may be to a command that was given up. */
static void
take_answer (OwRemoteEngine     *self,
             const OwRpcMessage *message)
{
  const char *id = json_string_value (message->id);
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;

  if (self->hello_id != NULL)
    {
      if (message->kind == OW_RPC_RESULT && g_strcmp0 (id, self->hello_id) != 0)
        lose (self, "it answered what was not asked");
      else
        take_hello (self, message);
      return;
    }
  task = id == NULL ? NULL : g_hash_table_lookup (self->open, id);
  if (task == NULL)
    return;
  g_object_ref (task);
  g_hash_table_remove (self->open, id);
  send_later (self);
  if (message->kind == OW_RPC_RESULT && json_is_object (message->result))
    {
      g_task_return_pointer (task, json_incref (message->result), (GDestroyNotify) json_decref);
      return;
    }
  if (message->kind == OW_RPC_ERROR)
    ow_engine_wire_read_error (message->error, &error);
  else
    ow_error_set (&error, OW_ERROR_DATA, "The engine's answer cannot be used", "it is no object",
                  NULL);
  g_task_return_error (task, error);
}

static void
take_event (OwRemoteEngine     *self,
            const OwRpcMessage *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEvent) event = NULL;

  /* There may be more kinds of notification one day; nothing depends on one. */
  if (!g_str_equal (message->method, OW_ENGINE_WIRE_EVENT))
    return;
  if (self->engine == NULL)
    {
      lose (self, "it told of events before it said hello");
      return;
    }
  event = ow_event_from_json (json_object_get (message->params, "event"), &error);
  if (event == NULL)
    lose (self, error->message);
  else
    g_signal_emit_by_name (self, "event", event);
}

static void
on_line (char     *line,
         gsize     length,
         gpointer  user_data)
{
  g_autoptr (OwRemoteEngine) self = g_object_ref (user_data);
  char why[OW_WIRE_ERROR_SIZE];
  OwRpcMessage message;
  int code = 0;

  if (!ow_rpc_message_parse (&message, line, length, &code, why))
    {
      lose (self, why);
      return;
    }
  if (message.kind == OW_RPC_NOTIFICATION)
    take_event (self, &message);
  else if (message.kind == OW_RPC_REQUEST)
    lose (self, "it sent a request");
  else
    take_answer (self, &message);
  ow_rpc_message_clear (&message);
}

static void
on_ended (const char *reason,
          gpointer    user_data)
{
  lose (user_data, reason != NULL ? reason : "it ended the connection");
}

static const OwEngineLinesHandlers HANDLERS = { on_line, on_ended, NULL };

static gboolean
on_no_hello (gpointer user_data)
{
  lose (user_data, "it did not answer in time");
  return G_SOURCE_REMOVE;
}

void
ow_remote_engine_open_async (OwRemoteEngine      *self,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  GError *error = NULL;
  json_t *params;

  g_task_set_source_tag (task, ow_remote_engine_open_async);
  self->hello_id = ow_random_hex (OW_ENGINE_WIRE_ID_BYTES, &error);
  if (self->hello_id == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  self->opening = g_steal_pointer (&task);
  self->hello = ow_source_timeout (OW_ENGINE_WIRE_HANDSHAKE_MS, on_no_hello, self, NULL);
  params = json_pack ("{s:i, s:s, s:s}", "protocol", OW_ENGINE_WIRE_PROTOCOL,
                      "version", OW_VERSION, "face", self->face);
  ow_engine_lines_write (self->lines, ow_rpc_request (json_string (self->hello_id),
                                                      OW_ENGINE_WIRE_INITIALIZE, params));
  ow_engine_lines_start (self->lines);
}

gboolean
ow_remote_engine_open_finish (OwRemoteEngine  *self,
                              GAsyncResult    *result,
                              GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

const char *
ow_remote_engine_get_id (OwRemoteEngine *self)
{
  return self->engine;
}

gboolean
ow_remote_engine_is_lost (OwRemoteEngine *self)
{
  return self->lost;
}

void
ow_remote_engine_send_async (OwRemoteEngine      *self,
                             const char          *id,
                             const char          *command,
                             json_t              *params,
                             GCancellable        *cancellable,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  json_t *message;

  g_task_set_source_tag (task, ow_remote_engine_send_async);
  if (self->lines == NULL || self->engine == NULL)
    {
      json_decref (params);
      g_task_return_new_error (task, OW_ERROR, OW_ERROR_INTERRUPTED, "The engine was lost.");
      return;
    }
  message = ow_rpc_request (json_string (id), command, params);
  if (g_hash_table_size (self->open) < OW_ENGINE_WIRE_MAX_OPEN)
    {
      send_now (self, id, message, task);
    }
  else
    {
      Later *later = g_new0 (Later, 1);

      *later = (Later) { g_strdup (id), message, g_steal_pointer (&task) };
      g_queue_push_tail (&self->later, later);
    }
}

void
ow_remote_engine_close (OwRemoteEngine *self)
{
  g_autoptr (OwRemoteEngine) held = g_object_ref (self);
  g_autoptr (OwEngineLines) lines = g_steal_pointer (&self->lines);
  GError *error = NULL;

  if (lines == NULL)
    return;
  self->lost = TRUE;
  ow_engine_lines_close (lines, TRUE);
  ow_error_set (&error, OW_ERROR_INTERRUPTED, "The engine was left", NULL, NULL);
  finish_opening (self, error);
  end_open (self, "it was left");
}

static void
ow_remote_engine_command_async (OwEngine            *engine,
                                const char          *command,
                                json_t              *params,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *id = ow_random_hex (OW_ENGINE_WIRE_ID_BYTES, &error);

  if (id != NULL)
    {
      ow_remote_engine_send_async (OW_REMOTE_ENGINE (engine), id, command, params, cancellable,
                                   callback, user_data);
      return;
    }
  json_decref (params);
  g_task_report_error (engine, callback, user_data, ow_remote_engine_command_async,
                       g_steal_pointer (&error));
}

static void
ow_remote_engine_dispose (GObject *object)
{
  OwRemoteEngine *self = OW_REMOTE_ENGINE (object);

  ow_remote_engine_close (self);
  G_OBJECT_CLASS (ow_remote_engine_parent_class)->dispose (object);
}

static void
ow_remote_engine_finalize (GObject *object)
{
  OwRemoteEngine *self = OW_REMOTE_ENGINE (object);

  g_queue_clear_full (&self->later, later_free);
  g_hash_table_unref (self->open);
  g_free (self->face);
  g_free (self->engine);
  g_free (self->hello_id);
  G_OBJECT_CLASS (ow_remote_engine_parent_class)->finalize (object);
}

static void
ow_remote_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_remote_engine_command_async;
}

static void
ow_remote_engine_class_init (OwRemoteEngineClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_remote_engine_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_remote_engine_finalize;

  /* "lost" (const char *reason): the connection is over. */
  lost_signal = g_signal_new ("lost", OW_TYPE_REMOTE_ENGINE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                              NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
ow_remote_engine_init (OwRemoteEngine *self)
{
  self->open = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  g_queue_init (&self->later);
}

OwRemoteEngine *
ow_remote_engine_new (GIOStream  *stream,
                      const char *face)
{
  OwRemoteEngine *self = g_object_new (OW_TYPE_REMOTE_ENGINE, NULL);

  self->face = g_strdup (face);
  self->lines = ow_engine_lines_new (stream, &HANDLERS, self);
  return self;
}
