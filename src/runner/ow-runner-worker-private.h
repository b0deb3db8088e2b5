/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ow-runner-tool-private.h"

/* The child's side of ow-runner-fork.c: a process that runs one call at a time, each order
 * and each answer over one socket, until that socket ends, a call leaves it unclean, or it
 * has run OW_RUNNER_WORKER_CALLS. Both sides are copies of one program, so an order names
 * functions by their addresses and numbers are as they lie in memory. */

#define OW_RUNNER_WORKER_CALLS 1000u

/* Followed by the arguments, @length bytes of JSON. */
typedef struct {
  OwRunnerToolFunc func;
  size_t           length;
  uint32_t         number;
} OwRunnerOrder;

/* Followed by the text and the structured content, an object in JSON. */
typedef struct {
  uint32_t text_length;
  uint32_t structured_length;
  uint8_t  is_error; /* no bool: a process that was taken over may put anything there */
  uint8_t  goes_on;  /* nothing of this call is left, and the next order is waited for */
} OwRunnerAnswer;

/* Never returns. @fd is its end of the socket, @parent whose child it has to be. @begun is
 * memory of both sides, where the number of an order stands before anything of it is done.
 * With @order it runs that, with @arguments, and no other. */
_Noreturn void ow_runner_worker_main (const OwRunnerRoots *roots,
                                      const OwRunnerOrder *order,
                                      const json_t        *arguments,
                                      int                  fd,
                                      uint32_t            *begun,
                                      pid_t                parent);

/* Closes all descriptors of a process of the server's but the standard ones and the folders'. */
void           ow_runner_worker_close_others (const OwRunnerRoots *roots);
