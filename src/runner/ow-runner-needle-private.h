/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A few texts that are looked for at once in plain bytes, sixteen of them at a time. It
 * is what lets most of a tree be passed over without a regular expression. Immutable
 * once filled in; no memory of its own. */

#define OW_RUNNER_NEEDLE_MAX   8
/* Longer texts are cut to this, which finds more and misses nothing. */
#define OW_RUNNER_NEEDLE_BYTES 64

typedef struct {
  char   text[OW_RUNNER_NEEDLE_BYTES];
  size_t length;
  size_t one;   /* places of the two bytes that are met least often */
  size_t other;
} OwRunnerNeedle;

typedef struct {
  OwRunnerNeedle needles[OW_RUNNER_NEEDLE_MAX];
  size_t         n;
  bool           ignore_case; /* of the ASCII letters, and the texts hold lower case */
} OwRunnerNeedles;

/* False when there are as many as there can be. @length > 0. */
bool        ow_runner_needles_add  (OwRunnerNeedles       *self,
                                    const char            *text,
                                    size_t                 length);
/* The first place where one of them begins, or NULL. */
const char *ow_runner_needles_find (const OwRunnerNeedles *self,
                                    const char            *data,
                                    size_t                 length);

/* How many newlines there are. */
size_t      ow_runner_needle_count_lines (const char *data,
                                          size_t      length);
