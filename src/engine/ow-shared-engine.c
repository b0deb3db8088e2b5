/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "engine/ow-shared-engine.h"

#include <sys/resource.h>

#include "base/ow-error.h"
#include "engine/ow-local-engine.h"

struct _OwSharedEngine
{
  GObject       parent_instance;

  OwFaceKind    kind;
  OwEngineRole  role;
  OwEngine     *engine; /* (owned) (nullable) what commands go to */
  char         *notice; /* (owned) (nullable) */
};

static void ow_shared_engine_iface_init (OwEngineInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwSharedEngine, ow_shared_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_shared_engine_iface_init))

static guint changed_signal;

void
ow_shared_engine_prepare_process (void)
{
  const struct rlimit no_core = { 0, 0 };

  /* Core files would hold what a session saw. */
  setrlimit (RLIMIT_CORE, &no_core);
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  g_signal_emit_by_name (user_data, "event", event);
}

static void
set_engine (OwSharedEngine *self,
            OwEngine       *engine,
            OwEngineRole    role)
{
  self->engine = engine;
  self->role = role;
  g_signal_connect_object (engine, "event", G_CALLBACK (on_event), self, 0);
  g_signal_emit (self, changed_signal, 0);
}

void
ow_shared_engine_open_async (OwSharedEngine      *self,
                             GCancellable        *cancellable,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_shared_engine_open_async);
  if (self->engine == NULL)
    set_engine (self, OW_ENGINE (ow_local_engine_new ()), OW_ENGINE_ALONE);
  g_task_return_boolean (task, TRUE);
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

  return 0;
}

void
ow_shared_engine_close_async (OwSharedEngine      *self,
                              gboolean             park,
                              GAsyncReadyCallback  callback,
                              gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, ow_shared_engine_close_async);
  self->role = OW_ENGINE_NONE;
  g_clear_object (&self->engine);
  g_task_return_boolean (task, TRUE);
}

gboolean
ow_shared_engine_close_finish (OwSharedEngine  *self,
                               GAsyncResult    *result,
                               GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
command_done (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value != NULL)
    g_task_return_pointer (task, value, (GDestroyNotify) json_decref);
  else
    g_task_return_error (task, g_steal_pointer (&error));
}

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

  g_task_set_source_tag (task, ow_shared_engine_command_async);
  g_task_set_check_cancellable (task, FALSE);
  if (self->engine == NULL)
    set_engine (self, OW_ENGINE (ow_local_engine_new ()), OW_ENGINE_ALONE);
  ow_engine_command_async (self->engine, command, params, cancellable, command_done,
                           g_steal_pointer (&task));
}

static json_t *
ow_shared_engine_command_finish (OwEngine      *engine,
                                 GAsyncResult  *result,
                                 GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
ow_shared_engine_finalize (GObject *object)
{
  OwSharedEngine *self = OW_SHARED_ENGINE (object);

  g_clear_object (&self->engine);
  g_free (self->notice);
  G_OBJECT_CLASS (ow_shared_engine_parent_class)->finalize (object);
}

static void
ow_shared_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_shared_engine_command_async;
  iface->command_finish = ow_shared_engine_command_finish;
}

static void
ow_shared_engine_class_init (OwSharedEngineClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_shared_engine_finalize;

  changed_signal = g_signal_new ("changed", OW_TYPE_SHARED_ENGINE, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_shared_engine_init (OwSharedEngine *self)
{
}

OwSharedEngine *
ow_shared_engine_new (OwFaceKind kind)
{
  OwSharedEngine *self = g_object_new (OW_TYPE_SHARED_ENGINE, NULL);

  self->kind = kind;
  return self;
}
