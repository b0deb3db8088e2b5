/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "ow-runner-tool-private.h"

/* What the folders that may be written to hold, as their metadata tells: names, kind,
 * size, times and inode, level by level, so that what does not fit is what lies deepest.
 * Of .git only the folder itself is looked at. No file is opened and no link followed. */

typedef struct _OwRunnerPicture OwRunnerPicture;

/* What a picture may cost. Nothing is known of folders that were not reached. */
typedef struct {
  size_t entries;
  int    wall_ms;
  int    cpu_ms;
} OwRunnerPictureBounds;

typedef enum {
  OW_RUNNER_CREATED,
  OW_RUNNER_CHANGED,
  OW_RUNNER_DELETED,
} OwRunnerWhat;

typedef struct {
  size_t       root;
  const char  *below;  /* path below that folder */
  OwRunnerWhat what;
  mode_t       mode;   /* 0 of what was deleted */
  uint64_t     ino;
  uint64_t     size;
  int64_t      mtime;  /* nanoseconds of the wall clock */
  int64_t      ctime;
  int64_t      at;     /* when it happened, not later than that: its ctime, or of what was
                        * deleted that of its folder */
} OwRunnerDifference;

typedef void (*OwRunnerDifferenceFunc) (const OwRunnerDifference *difference,
                                        void                     *user_data);

OwRunnerPicture *ow_runner_picture_take    (const OwRunnerRoots   *roots,
                                            OwRunnerPictureBounds  bounds);
void             ow_runner_picture_free    (OwRunnerPicture       *self);
/* Whether all of the folders is in it. */
bool             ow_runner_picture_is_whole (const OwRunnerPicture *self);

/* Calls @func for each difference in the folders that both of them reached: each folder's
 * in the order of names, outer folders first. */
void             ow_runner_picture_compare (const OwRunnerPicture  *before,
                                            const OwRunnerPicture  *after,
                                            OwRunnerDifferenceFunc  func,
                                            void                   *user_data);
