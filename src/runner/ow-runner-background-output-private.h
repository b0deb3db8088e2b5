/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-capture-private.h"

/* What a background task writes, until somebody reads it: the first and the last bytes are
 * kept and those between them counted. Memory is bounded whatever is written, and so is
 * the time that a flood takes here: most of it is dropped without being looked at, with a
 * pause between two looks, so that its writer waits and neither of them fills a core. */

/* Bytes that wait to be read, most of beginning and end each. */
#define OW_RUNNER_BACKGROUND_HALF (64u * 1024u)

typedef struct _OwRunnerBackgroundOutput OwRunnerBackgroundOutput;

/* Something was written, or nothing will be any more. */
typedef void (*OwRunnerBackgroundOutputFunc) (void *user_data);

/* Takes @fd, a pipe's reading end or (@terminal) a terminal's master. NULL: failed, and
 * @fd is closed. */
OwRunnerBackgroundOutput *
ow_runner_background_output_new        (OwRunnerLoop                 *loop,
                                        int                           fd,
                                        bool                          terminal,
                                        OwRunnerBackgroundOutputFunc  changed,
                                        void                         *user_data);

/* What still writes goes on to, unheard. */
void     ow_runner_background_output_free       (OwRunnerBackgroundOutput *self,
                                                 OwRunnerDrains           *drains);

/* Takes in what was written up to now, without waiting. */
void     ow_runner_background_output_catch_up   (OwRunnerBackgroundOutput *self);

/* Whether all who could write are gone. */
bool     ow_runner_background_output_is_closed  (const OwRunnerBackgroundOutput *self);

/* Whether something waits that was not read yet. */
bool     ow_runner_background_output_has_unread (const OwRunnerBackgroundOutput *self);
uint64_t ow_runner_background_output_get_unread (const OwRunnerBackgroundOutput *self);

/* All that was ever written. */
uint64_t ow_runner_background_output_get_bytes  (const OwRunnerBackgroundOutput *self);

/* What was written since the last time, as text; @cut is what is left out of it. A
 * character that is not whole yet is kept for the next time, unless this is the @last.
 * Returns: (owned, free()) NULL without memory */
char    *ow_runner_background_output_take       (OwRunnerBackgroundOutput *self,
                                                 bool                      last,
                                                 size_t                   *length,
                                                 uint64_t                 *cut);
