/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session/ow-session.h"

#include "agent/ow-agent.h"
#include "base/ow-error.h"
#include "base/ow-random.h"
#include "base/ow-state.h"
#include "ow-session-events-private.h"
#include "ow-session-setup-private.h"
#include "sandbox/ow-sandbox.h"
#include "tools/ow-tool-call.h"

/* What runs inside can make the proxy refuse as fast as it likes; the list, the store
 * and the record must not grow with it without end. */
#define MAX_REFUSALS 2000
#define ID_BYTES     8

struct _OwSession {
  GObject parent_instance;

  OwAudit          *audit;        /* (owned) */
  OwEventList      *events;       /* (owned) */
  OwConsent        *consent;      /* (owned) */
  OwSandbox        *sandbox;      /* (owned) (nullable) gone once it is down */
  OwModel          *model;        /* (owned) (nullable) */
  OwAgent          *agent;        /* (owned) (nullable) while a task is done */
  json_t           *folders;      /* (owned) as in session-started */
  json_t           *hosts;        /* (owned) */
  char             *model_name;   /* (owned) (nullable) */
  OwRecordingPlace *record;       /* (owned) (nullable) */
  OwProviderKind    provider;
  OwNetworkProfile  profile;
  OwApprovePolicy   approve;
  OwLevel           level;

  /* One use. */
  GTask            *task;         /* (owned) (nullable) */
  char             *text;         /* (owned) (nullable) the agent's task */
  json_t           *argv;         /* (owned) (nullable) the one call of exec */
  GCancellable     *stop;         /* (owned) everything awaited hangs on it */
  gulong            stop_handler;
  GError           *error;        /* (owned) (nullable) the first, which the session ends with */
  int               status;
  guint             n_refusals;
  GHashTable       *noticed;      /* (owned) notices said, so that each is said once */
  gboolean          used;
  gboolean          wall_up;
};

G_DEFINE_FINAL_TYPE (OwSession, ow_session, G_TYPE_OBJECT)

static void
drop_sandbox (OwSession *self)
{
  if (self->sandbox != NULL)
    g_signal_handlers_disconnect_by_data (self->sandbox, self);
  g_clear_object (&self->sandbox);
}

static void
ow_session_dispose (GObject *object)
{
  OwSession *self = OW_SESSION (object);

  drop_sandbox (self);
  if (self->events != NULL)
    g_signal_handlers_disconnect_by_data (self->events, self);
  g_clear_object (&self->agent);
  g_clear_object (&self->consent);
  g_clear_object (&self->events);
  g_clear_object (&self->audit);
  g_clear_object (&self->model);
  g_clear_object (&self->stop);
  G_OBJECT_CLASS (ow_session_parent_class)->dispose (object);
}

static void
ow_session_finalize (GObject *object)
{
  OwSession *self = OW_SESSION (object);

  json_decref (self->folders);
  json_decref (self->hosts);
  json_decref (self->argv);
  g_free (self->model_name);
  g_clear_pointer (&self->record, ow_recording_place_free);
  g_free (self->text);
  g_clear_error (&self->error);
  g_clear_pointer (&self->noticed, g_hash_table_unref);
  G_OBJECT_CLASS (ow_session_parent_class)->finalize (object);
}

static void
ow_session_class_init (OwSessionClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_session_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_session_finalize;
}

