/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/ow-config-credentials.h"
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

static guint
count (OwConfigToml *toml,
       const char   *list)
{
  guint n, line;

  ow_config_toml_count_tables (toml, list, &n, &line);
  return n;
}

/* An entry more in a list of tables, and out again. */
static void
add_and_remove (GBytes       *text,
                OwConfigToml *toml,
                const char   *list,
                guint         n)
{
  g_autoptr (GPtrArray) fields = g_ptr_array_new ();
  g_autoptr (GBytes) added = NULL;
  g_autoptr (GBytes) removed = NULL;
  g_autoptr (OwConfigToml) more = NULL;
  g_autoptr (OwConfigToml) back = NULL;

  g_ptr_array_add (fields, (gpointer) "name = \"fuzz\"");
  g_ptr_array_add (fields, (gpointer) "path = \"~/\\\"m\\\\\"");
  added = ow_config_edit_append_table (text, toml, list, fields);
  if (added == NULL)
    abort ();
  more = check (toml, added, list, -1, (int) n);
  if (!ow_config_toml_is_inline (toml, list) && g_bytes_get_size (text) > 0 &&
      memcmp (g_bytes_get_data (added, NULL), g_bytes_get_data (text, NULL),
              g_bytes_get_size (text)) != 0)
    abort ();
  removed = ow_config_edit_remove_table (added, more, list, n);
  if (removed == NULL)
    abort ();
  back = check (toml, removed, NOWHERE, -1, -1);
}

/* A value at a place, and none there, whatever form its table has. */
static void
set_and_unset (GBytes              *text,
               OwConfigToml        *toml,
               const OwConfigPlace *place,
               const char          *value)
{
  g_autoptr (GBytes) set = ow_config_edit_set_value (text, toml, place, value);
  g_autoptr (OwConfigToml) with = set != NULL ? parse (set) : NULL;
  g_autoptr (GBytes) unset = NULL;
  g_autoptr (OwConfigToml) without = NULL;

  if (with == NULL || !ow_config_toml_is_at (with, place, value) ||
      !ow_config_toml_equals_but_at (toml, with, place, 1))
    abort ();
  unset = ow_config_edit_unset_value (set, with, place);
  without = unset != NULL ? parse (unset) : NULL;
  if (without == NULL || !ow_config_toml_is_at (without, place, NULL) ||
      !ow_config_toml_equals_but_at (toml, without, place, 1))
    abort ();
}

/* A settings file, which is edited in each way that there is. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  g_autoptr (GBytes) text = g_bytes_new (data, size);
  g_autoptr (OwConfig) config = ow_config_parse ("f", text, NULL);
  g_autoptr (OwConfigToml) toml = config != NULL ? parse (text) : NULL;
  const OwConfigPlace provider = { NULL, -1, "sandbox_provider" };
  const OwConfigPlace hosts = { NULL, -1, "sandbox_extra_hosts" };
  const OwConfigPlace memory = { "sandbox_limits", -1, "memory" };
  g_autoptr (GBytes) more = NULL;
  guint n;

  if (toml == NULL)
    return 0;

  n = ow_config_get_models (config)->len;
  if (ow_config_find_model (config, "fuzz") == NULL)
    add_and_remove (text, toml, "models", n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GBytes) removed = ow_config_edit_remove_table (text, toml, "models", i);

      if (removed == NULL)
        abort ();
      ow_config_toml_free (check (toml, removed, "models", (int) i, -1));
    }
  n = count (toml, "sandbox_credentials");
  if (ow_config_find_credential (config, "fuzz") == NULL)
    add_and_remove (text, toml, "sandbox_credentials", n);
  for (guint i = 0; i < n; i++)
    {
      const OwConfigPlace enabled = { "sandbox_credentials", (int) i, "enabled" };

      set_and_unset (text, toml, &enabled, "true");
    }
  set_and_unset (text, toml, &provider, "\"direct\"");
  set_and_unset (text, toml, &hosts, "[\"a.example\", { host = \"b.example\", private = true }]");
  set_and_unset (text, toml, &memory, "\"4Gi\"");
  more = ow_config_edit_add_item (text, toml, "sandbox_extra_hosts", "\"fuzz.example\"");
  if (more == NULL)
    abort ();
  ow_config_toml_free (check (toml, more, "sandbox_extra_hosts", -1, 0));

  return 0;
}
