/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Every exchange has a session and a connection of its own: nothing of one (a cookie, a cached
 * login, a connection that the server has closed meanwhile) can reach another. */

#include <string.h>

#include "base/ow-source.h"
#include "base/ow-text.h"
#include "ow-http-soup-private.h"

#define CONNECT_MS      30000
#define FIRST_BYTE_MS   60000
#define IDLE_MS         60000
#define MAX_BYTES       (64 * 1024 * 1024)
#define ERROR_MAX_BYTES (64 * 1024)
/* An answer that says no has said what matters; its text is not waited for any longer. */
#define ERROR_MS        10000
/* libsoup has this long to let go of an exchange that has ended. */
#define GRACE_MS        1000
#define READ_BYTES      16384
/* libsoup reads answers 1xx in one go for as long as they come, without a turn of the loop. */
#define INTERIM_MAX     16

typedef struct {
  GTask          *task;       /* (owned) (nullable) until it returned */
  GCancellable   *stop;       /* (owned) */
  SoupSession    *session;    /* (owned) */
  SoupMessage    *message;    /* (owned) */
  GInputStream   *stream;     /* (owned) (nullable) */
  GSocket        *socket;     /* (owned) (nullable) */
  GSource        *deadline;   /* (owned) (nullable) of the phase */
  GSource        *total;      /* (owned) (nullable) */
  GSource        *cancelled;  /* (owned) (nullable) */
  GSource        *grace;      /* (owned) (nullable) */
  OwHttpHeadFunc  head;
  OwHttpDataFunc  data;
  gpointer        data_user;
  char           *where;        /* (owned) */
  char           *secret_name;  /* (owned) (nullable) */
  char           *secret;       /* (owned) (nullable) */
  guint           phase_ms[3];
  guint           total_ms;
  gsize           max_bytes;
  guint64         received;
  guint           interim;
  OwHttpFault     fault;
  char           *encoding;    /* (owned) (nullable) the headers that frame the body */
  char           *length;      /* (owned) (nullable) */
  OwHttpBody      body;
  OwHttpAnswer   *answer;      /* (owned) (nullable) */
  GByteArray     *error_body;  /* (owned) (nullable) */
  GError         *error;       /* (owned) (nullable) what it ended with */
  gboolean        busy;        /* libsoup owes an answer */
  gboolean        finished;    /* libsoup has let go of the message */
  gboolean        ended;
  char            buffer[READ_BYTES];
} Exchange;

static void read_more (Exchange *exchange);

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
  Exchange *exchange = data;

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

static void
exchange_unref (gpointer exchange)
{
  g_rc_box_release_full (exchange, exchange_clear);
}

static void
deliver (Exchange *exchange)
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
static void
settle (Exchange *exchange)
{
  if (!exchange->ended || exchange->busy || exchange->task == NULL)
    return;

  if (exchange->stream != NULL)
    {
      g_input_stream_close (exchange->stream, NULL, NULL);
      g_clear_object (&exchange->stream);
    }
  if (exchange->finished)
    ow_source_idle (G_PRIORITY_DEFAULT, on_let_go, g_rc_box_acquire (exchange), exchange_unref);
}

/* @error (transfer full) (nullable). Only the first end counts. */
static void
end (Exchange *exchange,
     GError   *error)
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
  exchange->grace = ow_source_timeout (GRACE_MS, on_let_go, g_rc_box_acquire (exchange),
                                       exchange_unref);
  /* Before libsoup closes it: saying goodbye in TLS blocks when the other side does not read. */
  if (exchange->socket != NULL)
    g_socket_shutdown (exchange->socket, TRUE, TRUE, NULL);
  g_cancellable_cancel (exchange->stop);
  settle (exchange);
}

static void
end_as_data (Exchange   *exchange,
             const char *why)
{
  end (exchange, ow_http_words_data (&exchange->fault, why));
}

