/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "config/ow-model-settings.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-network-profile.h"
#include "sandbox/ow-reaper.h"
#include "sandbox/ow-registry.h"

typedef void (*CommandFunc) (OwLocalEngine *self,
                             const json_t  *params,
                             GTask         *task);

/* One command of one face. */
typedef struct
{
  guint   face;
  json_t *params; /* (owned) */
} Command;

static void ow_local_engine_iface_init (OwEngineInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwLocalEngine, ow_local_engine, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_ENGINE,
                                                      ow_local_engine_iface_init))

static guint running_signal;

void
ow_local_engine_wipe (json_t *params)
{
  json_t *key = json_object_get (params, "key");

  if (json_is_string (key))
    explicit_bzero ((char *) json_string_value (key), json_string_length (key));
}

static void
command_free (gpointer data)
{
  Command *command = data;

  ow_local_engine_wipe (command->params);
  json_decref (command->params);
  g_free (command);
}

guint
ow_local_engine_get_face (GTask *task)
{
  const Command *command = g_task_get_task_data (task);

  return command->face;
}

void
ow_local_engine_set_host (OwLocalEngine *self,
                          const char    *host)
{
  self->host = host;
}

void
ow_local_engine_add_notice (OwLocalEngine *self,
                            const char    *format,
                            ...)
{
  g_autofree char *text = NULL;
  g_autofree char *before = g_steal_pointer (&self->notice);
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  self->notice = before == NULL ? g_steal_pointer (&text)
                                : g_strconcat (before, "\n", text, NULL);
}

/* Rules that cannot be read allow nothing, and do not keep the engine from its work. */
static void
open_rules (OwLocalEngine *self)
{
  g_autofree char *path = ow_paths_get_approvals_file ();
  g_autoptr (GError) error = NULL;

  self->rules = ow_consent_rules_open (path, &error);
  if (error != NULL)
    ow_local_engine_add_notice (self, "%s", error->message);
}

static void
on_reaped (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autofree GWeakRef *weak = user_data;
  g_autoptr (OwLocalEngine) self = g_weak_ref_get (weak);
  g_autoptr (GError) error = NULL;

  g_weak_ref_clear (weak);
  if (!ow_reaper_run_finish (result, NULL, NULL, &error) && self != NULL)
    ow_local_engine_add_notice (self, "%s", error->message);
}

/* What only OpenShell's gateway can end, and what it has of ours that nothing here knows of. Nobody
 * waits for it: a gateway that is down takes its time to say so. */
static void
reap_remote (OwLocalEngine *self)
{
  g_autoptr (OwConfig) config = ow_local_engine_load_config (NULL);
  gboolean uses = config != NULL &&
                  ow_local_engine_find_provider (self, config) == OW_PROVIDER_OPENSHELL;
  GWeakRef *weak;

  if (!uses && !ow_reaper_has_work ())
    return;
  weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, self);
  ow_reaper_run_async (TRUE, NULL, on_reaped, weak);
}

/* Sessions that run keep their wall, and hear why no other can begin. */
static void
on_settings (const char *fault,
             gpointer    user_data)
{
  OwLocalEngine *self = user_data;
  g_autoptr (GPtrArray) sessions = g_ptr_array_new_with_free_func (g_object_unref);
  g_autofree char *text = NULL;
  GHashTableIter iter;
  gpointer work;

  g_free (self->fault);
  self->fault = g_strdup (fault);
  text = fault != NULL ? g_strdup_printf ("%s This session keeps the wall that it has.", fault)
                       : g_strdup ("The settings of this machine can be used again.");
  /* What is told may end a session, and so change the table. */
  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &work))
    g_ptr_array_add (sessions, g_object_ref (((OwEngineWork *) work)->session));
  for (guint i = 0; i < sessions->len; i++)
    ow_session_tell (g_ptr_array_index (sessions, i), text);
  ow_local_engine_tell_running (self);
}

/* (transfer full) (nullable) */
static char *
make_notice (OwLocalEngine *self)
{
  if (self->notice == NULL || self->fault == NULL)
    return g_strdup (self->fault != NULL ? self->fault : self->notice);
  return g_strconcat (self->notice, "\n", self->fault, NULL);
}

gboolean
ow_local_engine_open_records (OwLocalEngine  *self,
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
  ow_store_remove_leftovers (store);

  self->store = g_steal_pointer (&store);
  self->audit = g_steal_pointer (&audit);
  self->settings = ow_engine_settings_watch_new (on_settings, self);
  open_rules (self);
  reap_remote (self);
  return TRUE;
}

OwConfig *
ow_local_engine_load_config (GError **error)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (GError) cause = NULL;
  OwConfig *config = ow_config_load (path, &cause);

  if (config == NULL)
    g_set_error_literal (error, OW_ERROR, OW_ERROR_REFUSED, cause->message);
  return config;
}

OwProviderKind
ow_local_engine_find_provider (OwLocalEngine *self,
                               OwConfig      *config)
{
  OwProviderKind set = ow_config_get_provider (config);

  return set != OW_PROVIDER_UNSET ? set : self->fallback;
}

