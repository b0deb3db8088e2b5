/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-config-edit-private.h"
#include "ow-config-private.h"

#define NOWHERE "\x01"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static OwConfigToml *
parse (GBytes *content)
{
  gsize length = g_bytes_get_size (content);
  g_autofree char *why = NULL;
  guint line;

  return ow_config_toml_parse (length > 0 ? g_bytes_get_data (content, NULL) : "", length, &line,
                               &why);
}

/* The new text has to say what the old one said, but for the entry. */
static OwConfigToml *
check (OwConfigToml *before,
       GBytes       *content,
       const char   *key,
       int           leave,
       int           new_leave)
{
  OwConfigToml *after = parse (content);

  if (after == NULL || !ow_config_toml_equals_but (before, after, key, leave, new_leave))
    abort ();
  return after;
}

static void
add_and_remove (GBytes       *text,
                OwConfigToml *toml,
                guint         n)
{
  const OwModelSettings settings = {
    (char *) "fuzz", (char *) "openai", (char *) "\"m\\", (char *) "http://a", NULL, (char *) "",
  };
  g_autoptr (GBytes) added = ow_config_edit_append_model (text, toml, &settings);
  g_autoptr (GBytes) removed = NULL;
  g_autoptr (OwConfigToml) more = NULL;
  g_autoptr (OwConfigToml) back = NULL;

  if (added == NULL)
    abort ();
  more = check (toml, added, "models", -1, (int) n);
  if (!ow_config_toml_is_inline (toml, "models") && g_bytes_get_size (text) > 0 &&
      memcmp (g_bytes_get_data (added, NULL), g_bytes_get_data (text, NULL),
              g_bytes_get_size (text)) != 0)
    abort ();
  removed = ow_config_edit_remove_model (added, more, n);
  if (removed == NULL)
    abort ();
  back = check (toml, removed, NOWHERE, -1, -1);
}

/* A settings file, which is edited in each way that there is. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (GBytes) text = g_bytes_new (data, size);
  g_autoptr (OwConfig) config = ow_config_parse ("f", text, NULL);
  g_autoptr (OwConfigToml) toml = config != NULL ? parse (text) : NULL;
  g_autoptr (GBytes) set = NULL;
  guint n;

  if (toml == NULL)
    return 0;

  n = ow_config_get_models (config)->len;
  if (ow_config_find_model (config, "fuzz") == NULL)
    add_and_remove (text, toml, n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GBytes) removed = ow_config_edit_remove_model (text, toml, i);

      if (removed == NULL)
        abort ();
      ow_config_toml_free (check (toml, removed, "models", (int) i, -1));
    }
  set = ow_config_edit_set_text (text, toml, "sandbox_provider", "direct");
  if (set == NULL)
    abort ();
  ow_config_toml_free (check (toml, set, "sandbox_provider", -1, -1));

  return 0;
}
