/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "tools/ow-tool-call.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-random.h"
#include "base/ow-state.h"
#include "base/ow-text.h"
#include "tools/ow-tool-def.h"

/* What a model makes up as a tool's name is cut to this many characters in events. */
#define MAX_NAME_CHARS 64
#define ID_BYTES       16
/* The approval of what a person commanded. */
#define COMMANDED      "person"

struct _OwToolCall {
  GObject parent_instance;

  OwEventList     *events;      /* (owned) */
  OwConsent       *consent;     /* (owned) */
  OwAudit         *audit;       /* (owned) */
  OwToolHost      *host;        /* (owned) */
  const OwToolDef *def;         /* (nullable) NULL: no such tool */
  char            *id;          /* (owned) (nullable) NULL: the kernel gave no random bytes */
  char            *tool;        /* (owned) as it stands in the events */
  char            *model_call;  /* (owned) (nullable) */
  char            *purpose;     /* (owned) (nullable) */
  json_t          *undoes;      /* (owned) (nullable) */
  json_t          *arguments;   /* (owned) */
  char            *approval;    /* (owned) (nullable) before consent */
  GTask           *task;        /* (owned) (nullable) while it runs */
  OwLevel          level;
  OwToolCallState  state;
  gint64           started;     /* monotonic µs, 0: the host was not asked */
  gboolean         used;
};

G_DEFINE_FINAL_TYPE (OwToolCall, ow_tool_call, G_TYPE_OBJECT)

static void
ow_tool_call_finalize (GObject *object)
{
  OwToolCall *self = OW_TOOL_CALL (object);

  g_clear_object (&self->events);
  g_clear_object (&self->consent);
  g_clear_object (&self->audit);
  g_clear_object (&self->host);
  g_clear_object (&self->task);
  g_free (self->id);
  g_free (self->tool);
  g_free (self->model_call);
  g_free (self->purpose);
  g_free (self->approval);
  json_decref (self->arguments);
  json_decref (self->undoes);
  G_OBJECT_CLASS (ow_tool_call_parent_class)->finalize (object);
}

static void
ow_tool_call_class_init (OwToolCallClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_tool_call_finalize;
}

static void
ow_tool_call_init (OwToolCall *self)
{
  /* The id is what a runner tells calls apart by; it must not be guessable from another
   * session. */
  self->id = ow_random_hex (ID_BYTES, NULL);
}

OwToolCall *
ow_tool_call_new (OwEventList  *events,
                  OwConsent    *consent,
                  OwAudit      *audit,
                  OwToolHost   *host,
                  const char   *tool,
                  const json_t *arguments,
                  const char   *id)
{
  OwToolCall *self;

  g_return_val_if_fail (OW_IS_EVENT_LIST (events), NULL);
  g_return_val_if_fail (OW_IS_CONSENT (consent), NULL);
  g_return_val_if_fail (OW_IS_AUDIT (audit), NULL);
  g_return_val_if_fail (OW_IS_TOOL_HOST (host), NULL);
  g_return_val_if_fail (tool != NULL, NULL);

  self = g_object_new (OW_TYPE_TOOL_CALL, NULL);
  self->events = g_object_ref (events);
  self->consent = g_object_ref (consent);
  self->audit = g_object_ref (audit);
  self->host = g_object_ref (host);
  self->def = ow_tool_def_lookup (tool);
  self->tool = ow_text_shorten (tool, MAX_NAME_CHARS, TRUE);
  self->model_call = g_strdup (id);
  self->arguments = arguments != NULL ? json_deep_copy (arguments) : json_object ();
  self->level = ow_tool_host_get_level (host);
  return self;
}

void
ow_tool_call_set_purpose (OwToolCall *self,
                          const char *purpose)
{
  g_return_if_fail (OW_IS_TOOL_CALL (self));

  g_free (self->purpose);
  self->purpose = g_strdup (purpose);
}

void
ow_tool_call_set_commanded (OwToolCall   *self,
                            const json_t *undoes)
{
  g_return_if_fail (OW_IS_TOOL_CALL (self));
  g_return_if_fail (self->model_call == NULL);

  g_free (self->approval);
  self->approval = g_strdup (COMMANDED);
  json_decref (self->undoes);
  self->undoes = undoes == NULL ? NULL : json_deep_copy (undoes);
}

OwToolCallState
ow_tool_call_get_state (OwToolCall *self)
{
  g_return_val_if_fail (OW_IS_TOOL_CALL (self), OW_TOOL_CALL_ENDED);

  return self->state;
}

const char *
ow_tool_call_get_id (OwToolCall *self)
{
  g_return_val_if_fail (OW_IS_TOOL_CALL (self), NULL);

  return self->id;
}

