/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-agent-private.h"

#include "base/ow-error.h"
#include "base/ow-state.h"
#include "base/ow-text.h"
#include "ow-agent-history-private.h"
#include "tools/ow-tool-call.h"
#include "tools/ow-tool-def.h"

#define DEFAULT_MAX_CALLS 200
#define DEFAULT_MAX_SECONDS 3600

G_DEFINE_FINAL_TYPE (OwAgent, ow_agent, G_TYPE_OBJECT)

static void
ow_agent_finalize (GObject *object)
{
  OwAgent *self = OW_AGENT (object);

  g_clear_pointer (&self->stream, ow_agent_stream_free);
  g_clear_object (&self->events);
  g_clear_object (&self->consent);
  g_clear_object (&self->audit);
  g_clear_object (&self->host);
  g_clear_object (&self->model);
  g_clear_object (&self->stop);
  g_clear_error (&self->error);
  g_free (self->prompt);
  json_decref (self->tools);
  json_decref (self->calls);
  G_OBJECT_CLASS (ow_agent_parent_class)->finalize (object);
}

static void
ow_agent_class_init (OwAgentClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_agent_finalize;
}

static void
ow_agent_init (OwAgent *self)
{
}

OwAgent *
ow_agent_new (OwEventList         *events,
              OwConsent           *consent,
              OwAudit             *audit,
              OwToolHost          *host,
              OwModel             *model,
              const char          *system_prompt,
              const OwAgentLimits *limits)
{
  OwAgent *self;

  g_return_val_if_fail (OW_IS_EVENT_LIST (events), NULL);
  g_return_val_if_fail (OW_IS_TOOL_HOST (host), NULL);
  g_return_val_if_fail (OW_IS_MODEL (model), NULL);

  self = g_object_new (OW_TYPE_AGENT, NULL);
  self->events = g_object_ref (events);
  self->consent = g_object_ref (consent);
  self->audit = g_object_ref (audit);
  self->host = g_object_ref (host);
  self->model = g_object_ref (model);
  self->stream = ow_agent_stream_new (events);
  self->prompt = g_strdup (system_prompt);
  self->tools = ow_tool_def_for_model ();
  if (limits != NULL)
    self->limits = *limits;
  if (self->limits.max_calls == 0)
    self->limits.max_calls = DEFAULT_MAX_CALLS;
  if (self->limits.max_seconds == 0)
    self->limits.max_seconds = DEFAULT_MAX_SECONDS;
  return self;
}

void
ow_agent_set_prompt (OwAgent    *self,
                     const char *system_prompt)
{
  g_return_if_fail (OW_IS_AGENT (self));

  g_free (self->prompt);
  self->prompt = g_strdup (system_prompt);
}

void
ow_agent_set_end (OwAgent        *self,
                  OwAgentTurnEnd  end,
                  GError         *error)
{
  g_autoptr (GError) owned = error;

  if (self->end != TURN_GOES_ON)
    return;
  self->end = end;
  self->error = g_steal_pointer (&owned);
  if (end != TURN_DONE)
    g_cancellable_cancel (self->stop);
}

static void
on_stop (GCancellable *cancellable,
         OwAgent      *self)
{
  GError *error = NULL;

  ow_error_set (&error, OW_ERROR_INTERRUPTED, "The turn was stopped", NULL, NULL);
  ow_agent_set_end (self, TURN_STOPPED, error);
}

void
ow_agent_break (OwAgent *self,
                GError  *error)
{
  self->broken = TRUE;
  ow_agent_set_end (self, TURN_FAILED, error);
}

static void
append_notice (OwAgent    *self,
               const char *text)
{
  GError *error = NULL;

  if (!ow_event_list_append_text (self->events, OW_EVENT_NOTICE, text, &error))
    ow_agent_break (self, error);
}

static void
append_turn_ended (OwAgent *self)
{
  static const char * const reasons[] = { "failed", "done", "stopped", "limit", "failed" };
  g_autoptr (OwEvent) event = NULL;
  g_autoptr (GError) error = NULL;
  json_t *members = json_object ();

  json_object_set_new (members, "reason", json_string (reasons[self->end]));
  if (self->error != NULL)
    json_object_set_new (members, "message", json_string (self->error->message));
  event = ow_event_list_append (self->events, OW_EVENT_TURN_ENDED, members, &error);
  self->broken = self->broken || event == NULL;
  if (event == NULL && self->error == NULL)
    self->error = g_steal_pointer (&error);
}

static void
finish_turn (OwAgent *self)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->task);
  g_autoptr (GError) error = NULL;

  if (self->stop_handler != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), self->stop_handler);
  self->stop_handler = 0;
  ow_agent_limit_end (self);
  json_decref (self->calls);
  self->calls = NULL;

  /* Reads were recorded without waiting for the disk: now is the time (REQ-E02). */
  if (!ow_audit_sync (self->audit, &error))
    {
      self->broken = TRUE;
      self->end = TURN_FAILED;
      if (self->error == NULL)
        self->error = g_steal_pointer (&error);
    }
  append_turn_ended (self);
  ow_state_reach ("turn-ended");
  g_clear_object (&self->stop);
  if (self->error != NULL)
    g_task_return_error (task, g_steal_pointer (&self->error));
  else
    g_task_return_boolean (task, TRUE);
}

