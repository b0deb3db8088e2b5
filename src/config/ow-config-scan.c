/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-scan-private.h"

#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static gboolean
is_at (const OwConfigScan *self,
       gsize               i,
       const char         *what)
{
  gsize length = strlen (what);

  return i <= self->length && self->length - i >= length &&
         memcmp (self->text + i, what, length) == 0;
}

/* Behind the string that begins at @i. */
static gsize
skip_string (const OwConfigScan *self,
             gsize               i)
{
  const char quote[] = { self->text[i], '\0' };
  const char quotes[] = { *quote, *quote, *quote, '\0' };
  gboolean is_long = is_at (self, i, quotes);

  for (i += is_long ? 3 : 1; i < self->length; i++)
    {
      if (self->text[i] == '\\' && *quote == '"')
        {
          i++;
        }
      else if (is_at (self, i, is_long ? quotes : quote))
        {
          i += is_long ? 3 : 1;
          /* Up to two more belong to a long one. */
          while (is_long && is_at (self, i, quote))
            i++;
          return i;
        }
    }

  return self->length;
}

static gsize
skip_comment (const OwConfigScan *self,
              gsize               i)
{
  const char *end = memchr (self->text + i, '\n', self->length - i);

  return end != NULL ? (gsize) (end - self->text) : self->length;
}

/* Behind the line end of the statement at @i. */
static gsize
skip_statement (const OwConfigScan *self,
                gsize               i)
{
  gsize depth = 0;

  while (i < self->length)
    {
      char c = self->text[i];

      if (c == '\n' && depth == 0)
        return i + 1;
      if (c == '"' || c == '\'')
        {
          i = skip_string (self, i);
          continue;
        }
      if (c == '#')
        {
          i = skip_comment (self, i);
          continue;
        }
      if (c == '[' || c == '{')
        depth++;
      else if ((c == ']' || c == '}') && depth > 0)
        depth--;
      i++;
    }

  return self->length;
}

static OwConfigLineKind
find_kind (const OwConfigScan *self,
           gsize               i)
{
  while (i < self->length && (self->text[i] == ' ' || self->text[i] == '\t'))
    i++;
  if (i == self->length || self->text[i] == '\n' || is_at (self, i, "\r\n"))
    return OW_CONFIG_LINE_BLANK;
  if (self->text[i] == '#')
    return OW_CONFIG_LINE_COMMENT;
  return self->text[i] == '[' ? OW_CONFIG_LINE_HEADER : OW_CONFIG_LINE_VALUE;
}

OwConfigScan *
ow_config_scan_new (const char *text,
                    gsize       length)
{
  OwConfigScan *self = g_new0 (OwConfigScan, 1);
  const char *first = length > 0 ? memchr (text, '\n', length) : NULL;
  OwConfigLine line = { .number = 1 };

  self->text = text;
  self->length = length;
  self->lines = g_array_new (FALSE, FALSE, sizeof (OwConfigLine));
  self->eol = first != NULL && first > text && first[-1] == '\r' ? "\r\n" : "\n";
  self->begin = is_at (self, 0, BYTE_ORDER_MARK) ? strlen (BYTE_ORDER_MARK) : 0;

  for (line.begin = self->begin; line.begin < length; line.begin = line.end)
    {
      line.kind = find_kind (self, line.begin);
      line.end = skip_statement (self, line.begin);
      g_array_append_val (self->lines, line);
      for (gsize i = line.begin; i < line.end; i++)
        line.number += text[i] == '\n';
    }

  return self;
}

void
ow_config_scan_free (OwConfigScan *self)
{
  g_array_unref (self->lines);
  g_free (self);
}

static gboolean
find_place (OwConfigScan *self,
            guint         line,
            guint         column,
            gsize        *offset)
{
  gsize i = self->begin;

  for (; line > 1; line--)
    {
      i = skip_comment (self, i);
      if (i == self->length)
        return FALSE;
      i++;
    }
  for (; column > 1; column--)
    {
      if (i >= self->length || self->text[i] == '\n')
        return FALSE;
      i += (gsize) g_utf8_skip[(guchar) self->text[i]];
    }
  *offset = i;

  return i <= self->length;
}

gboolean
ow_config_scan_find (OwConfigScan             *self,
                     const OwConfigTomlRegion *region,
                     gsize                    *begin,
                     gsize                    *end)
{
  return find_place (self, region->begin_line, region->begin_column, begin) &&
         find_place (self, region->end_line, region->end_column, end) && *begin < *end;
}

OwConfigLine *
ow_config_scan_get (OwConfigScan *self,
                    guint         index)
{
  return &g_array_index (self->lines, OwConfigLine, index);
}
