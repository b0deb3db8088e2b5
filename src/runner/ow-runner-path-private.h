/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ow-runner-tool-private.h"

/* The only way from a path that a caller names to a file. The kernel resolves it
 * below a folder's descriptor (openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS,
 * or a walk of descriptors where openat2 is not there), so neither "..", nor a link,
 * nor a link put there in between leads out. Text is compared only to pick the folder
 * that an absolute path is meant to lie in. */

/* Longest path that is looked at, in bytes. */
#define OW_RUNNER_PATH_MAX 4096

/* A named path. Make with ow_runner_path_parse(), end with ow_runner_path_clear(). */
typedef struct {
  size_t root;    /* the folder it is resolved below */
  char  *below;   /* (owned) the path below that folder, "." for the folder itself */
  char  *given;   /* (owned) the path as the caller means it: \xNN in what was written is a byte */
  char  *shown;   /* (owned) the same, safe to print and to be given again */
  bool   slashed; /* written with a slash at the end: only a folder may be there */
} OwRunnerPath;

bool ow_runner_path_parse   (OwRunnerPath        *self,
                             const OwRunnerRoots *roots,
                             const char          *path,
                             size_t               length,
                             OwRunnerToolResult  *result);
/* The same of a path that is no answer's: a backslash in it is one. */
bool ow_runner_path_parse_plain (OwRunnerPath        *self,
                                 const OwRunnerRoots *roots,
                                 const char          *path,
                                 size_t               length,
                                 OwRunnerToolResult  *result);
void ow_runner_path_clear   (OwRunnerPath        *self);

/* Opens what is there with open(2)'s @flags, which may not hold O_CREAT. Returns -1
 * with errno; EXDEV means that the path leads out of the folders. */
int  ow_runner_path_open    (const OwRunnerPath  *self,
                             const OwRunnerRoots *roots,
                             int                  flags);

/* The sentence for an errno of ow_runner_path_open(). @what: "read", "list" … */
void ow_runner_path_fail    (const OwRunnerPath  *self,
                             const OwRunnerRoots *roots,
                             const char          *what,
                             int                  error,
                             OwRunnerToolResult  *result);

/* Steps of the above that finding a place to write to takes one by one: the folder that
 * an absolute path is meant to lie in, with the rest of the path; (owned, malloc) such a
 * rest as a path below a folder; and an open below a folder, which changes the two when
 * an absolute link leads on to another. */
bool  ow_runner_path_choose   (const OwRunnerRoots *roots,
                               const char          *path,
                               size_t              *root,
                               const char         **below);
char *ow_runner_path_relative (const char          *below);
int   ow_runner_path_open_in  (const OwRunnerRoots *roots,
                               size_t              *root,
                               char               **below,
                               int                  flags);
