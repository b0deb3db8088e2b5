/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>

#include "wire/ow-mcp-client.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
on_write (const char *line,
          size_t      length,
          void       *user_data)
{
  if (length == 0 || line[length - 1] != '\n')
    abort ();
}

static void
on_notification (const char *method,
                 json_t     *params,
                 void       *user_data)
{
  if (method == NULL)
    abort ();
}

static void
on_reply (json_t *result,
          json_t *error,
          void   *user_data)
{
  int *n_replies = user_data;

  /* Exactly one of the two, and once. */
  if ((result == NULL) == (error == NULL) || ++*n_replies > 1)
    abort ();
}

/* A server that answers the one open request, or anything else, in any pieces. */
int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  static const OwMcpClientHandlers handlers = {
    .write = on_write, .notification = on_notification,
  };
  char error[OW_WIRE_ERROR_SIZE];
  OwMcpClient *client;
  int n_replies = 0;
  size_t chunk;

  if (size < 2)
    return 0;
  client = ow_mcp_client_new (&handlers, NULL);
  ow_mcp_client_request (client, "tools/call", json_object (), on_reply, &n_replies);
  chunk = (size_t) data[0] % 61 + 1;
  for (size_t at = 1; at < size; at += chunk)
    {
      size_t part = size - at < chunk ? size - at : chunk;

      if (!ow_mcp_client_feed (client, (const char *) data + at, part, error))
        break;
    }
  ow_mcp_client_free (client);
  return 0;
}
