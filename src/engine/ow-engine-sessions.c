/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "ow-engine-cut-private.h"
#include "ow-engine-model-private.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-folder-answer.h"

/* What waits for its folders to answer, and for its model's key. */
typedef struct
{
  OwLocalEngine  *engine;   /* (owned) */
  OwEngineParams *params;   /* (owned) */
  OwConfig       *config;   /* (owned) */
  OwProviderKind  provider;
  GTask          *task;     /* (owned) */
} Start;

static void
start_free (Start *start)
{
  g_clear_object (&start->engine);
  g_clear_pointer (&start->params, ow_engine_params_free);
  g_clear_object (&start->config);
  g_clear_object (&start->task);
  g_free (start);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Start, start_free)

static Start *
start_new (OwLocalEngine  *self,
           const json_t   *json,
           gboolean        exec,
           GTask          *task,
           GError        **error)
{
  g_autoptr (Start) start = g_new0 (Start, 1);

  start->engine = g_object_ref (self);
  start->task = g_object_ref (task);
  start->params = ow_engine_params_new (json, exec, error);
  if (start->params == NULL)
    return NULL;
  start->config = ow_local_engine_load_config (error);
  if (start->config == NULL)
    return NULL;
  start->provider = start->params->provider;
  if (start->provider == OW_PROVIDER_UNSET)
    start->provider = ow_local_engine_find_provider (self, start->config);
  if (start->provider == OW_PROVIDER_UNSET)
    {
      ow_error_set (error, OW_ERROR_REFUSED,
                    "Nothing is set that says how commands should run on this machine",
                    NULL,
                    "Give --provider bubblewrap (a sandbox) or --provider direct (no sandbox), "
                    "or set sandbox_provider in config.toml.");
      return NULL;
    }
  return g_steal_pointer (&start);
}

static OwEngineWork *
make_work (Start          *start,
           OwEngineModel  *model,
           GError        **error)
{
  OwLocalEngine *self = start->engine;
  OwEngineParams *params = start->params;
  OwSessionOptions options = { 0 };
  g_autoptr (OwSession) session = NULL;

  if (!ow_local_engine_open_records (self, error))
    return NULL;
  options.folders = (const char * const *) params->folders;
  options.provider = start->provider;
  options.profile = ow_config_get_profile (start->config);
  options.extra_hosts = ow_config_get_extra_hosts (start->config);
  if (model != NULL)
    {
      options.model_name = model->name;
      options.base_url = model->base_url;
      options.model = model->model;
    }
  options.approve = params->approve;
  options.record = params->record;
  options.notice = start->provider == OW_PROVIDER_DIRECT ? self->notice : NULL;
  options.keep = params->keep;
  options.parks = params->interactive;
  options.rules = self->rules;
  session = ow_session_new (self->store, self->audit, &options, error);
  if (session == NULL)
    return NULL;
  return ow_engine_work_add (self, session, params->interactive, params->keep);
}

static void
begin (Start         *start,
       OwEngineModel *model)
{
  GError *error = NULL;
  OwEngineWork *work = make_work (start, model, &error);
  json_t *result;

  if (work == NULL)
    {
      g_task_return_error (start->task, error);
      return;
    }
  result = json_pack ("{s:s}", "session", ow_session_get_id (work->session));
  ow_engine_return_json (start->task, result);
  if (start->params->argv != NULL)
    ow_engine_work_exec (work, (const char * const *) start->params->argv);
  else
    ow_engine_work_run (work, start->params->task);
}

static void
on_model (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (Start) start = user_data;
  GError *error = NULL;
  g_autoptr (OwEngineModel) model = ow_engine_model_find_finish (result, &error);

  if (model == NULL)
    g_task_return_error (start->task, error);
  else
    begin (start, model);
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Start) start = user_data;
  OwEngineParams *params = start->params;
  OwConfig *config = start->config;
  GCancellable *cancellable = g_task_get_cancellable (start->task);
  GError *error = NULL;

  if (!ow_folder_answer_finish (result, &error))
    g_task_return_error (start->task, error);
  else if (params->argv != NULL)
    begin (start, NULL);
  else
    ow_engine_model_find_async (config, params->model, params->base_url, cancellable, on_model,
                                g_steal_pointer (&start));
}

