/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "http-server.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define SHORT_MS 200
/* A hundred times as long as a byte takes that comes now and then. */
#define IDLE_MS  2000
#define LONG_MS  60000
/* What must be over at once, or soon after a short deadline, has this long: on a machine under
 * load it can take seconds. It is well before what is not to be waited for, LONG_MS. */
#define SOON_MS  30000
/* An answer that says no is waited for by the client's own measure at most: 10 s. */
#define REFUSAL_MS 9500

static const OwHttpRequest patient = {
  .method = "GET", .connect_ms = LONG_MS, .first_byte_ms = LONG_MS, .idle_ms = LONG_MS,
};

static Trial *
try_at (Server              *server,
        const OwHttpRequest *request,
        guint                cancel_ms,
        gboolean             in_thread)
{
  OwHttpRequest sent = *request;
  g_autofree char *url = server_make_url (server, "/");
  Trial *trial = trial_new ();

  sent.url = url;
  trial->cancel_ms = cancel_ms;
  trial_run (trial, &sent, in_thread);
  return trial;
}

/* It ended with what it should, not before @least_ms and not long after. */
static void
assert_late (Trial      *trial,
             guint       least_ms,
             const char *words)
{
  trial_assert_error (trial, OW_ERROR_TIMED_OUT, "127.0.0.1", words, NULL);
  g_assert_cmpint (trial->took_ms, >=, least_ms - 1);
  g_assert_cmpint (trial->took_ms, <, SOON_MS);
}

static void
assert_stopped (Trial *trial)
{
  trial_assert_error (trial, OW_ERROR_INTERRUPTED, "stopped", NULL);
  g_assert_cmpint (trial->took_ms, <, SOON_MS);
}

static void
serve_silence (Server       *server,
               int           fd,
               gconstpointer data)
{
  server_wait_closed (server, fd);
}

/* Never reads what it is sent. */
static void
serve_nothing (Server       *server,
               int           fd,
               gconstpointer data)
{
  while (!server_is_ending (server))
    g_usleep (10000);
}

static void
dribble (Server     *server,
         int         fd,
         const char *start,
         const char *again)
{
  gsize length = strlen (again);

  if (!server_read_request (server, fd) || !server_write (fd, start, -1))
    return;
  for (gsize i = 0; !server_is_ending (server) && server_write (fd, again + i % length, 1); i++)
    g_usleep (20000);
}

static void
serve_slow_headers (Server       *server,
                    int           fd,
                    gconstpointer data)
{
  dribble (server, fd, "HTTP/1.1 200 OK\r\n", "X: y\r\n");
}

static void
serve_slow_body (Server       *server,
                 int           fd,
                 gconstpointer data)
{
  dribble (server, fd, OK "\r\n", "x");
}

typedef struct {
  const char *start;
  const char *again;
} Flood;

static void
serve_flood (Server       *server,
             int           fd,
             gconstpointer data)
{
  const Flood *flood = data;
  g_autoptr (GString) block = g_string_new (NULL);

  while (block->len < 65536)
    g_string_append (block, flood->again);
  if (!server_read_request (server, fd) || !server_write (fd, flood->start, -1))
    return;
  while (!server_is_ending (server) && server_write (fd, block->str, (gssize) block->len))
    continue;
}

