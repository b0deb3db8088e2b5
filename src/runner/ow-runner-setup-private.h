/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-loop-private.h"

/* The ways out of the process that serve sets up before it serves. Errors are one
 * sentence in @error. */

#define OW_RUNNER_ERROR_SIZE 512

typedef struct {
  const char *const *items;
  size_t             n;
} OwRunnerPaths;

/* Restricts this process and all it will start: the names in the folders below @list, read
 * and execute below @ro, everything below @rw, nothing else. */
bool ow_runner_landlock_restrict (OwRunnerPaths list,
                                  OwRunnerPaths ro,
                                  OwRunnerPaths rw,
                                  char          error[OW_RUNNER_ERROR_SIZE]);

/* Keeps this process and all it will start from what no command needs and a wall around may not
 * refuse: limits of other processes, setuid files, keyrings, typing into terminals, namespaces. */
void ow_runner_filter_commands (void);

typedef struct _OwRunnerForward OwRunnerForward;

/* Listens on 127.0.0.1:@port and forwards each connection to the unix socket @path. */
OwRunnerForward *ow_runner_forward_new  (OwRunnerLoop *loop,
                                         const char   *path,
                                         unsigned int  port,
                                         char          error[OW_RUNNER_ERROR_SIZE]);
void             ow_runner_forward_free (OwRunnerForward *self);

/* A listening unix socket at @path, mode 0600, in the place of one that nobody serves
 * any more. -1: failed. */
int  ow_runner_socket_listen  (const char *path,
                               char        error[OW_RUNNER_ERROR_SIZE]);
/* -1: failed. Blocking. */
int  ow_runner_socket_connect (const char *path,
                               char        error[OW_RUNNER_ERROR_SIZE]);
/* For the one who listens at @path, before it closes. */
void ow_runner_socket_remove  (const char *path);
