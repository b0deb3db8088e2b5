/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-composer-private.h"

#include <glib/gi18n.h>

/* The second Escape has to follow the first within this. */
#define ESCAPE_MS 2000
/* More than the engine takes in a message; a paste of a whole file would stall the entry. */
#define MAX_CHARS 200000

struct _OwComposer
{
  GtkWidget    parent_instance;

  gboolean     working;
  gint64       escaped; /* monotonic, of the last Escape; 0: none */
  GtkLabel    *error;
  GtkTextView *entry;
  GtkLabel    *placeholder;
  GtkButton   *send;
  GtkButton   *stop;
  GtkLabel    *status;
};

static guint send_signal;

G_DEFINE_FINAL_TYPE (OwComposer, ow_composer, GTK_TYPE_WIDGET)

static char *
get_text (OwComposer *self)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->entry);
  GtkTextIter start;
  GtkTextIter end;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  return gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
}

static gboolean
has_text (OwComposer *self)
{
  g_autofree char *text = get_text (self);

  return *g_strstrip (text) != '\0';
}

static void
show (OwComposer *self)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->entry);
  gboolean text = has_text (self);

  gtk_widget_set_visible (GTK_WIDGET (self->placeholder),
                          gtk_text_buffer_get_char_count (buffer) == 0);
  gtk_label_set_text (self->placeholder,
                      self->working ? _ ("Say something while it works…")
                                    : _ ("Message the agent…"));
  gtk_widget_set_sensitive (GTK_WIDGET (self->send), text);
  gtk_widget_set_visible (GTK_WIDGET (self->send), text || !self->working);
  gtk_widget_set_visible (GTK_WIDGET (self->stop), self->working);
}

static void
on_send (OwComposer *self)
{
  g_autofree char *text = get_text (self);

  g_strstrip (text);
  if (*text == '\0')
    return;
  if (g_utf8_strlen (text, -1) > MAX_CHARS)
    {
      ow_composer_set_error (self, _ ("This message is too long. Put the text into a file of the "
                                      "session’s folders and name the file."));
      return;
    }
  ow_composer_set_error (self, NULL);
  ow_composer_clear (self);
  g_signal_emit (self, send_signal, 0, text);
}

static gboolean
on_escape (OwComposer *self)
{
  gint64 now = g_get_monotonic_time ();
  gboolean second = self->escaped != 0 && now - self->escaped < ESCAPE_MS * 1000;

  if (!self->working)
    return FALSE;
  self->escaped = second ? 0 : now;
  if (second)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.stop", NULL);
  return TRUE;
}

static gboolean
on_key (OwComposer            *self,
        guint                  key,
        guint                  code,
        GdkModifierType        modifiers,
        GtkEventControllerKey *controller)
{
  GdkModifierType held = modifiers & (GDK_SHIFT_MASK | GDK_CONTROL_MASK | GDK_ALT_MASK);

  if (key == GDK_KEY_Escape)
    return on_escape (self);
  if (key != GDK_KEY_Return && key != GDK_KEY_KP_Enter && key != GDK_KEY_ISO_Enter)
    return FALSE;
  if (held != 0 && held != GDK_CONTROL_MASK)
    return FALSE;
  /* An input method that composes a word takes Enter first. */
  if (gtk_text_view_im_context_filter_keypress (
        self->entry, gtk_event_controller_get_current_event (GTK_EVENT_CONTROLLER (controller))))
    return TRUE;
  on_send (self);
  return TRUE;
}

static void
ow_composer_dispose (GObject *object)
{
  GtkWidget *child;

  gtk_widget_dispose_template (GTK_WIDGET (object), OW_TYPE_COMPOSER);
  /* Those that no member of the struct is bound to are left. */
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (object))) != NULL)
    gtk_widget_unparent (child);

  G_OBJECT_CLASS (ow_composer_parent_class)->dispose (object);
}

static gboolean
ow_composer_grab_focus (GtkWidget *widget)
{
  return gtk_widget_grab_focus (GTK_WIDGET (OW_COMPOSER (widget)->entry));
}

static void
ow_composer_class_init (OwComposerClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_composer_dispose;
  widget_class->grab_focus = ow_composer_grab_focus;

  /* The person sent a message; the entry is empty again. */
  send_signal = g_signal_new ("send", OW_TYPE_COMPOSER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                              G_TYPE_NONE, 1, G_TYPE_STRING);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-composer.ui");
  gtk_widget_class_bind_template_child (widget_class, OwComposer, error);
  gtk_widget_class_bind_template_child (widget_class, OwComposer, entry);
  gtk_widget_class_bind_template_child (widget_class, OwComposer, placeholder);
  gtk_widget_class_bind_template_child (widget_class, OwComposer, send);
  gtk_widget_class_bind_template_child (widget_class, OwComposer, stop);
  gtk_widget_class_bind_template_child (widget_class, OwComposer, status);
  gtk_widget_class_bind_template_callback (widget_class, on_send);
}

static void
ow_composer_init (OwComposer *self)
{
  GtkEventController *keys;

  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect_object (gtk_text_view_get_buffer (self->entry), "changed", G_CALLBACK (show),
                           self, G_CONNECT_SWAPPED);
  keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_swapped (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (self->entry), keys);
  show (self);
}

void
ow_composer_set_working (OwComposer *self,
                         gboolean    working)
{
  if (self->working == working)
    return;
  self->working = working;
  self->escaped = 0;
  show (self);
}

void
ow_composer_set_status (OwComposer *self,
                        const char *status)
{
  gtk_label_set_text (self->status, status);
}

void
ow_composer_set_error (OwComposer *self,
                       const char *error)
{
  gtk_label_set_text (self->error, error != NULL ? error : "");
  gtk_widget_set_visible (GTK_WIDGET (self->error), error != NULL);
}

void
ow_composer_give_back (OwComposer *self,
                       const char *text)
{
  if (!has_text (self))
    gtk_text_buffer_set_text (gtk_text_view_get_buffer (self->entry), text, -1);
}

void
ow_composer_clear (OwComposer *self)
{
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (self->entry), "", -1);
}
