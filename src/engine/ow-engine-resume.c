/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "ow-engine-model-private.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-folder-answer.h"

/* An ended session that is about to go on, while its folders are asked for an answer and its
 * model's key is looked for. */
typedef struct
{
  OwLocalEngine   *engine;   /* (owned) */
  OwConfig        *config;   /* (owned) */
  char            *id;       /* (owned) */
  char            *text;     /* (owned) (nullable) */
  char            *model;    /* (owned) */
  char            *base_url; /* (owned) (nullable) */
  OwProviderKind   provider;
  OwApprovePolicy  approve;
  gboolean         keep;
  gboolean         marked;   /* it stands in the engine's table of those */
  GTask           *task;     /* (owned) */
  json_t          *result;   /* (owned) */
} Resume;

static void
resume_free (Resume *resume)
{
  if (resume->marked)
    g_hash_table_remove (resume->engine->resuming, resume->id);
  g_clear_object (&resume->engine);
  g_clear_object (&resume->config);
  g_clear_object (&resume->task);
  g_free (resume->id);
  g_free (resume->text);
  g_free (resume->model);
  g_free (resume->base_url);
  json_decref (resume->result);
  g_free (resume);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Resume, resume_free)

/* The newest event that says how the session runs. */
static const OwEvent *
find_run (OwEventList *events)
{
  for (guint i = ow_event_list_get_n (events); i > 0; i--)
    {
      const OwEvent *event = ow_event_list_get (events, i - 1);
      OwEventType kind = ow_event_get_kind (event);

      if (kind == OW_EVENT_SESSION_STARTED || kind == OW_EVENT_SESSION_RESUMED)
        return event;
    }
  return NULL;
}

/* What the person chose for the session stays, but a machine that was set to a wall since then
 * has nothing run beside it any more. */
static OwProviderKind
choose_provider (Resume        *resume,
                 const OwEvent *run)
{
  OwProviderKind stored = OW_PROVIDER_UNSET;
  OwProviderKind set = ow_config_get_provider (resume->config);

  if (!ow_provider_kind_from_string (ow_event_get_string (run, "provider"), &stored))
    stored = OW_PROVIDER_UNSET;
  if (stored == OW_PROVIDER_UNSET)
    return ow_local_engine_find_provider (resume->engine, resume->config);
  if (stored == OW_PROVIDER_DIRECT && set != OW_PROVIDER_UNSET)
    return set;
  return stored;
}

static OwApprovePolicy
read_approve (const OwEvent *run)
{
  const char *approve = ow_event_get_string (run, "approve");

  if (g_strcmp0 (approve, "sandboxed") == 0)
    return OW_APPROVE_SANDBOXED;
  return g_strcmp0 (approve, "deny") == 0 ? OW_APPROVE_DENY : OW_APPROVE_ASK;
}

static OwEngineWork *
make_work (Resume         *resume,
           OwEngineModel  *model,
           GError        **error)
{
  OwLocalEngine *self = resume->engine;
  g_autoptr (OwSession) session = NULL;
  OwSessionOptions options = { 0 };

  options.provider = resume->provider;
  options.profile = ow_config_get_profile (resume->config);
  options.extra_hosts = ow_config_get_extra_hosts (resume->config);
  options.model_name = model->name;
  options.base_url = model->base_url;
  options.model = model->model;
  options.approve = resume->approve;
  options.notice = resume->provider == OW_PROVIDER_DIRECT ? self->notice : NULL;
  options.keep = resume->keep;
  options.parks = TRUE;
  options.rules = self->rules;
  session = ow_session_resume (self->store, self->audit, resume->id, &options, error);
  return session == NULL ? NULL : ow_engine_work_add (self, session, TRUE, resume->keep);
}

static void
on_model (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (Resume) resume = user_data;
  GError *error = NULL;
  g_autoptr (OwEngineModel) model = ow_engine_model_find_finish (result, &error);
  OwEngineWork *work = model == NULL ? NULL : make_work (resume, model, &error);

  if (work == NULL)
    {
      g_task_return_error (resume->task, error);
      return;
    }
  /* Who is answered may look at once, and must not find the old end to be the last event. */
  ow_engine_work_run (work, resume->text);
  ow_engine_return_json (resume->task, g_steal_pointer (&resume->result));
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Resume) resume = user_data;
  const char *model = resume->model;
  const char *base_url = resume->base_url;
  OwConfig *config = resume->config;
  GCancellable *cancellable = g_task_get_cancellable (resume->task);
  GError *error = NULL;

  if (ow_folder_answer_finish (result, &error))
    ow_engine_model_find_async (config, model, base_url, cancellable, on_model,
                                g_steal_pointer (&resume));
  else
    g_task_return_error (resume->task, error);
}

static void
set_nothing_chosen (GError    **error,
                    const char *what)
{
  ow_error_set (error, OW_ERROR_REFUSED, what,
                "nothing is set that says how commands should run on this machine",
                "Set sandbox_provider in config.toml.");
}

