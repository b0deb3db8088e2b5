/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Every exchange has a session and a connection of its own: nothing of one (a cookie, a cached
 * login, a connection that the server has closed meanwhile) can reach another. */

#include <string.h>

#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-http-exchange-private.h"

#define CONNECT_MS      30000
#define FIRST_BYTE_MS   60000
#define IDLE_MS         60000
#define MAX_BYTES       (64 * 1024 * 1024)
/* libsoup has this long to let go of an exchange that has ended. */
#define GRACE_MS        1000
/* libsoup reads answers 1xx in one go for as long as they come, without a turn of the loop. */
#define INTERIM_MAX     16

/* Nothing of it stays in memory that could be written out. */
static void
wipe (char *text)
{
  if (text != NULL)
    explicit_bzero (text, strlen (text));
}

static void
exchange_clear (gpointer data)
{
  OwHttpExchange *exchange = data;

  g_signal_handlers_disconnect_by_data (exchange->session, exchange);
  g_signal_handlers_disconnect_by_data (exchange->message, exchange);
  g_clear_object (&exchange->stream);
  g_clear_object (&exchange->message);
  g_clear_object (&exchange->session);
  g_clear_object (&exchange->socket);
  g_clear_object (&exchange->stop);
  ow_source_clear (&exchange->deadline);
  ow_source_clear (&exchange->total);
  ow_source_clear (&exchange->cancelled);
  ow_source_clear (&exchange->grace);
  wipe (exchange->secret);
  g_free (exchange->secret);
  g_free (exchange->secret_name);
  g_free (exchange->where);
  g_free (exchange->encoding);
  g_free (exchange->length);
  g_clear_pointer (&exchange->answer, ow_http_answer_free);
  g_clear_pointer (&exchange->error_body, g_byte_array_unref);
  g_clear_error (&exchange->error);
}

void
ow_http_exchange_unref (gpointer exchange)
{
  g_rc_box_release_full (exchange, exchange_clear);
}

static void
deliver (OwHttpExchange *exchange)
{
  g_autoptr (GTask) task = g_steal_pointer (&exchange->task);

  ow_source_clear (&exchange->grace);
  if (task == NULL)
    return;

  if (exchange->error == NULL && exchange->error_body != NULL)
    exchange->answer->error_body =
      g_byte_array_free_to_bytes (g_steal_pointer (&exchange->error_body));
  if (exchange->error != NULL)
    g_task_return_error (task, g_steal_pointer (&exchange->error));
  else
    g_task_return_pointer (task, g_steal_pointer (&exchange->answer),
                           (GDestroyNotify) ow_http_answer_free);
}

static gboolean
on_let_go (gpointer user_data)
{
  deliver (user_data);
  return G_SOURCE_REMOVE;
}

/* What ended is told once libsoup has let go, so that the caller may leave the loop at once and
 * nothing stays behind; after the time of grace also without. */
void
ow_http_exchange_settle (OwHttpExchange *exchange)
{
  g_autoptr (GInputStream) stream = NULL;

  if (!exchange->ended || exchange->busy || exchange->task == NULL)
    return;

  /* Closing is what makes libsoup let go, which leads back to here. */
  stream = g_steal_pointer (&exchange->stream);
  if (stream != NULL)
    g_input_stream_close (stream, NULL, NULL);
  if (exchange->finished)
    ow_source_idle (G_PRIORITY_DEFAULT, on_let_go, g_rc_box_acquire (exchange),
                    ow_http_exchange_unref);
}

