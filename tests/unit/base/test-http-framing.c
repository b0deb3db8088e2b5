/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>

#include "base/ow-error.h"
#include "http-server.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

typedef struct {
  const char *bytes;
  gsize       length;
} Bytes;

static void
serve_bytes (Server       *server,
             int           fd,
             gconstpointer data)
{
  const Bytes *bytes = data;

  if (server_read_request (server, fd))
    server_write (fd, bytes->bytes, (gssize) bytes->length);
}

static void
serve_byte_by_byte (Server       *server,
                    int           fd,
                    gconstpointer data)
{
  if (!server_read_request (server, fd))
    return;
  for (const char *c = data; *c != '\0' && server_write (fd, c, 1); c++)
    g_usleep (200);
  server_wait_closed (server, fd);
}

static Trial *
get_text (ServeFunc   serve,
          const char *text,
          gboolean    in_thread)
{
  g_autoptr (Server) server = server_new (serve, text);

  return trial_get (server, in_thread);
}

/* A clean end of the connection is not the end of an answer whose framing says otherwise. */
static void
check_cuts (const char *whole,
            gboolean    in_thread)
{
  for (gsize length = 0; length <= strlen (whole); length++)
    {
      Bytes bytes = { whole, length };
      g_autoptr (Server) server = server_new (serve_bytes, &bytes);
      g_autoptr (Trial) trial = trial_get (server, in_thread);

      if (length == strlen (whole))
        {
          trial_assert_body (trial, 200, "data: one\n\ndata: two\n\n");
          continue;
        }
      g_test_message ("%zu bytes", length);
      trial_assert_error (trial, length == 0 ? OW_ERROR_FAILED : OW_ERROR_DATA, "127.0.0.1",
                          NULL);
      g_assert_true (g_str_has_prefix ("data: one\n\ndata: two\n\n", trial->body->str));
    }
}

static void
test_cut_chunks (gboolean in_thread)
{
  check_cuts (OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
              "b\r\ndata: one\n\n\r\nb\r\ndata: two\n\n\r\n0\r\n\r\n", in_thread);
}

static void
test_cut_length (gboolean in_thread)
{
  check_cuts (OK "Connection: close\r\nContent-Length: 22\r\n\r\ndata: one\n\ndata: two\n\n",
              in_thread);
}

/* In HTTP/1.0 too, and where the server would keep the connection. */
static void
test_cut_length_of_old (gboolean in_thread)
{
  check_cuts ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 22\r\n\r\n"
              "data: one\n\ndata: two\n\n", in_thread);
}

/* Where nothing is told of the length the caller has to know what a whole answer is. */
static void
test_close_is_end (gboolean in_thread)
{
  g_autoptr (Trial) trial = get_text (serve_text, OK "\r\ndata: one\n\n", in_thread);
  g_autoptr (Trial) old = get_text (serve_text, "HTTP/1.0 200\r\n\r\ndata: one\n\n", in_thread);
  g_autoptr (Trial) empty = get_text (serve_text, OK "\r\n", in_thread);

  trial_assert_body (trial, 200, "data: one\n\n");
  trial_assert_body (old, 200, "data: one\n\n");
  trial_assert_error (empty, OW_ERROR_DATA, "before anything of it came", NULL);
}

/* An answer that tells its end is not waited for any longer. */
static void
test_end_without_close (gboolean in_thread)
{
  const char *const answers[] = {
    OK "Content-Length: 5\r\n\r\nhello",
    OK "Content-Length: 5\r\n\r\nhello and what nobody asked for",
    OK "content-length: 5, 5\r\n\r\nhello",
    OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    CHUNKED "5\r\nhello\r\n0\r\n\r\n",
    CHUNKED "2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    OK "Transfer-Encoding: Chunked\r\nContent-Length: 2\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    OK "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
    "\r\n\r\n" OK "Content-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\n" OK "Content-Length: 5\r\n\r\nhello",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Trial) trial = get_text (serve_text_and_stay, answers[i], in_thread);

      g_test_message ("%s", answers[i]);
      trial_assert_body (trial, 200, "hello");
      g_assert_cmpint (trial->took_ms, <, 5000);
    }
}

