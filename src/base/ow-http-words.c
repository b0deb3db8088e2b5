/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <libsoup/soup.h>

#include "base/ow-text.h"
#include "ow-http-private.h"

#define HEADERS_MAX_BYTES (64 * 1024)
#define NEXT_ONLINE "Check the address, and that this machine is online"
#define NEXT_AGAIN "Try again; if it stays so, look at the server"

static GError *
make (OwErrorKind kind,
      const char *next,
      const char *format,
      ...) G_GNUC_PRINTF (3, 4);

static GError *
make (OwErrorKind kind,
      const char *next,
      const char *format,
      ...)
{
  g_autofree char *what = NULL;
  GError *error = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  ow_error_set (&error, kind, what, NULL, next);
  return error;
}

static const char *
next_refused (const OwHttpFault *fault)
{
  return fault->loopback ? "Start the server, or check the port in the address"
                         : "Check the host and the port in the address";
}

static GError *
words_of_certificate (const OwHttpFault *fault)
{
  GTlsCertificateFlags flags = fault->distrust;
  const char *why = "it is not valid";

  if (flags & G_TLS_CERTIFICATE_EXPIRED)
    why = "it has expired";
  else if (flags & G_TLS_CERTIFICATE_NOT_ACTIVATED)
    why = "it is not valid yet; the clock of one of the two machines may be wrong";
  else if (flags & G_TLS_CERTIFICATE_REVOKED)
    why = "it was revoked";
  else if (flags & G_TLS_CERTIFICATE_BAD_IDENTITY)
    why = "it was issued for another host";
  else if (flags & G_TLS_CERTIFICATE_UNKNOWN_CA)
    why = "no authority that is trusted here has signed it";
  else if (flags & G_TLS_CERTIFICATE_INSECURE)
    why = "its signature is too weak";
  return make (OW_ERROR_FAILED,
               "Nothing was sent. If it is a server of your own, name its authority as CA file",
               "The certificate of %s is not believed: %s", fault->where, why);
}

static GError *
words_of_tls (const OwHttpFault *fault)
{
  if (fault->distrust != 0)
    return words_of_certificate (fault);
  if (fault->phase == OW_HTTP_READING)
    return ow_http_words_data (fault, "the encrypted connection broke");
  /* GnuTLS cannot tell for sure whether the other side speaks no TLS or only broke off. */
  return make (OW_ERROR_FAILED, "Check the port, and whether the address should begin with http://",
               "%s cannot be reached: no encrypted connection (TLS) came about", fault->where);
}

static GError *
words_of_end (const OwHttpFault *fault)
{
  if (fault->phase == OW_HTTP_READING)
    return ow_http_words_data (fault, "the connection broke before its end");
  if (fault->header_bytes > HEADERS_MAX_BYTES)
    return ow_http_words_data (fault, "its headers have no end");
  if (fault->header_bytes > 0)
    return ow_http_words_data (fault, "the connection ended within its headers");
  return make (OW_ERROR_FAILED, NEXT_AGAIN, "%s closed the connection without an answer",
               fault->where);
}

static GError *
words_of_io (const OwHttpFault *fault,
             const GError      *error)
{
  switch (error->code)
    {
    case G_IO_ERROR_CONNECTION_REFUSED:
      return make (OW_ERROR_FAILED, next_refused (fault),
                   "%s refused the connection: nothing listens there", fault->where);
    case G_IO_ERROR_NETWORK_UNREACHABLE:
    case G_IO_ERROR_HOST_UNREACHABLE:
      return make (OW_ERROR_FAILED, NEXT_ONLINE, "%s cannot be reached: no network leads there",
                   fault->where);
    case G_IO_ERROR_HOST_NOT_FOUND:
      return make (OW_ERROR_FAILED, NEXT_ONLINE, "%s cannot be reached: there is no such host",
                   fault->where);
    case G_IO_ERROR_TIMED_OUT:
      return make (OW_ERROR_TIMED_OUT, NEXT_ONLINE,
                   "%s cannot be reached: the network gave no answer in time", fault->where);
    case G_IO_ERROR_PROXY_FAILED:
    case G_IO_ERROR_PROXY_AUTH_FAILED:
    case G_IO_ERROR_PROXY_NEED_AUTH:
    case G_IO_ERROR_PROXY_NOT_ALLOWED:
      return make (OW_ERROR_FAILED, "Check the proxy in the settings",
                   "%s cannot be reached through the proxy: it does not lead there", fault->where);
    case G_IO_ERROR_PARTIAL_INPUT:
    case G_IO_ERROR_CONNECTION_CLOSED:
      return words_of_end (fault);
    default:
      break;
    }
  return NULL;
}

