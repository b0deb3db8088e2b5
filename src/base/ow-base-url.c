/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-base-url.h"

#include <string.h>

#include "ow-http-private.h"

#define MAX_CHARS 2048

/* NULL with @why set when there is a fault. */
static GUri *
parse (const char  *text,
       const char **why)
{
  g_autoptr (GUri) uri = NULL;

  *why = NULL;
  if (*text == '\0' || strlen (text) > MAX_CHARS)
    *why = "an address has 1 to 2,048 characters";
  else if (!ow_http_request_is_url_text (text))
    *why = "it has a space, or a character that is not written in an address as it is";
  else if (ow_http_request_names_user (text))
    *why = "a name or password in an address would be stored and shown in the clear: a key is "
           "kept in the keyring";
  if (*why != NULL)
    return NULL;

  uri = ow_http_request_parse_url (text, NULL);
  if (uri == NULL)
    *why = "an address begins with http:// or https:// and the name or number of a host";
  else if (strpbrk (text, "?#") != NULL)
    *why = "an address ends with its path: no \"?\" and no \"#\"";

  return *why == NULL ? g_steal_pointer (&uri) : NULL;
}

char *
ow_base_url_find_fault (const char *text)
{
  const char *why;
  g_autoptr (GUri) uri = parse (text, &why);

  return g_strdup (why);
}

char *
ow_base_url_canonical (const char *text)
{
  const char *why;
  g_autoptr (GUri) uri = parse (text, &why);
  g_autofree char *scheme = NULL;
  g_autofree char *host = NULL;
  g_autofree char *path = NULL;
  int port;
  gsize length;

  if (uri == NULL)
    return NULL;

  scheme = g_ascii_strdown (g_uri_get_scheme (uri), -1);
  host = g_ascii_strdown (g_uri_get_host (uri), -1);
  path = g_strdup (g_uri_get_path (uri));
  port = g_uri_get_port (uri);
  if (port == (strcmp (scheme, "http") == 0 ? 80 : 443))
    port = -1;
  length = strlen (path);
  while (length > 0 && path[length - 1] == '/')
    path[--length] = '\0';

  /* "%2F" in a path is no slash: as it was written. */
  return g_uri_join (G_URI_FLAGS_ENCODED_PATH, scheme, NULL, host, port, path, NULL, NULL);
}
