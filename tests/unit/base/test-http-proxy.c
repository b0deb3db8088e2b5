/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "http-tls.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define HELLO OK "Content-Length: 5\r\n\r\nhello"
#define SHORT_MS 200
#define LONG_MS 60000
/* What must be over at once, or soon after a short deadline, well before LONG_MS. */
#define SOON_MS 30000

/* Names in these tests: "later.test" cannot be looked up now, "silent.test" is looked up for
 * ever, "here.test" is this machine, and others do not exist. Nobody outside is asked. */
typedef struct {
  GResolver parent_instance;
} Names;
typedef GResolverClass NamesClass;

static GType names_get_type (void);
G_DEFINE_TYPE (Names, names, G_TYPE_RESOLVER)

static gint names_asked;

static void
never_answered (GCancellable *cancellable,
                gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;

  g_task_return_error_if_cancelled (task);
}

static void
names_lookup (GResolver               *resolver,
              const char              *host,
              GResolverNameLookupFlags flags,
              GCancellable            *cancellable,
              GAsyncReadyCallback      callback,
              gpointer                 user_data)
{
  g_autoptr (GTask) task = g_task_new (resolver, cancellable, callback, user_data);

  g_atomic_int_inc (&names_asked);
  if (g_str_equal (host, "silent.test"))
    g_cancellable_connect (cancellable, G_CALLBACK (never_answered), g_object_ref (task), NULL);
  else if (g_str_equal (host, "later.test"))
    g_task_return_new_error (task, G_RESOLVER_ERROR, G_RESOLVER_ERROR_TEMPORARY_FAILURE, "later");
  else if (g_str_equal (host, "here.test") && flags != G_RESOLVER_NAME_LOOKUP_FLAGS_IPV6_ONLY)
    g_task_return_pointer (task, g_list_append (NULL, g_inet_address_new_from_string ("127.0.0.1")),
                           NULL);
  else
    g_task_return_new_error (task, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "not there");
}

static void
names_lookup_plain (GResolver           *resolver,
                    const char          *host,
                    GCancellable        *cancellable,
                    GAsyncReadyCallback  callback,
                    gpointer             user_data)
{
  names_lookup (resolver, host, G_RESOLVER_NAME_LOOKUP_FLAGS_DEFAULT, cancellable, callback,
                user_data);
}

static GList *
names_lookup_finish (GResolver     *resolver,
                     GAsyncResult  *result,
                     GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
names_class_init (NamesClass *klass)
{
  klass->lookup_by_name_async = names_lookup_plain;
  klass->lookup_by_name_finish = names_lookup_finish;
  klass->lookup_by_name_with_flags_async = names_lookup;
  klass->lookup_by_name_with_flags_finish = names_lookup_finish;
}

static void
names_init (Names *self)
{
}

static Trial *
get_within (guint       connect_ms,
            const char *url,
            const char *proxy,
            const char *ca_file,
            guint       cancel_ms,
            gboolean    in_thread)
{
  Trial *trial = trial_new ();
  OwHttpRequest request = {
    .method = "GET", .url = url, .secret_name = "Authorization", .secret_value = "Bearer sk-hunter2",
    .connect_ms = connect_ms,
  };

  trial->proxy = proxy;
  trial->ca_file = ca_file;
  trial->cancel_ms = cancel_ms;
  trial_run (trial, &request, in_thread);
  return trial;
}

static Trial *
get (const char *url,
     const char *proxy,
     const char *ca_file,
     gboolean    in_thread)
{
  return get_within (LONG_MS, url, proxy, ca_file, 0, in_thread);
}

static void
test_names (gboolean in_thread)
{
  g_autoptr (Trial) none = get ("http://nowhere.test/", "", NULL, in_thread);
  g_autoptr (Trial) later = get ("https://later.test/", "", NULL, in_thread);
  g_autoptr (Trial) silent = get_within (2 * SHORT_MS, "http://silent.test/", "", NULL, 0,
                                         in_thread);
  g_autoptr (Trial) stopped = get_within (LONG_MS, "http://silent.test/", "", NULL, SHORT_MS,
                                          in_thread);

  trial_assert_error (none, OW_ERROR_FAILED, "nowhere.test:80 cannot be reached",
                      "there is no such host", "this machine is online", NULL);
  trial_assert_error (later, OW_ERROR_FAILED, "later.test:443 cannot be reached",
                      "cannot be looked up now", "this machine is online", NULL);
  /* Looking up names belongs to the connection. */
  trial_assert_error (silent, OW_ERROR_TIMED_OUT, "There was no connection to silent.test:80",
                      "within 0.400 s", NULL);
  g_assert_cmpint (silent->took_ms, <, SOON_MS);
  trial_assert_error (stopped, OW_ERROR_INTERRUPTED, "silent.test", NULL);
  g_assert_cmpint (stopped->took_ms, <, SOON_MS);
}

static char *
make_proxy_url (Server     *server,
                const char *scheme)
{
  return g_strdup_printf ("%s://127.0.0.1:%u", scheme, server_get_port (server));
}

static void
test_plain (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text, HELLO);
  g_autofree char *proxy = make_proxy_url (server, "http");
  gint asked = g_atomic_int_get (&names_asked);
  g_autoptr (Trial) trial = get ("http://model.test:8080/v1?x=y", proxy, NULL, in_thread);
  g_autofree char *sent = server_dup_request (server);

  trial_assert_body (trial, 200, "hello");
  g_assert_true (g_str_has_prefix (sent, "GET http://model.test:8080/v1?x=y HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nHost: model.test:8080\r\n"));
  /* It is the proxy that looks the name up. */
  g_assert_cmpint (g_atomic_int_get (&names_asked), ==, asked);
}

