/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-window-private.h"

#include <glib/gi18n.h>

#include "ow-application-private.h"
#include "ow-confirm-private.h"
#include "ow-new-session-dialog-private.h"

/* What was done is told by the events; what went wrong by a toast. */
static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (OwWindow) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ow_window_toast (self, error->message);
  json_decref (value);
  if (!g_cancellable_is_cancelled (self->cancellable))
    ow_session_list_refresh (self->list);
}

static void
session_command (OwWindow   *self,
                 const char *command)
{
  if (self->feed == NULL)
    return;
  ow_engine_command_async (OW_ENGINE (self->engine), command,
                           json_pack ("{s:s}", "session",
                                      ow_session_feed_get_session (self->feed)),
                           self->cancellable, on_done, g_object_ref (self));
}

static void
action_stop (GtkWidget  *widget,
             const char *name,
             GVariant   *parameter)
{
  session_command (OW_WINDOW (widget), "session.stop");
}

static void
action_end (GtkWidget  *widget,
            const char *name,
            GVariant   *parameter)
{
  session_command (OW_WINDOW (widget), "session.end");
}

static void
on_delete_response (OwWindow   *self,
                    const char *response)
{
  if (g_strcmp0 (response, "delete") != 0 || self->feed == NULL)
    return;
  ow_session_list_drop_end (self->list, ow_session_feed_get_session (self->feed));
  session_command (self, "session.delete");
}

static void
action_delete (GtkWidget  *widget,
               const char *name,
               GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);
  AdwMessageDialog *dialog;

  if (self->feed == NULL)
    return;
  dialog = ow_confirm_new (GTK_WINDOW (self), _ ("Delete this session?"),
                           _ ("What was said and done in it is removed from the list. The record "
                              "of its calls stays, and so do the folders."));
  adw_message_dialog_add_response (dialog, "delete", _ ("_Delete session"));
  adw_message_dialog_set_response_appearance (dialog, "delete", ADW_RESPONSE_DESTRUCTIVE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_delete_response), self,
                           G_CONNECT_SWAPPED);
  ow_confirm_present (dialog);
}

static void
action_copy_id (GtkWidget  *widget,
                const char *name,
                GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);

  if (self->feed == NULL)
    return;
  gdk_clipboard_set_text (gtk_widget_get_clipboard (widget),
                          ow_session_feed_get_session (self->feed));
  ow_window_toast (self, _ ("Copied"));
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwWindow *self = g_task_get_source_object (task);
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      ow_window_toast (self, error->message);
      if (self->feed != NULL)
        ow_transcript_reopen (ow_session_feed_get_transcript (self->feed),
                              g_task_get_task_data (task));
    }
  json_decref (value);
}

static void
action_answer (GtkWidget  *widget,
               const char *name,
               GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);
  const char *request;
  const char *decision;
  const char *reason;
  json_t *params;
  GTask *task;

  g_variant_get (parameter, "(&s&s&s)", &request, &decision, &reason);
  params = json_pack ("{s:s, s:s}", "request", request, "decision", decision);
  if (*reason != '\0')
    json_object_set_new (params, "reason", json_string (reason));
  task = g_task_new (self, NULL, NULL, NULL);
  g_task_set_source_tag (task, action_answer);
  g_task_set_task_data (task, g_strdup (request), g_free);
  ow_engine_command_async (OW_ENGINE (self->engine), "consent.answer", params, self->cancellable,
                           on_answered, task);
  gtk_widget_grab_focus (GTK_WIDGET (self->composer));
}

static void
on_session_made (OwWindow   *self,
                 const char *session)
{
  ow_window_show_session (self, session);
  ow_session_list_refresh (self->list);
}

static void
action_new_session (GtkWidget  *widget,
                    const char *name,
                    GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);
  OwNewSessionDialog *dialog = ow_new_session_dialog_new (GTK_WINDOW (self),
                                                          OW_ENGINE (self->engine));

  g_signal_connect_object (dialog, "started", G_CALLBACK (on_session_made), self,
                           G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
action_sidebar (GtkWidget  *widget,
                const char *name,
                GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);

  if (adw_leaflet_get_folded (self->leaflet))
    adw_leaflet_set_visible_child (self->leaflet,
                                   adw_leaflet_get_visible_child (self->leaflet) == self->sidebar
                                   ? self->content : self->sidebar);
  else
    gtk_widget_set_visible (self->sidebar, !gtk_widget_get_visible (self->sidebar));
}

static void
action_retry (GtkWidget  *widget,
              const char *name,
              GVariant   *parameter)
{
  OwWindow *self = OW_WINDOW (widget);

  ow_application_open_engine (OW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
}

void
ow_window_update_actions (OwWindow *self)
{
  OwSessionFacts *facts = self->feed == NULL ? NULL : ow_session_feed_get_facts (self->feed);
  GtkWidget *widget = GTK_WIDGET (self);

  gtk_widget_action_set_enabled (widget, "win.stop", facts != NULL && facts->working);
  gtk_widget_action_set_enabled (widget, "win.end", facts != NULL && !facts->ended);
  gtk_widget_action_set_enabled (widget, "win.delete", facts != NULL && facts->ended);
  gtk_widget_action_set_enabled (widget, "win.changes", facts != NULL);
  gtk_widget_action_set_enabled (widget, "win.copy-id", facts != NULL);
  gtk_widget_action_set_enabled (widget, "win.undo-turn", facts != NULL);
}

void
ow_window_install_actions (GtkWidgetClass *widget_class)
{
  gtk_widget_class_install_action (widget_class, "win.answer", "(sss)", action_answer);
  gtk_widget_class_install_action (widget_class, "win.copy-id", NULL, action_copy_id);
  gtk_widget_class_install_action (widget_class, "win.delete", NULL, action_delete);
  gtk_widget_class_install_action (widget_class, "win.end", NULL, action_end);
  gtk_widget_class_install_action (widget_class, "win.new-session", NULL, action_new_session);
  gtk_widget_class_install_action (widget_class, "win.retry", NULL, action_retry);
  gtk_widget_class_install_action (widget_class, "win.sidebar", NULL, action_sidebar);
  gtk_widget_class_install_action (widget_class, "win.stop", NULL, action_stop);
  ow_window_install_changes (widget_class);
}

typedef struct
{
  guint    left;  /* answers that are not there yet, and one for the asking itself */
} Stops;

static void
stops_done (GTask *task)
{
  Stops *stops = g_task_get_task_data (task);

  if (--stops->left == 0)
    g_task_return_boolean (task, TRUE);
}

static void
on_stopped (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  json_decref (value);
  stops_done (task);
}

void
ow_window_stop_all_async (OwWindow            *self,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  Stops *stops = g_new0 (Stops, 1);

  g_task_set_source_tag (task, ow_window_stop_all_async);
  g_task_set_task_data (task, stops, g_free);
  stops->left = 1;
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->list)); i++)
    {
      g_autoptr (OwSessionItem) item = g_list_model_get_item (G_LIST_MODEL (self->list), i);

      if (!ow_session_item_is_working (item))
        continue;
      stops->left++;
      ow_engine_command_async (OW_ENGINE (self->engine), "session.stop",
                               json_pack ("{s:s}", "session", ow_session_item_get_id (item)),
                               NULL, on_stopped, g_object_ref (task));
    }
  stops_done (task);
}
