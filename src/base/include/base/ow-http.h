/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* One HTTP exchange, streamed: the only user of libsoup's client. What comes back is data:
 * it is capped in bytes and in time and handed on as it comes. No cookies, no cache, no
 * credentials of libsoup's own, no content sniffing, no redirects: a redirect is an error that
 * names where it leads. To be used from one thread with its own main context; a client is
 * bound to the thread that made it. */

#define OW_TYPE_HTTP (ow_http_get_type ())
G_DECLARE_FINAL_TYPE (OwHttp, ow_http, OW, HTTP, GObject)

/* @ca_file: (nullable) PEM of the only authorities that are believed; NULL: the system's.
 * @proxy: (nullable) URL of the proxy; NULL: what the system and the environment say;
 * "" : none. A loopback address never goes through a proxy. Errors: OW_ERROR_USAGE. */
OwHttp *ow_http_new (const char *ca_file, const char *proxy, GError **error);

typedef struct {
  const char         *method;        /* "GET", "POST" */
  const char         *url;           /* http: or https: */
  const char * const *headers;       /* (nullable) name, value, …, NULL */
  const char         *secret_name;   /* (nullable) a header whose value is shown nowhere */
  const char         *secret_value;  /* (nullable) copied, wiped when the exchange ends */
  GBytes             *body;          /* (nullable) */
  const char         *content_type;  /* (nullable) of @body */
  guint               connect_ms;    /* 0: 30 s; to the connection, names and TLS included */
  guint               first_byte_ms; /* 0: 60 s; from there to the status line and headers */
  guint               idle_ms;       /* 0: 60 s; between bytes of the answer */
  guint               total_ms;      /* 0: none */
  gsize               max_bytes;     /* 0: 64 MiB; of the answer's body */
} OwHttpRequest;

typedef struct {
  guint  status;
  char  *content_type;  /* (owned) (nullable) lower case, without parameters */
  char  *retry_after;   /* (owned) (nullable) the header as it came */
  GBytes *error_body;   /* (owned) (nullable) of an answer that is not 2xx: its first 64 KiB */
} OwHttpAnswer;

void ow_http_answer_free (OwHttpAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwHttpAnswer, ow_http_answer_free)

/* A 2xx answer's headers are there: TRUE goes on to its body, FALSE with @error ends the
 * exchange with it. */
typedef gboolean (*OwHttpHeadFunc) (const OwHttpAnswer *answer, gpointer user_data,
                                    GError **error);
/* A piece of a 2xx answer's body; FALSE: enough, the connection is closed and the exchange ends
 * well. */
typedef gboolean (*OwHttpDataFunc) (const char *data, gsize length, gpointer user_data);

/* @request is copied. Errors: OW_ERROR_USAGE (a URL that is none), OW_ERROR_TIMED_OUT (names
 * which of the four), OW_ERROR_INTERRUPTED (@cancellable), OW_ERROR_DATA (over the cap, not HTTP,
 * a redirect, a body that ends before the length it told), OW_ERROR_FAILED (refused, no such host,
 * certificate not believed …), each as a sentence. An answer that is not 2xx is no error. */
void          ow_http_send_async  (OwHttp *self, const OwHttpRequest *request,
                                   OwHttpHeadFunc head, OwHttpDataFunc data, gpointer data_user,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
OwHttpAnswer *ow_http_send_finish (OwHttp *self, GAsyncResult *result, GError **error);

/* TRUE: @url is http(s) and its host is a loopback address or "localhost". */
gboolean ow_http_url_is_loopback (const char *url);
