/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A PCRE2 pattern that is looked for line by line, in bytes that need not be text. A
 * search ends whatever the pattern is: steps, memory and depth are limited. */
typedef struct _OwRunnerPattern OwRunnerPattern;

typedef enum {
  OW_RUNNER_PATTERN_NONE,
  OW_RUNNER_PATTERN_FOUND,
  OW_RUNNER_PATTERN_GAVE_UP, /* a limit was reached before it was decided */
} OwRunnerPatternState;

/* NULL with a sentence in *@error (owned, malloc). */
OwRunnerPattern     *ow_runner_pattern_new  (const char *pattern,
                                             size_t      length,
                                             bool        ignore_case,
                                             char      **error);
void                 ow_runner_pattern_free (OwRunnerPattern *self);

/* Looks in one line, without its newline. */
OwRunnerPatternState ow_runner_pattern_line (OwRunnerPattern *self,
                                             const char      *line,
                                             size_t           length,
                                             size_t          *start,
                                             size_t          *end);

/* Looks in many lines for the next one that may match: no line before the one that
 * *@start lies in does. When it gives up, *@start is where the line in question
 * begins. */
OwRunnerPatternState ow_runner_pattern_next (OwRunnerPattern *self,
                                             const char      *lines,
                                             size_t           length,
                                             size_t          *start);

/* The longest text that every match must hold, NULL when none is known. For tests. */
const char          *ow_runner_pattern_literal (const OwRunnerPattern *self);
