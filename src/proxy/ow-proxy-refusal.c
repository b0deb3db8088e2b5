/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-refusal-private.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/ow-json.h"

static const struct {
  const char *reason;
  const char *status;
  const char *error;
} refusals[] = {
  [OW_PROXY_REFUSAL_NOT_LISTED] = { "not_listed", "403 Forbidden", "host_not_allowed" },
  [OW_PROXY_REFUSAL_ADDRESS] = { "address", "403 Forbidden", "address_not_allowed" },
  [OW_PROXY_REFUSAL_RESOLVE] = { "resolve", "502 Bad Gateway", "host_not_found" },
  [OW_PROXY_REFUSAL_CONNECT] = { "connect", "502 Bad Gateway", "connect_failed" },
  [OW_PROXY_REFUSAL_MALFORMED] = { "malformed", "400 Bad Request", "malformed" },
  [OW_PROXY_REFUSAL_TOO_LONG] = { "malformed", "431 Request Header Fields Too Large", "malformed" },
  [OW_PROXY_REFUSAL_CHUNKED] = { "malformed", "411 Length Required", "malformed" },
  [OW_PROXY_REFUSAL_SLOW] = { "malformed", "408 Request Timeout", "malformed" },
};

const char *
ow_proxy_refusal_to_reason (OwProxyRefusal refusal)
{
  return refusals[refusal].reason;
}

char *
ow_proxy_refusal_to_response (OwProxyRefusal refusal,
                              const char    *detail,
                              size_t        *length)
{
  json_t *body = json_pack ("{s:s, s:s}", "error", refusals[refusal].error, "detail", detail);
  size_t body_length = 0;
  char *text = ow_json_dump (body, &body_length);
  char *response = NULL;
  int written;

  written = asprintf (&response,
                      "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                      "Connection: close\r\n\r\n%s", refusals[refusal].status, body_length, text);
  if (text == NULL || written < 0)
    abort ();
  free (text);
  json_decref (body);
  *length = (size_t) written;
  return response;
}
