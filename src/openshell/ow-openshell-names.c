/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-names.h"

#include <string.h>

#define DNS_LABEL_MAX 63

/* ASCII only, whatever the locale. */
static gboolean
is_name_character (char c)
{
  return g_ascii_islower (c) || g_ascii_isdigit (c) || c == '-';
}

static gboolean
is_label_character (char c)
{
  return g_ascii_isalnum (c) || c == '-' || c == '_' || c == '.';
}

gboolean
ow_openshell_name_is_safe (const char *name)
{
  gsize length = name != NULL ? strnlen (name, DNS_LABEL_MAX + 1) : 0;

  if (length == 0 || length > DNS_LABEL_MAX || name[0] == '-' || name[length - 1] == '-')
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!is_name_character (name[i]))
      return FALSE;
  return TRUE;
}

gboolean
ow_openshell_name_is_valid (const char *name)
{
  return ow_openshell_name_is_safe (name) && strlen (name) <= OW_OPENSHELL_NAME_MAX &&
         strstr (name, "--") == NULL;
}

gboolean
ow_openshell_label_is_valid (const char *value)
{
  gsize length = value != NULL ? strnlen (value, OW_OPENSHELL_LABEL_MAX + 1) : 0;

  if (value == NULL || length > OW_OPENSHELL_LABEL_MAX)
    return FALSE;
  if (length > 0 && (!g_ascii_isalnum (value[0]) || !g_ascii_isalnum (value[length - 1])))
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!is_label_character (value[i]))
      return FALSE;
  return TRUE;
}

char *
ow_openshell_label_from_text (const char *text)
{
  GString *label = g_string_new (NULL);

  for (const char *p = text; *p != '\0' && label->len < OW_OPENSHELL_LABEL_MAX; p++)
    {
      if (is_label_character (*p) && (label->len > 0 || g_ascii_isalnum (*p)))
        g_string_append_c (label, *p);
      else if (label->len > 0 && label->str[label->len - 1] != '-')
        g_string_append_c (label, '-');
    }
  while (label->len > 0 && !g_ascii_isalnum (label->str[label->len - 1]))
    g_string_truncate (label, label->len - 1);

  return g_string_free (label, FALSE);
}
