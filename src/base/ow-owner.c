/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-owner.h"

#include <string.h>

char *
ow_owner_boot_id (void)
{
  char *text = NULL;

  if (!g_file_get_contents ("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
    return g_strdup ("");
  return g_strstrip (text);
}

guint64
ow_owner_process_start (GPid pid)
{
  g_autofree char *name = g_strdup_printf ("/proc/%d/stat", pid);
  g_autofree char *text = NULL;
  g_auto (GStrv) fields = NULL;
  guint64 start = 0;
  const char *after;

  if (pid <= 0 || !g_file_get_contents (name, &text, NULL, NULL))
    return 0;
  /* The name of the program stands in brackets and may hold anything, brackets too. */
  after = strrchr (text, ')');
  if (after == NULL)
    return 0;
  fields = g_strsplit (after + 1, " ", 22);
  /* Behind the bracket a space, then field 3; zombies are as good as gone. */
  if (g_strv_length (fields) < 21 || fields[1][0] == 'Z' || fields[1][0] == 'X' ||
      !g_ascii_string_to_unsigned (fields[20], 10, 0, G_MAXUINT64, &start, NULL))
    return 0;
  return start;
}

gboolean
ow_owner_is_gone (GPid        pid,
                  guint64     start,
                  const char *boot_id)
{
  g_autofree char *now = ow_owner_boot_id ();
  guint64 running;

  if (g_strcmp0 (now, boot_id) != 0)
    return TRUE;
  running = ow_owner_process_start (pid);
  return running == 0 || running != start;
}