static void
start_session (OwLocalEngine *self,
               const json_t  *params,
               gboolean       exec,
               GTask         *task)
{
  GError *error = NULL;
  g_autoptr (Start) start = start_new (self, params, exec, task, &error);
  const char * const *folders;

  if (start == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  folders = (const char * const *) start->params->folders;
  ow_folder_answer_async (folders, g_task_get_cancellable (task), on_answered,
                          g_steal_pointer (&start));
}

void
ow_engine_sessions_start (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  start_session (self, params, FALSE, task);
}

void
ow_engine_sessions_exec (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  start_session (self, params, TRUE, task);
}

/* The session of the parameters, where it is at work; FALSE: the task has ended, they name none. */
static gboolean
find_work (OwLocalEngine  *self,
           const json_t   *params,
           GTask          *task,
           OwEngineWork  **work)
{
  GError *error = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);

  if (id == NULL)
    {
      g_task_return_error (task, error);
      return FALSE;
    }
  *work = g_hash_table_lookup (self->sessions, id);
  return TRUE;
}

void
ow_engine_sessions_stop (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  OwEngineWork *work;
  gboolean stopped = FALSE;

  if (!find_work (self, params, task, &work))
    return;
  if (work != NULL)
    {
      g_autoptr (GCancellable) cancellable = g_object_ref (work->cancellable);
      gboolean keep = work->keep;

      stopped = ow_session_stop_turn (work->session);
      /* Its wall is on the way, or it has one command and no turn. */
      if (!stopped && !keep)
        {
          g_cancellable_cancel (cancellable);
          stopped = TRUE;
        }
    }
  ow_engine_return_json (task, json_pack ("{s:b}", "stopped", stopped));
}

void
ow_engine_sessions_end (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  OwEngineWork *work;

  if (!find_work (self, params, task, &work))
    return;
  if (work != NULL)
    {
      g_autoptr (OwSession) session = g_object_ref (work->session);

      ow_session_end (session, FALSE);
    }
  ow_engine_return_json (task, json_pack ("{s:b}", "ended", work != NULL));
}

void
ow_engine_sessions_delete (OwLocalEngine *self,
                           const json_t  *params,
                           GTask         *task)
{
  OwEngineWork *work;
  const char *id = ow_json_get_string (params, "session", NULL);
  GError *error = NULL;

  if (!find_work (self, params, task, &work))
    return;
  if (work != NULL || g_hash_table_contains (self->resuming, id))
    ow_error_set (&error, OW_ERROR_REFUSED, "The session cannot be deleted", "it runs",
                  "Stop it first.");
  else if (ow_local_engine_open_records (self, &error))
    ow_store_delete (self->store, id, &error);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    ow_engine_return_json (task, json_pack ("{s:b}", "deleted", TRUE));
}

void
ow_engine_sessions_list (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  GError *error = NULL;
  json_t *list = NULL;

  if (ow_local_engine_open_records (self, &error))
    list = ow_store_list (self->store, &error);
  if (list == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  for (size_t i = 0; i < json_array_size (list); i++)
    {
      json_t *session = json_array_get (list, i);
      OwEngineWork *work = g_hash_table_lookup (self->sessions,
                                                ow_json_get_string (session, "session", ""));

      json_object_set_new (session, "working",
                           json_boolean (work != NULL && work->busy));
      json_object_set_new (session, "waiting",
                           json_boolean (work != NULL && ow_engine_consents_count (work) > 0));
    }
  ow_engine_return_json (task, json_pack ("{s:o}", "sessions", list));
}

OwEventList *
ow_engine_sessions_find_events (OwLocalEngine  *self,
                                const char     *id,
                                GError        **error)
{
  OwEngineWork *work = g_hash_table_lookup (self->sessions, id);

  if (work != NULL)
    return g_object_ref (ow_session_get_events (work->session));
  if (!ow_local_engine_open_records (self, error))
    return NULL;
  return ow_store_load (self->store, id, error);
}

void
ow_engine_sessions_show (OwLocalEngine *self,
                         const json_t  *params,
                         GTask         *task)
{
  GError *error = NULL;
  g_autoptr (OwEventList) list = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);
  json_int_t from = ow_json_get_int (params, "from", 1);
  json_t *result;
  gsize room = OW_ENGINE_CUT_PAGE_BYTES;
  json_t *events;

  if (id != NULL && from < 1)
    ow_error_set (&error, OW_ERROR_USAGE, "“from” has to be a number from 1 up", NULL, NULL);
  else if (id != NULL)
    list = ow_engine_sessions_find_events (self, id, &error);
  if (list == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  events = json_array ();
  result = json_pack ("{s:o}", "events", events);
  for (guint64 n = from; n <= ow_event_list_get_n (list); n++)
    {
      gsize bytes = 0;
      json_t *event = ow_engine_cut_event (ow_event_list_get (list, n - 1), &bytes);

      if (bytes > room && json_array_size (events) > 0)
        {
          json_decref (event);
          json_object_set_new (result, "next", json_integer ((json_int_t) n));
          break;
        }
      room -= MIN (bytes, room);
      json_array_append_new (events, event);
    }
  ow_engine_return_json (task, result);
}
