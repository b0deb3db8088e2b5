/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <string.h>

#include "wire/ow-frame.h"
#include "wire/ow-mcp-server.h"

typedef struct {
  OwMcpServer *server;
  GString     *out;
  GString     *log;
  GPtrArray   *open;    /* (element-type json_t) ids that are still to be answered */
  gboolean     answer;  /* from inside the callback */
} Fixture;

static void
on_write (const char *line,
          size_t      length,
          void       *user_data)
{
  Fixture *fixture = user_data;

  g_assert_cmpint (line[length - 1], ==, '\n');
  g_string_append_len (fixture->out, line, (gssize) length);
}

static void
on_call (OwMcpServer  *server,
         const json_t *id,
         const char   *name,
         json_t       *arguments,
         json_t       *meta,
         void         *user_data)
{
  Fixture *fixture = user_data;

  g_assert_true (json_is_object (arguments));
  g_string_append_printf (fixture->log, "call %s %zu %s;", name, json_object_size (arguments),
                          meta != NULL ? "meta" : "plain");
  if (fixture->answer)
    g_assert_true (ow_mcp_server_reply (server, id, json_object ()));
  else
    g_ptr_array_add (fixture->open, json_deep_copy (id));
}

static bool
on_request (OwMcpServer  *server,
            const json_t *id,
            const char   *method,
            json_t       *params,
            void         *user_data)
{
  if (strcmp (method, OW_MCP_PROBE) != 0)
    return false;
  ow_mcp_server_reply (server, id, json_pack ("{s:b}", "ok", 1));
  return true;
}

static void
on_cancelled (OwMcpServer  *server,
              const json_t *id,
              const char   *reason,
              void         *user_data)
{
  Fixture *fixture = user_data;

  g_string_append_printf (fixture->log, "cancelled %s;", reason != NULL ? reason : "-");
}

static const OwMcpServerHandlers handlers = { on_write, on_call, on_request, on_cancelled };

static void
set_up (Fixture      *fixture,
        gconstpointer data)
{
  json_t *tools = json_pack ("[{s:s, s:{s:s}}]", "name", "t", "inputSchema", "type", "object");
  json_t *meta = json_pack ("{s:s}", OW_MCP_META_INSTANCE, "abc");

  fixture->out = g_string_new (NULL);
  fixture->log = g_string_new (NULL);
  fixture->open = g_ptr_array_new_with_free_func ((GDestroyNotify) json_decref);
  fixture->server = ow_mcp_server_new ("server", "1.2", tools, meta, &handlers, fixture);
  json_decref (tools);
  json_decref (meta);
}

static void
tear_down (Fixture      *fixture,
           gconstpointer data)
{
  ow_mcp_server_free (fixture->server);
  g_ptr_array_unref (fixture->open);
  g_string_free (fixture->out, TRUE);
  g_string_free (fixture->log, TRUE);
}

static void
feed (Fixture    *fixture,
      const char *text)
{
  char error[OW_WIRE_ERROR_SIZE];

  g_assert_true (ow_mcp_server_feed (fixture->server, text, strlen (text), error));
}

/* What was written since the last time has to hold each of the words, NULL at the end. */
static void
expect (Fixture    *fixture,
        const char *first,
        ...)
{
  va_list words;

  va_start (words, first);
  for (const char *word = first; word != NULL; word = va_arg (words, const char *))
    {
      if (strstr (fixture->out->str, word) == NULL)
        g_error ("\"%s\" is not in: %s", word, fixture->out->str);
    }
  va_end (words);
  g_string_truncate (fixture->out, 0);
}

static void
initialize (Fixture *fixture)
{
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
        "\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  expect (fixture, "\"id\":0", "\"protocolVersion\":\"2025-06-18\"", "\"tools\":{}",
          "\"name\":\"server\"", "\"version\":\"1.2\"", "\"openworker/instance\":\"abc\"", NULL);
}

