/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-change-private.h"

#include "base/ow-error.h"
#include "ow-config-edit-private.h"
#include "ow-config-splices-private.h"

GBytes *
ow_config_steps_edit (const OwConfigStep *steps,
                      guint               n,
                      GBytes             *text)
{
  g_autoptr (GBytes) now = g_bytes_ref (text);

  /* Each has the text that the one before has made, so that its places are right. */
  for (guint i = 0; i < n && now != NULL; i++)
    {
      g_autoptr (OwConfigToml) toml = ow_config_change_parse (now);
      GBytes *next = NULL;

      if (toml != NULL && steps[i].value != NULL)
        next = ow_config_edit_set_value (now, toml, &steps[i].place, steps[i].value);
      else if (toml != NULL)
        next = ow_config_edit_unset_value (now, toml, &steps[i].place);
      g_bytes_unref (now);
      now = next;
    }

  return g_steal_pointer (&now);
}

gboolean
ow_config_steps_prove (const OwConfigStep *steps,
                       guint               n,
                       OwConfigToml       *before,
                       OwConfigToml       *now)
{
  g_autofree OwConfigPlace *places = g_new (OwConfigPlace, n);

  for (guint i = 0; i < n; i++)
    {
      places[i] = steps[i].place;
      if (!ow_config_toml_is_at (now, &steps[i].place, steps[i].value))
        return FALSE;
    }

  return ow_config_toml_equals_but_at (before, now, places, n);
}

static gboolean
check_text (const OwConfigChange  *change,
            const OwConfigBefore  *before,
            GError               **error)
{
  const OwConfigStep *step = change->data;
  g_autofree char *old = NULL;
  guint line;

  if (ow_config_toml_get_text (before->toml, step->place.key, &old, &line) !=
      OW_CONFIG_TOML_WRONG_TYPE)
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE, "Edit the file by hand.",
                 "Cannot set %s in %s: line %u has something there that is no text",
                 step->place.key, change->path, line);
  return FALSE;
}

static GBytes *
edit_text (const OwConfigChange *change,
           const OwConfigBefore *before,
           GBytes               *text)
{
  return ow_config_steps_edit (change->data, 1, text);
}

static gboolean
proves_text (const OwConfigChange *change,
             const OwConfigBefore *before,
             OwConfigToml         *now)
{
  return ow_config_steps_prove (change->data, 1, before->toml, now);
}

gboolean
ow_config_change_text (const char  *path,
                       const char  *key,
                       const char  *value,
                       GError     **error)
{
  g_autofree char *quoted = ow_config_quote (value);
  const OwConfigStep step = { { NULL, -1, key }, quoted };
  const OwConfigChange change = { path, TRUE, &step, check_text, edit_text, proves_text };

  return ow_config_change_apply (&change, error);
}
