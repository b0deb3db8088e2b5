/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-hosts-private.h"

#include <stdlib.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-source.h"
#include "base/ow-text.h"
#include "config/ow-config-hosts.h"
#include "config/ow-config.h"
#include "ow-session-events-private.h"
#include "ow-session-remedy-private.h"
#include "ow-session-traffic-private.h"
#include "wire/ow-address.h"

/* What runs inside can name as many hosts as it likes; the list, the store and the record must
 * not grow with it without end. */
#define MAX_REFUSED 2000
/* Nor may it put as many questions before the person. */
#define MAX_QUESTIONS 20
/* The two clocks of a refusal and of a call are one, but a log may round. */
#define CLOCK_MS 50

/* A log tells a refusal late; the call may be over by then, and others after it. */
#define KEPT_CALLS 16
/* What was counted since and was not stored is lost with the program. */
#define TELL_MS 30000

typedef struct {
  char  *call;      /* (owned) (nullable) a place not used yet */
  gint64 begin_ms;  /* since 1970 */
  gint64 end_ms;    /* G_MAXINT64 while it runs */
} Window;

struct OwSessionHosts {
  OwSessionTraffic *traffic; /* (owned) */
  GSource    *tell;       /* (owned) (nullable) it is stored then */
  GHashTable *decided;    /* (owned) set of "HOST:PORT DECISION REASON" */
  gboolean    full;       /* that no more are listed was said */
  guint       questions;
  gboolean    asked_enough; /* that no more are asked was said */
  Window      calls[KEPT_CALLS]; /* the last tool calls */
  guint       next;       /* place of the next one */
};

OwSessionHosts *
ow_session_hosts_new (void)
{
  OwSessionHosts *hosts = g_new0 (OwSessionHosts, 1);

  hosts->traffic = ow_session_traffic_new ();
  hosts->decided = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return hosts;
}

void
ow_session_hosts_free (OwSessionHosts *hosts)
{
  if (hosts == NULL)
    return;
  ow_source_clear (&hosts->tell);
  ow_session_traffic_free (hosts->traffic);
  g_hash_table_unref (hosts->decided);
  for (guint i = 0; i < KEPT_CALLS; i++)
    g_free (hosts->calls[i].call);
  g_free (hosts);
}

static gint64
now_ms (void)
{
  return g_get_real_time () / 1000;
}

void
ow_session_hosts_call (OwSession *self,
                       OwEvent   *event)
{
  OwSessionHosts *hosts = self->hosts;
  const char *call = ow_event_get_string (event, "call");
  Window *window;

  if (ow_event_get_kind (event) == OW_EVENT_TOOL_ENDED)
    {
      for (guint i = 0; i < KEPT_CALLS; i++)
        if (g_strcmp0 (hosts->calls[i].call, call) == 0)
          hosts->calls[i].end_ms = now_ms ();
      return;
    }
  window = &hosts->calls[hosts->next++ % KEPT_CALLS];
  g_free (window->call);
  *window = (Window) { g_strdup (call), now_ms (), G_MAXINT64 };
}

/* --- what a person allows --- */

/* The agent is told by the notice: it has seen the refusal, and would not try again. */
static void
append_allowed (OwSession    *self,
                const OwHost *host)
{
  g_autofree char *name = ow_host_to_text (host);
  g_autofree char *notice = g_strdup_printf ("%s may be reached from now on: the person has "
                                             "allowed it for this session.", name);
  json_t *members = json_pack ("{s:s, s:i, s:s, s:s, s:s}", "host", host->host,
                               "port", host->port, "decision", "allow",
                               "reason", "person", "level", ow_level_to_string (self->level));

  if (host->private)
    json_object_set_new (members, "private", json_true ());
  if (ow_sandbox_get_id (self->sandbox) != NULL)
    json_object_set_new (members, "sandbox", json_string (ow_sandbox_get_id (self->sandbox)));
  if (ow_session_append (self, OW_EVENT_HOST_DECISION, members))
    ow_session_append_notice (self, notice);
}

