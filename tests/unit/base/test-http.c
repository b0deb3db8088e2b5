/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "http-server.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define BAD_KEY \
  "HTTP/1.1 401 Bad key sk-hunter2hunter2\r\nRetry-After: sk-hunter2hunter2\r\n" \
  "Content-Type: text/sk-hunter2hunter2\r\n\r\nBad key sk-hunter2hunter2, sk-hunter2hunter2!"
#define HELLO OK "Content-Length: 5\r\n\r\nhello"

static void
test_get (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text, OK "Content-Length: 5\r\n"
                                          "Content-Type: Text/Plain; charset=x\r\n\r\nhello");
  g_autoptr (Trial) trial = trial_get (server, in_thread);
  g_autofree char *sent = NULL;

  trial_assert_body (trial, 200, "hello");
  g_assert_cmpstr (trial->answer->content_type, ==, "text/plain");
  g_assert_null (trial->answer->retry_after);
  g_assert_null (trial->answer->error_body);
  sent = server_dup_request (server);
  g_assert_true (g_str_has_prefix (sent, "GET / HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nConnection: close\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nUser-Agent: openworker/"));
  g_assert_null (strstr (sent, "Accept-Encoding"));
}

static void
test_post (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text, HELLO);
  g_autoptr (Trial) trial = trial_new ();
  g_autofree char *url = server_make_url (server, "/v1/x?a=%20b#part");
  g_autofree char *sent = NULL;
  gsize size = 3 * 1024 * 1024;
  g_autofree char *content = g_strnfill (size, 'x');
  g_autoptr (GBytes) body = g_bytes_new (content, size);
  const char *const headers[] = { "X-One", "1", "Accept", "text/event-stream", NULL };
  OwHttpRequest request = {
    .method = "POST", .url = url, .headers = headers, .secret_name = "Authorization",
    .secret_value = "Bearer sk-secret", .body = body, .content_type = "application/json",
  };

  trial_run (trial, &request, in_thread);
  trial_assert_body (trial, 200, "hello");
  sent = server_dup_request (server);
  g_assert_true (g_str_has_prefix (sent, "POST /v1/x?a=%20b HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nX-One: 1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nAccept: text/event-stream\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nAuthorization: Bearer sk-secret\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nContent-Type: application/json\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nContent-Length: 3145728\r\n"));
  g_assert_cmpuint (strlen (strstr (sent, "\r\n\r\n") + 4), ==, size);
}

/* The functions decide: an error at the head ends it, and "enough" ends it well. */
static void
test_functions_decide (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text_and_stay,
                                          OK "Content-Type: text/html\r\n\r\n0123456789");
  g_autofree char *url = server_make_url (server, "/");
  OwHttpRequest request = { .method = "GET", .url = url };
  g_autoptr (Trial) refused = trial_new ();
  g_autoptr (Trial) enough = trial_new ();

  refused->head_error = "This is no stream";
  trial_run (refused, &request, in_thread);
  trial_assert_error (refused, OW_ERROR_DATA, "This is no stream", NULL);
  g_assert_cmpuint (refused->pieces, ==, 0);
  enough->enough = 1;
  trial_run (enough, &request, in_thread);
  g_assert_no_error (enough->error);
  g_assert_cmpuint (enough->pieces, ==, 1);
  g_assert_cmpint (enough->took_ms, <, 5000);
}

static void
check_status (guint    status,
              gboolean in_thread)
{
  g_autofree char *answer = g_strdup_printf ("HTTP/1.1 %u Says so\r\nContent-Length: 4\r\n"
                                             "WWW-Authenticate: Basic realm=\"x\"\r\n"
                                             "Proxy-Authenticate: Digest realm=\"x\"\r\n"
                                             "Retry-After: 7\r\n\r\nno!!", status);
  g_autoptr (Server) server = server_new (serve_text, answer);
  g_autoptr (Trial) trial = trial_get (server, in_thread);
  g_autofree char *sent = server_dup_request (server);

  g_test_message ("%u", status);
  g_assert_no_error (trial->error);
  g_assert_cmpuint (trial->answer->status, ==, status);
  g_assert_cmpstr (trial->answer->retry_after, ==, "7");
  g_assert_cmpuint (trial->heads, ==, 0);
  g_assert_cmpuint (trial->pieces, ==, 0);
  /* Nobody asked again, with or without a login. */
  g_assert_cmpuint (server_count (server), ==, 1);
  g_assert_null (strstr (sent, "uthorization"));
  if (status == 304 || status == 421)
    g_assert_null (trial->answer->error_body);
  else
    g_assert_cmpmem (g_bytes_get_data (trial->answer->error_body, NULL),
                     g_bytes_get_size (trial->answer->error_body), "no!!", 4);
}

