/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "engine/ow-shared-engine.h"

#include <sys/resource.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-random.h"
#include "base/ow-source.h"
#include "config/ow-keys.h"
#include "ow-engine-calls-private.h"
#include "ow-engine-follow-private.h"
#include "ow-engine-join-private.h"
#include "ow-engine-thread-private.h"
#include "ow-engine-wire-private.h"
#include "ow-local-engine-private.h"
#include "ow-remote-engine-private.h"

#define JOIN_US    (10 * G_TIME_SPAN_SECOND)
#define RETRY_MS   100
#define RUN_BYTES  8

struct _OwSharedEngine
{
  GObject         parent_instance;

  OwFaceKind      kind;
  OwEngineRole    role;
  OwEngine       *engine;   /* (owned) (nullable) what commands go to, by the role */
  OwEngine       *coming;   /* (owned) (nullable) what is about to be that */
  OwEngineFollow *follow;   /* (owned) */
  OwEngineCalls  *calls;    /* (owned) */
  GPtrArray      *opening;  /* (owned) of GTask */
  GPtrArray      *closing;  /* (owned) of GTask */
  GCancellable   *leaving;  /* (owned) of joining: nobody wants to join any more */
  char           *notice;   /* (owned) (nullable) */
  GSource        *retry;    /* (owned) (nullable) */
  gint64          until_us; /* of joining */
  guint           running;
  gboolean        joining;
  gboolean        again;    /* an engine was lost before */
  gboolean        closed;
};

static void ow_shared_engine_iface_init (OwEngineInterface *iface);
static void begin_join (OwSharedEngine *self);
static void finish_closing (OwSharedEngine *self);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwSharedEngine, ow_shared_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_shared_engine_iface_init))

static guint changed_signal;

void
ow_shared_engine_prepare_process (void)
{
  /* A single byte: too little for a file, and unlike none it keeps a core from the program that
   * the kernel may be set to give it to (core(5)). */
  const struct rlimit no_core = { 1, 1 };

  ow_keys_take_environment ();
  /* Core files would hold what a session saw. */
  setrlimit (RLIMIT_CORE, &no_core);
  ow_process_raise_files ();
}

/* --- commands --- */

static void
ow_shared_engine_command_async (OwEngine            *engine,
                                const char          *command,
                                json_t              *params,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  OwSharedEngine *self = OW_SHARED_ENGINE (engine);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;

  g_task_set_source_tag (task, ow_shared_engine_command_async);
  g_task_set_check_cancellable (task, FALSE);
  if (self->closed)
    {
      ow_local_engine_wipe (params);
      json_decref (params);
      ow_error_set (&error, OW_ERROR_INTERRUPTED, "The engine was left", NULL, NULL);
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  ow_engine_calls_add (self->calls, task, command, params);
  begin_join (self);
}

/* --- the role --- */

static void
finish_tasks (GPtrArray    *tasks,
              const GError *error)
{
  while (tasks->len > 0)
    {
      g_autoptr (GTask) task = g_ptr_array_steal_index (tasks, 0);

      if (error != NULL)
        g_task_return_error (task, g_error_copy (error));
      else
        g_task_return_boolean (task, TRUE);
    }
}

static void
on_status (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwSharedEngine) self = user_data;
  json_t *status = ow_engine_command_finish (OW_ENGINE (source), result, NULL);
  const char *notice = ow_json_get_string (status, "notice", NULL);

  if (status != NULL && self->engine == OW_ENGINE (source) &&
      g_strcmp0 (notice, self->notice) != 0)
    {
      g_free (self->notice);
      self->notice = g_strdup (notice);
      g_signal_emit (self, changed_signal, 0);
    }
  json_decref (status);
}

static void
ask_status (OwSharedEngine *self)
{
  ow_engine_command_async (self->engine, "engine.status", NULL, NULL, on_status,
                           g_object_ref (self));
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  ow_engine_follow_take (OW_SHARED_ENGINE (user_data)->follow, event);
}

static void
on_running (OwEngine       *engine,
            guint           n,
            OwSharedEngine *self)
{
  /* Told without a change of the number, the engine has other news of itself. */
  if (self->running == n)
    {
      if (self->engine != NULL)
        ask_status (self);
      return;
    }
  self->running = n;
  g_signal_emit (self, changed_signal, 0);
}

