/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-settings.h"

#include <string.h>

#include "base/ow-error.h"
#include "config/ow-config-programs.h"
#include "ow-config-change-private.h"
#include "ow-config-credentials-private.h"
#include "ow-config-splices-private.h"

#define MAX_VALUE_BYTES 65536

typedef enum { TEXT, FLAG, AMOUNT, LIST } Kind;

typedef struct {
  OwConfigPlace  place;
  Kind           kind;
  const char    *otherwise;
} Setting;

static const char * const keys[] = {
  "sandbox_provider", "sandbox_network_profile", "sandbox_extra_hosts",
  "sandbox_openshell_any_version", "sandbox_limits.cpu", "sandbox_limits.memory",
  OW_CONFIG_PROGRAMS, NULL,
};

static const Setting settings[G_N_ELEMENTS (keys) - 1] = {
  { { NULL, -1, "sandbox_provider" }, TEXT, "none is chosen" },
  { { NULL, -1, "sandbox_network_profile" }, TEXT, "strict" },
  { { NULL, -1, "sandbox_extra_hosts" }, LIST, "none" },
  { { NULL, -1, "sandbox_openshell_any_version" }, FLAG, "false" },
  { { "sandbox_limits", -1, "cpu" }, AMOUNT, "no limit" },
  { { "sandbox_limits", -1, "memory" }, AMOUNT, "no limit" },
  { { NULL, -1, OW_CONFIG_PROGRAMS }, LIST, "none" },
};

const char * const *
ow_config_get_setting_keys (void)
{
  return keys;
}

static const Setting *
find (const char  *key,
      GError     **error)
{
  g_autofree char *all = g_strjoinv (", ", (char **) keys);

  for (gsize i = 0; i < G_N_ELEMENTS (settings); i++)
    if (strcmp (keys[i], key) == 0)
      return &settings[i];
  ow_error_setf (error, OW_ERROR_USAGE, NULL, "There is no setting \"%.80s\" of the sandbox: there "
                 "are %s", key, all);
  return NULL;
}

const char *
ow_config_describe_default (const char *key)
{
  const Setting *setting = find (key, NULL);

  return setting != NULL ? setting->otherwise : NULL;
}

/* The amount as a number of TOML where it is one. */
static char *
write_amount (const char *text)
{
  gsize digits = strspn (text, "0123456789");
  gsize rest = text[digits] == '.' ? strspn (text + digits + 1, "0123456789") : 0;
  gboolean is_number = digits > 0 && digits < 16 && (digits == 1 || text[0] != '0') &&
                       (text[digits] == '\0' || (rest > 0 && text[digits + 1 + rest] == '\0'));

  return is_number ? g_strdup (text) : ow_config_quote (text);
}

static char *
write_list (GPtrArray *items)
{
  g_autofree char *joined = NULL;

  g_ptr_array_add (items, NULL);
  joined = g_strjoinv (", ", (char **) items->pdata);
  return g_strdup_printf ("[%s]", joined);
}

static char *
write_programs (GPtrArray *programs)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < programs->len; i++)
    {
      g_autofree char *text = ow_config_programs_write (g_ptr_array_index (programs, i));

      g_ptr_array_add (items, ow_config_quote (text));
    }
  return write_list (items);
}

/* What @self has, as TOML; NULL: nothing. */
static char *
write_value (OwConfig   *self,
             const char *key)
{
  if (strcmp (key, "sandbox_provider") == 0)
    return self->provider != OW_PROVIDER_UNSET
           ? ow_config_quote (ow_provider_kind_to_string (self->provider)) : NULL;
  if (strcmp (key, "sandbox_network_profile") == 0)
    return ow_config_quote (ow_network_profile_to_string (self->profile));
  if (strcmp (key, "sandbox_extra_hosts") == 0)
    return ow_config_hosts_write (self->extra_hosts);
  if (strcmp (key, "sandbox_openshell_any_version") == 0)
    return g_strdup (self->any_version ? "true" : "false");
  if (strcmp (key, "sandbox_limits.cpu") == 0)
    return self->cpu != NULL ? write_amount (self->cpu) : NULL;
  if (strcmp (key, "sandbox_limits.memory") == 0)
    return self->memory != NULL ? write_amount (self->memory) : NULL;
  return write_programs (self->programs);
}

