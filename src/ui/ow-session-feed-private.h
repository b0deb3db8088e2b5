/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"
#include "ow-session-facts-private.h"
#include "ow-transcript-private.h"

/* One session as a face sees it: its numbered list, read from the engine and then followed. A
 * number that does not follow the last one is asked for, so that nothing is missed and nothing
 * comes twice, whatever the engine does in between.
 *
 * Signal "changed": the facts or the error are others. Main thread. */

#define OW_TYPE_SESSION_FEED (ow_session_feed_get_type ())
G_DECLARE_FINAL_TYPE (OwSessionFeed, ow_session_feed, OW, SESSION_FEED, GObject)

OwSessionFeed  *ow_session_feed_new            (OwEngine *engine, const char *session);
const char     *ow_session_feed_get_session    (OwSessionFeed *self);
OwTranscript   *ow_session_feed_get_transcript (OwSessionFeed *self); /* borrowed */
OwSessionFacts *ow_session_feed_get_facts      (OwSessionFeed *self); /* borrowed */
gboolean        ow_session_feed_is_loading     (OwSessionFeed *self);
/* Why the list could not be read, for a person; or NULL. */
const char     *ow_session_feed_get_error      (OwSessionFeed *self);
/* Asks for what is missing: after the engine was another one, or an error. */
void            ow_session_feed_refresh        (OwSessionFeed *self);
/* The session has ended so, which may be in no list: it stands behind what there is to be read. */
void            ow_session_feed_end            (OwSessionFeed *self, OwEvent *end);
/* @end (nullable) was not the last of it: with @event the session began after that. */
gboolean        ow_session_feed_goes_on        (OwEvent *event, OwEvent *end);
/* It follows no more: whoever let go of it does not read the rest of a long session. */
void            ow_session_feed_close          (OwSessionFeed *self);
