/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stddef.h>
#include <stdint.h>

/* Copies stdin to @fd, and @first and then @fd to stdout, until @fd ends; when stdin ends, @fd
 * is told. @fd is closed. @silence_ms (0: for ever): ends by itself when nothing has come on
 * stdin for that long, because the far end of a relayed terminal can go without a word. */
void ow_runner_bridge (int         fd,
                       const char *first,
                       size_t      first_length,
                       int64_t     silence_ms);
