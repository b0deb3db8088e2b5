/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Names of hosts in one spelling, so that they can be compared byte by byte. Any thread. */

/* A DNS name has at most 253 bytes. */
#define OW_HOST_NAME_SIZE 256

typedef struct {
  char text[OW_HOST_NAME_SIZE]; /* lower case, no trailing dot, no brackets */
  bool is_address;              /* an IP address and not a name */
} OwHostName;

/* Reads a name, a dotted quad, or an IPv6 address with or without brackets. Refused:
 * all that a resolver could read in another way than we do (numbers that stand for an
 * address, zones, escapes, bytes outside ASCII), and labels that DNS does not have. */
bool ow_host_name_parse (OwHostName *self, const char *text, size_t length);

/* Reads a port, 1 to 65535 in decimal without leading zeros. Returns 0 when it is none. */
unsigned int ow_host_name_parse_port (const char *text, size_t length);
