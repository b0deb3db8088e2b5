/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "wire/ow-host-name.h"
#include "wire/ow-json.h"

/* The hosts that a session may reach: what openworker-proxy decides by, and so what says
 * beforehand how it will decide. Never changed once it is made; any thread. */

/* More than any policy has; a list is walked once a request. */
#define OW_HOST_LIST_MAX 4096

typedef struct _OwHostList OwHostList;

/* Reads a line as docs/proxy.md has it. A member of an entry that is not known is
 * refused: it could be a condition. Returns NULL with a sentence in @error. */
OwHostList *ow_host_list_parse (const char *line,
                                size_t      length,
                                char        error[OW_WIRE_ERROR_SIZE]);
void         ow_host_list_free  (OwHostList *self);

/* Whether @host may be reached at @port. @private_too is then whether it may be so at
 * a private address: when the entry says so. */
bool ow_host_list_allows (const OwHostList *self,
                          const OwHostName *host,
                          unsigned int       port,
                          bool              *private_too);
