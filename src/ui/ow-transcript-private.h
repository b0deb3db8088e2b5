/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-event.h"
#include "ow-transcript-item-private.h"

/* What a session's numbered events look like: a GListModel of OwTranscriptItem, made from the
 * events and nothing else. Live pieces are gathered and told in batches.
 *
 * Main thread. */

#define OW_TYPE_TRANSCRIPT (ow_transcript_get_type ())
G_DECLARE_FINAL_TYPE (OwTranscript, ow_transcript, OW, TRANSCRIPT, GObject)

OwTranscript *ow_transcript_new     (void);
/* The next event in order; a repeated one must not be given. */
void          ow_transcript_add     (OwTranscript *self, OwEvent *event);
/* An answer of this window's did not reach the engine: the request is open still. */
void          ow_transcript_reopen  (OwTranscript *self, const char *request);
/* This window has asked for the undo of what @call changed, or waits for it no more. */
void          ow_transcript_set_undoing (OwTranscript *self, const char *call, gboolean undoing);
/* Between these the model tells of nothing; then once, of all: for loading many. */
void          ow_transcript_freeze  (OwTranscript *self);
void          ow_transcript_thaw    (OwTranscript *self);
/* Tells of the pieces that were gathered, now. */
void          ow_transcript_flush   (OwTranscript *self);
