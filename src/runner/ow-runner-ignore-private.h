/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The rules of one .gitignore file, as gitignore(5) has them. */
typedef struct _OwRunnerIgnore OwRunnerIgnore;

typedef enum {
  OW_RUNNER_IGNORE_SILENT, /* no rule speaks of the path */
  OW_RUNNER_IGNORE_OUT,
  OW_RUNNER_IGNORE_IN,     /* taken back in by a rule with "!" */
} OwRunnerIgnoreVerdict;

/* NULL when there is no rule in the text. Rules over a bound are left out. */
OwRunnerIgnore       *ow_runner_ignore_new   (const char *text,
                                              size_t      length);
/* Reads the .gitignore of an open directory; NULL when it has none. */
OwRunnerIgnore       *ow_runner_ignore_load  (int         directory);
void                  ow_runner_ignore_free  (OwRunnerIgnore *self);
/* How many rules it has. */
size_t                ow_runner_ignore_get_n (const OwRunnerIgnore *self);
/* @path is relative to the directory that the file lies in. */
OwRunnerIgnoreVerdict ow_runner_ignore_match (const OwRunnerIgnore *self,
                                              const char           *path,
                                              bool                  is_folder);
