/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-window-private.h"

#include <glib/gi18n.h>

#include "ow-mnemonic-private.h"
#include "ow-words-private.h"

#define TITLE_CHARS 120
#define TOAST_CHARS 200
#define ERROR_CHARS 1000

G_DEFINE_FINAL_TYPE (OwWindow, ow_window, ADW_TYPE_APPLICATION_WINDOW)

/* A toast's title is markup in this libadwaita. */
void
ow_window_toast (OwWindow   *self,
                 const char *text)
{
  g_autofree char *line = ow_words_line (text, TOAST_CHARS);
  g_autofree char *escaped = g_markup_escape_text (line, -1);

  adw_toast_overlay_add_toast (self->toasts, adw_toast_new (escaped));
}

static void
show_empty (OwWindow *self)
{
  g_autofree char *words = NULL;
  g_autofree char *line = NULL;
  const char *error = ow_session_list_get_error (self->list);
  gboolean known = ow_session_list_is_known (self->list);
  gboolean any = g_list_model_get_n_items (G_LIST_MODEL (self->list)) > 0;

  if (self->engine_error != NULL)
    error = self->engine_error;
  adw_status_page_set_title (self->empty,
                             error != NULL ? _ ("The sessions cannot be shown")
                             : !known ? _ ("Opening…")
                             : any ? _ ("Choose a session") : _ ("No sessions yet"));
  line = ow_words_line (error != NULL ? error : "", ERROR_CHARS);
  words = error != NULL ? g_markup_escape_text (line, -1)
          : g_strdup (!known ? "" : _ ("An agent works in the folders that you give it."));
  adw_status_page_set_description (self->empty, words);
  gtk_widget_set_visible (self->empty_button, known && error == NULL);
}

static void
show_status (OwWindow       *self,
             OwSessionFacts *facts)
{
  g_autofree char *model = ow_words_line (facts->model, TITLE_CHARS);
  g_autofree char *tokens = facts->tokens > 0 ? ow_words_tokens (facts->tokens) : NULL;
  g_autofree char *status = NULL;

  if (*model != '\0' && tokens != NULL)
    status = g_strdup_printf ("%s · %s", model, tokens);
  else
    status = g_strdup (tokens != NULL ? tokens : model);
  ow_composer_set_status (self->composer, status);
}

static void
show_session (OwWindow *self)
{
  OwSessionFacts *facts = self->feed == NULL ? NULL : ow_session_feed_get_facts (self->feed);
  g_autofree char *title = NULL;
  g_autofree char *folders = NULL;
  g_autofree char *name = NULL;

  gtk_stack_set_visible_child_name (self->stack, facts != NULL ? "session" : "empty");
  ow_level_button_set_facts (self->level, facts);
  gtk_widget_set_visible (GTK_WIDGET (self->session_menu_button), facts != NULL);
  if (facts != NULL)
    {
      title = ow_words_line (facts->title != NULL ? facts->title : "", TITLE_CHARS);
      folders = ow_session_facts_describe_folders (facts, " · ");
      ow_composer_set_working (self->composer, facts->working);
      show_status (self, facts);
    }
  else
    show_empty (self);
  name = title != NULL && *title != '\0' ? g_strdup_printf (_ ("%s – OpenWorker"), title)
                                         : g_strdup ("OpenWorker");
  gtk_window_set_title (GTK_WINDOW (self), name);
  adw_window_title_set_title (self->heading, title != NULL ? title : "");
  adw_window_title_set_subtitle (self->heading, folders != NULL ? folders : "");
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->heading), folders);
  ow_window_update_bar (self);
  ow_window_update_actions (self);
}

static void
drop_feed (OwWindow *self)
{
  if (self->feed == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->feed, self);
  ow_session_feed_close (self->feed);
  g_clear_object (&self->feed);
}

static void
set_feed (OwWindow   *self,
          const char *session)
{
  OwEvent *end = session == NULL ? NULL : ow_session_list_get_end (self->list, session);

  drop_feed (self);
  if (session != NULL)
    {
      self->feed = ow_session_feed_new (OW_ENGINE (self->engine), session);
      if (end != NULL)
        ow_session_feed_end (self->feed, end);
      g_signal_connect_object (self->feed, "changed", G_CALLBACK (show_session), self,
                               G_CONNECT_SWAPPED);
    }
  ow_composer_set_error (self->composer, NULL);
  ow_composer_clear (self->composer);
  ow_transcript_view_set_transcript (self->view, self->feed == NULL ? NULL
                                                 : ow_session_feed_get_transcript (self->feed));
  show_session (self);
}

