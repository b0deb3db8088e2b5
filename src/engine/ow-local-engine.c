/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "engine/ow-local-engine.h"

#include "audit/ow-audit.h"
#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "config/ow-config.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-network-profile.h"
#include "sandbox/ow-prove.h"
#include "sandbox/ow-registry.h"
#include "session/ow-session.h"
#include "session/ow-store.h"

struct _OwLocalEngine
{
  GObject     parent_instance;

  OwStore    *store;     /* (owned) (nullable) opened by the first command that needs it */
  OwAudit    *audit;     /* (owned) (nullable) likewise */
  GHashTable *sessions;  /* (owned) id → Work, those at work now */
};

/* One session at work. */
typedef struct
{
  OwLocalEngine *engine;      /* borrowed: it owns us */
  OwSession     *session;     /* (owned) */
  GCancellable  *cancellable; /* (owned) */
} Work;

typedef void (*CommandFunc) (OwLocalEngine *self,
                             const json_t  *params,
                             GTask         *task);

static void ow_local_engine_iface_init (OwEngineInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwLocalEngine, ow_local_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_local_engine_iface_init))

static void
work_free (gpointer data)
{
  Work *work = data;

  g_signal_handlers_disconnect_by_data (ow_session_get_events (work->session), work);
  g_cancellable_cancel (work->cancellable);
  g_clear_object (&work->cancellable);
  g_clear_object (&work->session);
  g_free (work);
}

/* Opens the store and the audit, and first of all puts right what a killed run left:
 * its sandboxes end, its open calls are closed as interrupted. */
static gboolean
open_records (OwLocalEngine  *self,
              GError        **error)
{
  g_autofree char *data_dir = ow_paths_get_data_dir ();
  g_autofree char *state_dir = ow_paths_get_state_dir ();
  g_autofree char *store_file = ow_paths_get_store_file ();
  g_autofree char *audit_file = ow_paths_get_audit_file ();
  g_autoptr (OwStore) store = NULL;
  g_autoptr (OwAudit) audit = NULL;

  if (self->store != NULL)
    return TRUE;
  if (!ow_paths_ensure (data_dir, error) || !ow_paths_ensure (state_dir, error))
    return FALSE;

  audit = ow_audit_open (audit_file, error);
  if (audit == NULL)
    return FALSE;
  store = ow_store_open (store_file, error);
  if (store == NULL)
    return FALSE;
  if (!ow_registry_reap (NULL, error) ||
      !ow_store_close_interrupted (store, audit, error))
    return FALSE;

  self->store = g_steal_pointer (&store);
  self->audit = g_steal_pointer (&audit);
  return TRUE;
}

/* Settings that cannot be read are a reason to refuse, whatever is wrong with the file:
 * what the person set is not known. */
static OwConfig *
load_config (GError **error)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (GError) cause = NULL;
  OwConfig *config = ow_config_load (path, &cause);

  if (config == NULL)
    g_set_error_literal (error, OW_ERROR, OW_ERROR_REFUSED, cause->message);
  return config;
}

static void
on_appended (OwEventList *list,
             OwEvent     *event,
             gpointer     user_data)
{
  Work *work = user_data;

  g_signal_emit_by_name (work->engine, "event", event);
}

static gboolean
has_ended (OwSession *session)
{
  OwEventList *events = ow_session_get_events (session);
  guint n = ow_event_list_get_n (events);

  return n > 0 && ow_event_get_kind (ow_event_list_get (events, n - 1)) == OW_EVENT_SESSION_ENDED;
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
  g_hash_table_remove (self->sessions, id);
}

static Work *
work_new (OwLocalEngine          *self,
          const OwSessionOptions *options,
          gboolean                interactive,
          GError                **error)
{
  g_autoptr (OwSession) session = NULL;
  OwEventList *events;
  Work *work;

  session = ow_session_new (self->store, self->audit, options, error);
  if (session == NULL)
    return NULL;

  work = g_new0 (Work, 1);
  work->engine = self;
  work->cancellable = g_cancellable_new ();
  work->session = g_steal_pointer (&session);
  g_hash_table_replace (self->sessions,
                        g_strdup (ow_session_get_id (work->session)), work);

  events = ow_session_get_events (work->session);
  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    on_appended (events, ow_event_list_get (events, i), work);
  g_signal_connect (events, "appended", G_CALLBACK (on_appended), work);
  ow_consent_set_attended (ow_session_get_consent (work->session), interactive);
  return work;
}

