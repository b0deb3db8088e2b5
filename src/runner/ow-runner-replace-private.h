/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-buffer-private.h"

/* Exact replacement in a file's bytes, apart from any file: what the edit tool does
 * between reading and writing. */

/* Largest file, before and after. */
#define OW_RUNNER_REPLACE_MAX_BYTES (32u * 1024u * 1024u)

typedef enum {
  OW_RUNNER_REPLACE_DONE,
  OW_RUNNER_REPLACE_ABSENT,
  OW_RUNNER_REPLACE_AMBIGUOUS,
  OW_RUNNER_REPLACE_TOO_LARGE,
} OwRunnerReplaceState;

typedef struct {
  char  *data;     /* (owned) (nullable) the new content when it is done */
  size_t length;
  size_t found;    /* places that @old_text stands at */
  bool   crlf;     /* line ends of the texts were made those of the file */
} OwRunnerReplace;

/* Replaces @old_text, which is not empty, by @new_text. A byte-order mark stays where
 * it is. Where @old_text stands in the file only with CRLF for its bare LF, or has no line
 * end of its own in a file of which most have CRLF, bare LF in the two texts means that. */
OwRunnerReplaceState ow_runner_replace_apply (OwRunnerReplace *self,
                                              const char      *data,
                                              size_t           length,
                                              const char      *old_text,
                                              size_t           old_length,
                                              const char      *new_text,
                                              size_t           new_length,
                                              bool             all);
void                 ow_runner_replace_clear (OwRunnerReplace *self);

/* Says at which lines @old_text stands, at most ten. */
void                 ow_runner_replace_places (OwRunnerBuffer *out,
                                               const char     *data,
                                               size_t          length,
                                               const char     *old_text,
                                               size_t          old_length);
