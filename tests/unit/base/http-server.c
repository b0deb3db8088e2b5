/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "http-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"

#if defined(__has_feature)
#if __has_feature (address_sanitizer)
/* The search for leaks in clang 14 trips over what a thread of GnuTLS leaves of its storage. */
const char *__asan_default_options (void);

const char *
__asan_default_options (void)
{
  return "intercept_tls_get_addr=0";
}

#endif
#endif

#define REQUEST_MAX (32 * 1024 * 1024)

struct _Server {
  ServeFunc     serve;
  gconstpointer data;
  int           listener;
  guint         port;
  GThread      *thread;
  GMutex        mutex;
  GPtrArray    *threads;
  GArray       *fds;
  char         *request;
  gint          count;
  gint          ending;
};

typedef struct {
  Server *server;
  int     fd;
} Connection;

static gpointer
serve_connection (gpointer data)
{
  Connection *connection = data;
  Server *server = connection->server;

  server->serve (server, connection->fd, server->data);
  g_mutex_lock (&server->mutex);
  for (guint i = 0; i < server->fds->len; i++)
    if (g_array_index (server->fds, int, i) == connection->fd)
      g_array_remove_index_fast (server->fds, i--);
  close (connection->fd);
  g_mutex_unlock (&server->mutex);
  g_free (connection);
  return NULL;
}

static gpointer
accept_all (gpointer data)
{
  Server *server = data;

  for (;;)
    {
      int fd = accept4 (server->listener, NULL, NULL, SOCK_CLOEXEC);
      Connection *connection;

      if (fd < 0)
        return NULL;
      connection = g_new0 (Connection, 1);
      connection->server = server;
      connection->fd = fd;
      g_atomic_int_inc (&server->count);
      g_mutex_lock (&server->mutex);
      g_array_append_val (server->fds, fd);
      g_ptr_array_add (server->threads, g_thread_new ("serve", serve_connection, connection));
      g_mutex_unlock (&server->mutex);
    }
}

Server *
server_new (ServeFunc     serve,
            gconstpointer data)
{
  Server *server = g_new0 (Server, 1);
  struct sockaddr_in address = { .sin_family = AF_INET };
  socklen_t length = sizeof address;

  server->serve = serve;
  server->data = data;
  server->threads = g_ptr_array_new ();
  server->fds = g_array_new (FALSE, FALSE, sizeof (int));
  g_mutex_init (&server->mutex);
  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  server->listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (server->listener, >=, 0);
  g_assert_cmpint (bind (server->listener, (struct sockaddr *) &address, sizeof address), ==, 0);
  g_assert_cmpint (listen (server->listener, 128), ==, 0);
  g_assert_cmpint (getsockname (server->listener, (struct sockaddr *) &address, &length), ==, 0);
  server->port = ntohs (address.sin_port);
  server->thread = g_thread_new ("accept", accept_all, server);
  return server;
}

void
server_free (Server *server)
{
  g_atomic_int_set (&server->ending, TRUE);
  shutdown (server->listener, SHUT_RDWR);
  g_thread_join (server->thread);
  close (server->listener);
  g_mutex_lock (&server->mutex);
  for (guint i = 0; i < server->fds->len; i++)
    shutdown (g_array_index (server->fds, int, i), SHUT_RDWR);
  g_mutex_unlock (&server->mutex);
  for (guint i = 0; i < server->threads->len; i++)
    g_thread_join (server->threads->pdata[i]);
  g_ptr_array_unref (server->threads);
  g_array_unref (server->fds);
  g_mutex_clear (&server->mutex);
  g_free (server->request);
  g_free (server);
}

guint
server_get_port (Server *server)
{
  return server->port;
}

char *
server_make_url (Server     *server,
                 const char *path)
{
  return g_strdup_printf ("http://127.0.0.1:%u%s", server->port, path);
}

guint
server_count (Server *server)
{
  return (guint) g_atomic_int_get (&server->count);
}

char *
server_dup_request (Server *server)
{
  char *request;

  g_mutex_lock (&server->mutex);
  request = g_strdup (server->request);
  g_mutex_unlock (&server->mutex);
  return request;
}

