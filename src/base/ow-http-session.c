/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "config.h"
#include "ow-http-soup-private.h"

/* What libsoup would do by itself: decode, guess, remember. None of it is wanted, and each part
 * has had its holes. The manager of logins has to stay, or libsoup takes an answer 401 for one
 * that it will ask again for and gathers it without end; it knows no way to log in, and each
 * message tells it to keep out. */
static void
strip (SoupSession *session)
{
  GType features[] = {
    SOUP_TYPE_CONTENT_DECODER, SOUP_TYPE_CONTENT_SNIFFER, SOUP_TYPE_COOKIE_JAR, SOUP_TYPE_CACHE,
    SOUP_TYPE_HSTS_ENFORCER, SOUP_TYPE_LOGGER, SOUP_TYPE_WEBSOCKET_EXTENSION_MANAGER,
    SOUP_TYPE_AUTH_BASIC, SOUP_TYPE_AUTH_DIGEST,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (features); i++)
    soup_session_remove_feature_by_type (session, features[i]);
}

SoupSession *
ow_http_session_new (const OwHttpSettings *settings,
                     gboolean              loopback)
{
  SoupSession *session = soup_session_new ();

  strip (session);
  soup_session_set_timeout (session, 0);
  if (settings->authorities != NULL)
    soup_session_set_tls_database (session, settings->authorities);
  if (loopback || !settings->system_proxy)
    soup_session_set_proxy_resolver (session, loopback ? NULL : settings->proxy);
  return session;
}

SoupMessage *
ow_http_session_make_message (GUri                *uri,
                              const OwHttpRequest *request)
{
  SoupMessage *message = soup_message_new_from_uri (request->method, uri);
  SoupMessageHeaders *headers = soup_message_get_request_headers (message);

  soup_message_add_flags (message, SOUP_MESSAGE_NO_REDIRECT | SOUP_MESSAGE_NEW_CONNECTION
                          | SOUP_MESSAGE_DO_NOT_USE_AUTH_CACHE | SOUP_MESSAGE_COLLECT_METRICS);
  soup_message_disable_feature (message, SOUP_TYPE_AUTH_MANAGER);
  soup_message_headers_replace (headers, "Connection", "close");
  soup_message_headers_replace (headers, "User-Agent", "openworker/" OW_VERSION);
  for (gsize i = 0; request->headers != NULL && request->headers[i] != NULL; i += 2)
    soup_message_headers_replace (headers, request->headers[i], request->headers[i + 1]);
  if (request->secret_name != NULL)
    soup_message_headers_replace (headers, request->secret_name, request->secret_value);
  if (request->body != NULL)
    soup_message_set_request_body_from_bytes (message, request->content_type, request->body);
  return message;
}

void
ow_http_session_wipe_header (SoupMessage *message,
                             const char  *name)
{
  SoupMessageHeaders *headers = soup_message_get_request_headers (message);
  char *value = (char *) soup_message_headers_get_one (headers, name);

  if (value != NULL)
    explicit_bzero (value, strlen (value));
  soup_message_headers_remove (headers, name);
}
