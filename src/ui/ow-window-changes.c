/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-window-private.h"

#include <glib/gi18n.h>

#include "ow-changes-dialog-private.h"

/* What a session changed, as one diff to read, and taking a call or a turn of it back: shown
 * first, done as it was shown. */

/* One question to the engine about one session. */
typedef struct {
  char *session; /* (owned) */
  char *call;    /* (owned) (nullable) whose card waits */
  char *preview; /* (owned) (nullable) id of the call that showed it */
} Ask;

static void
ask_free (gpointer data)
{
  Ask *ask = data;

  g_free (ask->session);
  g_free (ask->call);
  g_free (ask->preview);
  g_free (ask);
}

static GTask *
ask_new (OwWindow   *self,
         const char *session,
         const char *call)
{
  GTask *task = g_task_new (self, NULL, NULL, NULL);
  Ask *ask = g_new0 (Ask, 1);

  ask->session = g_strdup (session);
  ask->call = g_strdup (call);
  g_task_set_source_tag (task, ask_new);
  g_task_set_task_data (task, ask, ask_free);
  return task;
}

static gboolean
is_shown (OwWindow  *self,
          const Ask *ask)
{
  return self->feed != NULL &&
         g_strcmp0 (ow_session_feed_get_session (self->feed), ask->session) == 0;
}

/* The card's button is one to press again, unless the file was put back. */
static void
end_waiting (OwWindow  *self,
             const Ask *ask)
{
  if (ask->call != NULL && is_shown (self, ask))
    ow_transcript_set_undoing (ow_session_feed_get_transcript (self->feed), ask->call, FALSE);
}

/* (nullable) new reference; what went wrong is told. */
static json_t *
take_result (OwWindow     *self,
             GObject      *source,
             GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ow_window_toast (self, error->message);
  if (value == NULL || !g_cancellable_is_cancelled (self->cancellable))
    return value;
  json_decref (value);
  return NULL;
}

static void
on_changes (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwWindow *self = g_task_get_source_object (task);
  json_t *value = take_result (self, source, result);

  if (value != NULL && is_shown (self, g_task_get_task_data (task)))
    gtk_window_present (GTK_WINDOW (ow_changes_dialog_new (GTK_WINDOW (self), value)));
  json_decref (value);
}

static void
action_changes (GtkWidget  *widget,
                const char *name,
                GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);
  const char *session = self->feed == NULL ? NULL : ow_session_feed_get_session (self->feed);

  if (session == NULL)
    return;
  ow_engine_command_async (OW_ENGINE (self->engine), "session.changes",
                           json_pack ("{s:s}", "session", session), self->cancellable, on_changes,
                           ask_new (self, session, NULL));
}

static void
on_undone (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwWindow *self = g_task_get_source_object (task);
  json_t *value = take_result (self, source, result);
  g_autofree char *skipped = value != NULL ? ow_changes_dialog_skipped (value) : NULL;
  g_autofree char *words = NULL;
  guint n = value != NULL ? ow_changes_dialog_count (value, "restored", "removed") : 0;

  end_waiting (self, g_task_get_task_data (task));
  if (value != NULL && skipped != NULL)
    words = g_strdup_printf (ngettext ("Put back %u file. Left as it is: %s",
                                       "Put back %u files. Left as they are: %s", n), n, skipped);
  else if (value != NULL)
    words = g_strdup_printf (ngettext ("Put back %u file", "Put back %u files", n), n);
  if (words != NULL)
    ow_window_toast (self, words);
  json_decref (value);
}

/* The person has read it and wants it. */
static void
on_undo_wanted (OwChangesDialog *dialog,
                GTask           *task)
{
  OwWindow *self = g_task_get_source_object (task);
  const Ask *ask = g_task_get_task_data (task);

  if (ask->call != NULL && is_shown (self, ask))
    ow_transcript_set_undoing (ow_session_feed_get_transcript (self->feed), ask->call, TRUE);
  ow_engine_command_async (OW_ENGINE (self->engine), "session.undo",
                           json_pack ("{s:s, s:s}", "session", ask->session,
                                      "preview", ask->preview),
                           self->cancellable, on_undone, g_object_ref (task));
}

static void
unref_task (gpointer  data,
            GClosure *closure)
{
  g_object_unref (data);
}

static void
on_preview (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwWindow *self = g_task_get_source_object (task);
  Ask *ask = g_task_get_task_data (task);
  json_t *value = take_result (self, source, result);
  OwChangesDialog *dialog;

  end_waiting (self, ask);
  if (value != NULL && is_shown (self, ask))
    {
      ask->preview = g_strdup (ow_json_get_string (value, "call", NULL));
      dialog = ow_changes_dialog_new (GTK_WINDOW (self), value);
      g_signal_connect_data (dialog, "undo", G_CALLBACK (on_undo_wanted), g_object_ref (task),
                             unref_task, 0);
      gtk_window_present (GTK_WINDOW (dialog));
    }
  json_decref (value);
}

static void
show_undo (OwWindow   *self,
           const char *call)
{
  const char *session = self->feed == NULL ? NULL : ow_session_feed_get_session (self->feed);
  json_t *params;

  if (session == NULL)
    return;
  params = json_pack ("{s:s}", "session", session);
  if (call != NULL)
    {
      json_object_set_new (params, "call", json_string (call));
      ow_transcript_set_undoing (ow_session_feed_get_transcript (self->feed), call, TRUE);
    }
  ow_engine_command_async (OW_ENGINE (self->engine), "session.undo", params, self->cancellable,
                           on_preview, ask_new (self, session, call));
}

static void
action_undo (GtkWidget  *widget,
             const char *name,
             GVariant   *parameter)
{
  show_undo (OW_WINDOW (widget), g_variant_get_string (parameter, NULL));
}

static void
action_undo_turn (GtkWidget  *widget,
                  const char *name,
                  GVariant   *parameter)
{
  show_undo (OW_WINDOW (widget), NULL);
}

void
ow_window_install_changes (GtkWidgetClass *widget_class)
{
  gtk_widget_class_install_action (widget_class, "win.changes", NULL, action_changes);
  gtk_widget_class_install_action (widget_class, "win.undo", "s", action_undo);
  gtk_widget_class_install_action (widget_class, "win.undo-turn", NULL, action_undo_turn);
}
