/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What is done with an open descriptor, whosever it is. Blocking; any thread. */

/* FALSE, with errno, when not all could be written. */
gboolean ow_fd_write_all (int fd, gconstpointer data, gsize length);

/* The path of an open descriptor as the kernel has it (transfer full); NULL when it has
 * none. */
char    *ow_fd_get_path  (int fd);
