/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-edit-private.h"

#include <string.h>

#include "ow-config-splices-private.h"

/* The lines of an entry, with @separator between. */
static void
append_fields (GString    *out,
               GPtrArray  *fields,
               const char *separator)
{
  for (guint i = 0; i < fields->len; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? separator : "",
                            (const char *) g_ptr_array_index (fields, i));
}

static char *
make_item (GPtrArray  *fields,
           const char *before,
           const char *after)
{
  GString *out = g_string_new (before);

  g_string_append (out, "{ ");
  append_fields (out, fields, ", ");
  g_string_append_printf (out, " }%s", after);

  return g_string_free (out, FALSE);
}

/* An item of a list, and what is around it. */
typedef struct {
  gsize    begin;
  gsize    end;
  gsize    comma;      /* behind it; 0: there is none */
  gsize    line;       /* begin of its line */
  gsize    line_end;   /* end of the line it ends on, before the line end */
  gboolean alone;      /* nothing but its comma and a comment is on its lines */
} Item;

/* Between two items there are only white space, comments and a comma. */
static gsize
find_comma (const OwConfigScan *scan,
            gsize               i)
{
  for (; i < scan->length && strchr (" \t\r\n#", scan->text[i]) != NULL; i++)
    if (scan->text[i] == '#')
      i = ow_config_find_line_end (scan, i);

  return i < scan->length && scan->text[i] == ',' ? i : 0;
}

static gboolean
find_item (OwConfigSplices                     *edit,
           const OwConfigTomlRegion *region,
           Item                     *item)
{
  const OwConfigScan *scan = edit->scan;
  gsize i;

  if (!ow_config_scan_find (edit->scan, region, &item->begin, &item->end) ||
      scan->text[item->begin] != '{' || scan->text[item->end - 1] != '}')
    return FALSE;

  item->comma = find_comma (scan, item->end);
  item->line = ow_config_find_line_begin (scan, item->begin);
  item->line_end = ow_config_find_line_end (scan, item->end);
  i = ow_config_skip_blanks (scan, item->end);
  if (i == item->comma)
    i = ow_config_skip_blanks (scan, i + 1);
  item->alone = ow_config_skip_blanks (scan, item->line) == item->begin && i < scan->length &&
                (scan->text[i] == '#' || ow_config_is_eol (scan, i));

  return TRUE;
}

static gboolean
append_item (OwConfigSplices                  *edit,
             OwConfigToml          *toml,
             const char            *list,
             GPtrArray             *fields,
             guint                  n)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  g_autofree char *before = NULL;
  gsize begin, end;
  Item last;

  if (n == 0)
    {
      if (!ow_config_toml_get_region (toml, list, &region) ||
          !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
        return FALSE;
      ow_config_splices_add (edit, begin + 1, begin + 1, make_item (fields, "", ""));
      return TRUE;
    }

  if (!ow_config_toml_get_table_region (toml, list, n - 1, &region) ||
      !find_item (edit, &region, &last))
    return FALSE;

  if (!last.alone || last.comma > last.line_end)
    {
      ow_config_splices_add (edit, last.end, last.end, make_item (fields, ", ", ""));
      return TRUE;
    }
  before = g_strdup_printf ("%s%.*s", scan->eol, (int) (last.begin - last.line),
                            scan->text + last.line);
  if (last.comma == 0)
    ow_config_splices_add (edit, last.end, last.end, g_strdup (","));
  ow_config_splices_add (edit, last.line_end, last.line_end,
                         make_item (fields, before, last.comma != 0 ? "," : ""));

  return TRUE;
}

static void
append_table (OwConfigSplices *edit,
              const char      *list,
              GPtrArray       *fields)
{
  const OwConfigScan *scan = edit->scan;
  const char *eol = scan->eol;
  GString *out = g_string_new (NULL);

  if (scan->length > scan->begin)
    g_string_append_printf (out, "%s%s", scan->text[scan->length - 1] != '\n' ? eol : "", eol);
  g_string_append_printf (out, "[[%s]]%s", list, eol);
  append_fields (out, fields, eol);
  g_string_append (out, eol);
  ow_config_splices_add (edit, scan->length, scan->length, g_string_free (out, FALSE));
}

