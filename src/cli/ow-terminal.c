/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-terminal-private.h"

#include <unistd.h>

gboolean
ow_terminal_has_colour (void)
{
  static int has = -1;

  if (has < 0)
    has = isatty (STDOUT_FILENO) && g_getenv ("NO_COLOR") == NULL &&
          g_strcmp0 (g_getenv ("TERM"), "dumb") != 0;
  return has;
}

gboolean
ow_terminal_is_interactive (void)
{
  return isatty (STDIN_FILENO) && isatty (STDERR_FILENO);
}

char *
ow_terminal_style (OwStyle     style,
                   const char *text)
{
  static const char * const CODES[] = {
    [OW_STYLE_BOLD] = "1", [OW_STYLE_DIM] = "2", [OW_STYLE_GREEN] = "32",
    [OW_STYLE_RED] = "31", [OW_STYLE_YELLOW] = "33",
  };

  if (!ow_terminal_has_colour ())
    return g_strdup (text);
  return g_strdup_printf ("\033[%sm%s\033[0m", CODES[style], text);
}

void
ow_terminal_print (OwStyle     style,
                   const char *format,
                   ...)
{
  g_autofree char *text = NULL;
  g_autofree char *styled = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  styled = ow_terminal_style (style, text);
  g_print ("%s", styled);
}
