/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "patience.h"

/* Ten times what it takes. */
#define PATIENCE_S 60

static gboolean
on_patience_over (gpointer user_data)
{
  g_error ("nothing happened for %d s", PATIENCE_S);
  return G_SOURCE_REMOVE;
}

void
patience_wait_until (const guint *counter,
                     guint        value)
{
  guint source = g_timeout_add_seconds (PATIENCE_S, on_patience_over, NULL);

  while (*counter < value)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (source);
}
