/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-level-button-private.h"

#include <glib/gi18n.h>

#include "ow-words-private.h"

#define VALUE_CHARS 400

struct _OwLevelButton
{
  GtkWidget      parent_instance;

  GtkMenuButton *button;
  GtkImage      *icon;
  GtkLabel      *word;
  GtkBox        *facts;
};

G_DEFINE_FINAL_TYPE (OwLevelButton, ow_level_button, GTK_TYPE_WIDGET)

static void
add_text (OwLevelButton *self,
          const char    *text,
          const char    *style)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 40);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  if (style != NULL)
    gtk_widget_add_css_class (label, style);
  gtk_box_append (self->facts, label);
}

static void
add_fact (OwLevelButton *self,
          const char    *name,
          const char    *value)
{
  g_autofree char *shown = NULL;
  g_autofree char *line = NULL;

  if (value == NULL || *value == '\0')
    return;
  shown = ow_words_line (value, VALUE_CHARS);
  /* Translators: a fact's name and what it is */
  line = g_strdup_printf (_ ("%s: %s"), name, shown);
  add_text (self, line, NULL);
}

static void
fill_facts (OwLevelButton  *self,
            OwSessionFacts *facts)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->facts))) != NULL)
    gtk_box_remove (self->facts, child);
  add_text (self, ow_words_level (facts->level), "heading");
  add_text (self, ow_words_level_means (facts->level), NULL);
  add_fact (self, _ ("Lost"), facts->lost);
  add_fact (self, _ ("Provider"), facts->provider);
  add_fact (self, _ ("Network"), facts->profile);
  add_fact (self, _ ("Model"), facts->model);
  add_fact (self, _ ("Address"), facts->base_url);
  for (guint i = 0; i < facts->folders->len; i++)
    {
      OwSessionFolder *folder = g_ptr_array_index (facts->folders, i);
      g_autofree char *words = ow_words_folder (folder->path, folder->read_only);

      add_fact (self, _ ("Folder"), words);
    }
  add_fact (self, _ ("Notice"), facts->notice);
}

void
ow_level_button_set_facts (OwLevelButton  *self,
                           OwSessionFacts *facts)
{
  g_autofree char *name = NULL;
  const char *word;

  gtk_widget_set_visible (GTK_WIDGET (self), facts != NULL && facts->level != NULL);
  if (facts == NULL || facts->level == NULL)
    return;
  word = facts->lost != NULL ? _ ("Sandbox lost") : ow_words_level (facts->level);
  name = g_strdup_printf (_ ("Protection: %s"), word);
  gtk_label_set_text (self->word, word);
  gtk_image_set_from_icon_name (self->icon,
                                facts->lost != NULL ? "ow-shield-off-symbolic"
                                                    : ow_words_level_icon (facts->level));
  gtk_widget_remove_css_class (GTK_WIDGET (self->button), "level-walled");
  gtk_widget_remove_css_class (GTK_WIDGET (self->button), "level-open");
  gtk_widget_remove_css_class (GTK_WIDGET (self->button), "level-connector");
  gtk_widget_add_css_class (GTK_WIDGET (self->button),
                            facts->lost != NULL ? "level-open"
                                                : ow_words_level_class (facts->level));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  name, -1);
  fill_facts (self, facts);
}

static void
ow_level_button_dispose (GObject *object)
{
  GtkWidget *child;

  gtk_widget_dispose_template (GTK_WIDGET (object), OW_TYPE_LEVEL_BUTTON);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (ow_level_button_parent_class)->dispose (object);
}

static void
ow_level_button_class_init (OwLevelButtonClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_level_button_dispose;
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-level-button.ui");
  gtk_widget_class_bind_template_child (widget_class, OwLevelButton, button);
  gtk_widget_class_bind_template_child (widget_class, OwLevelButton, icon);
  gtk_widget_class_bind_template_child (widget_class, OwLevelButton, word);
  gtk_widget_class_bind_template_child (widget_class, OwLevelButton, facts);
}

static void
ow_level_button_init (OwLevelButton *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
