/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-list-private.h"

#include "ow-session-feed-private.h"

/* Events come in bursts; the list is asked for once after each. */
#define REFRESH_MS 250
/* Ends that are kept in mind until the store has them. */
#define MAX_ENDS 256

struct _OwSessionList
{
  GObject       parent_instance;

  OwEngine     *engine;      /* (owned) (nullable) */
  GPtrArray    *items;       /* (owned) of (owned) OwSessionItem */
  GHashTable   *ends;        /* (owned) session → (owned) OwEvent, not known to be stored */
  GCancellable *cancellable; /* (owned) */
  char         *error;       /* (owned) (nullable) */
  guint         timer;       /* source id, 0 when none */
  gboolean      asking;
  gboolean      again;
  gboolean      known;
};

static guint answered_signal;

static void ow_session_list_model_init (GListModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwSessionList, ow_session_list, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL,
                                                      ow_session_list_model_init))

static GType
ow_session_list_get_item_type (GListModel *model)
{
  return OW_TYPE_SESSION_ITEM;
}

static guint
ow_session_list_get_n_items (GListModel *model)
{
  return OW_SESSION_LIST (model)->items->len;
}

static gpointer
ow_session_list_get_item (GListModel *model,
                          guint       position)
{
  OwSessionList *self = OW_SESSION_LIST (model);

  return position < self->items->len
         ? g_object_ref (g_ptr_array_index (self->items, position)) : NULL;
}

static void
ow_session_list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = ow_session_list_get_item_type;
  iface->get_n_items = ow_session_list_get_n_items;
  iface->get_item = ow_session_list_get_item;
}

/* Replaces what differs between the old and the new order: mostly nothing, a new one in
 * front, or one that is gone. */
static void
replace_items (OwSessionList *self,
               GPtrArray     *items)
{
  g_autoptr (GPtrArray) old = g_ptr_array_ref (self->items);
  guint front = 0;
  guint back = 0;

  while (front < old->len && front < items->len &&
         old->pdata[front] == items->pdata[front])
    front++;
  while (back < old->len - front && back < items->len - front &&
         old->pdata[old->len - 1 - back] == items->pdata[items->len - 1 - back])
    back++;

  g_ptr_array_unref (self->items);
  self->items = g_ptr_array_ref (items);
  if (front + back < old->len || front + back < items->len)
    g_list_model_items_changed (G_LIST_MODEL (self), front, old->len - front - back,
                                items->len - front - back);
}

/* The store has a session that could not be stored as one that runs, for good. */
static void
show_end (OwSessionList *self,
          OwSessionItem *item)
{
  OwEvent *end = ow_session_list_get_end (self, ow_session_item_get_id (item));

  ow_session_item_set_end (item, end == NULL ? NULL : ow_event_get_string (end, "outcome"),
                           end == NULL ? NULL : ow_event_get_string (end, "message"));
}

void
ow_session_list_set_rows (OwSessionList *self,
                          const json_t  *rows)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) placed = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < self->items->len; i++)
    {
      OwSessionItem *item = g_ptr_array_index (self->items, i);

      g_hash_table_insert (known, (gpointer) ow_session_item_get_id (item), item);
    }
  for (size_t i = 0; i < json_array_size (rows); i++)
    {
      const json_t *row = json_array_get (rows, i);
      const char *id = ow_json_get_string (row, "session", NULL);
      OwSessionItem *item = id == NULL ? NULL : g_hash_table_lookup (known, id);

      if (id == NULL || !g_hash_table_add (placed, (gpointer) id))
        continue;
      if (item != NULL)
        ow_session_item_update (item, row);
      /* Stored after all. */
      if (g_strcmp0 (ow_json_get_string (row, "state", ""), "running") != 0)
        g_hash_table_remove (self->ends, id);
      g_ptr_array_add (items, item != NULL ? g_object_ref (item) : ow_session_item_new (row));
      show_end (self, items->pdata[items->len - 1]);
    }
  replace_items (self, items);
}

static void
on_listed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwSessionList) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  self->asking = FALSE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_pointer (&self->error, g_free);
  if (value == NULL)
    self->error = g_strdup (error->message);
  else
    {
      self->known = TRUE;
      ow_session_list_set_rows (self, json_object_get (value, "sessions"));
    }
  json_decref (value);
  g_signal_emit (self, answered_signal, 0);
  if (self->again)
    ow_session_list_refresh (self);
}

