/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-changes-dialog-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "events/ow-event-words.h"
#include "ow-diff-view-private.h"
#include "ow-mnemonic-private.h"
#include "ow-words-private.h"

#define PATH_CHARS 200
#define REASON_CHARS 300
/* Names and reasons that are listed; the rest is counted. */
#define MAX_LISTED 200

struct _OwChangesDialog
{
  AdwWindow   parent_instance;

  GtkLabel   *summary;
  GtkLabel   *skipped;
  OwDiffView *view;
  GtkButton  *undo;
  GtkButton  *leave;
};

G_DEFINE_FINAL_TYPE (OwChangesDialog, ow_changes_dialog, ADW_TYPE_WINDOW)

static guint undo_signal;

static const char *
word_of (const json_t *entry,
         const char   *key)
{
  return ow_json_get_string (entry, key, "");
}

guint
ow_changes_dialog_count (const json_t *result,
                         const char   *state,
                         const char   *other)
{
  const json_t *files = json_object_get (result, "files");
  guint n = 0;

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const char *is = word_of (json_array_get (files, i), "state");

      n += g_str_equal (is, state) || g_str_equal (is, other);
    }
  return n;
}

static void
append_reason (GString      *text,
               const json_t *entry,
               guint        *n)
{
  g_autofree char *path = ow_words_line (word_of (entry, "path"), PATH_CHARS);
  g_autofree char *reason = ow_words_line (word_of (entry, "reason"), REASON_CHARS);

  if (++*n <= MAX_LISTED)
    g_string_append_printf (text, "%s%s: %s", *n > 1 ? "\n" : "", path, reason);
}

char *
ow_changes_dialog_skipped (const json_t *result)
{
  const json_t *skipped = json_object_get (result, "skipped");
  const json_t *files = json_object_get (result, "files");
  GString *text = g_string_new (NULL);
  guint n = 0;

  for (size_t i = 0; i < json_array_size (skipped); i++)
    append_reason (text, json_array_get (skipped, i), &n);
  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const char *state = word_of (json_array_get (files, i), "state");

      if (g_str_equal (state, "skipped") || g_str_equal (state, "unknown"))
        append_reason (text, json_array_get (files, i), &n);
    }
  if (n > MAX_LISTED)
    g_string_append_printf (text, ngettext ("\n… and %u more", "\n… and %u more", n - MAX_LISTED),
                            n - MAX_LISTED);
  return g_string_free (text, n == 0);
}

/* Behind the diff: what commands changed. (transfer full) (nullable) */
static char *
describe_commands (const json_t *result)
{
  const json_t *commands = json_object_get (result, "commands");
  json_int_t total = ow_json_get_int (result, "commands_total", 0);
  gboolean cut = ow_json_get_bool (result, "commands_cut", FALSE);
  size_t shown = MIN (json_array_size (commands), MAX_LISTED);
  GString *text;

  if (total == 0 && !cut)
    return NULL;
  text = g_string_new (*word_of (result, "diff") != '\0' ? "\n" : "");
  g_string_append (text, _ ("Changed by commands, which cannot be undone:"));
  for (size_t i = 0; i < shown; i++)
    {
      const json_t *change = json_array_get (commands, i);
      g_autofree char *path = ow_words_line (word_of (change, "path"), PATH_CHARS);

      g_string_append_printf (text, "\n  %-8s %s", word_of (change, "what"), path);
    }
  if (total > (json_int_t) shown)
    g_string_append_printf (text, _ ("\n  … and %ld more"), (long) (total - (json_int_t) shown));
  else if (cut)
    g_string_append (text, _ ("\n  … and perhaps more: there were too many files to follow"));
  return g_string_free (text, FALSE);
}

/* Behind that: what other programs run later. (transfer full) (nullable) */
static char *
describe_settings (const json_t *result,
                   const char   *before)
{
  const json_t *settings = json_object_get (result, "settings");
  gboolean cut = ow_json_get_bool (result, "settings_cut", FALSE);
  g_autofree char *words = NULL;

  if (json_array_size (settings) == 0 && !cut)
    return g_strdup (before);
  words = ow_event_words_settings_of (settings, (gint64) json_array_size (settings), cut, FALSE,
                                      MAX_LISTED);
  if (before == NULL)
    return g_strconcat (*word_of (result, "diff") != '\0' ? "\n" : "", words, NULL);
  return g_strconcat (before, "\n\n", words, NULL);
}

