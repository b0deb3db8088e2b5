/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Looks for a secret in the memory of this process without having it there itself. */

/* @text with each byte changed, and back; both are their own inverse. In place. */
void  memory_search_veil  (char       *text);

/* How often the text that @veiled stands for is in writable memory. */
guint memory_search_count (const char *veiled);

/* Whether the mapping with @address is left out of core dumps, as the kernel tells. */
gboolean memory_search_is_not_dumped (gconstpointer address);
