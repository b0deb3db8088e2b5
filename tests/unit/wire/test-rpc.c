/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-frame.h"
#include "wire/ow-rpc.h"

typedef struct {
  const char *line;
  int         kind;  /* or the negative code */
} Case;

static const Case cases[] = {
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", OW_RPC_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{}}", OW_RPC_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"a\",\"params\":[1]}", OW_RPC_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", OW_RPC_NOTIFICATION },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", OW_RPC_RESULT },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", OW_RPC_ERROR },
  { "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"m\"}}", OW_RPC_ERROR },
  { "{", OW_RPC_PARSE_ERROR },
  { "{} {}", OW_RPC_PARSE_ERROR },
  { "7", OW_RPC_INVALID_REQUEST },
  { "null", OW_RPC_INVALID_REQUEST },
  { "{}", OW_RPC_INVALID_REQUEST },
  { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}]", OW_RPC_INVALID_REQUEST },
  { "{\"id\":1,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":1}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":null}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}",
    OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"result\":{}}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"m\"}}",
    OW_RPC_INVALID_REQUEST },
  { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", OW_RPC_INVALID_REQUEST },
};

static void
test_classify (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OwRpcMessage message;
      char error[OW_WIRE_ERROR_SIZE] = "";
      int code = 0;
      gsize length = strlen (cases[i].line);
      bool good = ow_rpc_message_parse (&message, cases[i].line, length, &code, error);

      g_test_message ("%s: %s", cases[i].line, error);
      g_assert_cmpint (good ? (int) message.kind : code, ==, cases[i].kind);
      g_assert_true (good == (message.root != NULL));
      g_assert_true (good == (error[0] == '\0'));
      ow_rpc_message_clear (&message);
    }
}

static void
test_long_id (void)
{
  for (gsize length = OW_RPC_MAX_ID_BYTES; length <= OW_RPC_MAX_ID_BYTES + 1; length++)
    {
      g_autofree char *id = g_strnfill (length, 'i');
      g_autofree char *line = g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"a\"}",
                                               id);
      OwRpcMessage message;
      char error[OW_WIRE_ERROR_SIZE];
      int code;

      g_assert_true (ow_rpc_message_parse (&message, line, strlen (line), &code, error) ==
                     (length == OW_RPC_MAX_ID_BYTES));
      ow_rpc_message_clear (&message);
    }
}

static void
test_build (void)
{
  struct {
    json_t     *message;
    const char *line;
  } built[] = {
    { ow_rpc_request (json_integer (1), "a", NULL),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n" },
    { ow_rpc_notification ("b", json_object ()),
      "{\"jsonrpc\":\"2.0\",\"method\":\"b\",\"params\":{}}\n" },
    { ow_rpc_result (json_string ("x"), NULL), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n" },
    { ow_rpc_error (NULL, -32700, "no", json_true ()),
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\",\"data\":true}}\n" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (built); i++)
    {
      gsize length = 0;
      char *line = ow_rpc_line (built[i].message, &length);

      g_assert_cmpmem (line, length, built[i].line, strlen (built[i].line));
      free (line);
    }
}

static void
test_line_cap (void)
{
  g_autofree char *text = g_strnfill (OW_FRAME_MAX_BYTES, 'x');
  gsize length = 1;

  g_assert_null (ow_rpc_line (ow_rpc_notification ("m", json_pack ("{s:s}", "t", text)), &length));
  g_assert_cmpuint (length, ==, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rpc/P01/classify", test_classify);
  g_test_add_func ("/rpc/P01/long-id", test_long_id);
  g_test_add_func ("/rpc/build", test_build);
  g_test_add_func ("/rpc/line-cap", test_line_cap);
  return g_test_run ();
}
