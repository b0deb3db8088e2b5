/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ow-runner-setup-private.h"

/* The undo folder: what files held before a tool changed them, each under the SHA-256 of
 * its content. Whoever can write to it can put anything there, so nothing is taken from it
 * by its name alone: links are not followed, only regular files are read, and their
 * content is hashed again each time.
 *
 * One pre-image has at most @max_one bytes. All together have at most @max_all, where a
 * file counts as a block at least; the ones that were kept or asked for longest ago go
 * first. Both figures are ours. */

#define OW_RUNNER_KEEP_ONE_MAX (64u * 1024u * 1024u)
#define OW_RUNNER_KEEP_ALL_MAX (1024u * 1024u * 1024u)

/* 64 hexadecimal digits and the terminator. */
#define OW_RUNNER_HASH_SIZE 65

typedef struct _OwRunnerKeep {
  int       fd;      /* (owned) O_PATH directory, -1: closed */
  uint64_t *total;   /* (owned) shared with the processes of the tools; bytes, or not counted */
  uint64_t  max_one;
  uint64_t  max_all;
} OwRunnerKeep;

/* The lower-case hexadecimal SHA-256 of the bytes. */
void  ow_runner_keep_hash    (const char *data,
                              size_t      length,
                              char        hash[OW_RUNNER_HASH_SIZE]);
bool  ow_runner_keep_is_hash (const char *text);

/* False with the sentence in @error. */
bool  ow_runner_keep_open    (OwRunnerKeep *self,
                              const char   *path,
                              char          error[OW_RUNNER_ERROR_SIZE]);
void  ow_runner_keep_close   (OwRunnerKeep *self);

/* Keeps the bytes, whose hash is @hash; with @sync they are on the disk when it returns.
 * Where there is no room, older ones are dropped and counted in *@dropped; with @dropped
 * NULL that is a failure. False with the end of a sentence ("the disk is full") in
 * @error. */
bool  ow_runner_keep_put     (const OwRunnerKeep *self,
                              const char         *data,
                              size_t              length,
                              const char         *hash,
                              bool                sync,
                              unsigned           *dropped,
                              char                error[OW_RUNNER_ERROR_SIZE]);

/* (owned, malloc) the bytes that have this hash, or NULL with the end of a sentence in
 * @error. */
char *ow_runner_keep_get     (const OwRunnerKeep *self,
                              const char         *hash,
                              size_t             *length,
                              char                error[OW_RUNNER_ERROR_SIZE]);