/* A port where connections are neither taken nor refused: its queue is full. */
static int
make_full_port (guint *port,
                int    fillers[4])
{
  struct sockaddr_in address = { .sin_family = AF_INET };
  socklen_t length = sizeof address;
  int listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  g_assert_cmpint (bind (listener, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (listener, 0), ==, 0);
  g_assert_cmpint (getsockname (listener, (struct sockaddr *) &address, &length), ==, 0);
  for (guint i = 0; i < 4; i++)
    {
      fillers[i] = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      connect (fillers[i], (struct sockaddr *) &address, sizeof address);
    }
  *port = ntohs (address.sin_port);
  return listener;
}

static void
check_full_port (const OwHttpRequest *request,
                 guint                cancel_ms,
                 gboolean             in_thread)
{
  int fillers[4];
  guint port;
  int listener = make_full_port (&port, fillers);
  OwHttpRequest sent = *request;
  g_autofree char *url = g_strdup_printf ("http://127.0.0.1:%u/", port);
  g_autoptr (Trial) trial = trial_new ();

  sent.url = url;
  trial->cancel_ms = cancel_ms;
  trial_run (trial, &sent, in_thread);
  if (cancel_ms > 0)
    assert_stopped (trial);
  else
    assert_late (trial, SHORT_MS, "There was no connection");
  for (guint i = 0; i < 4; i++)
    close (fillers[i]);
  close (listener);
}

static void
test_connect_late (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) server = server_new (serve_silence, NULL);
  g_autofree char *url = g_strdup_printf ("https://127.0.0.1:%u/", server_get_port (server));
  g_autoptr (Trial) trial = trial_new ();

  request.connect_ms = SHORT_MS;
  check_full_port (&request, 0, in_thread);

  /* TLS that does not come about belongs to the connection. */
  request.url = url;
  trial_run (trial, &request, in_thread);
  assert_late (trial, SHORT_MS, "There was no connection");
}

static void
test_first_byte_late (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) silent = server_new (serve_silence, NULL);
  g_autoptr (Server) slow = server_new (serve_slow_headers, NULL);
  g_autoptr (Server) interim = server_new (serve_text_and_stay, "HTTP/1.1 102 Wait\r\n\r\n");
  g_autoptr (Trial) first = NULL;
  g_autoptr (Trial) second = NULL;
  g_autoptr (Trial) third = NULL;

  request.first_byte_ms = SHORT_MS;
  first = try_at (silent, &request, 0, in_thread);
  assert_late (first, SHORT_MS, "took the request and gave no answer within 0.200 s");
  second = try_at (slow, &request, 0, in_thread);
  assert_late (second, SHORT_MS, "gave no answer within");
  third = try_at (interim, &request, 0, in_thread);
  assert_late (third, SHORT_MS, "gave no answer within");
}

/* A server that reads nothing of a big request. */
static void
test_upload_late (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) server = server_new (serve_nothing, NULL);
  gsize size = 16 * 1024 * 1024;
  g_autofree char *content = g_strnfill (size, 'x');
  g_autoptr (GBytes) body = g_bytes_new (content, size);
  g_autoptr (Trial) late = NULL;
  g_autoptr (Trial) stopped = NULL;

  request.method = "POST";
  request.body = body;
  stopped = try_at (server, &request, SHORT_MS, in_thread);
  assert_stopped (stopped);
  request.first_byte_ms = SHORT_MS;
  late = try_at (server, &request, 0, in_thread);
  assert_late (late, SHORT_MS, "gave no answer within");
}

static void
test_idle_late (gboolean in_thread)
{
  OwHttpRequest request = patient;
  const char *const answers[] = {
    OK "\r\nhel", OK "Content-Length: 5\r\n\r\nhel", OK "\r\n",
    OK "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
    OK "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n",
  };

  request.idle_ms = SHORT_MS;
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Server) server = server_new (serve_text_and_stay, answers[i]);
      g_autoptr (Trial) trial = try_at (server, &request, 0, in_thread);

      assert_late (trial, SHORT_MS, "nothing came for 0.200 s");
      g_assert_cmpstr (trial->body->str, ==, i == 2 ? "" : "hel");
    }
}

static void
test_total_late (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) slow = server_new (serve_slow_body, NULL);
  g_autoptr (Server) silent = server_new (serve_silence, NULL);
  g_autoptr (Trial) first = NULL;
  g_autoptr (Trial) second = NULL;
  g_autoptr (Trial) third = NULL;

  /* Every byte comes in time, also from a server that seldom gets its turn; the whole does not. */
  request.idle_ms = IDLE_MS;
  request.total_ms = IDLE_MS + SHORT_MS;
  first = try_at (slow, &request, 0, in_thread);
  assert_late (first, IDLE_MS + SHORT_MS, "the longest that it may take");
  g_assert_cmpuint (first->body->len, >, 1);
  request.total_ms = SHORT_MS;
  second = try_at (silent, &request, 0, in_thread);
  assert_late (second, SHORT_MS, "the longest that it may take");
  /* None was given. */
  request.total_ms = 0;
  third = try_at (slow, &request, IDLE_MS + 2 * SHORT_MS, in_thread);
  trial_assert_error (third, OW_ERROR_INTERRUPTED, "stopped", NULL);
  g_assert_cmpint (third->took_ms, >=, IDLE_MS + 2 * SHORT_MS - 1);
}

