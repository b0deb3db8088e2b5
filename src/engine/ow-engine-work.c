/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"

static gboolean
has_ended (OwSession *session)
{
  OwEventList *events = ow_session_get_events (session);
  guint n = ow_event_list_get_n (events);

  return n > 0 && ow_event_get_kind (ow_event_list_get (events, n - 1)) == OW_EVENT_SESSION_ENDED;
}

/* A turn is over when its event says so; what begins one has no event of its own. */
static void
on_appended (OwEventList  *list,
             OwEvent      *event,
             OwEngineWork *work)
{
  OwEventType kind = ow_event_get_kind (event);
  gboolean was_busy = work->busy;

  if (kind == OW_EVENT_USER_MESSAGE)
    work->busy = TRUE;
  else if (kind == OW_EVENT_TURN_ENDED)
    work->busy = FALSE;
  g_signal_emit_by_name (work->engine, "event", event);
  if (work->busy != was_busy)
    ow_local_engine_tell_running (work->engine);
}

void
ow_engine_work_free (gpointer data)
{
  OwEngineWork *work = data;

  g_signal_handlers_disconnect_by_data (ow_session_get_events (work->session), work);
  g_cancellable_cancel (work->cancellable);
  g_clear_object (&work->cancellable);
  g_clear_object (&work->session);
  g_free (work);
}

/* A session whose events cannot be stored has no last event of its own; faces wait for one
 * all the same. It has no number, because it is in no list. */
static void
announce_unstored_end (OwLocalEngine *self,
                       const char    *session,
                       const GError  *error)
{
  g_autoptr (OwEvent) event = NULL;

  event = ow_event_new (OW_EVENT_SESSION_ENDED, session,
                        json_pack ("{s:s, s:i, s:s}", "outcome", "failed",
                                   "exit", ow_error_exit_status (error),
                                   "message", error->message));
  g_signal_emit_by_name (self, "event", event);
}

void
ow_engine_work_drop (OwLocalEngine *self,
                     OwSession     *session)
{
  g_autofree char *id = g_strdup (ow_session_get_id (session));
  OwEngineWork *work = g_hash_table_lookup (self->sessions, id);

  /* By now the same session may go on, as another one at work. */
  if (work == NULL || work->session != session)
    return;
  g_hash_table_remove (self->sessions, id);
  ow_local_engine_tell_running (self);
}

static void
work_done (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwLocalEngine) self = user_data;
  OwSession *session = OW_SESSION (source);
  g_autofree char *id = g_strdup (ow_session_get_id (session));
  g_autoptr (GError) error = NULL;

  /* How it ended is the session-ended event; the error repeats it. */
  if (g_task_get_source_tag (G_TASK (result)) == ow_session_exec_async)
    ow_session_exec_finish (session, result, NULL, &error);
  else
    ow_session_run_finish (session, result, &error);
  if (error != NULL && !has_ended (session))
    announce_unstored_end (self, id, error);
  ow_engine_work_drop (self, session);
}

OwEngineWork *
ow_engine_work_add (OwLocalEngine *self,
                    OwSession     *session,
                    gboolean       interactive,
                    gboolean       keep)
{
  OwEngineWork *work = g_new0 (OwEngineWork, 1);

  work->engine = self;
  work->cancellable = g_cancellable_new ();
  work->session = g_object_ref (session);
  work->interactive = interactive;
  work->keep = keep;
  g_hash_table_replace (self->sessions, g_strdup (ow_session_get_id (session)), work);
  g_signal_connect (ow_session_get_events (session), "appended", G_CALLBACK (on_appended), work);
  ow_engine_consents_attend (self, work);
  return work;
}

void
ow_engine_work_run (OwEngineWork *work,
                    const char   *task)
{
  OwLocalEngine *self = work->engine;

  work->busy = TRUE;
  ow_session_run_async (work->session, task, work->cancellable, work_done, g_object_ref (self));
  ow_local_engine_tell_running (self);
}

void
ow_engine_work_exec (OwEngineWork        *work,
                     const char * const  *argv)
{
  OwLocalEngine *self = work->engine;

  work->busy = TRUE;
  ow_session_exec_async (work->session, argv, work->cancellable, work_done, g_object_ref (self));
  ow_local_engine_tell_running (self);
}

void
ow_engine_work_park_all (OwLocalEngine *self,
                         gboolean       idle)
{
  g_autoptr (GPtrArray) sessions = g_ptr_array_new_with_free_func (g_object_unref);
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      OwEngineWork *work = value;

      if (!idle || (work->keep && !work->busy))
        g_ptr_array_add (sessions, g_object_ref (work->session));
    }
  for (guint i = 0; i < sessions->len; i++)
    ow_session_end (g_ptr_array_index (sessions, i), TRUE);
}
