/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-reply-private.h"

#include <string.h>

/* Only a line's own end is taken off: with anything else around it a word is not the word that
 * was asked for. */
static char *
take_line_end_off (const char *line)
{
  gsize length = strlen (line);

  if (length > 0 && line[length - 1] == '\n')
    length--;
  if (length > 0 && line[length - 1] == '\r')
    length--;
  return g_strndup (line, length);
}

/* No needs less care than yes: white space around it changes nothing. */
static gboolean
is_no (const char  *text,
       char       **reason)
{
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  const char *rest;

  if (*stripped == '\0' || strcmp (stripped, "no") == 0 || strcmp (stripped, "n") == 0)
    return TRUE;
  if (!g_str_has_prefix (stripped, "no ") && !g_str_has_prefix (stripped, "no:"))
    return FALSE;
  rest = stripped + strspn (stripped + 3, " ") + 3;
  if (*rest != '\0')
    *reason = g_strdup (rest);
  return TRUE;
}

OwReply
ow_reply_parse (const char  *line,
                gboolean     always_offered,
                char       **reason)
{
  g_autofree char *text = line != NULL ? take_line_end_off (line) : NULL;

  *reason = NULL;
  if (text == NULL || is_no (text, reason))
    return OW_REPLY_DENY;
  if (strcmp (text, "yes") == 0 || strcmp (text, "once") == 0)
    return OW_REPLY_ONCE;
  if (strcmp (text, "session") == 0)
    return OW_REPLY_SESSION;
  if (always_offered && strcmp (text, "always") == 0)
    return OW_REPLY_ALWAYS;
  return OW_REPLY_AGAIN;
}

const char *
ow_reply_decision (OwReply reply)
{
  switch (reply)
    {
    case OW_REPLY_DENY:
      return "deny";
    case OW_REPLY_ONCE:
      return "once";
    case OW_REPLY_SESSION:
      return "session";
    case OW_REPLY_ALWAYS:
      return "always";
    case OW_REPLY_AGAIN:
      break;
    }

  return NULL;
}
