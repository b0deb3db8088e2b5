/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-path-private.h"

/* Goes over a tree in the order of its names, by descriptors and without following a
 * link, leaving out .git and what .gitignore files say. Depth, names of one folder,
 * entries and time are bounded; what was left out is in @limits. */

typedef enum {
  OW_RUNNER_WALK_TOO_DEEP  = 1 << 0,
  OW_RUNNER_WALK_TOO_WIDE  = 1 << 1,
  OW_RUNNER_WALK_TOO_MANY  = 1 << 2,
  OW_RUNNER_WALK_TOO_LONG  = 1 << 3,
} OwRunnerWalkLimits;

typedef struct {
  int           directory; /* the folder that it lies in */
  const char   *name;
  const char   *path;      /* below the start */
  unsigned char type;      /* DT_REG, DT_LNK …; never DT_DIR */
} OwRunnerWalkEntry;

/* Returning false ends the walk. */
typedef bool (*OwRunnerWalkFunc) (const OwRunnerWalkEntry *entry,
                                  void                    *user_data);

/* Set @split and @join to have the tree gone over by several threads once it is larger
 * than a few folders, in no order: @func is then called with what @split made of the
 * first user data, a thing of each thread, which @join puts together at the end. */
typedef struct {
  OwRunnerWalkFunc func;
  void            *user_data;
  void          *(*split)(void *user_data);
  void           (*join)(void *user_data, void *split);
  atomic_uint      limits;     /* OwRunnerWalkLimits reached */
  atomic_size_t    entries;
  atomic_size_t    unreadable; /* folders that could not be looked into */
  atomic_size_t    ignored;    /* entries left out for a .gitignore */
  struct timespec  deadline;   /* (monotonic clock) */
} OwRunnerWalk;

void ow_runner_walk_init  (OwRunnerWalk     *self,
                           OwRunnerWalkFunc  func,
                           void             *user_data,
                           int               seconds);
/* @start is an open directory, the one that @path names. */
void ow_runner_walk_run   (OwRunnerWalk        *self,
                           const OwRunnerRoots *roots,
                           const OwRunnerPath  *path,
                           int                  start);
bool ow_runner_walk_late  (const OwRunnerWalk  *self);
/* One line for each limit that was reached. */
void ow_runner_walk_notes (const OwRunnerWalk  *self,
                           OwRunnerBuffer      *out);
