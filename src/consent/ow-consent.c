/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-consent-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-consent-pending-private.h"
#include "ow-consent-rules-private.h"
#include "ow-simple-command-private.h"

/* Escaped in an event and an event in a message it stays far below the 8 MiB of a frame. */
#define MAX_SUBJECT_BYTES (1024u * 1024u)
#define DEFAULT_TIMEOUT_MS (10 * 60 * 1000)

struct _OwConsent
{
  GObject parent_instance;

  OwEventList     *events;      /* (owned) */
  OwApprovePolicy  policy;
  guint            timeout_ms;
  gboolean         closed;
  gboolean         attended;
  gboolean         parks;
  OwConsentRules  *rules;       /* (owned) (nullable) */
  char            *place;       /* (owned) (nullable) where work starts */
  GPtrArray       *open;        /* (owned) of OwConsentPending, oldest first */
  GHashTable      *remembered;  /* (owned) set of what was allowed for the session */
};

G_DEFINE_FINAL_TYPE (OwConsent, ow_consent, G_TYPE_OBJECT)

typedef struct {
  OwDecision  decision;
  char       *approval;  /* (owned) */
} Answer;

static void
answer_free (gpointer data)
{
  Answer *answer = data;

  g_free (answer->approval);
  g_free (answer);
}

static void
ow_consent_finalize (GObject *object)
{
  OwConsent *self = OW_CONSENT (object);

  /* An open request's task holds a reference, so none is open here. */
  g_clear_pointer (&self->open, g_ptr_array_unref);
  g_clear_pointer (&self->remembered, g_hash_table_unref);
  g_clear_object (&self->rules);
  g_clear_object (&self->events);
  g_free (self->place);

  G_OBJECT_CLASS (ow_consent_parent_class)->finalize (object);
}

static void
ow_consent_class_init (OwConsentClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_consent_finalize;
}

static void
ow_consent_init (OwConsent *self)
{
  self->timeout_ms = DEFAULT_TIMEOUT_MS;
  self->open = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_consent_pending_free);
  self->remembered = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

OwConsent *
ow_consent_new (OwEventList     *events,
                OwApprovePolicy  policy)
{
  OwConsent *self = g_object_new (OW_TYPE_CONSENT, NULL);

  self->events = g_object_ref (events);
  self->policy = policy;

  return self;
}

void
ow_consent_set_rules (OwConsent      *self,
                      OwConsentRules *rules,
                      const char     *place)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  g_set_object (&self->rules, rules);
  g_free (self->place);
  self->place = g_strdup (place);
}

void
ow_consent_set_place (OwConsent  *self,
                      const char *place)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  g_free (self->place);
  self->place = g_strdup (place);
  g_hash_table_remove_all (self->remembered);
}

void
ow_consent_set_timeout (OwConsent *self,
                        guint      timeout_ms)
{
  self->timeout_ms = timeout_ms;
}

/* NULL: no open request has that id. */
static OwConsentPending *
find_open (OwConsent  *self,
           const char *id)
{
  for (guint i = 0; id != NULL && i < self->open->len; i++)
    {
      OwConsentPending *pending = g_ptr_array_index (self->open, i);

      if (strcmp (pending->id, id) == 0)
        return pending;
    }

  return NULL;
}

/* From here on nothing can answer it. (transfer full) */
static OwConsentPending *
take_open (OwConsent  *self,
           const char *id)
{
  OwConsentPending *pending = find_open (self, id);
  guint at = 0;

  if (pending == NULL || !g_ptr_array_find (self->open, pending, &at))
    return NULL;

  return g_ptr_array_steal_index (self->open, at);
}

static const char *
decision_to_string (OwDecision decision)
{
  switch (decision)
    {
    case OW_DECISION_ONCE:
      return "once";
    case OW_DECISION_SESSION:
      return "session";
    case OW_DECISION_ALWAYS:
      return "always";
    case OW_DECISION_DENY:
      break;
    }

  return "deny";
}