GBytes *
ow_config_edit_append_table (GBytes       *text,
                             OwConfigToml *toml,
                             const char   *list,
                             GPtrArray    *fields)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  guint n;
  guint line;

  ow_config_toml_count_tables (toml, list, &n, &line);
  if (!ow_config_toml_is_inline (toml, list))
    append_table (edit, list, fields);
  else if (!append_item (edit, toml, list, fields, n))
    return NULL;

  return ow_config_splices_apply (edit);
}

static gboolean
remove_item (OwConfigSplices *edit,
             OwConfigToml    *toml,
             const char      *list,
             guint            index)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  Item item;
  gsize i;

  if (!ow_config_toml_get_table_region (toml, list, index, &region) ||
      !find_item (edit, &region, &item))
    return FALSE;

  if (item.alone)
    {
      gsize next = item.line_end + (scan->text[item.line_end] == '\r' ? 2 : 1);

      ow_config_splices_add (edit, item.line, next, NULL);
      if (item.comma > item.line_end)
        ow_config_splices_add (edit, item.comma, item.comma + 1, NULL);
      return TRUE;
    }

  if (item.comma != 0 && ow_config_skip_blanks (scan, item.end) == item.comma)
    {
      ow_config_splices_add (edit, item.begin, ow_config_skip_blanks (scan, item.comma + 1), NULL);
      return TRUE;
    }
  if (item.comma != 0)
    ow_config_splices_add (edit, item.comma, item.comma + 1, NULL);
  for (i = item.begin; i > scan->begin && strchr (" \t", scan->text[i - 1]) != NULL;)
    i--;
  if (item.comma == 0 && i > scan->begin && scan->text[i - 1] == ',')
    ow_config_splices_add (edit, i - 1, item.end, NULL);
  else
    ow_config_splices_add (edit, item.begin, item.end, NULL);

  return TRUE;
}

static gboolean
has_line (GArray *lines,
          guint   number)
{
  for (guint i = 0; i < lines->len; i++)
    if (g_array_index (lines, guint, i) == number)
      return TRUE;

  return FALSE;
}

/* Takes the table that begins with statement @first out; the next that may be looked at. */
static guint
remove_section (OwConfigSplices  *edit,
                guint  first)
{
  OwConfigScan *scan = edit->scan;
  guint n = scan->lines->len;
  guint last = first;
  guint next = first + 1;
  gboolean blank_above, blank_below;

  for (; next < n && ow_config_scan_get (scan, next)->kind != OW_CONFIG_LINE_HEADER; next++)
    if (ow_config_scan_get (scan, next)->kind == OW_CONFIG_LINE_VALUE)
      last = next;

  blank_above = first > 0 && ow_config_scan_get (scan, first - 1)->kind == OW_CONFIG_LINE_BLANK;
  blank_below = last + 1 == n ||
                ow_config_scan_get (scan, last + 1)->kind == OW_CONFIG_LINE_BLANK;
  ow_config_splices_add (edit, ow_config_scan_get (scan, blank_above && blank_below ? first - 1
                                                                          : first)->begin,
                         ow_config_scan_get (scan, last)->end, NULL);

  return next;
}

GBytes *
ow_config_edit_remove_table (GBytes       *text,
                             OwConfigToml *toml,
                             const char   *list,
                             guint         index)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  g_autoptr (GArray) lines = NULL;

  if (ow_config_toml_is_inline (toml, list))
    return remove_item (edit, toml, list, index) ? ow_config_splices_apply (edit) : NULL;

  lines = ow_config_toml_get_table_lines (toml, list, index);
  for (guint i = 0; i < edit->scan->lines->len;)
    {
      const OwConfigLine *line = ow_config_scan_get (edit->scan, i);

      if (line->kind == OW_CONFIG_LINE_HEADER && has_line (lines, line->number))
        i = remove_section (edit, i);
      else
        i++;
    }

  return edit->splices->len > 0 ? ow_config_splices_apply (edit) : NULL;
}