static void
test_caps (gboolean in_thread)
{
  const Flood floods[] = {
    { OK "\r\n", "0123456789abcdef" },
    { OK "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n" },
    { OK "Transfer-Encoding: chunked\r\n\r\n", "10;abcdefghi\r\n0123456789abcdef\r\n" },
    { OK "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFF\r\n", "0123456789abcdef" },
  };
  OwHttpRequest request = patient;
  g_autoptr (Server) told = server_new (serve_text_and_stay, OK "Content-Length: 100001\r\n\r\nx");
  g_autoptr (Trial) trial = NULL;

  request.max_bytes = 100000;
  for (gsize i = 0; i < G_N_ELEMENTS (floods); i++)
    {
      g_autoptr (Server) server = server_new (serve_flood, &floods[i]);
      g_autoptr (Trial) flooded = try_at (server, &request, 0, in_thread);

      trial_assert_error (flooded, OW_ERROR_DATA, "longer than an answer may be", NULL);
      g_assert_cmpuint (flooded->body->len, <=, 100000);
      g_assert_cmpuint (flooded->body->len, >, 0);
    }

  trial = try_at (told, &request, 0, in_thread);
  trial_assert_error (trial, OW_ERROR_DATA, "longer than an answer may be", NULL);
  g_assert_cmpuint (trial->heads, ==, 0);
}

static void
test_cap_is_exact (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) server = server_new (serve_text, OK "Content-Length: 5\r\n\r\nhello");
  g_autoptr (Server) chunks = server_new (serve_text, OK "Transfer-Encoding: chunked\r\n\r\n"
                                          "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");

  for (gsize cap = 4; cap <= 6; cap++)
    {
      g_autoptr (Trial) first = NULL;
      g_autoptr (Trial) second = NULL;

      request.max_bytes = cap;
      first = try_at (server, &request, 0, in_thread);
      second = try_at (chunks, &request, 0, in_thread);
      if (cap >= 5)
        {
          trial_assert_body (first, 200, "hello");
          trial_assert_body (second, 200, "hello");
          continue;
        }
      trial_assert_error (first, OW_ERROR_DATA, "longer than an answer may be", NULL);
      trial_assert_error (second, OW_ERROR_DATA, "longer than an answer may be", NULL);
    }
}

