/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* The table of docs/events.md: which members an event of a type has, and what they
 * are. Members that the table does not know are refused, except those beginning
 * "x-". */
gboolean ow_event_schema_check (OwEventType    type,
                                const json_t  *members,
                                GError       **error);

/* The members that stand before a type's own: seq, time, session, type. */
gboolean ow_event_schema_is_common (const char *member);
