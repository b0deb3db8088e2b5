/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-thread-private.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-source.h"
#include "ow-engine-listener-private.h"
#include "ow-engine-news-private.h"
#include "ow-engine-place-private.h"
#include "ow-local-engine-private.h"

/* The last words to clients may take this long. */
#define FLUSH_ROUNDS 100
#define FLUSH_MS     20

struct _OwEngineThread
{
  GObject parent_instance;

  const char    *host;
  char          *id;          /* (owned) */
  char          *path;        /* (owned) (nullable) */
  int            lock;
  int            socket;
  OwEngineNews  *news;        /* (owned) what the thread has to tell the face */
  GThread       *thread;      /* (owned) (nullable) */
  GMainContext  *context;     /* (owned) the thread's */
  GMainLoop     *loop;        /* (owned) of it */
  GPtrArray     *closing;     /* (owned) of GTask */
  GHashTable    *open;        /* (owned) of GTask: what the thread has to answer */

  /* The thread's own. */
  OwLocalEngine    *engine;   /* (owned) */
  OwEngineListener *listener; /* (owned) */
  gboolean          ending;
  guint             rounds;
};

static void ow_engine_thread_iface_init (OwEngineInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwEngineThread, ow_engine_thread, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_engine_thread_iface_init))

static guint running_signal;

/* --- out of the thread --- */

static void
end_task (GTask            *task,
          OwEngineNewsItem *item)
{
  if (item->error != NULL)
    g_task_return_error (task, g_steal_pointer (&item->error));
  else if (item->result != NULL)
    g_task_return_pointer (task, g_steal_pointer (&item->result), (GDestroyNotify) json_decref);
  else
    g_task_return_boolean (task, TRUE);
}

/* The thread has ended, or is about to: nothing of it is left when this returns. */
static void
join (OwEngineThread *self)
{
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
  if (self->lock >= 0)
    close (g_steal_fd (&self->lock));
}

/* Whoever is told may give another command, which changes the table. */
static void
end_open (OwEngineThread *self)
{
  GHashTableIter iter;
  gpointer key;

  for (;;)
    {
      g_autoptr (GTask) task = NULL;

      g_hash_table_iter_init (&iter, self->open);
      if (!g_hash_table_iter_next (&iter, &key, NULL))
        return;
      task = g_object_ref (key);
      g_hash_table_iter_remove (&iter);
      g_task_return_new_error (task, OW_ERROR, OW_ERROR_INTERRUPTED,
                               "The engine ended before it answered.");
    }
}

static void
tell_over (OwEngineThread *self)
{
  join (self);
  end_open (self);
  while (self->closing->len > 0)
    {
      g_autoptr (GTask) task = g_ptr_array_steal_index (self->closing, 0);

      g_task_return_boolean (task, TRUE);
    }
}

static void
on_news (OwEngineNewsItem *item,
         gpointer          owner)
{
  OwEngineThread *self = owner;

  if (item->event != NULL)
    g_signal_emit_by_name (self, "event", item->event);
  else if (item->task != NULL)
    {
      if (g_hash_table_remove (self->open, item->task))
        end_task (item->task, item);
    }
  else if (item->running >= 0)
    g_signal_emit (self, running_signal, 0, (guint) item->running);
  else if (item->over)
    tell_over (self);
}

/* @task, @result and @error are taken. */
static void
push_end (OwEngineThread *self,
          GTask          *task,
          json_t         *result,
          GError         *error)
{
  OwEngineNewsItem *item = ow_engine_news_item_new ();

  item->task = task;
  item->result = result;
  item->error = error;
  ow_engine_news_push (self->news, item);
}

/* --- in the thread --- */

static void
on_event (OwLocalEngine  *engine,
          OwEvent        *event,
          OwEngineThread *self)
{
  OwEngineNewsItem *item = ow_engine_news_item_new ();

  item->event = ow_event_ref (event);
  ow_engine_news_push (self->news, item);
}

static gboolean
on_flushed (gpointer user_data)
{
  OwEngineThread *self = user_data;

  if (++self->rounds < FLUSH_ROUNDS && ow_engine_listener_is_flushing (self->listener))
    return G_SOURCE_CONTINUE;
  g_main_loop_quit (self->loop);
  return G_SOURCE_REMOVE;
}

/* The name goes before the lock does: whoever has the lock next finds none, or a dead one's. */
static void
leave (OwEngineThread *self)
{
  g_autoptr (GSource) source = NULL;

  if (self->rounds > 0)
    return;
  self->rounds = 1;
  if (self->path != NULL)
    ow_engine_place_leave (self->path, self->lock);
  ow_engine_listener_close (self->listener);
  source = ow_source_timeout (FLUSH_MS, on_flushed, self, NULL);
}

