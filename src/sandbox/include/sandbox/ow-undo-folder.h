/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Where a session's file tools keep what they are about to change:
 * ~/.local/share/coworker/sessions/SESSION/undo. It outlives each sandbox of the session and goes
 * with the session. Blocking, any thread. */

/* Makes it, 0700 and of @uid and @gid, or takes the one that is there. No link is followed below
 * the program's own data folder. Returns: (transfer full) its path; NULL with @error. */
char    *ow_undo_folder_make   (const char *session, uid_t uid, gid_t gid, GError **error);
/* Removes it with all that the session has beside it. Missing is success. */
gboolean ow_undo_folder_remove (const char *session, GError **error);
