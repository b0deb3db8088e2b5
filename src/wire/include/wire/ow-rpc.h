/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/ow-json.h"

/* JSON-RPC 2.0 messages (https://www.jsonrpc.org/specification), batches not
 * supported, as MCP 2025-06-18 has it. Plain C, any thread. */

typedef enum {
  OW_RPC_REQUEST,
  OW_RPC_NOTIFICATION,
  OW_RPC_RESULT,
  OW_RPC_ERROR,
} OwRpcKind;

/* Codes of the specification, and ours from -32000 down. */
#define OW_RPC_PARSE_ERROR      (-32700)
#define OW_RPC_INVALID_REQUEST  (-32600)
#define OW_RPC_METHOD_NOT_FOUND (-32601)
#define OW_RPC_INVALID_PARAMS   (-32602)
#define OW_RPC_INTERNAL_ERROR   (-32603)
#define OW_RPC_UNKNOWN_CALL     (-32001) /* tools/call: it has run, its result is not kept */
#define OW_RPC_CANCELLED        (-32002) /* the call was cancelled before it ran */

/* Longest string that is taken as an id, in bytes: ids are kept while a request is
 * open, and the other side chooses them. */
#define OW_RPC_MAX_ID_BYTES 256

/* One classified message; every pointer is borrowed from @root. */
typedef struct {
  OwRpcKind   kind;
  json_t     *root;    /* (owned) ow_rpc_message_clear() drops it */
  json_t     *id;      /* (nullable) string or integer; an error may come without */
  const char *method;  /* (nullable) requests and notifications */
  json_t     *params;  /* (nullable) object or array */
  json_t     *result;  /* (nullable) */
  json_t     *error;   /* (nullable) object with code and message */
} OwRpcMessage;

/* Parses and classifies one frame. Returns false with a sentence in @error and the
 * JSON-RPC code to answer with in @code; @message is then empty. */
bool ow_rpc_message_parse (OwRpcMessage *message,
                           const char   *line,
                           size_t        length,
                           int          *code,
                           char          error[OW_WIRE_ERROR_SIZE]);
void ow_rpc_message_clear (OwRpcMessage *message);

/* Builders. Each steals the references of the json_t arguments given (NULL is
 * allowed for params and data) and returns a new reference. */
json_t *ow_rpc_request      (json_t *id, const char *method, json_t *params);
json_t *ow_rpc_notification (const char *method, json_t *params);
json_t *ow_rpc_result       (json_t *id, json_t *result);
json_t *ow_rpc_error        (json_t *id, int code, const char *message, json_t *data);

/* Writes @message (stolen) as one frame, newline included.
 *
 * Returns: (owned, free()) @length bytes, or NULL when it cannot be written as JSON or
 * is over OW_FRAME_MAX_BYTES, which the other side would take as the end of the stream. */
char *ow_rpc_line (json_t *message, size_t *length);
