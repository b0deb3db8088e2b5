/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Looks through a folder that is to be shared, by descriptor and without following a link, for
 * what must not be: files that are known to hold credentials, a link that leads to one, what
 * others can write, what belongs to another account, and what cannot be looked at. Bounded:
 * 300,000 entries, 64 levels and @deadline (of g_get_monotonic_time()), beyond which the answer is
 * no. Any thread.
 *
 * The names are our own list of what the usual programs write. A name that is often harmless
 * (.npmrc, config.json, *.pem, *.key) counts by what the file holds. A key that everybody may read
 * and that lies in a folder of tests or examples is one that programs are shipped with.
 *
 * Returns: (transfer full) the sentence part that says what was found; NULL: nothing. */
char *ow_credential_scan (int     dir_fd,
                          uid_t   owner,
                          gint64  deadline);