static void
ow_session_init (OwSession *self)
{
  self->stop = g_cancellable_new ();
  self->noticed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

/* The first error is the session's; whatever runs is brought to its end. */
static void
fail (OwSession *self,
      GError    *error)
{
  g_autoptr (GError) owned = error;

  if (self->error != NULL)
    return;
  self->error = g_steal_pointer (&owned);
  if (self->agent != NULL)
    ow_agent_fail (self->agent, self->error);
  g_cancellable_cancel (self->stop);
}

static gboolean
append (OwSession   *self,
        OwEventType  type,
        json_t      *members)
{
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;

  event = ow_event_list_append (self->events, type, members, &error);
  if (event == NULL)
    fail (self, error);
  return event != NULL;
}

static void
append_notice (OwSession  *self,
               const char *text)
{
  json_t *members = json_object ();

  json_object_set_new (members, "text", json_string (text));
  append (self, OW_EVENT_NOTICE, members);
}

/* Tool events go into the record through OwToolCall, which has to know whether they
 * could be stored before it goes on; all others that belong there go here. */
static void
on_appended (OwEventList *events,
             OwEvent     *event,
             OwSession   *self)
{
  OwEventType kind = ow_event_get_kind (event);
  GError     *error = NULL;

  if (kind == OW_EVENT_TOOL_STARTED || kind == OW_EVENT_TOOL_ENDED || !ow_audit_wants (kind))
    return;
  if (!ow_audit_append (self->audit, event, FALSE, &error))
    fail (self, error);
}

static void
on_lost (OwSandbox  *sandbox,
         const char *reason,
         OwSession  *self)
{
  GError *error = NULL;

  if (!self->wall_up)
    return;
  self->wall_up = FALSE;
  append (self, OW_EVENT_WALL, ow_session_events_wall ("lost", self->level, reason));
  ow_error_set (&error, OW_ERROR_FAILED, "The sandbox was lost", reason,
                "Start the task again: there is no other wall to go on behind.");
  fail (self, error);
}

static void
on_decision (OwSandbox  *sandbox,
             const char *line,
             OwSession  *self)
{
  g_autofree char *notice = NULL;
  json_t *members = ow_session_events_decision (line, self->level, &notice);

  if (members == NULL)
    return;
  if (g_str_equal (ow_json_get_string (members, "decision", ""), "refuse") &&
      ++self->n_refusals > MAX_REFUSALS)
    {
      json_decref (members);
      if (self->n_refusals == MAX_REFUSALS + 1)
        append_notice (self, "Very many connections were refused in this session. Further "
                       "refusals are not listed one by one.");
      return;
    }
  append (self, OW_EVENT_HOST_DECISION, members);
  if (notice != NULL && g_hash_table_add (self->noticed, g_strdup (notice)))
    append_notice (self, notice);
}

OwSession *
ow_session_new (OwStore                 *store,
                OwAudit                 *audit,
                const OwSessionOptions  *options,
                GError                 **error)
{
  g_autoptr (OwSession) self = NULL;
  g_autofree char *id = NULL;

  g_return_val_if_fail (OW_IS_STORE (store), NULL);
  g_return_val_if_fail (OW_IS_AUDIT (audit), NULL);
  g_return_val_if_fail (options != NULL, NULL);

  /* Random, so that nobody can name a session before it is there. */
  id = ow_random_hex (ID_BYTES, error);
  if (id == NULL)
    {
      g_prefix_error (error, "The session cannot be started: ");
      return NULL;
    }
  self = g_object_new (OW_TYPE_SESSION, NULL);
  self->sandbox = ow_session_setup_sandbox (id, options, &self->folders, &self->hosts, error);
  if (self->sandbox == NULL)
    return NULL;
  if (options->record != NULL)
    {
      self->record = ow_recording_place_open (options->record, self->folders, error);
      if (self->record == NULL)
        return NULL;
    }
  self->level = ow_sandbox_get_level (self->sandbox);
  g_signal_connect (self->sandbox, "lost", G_CALLBACK (on_lost), self);
  g_signal_connect (self->sandbox, "decision", G_CALLBACK (on_decision), self);
  self->audit = g_object_ref (audit);
  self->events = ow_event_list_new (id);
  self->consent = ow_consent_new (self->events, options->approve);
  g_set_object (&self->model, options->model);
  self->model_name = g_strdup (options->model_name);
  self->provider = options->provider;
  self->profile = options->profile;
  self->approve = options->approve;
  ow_store_attach (store, self->events);
  g_signal_connect (self->events, "appended", G_CALLBACK (on_appended), self);
  ow_state_reach ("session-created");
  return g_steal_pointer (&self);
}

const char *
ow_session_get_id (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return ow_event_list_get_session (self->events);
}

OwEventList *
ow_session_get_events (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return self->events;
}

OwConsent *
ow_session_get_consent (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return self->consent;
}

static void
end_session (OwSession *self)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->task);
  GError *error = NULL;

  if (self->stop_handler != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), self->stop_handler);
  self->stop_handler = 0;
  if (self->record != NULL && !ow_recording_write (self->events, self->record, &error))
    fail (self, g_steal_pointer (&error));
  /* Before the end is told, so that "done" is not said of what is not recorded. */
  if (!ow_audit_sync (self->audit, &error))
    fail (self, g_steal_pointer (&error));
  append (self, OW_EVENT_SESSION_ENDED, ow_session_events_ended (self->error, self->status));
  if (!ow_audit_sync (self->audit, &error))
    fail (self, g_steal_pointer (&error));
  ow_state_reach ("session-ended");
  if (self->error != NULL)
    g_task_return_error (task, g_error_copy (self->error));
  else
    g_task_return_boolean (task, TRUE);
}

