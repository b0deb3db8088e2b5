/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-private.h"

/* The MCP face: who is connected, what they ask for, and who runs it. */

typedef struct _OwRunnerServer OwRunnerServer;

/* @lease_ms: 0 for none. */
OwRunnerServer *ow_runner_server_new      (OwRunner       *runner,
                                           int64_t         lease_ms);
void            ow_runner_server_free     (OwRunnerServer *self);

/* Takes the descriptor, makes the listening socket's connections clients. */
bool            ow_runner_server_listen   (OwRunnerServer *self,
                                           int             fd);

/* One client on two descriptors, whose end is the server's. */
bool            ow_runner_server_serve    (OwRunnerServer *self,
                                           int             in_fd,
                                           int             out_fd);
