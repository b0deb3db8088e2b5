/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-follow-private.h"

#include "base/ow-error.h"

/* Sessions that are kept in mind; beyond that, ended ones are forgotten. */
#define MAX_SESSIONS 4096

typedef struct
{
  char    *session;  /* (owned) the key of the table */
  guint64  last;     /* number of the last event that was told */
  gboolean ended;    /* that was the session's end */
  gboolean asking;
  gboolean more;     /* while it was asked, more came */
} Track;

struct _OwEngineFollow
{
  GObject parent_instance;

  OwEngine   *engine; /* (owned) (nullable) */
  guint       run;    /* counts engines, so that the answer of an earlier one is not used */
  GHashTable *tracks; /* (owned) session → Track */
};

G_DEFINE_FINAL_TYPE (OwEngineFollow, ow_engine_follow, G_TYPE_OBJECT)

static guint event_signal;
static guint garbage_signal;

static void ask (OwEngineFollow *self,
                 Track          *track);

static void
track_free (gpointer data)
{
  Track *track = data;

  g_free (track->session);
  g_free (track);
}

static void
tell (OwEngineFollow *self,
      Track          *track,
      OwEvent        *event)
{
  track->last = ow_event_get_seq (event);
  track->ended = ow_event_get_kind (event) == OW_EVENT_SESSION_ENDED;
  g_signal_emit (self, event_signal, 0, event);
}

static gboolean
is_ended (gpointer key,
          gpointer value,
          gpointer user_data)
{
  const Track *track = value;

  return track->ended && !track->asking;
}

static Track *
track_new (OwEngineFollow *self,
           const char     *session)
{
  Track *track = g_new0 (Track, 1);

  if (g_hash_table_size (self->tracks) >= MAX_SESSIONS)
    g_hash_table_foreach_remove (self->tracks, is_ended, NULL);
  track->session = g_strdup (session);
  g_hash_table_insert (self->tracks, track->session, track);
  return track;
}

void
ow_engine_follow_take (OwEngineFollow *self,
                       OwEvent        *event)
{
  guint64 number = ow_event_get_seq (event);
  Track *track;

  if (number == 0)
    {
      g_signal_emit (self, event_signal, 0, event);
      return;
    }
  track = g_hash_table_lookup (self->tracks, ow_event_get_session (event));
  if (track == NULL)
    {
      /* What was before is for the face to ask for, where it wants it. */
      tell (self, track_new (self, ow_event_get_session (event)), event);
      return;
    }
  if (number <= track->last)
    return;
  if (track->asking)
    track->more = TRUE;
  else if (number == track->last + 1)
    tell (self, track, event);
  else
    ask (self, track);
}

typedef struct
{
  OwEngineFollow *follow;  /* (owned) */
  char           *session; /* (owned) */
  guint           run;
} Question;

static void
question_free (Question *question)
{
  g_object_unref (question->follow);
  g_free (question->session);
  g_free (question);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Question, question_free)

/* FALSE: it is not what was asked for. */
static gboolean
take_answer (OwEngineFollow *self,
             const char     *session,
             const json_t   *result)
{
  json_t *events = json_object_get (result, "events");

  if (!json_is_array (events))
    return FALSE;
  for (size_t i = 0; i < json_array_size (events); i++)
    {
      g_autoptr (OwEvent) event = ow_event_from_json (json_array_get (events, i), NULL);
      Track *track = g_hash_table_lookup (self->tracks, session);

      if (track == NULL)
        return TRUE;
      if (event == NULL || !g_str_equal (ow_event_get_session (event), session) ||
          ow_event_get_seq (event) != track->last + 1)
        return FALSE;
      tell (self, track, event);
    }
  return TRUE;
}

static void
on_answer (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (Question) question = user_data;
  OwEngineFollow *self = question->follow;
  g_autoptr (GError) error = NULL;
  json_t *answer = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  Track *track = g_hash_table_lookup (self->tracks, question->session);
  json_int_t next = ow_json_get_int (answer, "next", 0);
  gboolean good = TRUE;
  guint64 before;

  if (track == NULL || question->run != self->run)
    {
      json_decref (answer);
      return;
    }
  before = track->last;
  if (answer != NULL)
    good = take_answer (self, question->session, answer);
  json_decref (answer);
  track = g_hash_table_lookup (self->tracks, question->session);
  if (track == NULL || question->run != self->run)
    return;
  track->asking = FALSE;
  /* A session that is no more has no more to tell. */
  if (error != NULL)
    g_hash_table_remove (self->tracks, question->session);
  else if (!good || (next != 0 && track->last == before))
    {
      g_hash_table_remove (self->tracks, question->session);
      g_signal_emit (self, garbage_signal, 0);
    }
  else if (next != 0 || track->more)
    ask (self, track);
}

static void
ask (OwEngineFollow *self,
     Track          *track)
{
  Question *question;

  if (self->engine == NULL)
    return;
  track->asking = TRUE;
  track->more = FALSE;
  question = g_new0 (Question, 1);
  question->follow = g_object_ref (self);
  question->session = g_strdup (track->session);
  question->run = self->run;
  ow_engine_command_async (self->engine, "session.show",
                           json_pack ("{s:s, s:I}", "session", track->session,
                                      "from", (json_int_t) track->last + 1),
                           NULL, on_answer, question);
}

void
ow_engine_follow_set_engine (OwEngineFollow *self,
                             OwEngine       *engine)
{
  GHashTableIter iter;
  gpointer value;

  g_set_object (&self->engine, engine);
  self->run++;
  g_hash_table_iter_init (&iter, self->tracks);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Track *track = value;

      track->asking = FALSE;
      if (engine != NULL && !track->ended)
        ask (self, track);
    }
}

static void
ow_engine_follow_dispose (GObject *object)
{
  OwEngineFollow *self = OW_ENGINE_FOLLOW (object);

  g_clear_object (&self->engine);
  self->run++;
  G_OBJECT_CLASS (ow_engine_follow_parent_class)->dispose (object);
}

static void
ow_engine_follow_finalize (GObject *object)
{
  g_hash_table_unref (OW_ENGINE_FOLLOW (object)->tracks);
  G_OBJECT_CLASS (ow_engine_follow_parent_class)->finalize (object);
}

static void
ow_engine_follow_class_init (OwEngineFollowClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_engine_follow_dispose;
  object_class->finalize = ow_engine_follow_finalize;

  /* "event" (OwEvent *event): the next one of its session. */
  event_signal = g_signal_new ("event", OW_TYPE_ENGINE_FOLLOW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                               NULL, G_TYPE_NONE, 1, OW_TYPE_EVENT | G_SIGNAL_TYPE_STATIC_SCOPE);
  /* "garbage": what the engine answered is no list of events. */
  garbage_signal = g_signal_new ("garbage", OW_TYPE_ENGINE_FOLLOW, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
}

static void
ow_engine_follow_init (OwEngineFollow *self)
{
  self->tracks = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, track_free);
}

OwEngineFollow *
ow_engine_follow_new (void)
{
  return g_object_new (OW_TYPE_ENGINE_FOLLOW, NULL);
}
