/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* The address of a service: scheme, host, port and path, and no secret in it, so that it can be
 * stored and shown. Any thread. */

/* NULL, or why @text is none that is used: a sentence part (transfer full). */
char *ow_base_url_find_fault (const char *text);

/* One spelling for all that name the same server and path: scheme and host in lower case,
 * no default port, no slash at the end. (transfer full) (nullable): @text has a fault. */
char *ow_base_url_canonical  (const char *text);
