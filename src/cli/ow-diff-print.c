/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-diff-print-private.h"

#include <string.h>

#include "base/ow-diff.h"
#include "base/ow-text.h"
#include "ow-terminal-private.h"

static void
print_line (OwDiff     *reader,
            const char *line)
{
  OwDiffKind kind = ow_diff_read (reader, line, NULL);
  g_autofree char *visible = ow_text_visible (line);

  switch (kind)
    {
    case OW_DIFF_FILE:
      ow_terminal_print (OW_STYLE_BOLD, "%s", visible);
      break;
    case OW_DIFF_HUNK:
    case OW_DIFF_NOTE:
      ow_terminal_print (OW_STYLE_DIM, "%s", visible);
      break;
    case OW_DIFF_ADDED:
      ow_terminal_print (OW_STYLE_GREEN, "%s", visible);
      break;
    case OW_DIFF_REMOVED:
      ow_terminal_print (OW_STYLE_RED, "%s", visible);
      break;
    case OW_DIFF_TEXT:
    case OW_DIFF_SAME:
    default:
      g_print ("%s", visible);
      break;
    }
  g_print ("\n");
}

void
ow_diff_print (const char *diff)
{
  OwDiff reader = { 0 };

  for (const char *at = diff; *at != '\0';)
    {
      gsize length = strcspn (at, "\n");
      g_autofree char *line = g_strndup (at, length);

      print_line (&reader, line);
      at += length;
      at += *at == '\n';
    }
}

char *
ow_diff_print_path (const char *path)
{
  char *visible = ow_text_visible (path);

  g_strdelimit (visible, "\t\n", ' ');
  return visible;
}
