/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-consent-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-random.h"
#include "base/ow-text.h"

#define DEFAULT_TIMEOUT_MS (10 * 60 * 1000)
#define ID_BYTES           16

struct _OwConsent
{
  GObject parent_instance;

  OwEventList     *events;      /* (owned) */
  OwApprovePolicy  policy;
  guint            timeout_ms;
  gboolean         closed;
  gboolean         attended;
  GHashTable      *open;        /* (owned) id → Pending */
  GHashTable      *remembered;  /* (owned) set of what was allowed for the session */
};

G_DEFINE_FINAL_TYPE (OwConsent, ow_consent, G_TYPE_OBJECT)

typedef struct {
  char          *id;       /* (owned) random, unguessable */
  OwConsentKind  kind;
  char          *call;     /* (owned) (nullable) id of the tool call */
  char          *title;    /* (owned) one line: the tool's name */
  char          *subject;  /* (owned) exact bytes of what is to be done */
  OwLevel        level;
  gint64         deadline; /* monotonic µs */
} Request;

typedef struct {
  Request           request;
  GTask            *task;      /* (owned) (nullable) given away with the answer */
  GSource          *timeout;   /* (owned) */
  GSource          *cancelled; /* (owned) (nullable) */
} Pending;

typedef struct {
  OwDecision  decision;
  char       *approval;  /* (owned) */
} Answer;

static void
clear_source (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static void
pending_free (gpointer data)
{
  Pending *pending = data;

  clear_source (&pending->timeout);
  clear_source (&pending->cancelled);
  g_clear_object (&pending->task);
  g_free (pending->request.id);
  g_free (pending->request.call);
  g_free (pending->request.title);
  g_free (pending->request.subject);
  g_free (pending);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Pending, pending_free)

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
  g_clear_pointer (&self->open, g_hash_table_unref);
  g_clear_pointer (&self->remembered, g_hash_table_unref);
  g_clear_object (&self->events);

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
  self->open = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, pending_free);
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
ow_consent_set_attended (OwConsent *self,
                         gboolean   attended)
{
  g_return_if_fail (OW_IS_CONSENT (self));

  self->attended = attended;
}

void
ow_consent_set_timeout (OwConsent *self,
                        guint      timeout_ms)
{
  self->timeout_ms = timeout_ms;
}

static const char *
kind_to_string (OwConsentKind kind)
{
  switch (kind)
    {
    case OW_CONSENT_TOOL:
      return "tool";
    case OW_CONSENT_HOST:
      return "host";
    case OW_CONSENT_FOLDER:
      return "folder";
    case OW_CONSENT_CONNECTOR:
      return "connector";
    case OW_CONSENT_LIMIT:
      return "limit";
    }

  return NULL;
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
  return g_strdup_printf ("%s %s %s", kind_to_string (kind), ow_level_to_string (level), subject);
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
  g_autoptr (Pending) pending = g_hash_table_lookup (self->open, id);
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;
  g_autofree char *shown = reason != NULL ? ow_text_from_bytes (reason, -1) : NULL;
  json_t *members;

  g_hash_table_steal (self->open, id);
  clear_source (&pending->timeout);
  clear_source (&pending->cancelled);

  members = json_pack ("{s:s, s:s, s:s, s:s?}", "request", pending->request.id,
                       "decision", decision_to_string (decision), "approval", approval,
                       "reason", shown);
  event = ow_event_list_append (self->events, OW_EVENT_CONSENT_ANSWERED, members, &error);
  if (event == NULL)
    {
      g_task_return_error (pending->task, error);
      return;
    }

  if (decision == OW_DECISION_SESSION)
    g_hash_table_add (self->remembered, make_memory (pending->request.kind, pending->request.level,
                                                     pending->request.subject));
  return_answer (pending->task, decision, approval);
}

