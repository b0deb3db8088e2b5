/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-facts-private.h"

#include "ow-words-private.h"

static void
folder_free (gpointer data)
{
  OwSessionFolder *folder = data;

  g_free (folder->path);
  g_free (folder);
}

OwSessionFacts *
ow_session_facts_new (void)
{
  OwSessionFacts *self = g_new0 (OwSessionFacts, 1);

  self->folders = g_ptr_array_new_with_free_func (folder_free);
  return self;
}

void
ow_session_facts_free (OwSessionFacts *self)
{
  g_ptr_array_unref (self->folders);
  g_free (self->title);
  g_free (self->provider);
  g_free (self->level);
  g_free (self->profile);
  g_free (self->model);
  g_free (self->base_url);
  g_free (self->notice);
  g_free (self->lost);
  g_free (self);
}

static void
add_folders (OwSessionFacts *self,
             OwEvent        *event)
{
  json_t *folders = json_object_get (ow_event_get_members (event), "folders");

  g_ptr_array_set_size (self->folders, 0);
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *json = json_array_get (folders, i);
      OwSessionFolder *folder = g_new0 (OwSessionFolder, 1);

      folder->path = g_strdup (ow_json_get_string (json, "path", ""));
      folder->read_only = ow_json_get_bool (json, "read_only", TRUE);
      g_ptr_array_add (self->folders, folder);
    }
}

static void
add_start (OwSessionFacts *self,
           OwEvent        *event)
{
  ow_words_set (&self->provider, ow_event_get_string (event, "provider"));
  ow_words_set (&self->level, ow_event_get_string (event, "level"));
  ow_words_set (&self->profile, ow_event_get_string (event, "profile"));
  ow_words_set (&self->model, ow_event_get_string (event, "model"));
  ow_words_set (&self->base_url, ow_event_get_string (event, "base_url"));
  ow_words_set (&self->notice, ow_event_get_string (event, "notice"));
  ow_words_set (&self->lost, NULL);
  self->working = TRUE;
  self->ended = FALSE;
}

static void
add_usage (OwSessionFacts *self,
           OwEvent        *event)
{
  const json_t *usage = json_object_get (ow_event_get_members (event), "usage");
  gint64 in = CLAMP (ow_json_get_int (usage, "input_tokens", 0), 0, G_MAXINT32);
  gint64 out = CLAMP (ow_json_get_int (usage, "output_tokens", 0), 0, G_MAXINT32);

  self->tokens = MIN (self->tokens + in + out, G_MAXINT32);
}

static void
add_wall (OwSessionFacts *self,
          OwEvent        *event)
{
  const char *state = ow_event_get_string (event, "state");
  const char *reason = ow_event_get_string (event, "reason");

  if (g_strcmp0 (state, "up") == 0)
    {
      ow_words_set (&self->lost, NULL);
      ow_words_set (&self->level, ow_event_get_string (event, "level"));
    }
  else if (g_strcmp0 (state, "lost") == 0)
    ow_words_set (&self->lost, reason != NULL ? reason : "");
}

gboolean
ow_session_facts_add (OwSessionFacts *self,
                      OwEvent        *event)
{
  switch (ow_event_get_kind (event))
    {
    case OW_EVENT_SESSION_STARTED:
      add_folders (self, event);
      add_start (self, event);
      return TRUE;
    case OW_EVENT_SESSION_RESUMED:
      /* A look at its changes does not set it to work. */
      if (ow_event_get_string (event, "purpose") == NULL)
        add_start (self, event);
      return TRUE;
    case OW_EVENT_FOLDERS_CHANGED:
      add_folders (self, event);
      return TRUE;
    case OW_EVENT_USER_MESSAGE:
      if (self->title == NULL)
        ow_words_set (&self->title, ow_event_get_string (event, "text"));
      self->working = TRUE;
      return TRUE;
    case OW_EVENT_MODEL_MESSAGE:
      add_usage (self, event);
      return TRUE;
    case OW_EVENT_WALL:
      add_wall (self, event);
      return TRUE;
    case OW_EVENT_TURN_ENDED:
      self->working = FALSE;
      return TRUE;
    case OW_EVENT_SESSION_ENDED:
      self->working = FALSE;
      self->ended = TRUE;
      return TRUE;
    case OW_EVENT_MODEL_TEXT:
    case OW_EVENT_TOOL_ASKED:
    case OW_EVENT_CONSENT_ASKED:
    case OW_EVENT_CONSENT_ANSWERED:
    case OW_EVENT_TOOL_STARTED:
    case OW_EVENT_TOOL_OUTPUT:
    case OW_EVENT_TOOL_ENDED:
    case OW_EVENT_HOST_DECISION:
    case OW_EVENT_EXECUTABLE_SETTINGS:
    case OW_EVENT_NOTICE:
    case OW_EVENT_N_TYPES:
    default:
      return FALSE;
    }
}

char *
ow_session_facts_describe_folders (OwSessionFacts *self,
                                   const char     *between)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < self->folders->len; i++)
    {
      OwSessionFolder *folder = g_ptr_array_index (self->folders, i);
      g_autofree char *words = ow_words_folder (folder->path, folder->read_only);

      if (i > 0)
        g_string_append (out, between);
      g_string_append (out, words);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}