/* What the session was run with; FALSE with @error when it cannot go on. */
static const OwEvent *
read_session (Resume       *resume,
              OwEventList  *events,
              GError      **error)
{
  const OwEvent *run = find_run (events);

  if (run == NULL || ow_event_get_string (run, "model") == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The session cannot go on",
                    "it ran one command, without an agent", "Start another session.");
      return NULL;
    }
  resume->config = ow_local_engine_load_config (error);
  if (resume->config == NULL)
    return NULL;
  resume->provider = choose_provider (resume, run);
  resume->approve = read_approve (run);
  if (resume->provider != OW_PROVIDER_UNSET)
    return run;
  set_nothing_chosen (error, "The session cannot go on");
  return NULL;
}

OwEngineWork *
ow_engine_resume_review (OwLocalEngine  *self,
                         const char     *id,
                         OwEventList    *events,
                         GError        **error)
{
  g_autoptr (OwConfig) config = ow_local_engine_load_config (error);
  g_autoptr (OwSession) session = NULL;
  const OwEvent *run = find_run (events);
  Resume resume = { .engine = self, .config = config };
  OwSessionOptions options = { 0 };

  if (config == NULL)
    return NULL;
  if (run == NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, "Nothing was done", "the session has no beginning", NULL);
      return NULL;
    }
  options.provider = choose_provider (&resume, run);
  if (options.provider == OW_PROVIDER_UNSET)
    {
      set_nothing_chosen (error, "Nothing was done");
      return NULL;
    }
  options.profile = ow_config_get_profile (config);
  options.extra_hosts = ow_config_get_extra_hosts (config);
  options.model_name = ow_event_get_string (run, "model");
  options.base_url = ow_event_get_string (run, "base_url");
  options.approve = read_approve (run);
  options.notice = options.provider == OW_PROVIDER_DIRECT ? self->notice : NULL;
  session = ow_session_resume (self->store, self->audit, id, &options, error);
  return session == NULL ? NULL : ow_engine_work_add (self, session, FALSE, FALSE);
}

void
ow_engine_resume_begin (OwLocalEngine *self,
                        const char    *id,
                        const char    *text,
                        gboolean       keep,
                        GTask         *task,
                        json_t        *result)
{
  g_autoptr (Resume) resume = g_new0 (Resume, 1);
  g_autoptr (OwEventList) events = NULL;
  g_auto (GStrv) folders = NULL;
  const OwEvent *run = NULL;
  GError *error = NULL;

  resume->engine = g_object_ref (self);
  resume->task = g_object_ref (task);
  resume->id = g_strdup (id);
  resume->text = g_strdup (text);
  resume->keep = keep;
  resume->result = result;
  if (g_hash_table_contains (self->resuming, id))
    ow_error_setf (&error, OW_ERROR_REFUSED, "Try again in a moment.",
                   "Session %s cannot go on: it is about to already", id);
  else if (ow_local_engine_open_records (self, &error))
    events = ow_store_load (self->store, id, &error);
  if (events != NULL)
    run = read_session (resume, events, &error);
  if (run == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  resume->marked = g_hash_table_add (self->resuming, g_strdup (id));
  resume->model = g_strdup (ow_event_get_string (run, "model"));
  resume->base_url = g_strdup (ow_event_get_string (run, "base_url"));
  folders = ow_session_folders_texts (ow_engine_folders_stored (events));
  ow_folder_answer_async ((const char * const *) folders, g_task_get_cancellable (task),
                          on_answered, g_steal_pointer (&resume));
}

void
ow_engine_resume_say (OwLocalEngine *self,
                      const json_t  *params,
                      GTask         *task)
{
  GError *error = NULL;
  gboolean now = FALSE;
  const char *text = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);
  OwEngineWork *work;

  if (id != NULL)
    text = ow_engine_params_need (params, "text", &error);
  if (text == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  work = g_hash_table_lookup (self->sessions, id);
  if (work == NULL)
    ow_engine_resume_begin (self, id, text, ow_json_get_bool (params, "keep", FALSE), task,
                            json_pack ("{s:s}", "taken", "resumed"));
  else if (ow_session_say (work->session, text, &now, &error))
    ow_engine_return_json (task, json_pack ("{s:s}", "taken", now ? "now" : "turn"));
  else
    g_task_return_error (task, error);
}

void
ow_engine_resume_session (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  GError *error = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);

  if (id != NULL && g_hash_table_contains (self->sessions, id))
    ow_error_setf (&error, OW_ERROR_REFUSED, NULL, "Session %s cannot go on: it runs already", id);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    ow_engine_resume_begin (self, id, NULL, ow_json_get_bool (params, "keep", FALSE), task,
                            json_pack ("{s:b}", "resumed", TRUE));
}
