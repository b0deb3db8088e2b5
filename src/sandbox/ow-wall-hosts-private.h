/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-host.h"
#include "ow-ready-process-private.h"

/* The list of hosts of a running openworker-proxy, and what changes it (docs/proxy.md). One
 * change at a time is on its way: it is in force when the proxy says so. Main thread. */

typedef struct _OwWallHosts OwWallHosts;

/* @proxy stays the caller's and outlives this; it has @hosts (nullable, of OwHost) already. */
OwWallHosts *ow_wall_hosts_new   (OwReadyProcess *proxy,
                                  GPtrArray      *hosts);
/* Ends what is under way with an error. */
void         ow_wall_hosts_free  (OwWallHosts    *self);
/* Adds the host, and completes @task (moved in) with TRUE or an error. */
void         ow_wall_hosts_allow (OwWallHosts    *self,
                                  const OwHost   *host,
                                  GTask          *task);
/* Whether @line of the proxy's was about its lists, and so for nobody else. */
gboolean     ow_wall_hosts_take  (OwWallHosts    *self,
                                  const char     *line);
