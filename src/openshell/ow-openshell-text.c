/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-error.h"

#include <string.h>

#include "base/ow-text.h"

/* Errors of `openshell` come in a box of characters that miette draws, wrapped at 80 columns:
 *
 *   Error:   × what happened, as far as it fits
 *     │ and the rest of it
 *     ├─▶ a cause
 *     │   and the rest of it
 *     ╰─▶ the last cause
 *         and the rest of it
 *
 * Anything else is text, of which each line counts for itself. */

/* A word that is longer than a line is broken at exactly this width, its bar included: two columns
 * of the 80 stay empty. */
#define WRAP_COLUMNS  78
#define REPORT_PREFIX "Error: "
/* Text beyond this is no error text. */
#define TEXT_MAX      65536

typedef enum { LINE_PLAIN, LINE_CAUSE, LINE_MORE } LineKind;

typedef struct {
  GString *out;
  gboolean in_box;
  gboolean gap;        /* an empty line inside the box came before */
  gsize    width;      /* of the line before, in columns */
  gboolean one_word;   /* the line before was one word */
} Unwrap;

static const char *
skip_spaces (const char *p)
{
  while (*p == ' ' || *p == '\t')
    p++;
  return p;
}

/* What kind of line it is, and where its own text begins. */
static LineKind
read_line (const char  *line,
           gboolean     in_box,
           const char **text)
{
  static const char * const causes[] = { "×", "├─▶", "╰─▶", "|->", "`->" };
  const char *p = line;

  if (g_str_has_prefix (p, REPORT_PREFIX))
    {
      p = skip_spaces (p + strlen (REPORT_PREFIX));
      /* The mark where only ASCII may be drawn. */
      if (g_str_has_prefix (p, "x "))
        {
          *text = skip_spaces (p + 1);
          return LINE_CAUSE;
        }
    }
  p = skip_spaces (p);
  for (gsize i = 0; i < G_N_ELEMENTS (causes); i++)
    if (g_str_has_prefix (p, causes[i]) && p != line)
      {
        *text = skip_spaces (p + strlen (causes[i]));
        return LINE_CAUSE;
      }
  if (in_box && (g_str_has_prefix (p, "│") || *p == '|'))
    {
      *text = skip_spaces (p + (*p == '|' ? 1 : strlen ("│")));
      return LINE_MORE;
    }
  *text = p;
  return in_box && p - line >= 4 ? LINE_MORE : LINE_PLAIN;
}

static gboolean
ends_inside_word (const Unwrap *unwrap)
{
  const GString *out = unwrap->out;
  char last = out->len > 0 ? out->str[out->len - 1] : ' ';

  /* Lines are also broken behind a slash and a hyphen; those in a word have no space before. */
  if ((last == '/' || last == '-') && out->len > 1 && out->str[out->len - 2] != ' ')
    return TRUE;
  return unwrap->one_word && unwrap->width >= WRAP_COLUMNS;
}

static void
append_line (Unwrap     *unwrap,
             LineKind    kind,
             const char *line,
             const char *text)
{
  GString *out = unwrap->out;
  const char *counted = g_str_has_prefix (line, REPORT_PREFIX) ? line + strlen (REPORT_PREFIX)
                                                               : line;

  if (out->len > 0)
    {
      if (kind == LINE_CAUSE)
        g_string_append (out, ": ");
      else if (unwrap->gap)
        g_string_append (out, "; ");
      else if (kind == LINE_PLAIN || !ends_inside_word (unwrap))
        g_string_append_c (out, ' ');
    }
  g_string_append (out, text);
  unwrap->gap = FALSE;
  unwrap->in_box = kind != LINE_PLAIN;
  unwrap->width = (gsize) g_utf8_strlen (counted, -1);
  unwrap->one_word = strchr (text, ' ') == NULL;
}

char *
ow_openshell_text_plain (const char *text,
                         gssize      length)
{
  gsize size = text == NULL ? 0 : length < 0 ? strlen (text) : (gsize) length;
  g_autofree char *valid = ow_text_from_bytes (text, (gssize) MIN (size, TEXT_MAX));
  g_autofree char *stripped = ow_text_strip_ansi (valid);
  g_auto (GStrv) lines = g_strsplit (stripped, "\n", -1);
  Unwrap unwrap = { .out = g_string_new (NULL) };
  char *plain;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *own;
      LineKind kind;

      g_strdelimit (g_strchomp (lines[i]), "\t\v\f", ' ');
      kind = read_line (lines[i], unwrap.in_box, &own);
      if (*own != '\0')
        append_line (&unwrap, kind, lines[i], own);
      else if (kind == LINE_MORE)
        unwrap.gap = unwrap.out->len > 0;
      else
        unwrap.in_box = FALSE;
    }
  plain = ow_text_visible (unwrap.out->str);
  g_string_free (unwrap.out, TRUE);
  return plain;
}
