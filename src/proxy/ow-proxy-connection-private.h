/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "ow-proxy-report-private.h"
#include "ow-proxy-resolver-private.h"
#include "ow-proxy-traffic-private.h"
#include "wire/ow-host-list.h"

/* One client's connection: a head is read, its host looked up in the list, resolved and
 * connected to, then bytes go both ways; or the client is told why not. Nothing in here
 * waits: the server polls, then hands over what happened. Times are milliseconds of
 * CLOCK_MONOTONIC. */

/* What all connections share; owned by the server. */
typedef struct {
  OwHostList     *list;
  OwProxyResolver *resolver;
  OwProxyReport   *report;
  OwProxyTraffic  *traffic;
  double           time_scale; /* 1, or less in tests */
} OwProxyContext;

typedef struct _OwProxyConnection OwProxyConnection;

/* Takes @client, a socket that does not block. @ticket is unique in the process. */
OwProxyConnection *ow_proxy_connection_new  (const OwProxyContext *context,
                                             int                   client,
                                             uint64_t              ticket,
                                             int64_t               now);
void               ow_proxy_connection_free (OwProxyConnection    *self);

uint64_t ow_proxy_connection_get_ticket   (const OwProxyConnection *self);
/* When ow_proxy_connection_expire() is due. */
int64_t  ow_proxy_connection_get_deadline (const OwProxyConnection *self);
/* Whether it is over and to be freed; each of the functions below may make it so. */
bool     ow_proxy_connection_is_over      (const OwProxyConnection *self);

/* Fills in what to poll for: the client, then the host. */
void ow_proxy_connection_prepare (const OwProxyConnection *self, struct pollfd polled[2]);
void ow_proxy_connection_handle  (OwProxyConnection *self, const struct pollfd polled[2],
                                  int64_t now);

void ow_proxy_connection_resolved     (OwProxyConnection *self, const OwProxyAnswer *answer,
                                       int64_t now);
void ow_proxy_connection_expire       (OwProxyConnection *self, int64_t now);
/* After the list was replaced: ends what it no longer allows. */
void ow_proxy_connection_list_changed (OwProxyConnection *self, int64_t now);
