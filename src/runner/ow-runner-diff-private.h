/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-buffer-private.h"

/* Appends what changed from @old_data to @new_data as a unified diff with three lines
 * around. Time and memory are bounded: a change too large to compare line by line is
 * shown as all old lines out and all new lines in, and one too large to show is cut,
 * with a line that says so. @name is printed as it is. Returns whether bytes that are
 * no text had to be escaped. */
bool ow_runner_diff_unified (OwRunnerBuffer *out,
                             const char     *name,
                             const char     *old_data,
                             size_t          old_length,
                             const char     *new_data,
                             size_t          new_length);

/* Lines that went out and came in. */
typedef struct {
  size_t added;
  size_t removed;
} OwRunnerDiffLines;

/* The hunks of such a diff, for a patch(1): whole and exactly as the bytes are, or none.
 * False when they are left out, because they would not fit into @out or are too many to
 * compare; @lines is counted all the same. */
bool ow_runner_diff_hunks (OwRunnerBuffer    *out,
                           const char        *old_data,
                           size_t             old_length,
                           const char        *new_data,
                           size_t             new_length,
                           OwRunnerDiffLines *lines);
