/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-ca-environment-private.h"

#include <string.h>

#define MAX_VALUE 1024

static const char * const names[] = {
  "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
  "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "npm_config_cafile", "GIT_SSL_CAINFO",
  "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
};

/* What ow-bubblewrap-args.c mounts of certificates. */
static const char * const places[] = {
  "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
  "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
};

/* Without a way back up, and with nothing that is no part of such a name. */
static gboolean
is_plain (const char *path)
{
  if (strlen (path) > MAX_VALUE || strstr (path, "..") != NULL)
    return FALSE;
  for (; *path != '\0'; path++)
    if (!g_ascii_isalnum (*path) && strchr ("/._-+", *path) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
is_shown (const char *path)
{
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      gsize length = strlen (places[i]);

      if (strncmp (path, places[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
        return TRUE;
    }
  return FALSE;
}

char **
ow_ca_environment_pick (const char * const *environment)
{
  GPtrArray *picked = g_ptr_array_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *value = g_environ_getenv ((char **) environment, names[i]);

      if (value == NULL || !is_plain (value) || !is_shown (value))
        continue;
      g_ptr_array_add (picked, g_strdup (names[i]));
      g_ptr_array_add (picked, g_strdup (value));
    }
  g_ptr_array_add (picked, NULL);
  return (char **) g_ptr_array_free (picked, FALSE);
}
