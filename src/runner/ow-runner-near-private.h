/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stddef.h>

#include "ow-runner-buffer-private.h"

/* Writes the numbers of the lines that @text, which is not empty, begins in, at most ten, and
 * returns how many places were found, at most one more. */
size_t ow_runner_near_places (OwRunnerBuffer *out,
                              const char     *data,
                              size_t          length,
                              const char     *text,
                              size_t          text_length);

/* Says what is nearly @old_text in a file that does not hold it: the same with other line
 * ends, white space, quotation marks or case, or the place where most of its lines stand
 * and which one differs there. Nothing when nothing is. */
void ow_runner_near_describe (OwRunnerBuffer *out,
                              const char     *data,
                              size_t          length,
                              const char     *old_text,
                              size_t          old_length);