static void
test_before_initialize (Fixture      *fixture,
                        gconstpointer data)
{
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
  expect (fixture, "\"id\":1", "-32600", "initialize", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
  expect (fixture, "\"id\":2", "-32600", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"openworker/probe\"}\n");
  expect (fixture, "\"id\":3", "-32600", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n");
  expect (fixture, "\"id\":4", "\"result\":{}", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"initialize\"}\n");
  expect (fixture, "\"id\":5", "-32602", NULL);
  g_assert_cmpstr (fixture->log->str, ==, "");
  initialize (fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"initialize\","
        "\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n");
  expect (fixture, "\"id\":6", "-32600", NULL);
}

static void
test_versions (void)
{
  static const struct {
    const char *wanted;
    const char *answered;
  } versions[] = {
    { "2025-06-18", "2025-06-18" }, { "2025-03-26", "2025-06-18" }, { "2024-11-05", "2024-11-05" },
    { "2099-01-01", "2025-06-18" }, { "", "2025-06-18" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *line = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"v\",\"method\":"
                                               "\"initialize\",\"params\":{\"protocolVersion\":"
                                               "\"%s\"}}\n", versions[i].wanted);
      g_autofree char *answer = g_strdup_printf ("\"protocolVersion\":\"%s\"", versions[i].answered);
      Fixture fixture = { 0 };

      set_up (&fixture, NULL);
      feed (&fixture, line);
      expect (&fixture, "\"id\":\"v\"", answer, NULL);
      tear_down (&fixture, NULL);
    }
}

static void
test_calls (Fixture      *fixture,
            gconstpointer data)
{
  initialize (fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
        "\"arguments\":{\"a\":1},\"_meta\":{}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"tools/call\",\"params\":{\"name\":\"u\"}}\n");
  g_assert_cmpstr (fixture->log->str, ==, "call t 1 meta;call u 0 plain;");
  g_assert_cmpstr (fixture->out->str, ==, "");

  /* An open call does not hold up a ping. */
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n");
  expect (fixture, "\"id\":8", NULL);

  /* The id of an open request again: answered, but not under that id. */
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
  expect (fixture, "\"id\":null", "-32600", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
  expect (fixture, "\"id\":null", "-32600", NULL);

  g_assert_true (ow_mcp_server_reply (fixture->server, fixture->open->pdata[1], json_object ()));
  expect (fixture, "\"id\":\"7\"", "\"result\":{}", NULL);
  g_assert_false (ow_mcp_server_reply (fixture->server, fixture->open->pdata[1], json_object ()));
  g_assert_true (ow_mcp_server_reply_error (fixture->server, fixture->open->pdata[0], -32002, "x",
                                            NULL));
  expect (fixture, "\"id\":7", "-32002", NULL);
  g_assert_false (ow_mcp_server_reply_error (fixture->server, fixture->open->pdata[0], -32002, "x",
                                             json_object ()));
  g_assert_false (ow_mcp_server_reply (fixture->server, json_null (), json_object ()));
  g_assert_cmpstr (fixture->out->str, ==, "");
}

static void
test_cancel (Fixture      *fixture,
             gconstpointer data)
{
  initialize (fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
  g_string_truncate (fixture->log, 0);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":[1]}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":[1]}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\",\"params\":{\"requestId\":1}}\n");
  g_assert_cmpstr (fixture->log->str, ==, "");
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":1,\"reason\":\"stop\"}}\n");
  g_assert_cmpstr (fixture->log->str, ==, "cancelled stop;");
  g_assert_true (ow_mcp_server_reply (fixture->server, fixture->open->pdata[0], json_object ()));
  g_string_truncate (fixture->log, 0);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n");
  g_assert_cmpstr (fixture->log->str, ==, "");
}

static void
test_bad_frames (Fixture      *fixture,
                 gconstpointer data)
{
  static const struct {
    const char *line;
    const char *code;
  } frames[] = {
    { "nonsense", "-32700" }, { "{", "-32700" }, { "{\"a\":1,\"a\":1}", "-32700" },
    { "[]", "-32600" }, { "{}", "-32600" }, { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nobody/knows\"}", "-32601" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}", "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":1}}", "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
      "\"arguments\":[]}}", "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
      "\"_meta\":1}}", "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", "-32602" },
  };

  initialize (fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (frames); i++)
    {
      feed (fixture, frames[i].line);
      feed (fixture, "\r\n");
      expect (fixture, frames[i].code, NULL);
    }
  g_assert_cmpstr (fixture->log->str, ==, "");

  /* Replies and unknown notifications get no answer, or two servers could talk for ever. */
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"what\"}\n");
  g_assert_cmpstr (fixture->out->str, ==, "");

  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
  expect (fixture, "\"inputSchema\"", NULL);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"openworker/probe\"}\n");
  expect (fixture, "\"ok\":true", NULL);
}