static gboolean
is_shown (OwWindow   *self,
          const char *session)
{
  return self->feed != NULL &&
         g_strcmp0 (ow_session_feed_get_session (self->feed), session) == 0;
}

static void
open_session (OwWindow   *self,
              const char *session)
{
  if (!is_shown (self, session))
    set_feed (self, session);
}

static void
on_selected (OwWindow *self)
{
  OwSessionItem *item = gtk_single_selection_get_selected_item (self->selection);

  if (item != NULL)
    open_session (self, ow_session_item_get_id (item));
}

static void
on_session_activated (OwWindow *self,
                      guint     position)
{
  gtk_single_selection_set_selected (self->selection, position);
  adw_leaflet_set_visible_child (self->leaflet, self->content);
  gtk_widget_grab_focus (GTK_WIDGET (self->composer));
}

void
ow_window_show_session (OwWindow   *self,
                        const char *session)
{
  guint position = ow_session_list_find (self->list, session);

  ow_words_set (&self->wanted, session);
  open_session (self, session);
  if (position != GTK_INVALID_LIST_POSITION)
    gtk_single_selection_set_selected (self->selection, position);
  adw_leaflet_set_visible_child (self->leaflet, self->content);
  gtk_widget_grab_focus (GTK_WIDGET (self->composer));
}

/* A session that another face deleted is no longer shown, but where it ended for that: why it
 * did stands nowhere else. */
static void
on_listed (OwWindow *self)
{
  const char *shown = self->feed == NULL ? NULL : ow_session_feed_get_session (self->feed);
  guint position = shown == NULL ? GTK_INVALID_LIST_POSITION
                                 : ow_session_list_find (self->list, shown);

  if (position != GTK_INVALID_LIST_POSITION)
    {
      if (gtk_single_selection_get_selected (self->selection) != position)
        gtk_single_selection_set_selected (self->selection, position);
      g_clear_pointer (&self->wanted, g_free);
    }
  else if (shown != NULL && g_strcmp0 (shown, self->wanted) != 0 &&
           ow_session_list_get_error (self->list) == NULL &&
           ow_session_list_get_end (self->list, shown) == NULL)
    set_feed (self, NULL);
  show_session (self);
}

/* What was said, and where. */
typedef struct
{
  char *session; /* (owned) */
  char *text;    /* (owned) */
} Saying;

static void
saying_free (gpointer data)
{
  Saying *saying = data;

  g_free (saying->session);
  g_free (saying->text);
  g_free (saying);
}

