/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-loop-private.h"
#include "wire/ow-mcp-server.h"

/* One connection with MCP on it: reading, and writing without ever waiting for a slow
 * reader. It tells its owner of calls; the owner frees it, from anywhere. */

typedef struct _OwRunnerClient OwRunnerClient;

typedef struct {
  void (*call)(OwRunnerClient *client, const json_t *id, const char *name,
               json_t *arguments, json_t *meta, void *user_data);
  bool (*request)(OwRunnerClient *client, const json_t *id, const char *method,
                  json_t *params, void *user_data);
  void (*cancelled)(OwRunnerClient *client, const json_t *id, void *user_data);
  void (*heard)(OwRunnerClient *client, void *user_data);
  void (*closed)(OwRunnerClient *client, void *user_data);
} OwRunnerClientHandlers;

/* Descriptors are taken; @out_fd may be the same as @in_fd. NULL: failed. */
OwRunnerClient *ow_runner_client_new         (OwRunnerLoop                 *loop,
                                              int                           in_fd,
                                              int                           out_fd,
                                              json_t                       *tools,
                                              json_t                       *meta,
                                              const OwRunnerClientHandlers *handlers,
                                              void                         *user_data);
void            ow_runner_client_free        (OwRunnerClient               *self);

OwMcpServer    *ow_runner_client_get_mcp     (OwRunnerClient               *self);

/* Whether it has asked for something: before that it gets no output. */
bool            ow_runner_client_is_active   (const OwRunnerClient         *self);

/* Bytes that its reader has not taken yet. */
size_t          ow_runner_client_get_pending (const OwRunnerClient         *self);

/* Sends a message outside of MCP's order: the hello. Steals @message. */
void            ow_runner_client_send        (OwRunnerClient               *self,
                                              json_t                       *message);

/* Waits at most @max_ms until all is written. */
void            ow_runner_client_flush       (OwRunnerClient               *self,
                                              int                           max_ms);