/* The members that every event of a call has. */
static json_t *
call_members (OwToolCall *self,
              gboolean    with_arguments)
{
  json_t *members = json_object ();

  json_object_set_new (members, "call", json_string (self->id));
  json_object_set_new (members, "tool", json_string (self->tool));
  json_object_set_new (members, "level", json_string (ow_level_to_string (self->level)));
  if (with_arguments)
    json_object_set (members, "arguments", self->arguments);
  return members;
}

static json_t *
ended_members (OwToolCall         *self,
               const OwToolResult *result)
{
  json_t           *members = call_members (self, FALSE);
  g_autofree char  *text = ow_text_from_bytes (result->text != NULL ? result->text : "", -1);
  gint64            duration = 0;

  if (self->started != 0)
    duration = (g_get_monotonic_time () - self->started) / 1000;
  json_object_set_new (members, "outcome",
                       json_string (ow_tool_outcome_to_string (result->outcome)));
  json_object_set_new (members, "result", json_string (text));
  json_object_set_new (members, "duration_ms", json_integer (duration));
  json_object_set_new (members, "bytes",
                       json_integer ((json_int_t) MIN (result->bytes, (guint64) G_MAXINT64)));
  if (result->exit_status >= 0)
    json_object_set_new (members, "exit_status", json_integer (result->exit_status));
  if (result->signal > 0)
    json_object_set_new (members, "signal", json_integer (result->signal));
  if (result->state_lost)
    json_object_set_new (members, "state_lost", json_true ());
  if (self->model_call != NULL)
    json_object_set_new (members, "model_call", json_string (self->model_call));
  if (json_is_object (result->structured))
    json_object_set (members, "structured", result->structured);
  return members;
}

static void
finish_with_error (OwToolCall *self,
                   GError     *error)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->task);

  self->state = OW_TOOL_CALL_ENDED;
  g_task_return_error (task, error);
}

/* Stores and records the end. What went wrong before (@cause, stolen, nullable) is
 * what the caller is told; otherwise it gets @result. */
static void
end_call (OwToolCall   *self,
          OwToolResult *result,
          GError       *cause)
{
  g_autoptr (OwToolResult) owned = result;
  g_autoptr (GTask) task = NULL;
  g_autoptr (OwEvent) event = NULL;
  g_autoptr (GError) error = NULL;

  self->state = OW_TOOL_CALL_ENDED;
  event = ow_event_list_append (self->events, OW_EVENT_TOOL_ENDED, ended_members (self, result),
                                &error);
  /* The end record need not be on disk at once: a lost one leaves its begin, which
   * reads as interrupted. The turn's end syncs. */
  if (event != NULL)
    ow_audit_append (self->audit, event, FALSE, &error);
  ow_state_reach ("call-ended");
  task = g_steal_pointer (&self->task);
  if (cause != NULL)
    {
      g_task_return_error (task, cause);
      return;
    }
  if (error != NULL)
    {
      g_prefix_error (&error, "%s, but its end could not be recorded, so the session stops: ",
                      self->started != 0 ? "The call ran" : "The call did not run");
      g_task_return_error (task, g_steal_pointer (&error));
      return;
    }
  g_task_return_pointer (task, g_steal_pointer (&owned), (GDestroyNotify) ow_tool_result_free);
}

static gboolean
end_if_cancelled (OwToolCall *self)
{
  if (!g_cancellable_is_cancelled (g_task_get_cancellable (self->task)))
    return FALSE;
  end_call (self, ow_tool_result_new (OW_OUTCOME_CANCELLED,
                                      "The call was stopped before it began: nothing ran."), NULL);
  return TRUE;
}

static void
on_output (const char *stream,
           const char *data,
           gsize       length,
           gpointer    user_data)
{
  OwToolCall *self = user_data;
  json_t     *members;
  g_autoptr (OwEvent) event = NULL;

  /* A host that goes on talking after its result is not listened to. */
  if (self->state != OW_TOOL_CALL_RUNNING)
    return;
  members = json_object ();
  json_object_set_new (members, "call", json_string (self->id));
  json_object_set_new (members, "level", json_string (ow_level_to_string (self->level)));
  json_object_set_new (members, "stream",
                       json_string (g_strcmp0 (stream, "stderr") == 0 ? "stderr" : "stdout"));
  if (memchr (data, '\0', length) == NULL && g_utf8_validate (data, (gssize) length, NULL))
    {
      json_object_set_new (members, "text", json_stringn (data, length));
    }
  else
    {
      g_autofree char *encoded = g_base64_encode ((const guchar *) data, length);

      json_object_set_new (members, "data", json_string (encoded));
    }
  /* Not stored and not recorded, so nothing hangs on it. */
  event = ow_event_list_append (self->events, OW_EVENT_TOOL_OUTPUT, members, NULL);
}

