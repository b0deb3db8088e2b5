/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-pattern-private.h"

/* Looks for a pattern in the lines of files and writes what it finds. The file goes
 * through one buffer piece by piece, so memory stays the same for any file and any
 * line; what was not looked at is said in @notes. */
typedef struct {
  OwRunnerPattern *pattern;
  size_t           context;     /* lines shown before and after */
  OwRunnerBuffer   text;
  OwRunnerBuffer   notes;
  char            *buffer;      /* (owned) */
  size_t           matches;     /* lines */
  size_t           files;       /* with a match */
  size_t           searched;
  size_t           gave_up;
  unsigned long long bytes;
  bool             escaped;     /* a line had to be shown with \xNN */
  bool             full;        /* a limit on what is shown or done was reached */
  bool             partial;     /* something was left out besides that */
} OwRunnerSearch;

void ow_runner_search_init  (OwRunnerSearch  *self,
                             OwRunnerPattern *pattern,
                             size_t           context);
void ow_runner_search_clear (OwRunnerSearch  *self);
/* @name is what the file is called in the text. False once @full. */
bool ow_runner_search_file  (OwRunnerSearch  *self,
                             int              fd,
                             const char      *name);
