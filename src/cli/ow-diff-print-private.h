/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Prints a unified diff on stdout, with colours on a terminal; what is in it moves no cursor and
 * hides nothing: controls are shown as marks. Main thread. */
void  ow_diff_print      (const char *diff);
/* A path on one line, shown likewise. (transfer full) */
char *ow_diff_print_path (const char *path);