static void
on_called (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwToolCall) self = user_data;
  g_autoptr (GError) error = NULL;
  OwToolResult *outcome;

  outcome = ow_tool_host_call_finish (OW_TOOL_HOST (source), result, &error);
  if (outcome != NULL)
    {
      end_call (self, outcome, NULL);
      return;
    }
  if (error == NULL)
    ow_error_set (&error, OW_ERROR_FAILED, "The tool host gave no result", NULL, NULL);
  end_call (self, ow_tool_result_new (OW_OUTCOME_FAILED, error->message),
            g_error_copy (error));
}

static void
call_host (OwToolCall *self)
{
  self->state = OW_TOOL_CALL_RUNNING;
  self->started = MAX (g_get_monotonic_time (), 1);
  ow_tool_host_call_async (self->host, self->id, self->def->name, self->arguments, on_output, self,
                           g_task_get_cancellable (self->task), on_called, g_object_ref (self));
  ow_state_reach ("call-running");
}

/* Begin event and begin record. FALSE: not recorded, the call has ended. */
static gboolean
record_begin (OwToolCall *self)
{
  json_t *members = call_members (self, TRUE);
  g_autoptr (OwEvent) event = NULL;
  g_autoptr (GError) error = NULL;

  json_object_set_new (members, "approval", json_string (self->approval));
  event = ow_event_list_append (self->events, OW_EVENT_TOOL_STARTED, members, &error);
  if (event != NULL && ow_audit_append (self->audit, event, !self->def->read_only, &error))
    {
      self->state = OW_TOOL_CALL_RECORDED;
      ow_state_reach ("call-recorded");
      return TRUE;
    }
  g_prefix_error (&error, "The call was not run, because it could not be recorded: ");
  end_call (self, ow_tool_result_new (OW_OUTCOME_FAILED, error->message), g_error_copy (error));
  return FALSE;
}

/* What the person wrote beside "no", from the session's list. */
static const char *
find_reason (OwToolCall *self)
{
  const char *request = NULL;
  guint       n = ow_event_list_get_n (self->events);

  for (guint i = 0; i < n; i++)
    {
      OwEvent *event = ow_event_list_get (self->events, i);

      if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ASKED &&
          g_strcmp0 (ow_event_get_string (event, "call"), self->id) == 0)
        request = ow_event_get_string (event, "request");
      else if (request != NULL && ow_event_get_kind (event) == OW_EVENT_CONSENT_ANSWERED &&
               g_strcmp0 (ow_event_get_string (event, "request"), request) == 0)
        return ow_event_get_string (event, "reason");
    }
  return NULL;
}

static OwToolResult *
denied_result (OwToolCall *self)
{
  static const struct { const char *approval; const char *text; } texts[] = {
    { "denied:person", "The person said no" },
    { "denied:policy", "This session does nothing that it would have to ask for" },
    { "denied:timeout", "Nobody answered the question in time" },
    { "denied:nobody", "Nobody was there to be asked" },
    { "denied:too-long", "It is too long to be shown whole to a person before it runs, so do it in "
      "smaller parts" },
    { "denied:closed", "The question was closed without an answer" },
  };
  const char      *why = "It was not allowed";
  const char      *reason = find_reason (self);
  g_autofree char *text = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      if (g_strcmp0 (self->approval, texts[i].approval) == 0)
        why = texts[i].text;
    }
  if (reason != NULL && *reason != '\0')
    text = g_strdup_printf ("This call was denied and did not run. %s: %s", why, reason);
  else
    text = g_strdup_printf ("This call was denied and did not run. %s.", why);
  return ow_tool_result_new (OW_OUTCOME_DENIED, text);
}

static void
go_on (OwToolCall *self)
{
  self->state = OW_TOOL_CALL_CONSENTED;
  ow_state_reach ("call-consented");
  if (end_if_cancelled (self) || !record_begin (self) || end_if_cancelled (self))
    return;
  call_host (self);
}

static void
on_consent (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwToolCall) self = user_data;
  g_autoptr (GError) error = NULL;
  OwDecision decision = OW_DECISION_DENY;
  gboolean   answered;

  answered = ow_consent_request_finish (OW_CONSENT (source), result, &decision, &self->approval,
                                        &error);
  if (end_if_cancelled (self))
    return;
  if (!answered)
    {
      end_call (self, ow_tool_result_new (OW_OUTCOME_FAILED, error->message),
                g_error_copy (error));
      return;
    }
  if (decision != OW_DECISION_ONCE && decision != OW_DECISION_SESSION &&
      decision != OW_DECISION_ALWAYS)
    {
      end_call (self, denied_result (self), NULL);
      return;
    }
  go_on (self);
}

