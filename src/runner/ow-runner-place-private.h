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
  size_t      root;   /* the folder whose rules hold there */
  mode_t      mode;   /* for a file that does not exist; 0: what is usual */
  bool        unsynced; /* the caller sees to it that what is written reaches the disk */
} OwRunnerPlace;

/* Finds the place that writing to the path means. False with the sentence in @result
 * when there is none or the file may not be written. */
bool ow_runner_place_locate  (const OwRunnerPath  *self,
                              const OwRunnerRoots *roots,
                              OwRunnerPlace       *place,
                              OwRunnerToolResult  *result);

/* Makes the folders that the path goes through and that are not there yet, as far as that
 * may be done; returns how many. */
size_t ow_runner_place_make_folders (const OwRunnerPath  *self,
                                     const OwRunnerRoots *roots);

/* As ow_runner_place_locate() for what is to stay where it is: a link on the way to the
 * file, or in its place, is refused. @writing: the file may be changed there. */
bool ow_runner_place_locate_plain (const OwRunnerPath  *self,
                                   const OwRunnerRoots *roots,
                                   bool                 writing,
                                   OwRunnerPlace       *place,
                                   OwRunnerToolResult  *result);
void ow_runner_place_release (OwRunnerPlace       *place);

/* (owned, malloc) the absolute path of the place, which no link is a part of as far as it
 * goes below the session's folder; NULL where it cannot be told. */
char *ow_runner_place_path   (const OwRunnerPlace *place,
                              const OwRunnerRoots *roots);
