/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-runner-args-private.h"
#include "ow-runner-change-private.h"
#include "ow-runner-diff-private.h"
#include "ow-runner-path-private.h"

/* Many changes, merged to one per path, and the diff that is shown of them. Figures are
 * ours: what is over them is refused as a whole, or left out of the text with a line that
 * says so. */

/* Changes that one call takes. */
#define OW_RUNNER_CHANGES_MAX       20000
/* Bytes of all their paths as JSON: each stands in the answer too, which is one message. */
#define OW_RUNNER_CHANGES_PATHS_MAX (2u * 1024u * 1024u)
/* After that no more files are begun; the call itself is ended later. */
#define OW_RUNNER_CHANGES_MAX_S     60

/* NULL hashes: there was no file. */
typedef struct {
  const char *path;
  size_t      path_length;
  const char *before;
  const char *after;
  bool        before_known;
  bool        after_known;
  mode_t      mode;          /* before; 0: not known */
  bool        between;       /* something else changed it between two of them */
} OwRunnerMerged;

typedef struct {
  OwRunnerMerged *list;      /* (owned) sorted by path */
  size_t          n;
  OwRunnerBuffer  diff;
  OwRunnerBuffer  notes;
  size_t          left_out;  /* diffs that @diff has no room for */
  size_t          unnoted;   /* notes that @notes has none for */
  const char     *base;      /* what the names in the diff are relative to */
  json_t         *files;     /* (owned) */
  int64_t         deadline;
} OwRunnerChanges;

/* Takes "changes" of the arguments: objects with path, before and after, oldest first.
 * False with the sentence in @result. Clear in either case. */
bool  ow_runner_changes_init  (OwRunnerChanges     *self,
                               const OwRunnerRoots *roots,
                               const json_t        *arguments,
                               OwRunnerToolResult  *result);
void  ow_runner_changes_clear (OwRunnerChanges     *self);
bool  ow_runner_changes_late  (const OwRunnerChanges *self);

/* Adds the difference of two contents to the diff; NULL data: there is no file. @mode is
 * that of a file that comes or goes. Binary content is told by its size. */
void  ow_runner_changes_diff  (OwRunnerChanges       *self,
                               const OwRunnerMerged  *merged,
                               const OwRunnerContent *old,
                               const OwRunnerContent *new,
                               mode_t                 mode,
                               OwRunnerDiffLines     *lines);

/* Adds a line about one file after the diff. */
void  ow_runner_changes_note  (OwRunnerChanges      *self,
                               const OwRunnerMerged *merged,
                               const char           *what);

/* Returns: (borrowed) the entry of the file in the answer, made now. */
json_t *ow_runner_changes_add (OwRunnerChanges      *self,
                               const OwRunnerMerged *merged,
                               const char           *state,
                               const char           *reason);

/* The answer: the diff, the lines after it, @structured (stolen) with the files. */
void  ow_runner_changes_answer (OwRunnerChanges    *self,
                                const char         *summary,
                                json_t             *structured,
                                OwRunnerToolResult *result);
