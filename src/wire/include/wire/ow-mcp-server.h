/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-mcp.h"
#include "wire/ow-rpc.h"

/* The server half of MCP without any input or output of its own: bytes are fed in,
 * finished lines go out through one function. It answers initialize, ping and
 * tools/list by itself, refuses calls before initialize, tracks which request ids
 * are open, and hands tools/call and extension requests to its owner, who answers
 * later through ow_mcp_server_reply().
 *
 * Plain C, one thread. The owner may call any function here from inside a
 * callback, ow_mcp_server_free() excepted. */

typedef struct _OwMcpServer OwMcpServer;

typedef struct {
  /* Sends one line, @length bytes with the newline. */
  void (*write)(const char *line, size_t length, void *user_data);
  /* A tools/call; @id is borrowed and must be given to ow_mcp_server_reply() (or
   * _reply_error()) exactly once, now or later. @arguments is an object, @meta an
   * object or NULL; both borrowed. */
  void (*call)(OwMcpServer *server, const json_t *id, const char *name,
               json_t *arguments, json_t *meta, void *user_data);
  /* Any other request; same duty to reply. NULL or returning false: "method not
   * found" is answered. */
  bool (*request)(OwMcpServer *server, const json_t *id, const char *method,
                  json_t *params, void *user_data);
  /* notifications/cancelled for an open request. (nullable) */
  void (*cancelled)(OwMcpServer *server, const json_t *id, const char *reason,
                    void *user_data);
} OwMcpServerHandlers;

/* @tools (borrowed) is the array that tools/list answers; @server_meta (borrowed,
 * nullable) goes into the initialize result's _meta. */
OwMcpServer *ow_mcp_server_new  (const char                *name,
                                 const char                *version,
                                 json_t                    *tools,
                                 json_t                    *server_meta,
                                 const OwMcpServerHandlers *handlers,
                                 void                      *user_data);
void         ow_mcp_server_free (OwMcpServer               *self);

/* Feeds received bytes. A frame that is not JSON-RPC is answered with its error; an
 * over-long one makes this return false for good (sentence in @error). */
bool ow_mcp_server_feed (OwMcpServer *self,
                         const char  *data,
                         size_t       length,
                         char         error[OW_WIRE_ERROR_SIZE]);

/* Both steal @result/@data. A reply to an id that is not open is dropped and makes
 * them return false. A result over the frame cap is replaced by an error. */
bool ow_mcp_server_reply       (OwMcpServer *self, const json_t *id, json_t *result);
/* The same with a result that is JSON already, on one line, @length bytes; NULL is none that could
 * be made. Borrowed. */
bool ow_mcp_server_reply_text  (OwMcpServer *self, const json_t *id, const char *result,
                                size_t length);
bool ow_mcp_server_reply_error (OwMcpServer *self, const json_t *id, int code,
                                const char *message, json_t *data);

/* Sends a notification; steals @params. */
void ow_mcp_server_notify (OwMcpServer *self, const char *method, json_t *params);
