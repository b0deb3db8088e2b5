/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-mcp.h"
#include "wire/ow-rpc.h"

/* The client half of MCP, likewise without input or output of its own. Requests get
 * integer ids, unique for the life of the client. What the server sends is data:
 * a reply to an unknown or already answered id, a malformed frame or a frame that
 * is no JSON at all is dropped and counted (ow_mcp_client_get_violations()), never
 * acted upon; the owner decides when the count makes the server untrusted.
 * Lines before the first frame that are not JSON (a banner) are passed over while
 * nothing valid has arrived, and counted apart. A result that is no object counts too
 * and reaches the reply function as an error. The server's own requests are answered
 * here: ping with an empty result, all others with "method not found".
 *
 * Plain C, one thread. The owner may call any function here from inside a
 * callback, ow_mcp_client_free() excepted. */

typedef struct _OwMcpClient OwMcpClient;

/* Exactly one of @result and @error is set; both borrowed. */
typedef void (*OwMcpReplyFunc) (json_t *result, json_t *error, void *user_data);

typedef struct {
  void (*write)(const char *line, size_t length, void *user_data);
  void (*notification)(const char *method, json_t *params, void *user_data);
} OwMcpClientHandlers;

OwMcpClient *ow_mcp_client_new  (const OwMcpClientHandlers *handlers,
                                 void                      *user_data);
/* Open requests are dropped without their reply function being called. */
void         ow_mcp_client_free (OwMcpClient *self);

bool ow_mcp_client_feed (OwMcpClient *self,
                         const char  *data,
                         size_t       length,
                         char         error[OW_WIRE_ERROR_SIZE]);

/* Sends a request; steals @params. Returns its id, or 0 when the params cannot be
 * written as one frame (nothing was sent, @reply will not be called). */
json_int_t ow_mcp_client_request (OwMcpClient    *self,
                                  const char     *method,
                                  json_t         *params,
                                  OwMcpReplyFunc  reply,
                                  void           *user_data);

/* Sends a notification; steals @params. */
void ow_mcp_client_notify (OwMcpClient *self, const char *method, json_t *params);

/* Forgets an open request: its reply will be dropped and counted apart, as the two may
 * have met on the way; a second one is a violation. Sends notifications/cancelled when
 * @notify_server. */
void ow_mcp_client_cancel (OwMcpClient *self, json_int_t id, bool notify_server,
                           const char *reason);

unsigned int ow_mcp_client_get_violations   (const OwMcpClient *self);
unsigned int ow_mcp_client_get_banner_lines (const OwMcpClient *self);
/* First replies to requests that had been cancelled. */
unsigned int ow_mcp_client_get_late_replies (const OwMcpClient *self);
