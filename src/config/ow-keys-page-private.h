/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Text in memory pages of its own: in no core dump, not swapped where the limit allows it,
 * zeros in a forked child, wiped when freed. Any thread. */

/* (transfer full): ow_keys_page_free(). NULL when there is no memory. */
char *ow_keys_page_new  (const char *text,
                         gsize       length);
/* @text (nullable) begins one of those. */
void  ow_keys_page_free (char       *text);

G_END_DECLS
