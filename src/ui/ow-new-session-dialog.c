/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-new-session-dialog-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "ow-folder-row-private.h"
#include "ow-mnemonic-private.h"
#include "ow-words-private.h"

#define MAX_FOLDERS 64
#define NAME_CHARS 60
#define ERROR_CHARS 2000

struct _OwNewSessionDialog
{
  AdwWindow            parent_instance;

  OwEngine            *engine;      /* (owned) */
  GCancellable        *cancellable; /* (owned) */
  GPtrArray           *rows;        /* (owned) of (borrowed) OwFolderRow, in order */
  GPtrArray           *models;      /* (owned) of (owned) names; the list has one entry more */
  gboolean             starting;
  GtkButton           *start;
  GtkInfoBar          *bar;
  GtkLabel            *error;
  GtkTextView         *task;
  AdwPreferencesGroup *folders;
  GtkEntry            *path;
  GtkWidget           *chosen_row;
  GtkCheckButton      *chosen;
  GtkCheckButton      *sandbox;
  GtkCheckButton      *direct;
  GtkWidget           *warning;
  GtkWidget           *model_row;
  GtkDropDown         *model;
  GtkWidget           *name_row;
  GtkEntry            *name;
  GtkWidget           *address_row;
  GtkEntry            *address;
  GtkCheckButton      *ask;
  GtkCheckButton      *sandboxed;
  GtkCheckButton      *refuse;
};

static guint started_signal;

G_DEFINE_FINAL_TYPE (OwNewSessionDialog, ow_new_session_dialog, ADW_TYPE_WINDOW)

static void
set_error (OwNewSessionDialog *self,
           const char         *text)
{
  g_autofree char *line = ow_words_line (text, ERROR_CHARS);

  gtk_label_set_text (self->error, line);
  gtk_info_bar_set_revealed (self->bar, text != NULL);
}

static char *
get_task (OwNewSessionDialog *self)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->task);
  GtkTextIter start;
  GtkTextIter end;
  char *text;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  text = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  return g_strstrip (text);
}

/* NULL: another one than those that are set up. */
static const char *
get_model (OwNewSessionDialog *self)
{
  guint selected = gtk_drop_down_get_selected (self->model);

  return selected < self->models->len ? g_ptr_array_index (self->models, selected) : NULL;
}

static const char *
text_of (GtkEntry *entry)
{
  return gtk_editable_get_text (GTK_EDITABLE (entry));
}

static void
on_changed (OwNewSessionDialog *self)
{
  g_autofree char *task = get_task (self);
  gboolean other = get_model (self) == NULL;
  gboolean model = !other || *text_of (self->name) != '\0';
  gboolean folder = self->rows->len > 0 || *text_of (self->path) != '\0';

  gtk_widget_set_visible (self->model_row, self->models->len > 0);
  gtk_widget_set_visible (self->name_row, other);
  gtk_widget_set_visible (self->address_row, other);
  gtk_widget_set_visible (self->warning, gtk_check_button_get_active (self->direct));
  gtk_widget_set_sensitive (GTK_WIDGET (self->start),
                            !self->starting && model && folder && *task != '\0');
}

static void
on_removed (OwNewSessionDialog *self,
            OwFolderRow        *row)
{
  g_ptr_array_remove (self->rows, row);
  adw_preferences_group_remove (self->folders, GTK_WIDGET (row));
  on_changed (self);
}

static gboolean
add_folder (OwNewSessionDialog *self,
            const char         *path)
{
  GtkWidget *row;

  for (guint i = 0; i < self->rows->len; i++)
    if (g_str_equal (ow_folder_row_get_path (self->rows->pdata[i]), path))
      return TRUE;
  if (self->rows->len >= MAX_FOLDERS)
    {
      set_error (self, _ ("A session has at most 64 folders."));
      return FALSE;
    }
  row = ow_folder_row_new (path);
  g_signal_connect_object (row, "removed", G_CALLBACK (on_removed), self, G_CONNECT_SWAPPED);
  g_ptr_array_add (self->rows, row);
  adw_preferences_group_add (self->folders, row);
  return TRUE;
}

/* Takes the typed path, if there is one. FALSE: it is none, and the person was told. */
static gboolean
take_path (OwNewSessionDialog *self)
{
  g_autofree char *text = g_strstrip (g_strdup (text_of (self->path)));
  g_autofree char *path = NULL;

  if (*text == '\0')
    return TRUE;
  if (g_str_equal (text, "~") || g_str_has_prefix (text, "~/"))
    path = g_strconcat (g_get_home_dir (), text + 1, NULL);
  else
    path = g_strdup (text);
  if (!g_path_is_absolute (path))
    {
      set_error (self, _ ("A folder’s path begins with “/” or “~/”."));
      return FALSE;
    }
  while (strlen (path) > 1 && g_str_has_suffix (path, "/"))
    path[strlen (path) - 1] = '\0';
  if (!add_folder (self, path))
    return FALSE;
  set_error (self, NULL);
  gtk_editable_set_text (GTK_EDITABLE (self->path), "");
  return TRUE;
}

