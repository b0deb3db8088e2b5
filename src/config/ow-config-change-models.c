/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-change-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-config-edit-private.h"
#include "ow-config-splices-private.h"
#include "ow-model-settings-private.h"

#define MODELS "models"

/* The place of the model of that name, or how many there are. */
static guint
find_model (const OwConfigBefore *before,
            const char           *name)
{
  GPtrArray *models = ow_config_get_models (before->config);

  for (guint i = 0; i < models->len; i++)
    if (strcmp (((OwModelSettings *) g_ptr_array_index (models, i))->name, name) == 0)
      return i;

  return models->len;
}

static gboolean
check_settings (const OwModelSettings  *settings,
                GError                **error)
{
  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    {
      const OwModelSettingsField *field = &ow_model_settings_fields[i];
      g_autofree char *why = ow_model_settings_find_fault (
        field, *ow_model_settings_field (settings, field));
      g_autofree char *shown = why != NULL ? ow_text_visible (why) : NULL;

      if (why != NULL)
        {
          ow_error_set (error, OW_ERROR_USAGE, "Cannot add this model", shown, NULL);
          return FALSE;
        }
    }

  return TRUE;
}

static gboolean
check_added (const OwConfigChange  *change,
             const OwConfigBefore  *before,
             GError               **error)
{
  const OwModelSettings *settings = change->data;
  guint n = ow_config_get_models (before->config)->len;

  if (find_model (before, settings->name) < n)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove it first, or take another name.",
                   "There is a model \"%s\" in %s already", settings->name, change->path);
  else if (n >= OW_CONFIG_MAX_MODELS)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove one first.", "%s has %d models, which is all "
                   "it can have", change->path, OW_CONFIG_MAX_MODELS);
  else
    return TRUE;

  return FALSE;
}

static GBytes *
edit_added (const OwConfigChange *change,
            const OwConfigBefore *before,
            GBytes               *text)
{
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    {
      const OwModelSettingsField *field = &ow_model_settings_fields[i];
      const char *value = *ow_model_settings_field (change->data, field);
      g_autofree char *quoted = value != NULL ? ow_config_quote (value) : NULL;

      if (value != NULL)
        g_ptr_array_add (fields, g_strdup_printf ("%s = %s", field->key, quoted));
    }

  return ow_config_edit_append_table (text, before->toml, MODELS, fields);
}

static gboolean
proves_added (const OwConfigChange *change,
              const OwConfigBefore *before,
              OwConfigToml         *now)
{
  return ow_config_toml_equals_but (before->toml, now, MODELS, -1,
                                    (int) ow_config_get_models (before->config)->len);
}

gboolean
ow_config_add_model (const char             *path,
                     const OwModelSettings  *settings,
                     GError                **error)
{
  const OwConfigChange change = {
    path, TRUE, settings, check_added, edit_added, proves_added,
  };

  return check_settings (settings, error) && ow_config_change_apply (&change, error);
}

static gboolean
check_removed (const OwConfigChange  *change,
               const OwConfigBefore  *before,
               GError               **error)
{
  if (find_model (before, change->data) < ow_config_get_models (before->config)->len)
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE, "\"openworker model list\" shows those that are there.",
                 "There is no model \"%.80s\" in %s", (const char *) change->data, change->path);
  return FALSE;
}

static GBytes *
edit_removed (const OwConfigChange *change,
              const OwConfigBefore *before,
              GBytes               *text)
{
  return ow_config_edit_remove_table (text, before->toml, MODELS,
                                      find_model (before, change->data));
}

static gboolean
proves_removed (const OwConfigChange *change,
                const OwConfigBefore *before,
                OwConfigToml         *now)
{
  return ow_config_toml_equals_but (before->toml, now, MODELS,
                                    (int) find_model (before, change->data), -1);
}

gboolean
ow_config_remove_model (const char  *path,
                        const char  *name,
                        GError     **error)
{
  const OwConfigChange change = {
    path, FALSE, name, check_removed, edit_removed, proves_removed,
  };

  return ow_config_change_apply (&change, error);
}
