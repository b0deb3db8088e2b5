/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"
#include "wire/ow-mcp-client.h"

typedef struct {
  OwMcpClient *client;
  GString     *out;
  GString     *log;
} Fixture;

static void
on_write (const char *line,
          size_t      length,
          void       *user_data)
{
  g_string_append_len (((Fixture *) user_data)->out, line, (gssize) length);
}

static void
on_notification (const char *method,
                 json_t     *params,
                 void       *user_data)
{
  Fixture *fixture = user_data;

  g_string_append_printf (fixture->log, "note %s %s;", method, params != NULL ? "params" : "-");
}

static void
on_reply (json_t *result,
          json_t *error,
          void   *user_data)
{
  Fixture *fixture = user_data;
  char *text = ow_json_dump (result != NULL ? result : error, NULL);

  g_assert_true ((result == NULL) != (error == NULL));
  g_string_append_printf (fixture->log, "%s %s;", result != NULL ? "result" : "error", text);
  free (text);
}

static void
on_reply_asks_again (json_t *result,
                     json_t *error,
                     void   *user_data)
{
  Fixture *fixture = user_data;

  g_string_append (fixture->log, "again;");
  ow_mcp_client_request (fixture->client, "second", NULL, on_reply, fixture);
}

static const OwMcpClientHandlers handlers = { on_write, on_notification };

static void
set_up (Fixture      *fixture,
        gconstpointer data)
{
  fixture->out = g_string_new (NULL);
  fixture->log = g_string_new (NULL);
  fixture->client = ow_mcp_client_new (&handlers, fixture);
}

static void
tear_down (Fixture      *fixture,
           gconstpointer data)
{
  ow_mcp_client_free (fixture->client);
  g_string_free (fixture->out, TRUE);
  g_string_free (fixture->log, TRUE);
}

static void
feed (Fixture    *fixture,
      const char *text)
{
  char error[OW_WIRE_ERROR_SIZE];

  g_assert_true (ow_mcp_client_feed (fixture->client, text, strlen (text), error));
}

static void
expect (Fixture      *fixture,
        const char   *log,
        unsigned int  violations,
        unsigned int  late)
{
  g_assert_cmpstr (fixture->log->str, ==, log);
  g_assert_cmpuint (ow_mcp_client_get_violations (fixture->client), ==, violations);
  g_assert_cmpuint (ow_mcp_client_get_late_replies (fixture->client), ==, late);
}

static void
test_request (Fixture      *fixture,
              gconstpointer data)
{
  json_int_t first = ow_mcp_client_request (fixture->client, "a", json_object (), on_reply, fixture);
  json_int_t second = ow_mcp_client_request (fixture->client, "b", NULL, on_reply, fixture);

  g_assert_cmpint (first, ==, 1);
  g_assert_cmpint (second, ==, 2);
  g_assert_cmpstr (fixture->out->str, ==,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{}}\n"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n");
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":2}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}\n");
  expect (fixture, "result {\"n\":2};error {\"code\":-1,\"message\":\"m\"};", 0, 0);
}

static void
test_lies (Fixture      *fixture,
           gconstpointer data)
{
  static const char *const lies[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"m\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1}\n",
    "{\"id\":1,\"result\":{}}\n",
    "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]\n",
    "garbage after a frame\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n",
  };

  ow_mcp_client_request (fixture->client, "a", NULL, on_reply, fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
  g_string_truncate (fixture->log, 0);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      feed (fixture, lies[i]);
      expect (fixture, "", i + 1, 0);
    }
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  expect (fixture, "result {};", G_N_ELEMENTS (lies), 0);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  expect (fixture, "result {};", G_N_ELEMENTS (lies) + 1, 0);
}

static void
test_result_no_object (Fixture      *fixture,
                       gconstpointer data)
{
  ow_mcp_client_request (fixture->client, "a", NULL, on_reply, fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1]}\n");
  expect (fixture, "error {\"code\":-32603,\"message\":\"The server's result is not an object.\"};",
          1, 0);
}