static gboolean
on_cancelled (GCancellable *cancellable,
              gpointer      user_data)
{
  Exchange *exchange = user_data;
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_INTERRUPTED, NULL, "The request to %s was stopped",
                 exchange->where);
  end (exchange, error);
  return G_SOURCE_REMOVE;
}

/* What a caller's function did may have stopped the exchange already. */
static gboolean
is_over (Exchange *exchange)
{
  GCancellable *cancellable = exchange->task != NULL ? g_task_get_cancellable (exchange->task)
                                                     : NULL;

  if (!exchange->ended && g_cancellable_is_cancelled (cancellable))
    on_cancelled (cancellable, exchange);
  return exchange->ended;
}

static gboolean
on_late (gpointer user_data)
{
  Exchange *exchange = user_data;
  guint ms = exchange->phase_ms[exchange->fault.phase];

  if (exchange->error_body != NULL)
    end (exchange, NULL);
  else
    end (exchange, ow_http_words_late (&exchange->fault, ms, FALSE));
  return G_SOURCE_REMOVE;
}

static gboolean
on_total_late (gpointer user_data)
{
  Exchange *exchange = user_data;

  if (exchange->error_body != NULL)
    end (exchange, NULL);
  else
    end (exchange, ow_http_words_late (&exchange->fault, exchange->total_ms, TRUE));
  return G_SOURCE_REMOVE;
}

static GSource *
watch (Exchange   *exchange,
       guint       ms,
       GSourceFunc func)
{
  GSource *source = ow_source_timeout (ms, func, g_rc_box_acquire (exchange), exchange_unref);

  /* A body that never pauses must not keep it from its turn. */
  g_source_set_priority (source, G_PRIORITY_HIGH);
  return source;
}

static void
enter (Exchange   *exchange,
       OwHttpPhase phase)
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
  Exchange *exchange = user_data;
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
    enter (exchange, OW_HTTP_WAITING);
}

static gboolean
on_certificate (SoupMessage          *message,
                GTlsCertificate      *certificate,
                GTlsCertificateFlags  flags,
                gpointer              user_data)
{
  Exchange *exchange = user_data;

  exchange->fault.distrust = flags;
  return FALSE;
}

static void
on_wrote_headers (SoupMessage *message,
                  gpointer     user_data)
{
  Exchange *exchange = user_data;

  if (exchange->secret_name != NULL)
    ow_http_session_wipe_header (message, exchange->secret_name);
}

static void
on_interim (SoupMessage *message,
            gpointer     user_data)
{
  Exchange *exchange = user_data;

  if (++exchange->interim > INTERIM_MAX)
    end_as_data (exchange, "it announces an answer again and again");
}

/* libsoup asks the headers for the framing right after it has set the status: then they are
 * taken out, and what libsoup hands on is what came, to the connection's end. */
static void
on_status (SoupMessage *message,
           GParamSpec  *pspec,
           gpointer     user_data)
{
  Exchange *exchange = user_data;
  SoupMessageHeaders *headers = soup_message_get_response_headers (message);

  if (soup_message_get_status (message) < 200)
    return;

  g_free (exchange->encoding);
  g_free (exchange->length);
  exchange->encoding = g_strdup (soup_message_headers_get_list (headers, "Transfer-Encoding"));
  exchange->length = g_strdup (soup_message_headers_get_list (headers, "Content-Length"));
  soup_message_headers_set_encoding (headers, SOUP_ENCODING_EOF);
}

static gboolean
is_redirect (guint status)
{
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void
end_as_redirect (Exchange *exchange)
{
  g_autofree char *place = ow_http_answer_dup_header (exchange->message, "Location",
                                                      exchange->secret);
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_DATA,
                 "Nothing is sent there. If it is the right place, give it as the address",
                 "%s leads elsewhere, to %s", exchange->where,
                 place != NULL ? place : "a place that cannot be shown");
  end (exchange, error);
}