/* What the policy says without a question; NULL: a person has to be asked. */
static const char *
decide_by_policy (OwApprovePolicy policy,
                  OwConsentKind   kind,
                  OwLevel         level,
                  gboolean        read_only)
{
  gboolean walled = kind == OW_CONSENT_TOOL && ow_level_is_walled (level);

  read_only = read_only && kind == OW_CONSENT_TOOL;
  switch (policy)
    {
    case OW_APPROVE_ASK:
      return read_only ? "policy:read-only" : NULL;
    case OW_APPROVE_SANDBOXED:
      if (walled)
        return "policy:sandboxed";
      return read_only ? "policy:read-only" : NULL;
    case OW_APPROVE_DENY:
      break;
    }

  return read_only && walled ? "policy:read-only" : "denied:policy";
}

/* Exactly the same bytes, for the same kind of thing, with the effect at the same place. */
static char *
make_memory (OwConsentKind  kind,
             OwLevel        level,
             const char    *subject)
{
  return g_strdup_printf ("%s %s %s", ow_consent_pending_kind_name (kind),
                          ow_level_to_string (level), subject);
}

static void
return_answer (GTask      *task,
               OwDecision  decision,
               const char *approval)
{
  Answer *answer = g_new0 (Answer, 1);

  answer->decision = decision;
  answer->approval = g_strdup (approval);
  g_task_return_pointer (task, answer, answer_free);
}

/* Takes the request off the list, so that nothing can answer it again, writes the
 * answer down and gives it to the one that waits. An answer that cannot be written
 * down is no consent. */
static void
settle (OwConsent  *self,
        const char *id,
        OwDecision  decision,
        const char *approval,
        const char *reason)
{
  g_autoptr (OwConsentPending) pending = take_open (self, id);
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;
  g_autofree char *shown = reason != NULL ? ow_text_from_bytes (reason, -1) : NULL;
  json_t *members;

  if (pending == NULL)
    return;
  ow_source_clear (&pending->timeout);
  ow_source_clear (&pending->cancelled);

  members = json_pack ("{s:s, s:s, s:s, s:s?}", "request", pending->id,
                       "decision", decision_to_string (decision), "approval", approval,
                       "reason", shown);
  event = ow_event_list_append (self->events, OW_EVENT_CONSENT_ANSWERED, members, &error);
  if (event == NULL)
    {
      if (decision == OW_DECISION_ALWAYS && pending->words != NULL)
        ow_consent_rules_remove (self->rules, pending->level, self->place,
                                 (const char * const *) pending->words);
      g_task_return_error (pending->task, error);
      return;
    }

  if (decision == OW_DECISION_SESSION)
    g_hash_table_add (self->remembered, make_memory (pending->kind, pending->level,
                                                     pending->subject));
  return_answer (pending->task, decision, approval);
}

/* Writing an answer down calls listeners, who may answer or add others meanwhile. */
static void
deny_all (OwConsent  *self,
          const char *approval)
{
  g_object_ref (self);
  while (self->open->len > 0)
    {
      const OwConsentPending *pending = g_ptr_array_index (self->open, 0);
      g_autofree char *id = g_strdup (pending->id);

      settle (self, id, OW_DECISION_DENY, approval, NULL);
    }
  g_object_unref (self);
}

static gboolean
on_timeout (gpointer user_data)
{
  OwConsentPending *pending = user_data;
  OwConsent *self = g_task_get_source_object (pending->task);
  g_autofree char *id = g_strdup (pending->id);

  settle (self, id, OW_DECISION_DENY, "denied:timeout", NULL);
  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  OwConsentPending *pending = user_data;
  OwConsent *self = g_task_get_source_object (pending->task);
  g_autofree char *id = g_strdup (pending->id);

  settle (self, id, OW_DECISION_DENY, "denied:cancelled", NULL);
  return G_SOURCE_REMOVE;
}

/* The whole time from now on. */
static void
start_deadline (OwConsent        *self,
                OwConsentPending *pending)
{
  if (pending->timeout != NULL)
    return;
  pending->deadline = g_get_monotonic_time () + (gint64) self->timeout_ms * 1000;
  pending->timeout = g_timeout_source_new (self->timeout_ms);
  g_source_set_callback (pending->timeout, on_timeout, pending, NULL);
  g_source_attach (pending->timeout, g_task_get_context (pending->task));
}

