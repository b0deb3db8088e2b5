/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-edit-private.h"

#include <string.h>

#include "ow-config-splices-private.h"
#include "ow-config-toml-node-private.h"

/* The same table can be written in four ways, and a value goes where its table is. */

static const OwConfigTomlNode *
find_table (OwConfigToml        *toml,
            const OwConfigPlace *place)
{
  const OwConfigTomlNode *root = ow_config_toml_get_root (toml);
  const OwConfigTomlNode *node;

  if (place->table == NULL)
    return root;
  node = ow_config_toml_node_get (root, place->table);
  return place->index < 0 ? node : ow_config_toml_node_at (node, (guint) place->index);
}

/* The statement that has line @number of the file; the number of statements: none has. */
static guint
find_statement (const OwConfigSplices *edit,
                guint                  number)
{
  guint n = edit->scan->lines->len;
  guint at = n;

  for (guint i = 0; i < n && ow_config_scan_get (edit->scan, i)->number <= number; i++)
    at = i;
  return at;
}

static OwConfigLineKind
find_kind (const OwConfigSplices *edit,
           guint                  statement)
{
  return statement < edit->scan->lines->len
         ? ow_config_scan_get (edit->scan, statement)->kind : OW_CONFIG_LINE_BLANK;
}

/* Whether the header says the whole name of the table, and not that of one in it, which makes
 * the outer one too. */
static gboolean
is_header_of (const OwConfigSplices *edit,
              guint                  statement,
              const OwConfigPlace   *place)
{
  const OwConfigLine *line = ow_config_scan_get (edit->scan, statement);
  g_autofree char *why = NULL;
  g_autoptr (OwConfigToml) toml = NULL;
  const OwConfigTomlNode *node;
  guint number;

  if (line->kind != OW_CONFIG_LINE_HEADER)
    return FALSE;
  toml = ow_config_toml_parse (edit->scan->text + line->begin, line->end - line->begin, &number,
                               &why);
  if (toml == NULL)
    return FALSE;
  node = ow_config_toml_node_get (ow_config_toml_get_root (toml), place->table);
  if (place->index >= 0)
    node = ow_config_toml_node_at (node, 0);
  return ow_config_toml_node_kind (node) == OW_CONFIG_TOML_TABLE &&
         ow_config_toml_node_size (node) == 0;
}

/* Behind statement @at, and indented as that; @prefix and @value make the new one. */
static void
insert_behind (OwConfigSplices *edit,
               guint            at,
               gboolean         indent,
               const char      *statement)
{
  const OwConfigScan *scan = edit->scan;
  const OwConfigLine *line = ow_config_scan_get (edit->scan, at);
  gsize blanks = ow_config_skip_blanks (scan, line->begin) - line->begin;
  gboolean is_cut = scan->text[line->end - 1] != '\n';

  ow_config_splices_add (edit, line->end, line->end, g_strdup_printf (
                           "%s%.*s%s%s", is_cut ? scan->eol : "", indent ? (int) blanks : 0,
                           scan->text + line->begin, statement, scan->eol));
}

/* The table has a header of its own: behind its last value. */
static void
insert_in_section (OwConfigSplices *edit,
                   guint            header,
                   const char      *statement)
{
  guint last = header;

  for (guint i = header + 1; i < edit->scan->lines->len; i++)
    {
      OwConfigLineKind kind = find_kind (edit, i);

      if (kind == OW_CONFIG_LINE_HEADER)
        break;
      if (kind == OW_CONFIG_LINE_VALUE)
        last = i;
    }
  insert_behind (edit, last, last != header, statement);
}

static gboolean
insert_in_braces (OwConfigSplices        *edit,
                  const OwConfigTomlNode *table,
                  const char             *statement)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  gsize begin, end, at;

  if (!ow_config_toml_node_region (table, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '{' ||
      scan->text[end - 1] != '}')
    return FALSE;
  for (at = end - 1; at > begin + 1 && strchr (" \t", scan->text[at - 1]) != NULL;)
    at--;
  ow_config_splices_add (edit, at, at, g_strdup_printf (
                           "%s%s%s", at > begin + 1 ? ", " : " ", statement,
                           at == end - 1 && at == begin + 1 ? " " : ""));
  return TRUE;
}

/* The table is made by keys with a dot: behind the last of them. */
static gboolean
insert_dotted (OwConfigSplices        *edit,
               const OwConfigTomlNode *table,
               const char             *statement)
{
  guint at = find_statement (edit, ow_config_toml_node_last_line (table));

  if (find_kind (edit, at) != OW_CONFIG_LINE_VALUE)
    return FALSE;
  insert_behind (edit, at, TRUE, statement);
  return TRUE;
}

static void
append_table (OwConfigSplices *edit,
              const char      *name,
              const char      *statement)
{
  const OwConfigScan *scan = edit->scan;
  gboolean is_cut = scan->length > scan->begin && scan->text[scan->length - 1] != '\n';

  ow_config_splices_add (edit, scan->length, scan->length, g_strdup_printf (
                           "%s%s[%s]%s%s%s", is_cut ? scan->eol : "",
                           scan->length > scan->begin ? scan->eol : "", name, scan->eol, statement,
                           scan->eol));
}

