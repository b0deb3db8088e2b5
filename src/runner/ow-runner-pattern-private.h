/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "ow-runner-syntax-private.h"

/* A PCRE2 pattern that is looked for line by line, in bytes that need not be text. A
 * search ends whatever the pattern is: steps, memory and depth are limited. Each thread
 * needs one of its own. */
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

/* After that moment of the monotonic clock nothing more is found. */
void                 ow_runner_pattern_set_deadline (OwRunnerPattern       *self,
                                                     const struct timespec *deadline);

/* To be called when the bytes that are looked at are others than before. */
void                 ow_runner_pattern_new_bytes (OwRunnerPattern *self);

/* Looks in many lines for the next one that may match: no line before the one that
 * *@start lies in does. When it gives up, *@start is where the line in question
 * begins. */
OwRunnerPatternState ow_runner_pattern_next (OwRunnerPattern *self,
                                             const char      *lines,
                                             size_t           length,
                                             size_t          *start);

/* (borrowed) What its text tells. */
const OwRunnerSyntax *ow_runner_pattern_syntax (const OwRunnerPattern *self);
