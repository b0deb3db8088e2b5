/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-config-change-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-config-credentials-private.h"
#include "ow-config-edit-private.h"
#include "ow-config-splices-private.h"
#include "ow-config-toml-node-private.h"

#define KEY OW_CONFIG_CREDENTIALS

typedef struct {
  const char *name;
  GPtrArray  *fields;         /* to append; of char */
  gboolean    enable;
  GPtrArray  *private_hosts;  /* (nullable) agreed to now */
} Data;

/* The place of the entry of that name in the file, -1: it has none. */
static int
find_entry (OwConfigToml *toml,
            const char   *name)
{
  const OwConfigTomlNode *list = ow_config_toml_node_get (ow_config_toml_get_root (toml), KEY);
  guint n = ow_config_toml_node_length (list);

  for (guint i = 0; i < n; i++)
    {
      const OwConfigTomlNode *entry = ow_config_toml_node_at (list, i);
      g_autofree char *text = ow_config_toml_node_text (ow_config_toml_node_get (entry, "name"));

      if (g_strcmp0 (text, name) == 0)
        return (int) i;
    }
  return -1;
}

static guint
count_entries (OwConfigToml *toml)
{
  return ow_config_toml_node_length (ow_config_toml_node_get (ow_config_toml_get_root (toml), KEY));
}

static gboolean
check_known (const OwConfigChange  *change,
             const OwConfigBefore  *before,
             GError               **error)
{
  const Data *data = change->data;

  if (ow_config_find_credential (before->config, data->name) != NULL)
    return TRUE;
  ow_error_setf (error, OW_ERROR_USAGE, "\"openworker credential list\" shows those that are "
                 "there, and \"openworker credential add\" makes one.",
                 "There is no login \"%.80s\" in %s", data->name, change->path);
  return FALSE;
}

/* The private addresses that were agreed to, those of now among them. */
static char *
write_private_hosts (const Data           *data,
                     const OwConfigBefore *before)
{
  const OwConfigCredential *credential = ow_config_find_credential (before->config, data->name);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  for (guint i = 0; i < credential->private_hosts->len; i++)
    g_ptr_array_add (all, g_ptr_array_index (credential->private_hosts, i));
  for (guint i = 0; data->private_hosts != NULL && i < data->private_hosts->len; i++)
    if (ow_host_find_in (all, g_ptr_array_index (data->private_hosts, i)) == NULL)
      g_ptr_array_add (all, g_ptr_array_index (data->private_hosts, i));

  return ow_config_hosts_write_private (all);
}

/* The steps for an entry that is in the file; how many. */
static guint
make_steps (const Data           *data,
            const OwConfigBefore *before,
            const char           *private_hosts,
            OwConfigStep          steps[2])
{
  const OwConfigCredential *credential = ow_config_find_credential (before->config, data->name);
  const int index = find_entry (before->toml, data->name);
  guint n = 0;
  const OwConfigStep enabled = { { KEY, index, "enabled" }, data->enable ? "true" : "false" };
  const OwConfigStep agreed = { { KEY, index, "private_hosts" }, private_hosts };

  if (credential->enabled != data->enable)
    steps[n++] = enabled;
  if (data->private_hosts != NULL && data->private_hosts->len > 0)
    steps[n++] = agreed;

  return n;
}

/* The lines of a new entry for a built-in one. */
static GPtrArray *
make_fields (const Data *data,
             const char *private_hosts)
{
  GPtrArray *fields = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (fields, g_strdup_printf ("name = \"%s\"", data->name));
  g_ptr_array_add (fields, g_strdup ("enabled = true"));
  if (data->private_hosts != NULL && data->private_hosts->len > 0)
    g_ptr_array_add (fields, g_strdup_printf ("private_hosts = %s", private_hosts));

  return fields;
}

static GBytes *
edit_switched (const OwConfigChange *change,
               const OwConfigBefore *before,
               GBytes               *text)
{
  const Data *data = change->data;
  g_autofree char *private_hosts = write_private_hosts (data, before);
  g_autoptr (GPtrArray) fields = NULL;
  OwConfigStep steps[2];
  guint n;

  if (find_entry (before->toml, data->name) >= 0)
    {
      n = make_steps (data, before, private_hosts, steps);
      return ow_config_steps_edit (steps, n, text);
    }
  if (!data->enable)
    return g_bytes_ref (text);
  fields = make_fields (data, private_hosts);
  return ow_config_edit_append_table (text, before->toml, KEY, fields);
}

static gboolean
proves_switched (const OwConfigChange *change,
                 const OwConfigBefore *before,
                 OwConfigToml         *now)
{
  const Data *data = change->data;
  g_autofree char *private_hosts = write_private_hosts (data, before);
  OwConfigStep steps[2];
  guint n;

  if (find_entry (before->toml, data->name) >= 0)
    {
      n = make_steps (data, before, private_hosts, steps);
      return ow_config_steps_prove (steps, n, before->toml, now);
    }
  return ow_config_toml_equals_but (before->toml, now, KEY, -1,
                                    data->enable ? (int) count_entries (before->toml) : -1);
}

gboolean
ow_config_enable_credential (const char  *path,
                             const char  *name,
                             GPtrArray   *private_hosts,
                             GError     **error)
{
  const Data data = { .name = name, .enable = TRUE, .private_hosts = private_hosts };
  const OwConfigChange change = {
    path, TRUE, &data, check_known, edit_switched, proves_switched,
  };

  return ow_config_change_apply (&change, error);
}

gboolean
ow_config_disable_credential (const char  *path,
                              const char  *name,
                              GError     **error)
{
  const Data data = { .name = name };
  const OwConfigChange change = {
    path, FALSE, &data, check_known, edit_switched, proves_switched,
  };

  return ow_config_change_apply (&change, error);
}

