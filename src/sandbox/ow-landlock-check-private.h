/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Landlock's ABI version (1 or more), or 0 with OW_ERROR_REFUSED that tells a kernel without
 * it from one where it was not switched on. Any thread. */
int ow_landlock_check (GError **error);
/* The same from the system call's answer and errno, for tests. */
int ow_landlock_check_answer (long answer, int saved_errno, GError **error);
