/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ow-host-name.h"

/* The head of one request, read strictly: what two programs could read in two ways is
 * refused, never repaired. Pure functions. */

/* Most bytes of a head, the empty line at its end included. */
#define OW_PROXY_REQUEST_MAX_HEAD (16u * 1024u)

typedef enum {
  OW_PROXY_REQUEST_GOOD,
  OW_PROXY_REQUEST_INCOMPLETE, /* no fault yet, more bytes are needed */
  OW_PROXY_REQUEST_MALFORMED,
  OW_PROXY_REQUEST_TOO_LONG,
  OW_PROXY_REQUEST_CHUNKED,    /* a body without a length: its end cannot be kept to */
} OwProxyRequestStatus;

/* The pointers go into the bytes that were parsed. */
typedef struct {
  bool         is_connect;
  OwHostName  host;
  unsigned int port;
  size_t       head_length;
  uint64_t     body_length;
  const char  *method;
  size_t       method_length;
  const char  *path;           /* begins with '/' or '?', or is empty */
  size_t       path_length;
  const char  *headers;        /* the first header line */
} OwProxyRequest;

/* @fault (a sentence for the client, never NULL) says what is wrong. */
OwProxyRequestStatus ow_proxy_request_parse (OwProxyRequest *self,
                                             const char     *data,
                                             size_t          length,
                                             const char    **fault);

/* Most bytes of the line that may stand before the head, its first and last one not counted:
 * "\x01PROGRAM\n", who asks, as the inside tells it. */
#define OW_PROXY_REQUEST_MAX_PROGRAM 200u
/* *@length: of that line with both, 0 where there is none. Malformed: it is too long or has a
 * control character. */
OwProxyRequestStatus ow_proxy_request_parse_program (const char *data,
                                                     size_t      available,
                                                     size_t     *length);

/* The head to send on for a request that is no CONNECT: origin form, Host from the
 * target, without what is meant for this hop, and with "Connection: close".
 *
 * Returns: (owned, free()) @length bytes. */
char *ow_proxy_request_forward (const OwProxyRequest *self, size_t *length);