static void
on_add_path (OwNewSessionDialog *self)
{
  take_path (self);
  on_changed (self);
}

static void
on_chosen (OwNewSessionDialog *self,
           int                 response,
           GtkNativeDialog    *chooser)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GListModel) files = gtk_file_chooser_get_files (GTK_FILE_CHOOSER (chooser));

      for (guint i = 0; i < g_list_model_get_n_items (files); i++)
        {
          g_autoptr (GFile) file = g_list_model_get_item (files, i);
          g_autofree char *path = g_file_get_path (file);

          if (path != NULL && !add_folder (self, path))
            break;
        }
      on_changed (self);
    }
  gtk_native_dialog_destroy (chooser);
  g_object_unref (chooser);
}

static void
on_choose (OwNewSessionDialog *self)
{
  GtkFileChooserNative *chooser;

  chooser = gtk_file_chooser_native_new (_ ("Choose folders"), GTK_WINDOW (self),
                                         GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _ ("_Add"),
                                         _ ("_Cancel"));
  gtk_file_chooser_set_select_multiple (GTK_FILE_CHOOSER (chooser), TRUE);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_chosen), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
add_model_params (OwNewSessionDialog *self,
                  json_t             *params)
{
  const char *model = get_model (self);
  g_autofree char *name = NULL;
  g_autofree char *address = NULL;

  if (model != NULL)
    {
      json_object_set_new (params, "model", json_string (model));
      return;
    }
  name = g_strstrip (g_strdup (text_of (self->name)));
  address = g_strstrip (g_strdup (text_of (self->address)));
  if (g_str_has_prefix (name, "replay:") || g_str_has_prefix (name, "openai:"))
    json_object_set_new (params, "model", json_string (name));
  else
    json_object_set_new (params, "model", json_sprintf ("openai:%s", name));
  if (*address != '\0')
    json_object_set_new (params, "base_url", json_string (address));
}

static json_t *
make_params (OwNewSessionDialog *self)
{
  g_autofree char *task = get_task (self);
  json_t *folders = json_array ();
  json_t *params;

  for (guint i = 0; i < self->rows->len; i++)
    {
      g_autofree char *spec = ow_folder_row_get_spec (self->rows->pdata[i]);

      json_array_append_new (folders, json_string (spec));
    }
  params = json_pack ("{s:o, s:s, s:b, s:b, s:s}", "folders", folders, "task", task,
                      "interactive", TRUE, "keep", TRUE, "approve",
                      gtk_check_button_get_active (self->ask) ? "ask"
                      : gtk_check_button_get_active (self->sandboxed) ? "sandboxed" : "deny");
  add_model_params (self, params);
  if (gtk_check_button_get_active (self->sandbox))
    json_object_set_new (params, "provider", json_string ("bubblewrap"));
  else if (gtk_check_button_get_active (self->direct))
    json_object_set_new (params, "provider", json_string ("direct"));
  return params;
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwNewSessionDialog) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  self->starting = FALSE;
  if (value == NULL)
    {
      set_error (self, error->message);
      on_changed (self);
      return;
    }
  g_signal_emit (self, started_signal, 0, ow_json_get_string (value, "session", ""));
  json_decref (value);
  gtk_window_destroy (GTK_WINDOW (self));
}

static void
on_start (OwNewSessionDialog *self)
{
  json_t *params;

  if (self->starting || !take_path (self) || self->rows->len == 0)
    return;
  params = make_params (self);
  if (params == NULL)
    {
      set_error (self, _ ("The task or a path holds bytes that are no text."));
      return;
    }
  self->starting = TRUE;
  set_error (self, NULL);
  on_changed (self);
  /* Not cancelled with the dialog: the session is then there all the same, and is listed. */
  ow_engine_command_async (self->engine, "session.start", params, NULL, on_started,
                           g_object_ref (self));
}

static void
set_models (OwNewSessionDialog *self,
            const json_t       *config)
{
  json_t *models = json_object_get (config, "models");
  const char *chosen = ow_json_get_string (config, "default_model", NULL);
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);
  guint selected = 0;

  g_ptr_array_set_size (self->models, 0);
  for (size_t i = 0; i < json_array_size (models); i++)
    {
      const char *name = ow_json_get_string (json_array_get (models, i), "name", "");
      g_autofree char *line = ow_words_line (name, NAME_CHARS);

      if (g_strcmp0 (name, chosen) == 0)
        selected = self->models->len;
      g_ptr_array_add (self->models, g_strdup (name));
      gtk_string_list_append (list, line);
    }
  gtk_string_list_append (list, _ ("Other address…"));
  gtk_drop_down_set_model (self->model, G_LIST_MODEL (list));
  gtk_drop_down_set_selected (self->model, selected);
}

