/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdint.h>

/* All that one batch of requests may have, in bytes: a relay reads a one-shot command's stdin
 * whole before it starts the command, and takes no more. */
#define OW_RUNNER_ONCE_MAX (4u * 1024u * 1024u)

/* The requests on stdin, read to its end, for the server at @path: the hello first, then nothing
 * is sent when it is not of @instance (NULL: of any), then all that comes until each request has
 * its reply. @silence_ms: the longest wait for stdin and for stdout (0: 60 s).
 * Returns the exit status. */
int ow_runner_once (const char *path,
                    const char *instance,
                    int64_t     silence_ms);
