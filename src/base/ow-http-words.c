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
words_of_tls (const OwHttpFault *fault,
              const GError      *error)
{
  if (fault->distrust != 0)
    return words_of_certificate (fault);
  if (fault->phase == OW_HTTP_READING)
    return ow_http_words_data (fault, "the encrypted connection broke");
  if (g_error_matches (error, G_TLS_ERROR, G_TLS_ERROR_NOT_TLS))
    return make (OW_ERROR_FAILED, "Check the port, and whether the address begins with http://",
                 "%s cannot be reached: it does not speak TLS", fault->where);
  return make (OW_ERROR_FAILED, "Check the host and the port in the address",
               "%s cannot be reached: no encrypted connection came about", fault->where);
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
                   "%s cannot be reached: the proxy does not lead there", fault->where);
    case G_IO_ERROR_PARTIAL_INPUT:
    case G_IO_ERROR_CONNECTION_CLOSED:
      return words_of_end (fault);
    default:
      break;
    }
  return NULL;
}

GError *
ow_http_words_of (const OwHttpFault *fault,
                  const GError      *error)
{
  GError *words = NULL;
  g_autofree char *visible = NULL;
  g_autofree char *shown = NULL;

  if (error->domain == G_RESOLVER_ERROR)
    words = g_error_matches (error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_TEMPORARY_FAILURE)
            ? make (OW_ERROR_FAILED, NEXT_ONLINE,
                    "%s cannot be reached: names of hosts cannot be looked up now", fault->where)
            : make (OW_ERROR_FAILED, NEXT_ONLINE,
                    "%s cannot be reached: there is no such host", fault->where);
  else if (error->domain == G_TLS_ERROR)
    words = words_of_tls (fault, error);
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
    return make (OW_ERROR_TIMED_OUT, NEXT_ONLINE, "There was no connection to %s within %s",
                 fault->where, time);
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