void
ow_http_exchange_end (OwHttpExchange *exchange,
                      GError         *error)
{
  if (exchange->ended)
    {
      g_clear_error (&error);
      return;
    }

  exchange->ended = TRUE;
  exchange->error = error;
  if (exchange->error_body != NULL)
    ow_http_answer_mask ((char *) exchange->error_body->data, exchange->error_body->len,
                         exchange->secret);
  ow_source_clear (&exchange->deadline);
  ow_source_clear (&exchange->total);
  ow_source_clear (&exchange->cancelled);
  wipe (exchange->secret);
  if (exchange->secret_name != NULL)
    ow_http_session_wipe_header (exchange->message, exchange->secret_name);
  exchange->grace = ow_source_timeout (GRACE_MS, on_let_go, g_rc_box_acquire (exchange),
                                       ow_http_exchange_unref);
  /* Before libsoup closes it: saying goodbye in TLS blocks when the other side does not read. */
  if (exchange->socket != NULL)
    g_socket_shutdown (exchange->socket, TRUE, TRUE, NULL);
  g_cancellable_cancel (exchange->stop);
  ow_http_exchange_settle (exchange);
}

static gboolean
on_cancelled (gpointer user_data)
{
  OwHttpExchange *exchange = user_data;
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_INTERRUPTED, NULL, "The request to %s was stopped",
                 exchange->where);
  ow_http_exchange_end (exchange, error);
  return G_SOURCE_REMOVE;
}

gboolean
ow_http_exchange_is_over (OwHttpExchange *exchange)
{
  GCancellable *cancellable = exchange->task != NULL ? g_task_get_cancellable (exchange->task)
                                                     : NULL;

  if (!exchange->ended && g_cancellable_is_cancelled (cancellable))
    on_cancelled (exchange);
  return exchange->ended;
}

static gboolean
on_late (gpointer user_data)
{
  OwHttpExchange *exchange = user_data;
  guint ms = exchange->phase_ms[exchange->fault.phase];

  if (exchange->error_body != NULL)
    ow_http_exchange_end (exchange, NULL);
  else
    ow_http_exchange_end (exchange, ow_http_words_late (&exchange->fault, ms, FALSE));
  return G_SOURCE_REMOVE;
}

static gboolean
on_total_late (gpointer user_data)
{
  OwHttpExchange *exchange = user_data;

  if (exchange->error_body != NULL)
    ow_http_exchange_end (exchange, NULL);
  else
    ow_http_exchange_end (exchange, ow_http_words_late (&exchange->fault, exchange->total_ms,
                                                        TRUE));
  return G_SOURCE_REMOVE;
}

static GSource *
watch (OwHttpExchange *exchange,
       guint           ms,
       GSourceFunc     func)
{
  GSource *source = ow_source_timeout (ms, func, g_rc_box_acquire (exchange),
                                       ow_http_exchange_unref);

  /* A body that never pauses must not keep it from its turn. */
  g_source_set_priority (source, G_PRIORITY_HIGH);
  return source;
}

void
ow_http_exchange_enter (OwHttpExchange *exchange,
                        OwHttpPhase     phase)
{
  ow_source_clear (&exchange->deadline);
  exchange->fault.phase = phase;
  exchange->deadline = watch (exchange, exchange->phase_ms[phase], on_late);
}

static gboolean
is_to_proxy (GIOStream *connection)
{
  g_autoptr (GSocketAddress) address =
    g_socket_connection_get_remote_address (G_SOCKET_CONNECTION (connection), NULL);

  return address != NULL && G_IS_PROXY_ADDRESS (address);
}

static void
on_network_event (SoupMessage        *message,
                  GSocketClientEvent  event,
                  GIOStream          *connection,
                  gpointer            user_data)
{
  OwHttpExchange *exchange = user_data;
  /* In HTTP/1.1 alone a body's framing can be read here. */
  const char *const protocols[] = { "http/1.1", NULL };

  if (exchange->ended)
    return;

  if (event == G_SOCKET_CLIENT_CONNECTING && G_IS_SOCKET_CONNECTION (connection))
    exchange->fault.proxied = exchange->fault.proxied || is_to_proxy (connection);
  else if (event == G_SOCKET_CLIENT_CONNECTED && G_IS_SOCKET_CONNECTION (connection))
    g_set_object (&exchange->socket,
                  g_socket_connection_get_socket (G_SOCKET_CONNECTION (connection)));
  else if (event == G_SOCKET_CLIENT_TLS_HANDSHAKING && G_IS_TLS_CONNECTION (connection))
    g_tls_connection_set_advertised_protocols (G_TLS_CONNECTION (connection), protocols);
  else if (event == G_SOCKET_CLIENT_COMPLETE && exchange->fault.phase == OW_HTTP_CONNECTING)
    ow_http_exchange_enter (exchange, OW_HTTP_WAITING);
}

