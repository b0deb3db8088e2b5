/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-search-private.h"
#include "ow-runner-walk-private.h"

/* Searches the files that a walk names, by several threads once there are more than a
 * few, and puts together what they find in the walk's order: the answer is the one that
 * a single thread would give, whatever the threads do. */
typedef struct _OwRunnerBatches OwRunnerBatches;

typedef struct {
  const char *text;
  size_t      length;
  bool        ignore_case;
} OwRunnerPatternText;

/* All is borrowed. @desk is the caller's; @text makes those of other threads. */
OwRunnerBatches *ow_runner_batches_new    (OwRunnerSearch            *search,
                                           OwRunnerSearchDesk        *desk,
                                           const OwRunnerPatternText *text,
                                           const char                *prefix,
                                           OwRunnerWalk              *walk);
void             ow_runner_batches_free   (OwRunnerBatches           *self);
/* False once no more is wanted. */
bool             ow_runner_batches_add    (OwRunnerBatches           *self,
                                           const OwRunnerWalkEntry   *entry);
/* After the last one: returns when all are searched. */
void             ow_runner_batches_finish (OwRunnerBatches           *self);
/* Files that could not be opened. */
size_t           ow_runner_batches_closed (const OwRunnerBatches     *self);
