/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "events/ow-event-list.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-event-private.h"

struct _OwEventList
{
  GObject parent_instance;

  char           *session;       /* (owned) */
  GPtrArray      *events;        /* (owned) of OwEvent */
  GQueue          unannounced;   /* of OwEvent, owned */
  gboolean        announcing;
  gboolean        sinking;

  OwEventSink     sink;          /* (nullable) */
  gpointer        sink_data;
  GDestroyNotify  sink_destroy;
};

G_DEFINE_FINAL_TYPE (OwEventList, ow_event_list, G_TYPE_OBJECT)

static guint appended_signal;

static void
drop_sink (OwEventList *self)
{
  GDestroyNotify destroy = g_steal_pointer (&self->sink_destroy);
  gpointer data = g_steal_pointer (&self->sink_data);

  self->sink = NULL;
  if (destroy != NULL)
    destroy (data);
}

static void
ow_event_list_finalize (GObject *object)
{
  OwEventList *self = OW_EVENT_LIST (object);

  drop_sink (self);
  g_queue_clear_full (&self->unannounced, (GDestroyNotify) ow_event_unref);
  g_clear_pointer (&self->events, g_ptr_array_unref);
  g_free (self->session);

  G_OBJECT_CLASS (ow_event_list_parent_class)->finalize (object);
}

static void
ow_event_list_class_init (OwEventListClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_event_list_finalize;

  appended_signal = g_signal_new ("appended", OW_TYPE_EVENT_LIST, G_SIGNAL_RUN_LAST, 0,
                                  NULL, NULL, NULL, G_TYPE_NONE, 1, OW_TYPE_EVENT);
}

static void
ow_event_list_init (OwEventList *self)
{
  self->events = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_event_unref);
  g_queue_init (&self->unannounced);
}

OwEventList *
ow_event_list_new (const char *session)
{
  OwEventList *self = g_object_new (OW_TYPE_EVENT_LIST, NULL);

  self->session = g_strdup (session);

  return self;
}

const char *
ow_event_list_get_session (OwEventList *self)
{
  g_return_val_if_fail (OW_IS_EVENT_LIST (self), NULL);

  return self->session;
}

void
ow_event_list_set_sink (OwEventList    *self,
                        OwEventSink     sink,
                        gpointer        user_data,
                        GDestroyNotify  destroy)
{
  g_return_if_fail (OW_IS_EVENT_LIST (self));

  drop_sink (self);
  self->sink = sink;
  self->sink_data = user_data;
  self->sink_destroy = destroy;
}

gboolean
ow_event_list_restore (OwEventList  *self,
                       OwEvent      *event,
                       GError      **error)
{
  const char *why = NULL;

  g_return_val_if_fail (OW_IS_EVENT_LIST (self), FALSE);

  if (strcmp (ow_event_get_session (event), self->session) != 0)
    why = "it is of another session";
  else if (ow_event_kind_is_live (ow_event_get_kind (event)))
    why = "live output is not stored";
  else if (ow_event_get_seq (event) != (guint64) self->events->len + 1)
    why = "the events do not follow each other";
  if (why != NULL)
    {
      g_autofree char *what = g_strdup_printf ("Cannot restore event %" G_GUINT64_FORMAT
                                               " of session %s", ow_event_get_seq (event),
                                               self->session);

      ow_error_set (error, OW_ERROR_DATA, what, why, NULL);
      return FALSE;
    }

  g_ptr_array_add (self->events, ow_event_ref (event));
  return TRUE;
}

/* A listener may append: its event waits until every listener has seen this one, so
 * that all of them see one order. */
static void
announce (OwEventList *self,
          OwEvent     *event)
{
  g_queue_push_tail (&self->unannounced, ow_event_ref (event));
  if (self->announcing)
    return;

  g_object_ref (self);
  self->announcing = TRUE;
  while (!g_queue_is_empty (&self->unannounced))
    {
      g_autoptr (OwEvent) next = g_queue_pop_head (&self->unannounced);

      g_signal_emit (self, appended_signal, 0, next);
    }
  self->announcing = FALSE;
  g_object_unref (self);
}

static gboolean
give_to_sink (OwEventList  *self,
              OwEvent      *event,
              GError      **error)
{
  gboolean ok;

  if (self->sink == NULL)
    return TRUE;

  self->sinking = TRUE;
  ok = self->sink (event, self->sink_data, error);
  self->sinking = FALSE;

  return ok;
}

OwEvent *
ow_event_list_append (OwEventList  *self,
                      OwEventType   type,
                      json_t       *members,
                      GError      **error)
{
  gboolean stored = !ow_event_kind_is_live (type);
  g_autoptr (OwEvent) event = NULL;

  g_return_val_if_fail (OW_IS_EVENT_LIST (self), NULL);

  if (self->sinking)
    {
      json_decref (members);
      ow_error_set (error, OW_ERROR_FAILED, "Cannot add an event",
                    "another one is being stored", NULL);
      return NULL;
    }

  event = ow_event_new_numbered (type, self->session, members,
                                 stored ? (guint64) self->events->len + 1 : 0, error);
  if (event == NULL)
    return NULL;

  if (stored)
    {
      if (!give_to_sink (self, event, error))
        return NULL;
      g_ptr_array_add (self->events, ow_event_ref (event));
    }
  announce (self, event);

  return g_steal_pointer (&event);
}

gboolean
ow_event_list_append_text (OwEventList  *self,
                           OwEventType   type,
                           const char   *text,
                           GError      **error)
{
  g_autoptr (OwEvent) event = NULL;
  json_t *members = json_object ();

  json_object_set_new (members, "text", json_string (text));
  event = ow_event_list_append (self, type, members, error);

  return event != NULL;
}

guint
ow_event_list_get_n (OwEventList *self)
{
  g_return_val_if_fail (OW_IS_EVENT_LIST (self), 0);

  return self->events->len;
}

OwEvent *
ow_event_list_get (OwEventList *self,
                   guint        index)
{
  g_return_val_if_fail (OW_IS_EVENT_LIST (self), NULL);
  g_return_val_if_fail (index < self->events->len, NULL);

  return g_ptr_array_index (self->events, index);
}
