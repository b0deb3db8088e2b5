/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ow-json.h"

/* Which calls there were, by id: each runs at most once for the life of the server.
 * Results are kept for a while, ids for good.
 *
 * Pure: time is given. */

#define OW_RUNNER_CALLS_RUNNING_MAX 64u
#define OW_RUNNER_CALLS_KEPT_MAX    256u
#define OW_RUNNER_CALLS_KEPT_BYTES  (64u * 1024u * 1024u)
#define OW_RUNNER_CALLS_KEPT_MS     (10 * 60 * 1000)
/* Ids are 64 bytes: beyond this many no new call is taken, rather than one run twice. */
#define OW_RUNNER_CALLS_IDS_MAX     1000000u

typedef enum {
  OW_RUNNER_CALL_UNKNOWN,
  OW_RUNNER_CALL_RUNNING,
  OW_RUNNER_CALL_FINISHED,
  OW_RUNNER_CALL_FORGOTTEN, /* ran, but its result is not kept any more */
} OwRunnerCallState;

typedef struct _OwRunnerCall OwRunnerCall;
struct _OwRunnerCall {
  char              id[65];
  OwRunnerCallState state;
  char             *result;    /* (owned) (nullable) when finished: JSON, not terminated */
  size_t            size;      /* of it, in bytes */
  int64_t           finished_at;
  void             *user_data; /* the owner's, while it runs */
  OwRunnerCall     *next;      /* in the order of finishing */
  OwRunnerCall     *chain;
};

typedef struct _OwRunnerCalls OwRunnerCalls;

OwRunnerCalls    *ow_runner_calls_new         (void);
void              ow_runner_calls_free        (OwRunnerCalls       *self);

/* 1 to 64 of [A-Za-z0-9_-]. */
bool              ow_runner_calls_is_id       (const char          *id);

OwRunnerCallState ow_runner_calls_look_up     (OwRunnerCalls       *self,
                                               const char          *id,
                                               int64_t              now,
                                               OwRunnerCall       **call);

/* @id must be unknown. NULL: too many run, or too many have run. */
OwRunnerCall     *ow_runner_calls_begin       (OwRunnerCalls       *self,
                                               const char          *id);

/* Steals @result (nullable), a text of @size bytes. */
void              ow_runner_calls_finish      (OwRunnerCalls       *self,
                                               OwRunnerCall        *call,
                                               char                *result,
                                               size_t               size,
                                               int64_t              now);

/* Forgets a running call whole, its id too: one that the server named itself. */
void              ow_runner_calls_drop        (OwRunnerCalls       *self,
                                               OwRunnerCall        *call);

unsigned int      ow_runner_calls_get_running (const OwRunnerCalls *self);