/* @engine is taken. */
static void
become (OwSharedEngine *self,
        OwEngineRole    role,
        OwEngine       *engine)
{
  self->joining = FALSE;
  self->until_us = 0;
  self->engine = engine;
  self->role = role;
  self->running = 0;
  if (role == OW_ENGINE_ALONE)
    {
      g_signal_connect (engine, "event", G_CALLBACK (on_event), self);
      g_signal_connect (engine, "running", G_CALLBACK (on_running), self);
    }
  ow_engine_follow_set_engine (self->follow, engine);
  ask_status (self);
  finish_tasks (self->opening, NULL);
  ow_engine_calls_set_engine (self->calls, self->engine);
  g_signal_emit (self, changed_signal, 0);
}

/* @error is taken. */
static void
give_up (OwSharedEngine *self,
         GError         *error)
{
  g_autoptr (GError) owned = error;

  self->joining = FALSE;
  self->until_us = 0;
  finish_tasks (self->opening, owned);
  ow_engine_calls_end (self->calls, owned);
}

static void
drop_engine (OwSharedEngine *self)
{
  g_autoptr (OwEngine) engine = g_steal_pointer (&self->engine);

  ow_engine_follow_set_engine (self->follow, NULL);
  ow_engine_calls_set_engine (self->calls, NULL);
  self->role = OW_ENGINE_NONE;
  self->running = 0;
  g_clear_pointer (&self->notice, g_free);
  if (engine == NULL)
    return;
  g_signal_handlers_disconnect_by_data (engine, self);
  if (OW_IS_REMOTE_ENGINE (engine))
    ow_remote_engine_close (OW_REMOTE_ENGINE (engine));
}

static void
on_lost (OwRemoteEngine *remote,
         const char     *reason,
         OwSharedEngine *self)
{
  if (self->engine != OW_ENGINE (remote))
    return;
  drop_engine (self);
  self->again = TRUE;
  begin_join (self);
  g_signal_emit (self, changed_signal, 0);
}

/* What the engine answers is not what it has to: there is no going on with it. */
static void
on_garbage (OwEngineFollow *follow,
            OwSharedEngine *self)
{
  if (self->role == OW_ENGINE_CLIENT)
    on_lost (OW_REMOTE_ENGINE (self->engine), NULL, self);
}

static void
on_follow_event (OwEngineFollow *follow,
                 OwEvent        *event,
                 OwSharedEngine *self)
{
  g_signal_emit_by_name (self, "event", event);
}

/* --- joining --- */

static gboolean
on_retry (gpointer user_data)
{
  OwSharedEngine *self = user_data;

  ow_source_clear (&self->retry);
  self->joining = FALSE;
  begin_join (self);
  return G_SOURCE_REMOVE;
}

static const char *
name_face (OwFaceKind kind)
{
  return kind == OW_FACE_WINDOW ? "window" : "command";
}

static void
on_remote_open (GObject      *source,
                GAsyncResult *result,
                gpointer      user_data)
{
  g_autoptr (OwSharedEngine) self = user_data;
  OwEngine *engine = OW_ENGINE (source);
  GError *error = NULL;
  gboolean good = ow_remote_engine_open_finish (OW_REMOTE_ENGINE (source), result, &error);

  if (self->coming != engine)
    {
      g_clear_error (&error);
      return;
    }
  if (good)
    {
      become (self, OW_ENGINE_CLIENT, g_steal_pointer (&self->coming));
      return;
    }
  g_signal_handlers_disconnect_by_data (engine, self);
  g_clear_object (&self->coming);
  /* It may just be ending; that it will not have us does not change. */
  if (g_error_matches (error, OW_ERROR, OW_ERROR_REFUSED) ||
      g_get_monotonic_time () >= self->until_us)
    {
      give_up (self, error);
      return;
    }
  g_clear_error (&error);
  self->retry = ow_source_timeout (RETRY_MS, on_retry, self, NULL);
}

/* The connection holds the only references to its streams. */
static void
open_remote (OwSharedEngine *self,
             OwEngineJoin   *join)
{
  GError *error = NULL;
  g_autoptr (GSocket) socket = g_socket_new_from_fd (join->socket, &error);
  g_autoptr (GSocketConnection) connection = NULL;
  OwRemoteEngine *remote;

  if (socket == NULL)
    {
      give_up (self, error);
      return;
    }
  join->socket = -1;
  connection = g_socket_connection_factory_create_connection (socket);
  remote = ow_remote_engine_new (G_IO_STREAM (connection), name_face (self->kind));
  self->coming = OW_ENGINE (remote);
  g_signal_connect (remote, "event", G_CALLBACK (on_event), self);
  g_signal_connect (remote, "lost", G_CALLBACK (on_lost), self);
  ow_remote_engine_open_async (remote, on_remote_open, g_object_ref (self));
}

