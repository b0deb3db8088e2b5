/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* What an address is to the machine that sessions run on, told from nothing but its bits: the
 * proxy and the list of hosts have one table. Sources: the IANA special-purpose address registries
 * (RFC 6890), and the metadata services that clouds document. Any thread. */
typedef enum {
  OW_ADDRESS_PUBLIC,
  OW_ADDRESS_PRIVATE, /* a network of the person's: only when the list says so */
  OW_ADDRESS_SPECIAL, /* this machine, its links, cloud metadata, no host: never */
} OwAddressKind;

#define OW_ADDRESS_TEXT_SIZE 64

/* The documentation ranges (RFC 5737, RFC 3849) count as public: no machine that could
 * be harmed is behind them, and a test may put a server of its own there. */
OwAddressKind ow_address_classify (const struct sockaddr *address);

/* Reads an address as inet_pton() does, and nothing that others take for one ("10.1", a zone).
 * @address has port 0. */
bool ow_address_parse (const char *text, struct sockaddr_storage *address);

/* The address without its port; "" for a family that is no IP. */
void ow_address_to_text (const struct sockaddr *address,
                         char                   text[OW_ADDRESS_TEXT_SIZE]);
