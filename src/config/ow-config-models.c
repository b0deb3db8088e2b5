/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-model-settings.h"

#include <string.h>

#include "ow-config-private.h"
#include "ow-model-settings-private.h"

#define KEY "models"

static gboolean
read_field (OwModelSettings             *settings,
            const OwModelSettingsField  *field,
            OwConfigToml                *toml,
            guint                        index,
            const char                  *path,
            GError                     **error)
{
  char **value = ow_model_settings_field (settings, field);
  g_autofree char *why = NULL;
  guint line = 0;
  OwConfigTomlState state = ow_config_toml_get_table_text (toml, KEY, index, field->key, value,
                                                           &line);

  if (state == OW_CONFIG_TOML_WRONG_TYPE)
    why = g_strdup_printf ("%s of a model is a text", field->key);
  else
    why = ow_model_settings_find_fault (field, *value);

  return why == NULL || ow_config_fail (path, line, why, error);
}

static gboolean
read_model (OwConfig      *self,
            OwConfigToml  *toml,
            guint          index,
            const char    *path,
            GError       **error)
{
  g_autoptr (OwModelSettings) settings = g_new0 (OwModelSettings, 1);
  g_autofree char *name = NULL;
  g_autofree char *why = NULL;
  guint line = 0;

  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    if (!read_field (settings, &ow_model_settings_fields[i], toml, index, path, error))
      return FALSE;

  if (ow_config_find_model (self, settings->name) != NULL)
    {
      ow_config_toml_get_table_text (toml, KEY, index, "name", &name, &line);
      why = g_strdup_printf ("there are two models with the name \"%s\"", settings->name);
      return ow_config_fail (path, line, why, error);
    }
  g_ptr_array_add (self->models, g_steal_pointer (&settings));

  return TRUE;
}

gboolean
ow_config_models_read (OwConfig      *self,
                       OwConfigToml  *toml,
                       const char    *path,
                       GError       **error)
{
  guint n;
  guint line = 0;
  g_autofree char *why = NULL;
  OwConfigTomlState state = ow_config_toml_count_tables (toml, KEY, &n, &line);

  if (state == OW_CONFIG_TOML_ABSENT)
    return TRUE;
  if (state == OW_CONFIG_TOML_WRONG_TYPE)
    return ow_config_fail (path, line, "models is a list of tables, each of them headed "
                           "[[models]]", error);
  if (n > OW_CONFIG_MAX_MODELS)
    {
      why = g_strdup_printf ("there are more than %d models", OW_CONFIG_MAX_MODELS);
      return ow_config_fail (path, line, why, error);
    }

  for (guint i = 0; i < n; i++)
    if (!read_model (self, toml, i, path, error))
      return FALSE;

  return TRUE;
}

GPtrArray *
ow_config_get_models (OwConfig *self)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  return self->models;
}

const OwModelSettings *
ow_config_find_model (OwConfig   *self,
                      const char *name)
{
  g_return_val_if_fail (OW_IS_CONFIG (self), NULL);

  for (guint i = 0; i < self->models->len; i++)
    {
      const OwModelSettings *settings = g_ptr_array_index (self->models, i);

      if (g_strcmp0 (settings->name, name) == 0)
        return settings;
    }

  return NULL;
}