static void
on_allowed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwSession *self = g_task_get_source_object (task);
  GError *error = NULL;

  if (!ow_sandbox_allow_finish (OW_SANDBOX (source), result, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (self->sandbox != NULL)
    append_allowed (self, g_task_get_task_data (task));
  g_task_return_boolean (task, TRUE);
}

void
ow_session_allow_host_async (OwSession          *self,
                             const OwHost       *host,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;

  g_return_if_fail (OW_IS_SESSION (self));
  g_return_if_fail (host != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_allow_host_async);
  g_task_set_task_data (task, ow_host_copy (host), (GDestroyNotify) ow_host_free);
  if (self->sandbox != NULL)
    {
      ow_sandbox_allow_async (self->sandbox, host, cancellable, on_allowed,
                              g_steal_pointer (&task));
      return;
    }
  ow_error_set (&error, OW_ERROR_FAILED, "The host was not allowed",
                "the session has no sandbox any more", "Take the session up again");
  g_task_return_error (task, error);
}

gboolean
ow_session_allow_host_finish (OwSession    *self,
                              GAsyncResult *result,
                              GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

/* --- the question --- */

typedef struct {
  OwSession *self;  /* (owned) */
  OwHost    *host;  /* (owned) */
} Question;

static void
question_free (Question *question)
{
  g_object_unref (question->self);
  ow_host_free (question->host);
  g_free (question);
}

static gboolean
keep_on_machine (gpointer data,
                 GError **error)
{
  const Question *question = data;
  g_autofree char *path = ow_paths_get_config_file ();

  return ow_config_add_extra_host (path, question->host, error);
}

static void
on_question_allowed (GObject      *source,
                     GAsyncResult *result,
                     gpointer      user_data)
{
  Question *question = user_data;
  OwSession *self = question->self;
  g_autoptr (GError) error = NULL;

  if (!ow_session_allow_host_finish (self, result, &error) && self->sandbox != NULL)
    {
      g_autofree char *name = ow_host_to_text (question->host);
      g_autofree char *notice = g_strdup_printf ("%s could not be allowed in this session: %s",
                                                 name, error->message);

      ow_session_append_notice (self, notice);
    }
  question_free (question);
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  Question *question = user_data;
  OwSession *self = question->self;
  OwDecision decision = OW_DECISION_DENY;
  GError *error = NULL;

  if (!ow_consent_request_finish (OW_CONSENT (source), result, &decision, NULL, &error))
    {
      /* An answer that could not be written down. */
      ow_session_fail (self, error);
      decision = OW_DECISION_DENY;
    }
  if (decision == OW_DECISION_DENY)
    question_free (question);
  else
    ow_session_allow_host_async (self, question->host, self->stop, on_question_allowed, question);
}

/* A host that is on the list already and stands for a private address: allowing it is another
 * thing than listing it (REQ-N03). */
static gboolean
is_private (const json_t *members)
{
  struct sockaddr_storage address;

  return g_str_equal (ow_json_get_string (members, "reason", ""), "address") &&
         ow_address_parse (ow_json_get_string (members, "address", ""), &address) &&
         ow_address_classify ((const struct sockaddr *) &address) == OW_ADDRESS_PRIVATE;
}

/* All that the person is shown of it. NULL: it cannot be written. */
static char *
make_subject (const OwHost *host,
              const json_t *members)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (OwConfig) config = ow_config_load (path, NULL);
  g_autofree char *remedy = config != NULL && !host->private ? ow_session_remedy (config, host)
                                                             : NULL;
  json_t *subject = json_pack ("{s:s, s:i, s:s*, s:s*, s:s*}", "host", host->host,
                               "port", host->port,
                               "program", ow_json_get_string (members, "program", NULL),
                               "private address",
                               host->private ? ow_json_get_string (members, "address", NULL) : NULL,
                               "instead", remedy);
  char *text = subject != NULL ? ow_json_dump (subject, NULL) : NULL;

  json_decref (subject);
  return text;
}

static gboolean
may_ask (OwSession *self)
{
  if (!ow_sandbox_can_allow (self->sandbox))
    return FALSE;
  if (self->hosts->questions < MAX_QUESTIONS)
    return TRUE;
  if (!self->hosts->asked_enough)
    ow_session_append_notice (self, "Many hosts were asked about in this session. Further ones "
                              "stay refused without a question; \"openworker sandbox allow\" "
                              "allows one.");
  self->hosts->asked_enough = TRUE;
  return FALSE;
}

/* Asks, where the answer can change something: the agent goes on meanwhile. @members: of the
 * refusal's event. */
static void
ask (OwSession    *self,
     const json_t *members,
     gboolean      private)
{
  g_autofree char *name = g_strdup_printf ("%s:%" JSON_INTEGER_FORMAT,
                                           ow_json_get_string (members, "host", ""),
                                           ow_json_get_int (members, "port", 0));
  g_autoptr (OwHost) wanted = ow_host_parse (name, NULL);
  OwConsentQuestion asked = { .kind = OW_CONSENT_HOST, .level = self->level,
                              .call = ow_json_get_string (members, "call", NULL),
                              .title = name, .always = name, .keep = keep_on_machine };
  Question *question;
  char *text;

  if (wanted == NULL || !may_ask (self))
    return;
  wanted->private = private;
  text = make_subject (wanted, members);
  if (text == NULL)
    return;
  self->hosts->questions++;
  question = g_new0 (Question, 1);
  question->self = g_object_ref (self);
  question->host = g_steal_pointer (&wanted);
  asked.subject = text;
  asked.keep_data = question;
  ow_consent_request_async (self->consent, &asked, self->stop, on_answered, question);
  free (text);
}

/* --- what left the machine --- */

void
ow_session_hosts_tell (OwSession *self)
{
  OwSessionHosts *hosts = self->hosts;

  ow_source_clear (&hosts->tell);
  if (!ow_session_traffic_is_new (hosts->traffic) || self->phase == OW_SESSION_ENDED)
    return;
  ow_session_traffic_told (hosts->traffic);
  ow_session_append (self, OW_EVENT_TRAFFIC,
                     json_pack ("{s:o, s:s}", "traffic",
                                ow_session_traffic_to_json (hosts->traffic),
                                "level", ow_level_to_string (self->level)));
}

static gboolean
on_tell (gpointer user_data)
{
  OwSession *self = user_data;

  ow_session_hosts_tell (self);
  return G_SOURCE_REMOVE;
}

static void
tell_later (OwSession *self)
{
  if (self->hosts->tell == NULL)
    self->hosts->tell = ow_source_timeout (TELL_MS, on_tell, self, NULL);
}

void
ow_session_hosts_traffic (OwSession  *self,
                          const char *line)
{
  ow_session_traffic_take (self->hosts->traffic, ow_sandbox_get_id (self->sandbox), line);
  tell_later (self);
}

json_t *
ow_session_get_traffic (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), NULL);

  return ow_session_traffic_to_json (self->hosts->traffic);
}

