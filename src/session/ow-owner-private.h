/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Whose a session is: process id, start time of that process and boot of the machine,
 * so that a pid that was given out again is not taken for the old one. Any thread. */

/* (transfer full) "" when the kernel does not say. */
char    *ow_owner_get_boot_id (void);
gboolean ow_owner_is_gone     (GPid pid, guint64 start, const char *boot_id);