/* "2 files, +3 −1". */
static char *
describe_changes (const json_t *result)
{
  const json_t *files = json_object_get (result, "files");
  gint64 added = 0;
  gint64 removed = 0;
  guint n = 0;

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      n += !g_str_equal (word_of (file, "state"), "same");
      added += ow_json_get_int (file, "added", 0);
      removed += ow_json_get_int (file, "removed", 0);
    }
  if (n == 0)
    return g_strdup (_ ("The agent’s file tools left no changes."));
  return g_strdup_printf (ngettext ("%u file changed by the agent’s file tools, +%ld −%ld",
                                    "%u files changed by the agent’s file tools, +%ld −%ld", n),
                          n, (long) added, (long) removed);
}

static char *
describe_undo (const json_t *result)
{
  guint n = ow_changes_dialog_count (result, "would restore", "would remove");

  if (n == 0)
    return g_strdup (_ ("Nothing of it can be undone."));
  return g_strdup_printf (ngettext ("This is what undoing it does, in %u file:",
                                    "This is what undoing it does, in %u files:", n), n);
}

static void
on_undo (OwChangesDialog *self)
{
  g_signal_emit (self, undo_signal, 0);
  gtk_window_close (GTK_WINDOW (self));
}

static void
ow_changes_dialog_dispose (GObject *object)
{
  gtk_widget_dispose_template (GTK_WIDGET (object), OW_TYPE_CHANGES_DIALOG);
  G_OBJECT_CLASS (ow_changes_dialog_parent_class)->dispose (object);
}

static void
ow_changes_dialog_class_init (OwChangesDialogClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ow_changes_dialog_dispose;
  undo_signal = g_signal_new ("undo", OW_TYPE_CHANGES_DIALOG, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                              NULL, G_TYPE_NONE, 0);
  g_type_ensure (OW_TYPE_DIFF_VIEW);
  gtk_widget_class_set_template_from_resource (widget_class,
                                               "/org/openworker/OpenWorker/ow-changes-dialog.ui");
  gtk_widget_class_bind_template_child (widget_class, OwChangesDialog, summary);
  gtk_widget_class_bind_template_child (widget_class, OwChangesDialog, skipped);
  gtk_widget_class_bind_template_child (widget_class, OwChangesDialog, view);
  gtk_widget_class_bind_template_child (widget_class, OwChangesDialog, undo);
  gtk_widget_class_bind_template_child (widget_class, OwChangesDialog, leave);
  gtk_widget_class_bind_template_callback (widget_class, on_undo);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
ow_changes_dialog_init (OwChangesDialog *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

OwChangesDialog *
ow_changes_dialog_new (GtkWindow    *parent,
                       const json_t *result)
{
  OwChangesDialog *self = g_object_new (OW_TYPE_CHANGES_DIALOG, "transient-for", parent, NULL);
  gboolean undo = json_object_get (result, "applied") != NULL;
  g_autofree char *summary = undo ? describe_undo (result) : describe_changes (result);
  g_autofree char *skipped = ow_changes_dialog_skipped (result);
  g_autofree char *commands = describe_commands (result);
  g_autofree char *behind = describe_settings (result, commands);

  gtk_window_set_title (GTK_WINDOW (self), undo ? _ ("Undo") : _ ("Changes"));
  if (undo)
    gtk_button_set_label (self->leave, _ ("_Cancel"));
  ow_mnemonic_name_buttons (GTK_WIDGET (self));
  gtk_label_set_text (self->summary, summary);
  gtk_widget_set_visible (GTK_WIDGET (self->skipped), skipped != NULL);
  if (skipped != NULL)
    {
      g_autofree char *words = g_strconcat (_ ("Left as it is:"), "\n", skipped, NULL);

      gtk_label_set_text (self->skipped, words);
    }
  ow_diff_view_set (self->view, word_of (result, "diff"), behind);
  gtk_widget_set_visible (GTK_WIDGET (self->undo),
                          undo && json_object_get (result, "call") != NULL &&
                          ow_changes_dialog_count (result, "would restore", "would remove") > 0);
  return self;
}