static gboolean
on_timeout (gpointer user_data)
{
  Pending *pending = user_data;

  settle (g_task_get_source_object (pending->task), pending->request.id, OW_DECISION_DENY,
          "denied:timeout", NULL);
  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (GCancellable *cancellable,
              gpointer      user_data)
{
  Pending *pending = user_data;

  settle (g_task_get_source_object (pending->task), pending->request.id, OW_DECISION_DENY,
          "denied:cancelled", NULL);
  return G_SOURCE_REMOVE;
}

static void
watch (OwConsent *self,
       Pending   *pending)
{
  GMainContext *context = g_task_get_context (pending->task);
  GCancellable *cancellable = g_task_get_cancellable (pending->task);

  pending->timeout = g_timeout_source_new (self->timeout_ms);
  g_source_set_callback (pending->timeout, on_timeout, pending, NULL);
  g_source_attach (pending->timeout, context);

  if (cancellable != NULL)
    {
      pending->cancelled = g_cancellable_source_new (cancellable);
      g_source_set_callback (pending->cancelled, G_SOURCE_FUNC (on_cancelled), pending, NULL);
      g_source_attach (pending->cancelled, context);
    }
}

/* A face may answer, or the session close, while the question is being announced:
 * the request is looked up by its id after each step. */
static void
ask (OwConsent *self,
     Pending   *pending)
{
  g_autofree char *id = g_strdup (pending->request.id);
  g_autoptr (OwEvent) event = NULL;
  GError *error = NULL;
  json_t *members;

  g_hash_table_insert (self->open, pending->request.id, pending);
  watch (self, pending);

  members = json_pack ("{s:s, s:s, s:s?, s:s, s:s, s:s, s:I}",
                       "request", id, "kind", kind_to_string (pending->request.kind),
                       "call", pending->request.call, "title", pending->request.title,
                       "subject", pending->request.subject,
                       "level", ow_level_to_string (pending->request.level),
                       "timeout_s", (json_int_t) (self->timeout_ms + 999) / 1000);
  event = ow_event_list_append (self->events, OW_EVENT_CONSENT_ASKED, members, &error);
  pending = g_hash_table_lookup (self->open, id);
  if (pending == NULL)
    {
      g_clear_error (&error);
      return;
    }
  if (event == NULL)
    {
      g_hash_table_steal (self->open, id);
      g_task_return_error (pending->task, error);
      pending_free (pending);
    }
}

static Pending *
make_pending (OwConsent                *self,
              const OwConsentQuestion  *question,
              GError                  **error)
{
  /* Who may answer is who was told the id. */
  char *id = ow_random_hex (ID_BYTES, error);
  Pending *pending;

  if (id == NULL)
    {
      g_prefix_error (error, "Cannot ask for consent: ");
      return NULL;
    }

  pending = g_new0 (Pending, 1);
  pending->request.id = id;
  pending->request.kind = question->kind;
  pending->request.level = question->level;
  pending->request.call = g_strdup (question->call);
  pending->request.title = g_strdup (question->title);
  pending->request.subject = g_strdup (question->subject);
  pending->request.deadline = g_get_monotonic_time () + (gint64) self->timeout_ms * 1000;

  return pending;
}

/* The answer that is known already; NULL: there is none. */
static const char *
decide (OwConsent               *self,
        const OwConsentQuestion *question,
        GCancellable            *cancellable)
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
  if (!self->attended)
    return "denied:nobody";

  return NULL;
}

void
ow_consent_request_async (OwConsent               *self,
                          const OwConsentQuestion *question,
                          GCancellable            *cancellable,
                          GAsyncReadyCallback      callback,
                          gpointer                 user_data)
{
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;
  const char *approval;
  Pending *pending;

  g_return_if_fail (OW_IS_CONSENT (self));
  g_return_if_fail (kind_to_string (question->kind) != NULL && question->title != NULL &&
                    question->subject != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_consent_request_async);
  /* Cancelled is an answer, denied, and is written down like one. */
  g_task_set_check_cancellable (task, FALSE);

  approval = decide (self, question, cancellable);
  if (approval != NULL)
    {
      OwDecision decision = OW_DECISION_ONCE;

      if (g_str_has_prefix (approval, "denied:"))
        decision = OW_DECISION_DENY;
      else if (g_str_has_prefix (approval, "person:"))
        decision = OW_DECISION_SESSION;
      return_answer (task, decision, approval);
      return;
    }

  pending = make_pending (self, question, &error);
  if (pending == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  pending->task = g_steal_pointer (&task);
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

gboolean
ow_consent_answer (OwConsent   *self,
                   const char  *id,
                   OwDecision   decision,
                   const char  *reason,
                   GError     **error)
{
  const char *approval = "denied:person";

  g_return_val_if_fail (OW_IS_CONSENT (self), FALSE);

  if (id == NULL || !g_hash_table_contains (self->open, id))
    {
      ow_error_set (error, OW_ERROR_USAGE, "There is no such open request",
                    "it was answered already, or has ended", NULL);
      return FALSE;
    }

  /* Whatever is not clearly a yes is a no. */
  if (decision == OW_DECISION_ONCE)
    approval = "person:once";
  else if (decision == OW_DECISION_SESSION)
    approval = "person:session";
  else
    decision = OW_DECISION_DENY;

  g_object_ref (self);
  settle (self, id, decision, approval, reason);
  g_object_unref (self);

  return TRUE;
}

void
ow_consent_close (OwConsent *self)
{
  GHashTableIter iter;
  gpointer id;

  g_return_if_fail (OW_IS_CONSENT (self));

  g_object_ref (self);
  self->closed = TRUE;
  for (;;)
    {
      g_hash_table_iter_init (&iter, self->open);
      if (!g_hash_table_iter_next (&iter, &id, NULL))
        break;
      settle (self, id, OW_DECISION_DENY, "denied:closed", NULL);
    }
  g_object_unref (self);
}
