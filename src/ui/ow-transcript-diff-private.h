/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"
#include "ow-transcript-item-private.h"

/* The part of a transcript that is about what calls changed: a diff as a card shows it, and what
 * can be undone. Main thread. */

/* What @tool answers is, or holds, a unified diff. */
gboolean ow_transcript_diff_is_one    (const char *tool);
/* The lines of @item from @result: those of a hunk with their numbers, and nothing of the heads
 * around them. */
void     ow_transcript_diff_set       (OwTranscriptItem *item, const char *result);
/* TRUE: a person only looked at something, which has been shown elsewhere. */
gboolean ow_transcript_diff_is_look   (const OwEvent *asked);
/* TRUE: the call that @ended changed a file, and what it held before is kept. */
gboolean ow_transcript_diff_can_undo  (const OwEvent *ended);
/* TRUE: the undo did put back what the @i-th of the calls that it named had changed. */
gboolean ow_transcript_diff_is_undone (const OwEvent *asked, const OwEvent *ended, size_t i);