gboolean
server_is_ending (Server *server)
{
  return g_atomic_int_get (&server->ending);
}

static gsize
find_length (const char *request)
{
  const char *header = strcasestr (request, "\r\nContent-Length:");

  return header != NULL ? strtoul (header + strlen ("\r\nContent-Length:"), NULL, 10) : 0;
}

void
server_keep_request (Server     *server,
                     const char *request)
{
  g_mutex_lock (&server->mutex);
  g_free (server->request);
  server->request = g_strdup (request);
  g_mutex_unlock (&server->mutex);
}

gboolean
server_read_request (Server *server,
                     int     fd)
{
  g_autoptr (GString) request = g_string_new (NULL);
  gsize wanted = 0;

  while (wanted == 0 || request->len < wanted)
    {
      char buffer[16384];
      ssize_t got = read (fd, buffer, sizeof buffer);
      const char *blank;

      if (got <= 0 || request->len > REQUEST_MAX)
        return FALSE;
      g_string_append_len (request, buffer, got);
      blank = strstr (request->str, "\r\n\r\n");
      if (wanted == 0 && blank != NULL)
        wanted = (gsize) (blank + 4 - request->str) + find_length (request->str);
    }

  server_keep_request (server, request->str);
  return TRUE;
}

gboolean
server_write (int         fd,
              const char *data,
              gssize      length)
{
  gsize left = length < 0 ? strlen (data) : (gsize) length;

  while (left > 0)
    {
      ssize_t sent = send (fd, data, left, MSG_NOSIGNAL);

      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        return FALSE;
      data += sent;
      left -= (gsize) sent;
    }
  return TRUE;
}

void
server_wait_closed (Server *server,
                    int     fd)
{
  char buffer[4096];

  while (!server_is_ending (server) && read (fd, buffer, sizeof buffer) > 0)
    continue;
}

void
serve_text (Server       *server,
            int           fd,
            gconstpointer data)
{
  if (server_read_request (server, fd))
    server_write (fd, data, -1);
}

void
serve_text_and_stay (Server       *server,
                     int           fd,
                     gconstpointer data)
{
  serve_text (server, fd, data);
  server_wait_closed (server, fd);
}

Trial *
trial_new (void)
{
  Trial *trial = g_new0 (Trial, 1);

  trial->body = g_string_new (NULL);
  trial->proxy = "";
  return trial;
}

void
trial_free (Trial *trial)
{
  g_string_free (trial->body, TRUE);
  g_clear_pointer (&trial->answer, ow_http_answer_free);
  g_clear_error (&trial->error);
  g_free (trial);
}

typedef struct {
  Trial               *trial;
  const OwHttpRequest *request;
  GCancellable        *cancellable;
  GAsyncResult        *result;
  gboolean             stopped_within;
} Run;

static gboolean
on_head (const OwHttpAnswer  *answer,
         gpointer             user_data,
         GError             **error)
{
  Run *run = user_data;

  run->trial->heads++;
  g_assert_cmpuint (answer->status / 100, ==, 2);
  if (run->trial->head_error == NULL)
    return TRUE;

  ow_error_set (error, OW_ERROR_DATA, run->trial->head_error, NULL, NULL);
  return FALSE;
}

static gboolean
on_data (const char *data,
         gsize       length,
         gpointer    user_data)
{
  Run *run = user_data;
  Trial *trial = run->trial;

  g_assert_cmpuint (trial->heads, ==, 1);
  g_assert_cmpuint (length, >, 0);
  trial->pieces++;
  g_string_append_len (trial->body, data, (gssize) length);
  g_assert_false (run->stopped_within);
  if (trial->cancel_bytes > 0 && trial->body->len >= trial->cancel_bytes)
    {
      run->stopped_within = TRUE;
      g_cancellable_cancel (run->cancellable);
    }
  return trial->enough == 0 || trial->body->len < trial->enough;
}

static void
on_done (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Run *run = user_data;

  g_assert_null (run->result);
  run->result = g_object_ref (result);
}