static gboolean
insert (OwConfigSplices     *edit,
        OwConfigToml        *toml,
        const OwConfigPlace *place,
        const char          *value)
{
  const OwConfigTomlNode *table = find_table (toml, place);
  g_autofree char *statement = g_strdup_printf ("%s = %s", place->key, value);
  guint at;

  if (place->table == NULL)
    {
      ow_config_insert_first (edit, statement);
      return TRUE;
    }
  if (table == NULL && place->index >= 0)
    return FALSE;
  if (ow_config_toml_node_is_inline (table))
    return insert_in_braces (edit, table, statement);

  at = table != NULL ? find_statement (edit, ow_config_toml_node_line (table))
                     : edit->scan->lines->len;
  if (find_kind (edit, at) == OW_CONFIG_LINE_HEADER && is_header_of (edit, at, place))
    {
      insert_in_section (edit, at, statement);
      return TRUE;
    }
  if (find_kind (edit, at) == OW_CONFIG_LINE_VALUE)
    {
      g_autofree char *dotted = g_strdup_printf ("%s.%s", place->table, statement);

      return insert_dotted (edit, table, dotted);
    }
  append_table (edit, place->table, statement);

  return TRUE;
}

GBytes *
ow_config_edit_set_value (GBytes              *text,
                          OwConfigToml        *toml,
                          const OwConfigPlace *place,
                          const char          *value)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  const OwConfigTomlNode *node = ow_config_toml_node_get (find_table (toml, place), place->key);
  OwConfigTomlRegion region;
  gsize begin, end;

  if (node == NULL)
    return insert (edit, toml, place, value) ? ow_config_splices_apply (edit) : NULL;
  if (!ow_config_toml_node_region (node, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end))
    return NULL;
  ow_config_splices_add (edit, begin, end, g_strdup (value));

  return ow_config_splices_apply (edit);
}

/* Behind the string that begins at @i, in a table with braces. */
static gsize
skip_string (const OwConfigScan *scan,
             gsize               i,
             gsize               end)
{
  const char quote = scan->text[i];

  for (i++; i < end && scan->text[i] != quote; i++)
    if (scan->text[i] == '\\' && quote == '"')
      i++;
  return i + 1;
}

/* Where the pair of key and value with @at begins and ends, between braces at @begin and @end. */
static void
find_pair (const OwConfigScan *scan,
           gsize               at,
           gsize               begin,
           gsize               end,
           gsize              *from,
           gsize              *to)
{
  int depth = 0;

  *from = begin + 1;
  for (gsize i = begin + 1; i < end - 1;)
    {
      char c = scan->text[i];

      if (c == '"' || c == '\'')
        {
          i = skip_string (scan, i, end);
          continue;
        }
      if (strchr ("[{", c) != NULL)
        depth++;
      else if (strchr ("]}", c) != NULL)
        depth--;
      else if (c == ',' && depth == 0)
        {
          *to = i;
          if (i > at)
            return;
          *from = i + 1;
        }
      i++;
    }
  *to = end - 1;
}

static gboolean
unset_in_braces (OwConfigSplices        *edit,
                 const OwConfigTomlNode *table,
                 gsize                   at)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  gsize begin, end, from, to;

  if (!ow_config_toml_node_region (table, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '{' ||
      scan->text[end - 1] != '}')
    return FALSE;
  find_pair (scan, at, begin, end, &from, &to);
  if (scan->text[to] == ',')
    {
      from = ow_config_skip_blanks (scan, from);
      to = ow_config_skip_blanks (scan, to + 1);
    }
  else
    {
      while (to > from && strchr (" \t", scan->text[to - 1]) != NULL)
        to--;
      if (from > begin + 1)
        from--;
    }
  ow_config_splices_add (edit, from, to, NULL);

  return TRUE;
}

GBytes *
ow_config_edit_unset_value (GBytes              *text,
                            OwConfigToml        *toml,
                            const OwConfigPlace *place)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  const OwConfigTomlNode *table = find_table (toml, place);
  const OwConfigTomlNode *node = ow_config_toml_node_get (table, place->key);
  OwConfigTomlRegion region;
  gsize begin, end;
  guint at;

  if (node == NULL)
    return g_bytes_ref (text);
  if (!ow_config_toml_node_region (node, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end))
    return NULL;
  if (ow_config_toml_node_is_inline (table))
    return unset_in_braces (edit, table, begin) ? ow_config_splices_apply (edit) : NULL;

  at = find_statement (edit, region.begin_line);
  if (find_kind (edit, at) != OW_CONFIG_LINE_VALUE)
    return NULL;
  ow_config_splices_add (edit, ow_config_scan_get (edit->scan, at)->begin,
                         ow_config_scan_get (edit->scan, at)->end, NULL);

  return ow_config_splices_apply (edit);
}
