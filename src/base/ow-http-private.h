/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "base/ow-http.h"
#include "base/ow-error.h"
#include "ow-http-body-private.h"

/* What a client lends to each of its exchanges. */
typedef struct {
  GTlsDatabase   *authorities;  /* (owned) (nullable) */
  GProxyResolver *proxy;        /* (owned) (nullable) */
  gboolean        system_proxy;
} OwHttpSettings;

/* Starts @request, which was checked, in @task; @uri is its address. */
void        ow_http_exchange_start (GTask *task, const OwHttpSettings *settings, GUri *uri,
                                    const OwHttpRequest *request, OwHttpHeadFunc head,
                                    OwHttpDataFunc data, gpointer data_user);

/* (transfer full) of an http(s) address with a host and no user; errors show nothing of it,
 * since secrets stand in addresses too. */
GUri       *ow_http_request_parse_url (const char *url, GError **error);
/* No character in @url that is not written in an address as it is. */
gboolean    ow_http_request_is_url_text (const char *url);
/* A user or a password, also an empty one, stands before its host. */
gboolean    ow_http_request_names_user  (const char *url);
gboolean    ow_http_request_is_loopback (GUri *uri);
/* (transfer full) host and port, as a person reads them. */
char       *ow_http_request_where  (GUri *uri);
gboolean    ow_http_request_check  (const OwHttpRequest *request, GError **error);

/* How far an exchange had come when it ended. */
typedef enum {
  OW_HTTP_CONNECTING,
  OW_HTTP_WAITING,
  OW_HTTP_READING,
} OwHttpPhase;

typedef struct {
  const char          *where;
  OwHttpPhase          phase;
  guint64              header_bytes;
  gboolean             loopback;
  gboolean             proxied;
  GTlsCertificateFlags distrust;  /* what the certificate was refused for */
} OwHttpFault;

/* (transfer full) @error, which GIO or libsoup gave, as a sentence. */
GError     *ow_http_words_of       (const OwHttpFault *fault, const GError *error);
/* (transfer full) of OW_ERROR_TIMED_OUT. */
GError     *ow_http_words_late     (const OwHttpFault *fault, guint ms, gboolean total);
/* (transfer full) of OW_ERROR_DATA. */
GError     *ow_http_words_data     (const OwHttpFault *fault, const char *why);
