/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "session/ow-session.h"

/* The members of the events that a session itself appends (docs/events.md). */

const char *ow_session_events_approve_name (OwApprovePolicy policy);

/* New reference. @folders: JSON array as in the event, NULL for session-resumed; @hosts:
 * array of text. */
json_t *ow_session_events_started  (const OwSessionOptions *options, OwLevel level,
                                    const json_t *folders, const json_t *hosts);
json_t *ow_session_events_wall     (const char *state, OwLevel level, const char *reason);
/* It is up, with the logins (char) of @credentials (nullable). */
json_t *ow_session_events_wall_up  (OwLevel level, const char *reason, GPtrArray *credentials);
/* @error NULL: done with @status, or @parked, with a turn @cut short that goes on with the
 * session. */
json_t *ow_session_events_ended    (const GError *error, int status, gboolean parked,
                                    gboolean cut);
/* From one line of openworker-proxy, which is data: NULL when it is none. @time_ms: when it was,
 * now where the line does not tell. @notice (nullable
 * result, transfer full): what agent and person are told of a refusal. */
json_t *ow_session_events_decision (const char *line, OwLevel level, gint64 *time_ms,
                                    char **notice);
