/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* What an address is to the machine that the proxy runs on. */
typedef enum {
  OW_PROXY_ADDRESS_PUBLIC,
  OW_PROXY_ADDRESS_PRIVATE, /* a network of the person's: only when the list says so */
  OW_PROXY_ADDRESS_SPECIAL, /* this machine, its links, cloud metadata, no host: never */
} OwProxyAddressKind;

#define OW_PROXY_ADDRESS_TEXT_SIZE 64

/* The documentation ranges (RFC 5737, RFC 3849) count as public: no machine that could
 * be harmed is behind them, and a test may put a server of its own there. */
OwProxyAddressKind ow_proxy_address_classify (const struct sockaddr *address);

/* The address without its port; "" for a family that is no IP. */
void ow_proxy_address_to_text (const struct sockaddr *address,
                               char                   text[OW_PROXY_ADDRESS_TEXT_SIZE]);