static void
on_stopped (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  g_autoptr (GError) error = NULL;
  gboolean down;

  down = ow_sandbox_stop_finish (OW_SANDBOX (source), result, &error);
  if (self->wall_up)
    append (self, OW_EVENT_WALL, ow_session_events_wall ("down", self->level,
                                                         down ? NULL : error->message));
  self->wall_up = FALSE;
  if (!down)
    fail (self, g_steal_pointer (&error));
  drop_sandbox (self);
  end_session (self);
}

/* However the work ended, the wall comes down, and nobody can stop that. */
static void
take_down (OwSession *self)
{
  ow_consent_close (self->consent);
  g_clear_object (&self->agent);
  ow_sandbox_stop_async (self->sandbox, on_stopped, g_object_ref (self));
}

static void
on_turn_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GError *error = NULL;

  if (!ow_agent_run_turn_finish (OW_AGENT (source), result, &error) ||
      !ow_model_check_done (self->model, &error))
    fail (self, error);
  take_down (self);
}

static void
run_agent (OwSession *self)
{
  g_autofree char *prompt = NULL;

  prompt = ow_agent_describe_environment (self->folders, self->level,
                                          ow_network_profile_to_string (self->profile),
                                          self->hosts);
  self->agent = ow_agent_new (self->events, self->consent, self->audit,
                              OW_TOOL_HOST (self->sandbox), self->model, prompt, NULL);
  ow_agent_run_turn_async (self->agent, self->text, g_task_get_cancellable (self->task),
                           on_turn_ended, g_object_ref (self));
}

static void
read_exec_result (OwSession          *self,
                  const OwToolResult *result)
{
  GError *error = NULL;

  if (result->outcome == OW_OUTCOME_OK && (result->signal > 0 || result->exit_status >= 0))
    {
      self->status = result->signal > 0 ? 128 + result->signal : result->exit_status;
      return;
    }
  /* What the runner left out, or gave as no status at all, must not pass for success. */
  if (result->outcome == OW_OUTCOME_OK)
    ow_error_set (&error, OW_ERROR_FAILED, "It is not known how the command ended",
                  "the runner's answer holds no exit status", NULL);
  else if (result->outcome == OW_OUTCOME_DENIED)
    ow_error_set (&error, OW_ERROR_REFUSED, "The command did not run", result->text, NULL);
  else if (result->outcome == OW_OUTCOME_CANCELLED)
    ow_error_set (&error, OW_ERROR_INTERRUPTED, "The command was stopped", NULL, NULL);
  else
    ow_error_set (&error, OW_ERROR_FAILED, result->outcome == OW_OUTCOME_INTERRUPTED
                  ? "The command was interrupted" : "The command could not be run",
                  result->text, NULL);
  fail (self, error);
}

static void
on_exec_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  GError *error = NULL;

  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (outcome == NULL)
    fail (self, error);
  else
    read_exec_result (self, outcome);
  take_down (self);
}

static void
run_exec (OwSession *self)
{
  g_autoptr (OwToolCall) call = NULL;
  json_t *arguments = json_object ();

  json_object_set (arguments, "argv", self->argv);
  json_object_set_new (arguments, "timeout_s", json_integer (0));
  call = ow_tool_call_new (self->events, self->consent, self->audit,
                           OW_TOOL_HOST (self->sandbox), "exec", arguments, NULL);
  json_decref (arguments);
  ow_tool_call_run_async (call, self->stop, on_exec_ended, g_object_ref (self));
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GError *error = NULL;

  if (!ow_sandbox_start_finish (OW_SANDBOX (source), result, &error))
    {
      /* Whatever a start that was stopped says, what happened is that a person stopped it. */
      if (g_cancellable_is_cancelled (g_task_get_cancellable (self->task)))
        {
          g_clear_error (&error);
          ow_error_set (&error, OW_ERROR_INTERRUPTED, "The session was stopped",
                        "before its sandbox was there", NULL);
        }
      fail (self, error);
      take_down (self);
      return;
    }
  self->wall_up = TRUE;
  append (self, OW_EVENT_WALL, ow_session_events_wall ("up", self->level, NULL));
  if (ow_sandbox_get_notice (self->sandbox) != NULL)
    append_notice (self, ow_sandbox_get_notice (self->sandbox));
  if (self->error != NULL)
    take_down (self);
  else if (self->argv != NULL)
    run_exec (self);
  else
    run_agent (self);
}

