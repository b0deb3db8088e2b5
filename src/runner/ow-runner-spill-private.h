/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the output of a command is kept whole when it is longer than a model is given of it, so
 * that the rest can be read without running the command again: a file in the home of the
 * sandbox, which goes with it. Bounded in each file and in their number; the oldest goes first.
 *
 * The folder is within reach of commands: it is opened anew for each file and never through a
 * link, and what cannot be kept is not, without a word. */

/* From here on output is kept, and up to there. */
#define OW_RUNNER_SPILL_FROM (48u * 1024u)
#define OW_RUNNER_SPILL_MAX  (8u * 1024u * 1024u)

typedef struct _OwRunnerSpills OwRunnerSpills;
typedef struct _OwRunnerSpill OwRunnerSpill;

/* @home is kept, not copied. NULL without memory. */
OwRunnerSpills *ow_runner_spills_new    (const char *home);
/* Removes the files. */
void            ow_runner_spills_free   (OwRunnerSpills *self);

/* Of one command. Freed by ow_runner_spill_free(), its file stays. NULL without memory. */
OwRunnerSpill  *ow_runner_spill_new     (OwRunnerSpills *spills);
void            ow_runner_spill_free    (OwRunnerSpill *self);

void            ow_runner_spill_add     (OwRunnerSpill *self,
                                         const char    *data,
                                         size_t         length);
/* What comes from here on is not all: the file ends here. */
void            ow_runner_spill_close   (OwRunnerSpill *self);

/* Whether what comes next would be kept. */
bool            ow_runner_spill_wants   (const OwRunnerSpill *self);

/* The file as a shell takes it, below "~", NULL while the output is short or could not be kept;
 * the beginning of the output that it has. */
const char     *ow_runner_spill_get_path  (const OwRunnerSpill *self);
uint64_t        ow_runner_spill_get_bytes (const OwRunnerSpill *self);
