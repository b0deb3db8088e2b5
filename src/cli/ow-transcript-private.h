/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* Prints events as a person reads them, tool calls as cards with their level, the model's words
 * as they come. Foreign text is made visible first: nothing in it can move the cursor. Nothing is
 * printed into the middle of an answer or a card: what comes meanwhile follows it. */
void ow_transcript_print      (OwEvent *event);
/* No event follows: the session's end, if the last one was that, is how it ended. */
void ow_transcript_end        (void);
/* The answer that is under way was not followed from its beginning: it is printed when it is
 * whole. */
void ow_transcript_skip_piece (void);
