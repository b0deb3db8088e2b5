/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* From the headers of an answer to its end. */

#include "ow-http-exchange-private.h"

#define ERROR_MAX_BYTES (64 * 1024)
/* An answer that says no has said what matters; its text is not waited for any longer. */
#define ERROR_MS        10000

static void read_more (OwHttpExchange *exchange);

static void
end_as_data (OwHttpExchange *exchange,
             const char     *why)
{
  ow_http_exchange_end (exchange, ow_http_words_data (&exchange->fault, why));
}

static gboolean
is_redirect (guint status)
{
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void
end_as_redirect (OwHttpExchange *exchange)
{
  g_autofree char *place = ow_http_answer_dup_header (exchange->message, "Location",
                                                      exchange->secret);
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_DATA,
                 "Nothing is sent there. If it is the right place, give it as the address",
                 "%s leads elsewhere, to %s", exchange->where,
                 place != NULL ? place : "a place that cannot be shown");
  ow_http_exchange_end (exchange, error);
}

static void
begin_body (OwHttpExchange *exchange)
{
  GError *error = NULL;

  ow_http_exchange_enter (exchange, OW_HTTP_READING);
  if (exchange->body.kind == OW_HTTP_BODY_LENGTH && exchange->body.left > exchange->max_bytes)
    end_as_data (exchange, "it is longer than an answer may be");
  else if (exchange->head != NULL
           && !exchange->head (exchange->answer, exchange->data_user, &error))
    ow_http_exchange_end (exchange, error);
  else if (ow_http_exchange_is_over (exchange))
    return;
  else if (exchange->body.done)
    ow_http_exchange_end (exchange, NULL);
  else
    read_more (exchange);
}

/* Of an answer that says no there is as much text as can be had. */
static void
begin_error_body (OwHttpExchange *exchange,
                  gboolean        readable)
{
  if (!readable || exchange->body.done)
    {
      ow_http_exchange_end (exchange, NULL);
      return;
    }

  exchange->error_body = g_byte_array_new ();
  exchange->phase_ms[OW_HTTP_READING] = MIN (exchange->phase_ms[OW_HTTP_READING], ERROR_MS);
  ow_http_exchange_enter (exchange, OW_HTTP_READING);
  read_more (exchange);
}

void
ow_http_exchange_begin_answer (OwHttpExchange *exchange)
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

/* FALSE: nothing more is wanted. */
static gboolean
take_piece (OwHttpExchange *exchange,
            const char     *piece,
            gsize           length)
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
end_as_broken (OwHttpExchange *exchange,
               const char     *why)
{
  if (exchange->error_body != NULL || why == NULL)
    ow_http_exchange_end (exchange, NULL);
  else
    end_as_data (exchange, why);
}

static void
take_bytes (OwHttpExchange *exchange,
            const char     *data,
            gsize           length)
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
          if (!ow_http_exchange_is_over (exchange))
            ow_http_exchange_end (exchange, NULL);
          return;
        }
      if (ow_http_exchange_is_over (exchange))
        return;
    }
  if (exchange->body.done)
    ow_http_exchange_end (exchange, NULL);
  else
    read_more (exchange);
}

static void
on_read (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  OwHttpExchange *exchange = user_data;
  g_autoptr (GError) error = NULL;
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (object), result, &error);

  exchange->busy = FALSE;
  if (ow_http_exchange_is_over (exchange))
    ow_http_exchange_settle (exchange);
  else if (length < 0 && exchange->error_body == NULL)
    ow_http_exchange_end (exchange, ow_http_words_of (&exchange->fault, error));
  else if (length <= 0)
    end_as_broken (exchange, ow_http_body_end (&exchange->body));
  else
    {
      if (exchange->error_body == NULL)
        g_source_set_ready_time (exchange->deadline, g_get_monotonic_time ()
                                 + (gint64) exchange->phase_ms[OW_HTTP_READING] * 1000);
      take_bytes (exchange, exchange->buffer, (gsize) length);
    }
  ow_http_exchange_unref (exchange);
}

static void
read_more (OwHttpExchange *exchange)
{
  exchange->busy = TRUE;
  g_input_stream_read_async (exchange->stream, exchange->buffer, sizeof exchange->buffer,
                             G_PRIORITY_DEFAULT, exchange->stop, on_read,
                             g_rc_box_acquire (exchange));
}
