/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/ow-host-name.h"

/* Resolves names, each in a thread of its own because getaddrinfo() blocks for as long
 * as it likes. Nobody waits for a thread: whoever asked may be gone when it ends, and
 * its answer is then thrown away by its ticket. One owner, one thread. */

#define OW_PROXY_RESOLVER_MAX_ADDRESSES 16
/* Threads at once, forgotten ones counted. */
#define OW_PROXY_RESOLVER_MAX_THREADS 64

typedef struct _OwProxyResolver OwProxyResolver;

typedef struct {
  uint64_t                ticket;
  size_t                  n_addresses; /* 0: the name is not known, or not just now */
  struct sockaddr_storage addresses[OW_PROXY_RESOLVER_MAX_ADDRESSES];
} OwProxyAnswer;

OwProxyResolver *ow_proxy_resolver_new    (void);
/* Readable when ow_proxy_resolver_take() has something. */
int              ow_proxy_resolver_get_fd (const OwProxyResolver *self);
/* Returns false when too many threads are at work. */
bool             ow_proxy_resolver_start  (OwProxyResolver       *self,
                                           uint64_t               ticket,
                                           const OwHostName     *host,
                                           unsigned int           port);
bool             ow_proxy_resolver_take   (OwProxyResolver       *self,
                                           OwProxyAnswer         *answer);
