/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-open-call-private.h"

/* The tool calls of a channel: those that run, by id, and the ids of the latest that have
 * ended, because output of a call that was stopped may still come and no id is used twice.
 *
 * Plain struct owned by OwChannel, which the calls' tasks keep alive. Main thread. */

typedef struct _OwOpenCalls OwOpenCalls;

/* Times as in OwOpenCallHandlers. */
OwOpenCalls *ow_open_calls_new            (guint                    cancel_ms,
                                           guint                    call_ms);
void         ow_open_calls_free           (OwOpenCalls             *self);

/* Why a call cannot be added; NULL when it can. */
const char  *ow_open_calls_refusal        (OwOpenCalls             *self,
                                           const char              *id,
                                           const json_t            *arguments);
/* @task is moved in. Returns: the call, which is not sent yet; borrowed. */
OwOpenCall  *ow_open_calls_add            (OwOpenCalls             *self,
                                           const OwOpenCallRequest *request,
                                           GTask                   *task);
/* (nullable) borrowed */
OwOpenCall  *ow_open_calls_find           (OwOpenCalls             *self,
                                           const char              *id);
guint        ow_open_calls_get_n          (OwOpenCalls             *self);
/* (transfer container) those that run now */
GList       *ow_open_calls_list           (OwOpenCalls             *self);
/* Breaks of the protocol in what came for the calls, since the beginning. */
guint        ow_open_calls_get_violations (OwOpenCalls             *self);

/* Hands an output notification to its call. */
void         ow_open_calls_output         (OwOpenCalls             *self,
                                           const json_t            *params);
/* Their link is gone. */
void         ow_open_calls_unlink         (OwOpenCalls             *self);
/* The runner is lost: ends them all. */
void         ow_open_calls_lose           (OwOpenCalls             *self,
                                           const char              *reason);
