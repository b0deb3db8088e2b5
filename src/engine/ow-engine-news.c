/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-news-private.h"

#include "base/ow-source.h"

/* Live events that wait; more are left out. */
#define MAX_LIVE 1000
/* Told in one go; then the reader's other sources have their turn. */
#define MAX_TOLD 100

struct _OwEngineNews
{
  GMainContext     *context; /* (owned) the reader's */
  OwEngineNewsFunc  func;
  GObject          *owner;   /* borrowed */

  /* All threads. */
  GMutex            mutex;
  GQueue            items;   /* of OwEngineNewsItem (owned) */
  guint             n_live;
  GSource          *source;  /* (owned) (nullable) that tells them */
};

static void
item_free (gpointer data)
{
  OwEngineNewsItem *item = data;

  g_clear_pointer (&item->event, ow_event_unref);
  g_clear_object (&item->task);
  json_decref (item->result);
  g_clear_error (&item->error);
  g_free (item);
}

OwEngineNewsItem *
ow_engine_news_item_new (void)
{
  OwEngineNewsItem *item = g_new0 (OwEngineNewsItem, 1);

  item->running = -1;
  return item;
}

static gboolean
is_live (const OwEngineNewsItem *item)
{
  return item->event != NULL && ow_event_kind_is_live (ow_event_get_kind (item->event));
}

static OwEngineNewsItem *
take (OwEngineNews *self)
{
  OwEngineNewsItem *item;

  g_mutex_lock (&self->mutex);
  item = g_queue_pop_head (&self->items);
  if (item == NULL)
    g_clear_pointer (&self->source, g_source_unref);
  else if (is_live (item))
    self->n_live--;
  g_mutex_unlock (&self->mutex);
  return item;
}

/* Whoever is told may let go of the owner. */
static gboolean
on_news (gpointer user_data)
{
  OwEngineNews *self = user_data;
  g_autoptr (GObject) owner = g_object_ref (self->owner);

  for (guint i = 0; i < MAX_TOLD; i++)
    {
      OwEngineNewsItem *item = take (self);

      if (item == NULL)
        return G_SOURCE_REMOVE;
      self->func (item, owner);
      item_free (item);
    }
  return G_SOURCE_CONTINUE;
}

void
ow_engine_news_push (OwEngineNews     *self,
                     OwEngineNewsItem *item)
{
  gboolean live = is_live (item);

  g_mutex_lock (&self->mutex);
  if (live && self->n_live >= MAX_LIVE)
    g_clear_pointer (&item, item_free);
  else
    {
      self->n_live += live;
      g_queue_push_tail (&self->items, item);
      if (self->source == NULL)
        {
          self->source = g_idle_source_new ();
          g_source_set_priority (self->source, G_PRIORITY_DEFAULT);
          g_source_set_callback (self->source, on_news, self, NULL);
          g_source_attach (self->source, self->context);
        }
    }
  g_mutex_unlock (&self->mutex);
}

OwEngineNews *
ow_engine_news_new (GMainContext     *context,
                    OwEngineNewsFunc  func,
                    GObject          *owner)
{
  OwEngineNews *self = g_new0 (OwEngineNews, 1);

  self->context = g_main_context_ref (context);
  self->func = func;
  self->owner = owner;
  g_mutex_init (&self->mutex);
  g_queue_init (&self->items);
  return self;
}

void
ow_engine_news_stop (OwEngineNews *self)
{
  ow_source_clear (&self->source);
  g_queue_clear_full (&self->items, item_free);
}

void
ow_engine_news_free (OwEngineNews *self)
{
  ow_engine_news_stop (self);
  g_main_context_unref (self->context);
  g_mutex_clear (&self->mutex);
  g_free (self);
}