static void
serve_tunnel (Server       *server,
              int           fd,
              gconstpointer data)
{
  if (!server_read_request (server, fd))
    return;
  server_write (fd, "HTTP/1.1 200 Connected\r\n\r\n", -1);
  serve_tls (server, fd, data);
}

/* The tunnel is asked for without what is meant for the other end. */
static void
serve_wary_tunnel (Server       *server,
                   int           fd,
                   gconstpointer data)
{
  g_autofree char *request = NULL;

  if (!server_read_request (server, fd))
    return;
  request = server_dup_request (server);
  g_assert_true (g_str_has_prefix (request, "CONNECT model.test:443 HTTP/1.1\r\n"));
  g_assert_null (strstr (request, "uthorization"));
  g_assert_null (strstr (request, "hunter2"));
  server_write (fd, "HTTP/1.1 200 Connected\r\nContent-Length: 3\r\n\r\n", -1);
  serve_tls (server, fd, data);
}

static void
test_tunnel (gboolean in_thread)
{
  g_autoptr (Authority) authority = authority_new ();
  g_autoptr (GTlsCertificate) right = authority_issue_valid (authority, "DNS:model.test");
  g_autoptr (GTlsCertificate) wrong = authority_issue_valid (authority, "DNS:proxy.test,IP:127.0.0.1");
  TlsServe serve = { right, HELLO, FALSE };
  TlsServe serve_wrong = { wrong, HELLO, FALSE };
  g_autoptr (Server) server = server_new (serve_wary_tunnel, &serve);
  g_autoptr (Server) other = server_new (serve_tunnel, &serve_wrong);
  g_autofree char *proxy = make_proxy_url (server, "http");
  g_autofree char *other_proxy = make_proxy_url (other, "http");
  g_autoptr (Trial) trial = get ("https://model.test/v1", proxy, authority_get_file (authority),
                                 in_thread);
  g_autoptr (Trial) refused = NULL;
  g_autofree char *sent = server_dup_request (server);

  trial_assert_body (trial, 200, "hello");
  g_assert_true (g_str_has_prefix (sent, "GET /v1 HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nAuthorization: Bearer sk-hunter2\r\n"));
  /* What counts is who is at the other end. */
  refused = get ("https://model.test/v1", other_proxy, authority_get_file (authority), in_thread);
  trial_assert_error (refused, OW_ERROR_FAILED, "model.test:443", "another host", NULL);
}

static void
serve_endless (Server       *server,
               int           fd,
               gconstpointer data)
{
  const char *const *texts = data;
  g_autoptr (GString) block = g_string_new (NULL);

  while (block->len < 65536)
    g_string_append (block, texts[1]);
  if (!server_read_request (server, fd) || !server_write (fd, texts[0], -1))
    return;
  while (!server_is_ending (server) && server_write (fd, block->str, (gssize) block->len))
    continue;
}

