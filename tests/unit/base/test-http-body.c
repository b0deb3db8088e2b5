/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-http-body-private.h"

#include <string.h>

typedef struct {
  const char *encoding;
  const char *length;
  const char *bytes;
  const char *content;  /* NULL: refused */
  gboolean    done;     /* it tells its own end */
} Case;

/* The same in one go, in two at every place, and byte by byte. */
static const char *
feed (OwHttpBody *body,
      GString    *content,
      const char *data,
      gsize       length)
{
  while (length > 0 && !body->done)
    {
      const char *piece;
      gsize piece_length;
      const char *wrong = ow_http_body_take (body, &data, &length, &piece, &piece_length);

      if (wrong != NULL)
        return wrong;
      g_string_append_len (content, piece, (gssize) piece_length);
    }
  return NULL;
}

static void
check_split (const Case *wanted,
             gsize       first,
             gsize       step)
{
  g_autoptr (GString) content = g_string_new (NULL);
  OwHttpBody body;
  const char *wrong = ow_http_body_start (&body, 200, wanted->encoding, wanted->length);
  gsize length = strlen (wanted->bytes);

  for (gsize at = 0; at < length && wrong == NULL && !body.done;)
    {
      gsize part = MIN (at == 0 ? first : step, length - at);

      wrong = feed (&body, content, wanted->bytes + at, part);
      at += part;
    }

  if (wanted->content == NULL)
    {
      g_assert_nonnull (wrong);
      return;
    }
  g_assert_null (wrong);
  g_assert_cmpstr (content->str, ==, wanted->content);
  g_assert_cmpint (body.done, ==, wanted->done);
}

static void
check_case (const Case *wanted)
{
  gsize length = strlen (wanted->bytes);

  g_test_message ("%s | %s | %s", wanted->encoding != NULL ? wanted->encoding : "",
                  wanted->length != NULL ? wanted->length : "", wanted->bytes);
  for (gsize at = 1; at <= length; at++)
    check_split (wanted, at, length);
  check_split (wanted, 1, 1);
}

