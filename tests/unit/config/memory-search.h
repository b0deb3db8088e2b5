/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Looks for a secret in the memory of this process without having it there itself. */

/* @text with each byte changed, and back; both are their own inverse. In place. */
void  memory_search_veil  (char       *text);

/* Copies of the first environment that are not the program's: AddressSanitizer keeps one. */
#if defined (__SANITIZE_ADDRESS__)
#define MEMORY_SEARCH_FOREIGN 1
#elif defined (__has_feature)
#if __has_feature (address_sanitizer)
#define MEMORY_SEARCH_FOREIGN 1
#endif
#endif
#ifndef MEMORY_SEARCH_FOREIGN
#define MEMORY_SEARCH_FOREIGN 0
#endif

/* How often the text that @veiled stands for is in writable memory. */
guint memory_search_count (const char *veiled);

/* Whether the mapping with @address is left out of core dumps, as the kernel tells. */
gboolean memory_search_is_not_dumped (gconstpointer address);