static void
on_config (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwNewSessionDialog) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);
  const char *provider = ow_json_get_string (value, "provider", NULL);

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  if (value == NULL)
    set_error (self, error->message);
  else
    {
      set_models (self, value);
      /* Nothing set: as before anybody chose anything, and said so plainly. */
      if (g_strcmp0 (provider, "bubblewrap") == 0)
        gtk_check_button_set_active (self->sandbox, TRUE);
      else if (provider == NULL || g_strcmp0 (provider, "direct") == 0)
        gtk_check_button_set_active (self->direct, !gtk_widget_get_visible (self->chosen_row));
    }
  json_decref (value);
  on_changed (self);
}

/* An engine that runs without a window has its own rule for what nobody chose. */
static void
on_status (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (OwNewSessionDialog) self = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (g_strcmp0 (ow_json_get_string (value, "host", ""), "up") == 0 &&
      ow_json_get_string (value, "provider", NULL) == NULL)
    {
      gtk_widget_set_visible (self->chosen_row, TRUE);
      gtk_check_button_set_active (self->chosen, TRUE);
    }
  json_decref (value);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  ow_engine_command_async (self->engine, "config.get", json_object (), self->cancellable,
                           on_config, g_object_ref (self));
}

static void
ow_new_session_dialog_dispose (GObject *object)
{
  OwNewSessionDialog *self = OW_NEW_SESSION_DIALOG (object);

  g_cancellable_cancel (self->cancellable);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_NEW_SESSION_DIALOG);
  g_clear_object (&self->engine);

  G_OBJECT_CLASS (ow_new_session_dialog_parent_class)->dispose (object);
}

static void
ow_new_session_dialog_finalize (GObject *object)
{
  OwNewSessionDialog *self = OW_NEW_SESSION_DIALOG (object);

  g_clear_object (&self->cancellable);
  g_ptr_array_unref (self->rows);
  g_ptr_array_unref (self->models);

  G_OBJECT_CLASS (ow_new_session_dialog_parent_class)->finalize (object);
}

static void
bind_children (GtkWidgetClass *widget_class)
{
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, start);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, bar);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, error);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, task);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, folders);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, path);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, chosen_row);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, chosen);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, sandbox);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, direct);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, warning);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, model_row);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, model);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, name_row);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, name);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, address_row);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, address);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, ask);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, sandboxed);
  gtk_widget_class_bind_template_child (widget_class, OwNewSessionDialog, refuse);
}

static void
ow_new_session_dialog_class_init (OwNewSessionDialogClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  object_class->dispose = ow_new_session_dialog_dispose;
  object_class->finalize = ow_new_session_dialog_finalize;

  /* The engine has made the session. */
  started_signal = g_signal_new ("started", OW_TYPE_NEW_SESSION_DIALOG, G_SIGNAL_RUN_LAST, 0,
                                 NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  gtk_widget_class_set_template_from_resource (
    widget_class, "/org/openworker/OpenWorker/ow-new-session-dialog.ui");
  bind_children (widget_class);
  gtk_widget_class_bind_template_callback (widget_class, on_add_path);
  gtk_widget_class_bind_template_callback (widget_class, on_changed);
  gtk_widget_class_bind_template_callback (widget_class, on_choose);
  gtk_widget_class_bind_template_callback (widget_class, on_start);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
ow_new_session_dialog_init (OwNewSessionDialog *self)
{
  self->cancellable = g_cancellable_new ();
  self->rows = g_ptr_array_new ();
  self->models = g_ptr_array_new_with_free_func (g_free);
  gtk_widget_init_template (GTK_WIDGET (self));
  ow_mnemonic_name_buttons (GTK_WIDGET (self));
  set_models (self, NULL);
  g_signal_connect_object (gtk_text_view_get_buffer (self->task), "changed",
                           G_CALLBACK (on_changed), self, G_CONNECT_SWAPPED);
  gtk_window_set_focus (GTK_WINDOW (self), GTK_WIDGET (self->task));
}

OwNewSessionDialog *
ow_new_session_dialog_new (GtkWindow *parent,
                           OwEngine  *engine)
{
  OwNewSessionDialog *self = g_object_new (OW_TYPE_NEW_SESSION_DIALOG, "transient-for", parent,
                                           NULL);

  self->engine = g_object_ref (engine);
  on_changed (self);
  ow_engine_command_async (engine, "engine.status", json_object (), self->cancellable, on_status,
                           g_object_ref (self));
  return self;
}
