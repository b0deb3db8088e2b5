/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-folder-row-private.h"

#include <glib/gi18n.h>

#include "ow-words-private.h"

#define PATH_CHARS 400

struct _OwFolderRow
{
  AdwActionRow  parent_instance;

  char         *path; /* (owned) */
  GtkSwitch    *read_only;
  GtkButton    *remove;
};

static guint removed_signal;

G_DEFINE_FINAL_TYPE (OwFolderRow, ow_folder_row, ADW_TYPE_ACTION_ROW)

static void
on_remove_clicked (OwFolderRow *self)
{
  g_signal_emit (self, removed_signal, 0);
}

static void
ow_folder_row_dispose (GObject *object)
{
  gtk_widget_dispose_template (GTK_WIDGET (object), OW_TYPE_FOLDER_ROW);

  G_OBJECT_CLASS (ow_folder_row_parent_class)->dispose (object);
}

static void
ow_folder_row_finalize (GObject *object)
{
  g_free (OW_FOLDER_ROW (object)->path);

  G_OBJECT_CLASS (ow_folder_row_parent_class)->finalize (object);
}

static void
ow_folder_row_class_init (OwFolderRowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_folder_row_dispose;
  G_OBJECT_CLASS (klass)->finalize = ow_folder_row_finalize;

  /* The person takes the folder out. */
  removed_signal = g_signal_new ("removed", OW_TYPE_FOLDER_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                 NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-folder-row.ui");
  gtk_widget_class_bind_template_child (widget_class, OwFolderRow, read_only);
  gtk_widget_class_bind_template_child (widget_class, OwFolderRow, remove);
  gtk_widget_class_bind_template_callback (widget_class, on_remove_clicked);
}

static void
ow_folder_row_init (OwFolderRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
ow_folder_row_new (const char *path)
{
  OwFolderRow *self = g_object_new (OW_TYPE_FOLDER_ROW, NULL);
  g_autofree char *line = ow_words_line (path, PATH_CHARS);
  g_autofree char *mode = g_strdup_printf (_ ("Read-only: %s"), line);
  g_autofree char *remove = g_strdup_printf (_ ("Remove %s"), line);

  self->path = g_strdup (path);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self), line);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->read_only),
                                  GTK_ACCESSIBLE_PROPERTY_LABEL, mode, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->remove),
                                  GTK_ACCESSIBLE_PROPERTY_LABEL, remove, -1);
  return GTK_WIDGET (self);
}

const char *
ow_folder_row_get_path (OwFolderRow *self)
{
  return self->path;
}

char *
ow_folder_row_get_spec (OwFolderRow *self)
{
  return g_strconcat (self->path, gtk_switch_get_active (self->read_only) ? ":ro" : ":rw", NULL);
}