/* What has no end before an answer even begins, as fast as it can be sent. */
static void
test_storms (gboolean in_thread)
{
  const struct { Flood flood; const char *words; } storms[] = {
    { { "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" }, "again and again" },
    { { "", "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" }, "again and again" },
    { { "", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n" }, "again and again" },
    { { OK, "X-Header: y\r\n" }, "headers have no end" },
    { { OK "X: ", "yyyyyyyyyyyyyyyy" }, "headers have no end" },
    { { "", "yyyyyyyyyyyyyyyy" }, "headers have no end" },
    { { "", "\r\n" }, "it is not HTTP" },
    { { OK "X: y\r\n", " folded\r\n" }, "headers have no end" },
    { { OK "Transfer-Encoding: chunked\r\n\r\n5;", "xxxxxxxxxxxxxxxx" }, "chunks" },
    { { OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-Header: y\r\n" }, "chunks" },
    { { OK "Transfer-Encoding: chunked\r\n\r\n", "0000000000000000" }, "chunks" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (storms); i++)
    {
      g_autoptr (Server) server = server_new (serve_flood, &storms[i].flood);
      g_autoptr (Trial) trial = try_at (server, &patient, 0, in_thread);

      g_test_message ("%s%s", storms[i].flood.start, storms[i].flood.again);
      trial_assert_error (trial, OW_ERROR_DATA, "cannot be used", storms[i].words, NULL);
      g_assert_cmpint (trial->took_ms, <, SOON_MS);
    }
}

/* Of an answer that says no: the first 64 KiB, and no wait for more than a little. */
static void
test_endless_refusals (gboolean in_thread)
{
  const guint statuses[] = { 300, 400, 401, 404, 407, 421, 429, 500, 503 };

  for (gsize i = 0; i < G_N_ELEMENTS (statuses); i++)
    {
      g_autofree char *start = g_strdup_printf ("HTTP/1.1 %u No\r\nWWW-Authenticate: Basic realm=x\r\n"
                                                "Proxy-Authenticate: Basic realm=x\r\n"
                                                "Retry-After: 3\r\n\r\n", statuses[i]);
      Flood flood = { start, "0123456789abcdef" };
      g_autoptr (Server) server = server_new (serve_flood, &flood);
      g_autoptr (Trial) trial = try_at (server, &patient, 0, in_thread);

      g_assert_no_error (trial->error);
      g_assert_cmpint (trial->took_ms, <, REFUSAL_MS);
      g_assert_cmpuint (trial->answer->status, ==, statuses[i]);
      g_assert_cmpstr (trial->answer->retry_after, ==, "3");
      g_assert_cmpuint (server_count (server), ==, 1);
      if (statuses[i] != 421)
        g_assert_cmpuint (g_bytes_get_size (trial->answer->error_body), ==, 65536);
    }
}

static void
test_silent_refusals (gboolean in_thread)
{
  OwHttpRequest request = patient;
  g_autoptr (Server) server = server_new (serve_text_and_stay, "HTTP/1.1 429 Slow\r\nRetry-After: 9\r\n"
                                          "Content-Length: 50\r\n\r\nslow");

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Trial) trial = NULL;

      request.idle_ms = i == 0 ? SHORT_MS : LONG_MS;
      request.total_ms = i == 1 ? SHORT_MS : 0;
      trial = try_at (server, &request, 0, in_thread);
      g_assert_no_error (trial->error);
      g_assert_cmpint (trial->took_ms, <, REFUSAL_MS);
      g_assert_cmpuint (trial->answer->status, ==, 429);
      g_assert_cmpmem (g_bytes_get_data (trial->answer->error_body, NULL),
                       g_bytes_get_size (trial->answer->error_body), "slow", 4);
    }
}

/* At every stage, and while bytes come as fast as they can. */
static void
test_cancel (gboolean in_thread)
{
  const Flood flood = { OK "\r\n", "0123456789abcdef" };
  g_autoptr (Server) silent = server_new (serve_silence, NULL);
  g_autoptr (Server) slow_headers = server_new (serve_slow_headers, NULL);
  g_autoptr (Server) slow_body = server_new (serve_slow_body, NULL);
  g_autoptr (Server) half = server_new (serve_text_and_stay, OK "Content-Length: 9\r\n\r\nhalf");
  g_autoptr (Server) refusal = server_new (serve_text_and_stay, "HTTP/1.1 500 No\r\n\r\nno");
  g_autoptr (Server) flooding = server_new (serve_flood, &flood);
  Server *const servers[] = { silent, slow_headers, slow_body, half, refusal, flooding };
  OwHttpRequest request = patient;

  request.max_bytes = G_MAXINT32;
  check_full_port (&request, 50, in_thread);
  for (gsize i = 0; i < G_N_ELEMENTS (servers); i++)
    {
      g_autoptr (Trial) trial = try_at (servers[i], &request, 50, in_thread);

      assert_stopped (trial);
    }
}

/* After a stop from within no byte more is handed on: on_data() of the trial sees to that. */
static void
test_cancel_within (gboolean in_thread)
{
  const Flood floods[] = {
    { OK "\r\n", "0123456789abcdef" },
    { OK "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n" },
  };
  g_autoptr (Server) last = server_new (serve_text, OK "Content-Length: 1\r\n\r\nx");
  g_autofree char *last_url = server_make_url (last, "/");
  g_autoptr (Trial) ended = trial_new ();
  OwHttpRequest request = patient;

  for (gsize i = 0; i < G_N_ELEMENTS (floods); i++)
    {
      g_autoptr (Server) server = server_new (serve_flood, &floods[i]);
      g_autofree char *url = server_make_url (server, "/");
      g_autoptr (Trial) trial = trial_new ();

      request.url = url;
      trial->cancel_bytes = 1;
      trial_run (trial, &request, in_thread);
      assert_stopped (trial);
      g_assert_cmpuint (trial->pieces, ==, 1);
    }

  request.url = last_url;
  ended->cancel_bytes = 1;
  trial_run (ended, &request, in_thread);
  assert_stopped (ended);
}

static void
keep_result (GObject      *object,
             GAsyncResult *result,
             gpointer      user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

static void
test_cancelled_before (void)
{
  g_autoptr (Server) server = server_new (serve_silence, NULL);
  g_autofree char *url = server_make_url (server, "/");
  g_autoptr (OwHttp) http = ow_http_new (NULL, "", NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  OwHttpRequest request = { .method = "GET", .url = url };

  g_cancellable_cancel (cancellable);
  ow_http_send_async (http, &request, NULL, NULL, NULL, cancellable, keep_result, &result);
  /* Never from within the call. */
  g_assert_null (result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_null (ow_http_send_finish (http, result, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_INTERRUPTED);
  g_assert_cmpint (ow_error_exit_status (error), ==, 130);
  g_assert_cmpuint (server_count (server), ==, 0);
}

/* Nobody keeps the client but the exchange itself. */
static void
test_client_dropped (void)
{
  g_autoptr (Server) server = server_new (serve_text, OK "Content-Length: 5\r\n\r\nhello");
  g_autofree char *url = server_make_url (server, "/");
  OwHttp *http = ow_http_new (NULL, "", NULL);
  g_autoptr (GAsyncResult) result = NULL;
  OwHttpRequest request = { .method = "GET", .url = url };
  gpointer seen = http;

  ow_http_send_async (http, &request, NULL, NULL, NULL, NULL, keep_result, &result);
  g_object_add_weak_pointer (G_OBJECT (http), &seen);
  g_object_unref (http);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_nonnull (seen);
  ow_http_answer_free (ow_http_send_finish (http, result, NULL));
  g_clear_object (&result);
  while (g_main_context_iteration (NULL, FALSE))
    continue;
  g_assert_null (seen);
}

static void
test_refused (gboolean in_thread)
{
  Server *server = server_new (serve_silence, NULL);
  g_autofree char *url = server_make_url (server, "/");
  g_autofree char *where = g_strdup_printf ("127.0.0.1:%u refused the connection",
                                            server_get_port (server));
  OwHttpRequest request = patient;
  g_autoptr (Trial) trial = trial_new ();

  server_free (server);
  request.url = url;
  trial_run (trial, &request, in_thread);
  trial_assert_error (trial, OW_ERROR_FAILED, where, "nothing listens there",
                      "Start the server, or check the port", NULL);
}

static void
test_closed_at_once (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text, "");
  g_autoptr (Trial) trial = try_at (server, &patient, 0, in_thread);

  trial_assert_error (trial, OW_ERROR_FAILED, "closed the connection without an answer",
                      "Try again", NULL);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  trial_add ("/http/limits/connect", test_connect_late);
  trial_add ("/http/limits/first-byte", test_first_byte_late);
  trial_add ("/http/limits/upload", test_upload_late);
  trial_add ("/http/limits/idle", test_idle_late);
  trial_add ("/http/limits/total", test_total_late);
  trial_add ("/http/P12/caps", test_caps);
  trial_add ("/http/P12/cap-is-exact", test_cap_is_exact);
  trial_add ("/http/P12/storms", test_storms);
  trial_add ("/http/P12/endless-refusals", test_endless_refusals);
  trial_add ("/http/P08/silent-refusals", test_silent_refusals);
  trial_add ("/http/cancel/everywhere", test_cancel);
  trial_add ("/http/cancel/within", test_cancel_within);
  g_test_add_func ("/http/cancel/before", test_cancelled_before);
  g_test_add_func ("/http/client-dropped", test_client_dropped);
  trial_add ("/http/refused", test_refused);
  trial_add ("/http/closed-at-once", test_closed_at_once);
  return g_test_run ();
}
