/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-diff.h"

/* Lines of no file are more. */
#define MAX_NUMBER (G_GUINT64_CONSTANT (1) << 40)

/* "12" or "12,3" behind @sign. FALSE: it is none. */
static gboolean
read_range (const char **at,
            char         sign,
            guint64     *start,
            guint64     *count)
{
  char *end = NULL;

  if (**at != sign || !g_ascii_isdigit ((*at)[1]))
    return FALSE;
  *start = g_ascii_strtoull (*at + 1, &end, 10);
  *count = 1;
  if (*end == ',' && g_ascii_isdigit (end[1]))
    *count = g_ascii_strtoull (end + 1, &end, 10);
  *at = end;
  return *start <= MAX_NUMBER && *count <= MAX_NUMBER;
}

static gboolean
read_hunk (OwDiff     *self,
           const char *line)
{
  OwDiff next = *self;
  const char *at = line + 3;

  if (!g_str_has_prefix (line, "@@ ") ||
      !read_range (&at, '-', &next.old_number, &next.old_left) || *at++ != ' ' ||
      !read_range (&at, '+', &next.new_number, &next.new_left) ||
      !g_str_has_prefix (at, " @@"))
    return FALSE;
  *self = next;
  return TRUE;
}

static OwDiffKind
read_in_hunk (OwDiff     *self,
              const char *line,
              guint64    *number)
{
  if (*line == '-' && self->old_left > 0)
    {
      self->old_left--;
      *number = self->old_number++;
      return OW_DIFF_REMOVED;
    }
  if (*line == '+' && self->new_left > 0)
    {
      self->new_left--;
      *number = self->new_number++;
      return OW_DIFF_ADDED;
    }
  if ((*line == ' ' || *line == '\0') && self->old_left > 0 && self->new_left > 0)
    {
      self->old_left--;
      self->new_left--;
      self->old_number++;
      *number = self->new_number++;
      return OW_DIFF_SAME;
    }
  /* Cut off, or no diff after all. */
  self->old_left = 0;
  self->new_left = 0;
  return OW_DIFF_TEXT;
}

OwDiffKind
ow_diff_read (OwDiff     *self,
              const char *line,
              guint64    *number)
{
  guint64 none;

  if (number == NULL)
    number = &none;
  *number = 0;
  if (self->began && g_str_has_prefix (line, "\\ "))
    return OW_DIFF_NOTE;
  if (self->old_left > 0 || self->new_left > 0)
    return read_in_hunk (self, line, number);
  if (self->began && read_hunk (self, line))
    return OW_DIFF_HUNK;
  if (self->began && (g_str_has_prefix (line, "new file mode ") ||
                      g_str_has_prefix (line, "deleted file mode ")))
    return OW_DIFF_FILE;
  if (g_str_has_prefix (line, "--- ") || g_str_has_prefix (line, "+++ ") ||
      g_str_has_prefix (line, "diff --git "))
    {
      self->began = TRUE;
      return OW_DIFF_FILE;
    }
  return OW_DIFF_TEXT;
}
