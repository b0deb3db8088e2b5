/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-model-settings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "ow-config-private.h"
#include "ow-model-settings-private.h"

gboolean
ow_config_add_model (const char             *path,
                     const OwModelSettings  *settings,
                     GError                **error)
{
  g_autoptr (OwConfig) config = ow_config_load (path, error);
  g_autofree char *dir = g_path_get_dirname (path);
  g_autoptr (GBytes) old = NULL;
  g_autoptr (GBytes) content = NULL;
  GString *text;

  if (config == NULL || !ow_paths_ensure (dir, error))
    return FALSE;
  if (ow_config_find_model (config, settings->name) != NULL)
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "There is a model %s already", settings->name);
      return FALSE;
    }

  old = g_file_test (path, G_FILE_TEST_EXISTS)
        ? ow_file_read (path, OW_CONFIG_MAX_BYTES, error) : g_bytes_new (NULL, 0);
  if (old == NULL)
    return FALSE;
  text = g_string_new_len (g_bytes_get_data (old, NULL), (gssize) g_bytes_get_size (old));
  g_string_append (text, "\n[[models]]\n");
  for (guint i = 0; i < OW_MODEL_SETTINGS_N_FIELDS; i++)
    {
      const OwModelSettingsField *field = &ow_model_settings_fields[i];
      const char *value = *ow_model_settings_field (settings, field);

      if (value != NULL)
        g_string_append_printf (text, "%s = \"%s\"\n", field->key, value);
    }
  content = g_string_free_to_bytes (text);

  return ow_file_write_atomic (path, content, 0600, error);
}

gboolean
ow_config_remove_model (const char  *path,
                        const char  *name,
                        GError     **error)
{
  ow_error_setf (error, OW_ERROR_USAGE, NULL, "There is no model %s", name);
  return FALSE;
}