static gboolean
on_certificate (SoupMessage          *message,
                GTlsCertificate      *certificate,
                GTlsCertificateFlags  flags,
                gpointer              user_data)
{
  OwHttpExchange *exchange = user_data;

  exchange->fault.distrust = flags;
  return FALSE;
}

static void
on_wrote_headers (SoupMessage *message,
                  gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;

  if (exchange->secret_name != NULL)
    ow_http_session_wipe_header (message, exchange->secret_name);
}

static void
on_interim (SoupMessage *message,
            gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;

  if (++exchange->interim > INTERIM_MAX)
    ow_http_exchange_end (exchange, ow_http_words_data (&exchange->fault, "it announces an answer "
                                                        "again and again"));
}

/* libsoup asks the headers for the framing right after it has set the status: then they are
 * taken out, and what libsoup hands on is what came, to the connection's end. */
static void
on_status (SoupMessage *message,
           GParamSpec  *pspec,
           gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;
  SoupMessageHeaders *headers = soup_message_get_response_headers (message);

  if (soup_message_get_status (message) < 200)
    return;

  g_free (exchange->encoding);
  g_free (exchange->length);
  exchange->encoding = g_strdup (soup_message_headers_get_list (headers, "Transfer-Encoding"));
  exchange->length = g_strdup (soup_message_headers_get_list (headers, "Content-Length"));
  soup_message_headers_set_encoding (headers, SOUP_ENCODING_EOF);
}

/* libsoup would send a request again that was answered so, and gather the answer without end. */
static void
on_got_headers (SoupMessage *message,
                gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;

  if (soup_message_get_status (message) != SOUP_STATUS_MISDIRECTED_REQUEST || exchange->ended)
    return;

  exchange->answer = ow_http_answer_new (message, exchange->secret);
  ow_http_exchange_end (exchange, NULL);
}

static void
on_sent (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  OwHttpExchange *exchange = user_data;
  g_autoptr (GError) error = NULL;
  SoupMessageMetrics *metrics = soup_message_get_metrics (exchange->message);

  exchange->busy = FALSE;
  exchange->stream = soup_session_send_finish (SOUP_SESSION (object), result, &error);
  if (metrics != NULL)
    exchange->fault.header_bytes =
      soup_message_metrics_get_response_header_bytes_received (metrics);
  if (ow_http_exchange_is_over (exchange))
    ow_http_exchange_settle (exchange);
  else if (exchange->stream == NULL)
    ow_http_exchange_end (exchange, ow_http_words_of (&exchange->fault, error));
  else
    ow_http_exchange_begin_answer (exchange);
  ow_http_exchange_unref (exchange);
}

static void
on_finished (SoupMessage *message,
             gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;

  exchange->finished = TRUE;
  ow_http_exchange_settle (exchange);
}

/* The CONNECT to a proxy is a message of libsoup's own, whose answer it reads to its end. */
static void
on_tunnel_headers (SoupMessage *message,
                   gpointer     user_data)
{
  OwHttpExchange *exchange = user_data;
  guint status = soup_message_get_status (message);
  GError *error = NULL;

  if (status >= 200 && status <= 299)
    return;

  if (status == 407)
    ow_error_setf (&error, OW_ERROR_FAILED, "Use a proxy that asks for no login",
                   "%s cannot be reached through the proxy: it asks for a login (status 407)",
                   exchange->where);
  else
    ow_error_setf (&error, OW_ERROR_FAILED, "Check the proxy, and what it lets through",
                   "%s cannot be reached through the proxy: it does not lead there (status %u)",
                   exchange->where, status);
  ow_http_exchange_end (exchange, error);
}

