/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdint.h>

#include "ow-proxy-report-private.h"
#include "wire/ow-host-name.h"

/* What went to each host and came from it, since the process began: a line with the totals at
 * most once a second while bytes move, and one when the last connection to the host has ended.
 * Totals and not steps, so that a line that is lost is made good by the next. Times are
 * milliseconds of CLOCK_MONOTONIC. One owner, one thread. */

/* What names there are is decided inside (with "*.name" in the list): further ones are counted
 * as one, under the name "" and port 0. */
#define OW_PROXY_TRAFFIC_MAX_HOSTS 512
#define OW_PROXY_TRAFFIC_LINE_MS 1000

typedef struct _OwProxyTraffic OwProxyTraffic;
typedef struct _OwProxyTrafficHost OwProxyTrafficHost;

/* @report stays the caller's. */
OwProxyTraffic     *ow_proxy_traffic_new   (OwProxyReport        *report);
void                ow_proxy_traffic_free  (OwProxyTraffic       *self);

/* One more connection to that host. Borrowed: it stays for as long as @self does. */
OwProxyTrafficHost *ow_proxy_traffic_open  (OwProxyTraffic       *self,
                                            const OwHostName     *host,
                                            unsigned int          port);
/* So many bytes more. */
void                ow_proxy_traffic_count (OwProxyTraffic       *self,
                                            OwProxyTrafficHost   *host,
                                            uint64_t              up,
                                            uint64_t              down);
/* The connection is over. */
void                ow_proxy_traffic_close (OwProxyTraffic       *self,
                                            OwProxyTrafficHost   *host);

/* Tells what is due at @now. Returns when it is to be called again, INT64_MAX: for no time. */
int64_t             ow_proxy_traffic_tell  (OwProxyTraffic       *self,
                                            int64_t               now);
/* Tells all that was not told yet, due or not. */
void                ow_proxy_traffic_flush (OwProxyTraffic       *self);
