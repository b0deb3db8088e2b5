/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ow-mcp-server.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
on_write (const char *line,
          size_t      length,
          void       *user_data)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *value;

  /* What goes out is one whole frame. */
  if (length == 0 || line[length - 1] != '\n')
    abort ();
  value = ow_json_parse (line, length - 1, error);
  if (!json_is_object (value))
    abort ();
  json_decref (value);
}

static void
on_call (OwMcpServer  *server,
         const json_t *id,
         const char   *name,
         json_t       *arguments,
         json_t       *meta,
         void         *user_data)
{
  if (name == NULL || !json_is_object (arguments) || (meta != NULL && !json_is_object (meta)))
    abort ();
  if (!ow_mcp_server_reply (server, id, json_object ()))
    abort ();
}

static void
on_cancelled (OwMcpServer  *server,
              const json_t *id,
              const char   *reason,
              void         *user_data)
{
  ow_mcp_server_reply_error (server, id, OW_RPC_CANCELLED, "cancelled", NULL);
}

static const char begin[] =
  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
  "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}\n"
  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/* A peer that has said hello and then says anything, in pieces of any size. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  static const OwMcpServerHandlers handlers = {
    .write = on_write, .call = on_call, .cancelled = on_cancelled,
  };
  char error[OW_WIRE_ERROR_SIZE];
  OwMcpServer *server;
  json_t *tools;
  size_t chunk;

  if (size < 2)
    return 0;
  tools = json_array ();
  server = ow_mcp_server_new ("fuzz", "1", tools, NULL, &handlers, NULL);
  chunk = (size_t) data[0] % 61 + 1;
  if (data[0] & 1)
    ow_mcp_server_feed (server, begin, sizeof begin - 1, error);
  for (size_t at = 1; at < size; at += chunk)
    {
      size_t part = size - at < chunk ? size - at : chunk;

      if (!ow_mcp_server_feed (server, (const char *) data + at, part, error))
        break;
    }
  ow_mcp_server_free (server);
  json_decref (tools);
  return 0;
}