static void
test_byte_by_byte (gboolean in_thread)
{
  g_autoptr (Trial) chunks = get_text (serve_byte_by_byte, CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
                                       in_thread);
  g_autoptr (Trial) length = get_text (serve_byte_by_byte, OK "Content-Length: 5\r\n\r\nhello",
                                       in_thread);

  trial_assert_body (chunks, 200, "hello");
  trial_assert_body (length, 200, "hello");
}

static void
test_no_body (gboolean in_thread)
{
  const char *const answers[] = {
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    CHUNKED "0\r\n\r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Trial) trial = get_text (serve_text_and_stay, answers[i], in_thread);

      g_assert_no_error (trial->error);
      g_assert_cmpuint (trial->heads, ==, 1);
      g_assert_cmpuint (trial->pieces, ==, 0);
    }
}

/* What libsoup reads as a last chunk, or as no length at all. */
static void
test_broken (gboolean in_thread)
{
  const char *const answers[] = {
    CHUNKED "5\r\nhello\r\nzzz\r\n",
    CHUNKED "5\r\nhello\r\n-1\r\n",
    CHUNKED "5\r\nhelloXX3\r\n",
    CHUNKED "FFFFFFFFFFFFFFFF\r\nhello",
    CHUNKED "7FFFFFFFFFFFFFFFF\r\nhello",
    CHUNKED "8000000000000000\r\nhello",
    CHUNKED "\r\n\r\n",
    CHUNKED "data: {\"choices\":[]}\n\n",
    CHUNKED "5\r\nhello\r\n0\r\nX: y",
    CHUNKED "5\nhello\n0\n\n",
    OK "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    OK "Content-Length: -5\r\n\r\nhello",
    OK "Content-Length: 5x\r\n\r\nhello",
    OK "Content-Length: 99999999999999999999\r\n\r\nhello",
    OK "Content-Length: 18446744073709551615\r\n\r\nhello",
    OK "Content-Length: 9223372036854775807\r\n\r\nhello",
    OK "Content-Length: 50\r\n\r\nhello",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Trial) trial = get_text (serve_text, answers[i], in_thread);

      g_test_message ("%s", answers[i]);
      trial_assert_error (trial, OW_ERROR_DATA, "The answer of 127.0.0.1", "cannot be used", NULL);
    }
}

static void
test_not_http (gboolean in_thread)
{
  static const char nul_in_header[] = OK "X: a\0b\r\nContent-Length: 5\r\n\r\nhello";
  static const char nul_in_status[] = "HTTP/1.1 200 O\0K\r\nContent-Length: 5\r\n\r\nhello";
  const char *const answers[] = {
    "hello\n", "hello", "\r\n\r\n", "\n\n\n\n\n\n", "<html>what is this</html>\r\n\r\n",
    "HTTP/1.1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/2.0 200 OK\r\n\r\nhello", "HTTP/1.2 200 OK\r\n\r\nhello", "HTTP/0.9 200 OK\r\n\r\nhello",
    "HTTP/11 200 OK\r\n\r\nhello", "SSH-2.0-OpenSSH_9.2p1\r\n", "\x15\x03\x01\x00\x02\x02\x28",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 099 OK\r\n\r\n",
  };
  const Bytes nuls[] = {
    { nul_in_header, sizeof nul_in_header - 1 }, { nul_in_status, sizeof nul_in_status - 1 },
    { "\0\0\0\0\r\n\r\n", 8 }, { "HTTP/1.1 200 OK\r\n\0\r\n\r\nhello", 24 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Trial) trial = get_text (serve_text, answers[i], in_thread);

      g_test_message ("%s", answers[i]);
      trial_assert_error (trial, OW_ERROR_DATA, "The answer of 127.0.0.1", "cannot be used", NULL);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (nuls); i++)
    {
      g_autoptr (Server) server = server_new (serve_bytes, &nuls[i]);
      g_autoptr (Trial) trial = trial_get (server, in_thread);

      trial_assert_error (trial, OW_ERROR_DATA, "it is not HTTP", NULL);
    }
}

