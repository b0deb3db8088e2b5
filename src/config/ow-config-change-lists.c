/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-hosts.h"
#include "config/ow-config-programs.h"
#include "ow-config-change-private.h"

#include "base/ow-error.h"
#include "ow-config-credentials-private.h"
#include "ow-config-edit-private.h"
#include "ow-config-splices-private.h"

#define HOSTS "sandbox_extra_hosts"

/* An item that comes first in a list. */
typedef struct {
  const char *key;
  const char *item;  /* TOML */
} Item;

static GBytes *
edit_added (const OwConfigChange *change,
            const OwConfigBefore *before,
            GBytes               *text)
{
  const Item *item = change->data;

  return ow_config_edit_add_item (text, before->toml, item->key, item->item);
}

static gboolean
proves_added (const OwConfigChange *change,
              const OwConfigBefore *before,
              OwConfigToml         *now)
{
  const Item *item = change->data;

  return ow_config_toml_equals_but (before->toml, now, item->key, -1, 0) &&
         ow_config_toml_is_first (now, item->key, item->item);
}

static gboolean
add_item (const char  *path,
          const char  *key,
          const char  *text,
          GError     **error)
{
  const Item item = { key, text };
  const OwConfigChange change = { path, TRUE, &item, NULL, edit_added, proves_added };

  return ow_config_change_apply (&change, error);
}

/* FALSE also when the settings cannot be read: the change itself finds out why. */
static gboolean
has_extra_host (const char   *path,
                const OwHost *host)
{
  g_autoptr (OwConfig) config = ow_config_load (path, NULL);
  GPtrArray *hosts = config != NULL ? ow_config_get_extra_hosts (config) : NULL;

  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    {
      const OwHost *other = g_ptr_array_index (hosts, i);

      if (ow_host_equal (other, host) && (other->private || !host->private))
        return TRUE;
    }

  return FALSE;
}

gboolean
ow_config_add_extra_host (const char    *path,
                          const OwHost  *host,
                          GError       **error)
{
  g_autofree char *text = ow_host_to_text (host);
  g_autofree char *quoted = ow_config_quote (text);
  g_autofree char *item = host->private ? g_strdup_printf ("{ host = %s, private = true }", quoted)
                                        : g_strdup (quoted);

  return has_extra_host (path, host) || add_item (path, HOSTS, item, error);
}

gboolean
ow_config_add_program (const char  *path,
                       const char  *folder,
                       GError     **error)
{
  g_autoptr (OwConfig) config = ow_config_load (path, NULL);
  g_autofree char *text = ow_config_programs_write (folder);
  g_autofree char *quoted = ow_config_quote (text);

  return (config != NULL && ow_config_programs_find (config, folder) >= 0) ||
         add_item (path, OW_CONFIG_PROGRAMS, quoted, error);
}

static gboolean
check_removed (const OwConfigChange  *change,
               const OwConfigBefore  *before,
               GError               **error)
{
  if (ow_config_programs_find (before->config, change->data) >= 0)
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE,
                 "\"openworker sandbox programs\" shows those that are shared.",
                 "%s is not shared by %s", (const char *) change->data, change->path);
  return FALSE;
}

static GBytes *
edit_removed (const OwConfigChange *change,
              const OwConfigBefore *before,
              GBytes               *text)
{
  return ow_config_edit_remove_text (text, before->toml, OW_CONFIG_PROGRAMS,
                                     (guint) ow_config_programs_find (before->config,
                                                                      change->data));
}

static gboolean
proves_removed (const OwConfigChange *change,
                const OwConfigBefore *before,
                OwConfigToml         *now)
{
  return ow_config_toml_equals_but (before->toml, now, OW_CONFIG_PROGRAMS,
                                    ow_config_programs_find (before->config, change->data), -1);
}

gboolean
ow_config_remove_program (const char  *path,
                          const char  *folder,
                          GError     **error)
{
  const OwConfigChange change = {
    path, TRUE, folder, check_removed, edit_removed, proves_removed,
  };

  return ow_config_change_apply (&change, error);
}
