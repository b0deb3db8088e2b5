/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What belongs to a folder of programs, by the rules of those that lay such folders out. Paths are
 * resolved; nothing is opened but the small files in which managers keep the version that is
 * chosen. Any thread. */

/* Fills @folders and @bins (of char, without what they have) for @bin. Returns: (transfer full) why
 * there are none; NULL: done. */
char *ow_programs_rules_layout (const char *home,
                                const char *bin,
                                GPtrArray  *folders,
                                GPtrArray  *bins);

/* The folder that has to be there for the file @target, which a link leads to. (transfer full)
 * NULL: it is in no place of programs. */
char *ow_programs_rules_root   (const char *home,
                                const char *target);

/* Adds a copy of @path unless it is there or lies in one that is. */
void  ow_programs_rules_add    (GPtrArray  *paths,
                                const char *path);

/* As realpath(3), for g_free(). (transfer full) NULL: it is not there. */
char *ow_programs_rules_resolve (const char *path);