static void
begin_body (Exchange *exchange)
{
  GError *error = NULL;

  enter (exchange, OW_HTTP_READING);
  if (exchange->body.kind == OW_HTTP_BODY_LENGTH && exchange->body.left > exchange->max_bytes)
    end_as_data (exchange, "it is longer than an answer may be");
  else if (exchange->head != NULL
           && !exchange->head (exchange->answer, exchange->data_user, &error))
    end (exchange, error);
  else if (is_over (exchange))
    return;
  else if (exchange->body.done)
    end (exchange, NULL);
  else
    read_more (exchange);
}

/* Of an answer that says no there is as much text as can be had. */
static void
begin_error_body (Exchange *exchange,
                  gboolean  readable)
{
  if (!readable || exchange->body.done)
    {
      end (exchange, NULL);
      return;
    }

  exchange->error_body = g_byte_array_new ();
  exchange->phase_ms[OW_HTTP_READING] = MIN (exchange->phase_ms[OW_HTTP_READING], ERROR_MS);
  enter (exchange, OW_HTTP_READING);
  read_more (exchange);
}

static void
begin_answer (Exchange *exchange)
{
  guint status = soup_message_get_status (exchange->message);
  const char *coding =
    soup_message_headers_get_list (soup_message_get_response_headers (exchange->message),
                                   "Content-Encoding");
  gboolean is_plain = coding == NULL || g_ascii_strcasecmp (coding, "identity") == 0;
  const char *wrong;

  wrong = ow_http_body_start (&exchange->body, status, exchange->encoding, exchange->length);
  exchange->answer = ow_http_answer_new (exchange->message, exchange->secret);
  if (is_redirect (status))
    end_as_redirect (exchange);
  else if (status < 200 || status > 299)
    begin_error_body (exchange, wrong == NULL && is_plain);
  else if (wrong != NULL)
    end_as_data (exchange, wrong);
  else if (!is_plain)
    end_as_data (exchange, "it is compressed, which was not asked for");
  else
    begin_body (exchange);
}

/* libsoup would send a request again that was answered so, and gather the answer without end. */
static void
on_got_headers (SoupMessage *message,
                gpointer     user_data)
{
  Exchange *exchange = user_data;

  if (soup_message_get_status (message) != SOUP_STATUS_MISDIRECTED_REQUEST || exchange->ended)
    return;

  exchange->answer = ow_http_answer_new (message, exchange->secret);
  end (exchange, NULL);
}

/* FALSE: nothing more is wanted. */
static gboolean
take_piece (Exchange   *exchange,
            const char *piece,
            gsize       length)
{
  if (exchange->error_body != NULL)
    {
      gsize room = ERROR_MAX_BYTES - exchange->error_body->len;

      g_byte_array_append (exchange->error_body, (const guint8 *) piece,
                           (guint) MIN (length, room));
      return length < room;
    }

  if (length > exchange->max_bytes - exchange->received)
    {
      end_as_data (exchange, "it is longer than an answer may be");
      return FALSE;
    }
  exchange->received += length;
  return exchange->data == NULL || exchange->data (piece, length, exchange->data_user);
}

static void
end_as_broken (Exchange   *exchange,
               const char *why)
{
  if (exchange->error_body != NULL || why == NULL)
    end (exchange, NULL);
  else
    end_as_data (exchange, why);
}

static void
take_bytes (Exchange   *exchange,
            const char *data,
            gsize       length)
{
  while (length > 0 && !exchange->body.done)
    {
      const char *piece;
      gsize piece_length;
      const char *wrong = ow_http_body_take (&exchange->body, &data, &length, &piece,
                                             &piece_length);

      if (wrong != NULL)
        {
          end_as_broken (exchange, wrong);
          return;
        }
      if (piece_length > 0 && !take_piece (exchange, piece, piece_length))
        {
          if (!is_over (exchange))
            end (exchange, NULL);
          return;
        }
      if (is_over (exchange))
        return;
    }
  if (exchange->body.done)
    end (exchange, NULL);
  else
    read_more (exchange);
}

