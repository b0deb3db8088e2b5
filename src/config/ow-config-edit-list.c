/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-edit-private.h"

#include <string.h>

#include "ow-config-splices-private.h"
#include "ow-config-toml-node-private.h"

GBytes *
ow_config_edit_add_item (GBytes       *text,
                         OwConfigToml *toml,
                         const char   *key,
                         const char   *item)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  const OwConfigTomlNode *list = ow_config_toml_node_get (ow_config_toml_get_root (toml), key);
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  gsize begin, end, at;

  if (list == NULL)
    {
      g_autofree char *statement = g_strdup_printf ("%s = [%s]", key, item);

      ow_config_insert_first (edit, statement);
      return ow_config_splices_apply (edit);
    }

  if (!ow_config_toml_node_region (list, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
    return NULL;
  at = ow_config_skip_blanks (scan, begin + 1);
  if (at < end && (scan->text[at] == '#' || ow_config_is_eol (scan, at)))
    {
      /* Indented as what stands below it. */
      at = ow_config_find_line_end (scan, at);
      at += ow_config_eol_bytes (scan, at);
      ow_config_splices_add (edit, at, at, g_strdup_printf (
                               "%.*s%s,%s", (int) (ow_config_skip_blanks (scan, at) - at),
                               scan->text + at, item, scan->eol));
    }
  else
    {
      ow_config_splices_add (edit, begin + 1, begin + 1, g_strdup_printf (
                               "%s%s", item, ow_config_toml_node_length (list) > 0 ? ", " : ""));
    }

  return ow_config_splices_apply (edit);
}

/* Behind the text that begins at @at, in one of the four ways of writing one. */
static gsize
find_text_end (const OwConfigScan *scan,
               gsize               at,
               gsize               end)
{
  const char quote = scan->text[at];
  const gboolean is_long = at + 2 < end && scan->text[at + 1] == quote &&
                           scan->text[at + 2] == quote;
  const gsize n = is_long ? 3 : 1;

  for (gsize i = at + n; i + n <= end; i++)
    {
      gsize same = 0;

      if (quote == '"' && scan->text[i] == '\\')
        {
          i++;
          continue;
        }
      while (same < n && scan->text[i + same] == quote)
        same++;
      if (same == n)
        return i + n;
    }
  return end;
}

/* Where text @index of the list that is open at @at begins; @end where it is not found. */
static gsize
find_text (const OwConfigScan *scan,
           gsize               at,
           gsize               end,
           guint               index)
{
  while (at < end)
    {
      if (scan->text[at] == '#')
        at = ow_config_find_line_end (scan, at);
      else if (strchr ("\"'", scan->text[at]) == NULL)
        at++;
      else if (index-- == 0)
        return at;
      else
        at = find_text_end (scan, at, end);
    }
  return end;
}

/* Widens [@from, @to) to whole lines where nothing else is on them. */
static void
take_line (const OwConfigScan *scan,
           gsize              *from,
           gsize              *to)
{
  gsize begin = *from;
  gsize end = ow_config_skip_blanks (scan, *to);

  while (begin > 0 && (scan->text[begin - 1] == ' ' || scan->text[begin - 1] == '\t'))
    begin--;
  if (begin > 0 && scan->text[begin - 1] == '\n' && end < scan->length &&
      ow_config_is_eol (scan, end))
    {
      *from = begin;
      *to = end + ow_config_eol_bytes (scan, end);
    }
  else
    {
      *to = end;
    }
}

GBytes *
ow_config_edit_remove_text (GBytes       *text,
                            OwConfigToml *toml,
                            const char   *key,
                            guint         index)
{
  g_autoptr (OwConfigSplices) edit = ow_config_splices_new (text);
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  gsize begin, end, from, to;

  if (!ow_config_toml_get_region (toml, key, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
    return NULL;
  from = find_text (scan, begin + 1, end, index);
  if (from == end)
    return NULL;
  to = ow_config_skip_blanks (scan, find_text_end (scan, from, end));
  if (to < end && scan->text[to] == ',')
    to++;
  take_line (scan, &from, &to);
  ow_config_splices_add (edit, from, to, g_strdup (""));

  return ow_config_splices_apply (edit);
}
