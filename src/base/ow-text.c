/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-text.h"

#include <string.h>

#define REPLACEMENT   0xFFFD
#define SYMBOL_NUL    0x2400
#define ESC           0x1B
#define BEL           0x07
#define ELLIPSIS      "…"

/* What takes no room on screen, changes the order of what does, or ends a line in
 * some places only. Sorted; Unicode 15. */
static const struct {
  gunichar first;
  gunichar last;
} invisible[] = {
  { 0x00AD, 0x00AD },   /* soft hyphen */
  { 0x034F, 0x034F },   /* combining grapheme joiner */
  { 0x061C, 0x061C },   /* arabic letter mark */
  { 0x115F, 0x1160 },   /* hangul fillers */
  { 0x17B4, 0x17B5 },   /* khmer inherent vowels */
  { 0x180B, 0x180F },   /* mongolian selectors, vowel separator */
  { 0x200B, 0x200F },   /* zero-width space and joiners, direction marks */
  { 0x2028, 0x202E },   /* line and paragraph separators, bidi embeddings and overrides */
  { 0x2060, 0x206F },   /* word joiner, invisible operators, bidi isolates */
  { 0x2800, 0x2800 },   /* blank braille pattern */
  { 0x3164, 0x3164 },   /* hangul filler */
  { 0xFE00, 0xFE0F },   /* variation selectors */
  { 0xFEFF, 0xFEFF },   /* byte-order mark */
  { 0xFFA0, 0xFFA0 },   /* halfwidth hangul filler */
  { 0xFFF0, 0xFFFB },   /* specials: interlinear annotation */
  { 0x13430, 0x1343F }, /* hieroglyph joiners */
  { 0x1BCA0, 0x1BCA3 }, /* shorthand controls */
  { 0x1D173, 0x1D17A }, /* musical controls */
  { 0xE0000, 0xE0FFF }, /* tags, variation selectors supplement */
};

static gboolean
is_invisible (gunichar c)
{
  for (gsize i = 0; i < G_N_ELEMENTS (invisible); i++)
    if (c >= invisible[i].first && c <= invisible[i].last)
      return TRUE;

  return FALSE;
}

char *
ow_text_from_bytes (const char *data,
                    gssize      length)
{
  const char *p = data;
  gsize left;
  GString *text;

  if (data == NULL)
    return g_strdup ("");

  left = length < 0 ? strlen (data) : (gsize) length;
  text = g_string_sized_new (left);
  while (left > 0)
    {
      const char *end;

      g_utf8_validate_len (p, left, &end);
      g_string_append_len (text, p, end - p);
      left -= (gsize) (end - p);
      p = end;
      if (left > 0)
        {
          g_string_append_unichar (text, *p == '\0' ? SYMBOL_NUL : REPLACEMENT);
          p++;
          left--;
        }
    }

  return g_string_free (text, FALSE);
}

char *
ow_text_visible (const char *text)
{
  g_autofree char *valid = ow_text_from_bytes (text, -1);
  GString *out = g_string_sized_new (strlen (valid));

  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == '\n' || c == '\t')
        g_string_append_c (out, (char) c);
      else if (c < 0x20)
        g_string_append_printf (out, "^%c", (int) c + '@');
      else if (c == 0x7F)
        g_string_append (out, "^?");
      else if (c >= 0x80 && c <= 0x9F)
        g_string_append_printf (out, "\\x%02X", c);
      else if (is_invisible (c))
        g_string_append_printf (out, "\\u{%04X}", c);
      else
        g_string_append_unichar (out, c);
    }

  return g_string_free (out, FALSE);
}

char *
ow_text_escape_json (const char *json)
{
  GString *out = g_string_sized_new (strlen (json));

  for (const char *p = json; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c < 0x7F || (c > 0x9F && !is_invisible (c)))
        g_string_append_unichar (out, c);
      else if (c < 0x10000)
        g_string_append_printf (out, "\\u%04X", c);
      else
        g_string_append_printf (out, "\\u%04X\\u%04X", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    }

  return g_string_free (out, FALSE);
}

/* ESC and a letter, and the C1 control of the same meaning, are one thing. Returns
 * the letter and sets @after behind the introducer; 0 when @p starts no sequence. */
static char
read_introducer (const char  *p,
                 const char **after)
{
  gunichar c = g_utf8_get_char (p);

  if (c >= 0x80 && c <= 0x9F)
    {
      *after = g_utf8_next_char (p);
      return (char) (c - 0x40);
    }
  if (c != ESC)
    return 0;

  *after = p + 1;
  if (p[1] < 0x20 || p[1] > 0x7E)
    return ESC;
  *after = p + 2;
  return p[1];
}

/* The end of a string sequence (OSC, DCS, SOS, PM, APC). One that is not ended on
 * its line hides nothing: only its introducer is taken off. */
static const char *
skip_string (const char *p)
{
  for (const char *q = p; *q != '\0' && *q != '\n'; q++)
    {
      if (*q == BEL)
        return q + 1;
      if (*q == ESC && q[1] == '\\')
        return q + 2;
      if ((guchar) q[0] == 0xC2 && (guchar) q[1] == 0x9C)
        return q + 2;
    }

  return p;
}

static const char *
skip_range (const char *p,
            char        first,
            char        last)
{
  while (*p >= first && *p <= last)
    p++;
  return p;
}

static const char *
skip_sequence (char        kind,
               const char *p)
{
  switch (kind)
    {
    case '[':
      p = skip_range (p, 0x30, 0x3F);
      p = skip_range (p, 0x20, 0x2F);
      return *p >= 0x40 && *p <= 0x7E ? p + 1 : p;

    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
      return skip_string (p);

    case 'N':
    case 'O':
      return *p >= 0x20 && *p <= 0x7E ? p + 1 : p;

    default:
      if (kind < 0x20 || kind > 0x2F)
        return p;
      p = skip_range (p, 0x20, 0x2F);
      return *p >= 0x30 && *p <= 0x7E ? p + 1 : p;
    }
}

char *
ow_text_strip_ansi (const char *text)
{
  g_autofree char *valid = ow_text_from_bytes (text, -1);
  GString *out = g_string_sized_new (strlen (valid));
  const char *p = valid;

  while (*p != '\0')
    {
      const char *after;
      char kind = read_introducer (p, &after);

      if (kind != 0)
        {
          p = skip_sequence (kind, after);
        }
      else
        {
          after = g_utf8_next_char (p);
          g_string_append_len (out, p, after - p);
          p = after;
        }
    }

  return g_string_free (out, FALSE);
}

static gboolean
ends_line (gunichar c)
{
  return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

char *
ow_text_shorten (const char *text,
                 gsize       max_chars,
                 gboolean    one_line)
{
  g_autofree char *valid = ow_text_from_bytes (text, -1);
  GString *out;
  gboolean cut;
  gsize keep;

  if (max_chars == 0)
    return g_strdup ("");

  out = g_string_new (NULL);
  cut = (gsize) g_utf8_strlen (valid, -1) > max_chars;
  keep = cut ? max_chars - 1 : max_chars;
  for (const char *p = valid; *p != '\0' && keep > 0; p = g_utf8_next_char (p), keep--)
    {
      gunichar c = g_utf8_get_char (p);

      g_string_append_unichar (out, one_line && ends_line (c) ? ' ' : c);
    }
  if (cut)
    g_string_append (out, ELLIPSIS);

  return g_string_free (out, FALSE);
}
