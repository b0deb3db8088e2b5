/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* A folder that a session may use. It is held by descriptor from the check on, so that what was
 * checked is what is mounted: renames and swapped links in between do not matter.
 * Never read or written through; only its identity counts. Any thread. */

typedef struct {
  char    *path;      /* (owned) absolute, every link resolved */
  gboolean read_only;
  int      fd;        /* (owned) O_PATH | O_DIRECTORY | O_CLOEXEC */
  dev_t    dev;
  ino_t    ino;
  uid_t    uid;       /* the folder's owner */
  gid_t    gid;
} OwFolder;

/* @text is "DIR" or "DIR:ro" ("DIR:rw" too); relative ones are a usage error. Refused: what
 * REQ-W12 of docs/requirements.md lists, by the resolved path. */
OwFolder *ow_folder_open  (const char *text, GError **error);
/* The same only to tell about it: this program may still run what lies in it. */
OwFolder *ow_folder_look  (const char *text, GError **error);
/* @path read-only, for what is on the inside only to be read and run: what the program itself runs
 * may lie in it. */
OwFolder *ow_folder_open_shared (const char *path, GError **error);
void      ow_folder_free  (OwFolder *folder);
/* Still the same directory at the same path, and still allowed. */
gboolean  ow_folder_check (const OwFolder *folder, GError **error);
/* Checks the set: one owner for all, no folder twice. */
gboolean  ow_folder_check_set (GPtrArray *folders, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwFolder, ow_folder_free)