guint
ow_local_engine_count_running (OwLocalEngine *self)
{
  guint n = g_hash_table_size (self->resuming);
  GHashTableIter iter;
  gpointer value;

  /* One that only waits for words can go on at any time, in any engine. */
  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      OwEngineWork *work = value;

      if (work->busy || !work->keep)
        n++;
    }
  return n;
}

void
ow_local_engine_tell_running (OwLocalEngine *self)
{
  g_signal_emit (self, running_signal, 0, ow_local_engine_count_running (self));
}

/* (nullable) */
static const char *
name_provider (OwLocalEngine *self,
               OwConfig      *config)
{
  OwProviderKind kind = ow_local_engine_find_provider (self, config);

  return kind == OW_PROVIDER_UNSET ? NULL : ow_provider_kind_to_string (kind);
}

static void
set_optional (json_t     *object,
              const char *key,
              const char *text)
{
  if (text != NULL)
    json_object_set_new (object, key, json_string (text));
}

static void
config_get (OwLocalEngine *self,
            const json_t  *params,
            GTask         *task)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);
  GPtrArray *models;
  json_t *result;

  if (config == NULL)
    {
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  models = ow_config_get_models (config);
  result = json_pack ("{s:s?, s:s, s:o}", "provider", name_provider (self, config),
                      "profile", ow_network_profile_to_string (ow_config_get_profile (config)),
                      "models", ow_engine_models_describe (config));
  if (models != NULL && models->len > 0)
    set_optional (result, "default_model",
                  ((const OwModelSettings *) g_ptr_array_index (models, 0))->name);
  set_optional (result, "notice", self->notice);
  ow_engine_return_json (task, result);
}