static void
note_lost_state (OwAgent            *self,
                 const OwToolResult *result)
{
  if (result->outcome == OW_OUTCOME_INTERRUPTED && result->state_lost)
    append_notice (self, "Shell state was lost: the call was interrupted, and whether it had an "
                   "effect is not known. Directory, variables, functions, tasks and what else ran "
                   "in the background are gone.");
  else if (result->state_lost)
    append_notice (self, "Shell state was lost: the shell ended and a new one was started. "
                   "Variables, functions and background jobs of the shell are gone. Tasks that "
                   "task_start has begun go on.");
}

static void
on_call_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (OwAgent) self = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  GError *error = NULL;

  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (outcome == NULL)
    ow_agent_break (self, error);
  else
    note_lost_state (self, outcome);
  ow_agent_next_step (self);
}

/* Ids tell the results apart, so each call needs one of its own. */
static gboolean
calls_are_usable (const json_t *calls)
{
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);

  for (size_t i = 0; i < json_array_size (calls); i++)
    {
      const json_t *call = json_array_get (calls, i);
      const char   *id = ow_json_get_string (call, "id", "");

      if (*id == '\0' || !json_is_string (json_object_get (call, "name")) ||
          json_object_get (call, "arguments") == NULL ||
          !g_hash_table_add (ids, (gpointer) id))
        return FALSE;
    }
  return json_is_array (calls);
}

/* The person said something since the model was asked. */
static gboolean
has_unread (OwAgent *self)
{
  for (guint i = ow_event_list_get_n (self->events); i > self->n_asked; i--)
    {
      if (ow_event_get_kind (ow_event_list_get (self->events, i - 1)) == OW_EVENT_USER_MESSAGE)
        return TRUE;
    }
  return FALSE;
}

/* Steals the references. @cut (nullable): why it is not whole; it has no calls then. */
static gboolean
append_model_message (OwAgent      *self,
                      const char   *text,
                      json_t       *calls,
                      const char   *finish,
                      const char   *cut,
                      json_t       *usage,
                      GError      **error)
{
  g_autoptr (OwEvent) event = NULL;
  g_autofree char *valid = ow_text_from_bytes (text != NULL ? text : "", -1);
  json_t *members = json_object ();

  json_object_set_new (members, "text", json_string (valid));
  json_object_set_new (members, "tool_calls", calls);
  json_object_set_new (members, "finish", json_string (finish));
  if (cut != NULL)
    {
      g_autofree char *why = ow_text_from_bytes (cut, -1);

      json_object_set_new (members, "cut", json_string (why));
    }
  if (json_is_object (usage))
    json_object_set (members, "usage", usage);
  /* Whoever reads this later has to know what this message could not answer. */
  if (has_unread (self))
    json_object_set_new (members, OW_AGENT_SEEN_MEMBER, json_integer (self->n_asked));
  event = ow_event_list_append (self->events, OW_EVENT_MODEL_MESSAGE, members, error);
  return event != NULL;
}

/* Of an answer that did not come whole nothing runs, whatever it may hold. */
static void
take_cut (OwAgent     *self,
          const char  *text,
          const char  *cut,
          json_t      *usage)
{
  GError *error = NULL;

  if (!append_model_message (self, text, json_array (), "cut", cut, usage, &error))
    ow_agent_break (self, error);
}

/* @turn (nullable) came, or @error, when the turn had been stopped already: nothing new
 * begins, and what could be read of the answer is kept. */
static void
take_after_stop (OwAgent     *self,
                 OwModelTurn *turn)
{
  const char *text = ow_agent_stream_get_text (self->stream);

  if (*text == '\0' && turn != NULL && turn->text != NULL)
    text = turn->text;
  if (*text != '\0')
    take_cut (self, text, "stopped", turn != NULL ? turn->usage : NULL);
}

static void
take_error (OwAgent *self,
            GError  *error)
{
  const char *text = ow_agent_stream_get_text (self->stream);

  if (*text != '\0')
    take_cut (self, text, error->message, NULL);
  ow_agent_set_end (self, TURN_FAILED, error);
}

static void
take_turn (OwAgent     *self,
           OwModelTurn *turn)
{
  GError *error = NULL;

  if (turn->cut != NULL)
    {
      take_cut (self, turn->text, turn->cut, turn->usage);
      ow_error_set (&error, OW_ERROR_FAILED, "The model's answer was cut, so nothing of it ran",
                    turn->cut, NULL);
      ow_agent_set_end (self, TURN_FAILED, error);
      return;
    }
  if (!calls_are_usable (turn->tool_calls))
    {
      ow_error_set (&error, OW_ERROR_DATA, "The model's answer cannot be used",
                    "its tool calls have no names or no ids of their own", NULL);
      ow_agent_set_end (self, TURN_FAILED, error);
      return;
    }
  if (!append_model_message (self, turn->text, json_incref (turn->tool_calls),
                             turn->finish != NULL ? turn->finish : "stop", NULL, turn->usage,
                             &error))
    {
      ow_agent_break (self, error);
      return;
    }
  ow_state_reach ("model-answered");
  json_decref (self->calls);
  self->calls = json_incref (turn->tool_calls);
  self->next_call = 0;
  /* What was said meanwhile is answered before the turn ends. */
  if (json_array_size (turn->tool_calls) == 0 && !has_unread (self))
    ow_agent_set_end (self, TURN_DONE, NULL);
}

