/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-agent-stream-private.h"

#include "base/ow-source.h"
#include "base/ow-text.h"

/* A window that draws 200 tokens a second one by one takes 15 % of a core, by this time 5 %. */
#define BATCH_MS    50
/* So that no event comes near the longest line between engine and face. */
#define BATCH_BYTES (64u * 1024u)

struct _OwAgentStream {
  OwEventList *events;  /* (owned) */
  GString     *text;    /* (owned) all of it */
  gsize        told;    /* bytes of it that were told */
  GSource     *timer;   /* (owned) (nullable) runs while something is not told */
};

OwAgentStream *
ow_agent_stream_new (OwEventList *events)
{
  OwAgentStream *self = g_new0 (OwAgentStream, 1);

  self->events = g_object_ref (events);
  self->text = g_string_new (NULL);
  return self;
}

void
ow_agent_stream_free (OwAgentStream *self)
{
  if (self == NULL)
    return;
  ow_source_clear (&self->timer);
  g_clear_object (&self->events);
  g_string_free (self->text, TRUE);
  g_free (self);
}

void
ow_agent_stream_reset (OwAgentStream *self)
{
  ow_source_clear (&self->timer);
  g_string_truncate (self->text, 0);
  self->told = 0;
}

/* Live, so nothing hangs on it: the message that follows has the whole text. */
void
ow_agent_stream_flush (OwAgentStream *self)
{
  g_autofree char *text = NULL;

  ow_source_clear (&self->timer);
  if (self->told == self->text->len)
    return;
  text = ow_text_from_bytes (self->text->str + self->told, (gssize) (self->text->len - self->told));
  self->told = self->text->len;
  ow_event_list_append_text (self->events, OW_EVENT_MODEL_TEXT, text, NULL);
}

static gboolean
on_timer (gpointer user_data)
{
  ow_agent_stream_flush (user_data);
  return G_SOURCE_REMOVE;
}

void
ow_agent_stream_take (const char *text,
                      gpointer    user_data)
{
  OwAgentStream *self = user_data;

  g_string_append (self->text, text);
  if (self->text->len - self->told >= BATCH_BYTES)
    ow_agent_stream_flush (self);
  else if (self->timer == NULL && self->told < self->text->len)
    self->timer = ow_source_timeout (BATCH_MS, on_timer, self, NULL);
}

const char *
ow_agent_stream_get_text (OwAgentStream *self)
{
  return self->text->str;
}
