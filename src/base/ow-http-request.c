/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* libsoup writes what it is given: a line end within a header's value or a host's name would be
 * a header, or a request, of somebody else's making. So nothing goes out that was not checked. */

#include <libsoup/soup.h>
#include <string.h>

#include "ow-http-private.h"

#define NEXT_URL "Give one such as https://api.example.org/v1"

/* What libsoup or the exchange itself says, and what another hop would take for its own. */
static const char *const own_headers[] = {
  "connection", "content-length", "content-type", "cookie", "expect", "host", "keep-alive",
  "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", NULL,
};

gboolean
ow_http_request_is_url_text (const char *url)
{
  for (const char *c = url; *c != '\0'; c++)
    if (*c <= ' ' || *c >= 0x7f || strchr ("\"<>\\^`{|}", *c) != NULL)
      return FALSE;
  return TRUE;
}

/* Decoded, since %0d%0a stands for a line end; no name has other letters. */
static gboolean
is_host (const char *host)
{
  g_autoptr (GInetAddress) address = NULL;

  if (host == NULL || *host == '\0' || strlen (host) > 253)
    return FALSE;
  if (strchr (host, ':') != NULL)
    {
      address = g_inet_address_new_from_string (host);
      return address != NULL;
    }
  for (const char *c = host; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c) && strchr ("-._", *c) == NULL)
      return FALSE;
  return TRUE;
}

gboolean
ow_http_request_names_user (const char *url)
{
  const char *authority = strstr (url, "//");

  return authority != NULL && memchr (authority + 2, '@', strcspn (authority + 2, "/?#")) != NULL;
}

static GUri *
refuse_url (GError    **error,
            const char *why)
{
  ow_error_set (error, OW_ERROR_USAGE, "The address of the server makes no sense", why, NEXT_URL);
  return NULL;
}

GUri *
ow_http_request_parse_url (const char  *url,
                           GError     **error)
{
  g_autoptr (GUri) uri = NULL;

  if (url == NULL || *url == '\0')
    return refuse_url (error, "it is empty");
  if (!ow_http_request_is_url_text (url))
    return refuse_url (error, "it holds a character that no address has");
  if (g_ascii_strncasecmp (url, "http://", 7) != 0
      && g_ascii_strncasecmp (url, "https://", 8) != 0)
    return refuse_url (error, "it begins with neither http:// nor https://");
  if (ow_http_request_names_user (url))
    return refuse_url (error, "it names a user or a password, which do not belong in an address");
  uri = g_uri_parse (url, SOUP_HTTP_URI_FLAGS, NULL);
  if (uri == NULL || g_uri_get_port (uri) == 0)
    return refuse_url (error, "it cannot be read as one");
  if (!is_host (g_uri_get_host (uri)))
    return refuse_url (error, "its host is no name and no number of a machine");
  return g_steal_pointer (&uri);
}

gboolean
ow_http_request_is_loopback (GUri *uri)
{
  const char *host = g_uri_get_host (uri);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (host);

  return address != NULL ? g_inet_address_get_is_loopback (address)
                         : g_ascii_strcasecmp (host, "localhost") == 0;
}

gboolean
ow_http_url_is_loopback (const char *url)
{
  g_autoptr (GUri) uri = ow_http_request_parse_url (url, NULL);

  return uri != NULL && ow_http_request_is_loopback (uri);
}

char *
ow_http_request_where (GUri *uri)
{
  const char *host = g_uri_get_host (uri);

  return g_strdup_printf (strchr (host, ':') != NULL ? "[%s]:%d" : "%s:%d", host,
                          g_uri_get_port (uri));
}

static gboolean
is_name (const char *name)
{
  if (name == NULL || *name == '\0')
    return FALSE;
  for (const char *c = name; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c) && strchr ("!#$%&'*+-.^_`|~", *c) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
is_value (const char *value)
{
  if (value == NULL)
    return FALSE;
  for (const char *c = value; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c) && *c != '\t')
      return FALSE;
  return TRUE;
}

static gboolean
check_header (const char  *name,
              const char  *value,
              GError     **error)
{
  g_autofree char *lower = name != NULL ? g_ascii_strdown (name, -1) : NULL;

  if (!is_name (name))
    ow_error_set (error, OW_ERROR_USAGE, "A header cannot be sent",
                  "its name holds a character that names of headers do not have", NULL);
  else if (!is_value (value))
    ow_error_setf (error, OW_ERROR_USAGE, "Take line ends and control characters out of it",
                   "The header %s cannot be sent: its value holds a control character", name);
  else if (g_strv_contains (own_headers, lower))
    ow_error_setf (error, OW_ERROR_USAGE, NULL,
                   "The header %s cannot be sent: it is not for a caller to set", name);
  else
    return TRUE;
  return FALSE;
}

gboolean
ow_http_request_check (const OwHttpRequest  *request,
                       GError              **error)
{
  if (g_strcmp0 (request->method, "GET") != 0 && g_strcmp0 (request->method, "POST") != 0)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The request cannot be sent",
                    "its method is neither GET nor POST", NULL);
      return FALSE;
    }
  for (gsize i = 0; request->headers != NULL && request->headers[i] != NULL; i += 2)
    if (!check_header (request->headers[i], request->headers[i + 1], error))
      return FALSE;
  if ((request->secret_name != NULL || request->secret_value != NULL)
      && !check_header (request->secret_name, request->secret_value, error))
    return FALSE;
  if (request->content_type != NULL && !is_value (request->content_type))
    {
      ow_error_set (error, OW_ERROR_USAGE, "The request cannot be sent",
                    "the type of its body holds a control character", NULL);
      return FALSE;
    }
  return TRUE;
}