static gboolean
on_settled (gpointer user_data)
{
  OwEngineThread *self = user_data;

  ow_engine_work_park_all (self->engine, TRUE);
  if (g_hash_table_size (self->engine->sessions) == 0 &&
      g_hash_table_size (self->engine->resuming) == 0)
    leave (self);
  return G_SOURCE_REMOVE;
}

static void
on_running (OwLocalEngine  *engine,
            guint           n,
            OwEngineThread *self)
{
  OwEngineNewsItem *item = ow_engine_news_item_new ();

  item->running = (gint) n;
  ow_engine_news_push (self->news, item);
  /* Not from inside a session's own event. */
  if (self->ending)
    ow_source_idle (G_PRIORITY_DEFAULT, on_settled, self, NULL);
}

static void
set_up (OwEngineThread *self)
{
  self->engine = ow_local_engine_new ();
  ow_local_engine_set_host (self->engine, self->host);
  g_signal_connect (self->engine, "event", G_CALLBACK (on_event), self);
  g_signal_connect (self->engine, "running", G_CALLBACK (on_running), self);
  self->listener = ow_engine_listener_new (self->engine, self->id, g_steal_fd (&self->socket));
}

/* What was cancelled gets to its end; the sessions that are left end with their objects. */
static void
tear_down (OwEngineThread *self)
{
  ow_engine_listener_close (self->listener);
  g_signal_handlers_disconnect_by_data (self->engine, self);
  g_object_run_dispose (G_OBJECT (self->engine));
  for (guint i = 0; i < 1000 && g_main_context_iteration (self->context, FALSE); i++)
    ;
  g_clear_object (&self->listener);
  g_clear_object (&self->engine);
}

static gpointer
run (gpointer user_data)
{
  OwEngineThread *self = user_data;
  OwEngineNewsItem *item;

  g_main_context_push_thread_default (self->context);
  /* It ends after all that is started in it. */
  ow_process_set_thread_stays ();
  set_up (self);
  g_main_loop_run (self->loop);
  tear_down (self);
  g_main_context_pop_thread_default (self->context);
  item = ow_engine_news_item_new ();
  item->over = TRUE;
  ow_engine_news_push (self->news, item);
  return NULL;
}

static void
on_up (GObject      *source,
       GAsyncResult *result,
       gpointer      user_data)
{
  GTask *task = user_data;
  OwEngineThread *self = g_task_get_source_object (task);
  GError *error = NULL;

  /* Who came meanwhile has waited: an engine that does not know yet what it does where nothing
   * is set would refuse. */
  if (ow_engine_up_finish (OW_LOCAL_ENGINE (source), result, &error))
    ow_engine_listener_start (self->listener);
  push_end (self, task, NULL, error);
}

static gboolean
start_inside (gpointer user_data)
{
  GTask *task = user_data;
  OwEngineThread *self = g_task_get_source_object (task);

  if (g_str_equal (self->host, "up"))
    ow_engine_up_async (self->engine, on_up, task);
  else
    {
      ow_engine_listener_start (self->listener);
      push_end (self, task, NULL, NULL);
    }
  return G_SOURCE_REMOVE;
}

typedef struct
{
  OwEngineThread *self; /* borrowed: it waits for the thread's end */
  GTask     *task;    /* (owned) until it is ended */
  char      *command; /* (owned) (nullable) */
  json_t    *params;  /* (owned) (nullable) */
  gboolean   park;
} Order;

static void
order_free (gpointer data)
{
  Order *order = data;

  g_free (order->command);
  json_decref (order->params);
  g_free (order);
}

static void
on_command_done (GObject      *source,
                 GAsyncResult *result,
                 gpointer      user_data)
{
  GTask *task = user_data;
  GError *error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  push_end (g_task_get_source_object (task), task, value, error);
}

static gboolean
command_inside (gpointer user_data)
{
  Order *order = user_data;
  OwEngineThread *self = g_task_get_source_object (order->task);

  ow_engine_command_async (OW_ENGINE (self->engine), order->command,
                           g_steal_pointer (&order->params),
                           g_task_get_cancellable (order->task), on_command_done, order->task);
  return G_SOURCE_REMOVE;
}

static gboolean
close_inside (gpointer user_data)
{
  Order *order = user_data;
  OwEngineThread *self = order->self;

  self->ending = TRUE;
  if (order->park)
    ow_engine_work_park_all (self->engine, FALSE);
  return on_settled (self);
}

/* --- into the thread --- */

