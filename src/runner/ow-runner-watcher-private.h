/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdint.h>

#include "ow-runner-tool-private.h"

/* The process that looks at the folders: it reads requests from a SOCK_SEQPACKET socket,
 * one a message, and answers each look with one message of JSON. */

/* Most bytes of a message, either way. */
#define OW_RUNNER_WATCHER_MESSAGE_MAX (96u * 1024u)

typedef enum {
  OW_RUNNER_WATCHER_LOOK = 1,
  OW_RUNNER_WATCHER_NOTE = 2,  /* paths, each with a NUL, stand behind it */
} OwRunnerWatcherKind;

typedef struct {
  uint32_t kind;
  uint32_t number; /* stands in the answer as "number" */
  int64_t  since;  /* of a look: older differences came between commands */
} OwRunnerWatcherRequest;

/* Serves until the other end is closed. */
void ow_runner_watcher_run (const OwRunnerRoots *roots,
                            int                  fd);

/* For tests: false takes all file systems for ones with a clock of their own. */
void ow_runner_watcher_set_trust_clocks (bool trust);
