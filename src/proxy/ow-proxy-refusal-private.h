/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stddef.h>

/* Why a request is refused, to the parent (its reason) and to the client (a response). */
typedef enum {
  OW_PROXY_REFUSAL_NOT_LISTED,
  OW_PROXY_REFUSAL_ADDRESS,
  OW_PROXY_REFUSAL_RESOLVE,
  OW_PROXY_REFUSAL_CONNECT,
  OW_PROXY_REFUSAL_MALFORMED,
  OW_PROXY_REFUSAL_TOO_LONG,
  OW_PROXY_REFUSAL_CHUNKED,
  OW_PROXY_REFUSAL_SLOW,
} OwProxyRefusal;

/* The reason of the decision line. */
const char *ow_proxy_refusal_to_reason (OwProxyRefusal refusal);

/* The whole HTTP response with @detail in its body.
 * Returns: (owned, free()) @length bytes. */
char *ow_proxy_refusal_to_response (OwProxyRefusal refusal, const char *detail, size_t *length);
