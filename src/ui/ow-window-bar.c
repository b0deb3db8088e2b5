/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-window-private.h"

#include <glib/gi18n.h>

#include "ow-words-private.h"

#define BAR_CHARS 600

static void
set_bar (OwWindow       *self,
         GtkMessageType  type,
         const char     *text,
         gboolean        retry)
{
  g_autofree char *line = ow_words_line (text, BAR_CHARS);

  gtk_info_bar_set_message_type (self->bar, type);
  gtk_label_set_text (self->bar_label, line);
  gtk_widget_set_visible (self->retry, retry);
  gtk_info_bar_set_revealed (self->bar, text != NULL);
}

/* The worst of what lasts; the others stand where they belong. */
void
ow_window_update_bar (OwWindow *self)
{
  OwSessionFacts *facts = self->feed == NULL ? NULL : ow_session_feed_get_facts (self->feed);
  const char *error = self->feed == NULL ? NULL : ow_session_feed_get_error (self->feed);
  const char *notice = ow_shared_engine_get_notice (self->engine);
  g_autofree char *words = NULL;

  if (error == NULL)
    error = ow_session_list_get_error (self->list);
  if (self->engine_error != NULL || error != NULL)
    set_bar (self, GTK_MESSAGE_ERROR, self->engine_error != NULL ? self->engine_error : error,
             TRUE);
  else if (facts != NULL && facts->lost != NULL)
    {
      words = g_strdup_printf (_ ("The sandbox of this session was lost. Nothing runs in it "
                                  "until it is made again. %s"), facts->lost);
      set_bar (self, GTK_MESSAGE_ERROR, words, FALSE);
    }
  else if (facts != NULL && g_strcmp0 (facts->level, "direct") == 0)
    set_bar (self, GTK_MESSAGE_WARNING,
             _ ("Not protected: commands of this session run directly on this machine, with the "
                "same access as your user account."), FALSE);
  else if (notice != NULL)
    set_bar (self, GTK_MESSAGE_WARNING, notice, FALSE);
  else
    set_bar (self, GTK_MESSAGE_WARNING, self->key_problem, self->key_problem != NULL);
}

static void
on_models (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwWindow) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  json_t *models = json_object_get (value, "models");

  if (value != NULL)
    g_clear_pointer (&self->key_problem, g_free);
  for (size_t i = 0; self->key_problem == NULL && i < json_array_size (models); i++)
    {
      const json_t *model = json_array_get (models, i);

      self->key_problem = ow_words_key (ow_json_get_string (model, "name", ""),
                                        ow_json_get_string (model, "base_url", ""),
                                        ow_json_get_string (model, "key", ""));
    }
  json_decref (value);
  if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ow_window_update_bar (self);
}

void
ow_window_check_keys (OwWindow *self)
{
  ow_engine_command_async (OW_ENGINE (self->engine), "model.list", json_object (),
                           self->cancellable, on_models, g_object_ref (self));
}