static void
watch_cancellable (OwConsentPending *pending)
{
  pending->cancelled = ow_source_cancelled (g_task_get_cancellable (pending->task), on_cancelled,
                                            pending, NULL);
}

/* Deadlines run while somebody is there; where nobody is and nothing parks, nothing waits. */
static void
update_open (OwConsent *self)
{
  if (!self->attended && !self->parks)
    {
      deny_all (self, "denied:nobody");
      return;
    }
  for (guint i = 0; i < self->open->len; i++)
    {
      OwConsentPending *pending = g_ptr_array_index (self->open, i);

      if (self->attended)
        start_deadline (self, pending);
      else
        ow_source_clear (&pending->timeout);
    }
}

void
ow_consent_set_attended (OwConsent *self,
                         gboolean   attended)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  self->attended = attended;
  update_open (self);
}

void
ow_consent_set_parks (OwConsent *self,
                      gboolean   parks)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  self->parks = parks;
  update_open (self);
}

/* A face may answer, or the session close, while the question is being announced:
 * the request is looked up by its id after each step. */
static void
ask (OwConsent        *self,
     OwConsentPending *pending)
{
  g_autofree char *id = g_strdup (pending->id);
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;
  json_t *members;

  g_ptr_array_add (self->open, pending);
  watch_cancellable (pending);
  if (self->attended)
    start_deadline (self, pending);

  members = ow_consent_pending_describe (pending);
  json_object_set_new (members, "timeout_s",
                       json_integer (self->attended
                                     ? ((json_int_t) self->timeout_ms + 999) / 1000 : 0));
  event = ow_event_list_append (self->events, OW_EVENT_CONSENT_ASKED, members, &error);
  if (event != NULL)
    return;
  pending = take_open (self, id);
  if (pending == NULL)
    {
      g_clear_error (&error);
      return;
    }
  g_task_return_error (pending->task, error);
  ow_consent_pending_free (pending);
}

/* What "always" would allow; NULL: it cannot be offered. (transfer full) */
static char **
make_rule_words (OwConsent               *self,
                 const OwConsentQuestion *question)
{
  g_auto (GStrv) words = NULL;

  if (question->kind != OW_CONSENT_TOOL || question->command == NULL || self->rules == NULL ||
      self->place == NULL)
    return NULL;
  words = ow_simple_command_parse (question->command);
  if (words == NULL || !ow_simple_command_can_be_rule ((const char * const *) words))
    return NULL;

  return g_steal_pointer (&words);
}

/* The answer that is known already; NULL: there is none. */
static const char *
decide (OwConsent                *self,
        const OwConsentQuestion  *question,
        char                    **words,
        GCancellable             *cancellable)
{
  g_autofree char *memory = make_memory (question->kind, question->level, question->subject);
  const char *approval;

  if (self->closed)
    return "denied:closed";
  if (g_cancellable_is_cancelled (cancellable))
    return "denied:cancelled";
  approval = decide_by_policy (self->policy, question->kind, question->level,
                               question->read_only);
  if (approval != NULL)
    return approval;
  if (g_hash_table_contains (self->remembered, memory))
    return "person:session";
  if (words != NULL && ow_consent_rules_contains (self->rules, question->level, self->place,
                                                  (const char * const *) words))
    return "rule:always";
  /* What no face gets whole cannot be shown before it runs. */
  if (strlen (question->subject) > MAX_SUBJECT_BYTES)
    return "denied:too-long";
  if (!self->attended && !self->parks)
    return "denied:nobody";

  return NULL;
}

static OwDecision
decision_of (const char *approval)
{
  if (g_str_has_prefix (approval, "policy:"))
    return OW_DECISION_ONCE;
  if (g_str_equal (approval, "person:session"))
    return OW_DECISION_SESSION;
  if (g_str_equal (approval, "rule:always"))
    return OW_DECISION_ALWAYS;

  return OW_DECISION_DENY;
}