static void
test_statuses (gboolean in_thread)
{
  const guint statuses[] = { 300, 304, 305, 306, 399, 400, 401, 403, 404, 407, 408, 413, 421, 425,
                             429, 500, 502, 503, 511, 599, 600, 999 };

  for (gsize i = 0; i < G_N_ELEMENTS (statuses); i++)
    check_status (statuses[i], in_thread);
}

/* An answer that says no is one, however it breaks off. */
static void
test_broken_refusals (gboolean in_thread)
{
  const char *const answers[] = {
    "HTTP/1.1 500 No\r\nContent-Length: 500\r\n\r\nno!!",
    "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno!!\r\nzzz",
    "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno!!\r\n",
    "HTTP/1.1 500 No\r\n\r\nno!!",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Server) server = server_new (serve_text, answers[i]);
      g_autoptr (Trial) trial = trial_get (server, in_thread);

      g_assert_no_error (trial->error);
      g_assert_cmpuint (trial->answer->status, ==, 500);
      g_assert_cmpmem (g_bytes_get_data (trial->answer->error_body, NULL),
                       g_bytes_get_size (trial->answer->error_body), "no!!", 4);
    }
}

static void
test_redirects (gboolean in_thread)
{
  const char *const places[] = {
    "http://elsewhere.example/v1", "https://127.0.0.1:1/", "file:///etc/passwd", "/other",
    "//elsewhere.example", "data:text/plain,x", "javascript:alert(1)", "http://localhost:1/",
  };
  const guint statuses[] = { 301, 302, 303, 307, 308 };

  for (gsize i = 0; i < G_N_ELEMENTS (places) * G_N_ELEMENTS (statuses); i++)
    {
      const char *place = places[i % G_N_ELEMENTS (places)];
      g_autofree char *answer = g_strdup_printf ("HTTP/1.1 %u Away\r\nLocation: %s\r\n\r\n",
                                                 statuses[i / G_N_ELEMENTS (places)], place);
      g_autoptr (Server) server = server_new (serve_text, answer);
      g_autoptr (Trial) trial = trial_get (server, in_thread);

      trial_assert_error (trial, OW_ERROR_DATA, "leads elsewhere, to ", place,
                          "give it as the address", NULL);
      g_assert_cmpuint (trial->heads, ==, 0);
      g_assert_cmpuint (server_count (server), ==, 1);
    }
}

static void
test_odd_redirects (gboolean in_thread)
{
  const char *const heads[] = {
    "", "Location: \033]52;c;x\007\r\n", "Location: \342\200\256gpj.exe\r\n", "Location: \r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (heads); i++)
    {
      g_autofree char *answer = g_strconcat ("HTTP/1.1 302 Away\r\n", heads[i], "\r\n", NULL);
      g_autoptr (Server) server = server_new (serve_text, answer);
      g_autoptr (Trial) trial = trial_get (server, in_thread);

      trial_assert_error (trial, OW_ERROR_DATA, "leads elsewhere", NULL);
      for (const char *c = trial->error->message; *c != '\0'; c++)
        g_assert_true (g_ascii_isprint (*c));
    }
}

/* A cookie that was set does not come back. */
static void
test_no_memory (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text_and_stay, OK
                                          "Set-Cookie: a=b; Path=/\r\nSet-Cookie2: c=d\r\n"
                                          "Cache-Control: max-age=999999\r\nETag: \"1\"\r\n"
                                          "Connection: keep-alive\r\nKeep-Alive: timeout=99\r\n"
                                          "Content-Length: 5\r\n\r\nhello");

  for (guint i = 1; i <= 3; i++)
    {
      g_autoptr (Trial) trial = trial_get (server, in_thread);
      g_autofree char *sent = server_dup_request (server);

      trial_assert_body (trial, 200, "hello");
      g_assert_null (strcasestr (sent, "cookie"));
      g_assert_null (strcasestr (sent, "if-none-match"));
      /* Each on a connection of its own, although the server would keep the first. */
      g_assert_cmpuint (server_count (server), ==, i);
    }
}

