/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-agent-private.h"

#include <stdlib.h>

#include "base/ow-error.h"
#include "base/ow-source.h"

/* A turn's limits. One that is reached is a question, asked between two steps, so that
 * nothing is lost by it whatever the answer is. The time in which a person is asked
 * something does not count: a turn that waits for an answer does no work. */

static gboolean
on_time_up (gpointer user_data)
{
  OwAgent *self = user_data;

  ow_source_clear (&self->clock);
  self->time_is_up = TRUE;
  return G_SOURCE_REMOVE;
}

static void
start_clock (OwAgent *self)
{
  if (self->clock == NULL && !self->time_is_up)
    self->clock = ow_source_timeout ((guint) (self->clock_left / 1000), on_time_up, self, NULL);
}

static void
stop_clock (OwAgent *self)
{
  if (self->clock == NULL)
    return;
  self->clock_left = MAX (g_source_get_ready_time (self->clock) - g_get_monotonic_time (), 0);
  ow_source_clear (&self->clock);
}

static void
on_appended (OwEventList *events,
             OwEvent     *event,
             OwAgent     *self)
{
  if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ASKED)
    stop_clock (self);
  else if (ow_event_get_kind (event) == OW_EVENT_CONSENT_ANSWERED)
    start_clock (self);
}

void
ow_agent_limit_start (OwAgent *self)
{
  self->granted_calls = self->limits.max_calls;
  self->granted_seconds = self->limits.max_seconds;
  self->time_is_up = FALSE;
  self->clock_left = (gint64) self->limits.max_seconds * G_USEC_PER_SEC;
  start_clock (self);
  self->clock_handler = g_signal_connect (self->events, "appended", G_CALLBACK (on_appended), self);
}

void
ow_agent_limit_end (OwAgent *self)
{
  ow_source_clear (&self->clock);
  g_clear_signal_handler (&self->clock_handler, self->events);
}

static void
grant_more (OwAgent *self)
{
  if (!self->time_is_up)
    {
      self->granted_calls += self->limits.max_calls;
      return;
    }
  self->time_is_up = FALSE;
  self->granted_seconds += self->limits.max_seconds;
  self->clock_left = (gint64) self->limits.max_seconds * G_USEC_PER_SEC;
  start_clock (self);
}

static void
end_at_limit (OwAgent *self)
{
  GError *error = NULL;

  if (self->time_is_up)
    ow_error_setf (&error, OW_ERROR_FAILED, "Ask it to go on where it stopped.",
                   "The turn reached its limit of %u seconds", self->granted_seconds);
  else
    ow_error_setf (&error, OW_ERROR_FAILED, "Ask it to go on where it stopped.",
                   "The turn reached its limit of %u tool calls", self->granted_calls);
  ow_agent_set_end (self, TURN_LIMIT, error);
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (OwAgent) self = user_data;
  OwDecision decision = OW_DECISION_DENY;
  GError *error = NULL;

  if (!ow_consent_request_finish (OW_CONSENT (source), result, &decision, NULL, &error))
    ow_agent_break (self, error);
  else if (decision == OW_DECISION_ONCE || decision == OW_DECISION_SESSION)
    grant_more (self);
  else
    end_at_limit (self);
  ow_agent_next_step (self);
}

gboolean
ow_agent_limit_pause (OwAgent *self,
                      gboolean before_call)
{
  OwConsentQuestion question = {
    .kind = OW_CONSENT_LIMIT,
    .level = ow_tool_host_get_level (self->host),
    .title = "Go on?",
  };
  json_t *subject;
  char   *text;

  if (!self->time_is_up && !(before_call && self->n_calls >= self->granted_calls))
    return FALSE;
  subject = json_object ();
  json_object_set_new (subject, "limit", json_string (self->time_is_up ? "seconds" : "calls"));
  json_object_set_new (subject, "used", json_integer (self->time_is_up ? self->granted_seconds
                                                                       : self->n_calls));
  text = ow_json_dump_canonical (subject, NULL);
  json_decref (subject);
  question.subject = text;
  ow_consent_request_async (self->consent, &question, self->stop, on_answered,
                            g_object_ref (self));
  free (text);
  return TRUE;
}