void
ow_consent_request_async (OwConsent               *self,
                          const OwConsentQuestion *question,
                          GCancellable            *cancellable,
                          GAsyncReadyCallback      callback,
                          gpointer                 user_data)
{
  g_autoptr (GTask) task = NULL;
  g_auto (GStrv) words = NULL;
  GError *error = NULL;
  const char *approval;
  OwConsentPending *pending;

  g_return_if_fail (OW_IS_CONSENT (self));
  g_return_if_fail (ow_consent_pending_kind_name (question->kind) != NULL &&
                    question->title != NULL && question->subject != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_consent_request_async);
  /* Cancelled is an answer, denied, and is written down like one. */
  g_task_set_check_cancellable (task, FALSE);

  words = make_rule_words (self, question);
  approval = decide (self, question, words, cancellable);
  if (approval != NULL)
    {
      return_answer (task, decision_of (approval), approval);
      return;
    }

  pending = ow_consent_pending_new (question, task, &error);
  if (pending == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  if (words != NULL && ow_consent_rules_is_usable (self->rules))
    pending->words = g_steal_pointer (&words);
  ask (self, pending);
}

gboolean
ow_consent_request_finish (OwConsent     *self,
                           GAsyncResult  *result,
                           OwDecision    *decision,
                           char         **approval,
                           GError       **error)
{
  Answer *answer;

  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  answer = g_task_propagate_pointer (G_TASK (result), error);
  if (answer == NULL)
    return FALSE;

  *decision = answer->decision;
  if (approval != NULL)
    *approval = g_steal_pointer (&answer->approval);
  answer_free (answer);

  return TRUE;
}

/* "Always" is stored before it counts: a yes that would be forgotten is not taken for one. */
static gboolean
store_rule (OwConsent               *self,
            const OwConsentPending  *pending,
            GError                 **error)
{
  if (pending->always != NULL && pending->keep != NULL)
    return pending->keep (pending->keep_data, error);
  if (pending->words == NULL || self->rules == NULL || self->place == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "This cannot be allowed for always",
                    "only a command that a shell reads in one way and that does the same each "
                    "time can be", "Answer it with once, session or deny.");
      return FALSE;
    }

  return ow_consent_rules_add (self->rules, pending->level, self->place,
                               (const char * const *) pending->words, error);
}

gboolean
ow_consent_answer (OwConsent   *self,
                   const char  *id,
                   OwDecision   decision,
                   const char  *reason,
                   GError     **error)
{
  const OwConsentPending *pending;
  const char *approval = "denied:person";

  g_return_val_if_fail (OW_IS_CONSENT (self), FALSE);

  pending = find_open (self, id);
  if (pending == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "There is no such open request",
                    "it was answered already, or has ended", NULL);
      return FALSE;
    }
  if (decision == OW_DECISION_ALWAYS && !store_rule (self, pending, error))
    return FALSE;

  /* Whatever is not clearly a yes is a no. */
  if (decision == OW_DECISION_ONCE)
    approval = "person:once";
  else if (decision == OW_DECISION_SESSION)
    approval = "person:session";
  else if (decision == OW_DECISION_ALWAYS)
    approval = "person:always";
  else
    decision = OW_DECISION_DENY;

  g_object_ref (self);
  settle (self, id, decision, approval, reason);
  g_object_unref (self);

  return TRUE;
}

json_t *
ow_consent_list (OwConsent *self)
{
  json_t *list = json_array ();
  gint64 now = g_get_monotonic_time ();

  g_return_val_if_fail (OW_IS_CONSENT (self), list);

  for (guint i = 0; i < self->open->len; i++)
    {
      const OwConsentPending *pending = g_ptr_array_index (self->open, i);
      json_t *entry = ow_consent_pending_describe (pending);
      gint64 left = MAX (pending->deadline - now, 0);

      json_object_del (entry, "call");
      json_object_set_new (entry, "session",
                           json_string (ow_event_list_get_session (self->events)));
      json_object_set_new (entry, "parked", json_boolean (pending->timeout == NULL));
      if (pending->timeout != NULL)
        json_object_set_new (entry, "remaining_s",
                             json_integer ((left + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC));
      json_array_append_new (list, entry);
    }

  return list;
}

void
ow_consent_close (OwConsent *self)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  self->closed = TRUE;
  deny_all (self, "denied:closed");
}