static void
test_open_cap (Fixture      *fixture,
               gconstpointer data)
{
  initialize (fixture);
  for (guint i = 0; i < 2000; i++)
    {
      g_autofree char *line = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\","
                                               "\"params\":{\"name\":\"t\"}}\n", i);

      feed (fixture, line);
    }
  g_assert_cmpuint (fixture->open->len, ==, 1024);
  expect (fixture, "\"id\":1024", "Too many", "\"id\":1999", NULL);
}

/* A result that is JSON already goes out as it is, once, and under the same cap. */
static void
test_text_result (Fixture      *fixture,
                  gconstpointer data)
{
  g_autofree char *large = g_strnfill (OW_FRAME_MAX_BYTES, '1');

  initialize (fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
  g_assert_true (ow_mcp_server_reply_text (fixture->server, fixture->open->pdata[0], "{\"x\":1}rest",
                                           7));
  g_assert_cmpstr (fixture->out->str, ==,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{\"x\":1}}\n");
  g_assert_false (ow_mcp_server_reply_text (fixture->server, fixture->open->pdata[0], "{}", 2));
  g_string_truncate (fixture->out, 0);
  g_assert_true (ow_mcp_server_reply_text (fixture->server, fixture->open->pdata[1], large,
                                           OW_FRAME_MAX_BYTES));
  expect (fixture, "\"id\":2", "-32603", "too large", NULL);
  g_assert_true (ow_mcp_server_reply_text (fixture->server, fixture->open->pdata[2], NULL, 0));
  expect (fixture, "\"id\":3", "-32603", NULL);
}

static void
test_large_result (Fixture      *fixture,
                   gconstpointer data)
{
  g_autofree char *text = g_strnfill (OW_FRAME_MAX_BYTES, 'x');

  initialize (fixture);
  feed (fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n");
  g_assert_true (ow_mcp_server_reply (fixture->server, fixture->open->pdata[0],
                                      json_pack ("{s:s}", "text", text)));
  expect (fixture, "\"id\":1", "-32603", "too large", NULL);
}

static void
test_splits (void)
{
  const char *session =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\r\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\n"
    "{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa9\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n"
    "bad\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
  g_autofree char *expected = NULL;

  for (gsize split = 0; split <= strlen (session); split++)
    {
      Fixture fixture = { .answer = TRUE };
      g_autofree char *first = g_strndup (session, split);

      set_up (&fixture, NULL);
      feed (&fixture, first);
      feed (&fixture, session + split);
      g_string_append (fixture.out, fixture.log->str);
      if (expected == NULL)
        expected = g_strdup (fixture.out->str);
      g_assert_cmpstr (fixture.out->str, ==, expected);
      tear_down (&fixture, NULL);
    }
  g_assert_nonnull (strstr (expected, "\"id\":\"\xc3\xa9\""));
  g_assert_nonnull (strstr (expected, "call t 0 plain;"));
}

#define ADD(path, function) g_test_add (path, Fixture, NULL, set_up, function, tear_down)

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/mcp-server/before-initialize", test_before_initialize);
  g_test_add_func ("/mcp-server/versions", test_versions);
  ADD ("/mcp-server/calls", test_calls);
  ADD ("/mcp-server/cancel", test_cancel);
  ADD ("/mcp-server/P01/bad-frames", test_bad_frames);
  ADD ("/mcp-server/open-cap", test_open_cap);
  ADD ("/mcp-server/large-result", test_large_result);
  ADD ("/mcp-server/text-result", test_text_result);
  g_test_add_func ("/mcp-server/P02/every-split", test_splits);
  return g_test_run ();
}
