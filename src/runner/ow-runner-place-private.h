/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "ow-runner-path-private.h"

/* Where a file is or would be; every link on the way has been resolved. */
typedef struct {
  int         parent; /* (owned) O_PATH */
  char       *name;   /* (owned) last component in @parent */
  bool        exists;
  struct stat status; /* of the file when it exists; never a link's */
  bool        read_only;
} OwRunnerPlace;

/* Finds the place that writing to the path means. False with the sentence in @result
 * when there is none or the file may not be written. */
bool ow_runner_place_locate  (const OwRunnerPath  *self,
                              const OwRunnerRoots *roots,
                              OwRunnerPlace       *place,
                              OwRunnerToolResult  *result);
void ow_runner_place_release (OwRunnerPlace       *place);