/* Of all that can be wrong with one, that it is there already is what is said. */
static gboolean
check_not_built_in (const char  *name,
                    GError     **error)
{
  g_autoptr (GPtrArray) built_ins = ow_config_credentials_new ();

  for (guint i = 0; i < built_ins->len; i++)
    if (strcmp (((OwConfigCredential *) g_ptr_array_index (built_ins, i))->name, name) == 0)
      {
        ow_error_setf (error, OW_ERROR_USAGE, "Turn it on with \"openworker credential enable\", "
                       "or take another name.", "\"%s\" is a login that is built in", name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_added (const OwConfigChange  *change,
             const OwConfigBefore  *before,
             GError               **error)
{
  const Data *data = change->data;

  if (ow_config_find_credential (before->config, data->name) != NULL)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove it first, or take another name.",
                   "There is a login \"%s\" in %s already", data->name, change->path);
  else if (count_entries (before->toml) >= OW_CONFIG_MAX_CREDENTIALS)
    ow_error_setf (error, OW_ERROR_USAGE, "Remove one first.", "%s has %d logins, which is all it "
                   "can have", change->path, OW_CONFIG_MAX_CREDENTIALS);
  else
    return TRUE;
  return FALSE;
}

static GBytes *
edit_added (const OwConfigChange *change,
            const OwConfigBefore *before,
            GBytes               *text)
{
  const Data *data = change->data;

  return ow_config_edit_append_table (text, before->toml, KEY, data->fields);
}

static gboolean
proves_added (const OwConfigChange *change,
              const OwConfigBefore *before,
              OwConfigToml         *now)
{
  const int n = (int) count_entries (before->toml);

  return ow_config_toml_equals_but (before->toml, now, KEY, -1, n) &&
         find_entry (now, ((const Data *) change->data)->name) == n;
}

static char *
write_texts (const char * const *texts)
{
  GString *out = g_string_new ("[");

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      ow_config_append_quoted (out, texts[i]);
    }
  g_string_append_c (out, ']');

  return g_string_free (out, FALSE);
}

/* What was typed, read by the rules of the file. (transfer full) */
static OwConfig *
read_typed (const char          *name,
            const char          *path,
            const char * const  *hosts,
            const char * const  *private_hosts,
            gboolean             enabled,
            GError             **error)
{
  g_autofree char *quoted = ow_config_quote (name);
  g_autofree char *where = ow_config_quote (path);
  g_autofree char *listed = write_texts (hosts);
  g_autofree char *agreed = write_texts (private_hosts);
  g_autofree char *text = g_strdup_printf (
    "[[" KEY "]]\nname = %s\npath = %s\nhosts = %s\nprivate_hosts = %s\nenabled = %s\n", quoted,
    where, listed, agreed, enabled ? "true" : "false");
  g_autoptr (GBytes) content = g_bytes_new (text, strlen (text));

  return ow_config_parse (NULL, content, error);
}

gboolean
ow_config_add_credential (const char          *file,
                          const char          *name,
                          const char          *path,
                          const char * const  *hosts,
                          const char * const  *private_hosts,
                          gboolean             enabled,
                          GError             **error)
{
  g_autoptr (OwConfig) typed = NULL;
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *where = NULL;
  g_autofree char *quoted = NULL;
  g_autofree char *listed = NULL;
  g_autofree char *agreed = NULL;
  const OwConfigCredential *credential;
  const Data data = { .name = name, .fields = fields };
  const OwConfigChange change = { file, TRUE, &data, check_added, edit_added, proves_added };

  if (!check_not_built_in (name, error) ||
      (typed = read_typed (name, path, hosts, private_hosts, enabled, error)) == NULL)
    return FALSE;
  credential = ow_config_find_credential (typed, name);
  where = g_strconcat ("~/", credential->path, NULL);
  quoted = ow_config_quote (where);
  listed = ow_config_hosts_write (credential->hosts);
  agreed = ow_config_hosts_write_private (credential->private_hosts);
  g_ptr_array_add (fields, g_strdup_printf ("name = \"%s\"", credential->name));
  g_ptr_array_add (fields, g_strdup_printf ("enabled = %s", enabled ? "true" : "false"));
  g_ptr_array_add (fields, g_strdup_printf ("path = %s", quoted));
  g_ptr_array_add (fields, g_strdup_printf ("hosts = %s", listed));
  if (credential->private_hosts->len > 0)
    g_ptr_array_add (fields, g_strdup_printf ("private_hosts = %s", agreed));

  return ow_config_change_apply (&change, error);
}

static GBytes *
edit_removed (const OwConfigChange *change,
              const OwConfigBefore *before,
              GBytes               *text)
{
  const int index = find_entry (before->toml, ((const Data *) change->data)->name);

  return index >= 0 ? ow_config_edit_remove_table (text, before->toml, KEY, (guint) index)
                    : g_bytes_ref (text);
}

static gboolean
proves_removed (const OwConfigChange *change,
                const OwConfigBefore *before,
                OwConfigToml         *now)
{
  const char *name = ((const Data *) change->data)->name;

  return ow_config_toml_equals_but (before->toml, now, KEY, find_entry (before->toml, name), -1) &&
         find_entry (now, name) < 0;
}

gboolean
ow_config_remove_credential (const char  *path,
                             const char  *name,
                             GError     **error)
{
  const Data data = { .name = name };
  const OwConfigChange change = {
    path, FALSE, &data, check_known, edit_removed, proves_removed,
  };

  return ow_config_change_apply (&change, error);
}
