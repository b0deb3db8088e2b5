/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event.h"

/* Like ow_event_new() with the list's number; a fault in @members is an error here. */
OwEvent *ow_event_new_numbered (OwEventType   type,
                                const char   *session,
                                json_t       *members,
                                guint64       seq,
                                GError      **error);

/* FALSE: no type has that name. */
gboolean ow_event_kind_from_name (const char  *name,
                                  OwEventType *type);