static Work *
prepare (OwLocalEngine   *self,
         OwEngineParams  *params,
         GError         **error)
{
  g_autoptr (OwConfig) config = load_config (error);
  g_autoptr (OwModel) model = NULL;
  OwSessionOptions options = { 0 };

  if (config == NULL)
    return NULL;
  options.provider = params->provider != OW_PROVIDER_UNSET ? params->provider
                                                           : ow_config_get_provider (config);
  if (options.provider == OW_PROVIDER_UNSET)
    {
      ow_error_set (error, OW_ERROR_REFUSED,
                    "Nothing is set that says how commands should run on this machine",
                    NULL,
                    "Give --provider bubblewrap (a sandbox) or --provider direct (no sandbox), "
                    "or set sandbox_provider in config.toml.");
      return NULL;
    }
  if (params->model != NULL)
    {
      model = ow_model_new (&(OwModelOptions){ .name = params->model }, error);
      if (model == NULL)
        return NULL;
    }
  if (!open_records (self, error))
    return NULL;

  options.folders = (const char * const *) params->folders;
  options.profile = ow_config_get_profile (config);
  options.extra_hosts = ow_config_get_extra_hosts (config);
  options.model_name = params->model;
  options.model = model;
  options.approve = params->approve;
  options.record = params->record;
  return work_new (self, &options, params->interactive, error);
}

static void
start_work (OwLocalEngine *self,
            const json_t  *json,
            gboolean       exec,
            GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEngineParams) params = ow_engine_params_new (json, exec, &error);
  Work *work = params == NULL ? NULL : prepare (self, params, &error);

  if (work == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }

  ow_engine_return_json (task, json_pack ("{s:s}", "session", ow_session_get_id (work->session)));
  if (exec)
    ow_session_exec_async (work->session, (const char * const *) params->argv,
                           work->cancellable, work_done, g_object_ref (self));
  else
    ow_session_run_async (work->session, params->task, work->cancellable,
                          work_done, g_object_ref (self));
}

static void
session_start (OwLocalEngine *self,
               const json_t  *params,
               GTask         *task)
{
  start_work (self, params, FALSE, task);
}

static void
session_exec (OwLocalEngine *self,
              const json_t  *params,
              GTask         *task)
{
  start_work (self, params, TRUE, task);
}

static void
session_stop (OwLocalEngine *self,
              const json_t  *params,
              GTask         *task)
{
  g_autoptr (GError) error = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);
  Work *work = id == NULL ? NULL : g_hash_table_lookup (self->sessions, id);

  if (id == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  if (work != NULL)
    g_cancellable_cancel (work->cancellable);
  ow_engine_return_json (task, json_pack ("{s:b}", "stopped", work != NULL));
}

static void
session_list (OwLocalEngine *self,
              const json_t  *params,
              GTask         *task)
{
  g_autoptr (GError) error = NULL;
  json_t *list = open_records (self, &error) ? ow_store_list (self->store, &error) : NULL;

  if (list == NULL)
    g_task_return_error (task, g_steal_pointer (&error));
  else
    ow_engine_return_json (task, json_pack ("{s:o}", "sessions", list));
}

static void
session_show (OwLocalEngine *self,
              const json_t  *params,
              GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEventList) list = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);
  json_t *events;

  if (id != NULL && open_records (self, &error))
    list = ow_store_load (self->store, id, &error);
  if (list == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }

  events = json_array ();
  for (guint i = 0; i < ow_event_list_get_n (list); i++)
    json_array_append_new (events, ow_event_to_json (ow_event_list_get (list, i)));
  ow_engine_return_json (task, json_pack ("{s:o}", "events", events));
}