static void
test_whole (void)
{
  const Case cases[] = {
    { NULL, "5", "hello", "hello", TRUE },
    { NULL, "5", "hello and more", "hello", TRUE },
    { NULL, "5, 5", "hello", "hello", TRUE },
    { NULL, "0005", "hello", "hello", TRUE },
    { NULL, "6", "hello", "hello", FALSE },
    { NULL, NULL, "hello", "hello", FALSE },
    { "identity", "5", "hello", "hello", TRUE },
    { "chunked", NULL, "5\r\nhello\r\n0\r\n\r\n", "hello", TRUE },
    { " Chunked ", "3", "5\r\nhello\r\n0\r\n\r\nmore", "hello", TRUE },
    { "chunked", NULL, "2\r\nhe\r\n03\r\nllo\r\n000\r\n\r\n", "hello", TRUE },
    { "chunked", NULL, "a\r\n0\r\n\r\n12345\r\n0\r\n\r\n", "0\r\n\r\n12345", TRUE },
    { "chunked", NULL, "A;x=\"y\r\n0123456789\r\n0\r\n\r\n", "0123456789", TRUE },
    { "chunked", NULL, "5 ;a=b\r\nhello\r\n0;last\r\nX: y\r\nZ:\r\n\r\n", "hello", TRUE },
    { "chunked", NULL, "0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", TRUE },
    { "chunked", NULL, "0\r\n\r\n", "", TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    check_case (&cases[i]);
}

static void
test_broken (void)
{
  const char *const bodies[] = {
    "x\r\n", "\r\n", " 5\r\nhello", "-5\r\nhello", "+5\r\nhello", "0x5\r\nhello", "5\nhello",
    "5\r\rhello", "5x\r\nhello", "5\r\nhelloX\r\n", "5\r\nhello\n", "5\r\nhello\rX", "5 \r\nhell\r\nx",
    "5\r\nhello\r\n-1\r\n", "5\r\nhello\r\nend", "5\r\nhello\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\n\n",
    "0\r\n\r\r", "5;\001\r\nhello", "FFFFFFFFFFFFFFFF\r\nhello", "8000000000000000\r\nhello",
    "ffffffffffffffff0\r\nhello", "10000000000000005\r\nhello", "data: {\"x\":1}\n\n",
    "HTTP/1.1 200 OK\r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bodies); i++)
    check_case (&(Case) { "chunked", NULL, bodies[i], NULL, FALSE });
}

static void
test_headers (void)
{
  const char *const lengths[] = {
    "", "-1", "+5", "5x", "0x5", "5 5", "5, 6", "5,", ",5", "5,,5", "99999999999999999999",
    "9223372036854775808", "five", "5.0", "5;5",
  };
  const char *const encodings[] = {
    "gzip", "gzip, chunked", "chunked, chunked", "chunked, identity", "chunked;q=1", "xchunked",
    "identity, chunked", "",
  };
  OwHttpBody body;

  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++)
    {
      g_test_message ("%s", lengths[i]);
      g_assert_nonnull (ow_http_body_start (&body, 200, NULL, lengths[i]));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (encodings); i++)
    {
      g_test_message ("%s", encodings[i]);
      g_assert_nonnull (ow_http_body_start (&body, 200, encodings[i], "5"));
    }
  for (guint status = 204; status <= 304; status += 100)
    {
      g_assert_null (ow_http_body_start (&body, status, "chunked", NULL));
      g_assert_true (body.done);
    }
  g_assert_null (ow_http_body_start (&body, 200, NULL, "0"));
  g_assert_true (body.done);
  g_assert_null (ow_http_body_end (&body));
}

/* Whatever the place at which the connection ends, only the last one is the body's end. */
static void
test_cut (void)
{
  const char *whole = "5;x\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n";

  for (gsize at = 0; at <= strlen (whole); at++)
    {
      g_autoptr (GString) content = g_string_new (NULL);
      OwHttpBody body;

      g_assert_null (ow_http_body_start (&body, 200, "chunked", NULL));
      g_assert_null (feed (&body, content, whole, at));
      g_assert_cmpint (ow_http_body_end (&body) == NULL, ==, at == strlen (whole));
    }
  for (gsize at = 0; at <= 5; at++)
    {
      g_autoptr (GString) content = g_string_new (NULL);
      OwHttpBody body;

      g_assert_null (ow_http_body_start (&body, 200, NULL, "5"));
      g_assert_null (feed (&body, content, "hello", at));
      g_assert_cmpint (ow_http_body_end (&body) == NULL, ==, at == 5);
    }
}

/* Framing without end, which no cap on content would ever stop. */
static void
test_endless (void)
{
  const char *const starts[] = { "5;", "0\r\nX: ", "", "0\r\n" };
  const char *const repeated[] = { "aaaaaaaa", "aaaaaaaa", "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n",
                                   "X: y\r\n" };

  for (gsize i = 0; i < G_N_ELEMENTS (starts); i++)
    {
      g_autoptr (GString) content = g_string_new (NULL);
      const char *wrong = NULL;
      OwHttpBody body;

      g_assert_null (ow_http_body_start (&body, 200, "chunked", NULL));
      g_assert_null (feed (&body, content, starts[i], strlen (starts[i])));
      for (guint n = 0; n < 1000000 && wrong == NULL; n++)
        wrong = feed (&body, content, repeated[i], strlen (repeated[i]));
      g_assert_nonnull (wrong);
    }
}

/* A token a chunk is what models send, for as long as they talk. */
static void
test_tokens (void)
{
  g_autoptr (GString) content = g_string_new (NULL);
  OwHttpBody body;

  g_assert_null (ow_http_body_start (&body, 200, "chunked", NULL));
  for (guint n = 0; n < 1000000; n++)
    g_assert_null (feed (&body, content, "1\r\nx\r\n", 6));
  g_assert_null (feed (&body, content, "0\r\n\r\n", 5));
  g_assert_true (body.done);
  g_assert_cmpuint (content->len, ==, 1000000);
}

/* Any bytes: never more content than came, and never out of bounds (under the sanitizers). */
static void
test_random (void)
{
  static const char letters[] = "0123456789abcdefABCDEF\r\n\r\n\r\n; x\0\377-";

  for (guint round = 0; round < 20000; round++)
    {
      g_autoptr (GString) content = g_string_new (NULL);
      gsize length = (gsize) g_test_rand_int_range (1, 64);
      g_autofree char *bytes = g_malloc (length);
      OwHttpBody body;

      for (gsize i = 0; i < length; i++)
        bytes[i] = letters[g_test_rand_int_range (0, sizeof letters - 1)];
      g_assert_null (ow_http_body_start (&body, 200, "chunked", NULL));
      if (feed (&body, content, bytes, length) == NULL && !body.done)
        g_assert_nonnull (ow_http_body_end (&body));
      g_assert_cmpuint (content->len, <=, length);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/http/P08/body/whole", test_whole);
  g_test_add_func ("/http/P12/body/broken", test_broken);
  g_test_add_func ("/http/P12/body/headers", test_headers);
  g_test_add_func ("/http/A39/body/cut", test_cut);
  g_test_add_func ("/http/P12/body/endless", test_endless);
  g_test_add_func ("/http/P08/body/tokens", test_tokens);
  g_test_add_func ("/http/P12/body/random", test_random);
  return g_test_run ();
}
