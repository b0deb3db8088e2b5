/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A pattern over slash-separated paths: "*" and "?" within a component, "[a-z]",
 * "[!a-z]" and "[[:digit:]]" for one character, "**" as a component of its own for any
 * number of components (at the end for at least one), "\" before a character that
 * shall be itself, and "{a,b}" where asked for. Matching takes time in proportion to
 * the lengths multiplied, whatever the pattern. */
typedef struct _OwRunnerWildcard OwRunnerWildcard;

/* NULL when the braces make more alternatives than can be kept. */
OwRunnerWildcard *ow_runner_wildcard_new   (const char *pattern,
                                            size_t      length,
                                            bool        braces);
void              ow_runner_wildcard_free  (OwRunnerWildcard *self);
bool              ow_runner_wildcard_match (const OwRunnerWildcard *self,
                                            const char             *path);