/* Whether that is what holds where nothing is set. */
static gboolean
is_default (OwConfig   *self,
            const char *key)
{
  if (strcmp (key, "sandbox_network_profile") == 0)
    return self->profile == OW_PROFILE_STRICT;
  if (strcmp (key, "sandbox_extra_hosts") == 0)
    return self->extra_hosts->len == 0;
  if (strcmp (key, "sandbox_openshell_any_version") == 0)
    return !self->any_version;
  return strcmp (key, OW_CONFIG_PROGRAMS) == 0 && self->programs->len == 0;
}

char *
ow_config_get_setting (OwConfig   *self,
                       const char *key)
{
  g_autofree char *value = NULL;

  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  value = find (key, NULL) != NULL && !is_default (self, key) ? write_value (self, key) : NULL;
  if (value != NULL && value[0] == '"')
    return g_strndup (value + 1, strlen (value) - 2);
  return g_steal_pointer (&value);
}

/* Entries with commas or spaces between, as the file would have them. */
static char *
split_list (const char *text)
{
  g_auto (GStrv) parts = g_strsplit_set (text, ",", -1);
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_free);

  for (char **part = parts; *part != NULL; part++)
    if (*g_strstrip (*part) != '\0')
      g_ptr_array_add (items, ow_config_quote (*part));
  return write_list (items);
}

/* What a person typed, as TOML; it may still be no value that the key can have. */
static char *
read_typed (const Setting *setting,
            const char    *text)
{
  switch (setting->kind)
    {
    case TEXT:
      return ow_config_quote (text);
    case FLAG:
      return strcmp (text, "true") == 0 || strcmp (text, "false") == 0 ? g_strdup (text)
                                                                       : ow_config_quote (text);
    case AMOUNT:
      return write_amount (text);
    case LIST:
      break;
    }
  return text[0] == '[' ? g_strdup (text) : split_list (text);
}

static gboolean
check_typed (const char  *text,
             GError     **error)
{
  const char *why = NULL;

  if (strlen (text) > MAX_VALUE_BYTES)
    why = "it is longer than 64 KiB";
  else if (!g_utf8_validate (text, -1, NULL))
    why = "it is no UTF-8";
  for (const char *p = text; why == NULL && *p != '\0'; p++)
    if (g_ascii_iscntrl (*p))
      why = "it holds a control character";
  if (why != NULL)
    ow_error_set (error, OW_ERROR_USAGE, "The value cannot be taken", why, NULL);
  return why == NULL;
}

/* What is written: the value read by the rules of the file, and then put the way that the program
 * writes it, so that nothing but a value gets in. */
static char *
make_value (const Setting  *setting,
            const char     *key,
            const char     *text,
            GError        **error)
{
  g_autofree char *typed = NULL;
  g_autofree char *line = NULL;
  g_autoptr (GBytes) content = NULL;
  g_autoptr (OwConfig) config = NULL;

  if (!check_typed (text, error))
    return NULL;
  typed = read_typed (setting, text);
  line = g_strdup_printf ("%s = %s", key, typed);
  content = g_bytes_new (line, strlen (line));
  config = ow_config_parse (NULL, content, error);
  return config != NULL ? write_value (config, key) : NULL;
}

static GBytes *
edit (const OwConfigChange *change,
      const OwConfigBefore *before,
      GBytes               *text)
{
  const OwConfigStep *step = change->data;

  /* A value that says it already keeps its form, and the comments in it. */
  if (ow_config_toml_is_at (before->toml, &step->place, step->value))
    return g_bytes_ref (text);
  return ow_config_steps_edit (step, 1, text);
}

static gboolean
proves (const OwConfigChange *change,
        const OwConfigBefore *before,
        OwConfigToml         *now)
{
  return ow_config_steps_prove (change->data, 1, before->toml, now);
}

gboolean
ow_config_set (const char  *path,
               const char  *key,
               const char  *value,
               GError     **error)
{
  const Setting *setting = find (key, error);
  g_autofree char *written = setting != NULL ? make_value (setting, key, value, error) : NULL;
  OwConfigStep step = { .value = written };
  const OwConfigChange change = { path, TRUE, &step, NULL, edit, proves };

  if (written == NULL)
    return FALSE;
  step.place = setting->place;
  return ow_config_change_apply (&change, error);
}

gboolean
ow_config_unset (const char  *path,
                 const char  *key,
                 GError     **error)
{
  const Setting *setting = find (key, error);
  OwConfigStep step = { .value = NULL };
  const OwConfigChange change = { path, FALSE, &step, NULL, edit, proves };

  if (setting == NULL)
    return FALSE;
  step.place = setting->place;
  return ow_config_change_apply (&change, error);
}
