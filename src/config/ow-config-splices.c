/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-splices-private.h"

#include <string.h>

typedef struct {
  gsize  begin;
  gsize  end;
  char  *text;  /* (owned) (nullable) comes there instead */
} Splice;

static void
splice_clear (gpointer data)
{
  g_free (((Splice *) data)->text);
}

OwConfigSplices *
ow_config_splices_new (GBytes *text)
{
  OwConfigSplices *edit = g_new0 (OwConfigSplices, 1);
  gsize length;
  const char *data = g_bytes_get_data (text, &length);

  edit->scan = ow_config_scan_new (length > 0 ? data : "", length);
  edit->splices = g_array_new (FALSE, FALSE, sizeof (Splice));
  g_array_set_clear_func (edit->splices, splice_clear);

  return edit;
}

void
ow_config_splices_free (OwConfigSplices *edit)
{
  ow_config_scan_free (edit->scan);
  g_array_unref (edit->splices);
  g_free (edit);
}

void
ow_config_splices_add (OwConfigSplices  *edit,
                       gsize  begin,
                       gsize  end,
                       char  *text)
{
  const Splice splice = { begin, end, text };

  g_array_append_val (edit->splices, splice);
}

static int
compare_splices (gconstpointer a,
                 gconstpointer b)
{
  const Splice *first = a;
  const Splice *second = b;

  return first->begin < second->begin ? -1 : first->begin > second->begin;
}

GBytes *
ow_config_splices_apply (OwConfigSplices *edit)
{
  GByteArray *out = g_byte_array_new ();
  const guint8 *text = (const guint8 *) edit->scan->text;
  gsize at = 0;

  g_array_sort (edit->splices, compare_splices);
  for (guint i = 0; i < edit->splices->len; i++)
    {
      const Splice *splice = &g_array_index (edit->splices, Splice, i);

      g_byte_array_append (out, text + at, (guint) (splice->begin - at));
      if (splice->text != NULL)
        g_byte_array_append (out, (const guint8 *) splice->text, (guint) strlen (splice->text));
      at = splice->end;
    }
  if (edit->scan->length > at)
    g_byte_array_append (out, text + at, (guint) (edit->scan->length - at));

  return g_byte_array_free_to_bytes (out);
}

void
ow_config_append_quoted (GString    *out,
                         const char *value)
{
  g_string_append_c (out, '"');
  for (const char *p = value; *p != '\0'; p++)
    {
      if (*p == '"' || *p == '\\')
        g_string_append_printf (out, "\\%c", *p);
      else if ((guchar) * p < 0x20 || *p == 0x7f)
        g_string_append_printf (out, "\\u%04X", (guint) * p);
      else
        g_string_append_c (out, *p);
    }
  g_string_append_c (out, '"');
}

char *
ow_config_quote (const char *value)
{
  GString *out = g_string_new (NULL);

  ow_config_append_quoted (out, value);
  return g_string_free (out, FALSE);
}

gsize
ow_config_skip_blanks (const OwConfigScan *scan,
                       gsize               i)
{
  while (i < scan->length && (scan->text[i] == ' ' || scan->text[i] == '\t'))
    i++;

  return i;
}

gboolean
ow_config_is_eol (const OwConfigScan *scan,
                  gsize               i)
{
  return i < scan->length && (scan->text[i] == '\n' ||
                              (scan->text[i] == '\r' && i + 1 < scan->length &&
                               scan->text[i + 1] == '\n'));
}

gsize
ow_config_eol_bytes (const OwConfigScan *scan,
                     gsize               i)
{
  return !ow_config_is_eol (scan, i) ? 0 : scan->text[i] == '\r' ? 2 : 1;
}

gsize
ow_config_find_line_end (const OwConfigScan *scan,
                         gsize               i)
{
  while (i < scan->length && !ow_config_is_eol (scan, i))
    i++;

  return i;
}

gsize
ow_config_find_line_begin (const OwConfigScan *scan,
                           gsize               i)
{
  while (i > scan->begin && scan->text[i - 1] != '\n')
    i--;

  return i;
}

/* Where a first value goes: before the first table and the comments right above it. */
static void
insert_first (OwConfigSplices    *edit,
              GString *out)
{
  OwConfigScan *scan = edit->scan;
  const char *eol = scan->eol;
  guint at = 0;
  guint n = scan->lines->len;

  while (at < n && ow_config_scan_get (scan, at)->kind != OW_CONFIG_LINE_HEADER)
    at++;
  if (at == n)
    {
      g_string_prepend (out, n > 0 && scan->text[scan->length - 1] != '\n' ? eol : "");
      ow_config_splices_add (edit, scan->length, scan->length, g_string_free (out, FALSE));
      return;
    }

  while (at > 0 && ow_config_scan_get (scan, at - 1)->kind == OW_CONFIG_LINE_COMMENT)
    at--;
  g_string_append (out, eol);
  ow_config_splices_add (edit, ow_config_scan_get (scan, at)->begin,
                         ow_config_scan_get (scan, at)->begin, g_string_free (out, FALSE));
}

void
ow_config_insert_first (OwConfigSplices *edit,
                        const char      *statement)
{
  OwConfigScan *scan = edit->scan;
  const OwConfigLine *last = NULL;
  GString *out = g_string_new (statement);

  for (guint i = 0; i < scan->lines->len; i++)
    {
      const OwConfigLine *line = ow_config_scan_get (scan, i);

      if (line->kind == OW_CONFIG_LINE_HEADER)
        break;
      if (line->kind == OW_CONFIG_LINE_VALUE)
        last = line;
    }

  g_string_append (out, scan->eol);
  if (last == NULL)
    {
      insert_first (edit, out);
      return;
    }
  if (scan->text[last->end - 1] != '\n')
    g_string_prepend (out, scan->eol);
  ow_config_splices_add (edit, last->end, last->end, g_string_free (out, FALSE));
}
