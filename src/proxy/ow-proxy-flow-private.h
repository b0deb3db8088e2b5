/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes on their way in one direction between two sockets that do not block. What the
 * one side ends is ended at the other once all before it has gone out (half-close). */

#define OW_PROXY_FLOW_BYTES (32u * 1024u)

typedef struct {
  char    *data;      /* (owned, nullable) while there is something to hold */
  size_t   begin;
  size_t   end;
  uint64_t got;       /* bytes that were read */
  uint64_t sent;      /* bytes that were written, our own among them */
  uint64_t left;      /* bytes that may still be read; UINT64_MAX: all that come */
  bool     read_end;  /* no more will be read */
  bool     ended;     /* and the other side was told so */
  bool     keep_open; /* do not tell it when the reading ended only because of left */
} OwProxyFlow;

void ow_proxy_flow_clear (OwProxyFlow *self);

/* Ends it with what it holds, because the other side takes no more. */
void ow_proxy_flow_drop (OwProxyFlow *self);

/* Queues bytes of our own; they are not counted against left. */
bool ow_proxy_flow_put (OwProxyFlow *self, const char *data, size_t length);

bool ow_proxy_flow_wants_to_read  (const OwProxyFlow *self);
bool ow_proxy_flow_wants_to_write (const OwProxyFlow *self);

/* Each moves once what it can. @moved is set when bytes went. Returns false when the
 * socket is broken. */
bool ow_proxy_flow_read  (OwProxyFlow *self, int fd, bool *moved);
bool ow_proxy_flow_write (OwProxyFlow *self, int fd, bool *moved);