static void
unref_by_closure (gpointer  exchange,
                  GClosure *closure)
{
  ow_http_exchange_unref (exchange);
}

static void
on_queued (SoupSession *session,
           SoupMessage *message,
           gpointer     user_data)
{
  if (message == ((OwHttpExchange *) user_data)->message)
    return;

  g_signal_connect_data (message, "got-headers", G_CALLBACK (on_tunnel_headers),
                         g_rc_box_acquire (user_data), unref_by_closure, 0);
  g_signal_connect_data (message, "got-informational", G_CALLBACK (on_interim),
                         g_rc_box_acquire (user_data), unref_by_closure, 0);
}

static void
connect_signals (OwHttpExchange *exchange)
{
  const struct { const char *name; GCallback func; } signals[] = {
    { "network-event", G_CALLBACK (on_network_event) },
    { "accept-certificate", G_CALLBACK (on_certificate) },
    { "notify::status-code", G_CALLBACK (on_status) },
    { "wrote-headers", G_CALLBACK (on_wrote_headers) },
    { "got-informational", G_CALLBACK (on_interim) },
    { "got-headers", G_CALLBACK (on_got_headers) },
    { "finished", G_CALLBACK (on_finished) },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    g_signal_connect (exchange->message, signals[i].name, signals[i].func, exchange);
  g_signal_connect (exchange->session, "request-queued", G_CALLBACK (on_queued), exchange);
}

void
ow_http_exchange_start (GTask                *task,
                        const OwHttpSettings *settings,
                        GUri                 *uri,
                        const OwHttpRequest  *request,
                        OwHttpHeadFunc        head,
                        OwHttpDataFunc        data,
                        gpointer              data_user)
{
  OwHttpExchange *exchange = g_rc_box_new0 (OwHttpExchange);
  gboolean loopback = ow_http_request_is_loopback (uri);

  exchange->task = g_object_ref (task);
  exchange->stop = g_cancellable_new ();
  exchange->head = head;
  exchange->data = data;
  exchange->data_user = data_user;
  exchange->where = ow_http_request_where (uri);
  exchange->secret_name = g_strdup (request->secret_name);
  exchange->secret = g_strdup (request->secret_value);
  exchange->phase_ms[OW_HTTP_CONNECTING] = request->connect_ms > 0 ? request->connect_ms
                                                                   : CONNECT_MS;
  exchange->phase_ms[OW_HTTP_WAITING] = request->first_byte_ms > 0 ? request->first_byte_ms
                                                                   : FIRST_BYTE_MS;
  exchange->phase_ms[OW_HTTP_READING] = request->idle_ms > 0 ? request->idle_ms : IDLE_MS;
  exchange->total_ms = request->total_ms;
  exchange->max_bytes = request->max_bytes > 0 ? request->max_bytes : MAX_BYTES;
  exchange->fault.where = exchange->where;
  exchange->fault.loopback = loopback;
  exchange->fault.proxied = settings->proxy != NULL && !loopback;
  exchange->session = ow_http_session_new (settings, loopback);
  exchange->message = ow_http_session_make_message (uri, request);
  connect_signals (exchange);

  ow_http_exchange_enter (exchange, OW_HTTP_CONNECTING);
  if (exchange->total_ms > 0)
    exchange->total = watch (exchange, exchange->total_ms, on_total_late);
  exchange->cancelled = ow_source_cancelled (g_task_get_cancellable (task), on_cancelled,
                                             g_rc_box_acquire (exchange),
                                             ow_http_exchange_unref);
  if (exchange->cancelled != NULL)
    g_source_set_priority (exchange->cancelled, G_PRIORITY_HIGH);
  exchange->busy = TRUE;
  soup_session_send_async (exchange->session, exchange->message, G_PRIORITY_DEFAULT,
                           exchange->stop, on_sent, g_rc_box_acquire (exchange));
  ow_http_exchange_unref (exchange);
}
