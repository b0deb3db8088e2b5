/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-tool-card-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "base/ow-diff.h"
#include "ow-column-layout-private.h"
#include "ow-words-private.h"

/* Lines that a card shows before it is asked for all. */
#define SHORT_LINES 12
/* Lines in one label: a long one would be laid out anew as a whole. */
#define LABEL_LINES 100
#define TICK_MS 1000

struct _OwToolCard
{
  GtkWidget         parent_instance;

  OwTranscriptItem *item;   /* (owned) */
  guint             tick;   /* source id while it runs and is seen, else 0 */
  guint             built;  /* lines of the item when the labels were made */
  OwCallState       built_state;
  gboolean          built_all;
  GtkImage         *icon;
  GtkLabel         *title;
  GtkLabel         *outcome;
  GtkLabel         *level;
  GtkLabel         *duration;
  GtkButton        *stop;
  GtkLabel         *note;
  GtkBox           *lines;
  GtkLabel         *more;
  GtkButton        *expand;
  GtkLabel         *counts;
  GtkButton        *undo;
};

G_DEFINE_FINAL_TYPE (OwToolCard, ow_tool_card, GTK_TYPE_WIDGET)

static const char *
icon_of (const char *tool)
{
  static const char * const ICONS[][2] = {
    { "edit", "document-edit-symbolic" },
    { "glob", "edit-find-symbolic" },
    { "grep", "edit-find-symbolic" },
    { "list", "folder-symbolic" },
    { "read", "text-x-generic-symbolic" },
    { "undo", "edit-undo-symbolic" },
    { "write", "document-edit-symbolic" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ICONS); i++)
    if (g_strcmp0 (tool, ICONS[i][0]) == 0)
      return ICONS[i][1];
  return "utilities-terminal-symbolic";
}

/* The style of a line of a diff; the sign in front of it says the same. */
static const char *
class_of (OwToolCard *self,
          guint       number)
{
  const GByteArray *kinds = self->item->kinds;

  if (kinds == NULL || number >= kinds->len)
    return NULL;
  return kinds->data[number] == OW_DIFF_ADDED ? "diff-in"
         : kinds->data[number] == OW_DIFF_REMOVED ? "diff-out" : NULL;
}

static void
add_label (OwToolCard *self,
           GString    *text,
           const char *style)
{
  GtkWidget *label = gtk_label_new (NULL);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();

  /* A hyphen at a break would look like one of the text's own. */
  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  gtk_label_set_attributes (GTK_LABEL (label), attributes);
  gtk_label_set_text (GTK_LABEL (label), text->str);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_CHAR);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "monospace");
  gtk_widget_add_css_class (label, "code");
  if (style != NULL)
    gtk_widget_add_css_class (label, style);
  gtk_box_append (self->lines, label);
  g_string_truncate (text, 0);
}

static void
build_lines (OwToolCard *self,
             guint       from,
             guint       to)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *style = NULL;
  guint n = 0;
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->lines))) != NULL)
    gtk_box_remove (self->lines, child);
  for (guint i = from; i < to; i++)
    {
      const char *line = ow_lines_get (self->item->lines, i);
      const char *wanted = class_of (self, i);

      if (n > 0 && (wanted != style || n == LABEL_LINES))
        {
          add_label (self, text, style);
          n = 0;
        }
      style = wanted;
      if (n++ > 0)
        g_string_append_c (text, '\n');
      g_string_append (text, line);
    }
  if (n > 0)
    add_label (self, text, style);
}

/* While it runs the last lines, afterwards the first ones. */
static void
show_lines (OwToolCard *self)
{
  OwLines *lines = self->item->lines;
  guint n = ow_lines_get_n (lines);
  guint kept = ow_lines_get_n_kept (lines);
  gboolean running = self->item->state != OW_CALL_ENDED;
  gboolean all = self->item->expanded && !running;
  guint shown = all ? kept : MIN (kept, SHORT_LINES);
  guint left = n - MIN (n, shown);

  if (n == self->built && self->item->state == self->built_state && all == self->built_all)
    return;
  self->built = n;
  self->built_state = self->item->state;
  self->built_all = all;
  build_lines (self, running ? kept - shown : 0, running ? kept : shown);
  gtk_widget_set_visible (GTK_WIDGET (self->lines), shown > 0);
  gtk_widget_set_visible (GTK_WIDGET (self->expand), !running && !all && kept > shown);
  gtk_widget_set_visible (GTK_WIDGET (self->more), left > 0);
  if (left > 0)
    {
      g_autofree char *words = NULL;

      words = running
              ? g_strdup_printf (ngettext ("%u line before these", "%u lines before these", left),
                                 left)
              : g_strdup_printf (ngettext ("%u more line", "%u more lines", left), left);
      gtk_label_set_text (self->more, words);
    }
}

static void
show_time (OwToolCard *self)
{
  gint64 ms = self->item->duration_ms;
  g_autofree char *words = NULL;

  if (self->item->state == OW_CALL_RUNNING)
    ms = (g_get_real_time () - self->item->began) / 1000;
  words = ow_words_duration (ms);
  gtk_label_set_text (self->duration, words);
  gtk_widget_set_visible (GTK_WIDGET (self->duration),
                          self->item->state == OW_CALL_ENDED ||
                          (self->item->state == OW_CALL_RUNNING && ms >= TICK_MS));
}

