/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config.h"

#include <string.h>

#include "ow-config-private.h"

#define LIMITS "sandbox_limits"

/* Less of a processor than this is taken for no limit by one of the engines. */
#define MIN_CPU 0.01
#define MAX_CPU 4096.0
#define MAX_MEMORY_DIGITS 15

/* With less no wall comes up, and with a little more no command of any use runs in it. */
#define MIN_MEMORY (G_GUINT64_CONSTANT (64) << 20)

/* Both engines' drivers take these, and one of them takes what it does not know for no limit. */
static const struct {
  const char *name;
  guint64     bytes;
} memory_units[] = {
  { "", 1 },
  { "Ki", G_GUINT64_CONSTANT (1) << 10 }, { "Mi", G_GUINT64_CONSTANT (1) << 20 },
  { "Gi", G_GUINT64_CONSTANT (1) << 30 }, { "Ti", G_GUINT64_CONSTANT (1) << 40 },
  { "K", 1000 }, { "M", 1000000 }, { "G", 1000000000 }, { "T", 1000000000000 },
};

static gboolean
is_cpu (const char *text)
{
  gsize length = strspn (text, "0123456789.");
  gboolean milli = strcmp (text + length, "m") == 0;
  const char *dot = strchr (text, '.');
  double value;

  if (length == 0 || length > 12 || !g_ascii_isdigit (text[0]) ||
      !g_ascii_isdigit (text[length - 1]) || (text[length] != '\0' && !milli) ||
      (dot != NULL && (milli || strchr (dot + 1, '.') != NULL)))
    return FALSE;
  value = g_ascii_strtod (text, NULL) / (milli ? 1000 : 1);
  return value >= MIN_CPU && value <= MAX_CPU;
}

guint64
ow_config_memory_bytes (const char *text)
{
  gsize length = strspn (text, "0123456789");
  guint64 number;

  if (length == 0 || length > MAX_MEMORY_DIGITS || text[0] == '0')
    return 0;
  number = g_ascii_strtoull (text, NULL, 10);
  for (gsize i = 0; i < G_N_ELEMENTS (memory_units); i++)
    if (strcmp (text + length, memory_units[i].name) == 0)
      return number > G_MAXINT64 / memory_units[i].bytes ? G_MAXINT64
             : number * memory_units[i].bytes;
  return 0;
}

static gboolean
is_memory (const char *text)
{
  return ow_config_memory_bytes (text) >= MIN_MEMORY;
}

static gboolean
read_limit (OwConfigToml  *toml,
            const char    *path,
            const char    *key,
            gboolean     (*check)(const char *text),
            const char    *form,
            char         **value,
            GError       **error)
{
  g_autofree char *text = NULL;
  g_autofree char *why = NULL;
  guint line = 0;
  OwConfigTomlState state = ow_config_toml_get_amount (toml, LIMITS, key, &text, &line);

  if (state == OW_CONFIG_TOML_ABSENT)
    return TRUE;
  if (state == OW_CONFIG_TOML_FOUND && check (text))
    {
      *value = g_steal_pointer (&text);
      return TRUE;
    }
  why = g_strdup_printf ("%s in [" LIMITS "] is %s%.40s%s; it is %s", key, text != NULL ? "\"" : "",
                         text != NULL ? text : "no amount", text != NULL ? "\"" : "", form);
  return ow_config_fail (path, line, why, error);
}

gboolean
ow_config_openshell_read (OwConfig      *self,
                          OwConfigToml  *toml,
                          const char    *path,
                          GError       **error)
{
  guint line = 0;

  if (ow_config_toml_get_flag (toml, "sandbox_openshell_any_version", &self->any_version,
                               &line) == OW_CONFIG_TOML_WRONG_TYPE)
    return ow_config_fail (path, line, "sandbox_openshell_any_version is true or false, without "
                           "quotes", error);
  return read_limit (toml, path, "cpu", is_cpu, "a number of processors, such as 2, 0.5 or "
                     "\"500m\"", &self->cpu, error) &&
         read_limit (toml, path, "memory", is_memory, "a whole number of bytes, such as "
                     "\"512Mi\" or \"4Gi\", and no less than \"64Mi\"", &self->memory, error);
}

gboolean
ow_config_get_openshell_any_version (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), FALSE);

  return self->any_version;
}

const char *
ow_config_get_sandbox_cpu (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->cpu;
}

const char *
ow_config_get_sandbox_memory (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->memory;
}
