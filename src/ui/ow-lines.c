/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-lines-private.h"

#include <string.h>

#include "base/ow-text.h"

/* Bytes of an unfinished line that are kept: enough for OW_LINES_CHARS of any characters,
 * with colours between them. */
#define PARTIAL_MAX (OW_LINES_CHARS * 8)

/* Characters of a word before it is broken. */
#define WORD_CHARS 200
/* The first character of scripts that break between any two letters. */
#define UNSPACED 0x2e80

struct _OwLines
{
  GPtrArray *kept;    /* (owned) of (owned) texts */
  GString   *partial; /* (owned) raw text of the unfinished line, its first bytes */
  gboolean   begun;   /* the unfinished line has something in it */
  gboolean   after_return; /* a newline that follows belongs to the line before */
  guint      n_ended;
};

OwLines *
ow_lines_new (void)
{
  OwLines *self = g_new0 (OwLines, 1);

  self->kept = g_ptr_array_new_with_free_func (g_free);
  self->partial = g_string_new (NULL);
  return self;
}

void
ow_lines_free (OwLines *self)
{
  g_ptr_array_unref (self->kept);
  g_string_free (self->partial, TRUE);
  g_free (self);
}

/* Bytes of @text up to @max that do not end in the middle of a character. */
static gsize
whole_characters (const char *text,
                  gsize       length,
                  gsize       max)
{
  if (length <= max)
    return length;
  while (max > 0 && ((guchar) text[max] & 0xc0) == 0x80)
    max--;
  return max;
}

static char *
show_line (const char *raw)
{
  g_autofree char *plain = ow_text_strip_ansi (raw);
  g_autofree char *visible = ow_text_visible (plain);

  return ow_text_shorten (visible, OW_LINES_CHARS, TRUE);
}

static void
end_line (OwLines  *self,
          gboolean  keep_last)
{
  self->n_ended++;
  self->begun = FALSE;
  if (keep_last || self->kept->len < OW_LINES_KEPT)
    g_ptr_array_add (self->kept, show_line (self->partial->str));
  if (self->kept->len >= 2 * OW_LINES_KEPT)
    g_ptr_array_remove_range (self->kept, 0, OW_LINES_KEPT);
  g_string_truncate (self->partial, 0);
}

static void
add (OwLines    *self,
     const char *text,
     gboolean    keep_last)
{
  for (const char *at = text; *at != '\0';)
    {
      gsize length = strcspn (at, "\r\n");
      gsize room = PARTIAL_MAX - self->partial->len;
      char end = at[length];

      if (length > 0)
        {
          g_string_append_len (self->partial, at,
                               (gssize) whole_characters (at, length, room));
          self->begun = TRUE;
          self->after_return = FALSE;
        }
      if (end == '\0')
        return;
      if (end == '\n' && self->after_return)
        self->after_return = FALSE;
      else
        {
          end_line (self, keep_last);
          self->after_return = end == '\r';
        }
      at += length + 1;
    }
}

void
ow_lines_append (OwLines    *self,
                 const char *text)
{
  add (self, text, TRUE);
}

void
ow_lines_set (OwLines    *self,
              const char *text)
{
  g_ptr_array_set_size (self->kept, 0);
  g_string_truncate (self->partial, 0);
  self->begun = FALSE;
  self->after_return = FALSE;
  self->n_ended = 0;
  add (self, text, FALSE);
  if (self->begun)
    end_line (self, FALSE);
}

guint
ow_lines_get_n (const OwLines *self)
{
  return self->n_ended + (self->begun ? 1 : 0);
}

guint
ow_lines_get_n_kept (const OwLines *self)
{
  return self->kept->len;
}

const char *
ow_lines_get (const OwLines *self,
              guint          index)
{
  return g_ptr_array_index (self->kept, index);
}

static void
append_words (GString    *out,
              const char *text,
              const char *end)
{
  guint word = 0;

  for (const char *at = text; at < end; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);

      word = c == ' ' || c == '\t' || c >= UNSPACED ? 0 : word + 1;
      if (word > WORD_CHARS)
        {
          g_string_append_c (out, '\n');
          word = 1;
        }
      g_string_append_unichar (out, c);
    }
}

char *
ow_lines_clip (const char *text,
               gsize       line_chars,
               gsize       max_chars,
               gboolean   *cut)
{
  /* What is shown is never shorter than the text, so its first characters are enough. */
  g_autofree char *head = g_strndup (text, whole_characters (text, strlen (text),
                                                             max_chars * 4));
  g_autofree char *visible = ow_text_visible (head);
  g_autoptr (GString) out = g_string_new (NULL);
  gboolean missing = strlen (head) < strlen (text);
  gsize left = max_chars;

  for (const char *at = visible; *at != '\0' && left > 0;)
    {
      const char *end = strchrnul (at, '\n');
      gsize chars = (gsize) g_utf8_strlen (at, end - at);
      gsize shown = MIN (chars, MIN (line_chars, left));

      append_words (out, at, g_utf8_offset_to_pointer (at, (glong) shown));
      if (shown < chars)
        {
          g_string_append (out, "…");
          missing = TRUE;
        }
      left -= shown;
      if (*end == '\0')
        break;
      at = end + 1;
      if (left > 0)
        {
          g_string_append_c (out, '\n');
          left--;
        }
      missing = missing || (left == 0 && *at != '\0');
    }
  if (cut != NULL)
    *cut = missing;
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* The place after @chars characters of the line, or NULL where it has no more than that. */
static const char *
beyond (const char *line,
        const char *end,
        gsize       chars)
{
  if ((gsize) (end - line) <= chars)
    return NULL;
  while (chars > 0 && line < end)
    {
      line = g_utf8_next_char (line);
      chars--;
    }
  return line < end ? line : NULL;
}

static gboolean
has_long_line (const char *text,
               gsize       line_chars)
{
  for (const char *at = text; *at != '\0';)
    {
      const char *end = strchrnul (at, '\n');

      if (beyond (at, end, line_chars) != NULL)
        return TRUE;
      at = *end == '\0' ? end : end + 1;
    }
  return FALSE;
}

static void
append_numbered (GString    *out,
                 const char *line,
                 const char *end,
                 guint       number,
                 gsize       line_chars)
{
  const char *next;

  g_string_append_printf (out, "%4u ", number);
  while ((next = beyond (line, end, line_chars)) != NULL)
    {
      g_string_append_len (out, line, next - line);
      g_string_append (out, "\n   ⋮ ");
      line = next;
    }
  g_string_append_len (out, line, end - line);
}

char *
ow_lines_whole (const char *text,
                gsize       line_chars)
{
  g_autofree char *visible = ow_text_visible (text);
  g_autoptr (GString) out = NULL;
  guint number = 1;

  if (!has_long_line (visible, line_chars))
    return g_steal_pointer (&visible);
  out = g_string_new (NULL);
  for (const char *at = visible; ; number++)
    {
      const char *end = strchrnul (at, '\n');

      append_numbered (out, at, end, number, line_chars);
      if (*end == '\0')
        break;
      g_string_append_c (out, '\n');
      at = end + 1;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}
