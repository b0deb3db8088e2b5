/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-programs.h"

#include <string.h>

#include "ow-config-private.h"

#define KEY          OW_CONFIG_PROGRAMS
#define MAX_PROGRAMS 64
#define MAX_BYTES    4096

static char *
expand (const char *text)
{
  g_autofree char *whole = NULL;

  if (g_str_has_prefix (text, "~/"))
    whole = g_build_filename (g_get_home_dir (), text + 2, NULL);
  return g_canonicalize_filename (whole != NULL ? whole : text, "/");
}

static gboolean
is_good (const char *text)
{
  if (!g_str_has_prefix (text, "/") && !g_str_has_prefix (text, "~/"))
    return FALSE;
  for (const char *p = text; *p != '\0'; p++)
    if (g_ascii_iscntrl (*p))
      return FALSE;
  return strlen (text) <= MAX_BYTES;
}

gboolean
ow_config_programs_read (OwConfig      *self,
                         OwConfigToml  *toml,
                         const char    *path,
                         GError       **error)
{
  g_autoptr (GPtrArray) texts = NULL;
  guint line = 0;
  OwConfigTomlState state = ow_config_toml_get_texts (toml, KEY, &texts, &line);

  if (state == OW_CONFIG_TOML_ABSENT)
    return TRUE;
  if (state == OW_CONFIG_TOML_WRONG_TYPE)
    return ow_config_fail (path, line, KEY " is a list of texts, such as [\"~/.cargo/bin\"]",
                           error);
  for (guint i = 0; i < texts->len; i++)
    {
      const OwConfigTomlText *text = g_ptr_array_index (texts, i);
      g_autofree char *why = NULL;

      if (i >= MAX_PROGRAMS)
        {
          why = g_strdup_printf ("there are more than %d folders in " KEY, MAX_PROGRAMS);
          return ow_config_fail (path, text->line, why, error);
        }
      if (!is_good (text->text))
        {
          why = g_strdup_printf ("\"%.80s\" in " KEY " is no whole path; one begins with / or ~/",
                                 text->text);
          return ow_config_fail (path, text->line, why, error);
        }
      g_ptr_array_add (self->programs, expand (text->text));
    }
  return TRUE;
}

int
ow_config_programs_find (OwConfig   *self,
                         const char *folder)
{
  for (guint i = 0; i < self->programs->len; i++)
    if (strcmp (g_ptr_array_index (self->programs, i), folder) == 0)
      return (int) i;
  return -1;
}

char *
ow_config_programs_write (const char *folder)
{
  g_autofree char *home = g_strconcat (g_get_home_dir (), "/", NULL);

  return g_str_has_prefix (folder, home) ? g_strconcat ("~/", folder + strlen (home), NULL)
                                         : g_strdup (folder);
}

GPtrArray *
ow_config_get_programs (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->programs;
}