static void
on_cancelled (GCancellable *cancellable,
              OwSession    *self)
{
  g_cancellable_cancel (self->stop);
}

static void
start (OwSession *self,
       GTask     *task)
{
  GCancellable     *cancellable = g_task_get_cancellable (task);
  OwSessionOptions  options = {
    .provider = self->provider,
    .profile = self->profile,
    .model_name = self->model_name,
    .approve = self->approve,
  };

  g_task_set_check_cancellable (task, FALSE);
  self->used = TRUE;
  if (!append (self, OW_EVENT_SESSION_STARTED,
               ow_session_events_started (&options, self->level, self->folders, self->hosts)))
    {
      /* Not stored: nothing was started, and there is nothing to end. */
      drop_sandbox (self);
      g_task_return_error (task, g_error_copy (self->error));
      return;
    }
  ow_state_reach ("session-stored");
  self->task = g_object_ref (task);
  if (cancellable != NULL)
    self->stop_handler = g_signal_connect (cancellable, "cancelled",
                                           G_CALLBACK (on_cancelled), self);
  if (g_cancellable_is_cancelled (cancellable))
    g_cancellable_cancel (self->stop);
  if (self->error != NULL)
    {
      /* Stored but not recorded: nothing is started. */
      end_session (self);
      return;
    }
  ow_sandbox_start_async (self->sandbox, self->stop, on_started, g_object_ref (self));
}

static gboolean
check_unused (OwSession *self,
              GTask     *task)
{
  GError *error = NULL;

  if (!self->used)
    return TRUE;
  ow_error_set (&error, OW_ERROR_FAILED, "The session was already used",
                "it does one task", "Start another session.");
  g_task_return_error (task, error);
  return FALSE;
}

void
ow_session_run_async (OwSession           *self,
                      const char          *task_text,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;

  g_return_if_fail (OW_IS_SESSION (self));
  g_return_if_fail (task_text != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_run_async);
  if (!check_unused (self, task))
    return;
  if (self->model == NULL || *task_text == '\0' || !g_utf8_validate (task_text, -1, NULL))
    {
      ow_error_set (&error, OW_ERROR_USAGE, "There is nothing to run",
                    self->model == NULL ? "no model was given"
                                        : "the task is empty or not valid UTF-8",
                    "Give a task, and a model with --model.");
      g_task_return_error (task, error);
      return;
    }
  self->text = g_strdup (task_text);
  start (self, task);
}

gboolean
ow_session_run_finish (OwSession     *self,
                       GAsyncResult  *result,
                       GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

void
ow_session_exec_async (OwSession           *self,
                       const char * const  *argv,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  GError   *error = NULL;
  gboolean  good = TRUE;

  g_return_if_fail (OW_IS_SESSION (self));
  g_return_if_fail (argv != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_exec_async);
  if (!check_unused (self, task))
    return;
  self->argv = json_array ();
  for (gsize i = 0; argv[i] != NULL; i++)
    {
      json_t *word = json_string (argv[i]);

      good = good && word != NULL;
      json_array_append_new (self->argv, word);
    }
  if (!good || json_array_size (self->argv) == 0)
    {
      ow_error_set (&error, OW_ERROR_USAGE, "There is nothing to run",
                    good ? "no command was given" : "the command is not valid UTF-8",
                    "Give the command after --.");
      g_task_return_error (task, error);
      return;
    }
  start (self, task);
}

gboolean
ow_session_exec_finish (OwSession     *self,
                        GAsyncResult  *result,
                        int           *status,
                        GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  if (status != NULL)
    *status = self->status;
  return g_task_propagate_boolean (G_TASK (result), error);
}