static void
on_thread_started (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwSharedEngine) self = user_data;
  GError *error = NULL;
  gboolean good = ow_engine_thread_start_finish (OW_ENGINE_THREAD (source), result, &error);

  if (self->coming != OW_ENGINE (source))
    g_clear_error (&error);
  else if (good)
    become (self, OW_ENGINE_HOST, g_steal_pointer (&self->coming));
  else
    {
      g_signal_handlers_disconnect_by_data (source, self);
      g_object_run_dispose (source);
      g_clear_object (&self->coming);
      give_up (self, error);
    }
}

static const char *
name_host (OwFaceKind kind)
{
  if (kind == OW_FACE_UP)
    return "up";
  return kind == OW_FACE_WINDOW ? "window" : "command";
}

static void
open_thread (OwSharedEngine *self,
             OwEngineJoin   *join)
{
  GError *error = NULL;
  g_autofree char *id = ow_random_hex (RUN_BYTES, &error);
  OwEngineThread *thread;

  if (id == NULL)
    {
      give_up (self, error);
      return;
    }
  thread = ow_engine_thread_new (name_host (self->kind), id, join->lock, join->socket, join->path);
  join->lock = -1;
  join->socket = -1;
  self->coming = OW_ENGINE (thread);
  g_signal_connect (thread, "event", G_CALLBACK (on_event), self);
  g_signal_connect (thread, "running", G_CALLBACK (on_running), self);
  ow_engine_thread_start_async (thread, on_thread_started, g_object_ref (self));
}

static void
on_joined (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwSharedEngine) self = user_data;
  GError *error = NULL;
  g_autoptr (OwEngineJoin) join = ow_engine_join_finish (result, &error);

  if (g_cancellable_is_cancelled (self->leaving) || self->closed)
    {
      g_clear_error (&error);
      if (!self->closed)
        finish_closing (self);
    }
  else if (join == NULL)
    give_up (self, error);
  else if (join->role == OW_ENGINE_HOST)
    open_thread (self, join);
  else if (join->role == OW_ENGINE_CLIENT)
    open_remote (self, join);
  else
    become (self, OW_ENGINE_ALONE, OW_ENGINE (ow_local_engine_new ()));
}

static void
begin_join (OwSharedEngine *self)
{
  if (self->joining || self->closed || self->role != OW_ENGINE_NONE ||
      g_cancellable_is_cancelled (self->leaving))
    return;
  self->joining = TRUE;
  /* Tries follow each other in the time of the first. */
  if (self->until_us == 0)
    self->until_us = g_get_monotonic_time () + JOIN_US;
  ow_engine_join_async (self->kind, self->until_us, self->again, self->leaving, on_joined,
                        g_object_ref (self));
}

void
ow_shared_engine_open_async (OwSharedEngine      *self,
                             GCancellable        *cancellable,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_shared_engine_open_async);
  if (self->closed)
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_INTERRUPTED, "The engine was left.");
  else if (self->role != OW_ENGINE_NONE)
    g_task_return_boolean (task, TRUE);
  else
    {
      g_ptr_array_add (self->opening, g_steal_pointer (&task));
      begin_join (self);
    }
}

