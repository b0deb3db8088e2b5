/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* The loop: lists on stdin, decisions on stdout, clients on a unix socket. */

#define OW_PROXY_SERVER_MAX_CONNECTIONS 256

typedef struct {
  const char *socket_path;
  double      time_scale; /* every time limit is multiplied by it */
} OwProxyServerOptions;

/* Returns the exit status, when stdin has ended or nothing more can be done; what went
 * wrong was then written to stderr. */
int ow_proxy_server_run (const OwProxyServerOptions *options);
