/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A secret in memory pages of its own: in no core dump, not swapped where the limit allows
 * it, zeros in a forked child, wiped when freed. Any thread. */

/* (transfer full) for ow_secret_free(): @length zeros to be written to, and a NUL behind
 * them. NULL when there is no memory. */
char       *ow_secret_alloc      (gsize length);
/* The same with a copy of @text in it. */
char       *ow_secret_new        (const char *text, gsize length);
/* @secret (nullable) begins one of those. */
void        ow_secret_free       (char *secret);

/* NULL, or why @key cannot be the key of a service, as half a sentence: one has at most 8,192
 * printable ASCII characters and no space, so that as a header's value it cannot end the
 * header. */
const char *ow_secret_find_fault (const char *key);