static gpointer
cancel_later (gpointer data)
{
  Run *run = data;

  g_usleep (run->trial->cancel_ms * 1000UL);
  g_cancellable_cancel (run->cancellable);
  return NULL;
}

static gpointer
run_here (gpointer data)
{
  Run *run = data;
  Trial *trial = run->trial;
  g_autoptr (OwHttp) http = ow_http_new (trial->ca_file, trial->proxy, &trial->error);
  GThread *canceller = NULL;
  gint64 start = g_get_monotonic_time ();

  if (http == NULL)
    return NULL;

  ow_http_send_async (http, run->request, on_head, on_data, run, run->cancellable, on_done, run);
  if (trial->cancel_ms > 0)
    canceller = g_thread_new ("cancel", cancel_later, run);
  while (run->result == NULL)
    g_main_context_iteration (g_main_context_get_thread_default (), TRUE);
  trial->took_ms = (g_get_monotonic_time () - start) / 1000;
  trial->answer = ow_http_send_finish (http, run->result, &trial->error);
  g_assert_true ((trial->answer == NULL) == (trial->error != NULL));
  g_clear_object (&run->result);
  if (canceller != NULL)
    g_thread_join (canceller);
  return NULL;
}

static gpointer
run_in_thread (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();

  g_main_context_push_thread_default (context);
  run_here (data);
  g_main_context_pop_thread_default (context);
  return NULL;
}

void
trial_run (Trial               *trial,
           const OwHttpRequest *request,
           gboolean             in_thread)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Run run = { .trial = trial, .request = request, .cancellable = cancellable };

  if (in_thread)
    {
      g_thread_join (g_thread_new ("client", run_in_thread, &run));
      /* Nothing of it may wait on the program's own context. */
      g_assert_false (g_main_context_pending (NULL));
    }
  else
    {
      run_here (&run);
    }
}

static void
call_trial (gconstpointer data)
{
  ((void (*)(gboolean))data)(FALSE);
}

static void
call_trial_in_thread (gconstpointer data)
{
  ((void (*)(gboolean))data)(TRUE);
}

void
trial_add (const char *path,
           void        (*func)(gboolean in_thread))
{
  g_autofree char *in_thread = g_strconcat (path, "/in-thread", NULL);
  g_autofree char *here = g_strconcat (path, "/here", NULL);

  g_test_add_data_func (here, func, call_trial);
  g_test_add_data_func (in_thread, func, call_trial_in_thread);
}

void
trial_assert_error (Trial      *trial,
                    int         kind,
                    const char *words,
                    ...)
{
  static const int statuses[] = {
    [OW_ERROR_FAILED] = 1, [OW_ERROR_USAGE] = 2, [OW_ERROR_REFUSED] = 69,
    [OW_ERROR_INTERRUPTED] = 130, [OW_ERROR_TIMED_OUT] = 1, [OW_ERROR_DATA] = 1,
  };
  va_list args;

  g_assert_error (trial->error, OW_ERROR, kind);
  g_assert_cmpint (ow_error_exit_status (trial->error), ==, statuses[kind]);
  va_start (args, words);
  for (const char *word = words; word != NULL; word = va_arg (args, const char *))
    if (strstr (trial->error->message, word) == NULL)
      g_error ("\"%s\" does not say \"%s\"", trial->error->message, word);
  va_end (args);
}

void
trial_assert_body (Trial      *trial,
                   guint       status,
                   const char *body)
{
  g_assert_no_error (trial->error);
  g_assert_cmpuint (trial->answer->status, ==, status);
  g_assert_cmpstr (trial->body->str, ==, body);
}

Trial *
trial_get (Server   *server,
           gboolean  in_thread)
{
  Trial *trial = trial_new ();
  g_autofree char *url = server_make_url (server, "/");
  OwHttpRequest request = {
    .method = "GET", .url = url, .connect_ms = 10000, .first_byte_ms = 10000, .idle_ms = 10000,
  };

  trial_run (trial, &request, in_thread);
  return trial;
}
