/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-edit-private.h"

#include <string.h>

#include "ow-config-scan-private.h"
#include "ow-model-settings-private.h"

#define MODELS "models"

/* The text, where its statements are, and what changes, in any order; no two overlap. */
typedef struct {
  OwConfigScan *scan;      /* (owned) */
  GArray       *splices;   /* (owned) of Splice */
} Edit;

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

static Edit *
edit_new (GBytes *text)
{
  Edit *edit = g_new0 (Edit, 1);
  gsize length;
  const char *data = g_bytes_get_data (text, &length);

  edit->scan = ow_config_scan_new (length > 0 ? data : "", length);
  edit->splices = g_array_new (FALSE, FALSE, sizeof (Splice));
  g_array_set_clear_func (edit->splices, splice_clear);

  return edit;
}

static void
edit_free (Edit *edit)
{
  ow_config_scan_free (edit->scan);
  g_array_unref (edit->splices);
  g_free (edit);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Edit, edit_free)

static void
edit_splice (Edit  *edit,
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

static GBytes *
edit_apply (Edit *edit)
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

/* A basic string of TOML. */
static void
append_quoted (GString    *out,
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

/* "key = value" for each field, with @separator between. */
static void
append_fields (GString               *out,
               const OwModelSettings *settings,
               const char            *separator)
{
  gboolean first = TRUE;

  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    {
      const OwModelSettingsField *field = &ow_model_settings_fields[i];
      const char *value = *ow_model_settings_field (settings, field);

      if (value == NULL)
        continue;
      g_string_append_printf (out, "%s%s = ", first ? "" : separator, field->key);
      append_quoted (out, value);
      first = FALSE;
    }
}

static char *
make_item (const OwModelSettings *settings,
           const char            *before,
           const char            *after)
{
  GString *out = g_string_new (before);

  g_string_append (out, "{ ");
  append_fields (out, settings, ", ");
  g_string_append_printf (out, " }%s", after);

  return g_string_free (out, FALSE);
}

static gsize
skip_blanks (const OwConfigScan *scan,
             gsize               i)
{
  while (i < scan->length && (scan->text[i] == ' ' || scan->text[i] == '\t'))
    i++;

  return i;
}

static gboolean
is_eol (const OwConfigScan *scan,
        gsize               i)
{
  return i < scan->length && (scan->text[i] == '\n' ||
                              (scan->text[i] == '\r' && i + 1 < scan->length &&
                               scan->text[i + 1] == '\n'));
}

/* Where the line with @i ends, before its line end. */
static gsize
find_line_end (const OwConfigScan *scan,
               gsize               i)
{
  while (i < scan->length && !is_eol (scan, i))
    i++;

  return i;
}

static gsize
find_line_begin (const OwConfigScan *scan,
                 gsize               i)
{
  while (i > scan->begin && scan->text[i - 1] != '\n')
    i--;

  return i;
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
      i = find_line_end (scan, i);

  return i < scan->length && scan->text[i] == ',' ? i : 0;
}

static gboolean
find_item (Edit                     *edit,
           const OwConfigTomlRegion *region,
           Item                     *item)
{
  const OwConfigScan *scan = edit->scan;
  gsize i;

  if (!ow_config_scan_find (edit->scan, region, &item->begin, &item->end) ||
      scan->text[item->begin] != '{' || scan->text[item->end - 1] != '}')
    return FALSE;

  item->comma = find_comma (scan, item->end);
  item->line = find_line_begin (scan, item->begin);
  item->line_end = find_line_end (scan, item->end);
  i = skip_blanks (scan, item->end);
  if (i == item->comma)
    i = skip_blanks (scan, i + 1);
  item->alone = skip_blanks (scan, item->line) == item->begin && i < scan->length &&
                (scan->text[i] == '#' || is_eol (scan, i));

  return TRUE;
}

static gboolean
append_item (Edit                  *edit,
             OwConfigToml          *toml,
             const OwModelSettings *settings,
             guint                  n)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  g_autofree char *before = NULL;
  gsize begin, end;
  Item last;

  if (n == 0)
    {
      if (!ow_config_toml_get_region (toml, MODELS, &region) ||
          !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
        return FALSE;
      edit_splice (edit, begin + 1, begin + 1, make_item (settings, "", ""));
      return TRUE;
    }

  if (!ow_config_toml_get_table_region (toml, MODELS, n - 1, &region) ||
      !find_item (edit, &region, &last))
    return FALSE;

  if (!last.alone || last.comma > last.line_end)
    {
      edit_splice (edit, last.end, last.end, make_item (settings, ", ", ""));
      return TRUE;
    }
  before = g_strdup_printf ("%s%.*s", scan->eol, (int) (last.begin - last.line),
                            scan->text + last.line);
  if (last.comma == 0)
    edit_splice (edit, last.end, last.end, g_strdup (","));
  edit_splice (edit, last.line_end, last.line_end,
               make_item (settings, before, last.comma != 0 ? "," : ""));

  return TRUE;
}

static void
append_table (Edit                  *edit,
              const OwModelSettings *settings)
{
  const OwConfigScan *scan = edit->scan;
  const char *eol = scan->eol;
  GString *out = g_string_new (NULL);

  if (scan->length > scan->begin)
    g_string_append_printf (out, "%s%s", scan->text[scan->length - 1] != '\n' ? eol : "", eol);
  g_string_append_printf (out, "[[" MODELS "]]%s", eol);
  append_fields (out, settings, eol);
  g_string_append (out, eol);
  edit_splice (edit, scan->length, scan->length, g_string_free (out, FALSE));
}

GBytes *
ow_config_edit_append_model (GBytes                *text,
                             OwConfigToml          *toml,
                             const OwModelSettings *settings)
{
  g_autoptr (Edit) edit = edit_new (text);
  guint n;
  guint line;

  ow_config_toml_count_tables (toml, MODELS, &n, &line);
  if (!ow_config_toml_is_inline (toml, MODELS))
    append_table (edit, settings);
  else if (!append_item (edit, toml, settings, n))
    return NULL;

  return edit_apply (edit);
}

static gboolean
remove_item (Edit         *edit,
             OwConfigToml *toml,
             guint         index)
{
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  Item item;
  gsize i;

  if (!ow_config_toml_get_table_region (toml, MODELS, index, &region) ||
      !find_item (edit, &region, &item))
    return FALSE;

  if (item.alone)
    {
      gsize next = item.line_end + (scan->text[item.line_end] == '\r' ? 2 : 1);

      edit_splice (edit, item.line, next, NULL);
      if (item.comma > item.line_end)
        edit_splice (edit, item.comma, item.comma + 1, NULL);
      return TRUE;
    }

  if (item.comma != 0 && skip_blanks (scan, item.end) == item.comma)
    {
      edit_splice (edit, item.begin, skip_blanks (scan, item.comma + 1), NULL);
      return TRUE;
    }
  if (item.comma != 0)
    edit_splice (edit, item.comma, item.comma + 1, NULL);
  for (i = item.begin; i > scan->begin && strchr (" \t", scan->text[i - 1]) != NULL;)
    i--;
  if (item.comma == 0 && i > scan->begin && scan->text[i - 1] == ',')
    edit_splice (edit, i - 1, item.end, NULL);
  else
    edit_splice (edit, item.begin, item.end, NULL);

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
remove_section (Edit  *edit,
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
  edit_splice (edit, ow_config_scan_get (scan, blank_above && blank_below ? first - 1
                                                                          : first)->begin,
               ow_config_scan_get (scan, last)->end, NULL);

  return next;
}

GBytes *
ow_config_edit_remove_model (GBytes       *text,
                             OwConfigToml *toml,
                             guint         index)
{
  g_autoptr (Edit) edit = edit_new (text);
  g_autoptr (GArray) lines = NULL;

  if (ow_config_toml_is_inline (toml, MODELS))
    return remove_item (edit, toml, index) ? edit_apply (edit) : NULL;

  lines = ow_config_toml_get_table_lines (toml, MODELS, index);
  for (guint i = 0; i < edit->scan->lines->len;)
    {
      const OwConfigLine *line = ow_config_scan_get (edit->scan, i);

      if (line->kind == OW_CONFIG_LINE_HEADER && has_line (lines, line->number))
        i = remove_section (edit, i);
      else
        i++;
    }

  return edit->splices->len > 0 ? edit_apply (edit) : NULL;
}

/* Where a first value goes: before the first table and the comments right above it. */
static void
insert_first (Edit    *edit,
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
      edit_splice (edit, scan->length, scan->length, g_string_free (out, FALSE));
      return;
    }

  while (at > 0 && ow_config_scan_get (scan, at - 1)->kind == OW_CONFIG_LINE_COMMENT)
    at--;
  g_string_append (out, eol);
  edit_splice (edit, ow_config_scan_get (scan, at)->begin,
               ow_config_scan_get (scan, at)->begin, g_string_free (out, FALSE));
}

/* @before and @after stand around the value. */
static void
insert_text (Edit       *edit,
             const char *key,
             const char *before,
             const char *value,
             const char *after)
{
  OwConfigScan *scan = edit->scan;
  const OwConfigLine *last = NULL;
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < scan->lines->len; i++)
    {
      const OwConfigLine *line = ow_config_scan_get (scan, i);

      if (line->kind == OW_CONFIG_LINE_HEADER)
        break;
      if (line->kind == OW_CONFIG_LINE_VALUE)
        last = line;
    }

  g_string_append_printf (out, "%s = %s", key, before);
  append_quoted (out, value);
  g_string_append_printf (out, "%s%s", after, scan->eol);
  if (last == NULL)
    {
      insert_first (edit, out);
      return;
    }
  if (scan->text[last->end - 1] != '\n')
    g_string_prepend (out, scan->eol);
  edit_splice (edit, last->end, last->end, g_string_free (out, FALSE));
}

GBytes *
ow_config_edit_set_text (GBytes       *text,
                         OwConfigToml *toml,
                         const char   *key,
                         const char   *value)
{
  g_autoptr (Edit) edit = edit_new (text);
  OwConfigTomlRegion region;
  GString *out;
  gsize begin, end;

  if (!ow_config_toml_get_region (toml, key, &region))
    {
      insert_text (edit, key, "", value, "");
      return edit_apply (edit);
    }

  if (!ow_config_scan_find (edit->scan, &region, &begin, &end) ||
      strchr ("\"'", edit->scan->text[begin]) == NULL ||
      edit->scan->text[end - 1] != edit->scan->text[begin])
    return NULL;
  out = g_string_new (NULL);
  append_quoted (out, value);
  edit_splice (edit, begin, end, g_string_free (out, FALSE));

  return edit_apply (edit);
}

GBytes *
ow_config_edit_add_text (GBytes       *text,
                         OwConfigToml *toml,
                         const char   *key,
                         const char   *value)
{
  g_autoptr (Edit) edit = edit_new (text);
  g_autoptr (GPtrArray) texts = NULL;
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  GString *out;
  gsize begin, end, at;
  guint line;

  if (!ow_config_toml_get_region (toml, key, &region))
    {
      insert_text (edit, key, "[", value, "]");
      return edit_apply (edit);
    }

  if (ow_config_toml_get_texts (toml, key, &texts, &line) != OW_CONFIG_TOML_FOUND ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
    return NULL;
  out = g_string_new (NULL);
  at = skip_blanks (scan, begin + 1);
  if (at < end && (scan->text[at] == '#' || is_eol (scan, at)))
    {
      /* Indented as what stands below it. */
      at = find_line_end (scan, at) + strlen (scan->eol);
      g_string_append_len (out, scan->text + at, (gssize) (skip_blanks (scan, at) - at));
      append_quoted (out, value);
      g_string_append_printf (out, ",%s", scan->eol);
    }
  else
    {
      at = begin + 1;
      append_quoted (out, value);
      g_string_append (out, texts->len > 0 ? ", " : "");
    }
  edit_splice (edit, at, at, g_string_free (out, FALSE));

  return edit_apply (edit);
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
        at = find_line_end (scan, at);
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
  gsize end = skip_blanks (scan, *to);

  while (begin > 0 && (scan->text[begin - 1] == ' ' || scan->text[begin - 1] == '\t'))
    begin--;
  if (begin > 0 && scan->text[begin - 1] == '\n' && end < scan->length && is_eol (scan, end))
    {
      *from = begin;
      *to = end + strlen (scan->eol);
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
  g_autoptr (Edit) edit = edit_new (text);
  const OwConfigScan *scan = edit->scan;
  OwConfigTomlRegion region;
  gsize begin, end, from, to;

  if (!ow_config_toml_get_region (toml, key, &region) ||
      !ow_config_scan_find (edit->scan, &region, &begin, &end) || scan->text[begin] != '[')
    return NULL;
  from = find_text (scan, begin + 1, end, index);
  if (from == end)
    return NULL;
  to = skip_blanks (scan, find_text_end (scan, from, end));
  if (to < end && scan->text[to] == ',')
    to++;
  take_line (scan, &from, &to);
  edit_splice (edit, from, to, g_strdup (""));

  return edit_apply (edit);
}
