/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-calls-private.h"

#include "base/ow-error.h"
#include "base/ow-random.h"
#include "ow-engine-wire-private.h"
#include "ow-local-engine-private.h"
#include "ow-remote-engine-private.h"

struct _OwEngineCalls
{
  GObject     parent_instance;

  OwEngine   *engine;  /* (owned) (nullable) */
  GPtrArray  *calls;   /* (owned) of Call, oldest first */
  GHashTable *watches; /* (owned) session or "" → what face.watch was told of it */
};

/* One command. */
typedef struct
{
  OwEngineCalls *self;    /* borrowed: it owns us */
  GTask         *task;    /* (owned) */
  char          *id;      /* (owned) */
  char          *command; /* (owned) */
  json_t        *params;  /* (owned) (nullable) given away to an engine in this process */
  char          *sent_to; /* (owned) (nullable) the run of the engine that may know it */
  gboolean       flying;
} Call;

G_DEFINE_FINAL_TYPE (OwEngineCalls, ow_engine_calls, G_TYPE_OBJECT)

static void dispatch (OwEngineCalls *self,
                      Call          *call);

static void
call_free (gpointer data)
{
  Call *call = data;

  ow_local_engine_wipe (call->params);
  json_decref (call->params);
  g_object_unref (call->task);
  g_free (call->id);
  g_free (call->command);
  g_free (call->sent_to);
  g_free (call);
}

/* (transfer full) of the call's task; the call is gone. */
static GTask *
take_task (Call *call)
{
  GTask *task = g_object_ref (call->task);

  g_ptr_array_remove (call->self->calls, call);
  return task;
}

static Call *
find_call (OwEngineCalls *self,
           const char     *id)
{
  for (guint i = 0; i < self->calls->len; i++)
    {
      Call *call = g_ptr_array_index (self->calls, i);

      if (g_str_equal (call->id, id))
        return call;
    }
  return NULL;
}

typedef struct
{
  OwEngineCalls *self; /* (owned) */
  char           *id;   /* (owned) */
} Flight;

static void
on_call_done (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autofree Flight *flight = user_data;
  g_autoptr (OwEngineCalls) self = flight->self;
  g_autofree char *id = flight->id;
  g_autoptr (GError) error = NULL;
  g_autoptr (GTask) task = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  Call *call = find_call (self, id);

  if (call == NULL)
    {
      json_decref (value);
      return;
    }
  call->flying = FALSE;
  /* The answer went with the connection: the next one may bring it. */
  if (value == NULL && OW_IS_REMOTE_ENGINE (source) &&
      ow_remote_engine_is_lost (OW_REMOTE_ENGINE (source)))
    {
      if (self->engine != NULL)
        dispatch (self, call);
      return;
    }
  task = take_task (call);
  if (value != NULL)
    g_task_return_pointer (task, value, (GDestroyNotify) json_decref);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

/* TRUE: the command may have been carried out by an engine that cannot be asked any more. */
static gboolean
is_uncertain (OwEngineCalls *self,
              Call           *call)
{
  if (call->sent_to == NULL || ow_local_engine_is_reading (call->command))
    return FALSE;
  return !OW_IS_REMOTE_ENGINE (self->engine) ||
         g_strcmp0 (call->sent_to,
                    ow_remote_engine_get_id (OW_REMOTE_ENGINE (self->engine))) != 0;
}

static void
dispatch (OwEngineCalls *self,
          Call           *call)
{
  GCancellable *cancellable = g_task_get_cancellable (call->task);
  Flight *flight;

  if (is_uncertain (self, call))
    {
      g_autoptr (GTask) task = take_task (call);

      g_task_return_new_error (task, OW_ERROR, OW_ERROR_INTERRUPTED,
                               "It is not known whether this was done: the engine was lost "
                               "before it answered.");
      return;
    }
  flight = g_new0 (Flight, 1);
  flight->self = g_object_ref (self);
  flight->id = g_strdup (call->id);
  call->flying = TRUE;
  if (OW_IS_REMOTE_ENGINE (self->engine))
    {
      OwRemoteEngine *remote = OW_REMOTE_ENGINE (self->engine);

      g_free (call->sent_to);
      call->sent_to = g_strdup (ow_remote_engine_get_id (remote));
      ow_remote_engine_send_async (remote, call->id, call->command, json_incref (call->params),
                                   cancellable, on_call_done, flight);
    }
  else
    ow_engine_command_async (self->engine, call->command, g_steal_pointer (&call->params),
                             cancellable, on_call_done, flight);
}

static void
dispatch_all (OwEngineCalls *self)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < self->calls->len; i++)
    g_ptr_array_add (ids, g_strdup (((Call *) g_ptr_array_index (self->calls, i))->id));
  for (guint i = 0; i < ids->len && self->engine != NULL; i++)
    {
      Call *call = find_call (self, g_ptr_array_index (ids, i));

      if (call != NULL && !call->flying)
        dispatch (self, call);
    }
}