/* What goes wrong before there is a tunnel goes wrong with the proxy. NULL: it is not about it. */
static GError *
words_of_proxy (const OwHttpFault *fault,
                const GError      *error)
{
  const char *why = NULL;

  if (!fault->proxied || fault->phase != OW_HTTP_CONNECTING)
    return NULL;

  if (error->domain == G_RESOLVER_ERROR)
    why = "its name cannot be looked up";
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED))
    why = "it refused the connection";
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NETWORK_UNREACHABLE)
           || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE))
    why = "no network leads there";
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT)
           || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED))
    why = "it broke off";
  else if (error->domain == SOUP_SESSION_ERROR)
    why = "what it answers is not HTTP";
  if (why == NULL)
    return NULL;
  return make (OW_ERROR_FAILED, "Check the proxy, and that it runs",
               "%s cannot be reached through the proxy: %s", fault->where, why);
}

GError *
ow_http_words_of (const OwHttpFault *fault,
                  const GError      *error)
{
  GError *words = words_of_proxy (fault, error);
  g_autofree char *visible = NULL;
  g_autofree char *shown = NULL;

  if (words != NULL)
    return words;

  if (error->domain == G_RESOLVER_ERROR)
    words = g_error_matches (error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_TEMPORARY_FAILURE)
            ? make (OW_ERROR_FAILED, NEXT_ONLINE,
                    "%s cannot be reached: names of hosts cannot be looked up now", fault->where)
            : make (OW_ERROR_FAILED, NEXT_ONLINE,
                    "%s cannot be reached: there is no such host", fault->where);
  else if (error->domain == G_TLS_ERROR)
    words = words_of_tls (fault);
  else if (error->domain == SOUP_SESSION_ERROR)
    words = ow_http_words_data (fault, "it is not HTTP");
  else if (error->domain == G_IO_ERROR)
    words = words_of_io (fault, error);
  if (words != NULL)
    return words;

  visible = ow_text_visible (error->message);
  shown = ow_text_shorten (visible, 200, TRUE);
  return make (OW_ERROR_FAILED, NEXT_AGAIN, "The request to %s failed: %s", fault->where, shown);
}

GError *
ow_http_words_late (const OwHttpFault *fault,
                    guint              ms,
                    gboolean           total)
{
  g_autofree char *time = ms % 1000 == 0 ? g_strdup_printf ("%u s", ms / 1000)
                                         : g_strdup_printf ("%u.%03u s", ms / 1000, ms % 1000);

  if (total)
    return make (OW_ERROR_TIMED_OUT, NEXT_AGAIN,
                 "The answer of %s was not whole after %s, the longest that it may take",
                 fault->where, time);
  if (fault->phase == OW_HTTP_CONNECTING)
    return make (OW_ERROR_TIMED_OUT, NEXT_ONLINE, "There was no connection to %s%s within %s",
                 fault->where, fault->proxied ? " through the proxy" : "", time);
  if (fault->phase == OW_HTTP_WAITING)
    return make (OW_ERROR_TIMED_OUT, NEXT_AGAIN,
                 "%s took the request and gave no answer within %s", fault->where, time);
  return make (OW_ERROR_TIMED_OUT, NEXT_AGAIN,
               "The answer of %s stopped half-way: nothing came for %s", fault->where, time);
}

GError *
ow_http_words_data (const OwHttpFault *fault,
                    const char        *why)
{
  return make (OW_ERROR_DATA, NEXT_AGAIN, "The answer of %s cannot be used: %s", fault->where,
               why);
}