gboolean
ow_shared_engine_open_finish (OwSharedEngine  *self,
                              GAsyncResult    *result,
                              GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

OwEngineRole
ow_shared_engine_get_role (OwSharedEngine *self)
{
  g_return_val_if_fail (OW_IS_SHARED_ENGINE (self), OW_ENGINE_NONE);

  return self->role;
}

const char *
ow_shared_engine_get_notice (OwSharedEngine *self)
{
  g_return_val_if_fail (OW_IS_SHARED_ENGINE (self), NULL);

  return self->notice;
}

guint
ow_shared_engine_get_n_running (OwSharedEngine *self)
{
  g_return_val_if_fail (OW_IS_SHARED_ENGINE (self), 0);

  return self->role == OW_ENGINE_HOST || self->role == OW_ENGINE_ALONE ? self->running : 0;
}

/* --- leaving --- */

static void
finish_closing (OwSharedEngine *self)
{
  g_autoptr (GError) error = NULL;

  self->closed = TRUE;
  drop_engine (self);
  ow_error_set (&error, OW_ERROR_INTERRUPTED, "The engine was left", NULL, NULL);
  finish_tasks (self->opening, error);
  ow_engine_calls_end (self->calls, error);
  finish_tasks (self->closing, NULL);
}

static void
on_thread_closed (GObject      *source,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  g_autoptr (OwSharedEngine) self = user_data;

  ow_engine_thread_close_finish (OW_ENGINE_THREAD (source), result, NULL);
  finish_closing (self);
}

static gboolean
on_alone_settled (gpointer user_data)
{
  OwSharedEngine *self = user_data;
  OwLocalEngine *engine;

  if (self->closed || self->role != OW_ENGINE_ALONE)
    return G_SOURCE_REMOVE;
  engine = OW_LOCAL_ENGINE (self->engine);
  ow_engine_work_park_all (engine, TRUE);
  if (g_hash_table_size (engine->sessions) == 0 && g_hash_table_size (engine->resuming) == 0)
    finish_closing (self);
  return G_SOURCE_REMOVE;
}

static void
on_alone_running (OwLocalEngine  *engine,
                  guint           n,
                  OwSharedEngine *self)
{
  ow_source_idle (G_PRIORITY_DEFAULT, on_alone_settled, g_object_ref (self), g_object_unref);
}

static void
close_alone (OwSharedEngine *self,
             gboolean        park)
{
  OwLocalEngine *engine = OW_LOCAL_ENGINE (self->engine);

  g_signal_handlers_disconnect_by_func (engine, on_alone_running, self);
  g_signal_connect (engine, "running", G_CALLBACK (on_alone_running), self);
  if (park)
    ow_engine_work_park_all (engine, FALSE);
  on_alone_running (engine, 0, self);
}

void
ow_shared_engine_close_async (OwSharedEngine      *self,
                              gboolean             park,
                              GAsyncReadyCallback  callback,
                              gpointer             user_data)
{
  GTask *task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, ow_shared_engine_close_async);
  g_ptr_array_add (self->closing, task);
  /* The place may be taken and not yet be here: it is left when it comes. */
  if (self->joining && self->coming == NULL && self->retry == NULL)
    {
      g_cancellable_cancel (self->leaving);
      return;
    }
  ow_source_clear (&self->retry);
  if (self->coming != NULL)
    {
      g_autoptr (OwEngine) coming = g_steal_pointer (&self->coming);

      g_signal_handlers_disconnect_by_data (coming, self);
      g_object_run_dispose (G_OBJECT (coming));
    }
  if (self->role == OW_ENGINE_HOST)
    ow_engine_thread_close_async (OW_ENGINE_THREAD (self->engine), park, on_thread_closed,
                                  g_object_ref (self));
  else if (self->role == OW_ENGINE_ALONE)
    close_alone (self, park);
  else
    finish_closing (self);
}

gboolean
ow_shared_engine_close_finish (OwSharedEngine  *self,
                               GAsyncResult    *result,
                               GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
ow_shared_engine_dispose (GObject *object)
{
  OwSharedEngine *self = OW_SHARED_ENGINE (object);
  g_autoptr (OwEngine) engine = self->engine != NULL ? g_object_ref (self->engine) : NULL;

  self->closed = TRUE;
  ow_source_clear (&self->retry);
  drop_engine (self);
  if (OW_IS_ENGINE_THREAD (engine))
    g_object_run_dispose (G_OBJECT (engine));
  if (self->coming != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->coming, self);
      g_object_run_dispose (G_OBJECT (self->coming));
    }
  g_clear_object (&self->coming);
  G_OBJECT_CLASS (ow_shared_engine_parent_class)->dispose (object);
}

static void
ow_shared_engine_finalize (GObject *object)
{
  OwSharedEngine *self = OW_SHARED_ENGINE (object);

  g_signal_handlers_disconnect_by_data (self->follow, self);
  g_clear_object (&self->follow);
  g_clear_object (&self->calls);
  g_ptr_array_unref (self->opening);
  g_ptr_array_unref (self->closing);
  g_object_unref (self->leaving);
  g_free (self->notice);
  G_OBJECT_CLASS (ow_shared_engine_parent_class)->finalize (object);
}

static void
ow_shared_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_shared_engine_command_async;
}

static void
ow_shared_engine_class_init (OwSharedEngineClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_shared_engine_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_shared_engine_finalize;

  /* "changed": the role, the notice or the number of running sessions is another one. */
  changed_signal = g_signal_new ("changed", OW_TYPE_SHARED_ENGINE, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_shared_engine_init (OwSharedEngine *self)
{
  self->follow = ow_engine_follow_new ();
  self->calls = ow_engine_calls_new ();
  self->opening = g_ptr_array_new_with_free_func (g_object_unref);
  self->closing = g_ptr_array_new_with_free_func (g_object_unref);
  self->leaving = g_cancellable_new ();
  g_signal_connect (self->follow, "event", G_CALLBACK (on_follow_event), self);
  g_signal_connect (self->follow, "garbage", G_CALLBACK (on_garbage), self);
}

OwSharedEngine *
ow_shared_engine_new (OwFaceKind kind)
{
  OwSharedEngine *self = g_object_new (OW_TYPE_SHARED_ENGINE, NULL);

  self->kind = kind;
  return self;
}
