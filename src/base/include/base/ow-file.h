/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Files of the program's own: never used on a session's folder. Blocking, any thread. */

/* Reads a regular file of at most @max_bytes; links are followed, FIFOs and devices
 * are refused without blocking. */
GBytes  *ow_file_read        (const char *path, gsize max_bytes, GError **error);

/* Writes beside @path and renames over it: readers see the old or the new content.
 * Synced to disk before the rename, the directory after it. @mode counts for a new file. */
gboolean ow_file_write_atomic (const char *path, GBytes *content, int mode, GError **error);

/* The same, but only when the file still holds @old (NULL: is still not there), which is
 * looked at right before the rename; else FALSE with @changed. Keeps the mode and the
 * owner, and refuses a file that its own mode, or the caller's rights, make read-only. */
gboolean ow_file_replace (const char *path, GBytes *old, GBytes *content, int mode,
                          gboolean *changed, GError **error);

/* ow_file_write_atomic() for @name in an open directory (not O_PATH). What bears the name,
 * a link too, is replaced and never followed; the new file has @mode. */
gboolean ow_file_write_atomic_at (int dir_fd, const char *name, GBytes *content, int mode,
                                  GError **error);

/* Removes a directory tree by descriptors: never follows a link and never leaves the
 * file system that @path is on (a mount inside stops it with an error). Missing is
 * success. */
gboolean ow_file_remove_tree (const char *path, GError **error);
