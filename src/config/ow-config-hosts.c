/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-hosts.h"

#include "ow-config-credentials-private.h"
#include "ow-config-private.h"
#include "ow-config-splices-private.h"

#define FORM "a list such as [\"example.com\", \"example.org:8443\", " \
             "{ host = \"git.corp.example:8443\", private = true }]"

static gboolean
add (GPtrArray               *hosts,
     const OwConfigTomlNode  *node,
     const char              *text,
     gboolean                 private,
     const char              *path,
     GError                 **error)
{
  g_autoptr (GError) reason = NULL;
  OwHost *host = ow_host_parse_as (text, private ? OW_HOST_PRIVATE : OW_HOST_NAME, &reason);

  if (host == NULL)
    return ow_config_fail (path, ow_config_toml_node_line (node), reason->message, error);
  g_ptr_array_add (hosts, host);
  return TRUE;
}

static gboolean
read_table (const OwConfigTomlNode  *node,
            const char              *what,
            GPtrArray               *hosts,
            const char              *path,
            GError                 **error)
{
  const OwConfigTomlNode *private = ow_config_toml_node_get (node, "private");
  g_autofree char *text = ow_config_toml_node_text (ow_config_toml_node_get (node, "host"));
  g_autofree char *why = NULL;

  if (text == NULL)
    why = g_strdup_printf ("an entry of %s needs a host, a text", what);
  else if (private != NULL && ow_config_toml_node_kind (private) != OW_CONFIG_TOML_FLAG)
    why = g_strdup_printf ("private of an entry of %s is true or false, without quotes", what);
  if (why != NULL)
    return ow_config_fail (path, ow_config_toml_node_line (node), why, error);

  return add (hosts, node, text, ow_config_toml_node_flag (private), path, error);
}

static gboolean
read_list (const OwConfigTomlNode  *node,
           const char              *what,
           gboolean                 private,
           GPtrArray               *hosts,
           const char              *path,
           GError                 **error)
{
  const OwConfigTomlNode *at = node;
  g_autofree char *why = NULL;

  if (node == NULL)
    return TRUE;
  if (ow_config_toml_node_kind (node) == OW_CONFIG_TOML_LIST)
    for (guint i = 0; (at = ow_config_toml_node_at (node, i)) != NULL; i++)
      {
        g_autofree char *text = ow_config_toml_node_text (at);

        if (i >= OW_CONFIG_MAX_HOSTS)
          {
            why = g_strdup_printf ("there are more than %d entries in %s", OW_CONFIG_MAX_HOSTS,
                                   what);
            break;
          }
        if (text != NULL)
          {
            if (!add (hosts, at, text, private, path, error))
              return FALSE;
          }
        else if (private || ow_config_toml_node_kind (at) != OW_CONFIG_TOML_TABLE)
          break;
        else if (!read_table (at, what, hosts, path, error))
          return FALSE;
      }
  if (at == NULL)
    return TRUE;

  if (why == NULL)
    why = g_strdup_printf ("%s is %s", what, private ? "a list of texts, such as "
                           "[\"10.0.0.5:6443\"]" : FORM);
  return ow_config_fail (path, ow_config_toml_node_line (at), why, error);
}

gboolean
ow_config_hosts_read (const OwConfigTomlNode  *node,
                      const char              *what,
                      GPtrArray               *hosts,
                      const char              *path,
                      GError                 **error)
{
  return read_list (node, what, FALSE, hosts, path, error);
}

gboolean
ow_config_hosts_read_private (const OwConfigTomlNode  *node,
                              GPtrArray               *hosts,
                              const char              *path,
                              GError                 **error)
{
  return read_list (node, "private_hosts", TRUE, hosts, path, error);
}

static char *
write_list (GPtrArray *hosts,
            gboolean   marked)
{
  GString *out = g_string_new ("[");

  for (guint i = 0; i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);
      g_autofree char *text = ow_host_to_text (host);
      g_autofree char *quoted = ow_config_quote (text);

      g_string_append_printf (out, marked && host->private ? "%s{ host = %s, private = true }"
                                                           : "%s%s", i > 0 ? ", " : "", quoted);
    }
  g_string_append_c (out, ']');

  return g_string_free (out, FALSE);
}

char *
ow_config_hosts_write (GPtrArray *hosts)
{
  return write_list (hosts, TRUE);
}

char *
ow_config_hosts_write_private (GPtrArray *hosts)
{
  return write_list (hosts, FALSE);
}
