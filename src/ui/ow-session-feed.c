/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-feed-private.h"

struct _OwSessionFeed
{
  GObject         parent_instance;

  OwEngine       *engine;      /* (owned) */
  char           *session;     /* (owned) */
  OwTranscript   *transcript;  /* (owned) */
  OwSessionFacts *facts;       /* (owned) */
  GCancellable   *cancellable; /* (owned) */
  char           *error;       /* (owned) (nullable) */
  OwEvent        *end;         /* (owned) (nullable) until it stands behind the rest */
  guint64         last;        /* the number of the last event taken */
  guint64         seen;        /* the highest number that was heard of */
  gboolean        asking;
  gboolean        again;       /* ask once more when this answer is there */
  gboolean        loaded;      /* was read to its end once */
  gboolean        end_told;
};

static guint changed_signal;

G_DEFINE_FINAL_TYPE (OwSessionFeed, ow_session_feed, G_TYPE_OBJECT)

static void ask (OwSessionFeed *self);

/* Takes the event when it is the next one. Returns whether the facts are others. */
static gboolean
take (OwSessionFeed *self,
      OwEvent       *event)
{
  guint64 seq = ow_event_get_seq (event);

  self->seen = MAX (self->seen, seq);
  if (ow_session_feed_goes_on (event, self->end))
    g_clear_pointer (&self->end, ow_event_unref);
  /* A live piece of what is not shown yet would stand in front of it. */
  if (seq == 0 && !self->loaded)
    return FALSE;
  if (seq != 0 && seq != self->last + 1)
    return FALSE;

  self->last = MAX (self->last, seq);
  ow_transcript_add (self->transcript, event);
  return ow_session_facts_add (self->facts, event);
}

gboolean
ow_session_feed_goes_on (OwEvent *event,
                         OwEvent *end)
{
  OwEventType kind = ow_event_get_kind (event);

  return end != NULL && (kind == OW_EVENT_SESSION_STARTED || kind == OW_EVENT_SESSION_RESUMED) &&
         ow_event_get_time (event) > ow_event_get_time (end);
}

/* It is the last there is, behind all that has a number. Where that cannot be read, it is told
 * now, and once more behind what can be read later. */
static void
show_end (OwSessionFeed *self)
{
  g_autoptr (OwEvent) end = NULL;

  if (self->end == NULL || self->asking ||
      (!self->loaded && (self->error == NULL || self->end_told)))
    return;
  /* It is in the list after all. */
  if (ow_event_get_seq (self->end) != 0 && ow_event_get_seq (self->end) <= self->last)
    {
      g_clear_pointer (&self->end, ow_event_unref);
      return;
    }
  self->end_told = TRUE;
  end = self->loaded ? g_steal_pointer (&self->end) : ow_event_ref (self->end);
  ow_transcript_add (self->transcript, end);
  if (ow_session_facts_add (self->facts, end))
    g_signal_emit (self, changed_signal, 0);
}

void
ow_session_feed_end (OwSessionFeed *self,
                     OwEvent       *end)
{
  g_clear_pointer (&self->end, ow_event_unref);
  self->end = ow_event_ref (end);
  self->end_told = FALSE;
  show_end (self);
}

static void
on_event (OwEngine *engine,
          OwEvent  *event,
          gpointer  user_data)
{
  OwSessionFeed *self = user_data;

  if (g_strcmp0 (ow_event_get_session (event), self->session) != 0)
    return;
  if (ow_event_get_seq (event) == 0 && ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED)
    {
      ow_session_feed_end (self, event);
      return;
    }
  if (take (self, event))
    g_signal_emit (self, changed_signal, 0);
  if (self->seen > self->last)
    ask (self);
  if (ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED &&
      ow_event_get_seq (event) > self->last)
    ow_session_feed_end (self, event);
}

