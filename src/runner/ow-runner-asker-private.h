/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Which program is at the other end of a connection to 127.0.0.1, from /proc (proc(5): net/tcp,
 * PID/fd, PID/exe). To be shown and for nothing else: whoever runs inside can be what it likes.
 * The server's loop waits meanwhile, so the time for it is bounded, and so is the share of a
 * second that all of them together have: what was not found by then is not known. */

#define OW_RUNNER_ASKER_SIZE 200

/* All zero to begin with. */
typedef struct {
  pid_t   last;     /* asks most often */
  int64_t since_us; /* the second that is counted now */
  int64_t spent_us; /* of it */
} OwRunnerAsker;

/* @peer_port: the client's; @port: ours. Empty in @program: not known. Nothing in it is below
 * U+0020. */
void ow_runner_asker_find (OwRunnerAsker *self,
                           unsigned int   peer_port,
                           unsigned int   port,
                           char           program[OW_RUNNER_ASKER_SIZE]);
