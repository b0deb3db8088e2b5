/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* The text of one answer as it comes: pieces are gathered for a moment and told as one
 * model-text event, so that a fast model does not drown the faces in events. */

typedef struct _OwAgentStream OwAgentStream;

OwAgentStream *ow_agent_stream_new      (OwEventList *events);
/* What is gathered and not told is dropped. */
void           ow_agent_stream_free     (OwAgentStream *self);
/* Another answer begins. */
void           ow_agent_stream_reset    (OwAgentStream *self);
/* An OwModelTextFunc. */
void           ow_agent_stream_take     (const char *text, gpointer self);
void           ow_agent_stream_flush    (OwAgentStream *self);
/* Borrowed: all that came of this answer. */
const char    *ow_agent_stream_get_text (OwAgentStream *self);