/* Line ends and what is no letter in headers: at most another header's value, never a caller's. */
static void
test_odd_headers (gboolean in_thread)
{
  g_autofree char *zeroes = g_strnfill (4000, '9');
  g_autofree char *huge = g_strdup_printf ("HTTP/1.1 429 Slow\r\nRetry-After: %s\r\n"
                                           "Content-Type: %s\r\nContent-Length: 2\r\n\r\nno",
                                           zeroes, zeroes);
  g_autoptr (Trial) odd = get_text (serve_text,
                                    "HTTP/1.1 429 \033[31mSlow\r\n : x\r\nno colon\r\nRetry-After: 1\r2\r\n"
                                    "Content-Type: text/\033]0;x\007\r\n continued\r\n\r\nno", in_thread);
  g_autoptr (Trial) too_long = get_text (serve_text, huge, in_thread);
  g_autoptr (Trial) plain = get_text (serve_text,
                                      "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999999999999\r\n"
                                      "Content-Type:  APPLICATION/Json ; a=\"b;c\"\r\n\r\n{}", in_thread);

  g_assert_no_error (odd->error);
  g_assert_cmpstr (odd->answer->retry_after, ==, "1 2");
  g_assert_null (odd->answer->content_type);
  g_assert_no_error (too_long->error);
  g_assert_cmpuint (too_long->answer->status, ==, 429);
  g_assert_null (too_long->answer->retry_after);
  g_assert_null (too_long->answer->content_type);
  g_assert_cmpstr (plain->answer->retry_after, ==, "99999999999999999999");
  g_assert_cmpstr (plain->answer->content_type, ==, "application/json");
}

/* Nothing here decodes: a few bytes that stand for many stay what they are, and are refused. */
static void
test_compressed (gboolean in_thread)
{
  const char *const codings[] = { "gzip", "deflate", "br", "x-gzip", "identity, gzip", "zstd" };

  for (gsize i = 0; i < G_N_ELEMENTS (codings); i++)
    {
      g_autofree char *answer = g_strdup_printf (OK "Content-Encoding: %s\r\nContent-Length: 20\r\n\r\n"
                                                 "\x1f\x8b\x08 whatever it is..", codings[i]);
      g_autofree char *refusal = g_strdup_printf ("HTTP/1.1 500 No\r\nContent-Encoding: %s\r\n\r\n"
                                                  "\x1f\x8b\x08", codings[i]);
      g_autoptr (Trial) trial = get_text (serve_text, answer, in_thread);
      g_autoptr (Trial) refused = get_text (serve_text, refusal, in_thread);

      trial_assert_error (trial, OW_ERROR_DATA, "compressed, which was not asked for", NULL);
      g_assert_cmpuint (trial->heads, ==, 0);
      g_assert_no_error (refused->error);
      g_assert_cmpuint (refused->answer->status, ==, 500);
      g_assert_null (refused->answer->error_body);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  trial_add ("/http/A39/cut/chunks", test_cut_chunks);
  trial_add ("/http/A39/cut/length", test_cut_length);
  trial_add ("/http/A39/cut/length-of-old", test_cut_length_of_old);
  trial_add ("/http/P08/end/close", test_close_is_end);
  trial_add ("/http/P08/end/without-close", test_end_without_close);
  trial_add ("/http/P08/end/byte-by-byte", test_byte_by_byte);
  trial_add ("/http/P08/end/no-body", test_no_body);
  trial_add ("/http/P12/framing/broken", test_broken);
  trial_add ("/http/P12/framing/not-http", test_not_http);
  trial_add ("/http/P12/framing/odd-headers", test_odd_headers);
  trial_add ("/http/P12/framing/compressed", test_compressed);
  return g_test_run ();
}
