/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ow-proxy-request-private.h"
#include "wire/ow-host-list.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
require (bool good)
{
  if (!good)
    abort ();
}

/* A name that was accepted is one spelling of itself. */
static void
check_host (const OwHostName *host)
{
  OwHostName again;

  require (ow_host_name_parse (&again, host->text, strlen (host->text)));
  require (strcmp (again.text, host->text) == 0 && again.is_address == host->is_address);
}

/* What is sent on is again a head that can be read in one way, with one Host, and ends
 * where it says. */
static void
check_forwarded (const OwProxyRequest *request)
{
  static const char prefix[] = "http://";
  size_t length = 0;
  char *head = ow_proxy_request_forward (request, &length);
  char *whole = malloc (length + sizeof prefix + OW_HOST_NAME_SIZE);
  size_t method = request->method_length + 1;
  size_t host = strlen (request->host.text);
  bool brackets = strchr (request->host.text, ':') != NULL;
  OwProxyRequest again;
  OwProxyRequestStatus status;
  const char *fault;
  char *out = whole;

  require (memcmp (head + length - 4, "\r\n\r\n", 4) == 0);
  out = mempcpy (out, head, method);
  out = mempcpy (out, prefix, sizeof prefix - 1);
  if (brackets)
    *out++ = '[';
  out = mempcpy (out, request->host.text, host);
  if (brackets)
    *out++ = ']';
  out = mempcpy (out, head + method, length - method);
  status = ow_proxy_request_parse (&again, whole, (size_t) (out - whole), &fault);
  require (status == OW_PROXY_REQUEST_GOOD || status == OW_PROXY_REQUEST_TOO_LONG ||
           strstr (fault, "too many") != NULL);
  if (status == OW_PROXY_REQUEST_GOOD)
    require (again.head_length == (size_t) (out - whole) &&
             again.body_length == request->body_length);
  free (whole);
  free (head);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data,
                        size_t         size)
{
  OwProxyRequest request;
  OwProxyRequest part;
  const char *fault = NULL;
  char error[OW_WIRE_ERROR_SIZE];
  const char *bytes = (const char *) data;
  OwProxyRequestStatus status = ow_proxy_request_parse (&request, bytes, size, &fault);

  require (fault != NULL);
  if (status == OW_PROXY_REQUEST_GOOD)
    {
      require (request.head_length <= size && request.port >= 1 && request.port <= 65535);
      status = ow_proxy_request_parse (&part, bytes, request.head_length - 1, &fault);
      require (status == OW_PROXY_REQUEST_INCOMPLETE);
      check_host (&request.host);
      if (!request.is_connect)
        check_forwarded (&request);
    }
  ow_host_list_free (ow_host_list_parse (bytes, size, error));
  return 0;
}