/* What is consented to: the exact call, in a form in which equal calls are equal. */
static char *
make_subject (OwToolCall *self)
{
  json_t *subject = json_object ();
  char   *text;
  char   *copy;

  json_object_set_new (subject, "tool", json_string (self->def->name));
  json_object_set (subject, "arguments", self->arguments);
  text = ow_json_dump_canonical (subject, NULL);
  json_decref (subject);
  copy = g_strdup (text);
  free (text);
  return copy;
}

/* The command line where it is all there is to the call, so that a person can allow it for
 * always; NULL: it is not. How long it may run, whether the shell waits for it, and whether it
 * sees a terminal change nothing of what runs; an argument that is not known here might. */
static const char *
find_command (OwToolCall *self)
{
  static const char * const shell[] = { "command", "timeout_s", NULL };
  static const char * const start[] = { "command", "pty", NULL };
  const char * const *known = shell;
  const char *key;
  json_t     *value;

  if (strcmp (self->def->name, "task_start") == 0)
    known = start;
  else if (strcmp (self->def->name, "shell") != 0)
    return NULL;
  json_object_foreach (self->arguments, key, value)
    {
      if (!g_strv_contains (known, key))
        return NULL;
    }
  return ow_json_get_string (self->arguments, "command", NULL);
}

static void
ask_consent (OwToolCall *self)
{
  g_autofree char *subject = make_subject (self);
  OwConsentQuestion question = {
    .kind = OW_CONSENT_TOOL,
    .level = self->level,
    .read_only = self->def->read_only,
    .call = self->id,
    .title = self->def->name,
    .command = find_command (self),
  };

  if (subject == NULL)
    {
      end_call (self, ow_tool_result_new (OW_OUTCOME_FAILED,
                                          "The arguments cannot be written down exactly, so the "
                                          "call was not run."), NULL);
      return;
    }
  question.subject = subject;
  ow_consent_request_async (self->consent, &question, g_task_get_cancellable (self->task),
                            on_consent, g_object_ref (self));
}

/* The sentence that a model gets for a call that makes no sense; NULL: it does. */
static char *
find_fault (OwToolCall *self)
{
  g_autoptr (GError) error = NULL;

  /* A model has those that it is offered, whatever names it knows. */
  if (self->def == NULL || (self->model_call != NULL && !self->def->for_model))
    return g_strdup_printf ("There is no tool named \"%s\". Nothing ran. Use one of the tools that "
                            "are listed.", self->tool);
  if (ow_tool_def_check (self->def, self->arguments, &error))
    return NULL;
  return g_strdup_printf ("%s%s Nothing ran.", error->message,
                          g_str_has_suffix (error->message, ".") ? "" : ".");
}

void
ow_tool_call_run_async (OwToolCall          *self,
                        GCancellable        *cancellable,
                        GAsyncReadyCallback  callback,
                        gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (OwEvent) event = NULL;
  g_autofree char *fault = NULL;
  GError *error = NULL;
  json_t *members;

  g_return_if_fail (OW_IS_TOOL_CALL (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_tool_call_run_async);
  /* A cancelled call has a result of its own, which must not be lost. */
  g_task_set_check_cancellable (task, FALSE);
  if (self->used || self->id == NULL)
    {
      ow_error_set (&error, OW_ERROR_FAILED, "The call was not run",
                    self->used ? "it was already used" : "the kernel gave no random bytes", NULL);
      g_task_return_error (task, error);
      return;
    }
  self->used = TRUE;
  self->task = g_steal_pointer (&task);

  members = call_members (self, TRUE);
  if (self->model_call != NULL)
    json_object_set_new (members, "model_call", json_string (self->model_call));
  if (self->purpose != NULL)
    json_object_set_new (members, "purpose", json_string (self->purpose));
  if (self->undoes != NULL)
    json_object_set (members, "undoes", self->undoes);
  event = ow_event_list_append (self->events, OW_EVENT_TOOL_ASKED, members, &error);
  if (event == NULL)
    {
      g_prefix_error (&error, "The call was not run, because it could not be stored: ");
      finish_with_error (self, error);
      return;
    }
  self->state = OW_TOOL_CALL_ASKED;
  ow_state_reach ("call-asked");
  fault = find_fault (self);
  if (fault != NULL)
    end_call (self, ow_tool_result_new (OW_OUTCOME_FAILED, fault), NULL);
  else if (!end_if_cancelled (self) && self->approval != NULL)
    go_on (self);
  else if (self->state != OW_TOOL_CALL_ENDED)
    ask_consent (self);
}

OwToolResult *
ow_tool_call_run_finish (OwToolCall    *self,
                         GAsyncResult  *result,
                         GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