/* --- what the sandbox says --- */

/* The call that ran at that time; NULL where none did. One runs at a time. */
static const char *
call_at (const OwSessionHosts *hosts,
         gint64                time_ms)
{
  const char *found = NULL;

  for (guint i = 0; i < KEPT_CALLS; i++)
    {
      const Window *window = &hosts->calls[i];

      if (window->call == NULL || time_ms + CLOCK_MS < window->begin_ms ||
          time_ms - CLOCK_MS > window->end_ms)
        continue;
      /* Of two that are close together the one that it lies in. */
      if (time_ms >= window->begin_ms && time_ms <= window->end_ms)
        return window->call;
      found = window->call;
    }
  return found;
}

/* TRUE the first time, as long as there is room: the traffic counts each. */
static gboolean
note_decision (OwSession    *self,
               const json_t *members)
{
  OwSessionHosts *hosts = self->hosts;
  g_autofree char *key = g_strdup_printf ("%s:%" JSON_INTEGER_FORMAT " %s %s",
                                          ow_json_get_string (members, "host", ""),
                                          ow_json_get_int (members, "port", 0),
                                          ow_json_get_string (members, "decision", ""),
                                          ow_json_get_string (members, "reason", ""));

  if (g_hash_table_contains (hosts->decided, key))
    return FALSE;
  if (g_hash_table_size (hosts->decided) < MAX_REFUSED)
    return g_hash_table_add (hosts->decided, g_steal_pointer (&key));
  if (!hosts->full)
    ow_session_append_notice (self, "Very many hosts were asked for in this session. Further ones "
                              "are not listed one by one.");
  hosts->full = TRUE;
  return FALSE;
}

void
ow_session_hosts_decided (OwSession  *self,
                          const char *line)
{
  g_autofree char *notice = NULL;
  gint64 time_ms = 0;
  json_t *members = ow_session_events_decision (line, self->level, &time_ms, &notice);
  const char *call = call_at (self->hosts, time_ms);
  gboolean refused;

  if (members == NULL)
    return;
  refused = g_str_equal (ow_json_get_string (members, "decision", ""), "refuse");
  ow_session_traffic_decided (self->hosts->traffic, members);
  tell_later (self);
  if (!note_decision (self, members))
    {
      json_decref (members);
      return;
    }
  if (ow_sandbox_get_id (self->sandbox) != NULL)
    json_object_set_new (members, "sandbox", json_string (ow_sandbox_get_id (self->sandbox)));
  if (call != NULL)
    json_object_set_new (members, "call", json_string (call));
  json_incref (members);
  ow_session_append (self, OW_EVENT_HOST_DECISION, members);
  if (notice != NULL && g_hash_table_add (self->noticed, g_strdup (notice)))
    ow_session_append_notice (self, notice);
  if (refused && (is_private (members) ||
                  g_str_equal (ow_json_get_string (members, "reason", ""), "not_listed")))
    ask (self, members, is_private (members));
  json_decref (members);
}