static void
ignore_answer (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  json_decref (ow_engine_command_finish (OW_ENGINE (source), result, NULL));
}

/* An engine knows who is there of each connection only. */
static void
watch_again (OwEngineCalls *self)
{
  GHashTableIter iter;
  gpointer session;
  gpointer answers;

  g_hash_table_iter_init (&iter, self->watches);
  while (g_hash_table_iter_next (&iter, &session, &answers))
    {
      json_t *params = json_pack ("{s:b}", "answers", GPOINTER_TO_INT (answers));

      if (*(const char *) session != '\0')
        json_object_set_new (params, "session", json_string (session));
      ow_engine_command_async (self->engine, "face.watch", params, NULL, ignore_answer, NULL);
    }
}

static void
remember_watch (OwEngineCalls *self,
                const json_t   *params)
{
  const char *session = ow_json_get_string (params, "session", "");

  if (ow_json_get_bool (params, "answers", FALSE))
    g_hash_table_replace (self->watches, g_strdup (session), GINT_TO_POINTER (TRUE));
  else
    g_hash_table_remove (self->watches, session);
}

void
ow_engine_calls_set_engine (OwEngineCalls *self,
                            OwEngine      *engine)
{
  g_set_object (&self->engine, engine);
  if (engine == NULL)
    return;
  watch_again (self);
  dispatch_all (self);
}

void
ow_engine_calls_add (OwEngineCalls *self,
                     GTask         *task,
                     const char    *command,
                     json_t        *params)
{
  g_autoptr (GError) error = NULL;
  Call *call = g_new0 (Call, 1);

  call->self = self;
  call->task = g_object_ref (task);
  call->command = g_strdup (command);
  call->params = params;
  call->id = ow_random_hex (OW_ENGINE_WIRE_ID_BYTES, &error);
  if (call->id == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      call_free (call);
      return;
    }
  if (g_str_equal (command, "face.watch"))
    remember_watch (self, params);
  g_ptr_array_add (self->calls, call);
  if (self->engine != NULL)
    dispatch (self, call);
}

void
ow_engine_calls_end (OwEngineCalls *self,
                     const GError  *error)
{
  while (self->calls->len > 0)
    {
      g_autoptr (GTask) task = NULL;

      /* One that is under way with an engine that is lost comes back to nothing. */
      task = take_task (g_ptr_array_index (self->calls, 0));
      g_task_return_error (task, g_error_copy (error));
    }
}

static void
ow_engine_calls_finalize (GObject *object)
{
  OwEngineCalls *self = OW_ENGINE_CALLS (object);

  g_clear_object (&self->engine);
  g_ptr_array_unref (self->calls);
  g_hash_table_unref (self->watches);
  G_OBJECT_CLASS (ow_engine_calls_parent_class)->finalize (object);
}

static void
ow_engine_calls_class_init (OwEngineCallsClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_engine_calls_finalize;
}

static void
ow_engine_calls_init (OwEngineCalls *self)
{
  self->calls = g_ptr_array_new_with_free_func (call_free);
  self->watches = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

OwEngineCalls *
ow_engine_calls_new (void)
{
  return g_object_new (OW_TYPE_ENGINE_CALLS, NULL);
}