void
ow_session_list_refresh (OwSessionList *self)
{
  self->again = self->asking;
  if (self->asking)
    return;
  self->asking = TRUE;
  ow_engine_command_async (self->engine, "session.list", json_object (), self->cancellable,
                           on_listed, g_object_ref (self));
}

static gboolean
on_timer (gpointer user_data)
{
  OwSessionList *self = user_data;

  self->timer = 0;
  ow_session_list_refresh (self);
  return G_SOURCE_REMOVE;
}

/* Whether or not the list can still be asked for. */
static void
take_end (OwSessionList *self,
          OwEvent       *event)
{
  const char *session = ow_event_get_session (event);
  guint position = ow_session_list_find (self, session);

  if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED)
    {
      if (g_hash_table_size (self->ends) >= MAX_ENDS)
        g_hash_table_remove_all (self->ends);
      g_hash_table_insert (self->ends, g_strdup (session), ow_event_ref (event));
    }
  else if (ow_session_feed_goes_on (event, ow_session_list_get_end (self, session)))
    g_hash_table_remove (self->ends, session);
  else
    return;
  if (position != G_MAXUINT)
    show_end (self, self->items->pdata[position]);
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  OwSessionList *self = user_data;

  take_end (self, event);
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
    case OW_EVENT_SESSION_RESUMED:
    case OW_EVENT_USER_MESSAGE:
    case OW_EVENT_CONSENT_ASKED:
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_WALL:
    case OW_EVENT_TURN_ENDED:
    case OW_EVENT_SESSION_ENDED:
      if (self->timer == 0)
        self->timer = g_timeout_add (REFRESH_MS, on_timer, self);
      break;
    case OW_EVENT_MODEL_TEXT:
    case OW_EVENT_MODEL_MESSAGE:
    case OW_EVENT_TOOL_ASKED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_TOOL_ENDED:
    case OW_EVENT_HOST_DECISION:
    case OW_EVENT_FOLDERS_CHANGED:
    case OW_EVENT_EXECUTABLE_SETTINGS:
    case OW_EVENT_NOTICE:
    case OW_EVENT_N_TYPES:
    default:
      break;
    }
}

static void
ow_session_list_dispose (GObject *object)
{
  OwSessionList *self = OW_SESSION_LIST (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  if (self->engine != NULL)
    g_signal_handlers_disconnect_by_data (self->engine, self);
  g_clear_object (&self->engine);

  G_OBJECT_CLASS (ow_session_list_parent_class)->dispose (object);
}

static void
ow_session_list_finalize (GObject *object)
{
  OwSessionList *self = OW_SESSION_LIST (object);

  g_clear_object (&self->cancellable);
  g_hash_table_unref (self->ends);
  g_ptr_array_unref (self->items);
  g_free (self->error);

  G_OBJECT_CLASS (ow_session_list_parent_class)->finalize (object);
}

static void
ow_session_list_class_init (OwSessionListClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_session_list_dispose;
  object_class->finalize = ow_session_list_finalize;

  /* The engine has told its list, or the error is another one. */
  answered_signal = g_signal_new ("answered", OW_TYPE_SESSION_LIST, G_SIGNAL_RUN_LAST, 0,
                                  NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_session_list_init (OwSessionList *self)
{
  self->items = g_ptr_array_new_with_free_func (g_object_unref);
  self->ends = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                      (GDestroyNotify) ow_event_unref);
  self->cancellable = g_cancellable_new ();
}

OwSessionList *
ow_session_list_new (OwEngine *engine)
{
  OwSessionList *self = g_object_new (OW_TYPE_SESSION_LIST, NULL);

  if (engine != NULL)
    {
      self->engine = g_object_ref (engine);
      g_signal_connect (engine, "event", G_CALLBACK (on_event), self);
    }
  return self;
}

gboolean
ow_session_list_is_known (OwSessionList *self)
{
  return self->known;
}

const char *
ow_session_list_get_error (OwSessionList *self)
{
  return self->error;
}

OwEvent *
ow_session_list_get_end (OwSessionList *self,
                         const char    *session)
{
  return g_hash_table_lookup (self->ends, session);
}

void
ow_session_list_drop_end (OwSessionList *self,
                          const char    *session)
{
  g_hash_table_remove (self->ends, session);
}

guint
ow_session_list_find (OwSessionList *self,
                      const char    *session)
{
  for (guint i = 0; i < self->items->len; i++)
    if (g_strcmp0 (ow_session_item_get_id (self->items->pdata[i]), session) == 0)
      return i;
  return G_MAXUINT;
}
