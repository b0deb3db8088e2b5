/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-needle-private.h"

/* What can be told from a pattern's text alone, so that less has to be matched. Only
 * what is certain is said: where a construct stands that is not known here, there is no
 * literal and no confined form, which costs time and nothing else. */
typedef struct {
  OwRunnerNeedles needles;     /* every match holds one of them; n is 0 where none are known */
  bool            whole;       /* the pattern is that one literal and nothing else */
  bool            is_confined;
  OwRunnerBuffer  confined;    /* the same pattern in a form that takes no newline */
  bool            speaks_of_newline;
  bool            plain_bytes; /* it is ASCII, so that ASCII text may be matched as bytes */
} OwRunnerSyntax;

void ow_runner_syntax_take  (OwRunnerSyntax *self,
                             const char     *pattern,
                             size_t          length,
                             bool            ignore_case);
void ow_runner_syntax_clear (OwRunnerSyntax *self);
