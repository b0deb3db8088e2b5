/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* Where a directory really is: the file system and the path within it. Two names of
 * one directory (a bind mount, a second mount of the file system) have the same
 * place, which neither their paths nor a walk along ".." would tell. Any thread. */

typedef struct {
  guint major;
  guint minor;
  char *path; /* (owned) within the file system, absolute */
} OwPlace;

typedef struct {
  int     id;
  OwPlace place;  /* what is mounted */
  char   *point;  /* (owned) where */
  char   *type;   /* (owned) file system type */
} OwMount;

/* The mounts of this process: an array of OwMount, in the order of mounting. */
GPtrArray *ow_mount_table_load (GError **error);
/* The same from the text of /proc/self/mountinfo; lines that make no sense are an error. */
GPtrArray *ow_mount_table_parse (const char *text, GError **error);

/* The mount that the descriptor @fd is on; NULL when it is not in the table. */
const OwMount *ow_mount_table_of_fd (GPtrArray *table, int fd);
/* The place of the open directory or file @fd whose path is @path. */
gboolean ow_mount_table_place (GPtrArray *table, int fd, const char *path, OwPlace *place);

/* TRUE when @inner is @outer or below it. */
gboolean ow_place_contains (const OwPlace *outer, const OwPlace *inner);
/* The same of two absolute paths, by whole components. */
gboolean ow_path_contains  (const char *outer, const char *inner);
void     ow_place_clear    (OwPlace *place);