static void
test_cancel (Fixture      *fixture,
             gconstpointer data)
{
  json_int_t id = ow_mcp_client_request (fixture->client, "a", NULL, on_reply, fixture);

  g_string_truncate (fixture->out, 0);
  ow_mcp_client_cancel (fixture->client, id, true, "enough");
  g_assert_cmpstr (fixture->out->str, ==,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                   "\"params\":{\"requestId\":1,\"reason\":\"enough\"}}\n");
  g_string_truncate (fixture->out, 0);
  ow_mcp_client_cancel (fixture->client, id, true, NULL);
  ow_mcp_client_cancel (fixture->client, 77, true, NULL);
  g_assert_cmpstr (fixture->out->str, ==, "");
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  expect (fixture, "", 0, 1);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  expect (fixture, "", 1, 1);

  for (guint i = 0; i < 10000; i++)
    {
      id = ow_mcp_client_request (fixture->client, "a", NULL, on_reply, fixture);
      ow_mcp_client_cancel (fixture->client, id, false, NULL);
    }
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":10001,\"result\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
  expect (fixture, "", 2, 2);
}

static void
test_banner (Fixture      *fixture,
             gconstpointer data)
{
  feed (fixture, "Welcome to the machine\n\x1b[1mLast login: today\n\xff\xfe\n[1, 2\n");
  g_assert_cmpuint (ow_mcp_client_get_banner_lines (fixture->client), ==, 4);
  expect (fixture, "", 0, 0);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/openworker/hello\",\"params\":{}}\n");
  feed (fixture, "stray stderr text\n");
  g_assert_cmpuint (ow_mcp_client_get_banner_lines (fixture->client), ==, 4);
  expect (fixture, "note notifications/openworker/hello params;", 1, 0);
}

static void
test_server_asks (Fixture      *fixture,
                  gconstpointer data)
{
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\",\"params\":{}}\n");
  g_assert_nonnull (strstr (fixture->out->str, "\"id\":\"p\",\"result\":{}}\n"));
  g_assert_nonnull (strstr (fixture->out->str, "\"id\":5,\"error\":{\"code\":-32601"));
}

static void
test_inside (Fixture      *fixture,
             gconstpointer data)
{
  ow_mcp_client_request (fixture->client, "a", NULL, on_reply_asks_again, fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
  expect (fixture, "again;result {};", 0, 0);
}

static void
test_unsendable (Fixture      *fixture,
                 gconstpointer data)
{
  g_autofree char *text = g_strnfill (OW_FRAME_MAX_BYTES, 'x');

  g_assert_cmpint (ow_mcp_client_request (fixture->client, "a", json_pack ("{s:s}", "t", text),
                                          on_reply, fixture), ==, 0);
  g_assert_cmpstr (fixture->out->str, ==, "");
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  expect (fixture, "", 1, 0);
}

static void
test_splits (void)
{
  const char *session =
    "banner\r\n{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"t\":\"\xe2\x82\xac\"}}\n\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"x\":[1,{\"y\":\"\\u20ac\"}]}}\r\n"
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"gone\"}}\n"
    "stray\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"resu";

  for (gsize split = 0; split <= strlen (session); split++)
    {
      Fixture fixture = { 0 };
      g_autofree char *first = g_strndup (session, split);

      set_up (&fixture, NULL);
      for (guint i = 0; i < 3; i++)
        ow_mcp_client_request (fixture.client, "a", NULL, on_reply, &fixture);
      feed (&fixture, first);
      feed (&fixture, session + split);
      expect (&fixture, "note hello params;result {\"x\":[1,{\"y\":\"\xe2\x82\xac\"}]};"
              "error {\"code\":-32002,\"message\":\"gone\"};", 2, 0);
      g_assert_cmpuint (ow_mcp_client_get_banner_lines (fixture.client), ==, 1);
      tear_down (&fixture, NULL);
    }
}

#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/mcp-client/request", test_request);
  ADD ("/mcp-client/P03/lies", test_lies);
  ADD ("/mcp-client/P03/result-no-object", test_result_no_object);
  ADD ("/mcp-client/P03/cancel", test_cancel);
  ADD ("/mcp-client/P02/banner", test_banner);
  ADD ("/mcp-client/server-asks", test_server_asks);
  ADD ("/mcp-client/inside", test_inside);
  ADD ("/mcp-client/unsendable", test_unsendable);
  g_test_add_func ("/mcp-client/P02/every-split", test_splits);
  return g_test_run ();
}
