/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-message-row-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "ow-column-layout-private.h"
#include "ow-words-private.h"

/* What a label still lays out without a stall. */
#define LINE_CHARS 4000
#define TEXT_BYTES 100000
#define NOTE_CHARS 300
/* A label is laid out anew as a whole with each piece that comes: lines up to this many bytes
 * share one. */
#define BLOCK_BYTES 500

struct _OwMessageRow
{
  GtkWidget         parent_instance;

  OwTranscriptItem *item; /* (owned) */
  gboolean          cut;  /* a part of the text is not shown */
  GtkBox           *box;
  GtkImage         *icon;
  GtkBox           *blocks;
  GtkLabel         *note;
};

G_DEFINE_FINAL_TYPE (OwMessageRow, ow_message_row, GTK_TYPE_WIDGET)

static GtkWidget *
add_block (OwMessageRow *self)
{
  GtkWidget *label = gtk_label_new (NULL);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  gtk_label_set_attributes (GTK_LABEL (label), attributes);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_box_append (self->blocks, label);
  return label;
}

/* The end of the lines that share a label. */
static const char *
end_of_block (const char *text)
{
  const char *at = text;

  while (*at != '\0')
    {
      const char *end = strchrnul (at, '\n');

      if (*end == '\0' || end - text >= BLOCK_BYTES)
        return end;
      at = end + 1;
    }
  return at;
}

/* What a label was made from, so that it is known when it need not be made again. */
#define RAW "ow-raw"

/* Returns whether a part of @raw is not shown. */
static gboolean
set_block (GtkWidget  *label,
           const char *raw)
{
  gboolean cut;
  g_autofree char *text = ow_lines_clip (raw, LINE_CHARS, TEXT_BYTES, &cut);

  gtk_label_set_text (GTK_LABEL (label), text);
  g_object_set_data_full (G_OBJECT (label), RAW, g_strdup (raw), g_free);
  return cut;
}

/* Only the labels whose text is another one are touched: of a long answer that comes in pieces
 * the last. */
static void
show_text (OwMessageRow *self,
           const GString *text)
{
  GtkWidget *label = gtk_widget_get_first_child (GTK_WIDGET (self->blocks));
  const char *at = text->str;

  while (*at != '\0' && at - text->str < TEXT_BYTES)
    {
      const char *end = end_of_block (at);
      g_autofree char *block = g_strndup (at, (gsize) (end - at));

      if (label == NULL)
        label = add_block (self);
      if (g_strcmp0 (block, g_object_get_data (G_OBJECT (label), RAW)) != 0)
        self->cut = set_block (label, block) || self->cut;
      label = gtk_widget_get_next_sibling (label);
      at = *end == '\0' ? end : end + 1;
    }
  self->cut = self->cut || *at != '\0';
  while (label != NULL)
    {
      GtkWidget *next = gtk_widget_get_next_sibling (label);

      gtk_box_remove (self->blocks, label);
      label = next;
    }
}

static void
show (OwMessageRow *self)
{
  g_autofree char *why = NULL;
  g_autofree char *note = NULL;

  show_text (self, self->item->text);
  gtk_widget_set_visible (GTK_WIDGET (self->box), self->item->text->len > 0);
  if (self->item->note != NULL)
    {
      why = ow_words_line (self->item->note, NOTE_CHARS);
      note = g_strdup_printf (_ ("This answer was cut: %s"), why);
    }
  else if (self->cut)
    note = g_strdup (_ ("This text is too long to be shown whole."));
  gtk_label_set_text (self->note, note != NULL ? note : "");
  gtk_widget_set_visible (GTK_WIDGET (self->note), note != NULL);
}

static void
set_look (OwMessageRow *self)
{
  GtkWidget *widget = GTK_WIDGET (self);

  switch (self->item->kind)
    {
    case OW_ITEM_USER:
      gtk_widget_add_css_class (GTK_WIDGET (self->blocks), "bubble");
      gtk_widget_set_halign (widget, GTK_ALIGN_END);
      gtk_widget_set_margin_start (widget, 48);
      break;
    case OW_ITEM_NOTICE:
      gtk_widget_add_css_class (widget, "notice");
      gtk_widget_set_visible (GTK_WIDGET (self->icon), TRUE);
      gtk_image_set_from_icon_name (self->icon,
                                    self->item->tone == OW_TONE_PLAIN
                                    ? "dialog-information-symbolic" : "dialog-warning-symbolic");
      if (self->item->tone == OW_TONE_WARNING)
        gtk_widget_add_css_class (GTK_WIDGET (self->icon), "warning");
      else if (self->item->tone == OW_TONE_ERROR)
        gtk_widget_add_css_class (GTK_WIDGET (self->icon), "error");
      else
        gtk_widget_add_css_class (widget, "dim-label");
      break;
    case OW_ITEM_MODEL:
    case OW_ITEM_TOOL:
    case OW_ITEM_CONSENT:
    default:
      break;
    }
}

static void
ow_message_row_dispose (GObject *object)
{
  OwMessageRow *self = OW_MESSAGE_ROW (object);
  GtkWidget *child;

  g_clear_object (&self->item);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_MESSAGE_ROW);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (ow_message_row_parent_class)->dispose (object);
}

static void
ow_message_row_class_init (OwMessageRowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_message_row_dispose;
  g_type_ensure (OW_TYPE_COLUMN_LAYOUT);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-message-row.ui");
  gtk_widget_class_bind_template_child (widget_class, OwMessageRow, box);
  gtk_widget_class_bind_template_child (widget_class, OwMessageRow, icon);
  gtk_widget_class_bind_template_child (widget_class, OwMessageRow, blocks);
  gtk_widget_class_bind_template_child (widget_class, OwMessageRow, note);
}

static void
ow_message_row_init (OwMessageRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
ow_message_row_new (OwTranscriptItem *item)
{
  OwMessageRow *self = g_object_new (OW_TYPE_MESSAGE_ROW, NULL);

  self->item = g_object_ref (item);
  set_look (self);
  show (self);
  g_signal_connect_object (item, "changed", G_CALLBACK (show), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}
