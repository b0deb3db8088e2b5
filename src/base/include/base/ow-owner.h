/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Whose something is that outlives a process (a session in the store, a sandbox in the
 * registry): process id, start time of that process and boot of the machine, so that a
 * pid that was given out again is not taken for the old one. Any thread. */

/* (transfer full) "" when the kernel does not say. */
char    *ow_owner_boot_id       (void);
/* Clock ticks since boot (field 22 of /proc/PID/stat); 0 when the process is gone. A
 * zombie is. */
guint64  ow_owner_process_start (GPid pid);
gboolean ow_owner_is_gone       (GPid        pid,
                                 guint64     start,
                                 const char *boot_id);
