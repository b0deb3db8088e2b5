/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-gh-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "ow-credential-yaml-private.h"

#define MAX_SHOWN_HOSTS 16

/* A token stands with the host, and since gh 2.40 with each of its users too. */
static gboolean
has_token (const OwCredentialYaml *host)
{
  const OwCredentialYaml *users = ow_credential_yaml_get (host, "users");

  if (ow_credential_yaml_get_text (host, "oauth_token") != NULL)
    return TRUE;
  if (!ow_credential_yaml_is (users, OW_CREDENTIAL_YAML_MAP))
    return FALSE;
  for (guint i = 0; i < users->items->len; i++)
    if (ow_credential_yaml_get_text (g_ptr_array_index (users->items, i), "oauth_token") != NULL)
      return TRUE;

  return FALSE;
}

/* Whether the entry opens the API of @name: github.com's is api.github.com. */
static gboolean
is_listed (OwCredentialFinding *finding,
           const char          *name)
{
  g_autoptr (OwHost) host = ow_host_new (name, 443);

  for (guint i = 0; i < finding->entry->hosts->len; i++)
    if (ow_host_covers (g_ptr_array_index (finding->entry->hosts, i), host))
      return TRUE;

  return FALSE;
}

static void
take_host (OwCredentialFinding    *finding,
           const char             *name,
           const OwCredentialYaml *host)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);
  g_autofree char *shown = ow_credential_finding_show (name);
  gboolean listed = is_listed (finding, lower);

  if (!has_token (host))
    ow_credential_finding_add_note (finding, "%s: login is in the keyring, nothing to copy", shown);
  else if (!listed)
    ow_credential_finding_add_note (finding, "%s is not opened until it is among "
                                    "sandbox_extra_hosts", shown);
  else
    ow_credential_finding_add_work (finding, "gh at %s", shown);
}

gboolean
ow_credential_gh_read (OwCredentialFinding *finding,
                       GBytes              *bytes,
                       GError             **error)
{
  g_autoptr (OwCredentialYaml) root = NULL;

  /* gh leaves an empty file, or an empty map, behind a logout. */
  if (g_bytes_get_size (bytes) == 0)
    {
      ow_credential_finding_add_note (finding, "gh is not logged in");
      return TRUE;
    }
  root = ow_credential_yaml_parse (bytes, error);
  if (root == NULL)
    return FALSE;
  if (ow_credential_yaml_is (root, OW_CREDENTIAL_YAML_TEXT) && root->text != NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, "line 1: it has no hosts", NULL, NULL);
      return FALSE;
    }
  if (!ow_credential_yaml_is (root, OW_CREDENTIAL_YAML_MAP) || root->items->len == 0)
    ow_credential_finding_add_note (finding, "gh is not logged in");
  else
    for (guint i = 0; i < root->items->len && i < MAX_SHOWN_HOSTS; i++)
      take_host (finding, g_ptr_array_index (root->keys, i), g_ptr_array_index (root->items, i));

  return TRUE;
}
