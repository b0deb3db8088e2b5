/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* What a stored list says about a session that is to go on. */

/* @folders, opened again, are those of the list: one whose path leads elsewhere now is
 * refused. */
gboolean   ow_session_resume_check_folders (OwEventList *events, const json_t *folders,
                                            GError **error);
/* What agent and person are told when it goes on at @level: lost shell state, and each call
 * that the end of the last run interrupted. (transfer full) */
char      *ow_session_resume_describe      (OwEventList *events, OwLevel level);
/* New reference: members of the end of a last run that was only to look at the session's changes
 * or to undo some: those of the end before it. NULL: it was none. */
json_t  *ow_session_resume_review_end (OwEventList *events);
