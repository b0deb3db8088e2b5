/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-owner-private.h"

#include "sandbox/ow-registry.h"

char *
ow_owner_get_boot_id (void)
{
  char *text = NULL;

  if (!g_file_get_contents ("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
    return g_strdup ("");
  return g_strchomp (text);
}

gboolean
ow_owner_is_gone (GPid        pid,
                  guint64     start,
                  const char *boot_id)
{
  g_autofree char *now = ow_owner_get_boot_id ();
  guint64 running;

  if (g_strcmp0 (now, boot_id) != 0)
    return TRUE;
  running = pid > 0 ? ow_registry_process_start (pid) : 0;
  return running == 0 || running != start;
}