/* libsoup reads all that a proxy answers to CONNECT, in one go, and keeps none of it from us. */
static void
test_tunnel_refused (gboolean in_thread)
{
  const struct { const char *texts[2]; int kind; const char *words; } proxies[] = {
    { { "HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm=x\r\n\r\n", "x" }, OW_ERROR_FAILED,
      "it asks for a login (status 407)" },
    { { "HTTP/1.1 407 Login\r\nProxy-Authenticate: Digest\r\nContent-Length: 9999999999\r\n\r\n", "x" },
      OW_ERROR_FAILED, "it asks for a login (status 407)" },
    { { "HTTP/1.1 403 No\r\n\r\n", "x" }, OW_ERROR_FAILED, "it does not lead there (status " },
    { { "HTTP/1.1 502 No\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n" }, OW_ERROR_FAILED,
      "it does not lead there (status " },
    { { "HTTP/1.1 302 Away\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "x" }, OW_ERROR_FAILED,
      "it does not lead there (status " },
    { { "HTTP/1.1 421 No\r\n\r\n", "x" }, OW_ERROR_FAILED, "it does not lead there (status " },
    { { "", "HTTP/1.1 100 Continue\r\n\r\n" }, OW_ERROR_DATA, "again and again" },
    { { "HTTP/1.1 200 OK\r\n", "X: y\r\n" }, OW_ERROR_FAILED, "it broke off" },
    { { "garbage", "\r\n\r\n" }, OW_ERROR_FAILED, "what it answers is not HTTP" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (proxies); i++)
    {
      g_autoptr (Server) server = server_new (serve_endless, proxies[i].texts);
      g_autofree char *proxy = make_proxy_url (server, "http");
      g_autoptr (Trial) trial = get ("https://model.test/", proxy, NULL, in_thread);

      g_test_message ("%s%s", proxies[i].texts[0], proxies[i].texts[1]);
      trial_assert_error (trial, proxies[i].kind, "model.test:443", proxies[i].words, NULL);
      g_assert_cmpint (trial->took_ms, <, SOON_MS);
      g_assert_cmpuint (server_count (server), ==, 1);
    }
}

static void
serve_silence (Server       *server,
               int           fd,
               gconstpointer data)
{
  server_wait_closed (server, fd);
}

static void
test_silent (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_silence, NULL);
  const char *const schemes[] = { "http", "socks5" };

  for (gsize i = 0; i < 2 * G_N_ELEMENTS (schemes); i++)
    {
      g_autofree char *proxy = make_proxy_url (server, schemes[i / 2]);
      g_autoptr (Trial) trial = get_within (i % 2 == 0 ? LONG_MS : 2 * SHORT_MS,
                                            "https://model.test/", proxy, NULL,
                                            i % 2 == 0 ? SHORT_MS : 0, in_thread);

      trial_assert_error (trial, i % 2 == 0 ? OW_ERROR_INTERRUPTED : OW_ERROR_TIMED_OUT,
                          "model.test:443", NULL);
      g_assert_cmpint (trial->took_ms, <, SOON_MS);
    }
}

static void
test_gone (gboolean in_thread)
{
  Server *server = server_new (serve_silence, NULL);
  g_autofree char *http = make_proxy_url (server, "http");
  g_autofree char *socks = make_proxy_url (server, "socks5");
  g_autoptr (Trial) first = NULL;
  g_autoptr (Trial) second = NULL;
  g_autoptr (Trial) third = NULL;

  server_free (server);
  first = get ("https://model.test/", http, NULL, in_thread);
  trial_assert_error (first, OW_ERROR_FAILED,
                      "model.test:443 cannot be reached through the proxy: it refused the connection",
                      "Check the proxy", NULL);
  second = get ("http://model.test/", socks, NULL, in_thread);
  trial_assert_error (second, OW_ERROR_FAILED,
                      "model.test:80 cannot be reached through the proxy: it refused the connection",
                      NULL);
  third = get ("http://model.test/", "http://nowhere.test:3128", NULL, in_thread);
  trial_assert_error (third, OW_ERROR_FAILED, "model.test:80 cannot be reached through the proxy",
                      "its name cannot be looked up", NULL);
}

/* Version 5, no login, a host by its name. */
static void
serve_socks (Server       *server,
             int           fd,
             gconstpointer data)
{
  char buffer[512];
  ssize_t got = read (fd, buffer, sizeof buffer);

  if (got < 3 || buffer[0] != 5)
    return;
  server_write (fd, "\5\0", 2);
  got = read (fd, buffer, sizeof buffer);
  g_assert_cmpint (got, ==, 4 + 1 + 10 + 2);
  g_assert_cmpmem (buffer + 5, 10, "model.test", 10);
  server_write (fd, "\5\0\0\1\0\0\0\0\0\0", 10);
  serve_text (server, fd, data);
}

static void
test_socks (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_socks, HELLO);
  g_autofree char *proxy = make_proxy_url (server, "socks5");
  g_autoptr (Trial) trial = get ("http://model.test/v1", proxy, NULL, in_thread);
  g_autofree char *sent = server_dup_request (server);

  trial_assert_body (trial, 200, "hello");
  g_assert_true (g_str_has_prefix (sent, "GET /v1 HTTP/1.1\r\n"));
}

