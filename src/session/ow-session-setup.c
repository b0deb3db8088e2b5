/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-setup-private.h"

#include "base/ow-error.h"
#include "sandbox/ow-network-profile.h"

static GPtrArray *
open_folders (const char * const *names,
              GError            **error)
{
  g_autoptr (GPtrArray) folders = NULL;

  folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    {
      OwFolder *folder = ow_folder_open (names[i], error);

      if (folder == NULL)
        return NULL;
      g_ptr_array_add (folders, folder);
      /* Events are JSON, and the person has to see the folder's true name. */
      if (!g_utf8_validate (folder->path, -1, NULL))
        {
          ow_error_set (error, OW_ERROR_USAGE, "The folder cannot be used",
                        "its path is not valid UTF-8", "Rename it or choose another one.");
          return NULL;
        }
    }
  if (folders->len == 0)
    {
      ow_error_set (error, OW_ERROR_USAGE, "A session needs a folder", "none was given",
                    "Give one with --folder DIR.");
      return NULL;
    }
  if (!ow_folder_check_set (folders, error))
    return NULL;
  return g_steal_pointer (&folders);
}

static json_t *
folders_to_json (GPtrArray *folders)
{
  json_t *json = json_array ();

  for (guint i = 0; i < folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (folders, i);
      json_t *entry = json_object ();

      json_object_set_new (entry, "path", json_string (folder->path));
      json_object_set_new (entry, "read_only", json_boolean (folder->read_only));
      json_array_append_new (json, entry);
    }
  return json;
}

static json_t *
hosts_to_json (GPtrArray *hosts)
{
  json_t *json = json_array ();

  for (guint i = 0; i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);
      g_autofree char *text = g_strdup_printf ("%s:%u", host->host, (guint) host->port);

      json_array_append_new (json, json_string (text));
    }
  return json;
}

GPtrArray *
ow_session_setup_folders (const char * const *names,
                          json_t            **json,
                          GError            **error)
{
  GPtrArray *folders = open_folders (names, error);

  if (folders != NULL)
    *json = folders_to_json (folders);
  return folders;
}

OwSandbox *
ow_session_setup_sandbox (const char             *id,
                          const OwSessionOptions *options,
                          json_t                **folders,
                          json_t                **hosts,
                          GError                **error)
{
  g_autoptr (OwSandboxProvider) provider = NULL;
  OwSandbox *sandbox;
  GPtrArray *opened;
  GPtrArray *allowed;

  provider = ow_sandbox_provider_for_kind (options->provider, error);
  if (provider == NULL)
    return NULL;
  opened = ow_session_setup_folders (options->folders, folders, error);
  if (opened == NULL)
    return NULL;
  allowed = ow_network_profile_hosts (options->profile, options->extra_hosts);
  *hosts = hosts_to_json (allowed);
  sandbox = ow_sandbox_new (provider, id, opened, allowed);
  ow_sandbox_share_credentials (sandbox);
  return sandbox;
}