static void
keep_result (GObject      *object,
             GAsyncResult *result,
             gpointer      user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

static OwHttpAnswer *
send_now (OwHttp              *http,
          const OwHttpRequest *request,
          GError             **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_http_send_async (http, request, NULL, NULL, NULL, NULL, keep_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return ow_http_send_finish (http, result, error);
}

/* One client, many requests; the server leaves each time as soon as it has answered. */
static void
test_closed_meanwhile (void)
{
  g_autoptr (Server) server = server_new (serve_text, OK "Connection: keep-alive\r\n"
                                          "Content-Length: 5\r\n\r\nhello");
  g_autoptr (OwHttp) http = ow_http_new (NULL, "", NULL);
  g_autofree char *url = server_make_url (server, "/");
  OwHttpRequest request = { .method = "POST", .url = url };

  for (guint i = 1; i <= 20; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwHttpAnswer) answer = send_now (http, &request, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (answer->status, ==, 200);
      g_assert_cmpuint (server_count (server), ==, i);
      g_usleep (1000);
    }
}

static void
check_usage (const OwHttpRequest *request,
             const char          *word)
{
  g_autoptr (Trial) trial = trial_new ();

  trial_run (trial, request, FALSE);
  trial_assert_error (trial, OW_ERROR_USAGE, word, NULL);
  g_assert_null (strstr (trial->error->message, "hunter2"));
}

static void
test_urls (void)
{
  const char *const urls[] = {
    "", "http", "http:", "http://", "http:///x", "http://:80/", "ftp://h/", "file:///etc/passwd",
    "httpx://h/", " http://h/", "http://h/ x", "http://h/\r\nX: hunter2", "http://h\t/", "h/",
    "http://h/\177", "http://\303\274.example/", "http://h:0/", "http://h:99999/", "http://h:x/",
    "http://h:-1/", "http://user@h/", "http://user:hunter2@h/", "http://:hunter2@h/", "http://@h/",
    "http://h%0d%0aX:%20hunter2/", "http://h%00/", "http://h%40hunter2/", "http://a%2fb/", "//h/",
    "http://[::1/", "http://[x]/", "http://[::1%25lo]/", "http://h\\@x/", "http://a b/", "http://<h>/",
    "unix:/run/x", "data:text/plain,hunter2", "http://h{x}/", "javascript:hunter2",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (urls); i++)
    {
      g_test_message ("%s", urls[i]);
      check_usage (&(OwHttpRequest) { .method = "GET", .url = urls[i] },
                   "The address of the server makes no sense");
      g_assert_false (ow_http_url_is_loopback (urls[i]));
    }
  check_usage (&(OwHttpRequest) { .method = "GET" }, "it is empty");
}

/* Nothing of what a caller gives can be a second header or a second request. */
static void
test_headers (void)
{
  const char *const bad[][2] = {
    { "", "x" }, { "A B", "x" }, { "A:", "x" }, { "A\r\nB", "x" }, { "A\n", "x" }, { "\303\274", "x" },
    { "A", "x\r\nB: hunter2" }, { "A", "x\nB" }, { "A", "x\rB" }, { "A", "\r\n\r\nGET / HTTP/1.1" },
    { "A", "x\001" }, { "A", "\177" }, { "Host", "h" }, { "HOST", "h" }, { "Content-Length", "0" },
    { "Transfer-Encoding", "chunked" }, { "connection", "keep-alive" }, { "Expect", "100-continue" },
    { "Cookie", "a=b" }, { "Upgrade", "h2c" }, { "TE", "gzip" }, { "Trailer", "x" },
    { "Proxy-Authorization", "hunter2" }, { "Content-Type", "x" }, { "A", NULL },
  };
  const char *const methods[] = { "", "get", "PUT", "CONNECT", "GET / HTTP/1.1\r\nX:", "GET ", NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      const char *const headers[] = { "Good", "1", bad[i][0], bad[i][1], NULL };

      g_test_message ("%s: %s", bad[i][0], bad[i][1]);
      check_usage (&(OwHttpRequest) { .method = "GET", .url = "http://127.0.0.1:1/",
                                      .headers = headers }, "eader");
      check_usage (&(OwHttpRequest) { .method = "GET", .url = "http://127.0.0.1:1/",
                                      .secret_name = bad[i][0], .secret_value = bad[i][1] },
                   "eader");
    }
  check_usage (&(OwHttpRequest) { .method = "GET", .url = "http://127.0.0.1:1/",
                                  .secret_value = "hunter2" }, "eader");
  check_usage (&(OwHttpRequest) { .method = "POST", .url = "http://127.0.0.1:1/",
                                  .content_type = "a\r\nB: c" }, "the type of its body");
  for (gsize i = 0; i < G_N_ELEMENTS (methods); i++)
    check_usage (&(OwHttpRequest) { .method = methods[i], .url = "http://127.0.0.1:1/" },
                 "neither GET nor POST");
}

static void
test_loopback (void)
{
  const char *const here[] = {
    "http://127.0.0.1", "http://127.0.0.1:8080/v1", "https://127.9.9.9/", "http://[::1]:1/x",
    "HTTP://LOCALHOST/", "https://localhost:443", "http://localhost?x", "http://[0:0:0:0:0:0:0:1]/",
    "http://loc%61lhost/",
  };
  const char *const elsewhere[] = {
    "http://127.0.0.1.example/", "http://localhost.example/", "http://example/127.0.0.1",
    "http://128.0.0.1/", "http://0.0.0.0/", "http://[::]/", "http://10.0.0.1/", "http://notlocalhost/",
    "http://127.0.0.1@example/", "http://example/#@localhost", "http://example?http://localhost",
    "ftp://127.0.0.1/", "127.0.0.1", "localhost", "http://[fe80::1]/", "http://2130706433/",
    "http://0x7f.1/", "http://127.1/", "http://localhost:80@example/", "http://localhost\\.example/",
    "http://[::ffff:10.0.0.1]/", "http:/localhost/", "http:localhost",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (here); i++)
    {
      g_test_message ("%s", here[i]);
      g_assert_true (ow_http_url_is_loopback (here[i]));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (elsewhere); i++)
    {
      g_test_message ("%s", elsewhere[i]);
      g_assert_false (ow_http_url_is_loopback (elsewhere[i]));
    }
}

/* A server that knows the key sends it back in all it can. */
static void
test_secret_comes_back (gboolean in_thread)
{
  const char *const answers[] = {
    "HTTP/1.1 302 Away\r\nLocation: http://x/?key=sk-hunter2hunter2\r\n\r\n",
    BAD_KEY,
    "HTTP/1.1 200 sk-hunter2hunter2\r\nContent-Encoding: sk-hunter2hunter2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: sk-hunter2hunter2\r\n\r\n",
    "sk-hunter2hunter2\r\n\r\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Server) server = server_new (serve_text, answers[i]);
      g_autofree char *url = server_make_url (server, "/");
      g_autoptr (Trial) trial = trial_new ();
      OwHttpRequest request = {
        .method = "POST", .url = url, .secret_name = "Authorization",
        .secret_value = "Bearer sk-hunter2hunter2",
      };

      trial_run (trial, &request, in_thread);
      if (i != 1)
        {
          trial_assert_error (trial, OW_ERROR_DATA, "127.0.0.1", NULL);
          g_assert_null (strstr (trial->error->message, "hunter2"));
          continue;
        }
      g_assert_no_error (trial->error);
      g_assert_null (strstr (trial->answer->retry_after, "hunter2"));
      g_assert_null (strstr (trial->answer->content_type, "hunter2"));
      g_assert_cmpmem (g_bytes_get_data (trial->answer->error_body, NULL),
                       g_bytes_get_size (trial->answer->error_body),
                       "Bad key *****************, *****************!", 45);
    }
}

static void
test_unusable_client (void)
{
  const char *const proxies[] = {
    "proxy:3128", "ftp://proxy/", "http://", "http://user:hunter2@proxy:1/", "http://a b/",
    "socks5://user@proxy:1", "file:///x", "direct://", "http://proxy:0/",
  };
  g_autofree char *empty = g_build_filename (g_get_tmp_dir (), "ow-http-empty-XXXXXX", NULL);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (proxies); i++)
    {
      g_test_message ("%s", proxies[i]);
      g_assert_null (ow_http_new (NULL, proxies[i], &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_cmpint (ow_error_exit_status (error), ==, 2);
      g_assert_nonnull (strstr (error->message, "The proxy cannot be used"));
      g_assert_null (strstr (error->message, "hunter2"));
      g_clear_error (&error);
    }

  close (g_mkstemp (empty));
  for (guint i = 0; i < 3; i++)
    {
      const char *const files[] = { "/does/not/exist.pem", empty, "/dev/null" };

      g_assert_null (ow_http_new (files[i], "", &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, files[i]));
      g_assert_nonnull (strstr (error->message, "Give a file of certificates in PEM"));
      g_clear_error (&error);
    }
  g_assert_cmpint (unlink (empty), ==, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  trial_add ("/http/P12/asks-for-nothing", test_get);
  trial_add ("/http/post", test_post);
  trial_add ("/http/functions-decide", test_functions_decide);
  trial_add ("/http/P12/statuses", test_statuses);
  trial_add ("/http/P08/broken-refusals", test_broken_refusals);
  trial_add ("/http/P12/redirects", test_redirects);
  trial_add ("/http/P12/odd-redirects", test_odd_redirects);
  trial_add ("/http/P12/no-memory", test_no_memory);
  trial_add ("/http/P12/secret-comes-back", test_secret_comes_back);
  g_test_add_func ("/http/closed-meanwhile", test_closed_meanwhile);
  g_test_add_func ("/http/P12/urls", test_urls);
  g_test_add_func ("/http/P12/headers", test_headers);
  g_test_add_func ("/http/loopback", test_loopback);
  g_test_add_func ("/http/unusable-client", test_unusable_client);
  return g_test_run ();
}