static void
check_loopback (const char *proxy)
{
  g_autoptr (Server) server = server_new (serve_text, HELLO);
  const char *const hosts[] = { "127.0.0.1", "localhost", "127.0.0.1", "LOCALHOST" };

  for (gsize i = 0; i < G_N_ELEMENTS (hosts); i++)
    {
      g_autofree char *url = g_strdup_printf ("http://%s:%u/", hosts[i], server_get_port (server));
      g_autoptr (Trial) trial = get (url, proxy, NULL, i % 2 == 1);
      g_autofree char *sent = server_dup_request (server);

      trial_assert_body (trial, 200, "hello");
      g_assert_true (g_str_has_prefix (sent, "GET / HTTP/1.1\r\n"));
      g_assert_cmpuint (server_count (server), ==, i + 1);
    }
}

static void
test_loopback (void)
{
  g_autoptr (Server) proxy = server_new (serve_text, HELLO);
  g_autofree char *http = make_proxy_url (proxy, "http");
  g_autofree char *socks = make_proxy_url (proxy, "socks5");

  check_loopback (http);
  check_loopback (socks);
  g_assert_cmpuint (server_count (proxy), ==, 0);
}

/* In a process of its own: what the environment says is read once. */
static void
test_system_child (void)
{
  g_autoptr (Server) proxy = server_new (serve_text, HELLO);
  g_autofree char *url = make_proxy_url (proxy, "http");
  g_autofree char *sent = NULL;
  g_autoptr (Server) here = server_new (serve_text, HELLO);
  g_autofree char *here_url = g_strdup_printf ("http://here.test:%u/", server_get_port (here));
  g_autoptr (Trial) through = NULL;
  g_autoptr (Trial) gone = NULL;
  g_autoptr (Trial) past = NULL;

  g_setenv ("http_proxy", url, TRUE);
  g_setenv ("HTTP_PROXY", url, TRUE);
  g_unsetenv ("no_proxy");
  g_unsetenv ("NO_PROXY");
  g_unsetenv ("https_proxy");
  g_unsetenv ("HTTPS_PROXY");
  through = get ("http://model.test/v1", NULL, NULL, FALSE);
  trial_assert_body (through, 200, "hello");
  sent = server_dup_request (proxy);
  g_assert_true (g_str_has_prefix (sent, "GET http://model.test/v1 HTTP/1.1\r\n"));
  check_loopback (NULL);
  g_assert_cmpuint (server_count (proxy), ==, 1);
  server_free (g_steal_pointer (&proxy));
  gone = get ("http://model.test/v1", NULL, NULL, FALSE);
  trial_assert_error (gone, OW_ERROR_FAILED, "through the proxy: it refused the connection", NULL);
  /* "" is none, whatever the system says. */
  past = get (here_url, "", NULL, FALSE);
  trial_assert_body (past, 200, "hello");
  g_assert_cmpuint (server_count (here), ==, 1);
}

static void
test_system (void)
{
  g_test_trap_subprocess ("/http/proxy/system/subprocess", 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
}

int
main (int    argc,
      char **argv)
{
  g_autoptr (GResolver) names = NULL;
  int result;

  g_test_init (&argc, &argv, NULL);
  names = g_object_new (names_get_type (), NULL);
  g_resolver_set_default (names);
  trial_add ("/http/names", test_names);
  trial_add ("/http/proxy/plain", test_plain);
  trial_add ("/http/proxy/tunnel", test_tunnel);
  trial_add ("/http/P12/proxy/tunnel-refused", test_tunnel_refused);
  trial_add ("/http/proxy/silent", test_silent);
  trial_add ("/http/proxy/gone", test_gone);
  trial_add ("/http/proxy/socks", test_socks);
  g_test_add_func ("/http/proxy/loopback", test_loopback);
  g_test_add_func ("/http/proxy/system", test_system);
  g_test_add_func ("/http/proxy/system/subprocess", test_system_child);
  result = g_test_run ();
  return result;
}
