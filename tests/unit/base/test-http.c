/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <string.h>

#include "base/ow-error.h"
#include "http-server.h"

static void
test_get (gboolean in_thread)
{
  g_autoptr (Server) server = server_new (serve_text, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                                          "Content-Type: Text/Plain; charset=x\r\n\r\nhello");
  g_autoptr (Trial) trial = trial_get (server, in_thread);
  g_autofree char *sent = NULL;

  trial_assert_body (trial, 200, "hello");
  g_assert_cmpstr (trial->answer->content_type, ==, "text/plain");
  g_assert_null (trial->answer->error_body);
  sent = server_dup_request (server);
  g_assert_true (g_str_has_prefix (sent, "GET / HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (sent, "\r\nConnection: close\r\n"));
  g_assert_null (strstr (sent, "Accept-Encoding"));
  g_assert_null (strstr (sent, "Cookie"));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  trial_add ("/http/get", test_get);
  return g_test_run ();
}
