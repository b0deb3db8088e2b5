/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-pattern-private.h"

/* Looks for a pattern in the lines of files and writes what it finds. The file goes
 * through one buffer piece by piece, so memory stays the same for any file and any
 * line; what was not looked at is said in @notes. */
typedef struct {
  size_t             context;   /* lines shown before and after */
  OwRunnerBuffer     text;
  OwRunnerBuffer     notes;
  size_t             matches;   /* lines */
  size_t             files;     /* with a match */
  size_t             searched;
  size_t             gave_up;
  unsigned long long bytes;
  bool               escaped;   /* a line had to be shown with \xNN */
  bool               full;      /* a limit on what is shown or done was reached */
  bool               partial;   /* something was left out besides that */
} OwRunnerSearch;

/* What a thread needs for itself to search with. */
typedef struct {
  OwRunnerPattern *pattern;     /* (borrowed) */
  char            *buffer;      /* (owned) */
} OwRunnerSearchDesk;

void ow_runner_search_init       (OwRunnerSearch       *self,
                                  size_t                context);
void ow_runner_search_clear      (OwRunnerSearch       *self);
void ow_runner_search_desk_init  (OwRunnerSearchDesk   *self,
                                  OwRunnerPattern      *pattern);
void ow_runner_search_desk_clear (OwRunnerSearchDesk   *self);

/* Prefix and path make the name that the file has in the text; @size is what fstat()
 * told. False once @full. */
bool ow_runner_search_file       (OwRunnerSearch       *self,
                                  OwRunnerSearchDesk   *desk,
                                  int                   fd,
                                  off_t                 size,
                                  const char           *prefix,
                                  const char           *path);

/* Adds what was found in the files that come next, so that it reads as if they had been
 * searched one after the other. False, with nothing added, where a limit lies among
 * them: then they are to be searched again. */
bool ow_runner_search_merge      (OwRunnerSearch       *self,
                                  const OwRunnerSearch *next);
