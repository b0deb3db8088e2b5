/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Programs of this machine that are started outside every sandbox. What lies in a session's folder
 * is what an agent wrote, or a stranger's project: it is never one of them, wherever the PATH
 * leads (REQ-W03). Any thread. */

/* From now on nothing in @folder, an absolute path without links, is found or good any more. It
 * stays so until the program ends. */
void ow_program_bar (const char *folder);

/* Whether @path is a program that may be started: an absolute path to an executable file of which
 * neither the folder it is named in nor what it leads to lies in a barred one. */
gboolean ow_program_is_good (const char *path);

/* (transfer full) (nullable): the first good @name on the PATH. Entries that are not absolute are
 * passed over: they would find what lies where we happen to be. */
char *ow_program_find (const char *name);