static gboolean
on_tick (gpointer user_data)
{
  show_time (user_data);
  return G_SOURCE_CONTINUE;
}

/* Time passes only where it is seen. */
static void
set_ticking (OwToolCard *self)
{
  gboolean wanted = gtk_widget_get_mapped (GTK_WIDGET (self)) && self->item != NULL &&
                    self->item->state == OW_CALL_RUNNING;

  if (wanted && self->tick == 0)
    self->tick = g_timeout_add (TICK_MS, on_tick, self);
  else if (!wanted)
    g_clear_handle_id (&self->tick, g_source_remove);
}

static void
show_level (OwToolCard *self)
{
  static const char * const CLASSES[] = { "level-walled", "level-open", "level-connector" };

  for (guint i = 0; i < G_N_ELEMENTS (CLASSES); i++)
    gtk_widget_remove_css_class (GTK_WIDGET (self->level), CLASSES[i]);
  gtk_widget_add_css_class (GTK_WIDGET (self->level), ow_words_level_class (self->item->level));
  gtk_label_set_text (self->level, ow_words_level (self->item->level));
}

/* "+1 −1" beside the title, and the button of what can be taken back. */
static void
show_changes (OwToolCard *self)
{
  OwTranscriptItem *item = self->item;
  gboolean counted = item->diff && item->added + item->removed > 0;

  gtk_widget_set_visible (GTK_WIDGET (self->counts), counted);
  if (counted)
    {
      g_autofree char *words = g_strdup_printf ("+%u −%u", item->added, item->removed);

      gtk_label_set_text (self->counts, words);
    }
  gtk_widget_set_visible (GTK_WIDGET (self->undo), item->undo != OW_UNDO_NONE);
  gtk_widget_set_sensitive (GTK_WIDGET (self->undo), item->undo == OW_UNDO_OFFERED);
  gtk_button_set_label (self->undo, item->undo == OW_UNDO_DONE ? _ ("Undone")
                        : item->undo == OW_UNDO_WAITING ? _ ("Undoing…") : _ ("Undo"));
}

static void
on_undo_clicked (OwToolCard *self)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.undo", "s", self->item->id);
}

static void
show (OwToolCard *self)
{
  OwTranscriptItem *item = self->item;
  gboolean running = item->state == OW_CALL_RUNNING;
  /* Most projects have no instructions of their own, which is no fault. */
  gboolean bad = item->outcome != NULL && !item->instructions;

  show_level (self);
  gtk_label_set_text (self->outcome, bad ? item->outcome : "");
  gtk_widget_set_visible (GTK_WIDGET (self->outcome), bad);
  gtk_widget_set_visible (GTK_WIDGET (self->note), item->instructions && item->outcome == NULL);
  gtk_widget_set_visible (GTK_WIDGET (self->stop), running);
  show_time (self);
  show_lines (self);
  show_changes (self);
  set_ticking (self);
}

static void
on_expand_clicked (OwToolCard *self)
{
  self->item->expanded = TRUE;
  show (self);
}

static void
ow_tool_card_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (ow_tool_card_parent_class)->map (widget);
  set_ticking (OW_TOOL_CARD (widget));
}

static void
ow_tool_card_unmap (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (ow_tool_card_parent_class)->unmap (widget);
  set_ticking (OW_TOOL_CARD (widget));
}

static void
ow_tool_card_dispose (GObject *object)
{
  OwToolCard *self = OW_TOOL_CARD (object);
  GtkWidget *child;

  g_clear_handle_id (&self->tick, g_source_remove);
  g_clear_object (&self->item);
  gtk_widget_dispose_template (GTK_WIDGET (self), OW_TYPE_TOOL_CARD);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (ow_tool_card_parent_class)->dispose (object);
}

static void
ow_tool_card_class_init (OwToolCardClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_tool_card_dispose;
  widget_class->map = ow_tool_card_map;
  widget_class->unmap = ow_tool_card_unmap;
  g_type_ensure (OW_TYPE_COLUMN_LAYOUT);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-tool-card.ui");
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, icon);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, title);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, outcome);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, level);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, duration);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, stop);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, note);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, lines);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, more);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, expand);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, counts);
  gtk_widget_class_bind_template_child (widget_class, OwToolCard, undo);
  gtk_widget_class_bind_template_callback (widget_class, on_expand_clicked);
  gtk_widget_class_bind_template_callback (widget_class, on_undo_clicked);
}

static void
ow_tool_card_init (OwToolCard *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
ow_tool_card_new (OwTranscriptItem *item)
{
  OwToolCard *self = g_object_new (OW_TYPE_TOOL_CARD, NULL);

  self->item = g_object_ref (item);
  gtk_image_set_from_icon_name (self->icon, icon_of (item->tool));
  gtk_label_set_text (self->title, item->title);
  gtk_label_set_text (self->note,
                      _ ("The project’s own instructions, read for the agent. They are not "
                         "trusted."));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  item->title, -1);
  show (self);
  g_signal_connect_object (item, "changed", G_CALLBACK (show), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}
