/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-diff-view-private.h"

#include <string.h>

#include <glib/gi18n.h>

#include "base/ow-diff.h"
#include "base/ow-text.h"

/* Bytes of a line that are looked at: no line is shown shorter than it is. */
#define LINE_BYTES (OW_DIFF_VIEW_LINE_CHARS * 4)

struct _OwDiffView
{
  GtkWidget    parent_instance;

  GtkWidget   *scroller;
  GtkTextView *text;
};

G_DEFINE_FINAL_TYPE (OwDiffView, ow_diff_view, GTK_TYPE_WIDGET)

static void
ow_diff_view_dispose (GObject *object)
{
  OwDiffView *self = OW_DIFF_VIEW (object);

  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  G_OBJECT_CLASS (ow_diff_view_parent_class)->dispose (object);
}

static void
ow_diff_view_class_init (OwDiffViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ow_diff_view_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
}

static void
ow_diff_view_init (OwDiffView *self)
{
  GtkTextBuffer *buffer;

  self->scroller = gtk_scrolled_window_new ();
  self->text = GTK_TEXT_VIEW (gtk_text_view_new ());
  gtk_text_view_set_editable (self->text, FALSE);
  gtk_text_view_set_cursor_visible (self->text, FALSE);
  gtk_text_view_set_monospace (self->text, TRUE);
  gtk_text_view_set_left_margin (self->text, 12);
  gtk_text_view_set_right_margin (self->text, 12);
  gtk_text_view_set_top_margin (self->text, 8);
  gtk_text_view_set_bottom_margin (self->text, 8);
  gtk_widget_add_css_class (GTK_WIDGET (self->text), "code");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->text), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _ ("Differences"), -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), GTK_WIDGET (self->text));
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
  buffer = gtk_text_view_get_buffer (self->text);
  gtk_text_buffer_create_tag (buffer, "added", "paragraph-background", "rgba(46,194,126,0.22)",
                              NULL);
  gtk_text_buffer_create_tag (buffer, "removed", "paragraph-background", "rgba(224,27,36,0.2)",
                              NULL);
  gtk_text_buffer_create_tag (buffer, "file", "weight", PANGO_WEIGHT_BOLD, NULL);
  gtk_text_buffer_create_tag (buffer, "dim", "foreground", "#888888", NULL);
}

/* --- what is shown --- */

static gsize
whole_characters (const char *text,
                  gsize       length)
{
  while (length > 0 && ((guchar) text[length] & 0xc0) == 0x80)
    length--;
  return length;
}

static char *
show_line (const char *at,
           gsize       length)
{
  gsize            kept = length > LINE_BYTES ? whole_characters (at, LINE_BYTES) : length;
  g_autofree char *raw = g_strndup (at, kept);
  g_autofree char *visible = ow_text_visible (raw);
  char            *shown = ow_text_shorten (visible, OW_DIFF_VIEW_LINE_CHARS, FALSE);

  if (kept < length && !g_str_has_suffix (shown, "…"))
    {
      g_autofree char *whole = shown;

      return g_strconcat (whole, "…", NULL);
    }
  return shown;
}

static guint64
count_lines (const char *text)
{
  guint64 n = 0;

  for (const char *at = text; *at != '\0'; n++)
    {
      at = strchrnul (at, '\n');
      at += *at == '\n';
    }
  return n;
}

static void
append_line (GString    *out,
             GByteArray *kinds,
             const char *line,
             OwDiffKind  kind)
{
  guint8 byte = (guint8) kind;

  g_string_append (out, line);
  g_string_append_c (out, '\n');
  if (kinds != NULL)
    g_byte_array_append (kinds, &byte, 1);
}

char *
ow_diff_view_words (const char *diff,
                    GByteArray *kinds)
{
  GString    *out = g_string_new (NULL);
  OwDiff      reader = { 0 };
  const char *at = diff;
  guint       n = 0;

  for (; *at != '\0' && n < OW_DIFF_VIEW_LINES && out->len < OW_DIFF_VIEW_CHARS; n++)
    {
      gsize            length = strcspn (at, "\n");
      /* A kind is told by the beginning of a line. */
      g_autofree char *head = g_strndup (at, MIN (length, LINE_BYTES));
      g_autofree char *line = show_line (at, length);

      append_line (out, kinds, line, ow_diff_read (&reader, head, NULL));
      at += length;
      at += *at == '\n';
    }
  if (*at != '\0')
    {
      g_autofree char *rest = NULL;
      guint64 left = count_lines (at);

      rest = g_strdup_printf (ngettext ("[%lu more line is left out here.]",
                                        "[%lu more lines are left out here.]", (gulong) left),
                              (gulong) left);
      append_line (out, kinds, rest, OW_DIFF_TEXT);
    }
  return g_string_free (out, FALSE);
}

static const char *
tag_of (guint8 kind)
{
  switch (kind)
    {
    case OW_DIFF_FILE:
      return "file";
    case OW_DIFF_HUNK:
    case OW_DIFF_NOTE:
      return "dim";
    case OW_DIFF_ADDED:
      return "added";
    case OW_DIFF_REMOVED:
      return "removed";
    default:
      return NULL;
    }
}

/* Lines of one kind that follow each other get their tag at once. */
static void
apply_tags (GtkTextBuffer *buffer,
            GByteArray    *kinds)
{
  for (guint from = 0; from < kinds->len;)
    {
      const char *tag = tag_of (kinds->data[from]);
      guint       to = from + 1;
      GtkTextIter start;
      GtkTextIter end;

      while (to < kinds->len && tag_of (kinds->data[to]) == tag)
        to++;
      if (tag != NULL)
        {
          gtk_text_buffer_get_iter_at_line (buffer, &start, (int) from);
          gtk_text_buffer_get_iter_at_line (buffer, &end, (int) to);
          gtk_text_buffer_apply_tag_by_name (buffer, tag, &start, &end);
        }
      from = to;
    }
}

void
ow_diff_view_set (OwDiffView *self,
                  const char *diff,
                  const char *more)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (self->text);
  g_autoptr (GByteArray) kinds = g_byte_array_new ();
  g_autofree char *words = ow_diff_view_words (diff, kinds);
  GtkTextIter end;

  gtk_text_buffer_set_text (buffer, words, -1);
  apply_tags (buffer, kinds);
  gtk_text_buffer_get_end_iter (buffer, &end);
  if (more != NULL)
    gtk_text_buffer_insert (buffer, &end, more, -1);
}