static void
on_model_answered (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (OwAgent) self = user_data;
  g_autoptr (OwModelTurn) turn = NULL;
  GError *error = NULL;

  turn = ow_model_complete_finish (OW_MODEL (source), result, &error);
  ow_agent_stream_flush (self->stream);
  if (self->end != TURN_GOES_ON)
    take_after_stop (self, turn);
  else if (turn == NULL)
    take_error (self, g_steal_pointer (&error));
  else
    take_turn (self, turn);
  g_clear_error (&error);
  ow_agent_next_step (self);
}

static void
ask_model (OwAgent *self)
{
  json_t *history = ow_agent_history_make (self->events, self->prompt);

  /* Gone on with after its last words were stored: they were the answer. */
  if (ow_agent_history_is_answered (history))
    {
      json_decref (history);
      ow_agent_set_end (self, TURN_DONE, NULL);
      finish_turn (self);
      return;
    }
  self->n_asked = ow_event_list_get_n (self->events);
  ow_agent_stream_reset (self->stream);
  ow_model_complete_async (self->model, history, self->tools, ow_agent_stream_take, self->stream,
                           self->stop, on_model_answered, g_object_ref (self));
  json_decref (history);
  ow_state_reach ("model-asked");
}

/* One after the other, in the order asked. Of a turn that has ended the rest still go
 * through OwToolCall, which ends them as cancelled without asking anyone, so that
 * each has its event. */
void
ow_agent_next_step (OwAgent *self)
{
  gboolean more = self->next_call < json_array_size (self->calls);
  g_autoptr (OwToolCall) call = NULL;
  const json_t *asked;

  if (self->end == TURN_GOES_ON && ow_agent_limit_pause (self, more))
    return;
  if (!more)
    {
      if (self->end == TURN_GOES_ON)
        ask_model (self);
      else
        finish_turn (self);
      return;
    }
  asked = json_array_get (self->calls, self->next_call++);
  self->n_calls++;
  call = ow_tool_call_new (self->events, self->consent, self->audit, self->host,
                           ow_json_get_string (asked, "name", ""),
                           json_object_get (asked, "arguments"),
                           ow_json_get_string (asked, "id", ""));
  ow_tool_call_run_async (call, self->stop, on_call_ended, g_object_ref (self));
}

gboolean
ow_agent_is_working (OwAgent *self)
{
  g_return_val_if_fail (OW_IS_AGENT (self), FALSE);

  return self->task != NULL && self->end == TURN_GOES_ON;
}

gboolean
ow_agent_is_broken (OwAgent *self)
{
  g_return_val_if_fail (OW_IS_AGENT (self), FALSE);

  return self->broken;
}

gboolean
ow_agent_steer (OwAgent     *self,
                const char  *text,
                GError     **error)
{
  g_return_val_if_fail (OW_IS_AGENT (self), FALSE);
  g_return_val_if_fail (text != NULL, FALSE);

  if (ow_agent_is_working (self))
    return ow_event_list_append_text (self->events, OW_EVENT_USER_MESSAGE, text, error);
  ow_error_set (error, OW_ERROR_FAILED, "The agent is not at work",
                "there is no turn that could be told something", "Begin one.");
  return FALSE;
}

void
ow_agent_run_turn_async (OwAgent             *self,
                         const char          *text,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;

  g_return_if_fail (OW_IS_AGENT (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_agent_run_turn_async);
  /* A stopped turn ends in its own order, and its error says so. */
  g_task_set_check_cancellable (task, FALSE);
  if (self->task != NULL)
    {
      ow_error_set (&error, OW_ERROR_FAILED, "The agent is at work already",
                    "it does one turn at a time", "Wait for its end or stop it.");
      g_task_return_error (task, error);
      return;
    }
  if (text != NULL &&
      !ow_event_list_append_text (self->events, OW_EVENT_USER_MESSAGE, text, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  self->task = g_steal_pointer (&task);
  self->stop = g_cancellable_new ();
  self->end = TURN_GOES_ON;
  self->n_calls = 0;
  self->next_call = 0;
  ow_agent_limit_start (self);
  ow_state_reach ("turn-started");
  if (cancellable != NULL)
    self->stop_handler = g_signal_connect (cancellable, "cancelled", G_CALLBACK (on_stop), self);
  if (g_cancellable_is_cancelled (cancellable))
    on_stop (cancellable, self);
  ow_agent_next_step (self);
}

gboolean
ow_agent_run_turn_finish (OwAgent       *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

void
ow_agent_fail (OwAgent      *self,
               const GError *error)
{
  g_return_if_fail (OW_IS_AGENT (self));

  if (self->task != NULL)
    ow_agent_set_end (self, TURN_FAILED, g_error_copy (error));
}
