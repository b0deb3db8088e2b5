/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* Events that fit into a message, whatever is in them. Any thread. */

/* What one answer with many events may hold; half a frame, so that its own words fit too. */
#define OW_ENGINE_CUT_PAGE_BYTES (4u * 1024u * 1024u)

/* @event in its JSON form, shortened and marked with "x-cut" where it is longer than a page.
 * (new reference) @bytes: its length as text. */
json_t *ow_engine_cut_event (const OwEvent *event,
                             gsize         *bytes);