static void
take_all (OwSessionFeed *self,
          const json_t  *events)
{
  ow_transcript_freeze (self->transcript);
  for (size_t i = 0; i < json_array_size (events); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwEvent) event = ow_event_from_json (json_array_get (events, i), &error);

      if (event == NULL)
        {
          g_free (self->error);
          self->error = g_strdup (error->message);
          break;
        }
      take (self, event);
    }
  ow_transcript_thaw (self->transcript);
}

static void
on_shown (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (OwSessionFeed) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  guint64 before = self->last;

  self->asking = FALSE;
  if (self->engine == NULL)
    {
      json_decref (value);
      return;
    }
  g_clear_pointer (&self->error, g_free);
  if (value == NULL)
    self->error = g_strdup (error->message);
  else
    take_all (self, json_object_get (value, "events"));

  if (value != NULL && self->error == NULL)
    {
      gboolean more = json_object_get (value, "next") != NULL;

      self->loaded = self->loaded || !more;
      /* An answer that brings nothing new is not asked for in a circle. */
      self->again = self->again || ((more || self->seen > self->last) && self->last > before);
    }
  json_decref (value);
  g_signal_emit (self, changed_signal, 0);
  if (self->again)
    ask (self);
  show_end (self);
}

static void
ask (OwSessionFeed *self)
{
  json_t *params;

  self->again = self->asking;
  if (self->asking)
    return;
  self->asking = TRUE;
  params = json_pack ("{s:s}", "session", self->session);
  if (self->last > 0)
    json_object_set_new (params, "from", json_integer ((json_int_t) self->last + 1));
  ow_engine_command_async (self->engine, "session.show", params, self->cancellable, on_shown,
                           g_object_ref (self));
}

void
ow_session_feed_refresh (OwSessionFeed *self)
{
  ask (self);
}

void
ow_session_feed_close (OwSessionFeed *self)
{
  if (self->engine != NULL)
    g_signal_handlers_disconnect_by_data (self->engine, self);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->engine);
}

static void
ow_session_feed_dispose (GObject *object)
{
  ow_session_feed_close (OW_SESSION_FEED (object));

  G_OBJECT_CLASS (ow_session_feed_parent_class)->dispose (object);
}

static void
ow_session_feed_finalize (GObject *object)
{
  OwSessionFeed *self = OW_SESSION_FEED (object);

  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->end, ow_event_unref);
  g_clear_object (&self->transcript);
  g_clear_pointer (&self->facts, ow_session_facts_free);
  g_free (self->session);
  g_free (self->error);

  G_OBJECT_CLASS (ow_session_feed_parent_class)->finalize (object);
}

static void
ow_session_feed_class_init (OwSessionFeedClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_session_feed_dispose;
  object_class->finalize = ow_session_feed_finalize;

  /* The facts or the error are others. */
  changed_signal = g_signal_new ("changed", OW_TYPE_SESSION_FEED, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_session_feed_init (OwSessionFeed *self)
{
  self->transcript = ow_transcript_new ();
  self->facts = ow_session_facts_new ();
  self->cancellable = g_cancellable_new ();
}

OwSessionFeed *
ow_session_feed_new (OwEngine   *engine,
                     const char *session)
{
  OwSessionFeed *self = g_object_new (OW_TYPE_SESSION_FEED, NULL);

  self->engine = g_object_ref (engine);
  self->session = g_strdup (session);
  g_signal_connect (engine, "event", G_CALLBACK (on_event), self);
  ask (self);
  return self;
}

const char *
ow_session_feed_get_session (OwSessionFeed *self)
{
  return self->session;
}

OwTranscript *
ow_session_feed_get_transcript (OwSessionFeed *self)
{
  return self->transcript;
}

OwSessionFacts *
ow_session_feed_get_facts (OwSessionFeed *self)
{
  return self->facts;
}

gboolean
ow_session_feed_is_loading (OwSessionFeed *self)
{
  return !self->loaded && self->error == NULL;
}

const char *
ow_session_feed_get_error (OwSessionFeed *self)
{
  return self->error;
}
