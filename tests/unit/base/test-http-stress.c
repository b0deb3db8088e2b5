/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "http-server.h"

#define OK         "HTTP/1.1 200 OK\r\n"
#define THREADS    4
#define ROUNDS     5
#define PARALLEL   20
#define LATE_MS    60

static const char *const answers[] = {
  OK "Content-Length: 5\r\n\r\nhello",
  OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
  OK "Content-Length: 9\r\n\r\nhello",
  "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno",
  "HTTP/1.1 302 Away\r\nLocation: /\r\n\r\n",
  "",
  "garbage\r\n\r\n",
};

/* The path's number says what it does: answer, answer and stay, be silent, or send for ever. */
static void
serve_anything (Server       *server,
                int           fd,
                gconstpointer data)
{
  char line[64];
  guint kind;
  ssize_t got = recv (fd, line, sizeof line - 1, MSG_PEEK);

  if (got < 10)
    return;
  line[got] = '\0';
  kind = (guint) g_ascii_strtoull (line + strlen ("POST /"), NULL, 10);
  if (kind < G_N_ELEMENTS (answers))
    serve_text (server, fd, answers[kind]);
  else if (kind < 2 * G_N_ELEMENTS (answers))
    serve_text_and_stay (server, fd, answers[kind - G_N_ELEMENTS (answers)]);
  else if (kind % 2 == 0)
    server_wait_closed (server, fd);
  else if (server_read_request (server, fd) && server_write (fd, OK "\r\n", -1))
    while (!server_is_ending (server) && server_write (fd, "0123456789abcdef", 16))
      continue;
}

typedef struct {
  GCancellable *cancellable;  /* (owned) */
  GSource      *stop;         /* (owned) (nullable) */
  guint        *left;
  gboolean      ended;
  gboolean      no_more;
} One;

static gboolean
on_stop (gpointer user_data)
{
  One *one = user_data;

  one->no_more = TRUE;
  g_cancellable_cancel (one->cancellable);
  return G_SOURCE_REMOVE;
}

static gboolean
on_data (const char *data,
         gsize       length,
         gpointer    user_data)
{
  One *one = user_data;

  g_assert_false (one->ended);
  g_assert_false (one->no_more);
  return TRUE;
}

static void
on_done (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  One *one = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (OwHttpAnswer) answer = ow_http_send_finish (OW_HTTP (object), result, &error);

  g_assert_true ((answer == NULL) == (error != NULL));
  if (error != NULL)
    g_assert_true (error->domain == OW_ERROR && error->code != OW_ERROR_USAGE);
  one->ended = TRUE;
  (*one->left)--;
}

static void
run_round (OwHttp     *http,
           const char *base,
           GRand      *chance)
{
  GMainContext *context = g_main_context_get_thread_default ();
  One ones[PARALLEL] = { { NULL } };
  guint left = PARALLEL;

  for (guint i = 0; i < PARALLEL; i++)
    {
      One *one = &ones[i];
      g_autofree char *url = g_strdup_printf ("%s%d", base, g_rand_int_range (chance, 0, 20));
      OwHttpRequest request = {
        .method = "POST", .url = url, .secret_name = "X-Key", .secret_value = "hunter2hunter2",
        .connect_ms = 20 * LATE_MS, .first_byte_ms = LATE_MS, .idle_ms = LATE_MS,
        .total_ms = g_rand_boolean (chance) ? 0 : (guint) g_rand_int_range (chance, 1, LATE_MS),
        .max_bytes = g_rand_boolean (chance) ? 4 : 1000000,
      };

      one->cancellable = g_cancellable_new ();
      one->left = &left;
      if (g_rand_boolean (chance))
        {
          one->stop = g_timeout_source_new ((guint) g_rand_int_range (chance, 0, LATE_MS));
          g_source_set_callback (one->stop, on_stop, one, NULL);
          g_source_attach (one->stop, context);
        }
      ow_http_send_async (http, &request, NULL, on_data, one, one->cancellable, on_done, one);
    }
  while (left > 0)
    g_main_context_iteration (context, TRUE);
  for (guint i = 0; i < PARALLEL; i++)
    {
      if (ones[i].stop != NULL)
        g_source_destroy (ones[i].stop);
      g_clear_pointer (&ones[i].stop, g_source_unref);
      g_clear_object (&ones[i].cancellable);
    }
}

static gpointer
run_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (OwHttp) http = ow_http_new (NULL, "", NULL);
  g_autoptr (GRand) chance = g_rand_new ();

  g_main_context_push_thread_default (context);
  for (guint i = 0; i < ROUNDS; i++)
    run_round (http, data, chance);
  g_main_context_pop_thread_default (context);
  /* The engine's thread may end right after the last answer: nothing keeps the client. */
  g_assert_cmpuint (G_OBJECT (http)->ref_count, ==, 1);
  return NULL;
}

static guint
count_descriptors (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint count = 0;

  while (g_dir_read_name (dir) != NULL)
    count++;
  return count;
}

static void
run_all (void)
{
  g_autoptr (Server) server = server_new (serve_anything, NULL);
  g_autofree char *base = server_make_url (server, "/");
  GThread *threads[THREADS];

  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("client", run_thread, base);
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
}

static void
test_stress (void)
{
  guint before;

  /* What the libraries open once. */
  run_all ();
  before = count_descriptors ();
  run_all ();
  g_assert_cmpuint (count_descriptors (), ==, before);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/http/P12/stress", test_stress);
  return g_test_run ();
}