static void
engine_status (OwLocalEngine *self,
               const json_t  *params,
               GTask         *task)
{
  g_autoptr (OwConfig) config = ow_local_engine_load_config (NULL);
  g_autofree char *notice = make_notice (self);
  guint waiting = 0;
  GHashTableIter iter;
  gpointer value;
  json_t *result;

  g_hash_table_iter_init (&iter, self->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    waiting += ow_engine_consents_count (value) > 0;
  result = json_pack ("{s:s, s:i, s:s, s:s, s:i, s:i, s:i, s:s?}",
                      "version", OW_VERSION, "pid", (int) getpid (),
                      "host", self->host, "since", self->since,
                      "faces", (int) g_hash_table_size (self->faces),
                      "running", (int) g_hash_table_size (self->sessions),
                      "waiting", (int) waiting,
                      "provider", config != NULL ? name_provider (self, config) : NULL);
  set_optional (result, "notice", notice);
  ow_engine_return_json (task, result);
}

static const struct
{
  const char         *name;
  CommandFunc         func;
  gboolean            reads;       /* changes nothing */
  const char * const  members[12]; /* that its parameters may have; NULL-terminated */
} COMMANDS[] = {
  { "audit.show", ow_engine_records_show, TRUE, { "session", "from" } },
  { "audit.verify", ow_engine_records_verify, TRUE, { NULL } },
  { "config.get", config_get, TRUE, { NULL } },
  { "consent.answer", ow_engine_consents_answer, FALSE, { "request", "decision", "reason" } },
  { "consent.list", ow_engine_consents_list, TRUE, { NULL } },
  { "credentials.add", ow_engine_credentials_add, FALSE,
    { "name", "path", "hosts", "private_hosts", "enabled" } },
  { "credentials.disable", ow_engine_credentials_disable, FALSE, { "name" } },
  { "credentials.enable", ow_engine_credentials_enable, FALSE, { "name", "private_hosts" } },
  { "credentials.list", ow_engine_credentials_list, TRUE, { NULL } },
  { "credentials.remove", ow_engine_credentials_remove, FALSE, { "name" } },
  { "engine.status", engine_status, TRUE, { NULL } },
  { "face.watch", ow_engine_consents_watch, TRUE, { "session", "answers" } },
  { "model.add", ow_engine_models_add, FALSE,
    { "name", "base_url", "model", "key", "ca_file", "proxy" } },
  { "model.list", ow_engine_models_list, TRUE, { NULL } },
  { "model.remove", ow_engine_models_remove, FALSE, { "name" } },
  { "model.test", ow_engine_models_test, FALSE, { "name" } },
  { "sandbox.allow", ow_engine_sandboxes_allow, FALSE,
    { "session", "host", "machine", "private" } },
  { "sandbox.delete", ow_engine_sandboxes_delete, FALSE, { "sandbox" } },
  { "sandbox.explain", ow_engine_explain_run, TRUE,
    { "what", "folders", "session", "provider" } },
  { "sandbox.list", ow_engine_sandboxes_list, TRUE, { "all" } },
  { "sandbox.logs", ow_engine_sandboxes_logs, TRUE, { "session", "from", "lines", "refused" } },
  { "sandbox.programs", ow_engine_programs_run, FALSE, { "path", "share", "unshare" } },
  { "sandbox.reap", ow_engine_sandboxes_reap, FALSE, { NULL } },
  { "sandbox.show", ow_engine_sandboxes_show, TRUE, { "sandbox" } },
  { "sandbox.prove", ow_engine_prove_run, FALSE, { "provider", "last" } },
  { "sandbox.traffic", ow_engine_sandboxes_traffic, TRUE, { "session" } },
  { "session.changes", ow_engine_changes_show, FALSE, { "session" } },
  { "session.delete", ow_engine_sessions_delete, FALSE, { "session" } },
  { "session.end", ow_engine_sessions_end, FALSE, { "session" } },
  { "session.exec", ow_engine_sessions_exec, FALSE,
    { "folders", "argv", "provider", "interactive" } },
  { "session.folders", ow_engine_sessions_folders, FALSE, { "session", "add", "remove" } },
  { "session.list", ow_engine_sessions_list, TRUE, { NULL } },
  { "session.resume", ow_engine_resume_session, FALSE, { "session", "keep" } },
  { "session.say", ow_engine_resume_say, FALSE, { "session", "text", "keep" } },
  { "session.show", ow_engine_sessions_show, TRUE, { "session", "from" } },
  { "session.start", ow_engine_sessions_start, FALSE,
    { "folders", "model", "base_url", "task", "provider", "approve", "record", "interactive",
      "keep" } },
  { "session.stop", ow_engine_sessions_stop, FALSE, { "session" } },
  { "session.undo", ow_engine_changes_undo, FALSE, { "session", "call", "turn", "preview" } },
  { "settings.get", ow_engine_settings_get, TRUE, { NULL } },
  { "settings.set", ow_engine_settings_set, FALSE, { "key", "value", "unset" } },
};

gboolean
ow_local_engine_is_reading (const char *command)
{
  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    if (g_str_equal (COMMANDS[i].name, command))
      return COMMANDS[i].reads;
  return FALSE;
}

void
ow_local_engine_command_as_async (OwLocalEngine       *self,
                                  guint                face,
                                  const char          *command,
                                  json_t              *params,
                                  GCancellable        *cancellable,
                                  GAsyncReadyCallback  callback,
                                  gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (GError) error = NULL;
  Command *data = g_new0 (Command, 1);

  g_task_set_source_tag (task, ow_local_engine_command_as_async);
  /* What was done is told, also to who has given up meanwhile. */
  g_task_set_check_cancellable (task, FALSE);
  data->face = face;
  data->params = params;
  g_task_set_task_data (task, data, command_free);
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
  ow_error_setf (&error, OW_ERROR_USAGE, NULL, "The engine has no command “%s”", command);
  g_task_return_error (task, g_steal_pointer (&error));
}

static void
ow_local_engine_command_async (OwEngine            *engine,
                               const char          *command,
                               json_t              *params,
                               GCancellable        *cancellable,
                               GAsyncReadyCallback  callback,
                               gpointer             user_data)
{
  ow_local_engine_command_as_async (OW_LOCAL_ENGINE (engine), OW_LOCAL_ENGINE_OWN_FACE, command,
                                    params, cancellable, callback, user_data);
}

static void
ow_local_engine_dispose (GObject *object)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (object);

  g_clear_pointer (&self->settings, ow_engine_settings_watch_free);
  g_hash_table_remove_all (self->sessions);
  g_clear_object (&self->store);
  g_clear_object (&self->audit);
  g_clear_object (&self->rules);

  G_OBJECT_CLASS (ow_local_engine_parent_class)->dispose (object);
}

static void
ow_local_engine_finalize (GObject *object)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (object);

  g_clear_pointer (&self->sessions, g_hash_table_unref);
  g_clear_pointer (&self->resuming, g_hash_table_unref);
  g_clear_pointer (&self->looks, g_hash_table_unref);
  g_clear_pointer (&self->faces, g_hash_table_unref);
  g_free (self->since);
  g_free (self->notice);
  g_free (self->fault);

  G_OBJECT_CLASS (ow_local_engine_parent_class)->finalize (object);
}

static void
ow_local_engine_iface_init (OwEngineInterface *iface)
{
  iface->command_async = ow_local_engine_command_async;
}

static void
ow_local_engine_class_init (OwLocalEngineClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ow_local_engine_dispose;
  object_class->finalize = ow_local_engine_finalize;

  /* "running" (guint n): how many sessions run that would end with the engine. */
  running_signal = g_signal_new ("running", OW_TYPE_LOCAL_ENGINE, G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void
ow_local_engine_init (OwLocalEngine *self)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();

  self->sessions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, ow_engine_work_free);
  self->resuming = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->looks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify) g_ptr_array_unref);
  self->faces = g_hash_table_new_full (NULL, NULL, NULL, ow_engine_face_free);
  self->host = "command";
  self->since = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");
  ow_engine_consents_add_face (self);
}

OwLocalEngine *
ow_local_engine_new (void)
{
  return g_object_new (OW_TYPE_LOCAL_ENGINE, NULL);
}
