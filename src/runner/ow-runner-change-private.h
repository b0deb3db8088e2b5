/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-buffer-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-keep-private.h"

/* A file's change by a tool, so that it can be undone: what the file held is in the undo
 * folder before the file is touched, and if it cannot be put there, the file is not. */

typedef struct {
  char    *path;   /* (owned) (nullable) absolute, and no link */
  bool     existed;
  bool     remains;
  bool     kept;   /* it can be undone */
  char     before[OW_RUNNER_HASH_SIZE]; /* "": not known */
  char     after[OW_RUNNER_HASH_SIZE];
  mode_t   mode;   /* of the file before */
  uint64_t size;
  bool     too_large;
  unsigned dropped; /* former contents that went to make room */
} OwRunnerChange;

/* What the file in a place holds, read whole. */
typedef struct {
  char       *data;  /* (owned) (nullable) */
  size_t      length;
  struct stat status;
} OwRunnerContent;

void    ow_runner_content_clear  (OwRunnerContent     *self);
/* False with the sentence in @result; a file of more than @max bytes is refused too. */
bool    ow_runner_content_read   (OwRunnerContent     *self,
                                  const OwRunnerPath  *path,
                                  const OwRunnerPlace *place,
                                  uint64_t             max,
                                  OwRunnerToolResult  *result);

/* ow_runner_file_replace() with the old content kept. @old (nullable): what the file
 * holds, if that has been read already; it is then left alone when it holds it no more.
 * End with ow_runner_change_clear() in either case. */
bool    ow_runner_change_replace (OwRunnerChange        *self,
                                  const OwRunnerRoots   *roots,
                                  const OwRunnerPath    *path,
                                  const OwRunnerPlace   *place,
                                  const OwRunnerContent *old,
                                  const char            *content,
                                  size_t                 length,
                                  OwRunnerToolResult    *result);
void    ow_runner_change_clear   (OwRunnerChange        *self);

/* What the answer says about undoing it, if that is more than that it can be. */
void    ow_runner_change_note    (const OwRunnerChange  *self,
                                  const OwRunnerRoots   *roots,
                                  OwRunnerBuffer        *out);
/* Returns: (new reference) the member "change" of an answer. */
json_t *ow_runner_change_json    (const OwRunnerChange  *self);
