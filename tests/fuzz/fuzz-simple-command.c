/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-simple-command-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* What is read as a simple command is shown as a text that is read as the same words, by us again
 * and with nothing in it that a shell acts on outside quotes. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autofree char *line = g_strndup ((const char *) data, size);
  g_auto (GStrv) words = ow_simple_command_parse (line);
  g_auto (GStrv) again = NULL;
  g_autofree char *text = NULL;
  gboolean quoted = FALSE;

  if (words == NULL)
    return 0;
  if (words[0] == NULL || *words[0] == '\0' || strpbrk (line, "\n\r\t") != NULL)
    abort ();
  text = ow_simple_command_join ((const char * const *) words);
  for (const char *p = text; *p != '\0'; p++)
    {
      if (*p == '\'' && (quoted || p == text || p[-1] != '\\'))
        quoted = !quoted;
      else if (!quoted && strchr ("$`*?[]{}~!#&;|<>()\"^", *p) != NULL)
        abort ();
    }
  if (quoted)
    abort ();
  /* Quotes may make it too long to be read again. */
  again = ow_simple_command_parse (text);
  if (again == NULL ? strlen (text) <= 4096
                    : !g_strv_equal ((const char * const *) words, (const char * const *) again))
    abort ();
  return 0;
}
