/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* OpenShell's own log of one session's sandboxes, kept beside the record (REQ-E01): one file a
 * session in ~/.local/state/coworker/ocsf, 0600. At 16 MiB it becomes NAME.1, over an older one, so
 * that what runs inside cannot fill the disk with it. It is shown, never read back as fact.
 *
 * Plain structure, the thread of the engine. */
typedef struct OwOcsfFile OwOcsfFile;

/* NULL with @error when it cannot be made or is not ours. @session is [A-Za-z0-9_-]. */
OwOcsfFile *ow_ocsf_file_open   (const char *session, GError **error);
/* Adds @line and a newline in one write. */
gboolean    ow_ocsf_file_append (OwOcsfFile *self, const char *line, GError **error);
void        ow_ocsf_file_free   (OwOcsfFile *self);
/* (transfer full) (nullable) "HOST:PORT" where @line, which is data, says that it was refused. */
char       *ow_ocsf_file_get_refused (const char *line);
/* (transfer full) Where the lines of @session are kept; the file need not be there. */
char       *ow_ocsf_file_get_path (const char *session);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOcsfFile, ow_ocsf_file_free)