static void
on_read (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Exchange *exchange = user_data;
  g_autoptr (GError) error = NULL;
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (object), result, &error);

  exchange->busy = FALSE;
  if (is_over (exchange))
    settle (exchange);
  else if (length < 0 && exchange->error_body == NULL)
    end (exchange, ow_http_words_of (&exchange->fault, error));
  else if (length <= 0)
    end_as_broken (exchange, ow_http_body_end (&exchange->body));
  else
    {
      if (exchange->error_body == NULL)
        g_source_set_ready_time (exchange->deadline, g_get_monotonic_time ()
                                 + (gint64) exchange->phase_ms[OW_HTTP_READING] * 1000);
      take_bytes (exchange, exchange->buffer, (gsize) length);
    }
  exchange_unref (exchange);
}

static void
read_more (Exchange *exchange)
{
  exchange->busy = TRUE;
  g_input_stream_read_async (exchange->stream, exchange->buffer, sizeof exchange->buffer,
                             G_PRIORITY_DEFAULT, exchange->stop, on_read,
                             g_rc_box_acquire (exchange));
}

static void
on_sent (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Exchange *exchange = user_data;
  g_autoptr (GError) error = NULL;
  SoupMessageMetrics *metrics = soup_message_get_metrics (exchange->message);

  exchange->busy = FALSE;
  exchange->stream = soup_session_send_finish (SOUP_SESSION (object), result, &error);
  if (metrics != NULL)
    exchange->fault.header_bytes =
      soup_message_metrics_get_response_header_bytes_received (metrics);
  if (is_over (exchange))
    settle (exchange);
  else if (exchange->stream == NULL)
    end (exchange, ow_http_words_of (&exchange->fault, error));
  else
    begin_answer (exchange);
  exchange_unref (exchange);
}

static void
on_finished (SoupMessage *message,
             gpointer     user_data)
{
  Exchange *exchange = user_data;

  exchange->finished = TRUE;
  settle (exchange);
}

/* The CONNECT to a proxy is a message of libsoup's own, whose answer it reads to its end. */
static void
on_tunnel_headers (SoupMessage *message,
                   gpointer     user_data)
{
  Exchange *exchange = user_data;
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
  end (exchange, error);
}

static void
unref_by_closure (gpointer  exchange,
                  GClosure *closure)
{
  exchange_unref (exchange);
}

static void
on_queued (SoupSession *session,
           SoupMessage *message,
           gpointer     user_data)
{
  if (message == ((Exchange *) user_data)->message)
    return;

  g_signal_connect_data (message, "got-headers", G_CALLBACK (on_tunnel_headers),
                         g_rc_box_acquire (user_data), unref_by_closure, 0);
  g_signal_connect_data (message, "got-informational", G_CALLBACK (on_interim),
                         g_rc_box_acquire (user_data), unref_by_closure, 0);
}

static void
connect_signals (Exchange *exchange)
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
  Exchange *exchange = g_rc_box_new0 (Exchange);
  GCancellable *cancellable = g_task_get_cancellable (task);
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

  enter (exchange, OW_HTTP_CONNECTING);
  if (exchange->total_ms > 0)
    exchange->total = watch (exchange, exchange->total_ms, on_total_late);
  if (cancellable != NULL)
    {
      exchange->cancelled = g_cancellable_source_new (cancellable);
      g_source_set_priority (exchange->cancelled, G_PRIORITY_HIGH);
      g_source_set_callback (exchange->cancelled, G_SOURCE_FUNC (on_cancelled),
                             g_rc_box_acquire (exchange), exchange_unref);
      g_source_attach (exchange->cancelled, g_task_get_context (task));
    }
  exchange->busy = TRUE;
  soup_session_send_async (exchange->session, exchange->message, G_PRIORITY_DEFAULT,
                           exchange->stop, on_sent, g_rc_box_acquire (exchange));
  exchange_unref (exchange);
}
