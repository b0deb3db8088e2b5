/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-json.h"

/* Lines for the parent, one a decision. The proxy never waits for a parent that does
 * not read: what does not fit into the queue pushes out the oldest line, and the next
 * line that goes out says how many were lost. */

#define OW_PROXY_REPORT_MAX_LINES 1024

typedef struct _OwProxyReport OwProxyReport;

typedef struct {
  bool         allow;
  const char  *host;    /* "" when the request could not be read */
  unsigned int port;
  const char  *reason;
  const char  *address; /* (nullable) */
  const char  *program; /* (nullable) what the inside says that asked */
} OwProxyDecision;

/* @fd stays the caller's. */
OwProxyReport *ow_proxy_report_new  (int fd);
void           ow_proxy_report_free (OwProxyReport *self);

void ow_proxy_report_add (OwProxyReport *self, const OwProxyDecision *decision);
/* A line of another kind; it is taken. Shorter than PIPE_BUF. */
void ow_proxy_report_take (OwProxyReport *self, json_t *line);

bool ow_proxy_report_wants_to_write (const OwProxyReport *self);

/* Writes one line; to be called when the descriptor can take PIPE_BUF bytes. Returns
 * false when nobody will ever read again. */
bool ow_proxy_report_write (OwProxyReport *self);