static void
on_said (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwWindow *self = g_task_get_source_object (task);
  const Saying *saying = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  g_autofree char *words = NULL;

  json_decref (value);
  if (value != NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  /* Words for one session must not come back as words for another. */
  if (!is_shown (self, saying->session))
    {
      ow_window_toast (self, error->message);
      return;
    }
  words = ow_words_line (error->message, ERROR_CHARS);
  ow_composer_set_error (self->composer, words);
  ow_composer_give_back (self->composer, saying->text);
}

static void
on_send (OwWindow   *self,
         const char *text)
{
  GTask *task;
  Saying *saying;

  if (self->feed == NULL)
    return;
  saying = g_new0 (Saying, 1);
  saying->session = g_strdup (ow_session_feed_get_session (self->feed));
  saying->text = g_strdup (text);
  task = g_task_new (self, NULL, NULL, NULL);
  g_task_set_source_tag (task, on_send);
  g_task_set_task_data (task, saying, saying_free);
  /* One that had ended stays open again, as every session that the window begins. */
  ow_engine_command_async (OW_ENGINE (self->engine), "session.say",
                           json_pack ("{s:s, s:s, s:b}", "session", saying->session,
                                      "text", text, "keep", TRUE),
                           self->cancellable, on_said, task);
  ow_transcript_view_scroll_to_end (self->view);
}

static void
on_folded (OwWindow *self)
{
  if (self->feed != NULL)
    adw_leaflet_set_visible_child (self->leaflet, self->content);
}

static void
on_watching (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  json_decref (value);
}

/* Tells the engine, whichever it is now, that somebody is here to answer, and asks it for all
 * that may have changed. */
static void
greet (OwWindow *self)
{
  ow_engine_command_async (OW_ENGINE (self->engine), "face.watch",
                           json_pack ("{s:b}", "answers", TRUE), self->cancellable, on_watching,
                           NULL);
  ow_session_list_refresh (self->list);
  if (self->feed != NULL)
    ow_session_feed_refresh (self->feed);
  ow_window_check_keys (self);
  self->greeted = TRUE;
}

/* Also when the number of sessions that run is another one, which is no reason to ask for all. */
static void
on_engine_changed (OwWindow *self)
{
  if (ow_shared_engine_get_role (self->engine) == OW_ENGINE_NONE)
    self->greeted = FALSE;
  else if (!self->greeted)
    greet (self);
  else if (self->key_problem != NULL)
    ow_window_check_keys (self);
  ow_window_update_bar (self);
}

void
ow_window_engine_opened (OwWindow     *self,
                         const GError *error)
{
  ow_words_set (&self->engine_error, error == NULL ? NULL : error->message);
  if (error == NULL)
    greet (self);
  show_session (self);
}

static void
ow_window_dispose (GObject *object)
{
  OwWindow *self = OW_WINDOW (object);

  g_cancellable_cancel (self->cancellable);
  drop_feed (self);
  if (self->list != NULL)
    g_signal_handlers_disconnect_by_data (self->list, self);
  if (self->engine != NULL)
    g_signal_handlers_disconnect_by_data (self->engine, self);
  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data (self->selection, self);
  g_clear_object (&self->selection);
  g_clear_object (&self->list);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_WINDOW);
  g_clear_object (&self->engine);

  G_OBJECT_CLASS (ow_window_parent_class)->dispose (object);
}

static void
ow_window_finalize (GObject *object)
{
  OwWindow *self = OW_WINDOW (object);

  g_clear_object (&self->cancellable);
  g_free (self->wanted);
  g_free (self->engine_error);
  g_free (self->key_problem);

  G_OBJECT_CLASS (ow_window_parent_class)->finalize (object);
}

static void
bind_children (GtkWidgetClass *widget_class)
{
  gtk_widget_class_bind_template_child (widget_class, OwWindow, toasts);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, leaflet);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, sidebar);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, content);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, sessions);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, heading);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, level);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, session_menu_button);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, bar);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, bar_label);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, retry);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, stack);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, empty);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, empty_button);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, view);
  gtk_widget_class_bind_template_child (widget_class, OwWindow, composer);
}

static void
ow_window_class_init (OwWindowClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  object_class->dispose = ow_window_dispose;
  object_class->finalize = ow_window_finalize;

  g_type_ensure (OW_TYPE_COMPOSER);
  g_type_ensure (OW_TYPE_LEVEL_BUTTON);
  g_type_ensure (OW_TYPE_SESSION_ITEM);
  g_type_ensure (OW_TYPE_TRANSCRIPT_VIEW);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-window.ui");
  bind_children (widget_class);
  gtk_widget_class_bind_template_callback (widget_class, on_folded);
  gtk_widget_class_bind_template_callback (widget_class, on_send);
  gtk_widget_class_bind_template_callback (widget_class, on_session_activated);
  ow_window_install_actions (widget_class);
}

static void
ow_window_init (OwWindow *self)
{
  self->cancellable = g_cancellable_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  ow_mnemonic_name_buttons (GTK_WIDGET (self));
}

OwWindow *
ow_window_new (AdwApplication *application,
               OwSharedEngine *engine)
{
  OwWindow *self = g_object_new (OW_TYPE_WINDOW, "application", application, NULL);

  self->engine = g_object_ref (engine);
  self->list = ow_session_list_new (OW_ENGINE (engine));
  self->selection = gtk_single_selection_new (NULL);
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_single_selection_set_model (self->selection, G_LIST_MODEL (self->list));
  gtk_list_view_set_model (self->sessions, GTK_SELECTION_MODEL (self->selection));
  g_signal_connect_object (self->selection, "notify::selected-item", G_CALLBACK (on_selected),
                           self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->list, "answered", G_CALLBACK (on_listed), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (engine, "changed", G_CALLBACK (on_engine_changed), self,
                           G_CONNECT_SWAPPED);
  show_session (self);
  return self;
}
