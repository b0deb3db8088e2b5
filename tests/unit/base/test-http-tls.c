/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "http-tls.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define HELLO OK "Content-Length: 5\r\n\r\nhello"
#define HERE "IP:127.0.0.1,DNS:localhost"
#define SHORT_MS 50
#define SOON_MS 30000

/* Made once: openssl takes its time. */
static Authority *authority;
static Authority *other_authority;
static GTlsCertificate *certificate;

static Trial *
get (Server     *server,
     const char *host,
     const char *ca_file,
     gboolean    in_thread)
{
  g_autofree char *url = g_strdup_printf ("https://%s:%u/", host, server_get_port (server));
  Trial *trial = trial_new ();
  OwHttpRequest request = {
    .method = "POST", .url = url, .secret_name = "Authorization", .secret_value = "Bearer sk-hunter2",
  };

  trial->ca_file = ca_file;
  trial_run (trial, &request, in_thread);
  return trial;
}

static void
test_believed (gboolean in_thread)
{
  TlsServe serve = { certificate, HELLO, FALSE };
  g_autoptr (Server) server = server_new (serve_tls, &serve);
  const char *const hosts[] = { "127.0.0.1", "localhost" };

  for (gsize i = 0; i < G_N_ELEMENTS (hosts); i++)
    {
      g_autoptr (Trial) trial = get (server, hosts[i], authority_get_file (authority), in_thread);
      g_autofree char *sent = server_dup_request (server);

      trial_assert_body (trial, 200, "hello");
      g_assert_nonnull (strstr (sent, "\r\nAuthorization: Bearer sk-hunter2\r\n"));
    }
}

static void
check_not_believed (GTlsCertificate *shown,
                    const char      *ca_file,
                    const char      *why,
                    gboolean         in_thread)
{
  TlsServe serve = { shown, HELLO, FALSE };
  g_autoptr (Server) server = server_new (serve_tls, &serve);
  g_autoptr (Trial) trial = get (server, "127.0.0.1", ca_file, in_thread);
  g_autofree char *sent = server_dup_request (server);

  trial_assert_error (trial, OW_ERROR_FAILED, "The certificate of 127.0.0.1", "is not believed",
                      why, "Nothing was sent", NULL);
  g_assert_null (sent);
  g_assert_cmpuint (server_count (server), ==, 1);
}

static void
test_not_believed (gboolean in_thread)
{
  const char *ca_file = authority_get_file (authority);
  g_autoptr (GTlsCertificate) expired = authority_issue (authority, HERE, "2010", "2011");
  g_autoptr (GTlsCertificate) early = authority_issue (authority, HERE, "2080", "2090");
  g_autoptr (GTlsCertificate) elsewhere = authority_issue_valid (authority, "DNS:elsewhere.example");

  check_not_believed (expired, ca_file, "it has expired", in_thread);
  check_not_believed (early, ca_file, "it is not valid yet", in_thread);
  check_not_believed (elsewhere, ca_file, "it was issued for another host", in_thread);
  /* Another authority's file, and the system's authorities. */
  check_not_believed (certificate, authority_get_file (other_authority), "no authority that is trusted",
                      in_thread);
  check_not_believed (certificate, NULL, "no authority that is trusted", in_thread);
}

/* The end of TLS's own is not asked for: the framing has to be whole with and without it. */
static void
test_cut (gboolean in_thread)
{
  const char *const answers[] = {
    OK "Content-Length: 9\r\n\r\nhello",
    OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    OK "Transfer-Encoding: chunked\r\n\r\n9\r\nhello",
  };

  for (gsize i = 0; i < 2 * G_N_ELEMENTS (answers); i++)
    {
      TlsServe serve = { certificate, answers[i / 2], i % 2 == 1 };
      g_autoptr (Server) server = server_new (serve_tls, &serve);
      g_autoptr (Trial) trial = get (server, "127.0.0.1", authority_get_file (authority), in_thread);

      trial_assert_error (trial, OW_ERROR_DATA, "cannot be used", NULL);
      g_assert_cmpstr (trial->body->str, ==, "hello");
    }
}

static void
serve_plainly (Server       *server,
               int           fd,
               gconstpointer data)
{
  char hello[16384];

  if (read (fd, hello, sizeof hello) > 0)
    server_write (fd, data, -1);
}

static void
test_no_tls_there (gboolean in_thread)
{
  const char *const answers[] = {
    "HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n", "garbage", "",
    /* An alert of TLS's own: handshake failure. */
    "\x15\x03\x03\x01\x02\x02\x28",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Server) server = server_new (serve_plainly, answers[i]);
      g_autoptr (Trial) trial = get (server, "127.0.0.1", NULL, in_thread);

      g_test_message ("%s", trial->error->message);
      trial_assert_error (trial, OW_ERROR_FAILED, "127.0.0.1", "no encrypted connection (TLS)", "the port",
                          NULL);
    }
}

static void
test_tls_where_none_is_asked (gboolean in_thread)
{
  TlsServe serve = { certificate, HELLO, FALSE };
  g_autoptr (Server) server = server_new (serve_tls, &serve);
  g_autoptr (Trial) trial = trial_get (server, in_thread);

  g_assert_nonnull (trial->error);
  g_assert_cmpstr (trial->body->str, ==, "");
}

/* Saying goodbye in TLS to who does not read would block for ever, about every tenth time. */
static void
test_never_reads (gboolean in_thread)
{
  TlsServe serve = { certificate, NULL, FALSE };
  g_autoptr (Server) server = server_new (serve_tls, &serve);
  g_autofree char *url = g_strdup_printf ("https://127.0.0.1:%u/", server_get_port (server));
  gsize size = 16 * 1024 * 1024;
  g_autofree char *content = g_strnfill (size, 'x');
  g_autoptr (GBytes) body = g_bytes_new (content, size);

  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (Trial) trial = trial_new ();
      OwHttpRequest request = { .method = "POST", .url = url, .body = body };

      request.first_byte_ms = i % 2 == 0 ? SHORT_MS : 0;
      trial->cancel_ms = i % 2 == 1 ? SHORT_MS : 0;
      trial->ca_file = authority_get_file (authority);
      trial_run (trial, &request, in_thread);
      trial_assert_error (trial, i % 2 == 0 ? OW_ERROR_TIMED_OUT : OW_ERROR_INTERRUPTED, "127.0.0.1",
                          NULL);
      g_assert_cmpint (trial->took_ms, <, SOON_MS);
    }
}

int
main (int    argc,
      char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  authority = authority_new ();
  other_authority = authority_new ();
  certificate = authority_issue_valid (authority, HERE);
  trial_add ("/http/P12/tls/believed", test_believed);
  trial_add ("/http/P12/tls/not-believed", test_not_believed);
  trial_add ("/http/A39/tls/cut", test_cut);
  trial_add ("/http/tls/none-there", test_no_tls_there);
  trial_add ("/http/tls/none-asked", test_tls_where_none_is_asked);
  trial_add ("/http/tls/never-reads", test_never_reads);
  result = g_test_run ();
  g_object_unref (certificate);
  authority_free (authority);
  authority_free (other_authority);
  return result;
}