static void
send_inside (OwEngineThread *self,
             GSourceFunc     func,
             gpointer        user_data,
             GDestroyNotify  notify)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, user_data, notify);
  g_source_attach (source, self->context);
}

/* The thread ends @task by push_end(). */
static GTask *
open_task (OwEngineThread      *self,
           GCancellable        *cancellable,
           GAsyncReadyCallback  callback,
           gpointer             user_data,
           gpointer             tag)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, tag);
  g_task_set_check_cancellable (task, FALSE);
  g_hash_table_add (self->open, g_object_ref (task));
  if (self->thread == NULL)
    end_open (self);
  return task;
}

static Order *
order_new (OwEngineThread *self,
           GTask          *task)
{
  Order *order = g_new0 (Order, 1);

  order->self = self;
  order->task = task;
  return order;
}

void
ow_engine_thread_start_async (OwEngineThread      *self,
                              GAsyncReadyCallback  callback,
                              gpointer             user_data)
{
  GTask *task;
  GError *error = NULL;

  self->thread = g_thread_try_new ("engine", run, self, &error);
  if (self->thread == NULL)
    {
      g_task_report_error (self, callback, user_data, ow_engine_thread_start_async, error);
      return;
    }
  task = open_task (self, NULL, callback, user_data, ow_engine_thread_start_async);
  send_inside (self, start_inside, task, NULL);
}

gboolean
ow_engine_thread_start_finish (OwEngineThread  *self,
                               GAsyncResult    *result,
                               GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

void
ow_engine_thread_close_async (OwEngineThread      *self,
                              gboolean             park,
                              GAsyncReadyCallback  callback,
                              gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  Order *order;

  g_task_set_source_tag (task, ow_engine_thread_close_async);
  if (self->thread == NULL)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  g_ptr_array_add (self->closing, g_steal_pointer (&task));
  order = order_new (self, NULL);
  order->park = park;
  send_inside (self, close_inside, order, order_free);
}

gboolean
ow_engine_thread_close_finish (OwEngineThread  *self,
                               GAsyncResult    *result,
                               GError         **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

static void
ow_engine_thread_command_async (OwEngine            *engine,
                                const char          *command,
                                json_t              *params,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  OwEngineThread *self = OW_ENGINE_THREAD (engine);
  Order *order = order_new (self, open_task (self, cancellable, callback, user_data,
                                             ow_engine_thread_command_async));

  order->command = g_strdup (command);
  order->params = params;
  send_inside (self, command_inside, order, order_free);
}

static gboolean
quit_inside (gpointer user_data)
{
  OwEngineThread *self = user_data;

  if (self->path != NULL)
    ow_engine_place_leave (self->path, self->lock);
  g_main_loop_quit (self->loop);
  return G_SOURCE_REMOVE;
}

static void
ow_engine_thread_dispose (GObject *object)
{
  OwEngineThread *self = OW_ENGINE_THREAD (object);

  if (self->thread != NULL)
    send_inside (self, quit_inside, self, NULL);
  join (self);
  end_open (self);
  ow_engine_news_stop (self->news);
  G_OBJECT_CLASS (ow_engine_thread_parent_class)->dispose (object);
}

static void
ow_engine_thread_finalize (GObject *object)
{
  OwEngineThread *self = OW_ENGINE_THREAD (object);

  ow_engine_news_free (self->news);
  g_ptr_array_unref (self->closing);
  g_hash_table_unref (self->open);
  if (self->socket >= 0)
    close (self->socket);
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_free (self->id);
  g_free (self->path);
  G_OBJECT_CLASS (ow_engine_thread_parent_class)->finalize (object);
}

static void
ow_engine_thread_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_engine_thread_command_async;
}

static void
ow_engine_thread_class_init (OwEngineThreadClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_engine_thread_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_engine_thread_finalize;

  /* "running" (guint n): how many sessions run that would end with it. */
  running_signal = g_signal_new ("running", OW_TYPE_ENGINE_THREAD, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void
ow_engine_thread_init (OwEngineThread *self)
{
  g_autoptr (GMainContext) face = g_main_context_ref_thread_default ();

  self->lock = -1;
  self->socket = -1;
  self->news = ow_engine_news_new (face, on_news, G_OBJECT (self));
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  self->closing = g_ptr_array_new_with_free_func (g_object_unref);
  self->open = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
}

OwEngineThread *
ow_engine_thread_new (const char *host,
                      const char *id,
                      int         lock,
                      int         socket,
                      const char *path)
{
  OwEngineThread *self = g_object_new (OW_TYPE_ENGINE_THREAD, NULL);

  self->host = host;
  self->id = g_strdup (id);
  self->lock = lock;
  self->socket = socket;
  self->path = g_strdup (path);
  return self;
}