static void
consent_answer (OwLocalEngine *self,
                const json_t  *params,
                GTask         *task)
{
  g_autoptr (GError) error = NULL;
  const char *request = ow_engine_params_need (params, "request", &error);
  const char *word = request == NULL ? NULL : ow_engine_params_need (params, "decision", &error);
  OwDecision decision = OW_DECISION_DENY;
  gboolean taken = FALSE;
  GHashTableIter iter;
  gpointer value;

  if (word == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  /* Only the exact words allow anything. */
  if (g_str_equal (word, "once"))
    decision = OW_DECISION_ONCE;
  else if (g_str_equal (word, "session"))
    decision = OW_DECISION_SESSION;

  g_hash_table_iter_init (&iter, self->sessions);
  while (!taken && g_hash_table_iter_next (&iter, NULL, &value))
    taken = ow_consent_answer (ow_session_get_consent (((Work *) value)->session), request,
                               decision, ow_json_get_string (params, "reason", NULL), NULL);
  ow_engine_return_json (task, json_pack ("{s:b}", "taken", taken));
}

static void
config_get (OwLocalEngine *self,
            const json_t  *params,
            GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = load_config (&error);

  if (config == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  ow_engine_return_json (task,
                         json_pack ("{s:s?, s:s}",
                                    "provider",
                                    ow_config_get_provider (config) == OW_PROVIDER_UNSET
                          ? NULL
                          : ow_provider_kind_to_string (ow_config_get_provider (config)),
                                    "profile",
                                    ow_network_profile_to_string (ow_config_get_profile (config))));
}

static void
prove_done (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  json_t *claims = ow_prove_run_finish (result, &error);
  gboolean all = json_array_size (claims) > 0;

  if (claims == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  for (size_t i = 0; i < json_array_size (claims); i++)
    all = all && ow_json_get_bool (json_array_get (claims, i), "held", FALSE);
  ow_engine_return_json (task, json_pack ("{s:b, s:o}", "held", all, "claims", claims));
}

static void
sandbox_prove (OwLocalEngine *self,
               const json_t  *params,
               GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = load_config (&error);
  g_autoptr (OwSandboxProvider) provider = NULL;
  g_autoptr (GPtrArray) hosts = NULL;
  OwProviderKind kind = OW_PROVIDER_UNSET;

  if (config != NULL && ow_engine_params_read_provider (params, &kind, &error))
    {
      if (kind == OW_PROVIDER_UNSET)
        kind = ow_config_get_provider (config);
      if (kind == OW_PROVIDER_UNSET)
        ow_error_set (&error, OW_ERROR_REFUSED, "There is no wall to prove",
                      "nothing is set that says how commands should run on this machine",
                      "Give --provider bubblewrap, or set sandbox_provider in config.toml.");
      else
        provider = ow_sandbox_provider_for_kind (kind, &error);
    }
  if (provider == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  hosts = ow_network_profile_hosts (ow_config_get_profile (config),
                                    ow_config_get_extra_hosts (config));
  ow_prove_run_async (provider, hosts, g_task_get_cancellable (task),
                      prove_done, g_object_ref (task));
}

static const struct
{
  const char         *name;
  CommandFunc         func;
  const char * const  members[8]; /* that its parameters may have; NULL-terminated */
} COMMANDS[] = {
  { "audit.show", ow_engine_records_show, { "session" } },
  { "audit.verify", ow_engine_records_verify, { NULL } },
  { "config.get", config_get, { NULL } },
  { "consent.answer", consent_answer, { "request", "decision", "reason" } },
  { "sandbox.prove", sandbox_prove, { "provider" } },
  { "session.exec", session_exec, { "folders", "argv", "provider", "interactive" } },
  { "session.list", session_list, { NULL } },
  { "session.show", session_show, { "session" } },
  { "session.start", session_start,
    { "folders", "model", "task", "provider", "approve", "record", "interactive" } },
  { "session.stop", session_stop, { "session" } },
};

static void
ow_local_engine_command_async (OwEngine            *engine,
                               const char          *command,
                               json_t              *params,
                               GCancellable        *cancellable,
                               GAsyncReadyCallback  callback,
                               gpointer             user_data)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (engine);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;

  g_task_set_source_tag (task, ow_local_engine_command_async);
  g_task_set_task_data (task, params, (GDestroyNotify) json_decref);
  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    {
      if (!g_str_equal (COMMANDS[i].name, command))
        continue;
      if (ow_engine_params_check (params, COMMANDS[i].members, &error))
        COMMANDS[i].func (self, params, task);
      else
        g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_task_return_new_error (task, OW_ERROR, OW_ERROR_USAGE,
                           "The engine has no command “%s”.", command);
}

static json_t *
ow_local_engine_command_finish (OwEngine      *engine,
                                GAsyncResult  *result,
                                GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
ow_local_engine_dispose (GObject *object)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (object);

  g_hash_table_remove_all (self->sessions);
  g_clear_object (&self->store);
  g_clear_object (&self->audit);

  G_OBJECT_CLASS (ow_local_engine_parent_class)->dispose (object);
}

static void
ow_local_engine_finalize (GObject *object)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (object);

  g_clear_pointer (&self->sessions, g_hash_table_unref);

  G_OBJECT_CLASS (ow_local_engine_parent_class)->finalize (object);
}

static void
ow_local_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_local_engine_command_async;
  iface->command_finish = ow_local_engine_command_finish;
}

static void
ow_local_engine_class_init (OwLocalEngineClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_local_engine_dispose;
  object_class->finalize = ow_local_engine_finalize;
}

static void
ow_local_engine_init (OwLocalEngine *self)
{
  self->sessions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, work_free);
}

OwLocalEngine *
ow_local_engine_new (void)
{
  return g_object_new (OW_TYPE_LOCAL_ENGINE, NULL);
}
