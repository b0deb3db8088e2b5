/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-proxy-host-private.h"
#include "wire/ow-json.h"

/* The hosts that a session may reach. Never changed once it is made. */

/* More than any policy has; a list is walked once a request. */
#define OW_PROXY_LIST_MAX 4096

typedef struct _OwProxyList OwProxyList;

/* Reads a line as docs/proxy.md has it. A member of an entry that is not known is
 * refused: it could be a condition. Returns NULL with a sentence in @error. */
OwProxyList *ow_proxy_list_parse (const char *line,
                                  size_t      length,
                                  char        error[OW_WIRE_ERROR_SIZE]);
void         ow_proxy_list_free  (OwProxyList *self);

/* Whether @host may be reached at @port. @private_too is then whether it may be so at
 * a private address: when the entry says it, or is that address itself. */
bool ow_proxy_list_allows (const OwProxyList *self,
                           const OwProxyHost *host,
                           unsigned int       port,
                           bool              *private_too);
