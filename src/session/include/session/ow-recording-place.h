/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "events/ow-event-list.h"

/* Where a session's recording goes. It is chosen before anything runs inside, and its
 * directory is held by descriptor from then on: what the inside does to names does not
 * matter. Any thread. */

typedef struct _OwRecordingPlace OwRecordingPlace;

/* @folders as in session-started. Refused: a file in a folder that the session may write,
 * because the inside could put a link there for this side to follow; the program's own
 * folders; a link and whatever else is no regular file. */
OwRecordingPlace *ow_recording_place_open (const char *path, const json_t *folders,
                                           GError **error);
/* FALSE with @error: it lies in one of @folders, which the session may write. */
gboolean          ow_recording_place_check (OwRecordingPlace *place, const json_t *folders,
                                            GError **error);
void              ow_recording_place_free (OwRecordingPlace *place);
gboolean          ow_recording_place_write (OwRecordingPlace *place, GBytes *content,
                                            GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwRecordingPlace, ow_recording_place_free)
