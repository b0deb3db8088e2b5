/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#include "base/ow-file.h"

#define WHAT_GATEWAY  "The OpenShell gateway cannot be asked"
#define METADATA_MAX  65536
#define SYSTEM_PLACE  "/etc/openshell/gateways"

void
ow_openshell_gateway_free (OwOpenshellGateway *gateway)
{
  if (gateway == NULL)
    return;

  g_free (gateway->driver);
  g_free (gateway->driver_version);
  g_free (gateway->version);
  g_free (gateway);
}

/* -1: not told there. */
static int
read_is_remote (const char *folder,
                const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, "metadata.json", NULL);
  g_autoptr (GBytes) bytes = ow_file_read (path, METADATA_MAX, NULL);
  char reason[OW_WIRE_ERROR_SIZE];
  json_t *root;
  int remote;

  if (bytes == NULL)
    return -1;
  root = ow_json_parse (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), reason);
  remote = ow_json_get_bool (root, "is_remote", -1);
  json_decref (root);
  return remote;
}

static gboolean
is_loopback (const char *server)
{
  g_autoptr (GUri) uri = g_uri_parse (server, G_URI_FLAGS_NONE, NULL);
  const char *host = uri != NULL ? g_uri_get_host (uri) : NULL;
  g_autoptr (GInetAddress) address = NULL;

  if (host == NULL)
    return FALSE;
  if (g_ascii_strcasecmp (host, "localhost") == 0)
    return TRUE;
  address = g_inet_address_new_from_string (host);
  return address != NULL && g_inet_address_get_is_loopback (address);
}

/* The registration says it; a tunnel to a remote gateway has an address of this machine. */
static gboolean
is_remote (OwOpenshell *self,
           const char  *name,
           const char  *server,
           const char  *driver)
{
  char **environment = (char **) ow_openshell_get_environment (self);
  const char *config = g_environ_getenv (environment, "XDG_CONFIG_HOME");
  g_autofree char *of_home = g_build_filename (g_environ_getenv (environment, "HOME"), ".config",
                                               NULL);
  g_autofree char *folder = g_build_filename (config != NULL ? config : of_home, "openshell",
                                              "gateways", NULL);
  int told = -1;

  if (strcmp (driver, "kubernetes") == 0)
    return TRUE;
  if (*name != '\0' && *name != '.' && strchr (name, '/') == NULL)
    {
      told = read_is_remote (folder, name);
      if (told < 0)
        told = read_is_remote (SYSTEM_PLACE, name);
    }
  return told >= 0 ? told > 0 : !is_loopback (server);
}

static OwOpenshellGateway *
read_gateway (OwOpenshell *self,
              json_t      *root,
              GError     **error)
{
  json_t *first = json_array_get (json_object_get (root, "compute_drivers"), 0);
  json_t *capabilities = json_object_get (first, "capabilities");
  const char *driver = ow_json_get_string (first, "name", NULL);
  const char *version = ow_json_get_string (capabilities, "driver_version", NULL);
  OwOpenshellGateway *gateway;

  if (driver == NULL || *driver == '\0')
    {
      g_propagate_error (error, ow_openshell_call_error (WHAT_GATEWAY,
                                                         OW_OPENSHELL_FAULT_UNREADABLE,
                                                         "it names no compute driver"));
      return NULL;
    }
  gateway = g_new0 (OwOpenshellGateway, 1);
  gateway->driver = ow_openshell_text_plain (driver, -1);
  gateway->driver_version = version != NULL ? ow_openshell_text_plain (version, -1) : NULL;
  gateway->version = ow_openshell_text_plain (ow_json_get_string (root, "version", ""), -1);
  gateway->remote = is_remote (self, ow_json_get_string (root, "gateway", ""),
                               ow_json_get_string (root, "server", ""), driver);
  return gateway;
}

static void
on_gateway (GTask                   *task,
            const OwOpenshellAnswer *answer)
{
  OwOpenshellGateway *gateway = NULL;
  GError *error = NULL;
  json_t *root;

  if (answer->status != 0)
    {
      g_task_return_error (task, ow_openshell_call_error_of (WHAT_GATEWAY, answer));
      return;
    }
  root = ow_openshell_call_json (WHAT_GATEWAY, answer, &error);
  if (root != NULL)
    gateway = read_gateway (g_task_get_source_object (task), root, &error);
  json_decref (root);
  if (gateway != NULL)
    g_task_return_pointer (task, gateway, (GDestroyNotify) ow_openshell_gateway_free);
  else
    g_task_return_error (task, error);
}

void
ow_openshell_gateway_async (OwOpenshell         *self,
                            GCancellable        *cancellable,
                            GAsyncReadyCallback  callback,
                            gpointer             user_data)
{
  static const char * const arguments[] = { "gateway", "info", "-o", "json", NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_GATEWAY, .answer = on_gateway,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  GTask *task = ow_openshell_call_task (self, ow_openshell_gateway_async, cancellable, callback,
                                        user_data);

  ow_openshell_call_run (task, &call);
}

OwOpenshellGateway *
ow_openshell_gateway_finish (OwOpenshell   *self,
                             GAsyncResult  *result,
                             GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
