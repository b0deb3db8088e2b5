/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-source.h"

GSource *
ow_source_timeout (guint          ms,
                   GSourceFunc    func,
                   gpointer       user_data,
                   GDestroyNotify notify)
{
  GSource *source = g_timeout_source_new (ms);

  g_source_set_callback (source, func, user_data, notify);
  g_source_attach (source, g_main_context_get_thread_default ());
  return source;
}

void
ow_source_idle (int            priority,
                GSourceFunc    func,
                gpointer       user_data,
                GDestroyNotify notify)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, priority);
  g_source_set_callback (source, func, user_data, notify);
  g_source_attach (source, g_main_context_get_thread_default ());
}

void
ow_source_clear (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}
