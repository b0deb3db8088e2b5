/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "sandbox/ow-folder.h"

/* Programs of the person's that lie under the home, and what they need beside them (REQ-W14). A
 * folder of the PATH is offered, and shared only where the settings name it: read-only, with the
 * folders that its programs cannot run without. Nothing is shared that holds, or may hold, a
 * credential; that is looked at again each time.
 *
 * For managers whose programs only find others when they are run (rustup's proxies, the shims of
 * pyenv and its kind) the version that is chosen is shared in their place. */

typedef struct {
  char      *path;    /* (owned) the folder as it is on the PATH, resolved where it is there */
  GPtrArray *folders; /* (owned) of OwFolder, read-only: what is shared for it */
  GPtrArray *bins;    /* (owned) of char: the folders for the PATH inside, in their order */
  GPtrArray *missing; /* (owned) of char: which of its programs cannot work there, and why */
  char      *why;     /* (owned) (nullable) cannot be shared, because of this */
} OwPrograms;

void        ow_programs_free (OwPrograms *self);
/* Never NULL. Blocks on the disk, for 10 s at most. Any thread. */
OwPrograms *ow_programs_look (const char *path);

/* The folders of @search_path (as PATH) that lie under the home, resolved, each once. Array of
 * char (transfer full). Any thread. */
GPtrArray  *ow_programs_list (const char *search_path);

/* Looks at each of @paths (of char) in another thread. Gives an array of OwPrograms. */
void        ow_programs_look_async  (GPtrArray           *paths,
                                     GCancellable        *cancellable,
                                     GAsyncReadyCallback  callback,
                                     gpointer             user_data);
GPtrArray  *ow_programs_look_finish (GAsyncResult        *result,
                                     GError             **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwPrograms, ow_programs_free)
