/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "ow-runner-changes-private.h"
#include "ow-runner-place-private.h"
#include "ow-runner-tool-private.h"

/* What of a session's changes is there now: from what each file held before the first of
 * them to what it holds. Nothing is written. */

static void
add_unknown (OwRunnerChanges      *changes,
             const OwRunnerMerged *merged,
             const char           *reason)
{
  ow_runner_changes_add (changes, merged, "unknown", reason);
  ow_runner_changes_note (changes, merged, reason);
}

static void
compare (OwRunnerChanges       *changes,
         const OwRunnerMerged  *merged,
         const OwRunnerContent *old,
         const OwRunnerContent *new)
{
  const char *state = old == NULL ? "created" : new == NULL ? "deleted" : "changed";
  mode_t mode = new != NULL ? new->status.st_mode : merged->mode;
  OwRunnerDiffLines lines = { 0 };
  json_t *file;

  if ((old == NULL && new == NULL) ||
      (old != NULL && new != NULL && old->length == new->length &&
       memcmp (old->data, new->data, old->length) == 0))
    state = "same";
  else
    ow_runner_changes_diff (changes, merged, old, new, mode, &lines);
  file = ow_runner_changes_add (changes, merged, state, NULL);
  json_object_set_new (file, "added", json_integer ((json_int_t) lines.added));
  json_object_set_new (file, "removed", json_integer ((json_int_t) lines.removed));
}

static void
look_at_place (OwRunnerChanges      *changes,
               const OwRunnerRoots  *roots,
               const OwRunnerMerged *merged,
               const OwRunnerPath   *path,
               const OwRunnerPlace  *place,
               OwRunnerToolResult   *problem)
{
  char error[OW_RUNNER_ERROR_SIZE] = "nothing is kept for undo here";
  OwRunnerContent old = { NULL };
  OwRunnerContent new = { NULL };

  if (merged->before != NULL && roots->keep != NULL)
    old.data = ow_runner_keep_get (roots->keep, merged->before, &old.length, error);
  if (merged->before != NULL && old.data == NULL)
    add_unknown (changes, merged, error);
  else if (!place->exists)
    compare (changes, merged, merged->before != NULL ? &old : NULL, NULL);
  else if (!ow_runner_content_read (&new, path, place, OW_RUNNER_KEEP_ONE_MAX, problem))
    add_unknown (changes, merged, problem->text);
  else
    compare (changes, merged, merged->before != NULL ? &old : NULL, &new);
  ow_runner_content_clear (&old);
  ow_runner_content_clear (&new);
}

static void
look_at (OwRunnerChanges      *changes,
         const OwRunnerRoots  *roots,
         const OwRunnerMerged *merged)
{
  OwRunnerToolResult problem = { 0 };
  OwRunnerPath path;
  OwRunnerPlace place;

  if (!merged->before_known)
    {
      add_unknown (changes, merged, "what it held before was not kept");
      return;
    }
  if (ow_runner_changes_late (changes))
    {
      add_unknown (changes, merged, "the time for one call was used up");
      return;
    }
  if (!ow_runner_path_parse_plain (&path, roots, merged->path, merged->path_length, &problem))
    {
      add_unknown (changes, merged, problem.text);
      free (problem.text);
      return;
    }
  if (ow_runner_place_locate_plain (&path, roots, false, &place, &problem))
    {
      look_at_place (changes, roots, merged, &path, &place, &problem);
      ow_runner_place_release (&place);
    }
  else
    {
      add_unknown (changes, merged, problem.text);
    }
  ow_runner_path_clear (&path);
  free (problem.text);
}

void
ow_tool_changes (const OwRunnerRoots *roots,
                 const json_t        *arguments,
                 OwRunnerToolResult  *result)
{
  OwRunnerChanges changes;

  if (ow_runner_changes_init (&changes, roots, arguments, result))
    {
      for (size_t i = 0; i < changes.n; i++)
        look_at (&changes, roots, &changes.list[i]);
      ow_runner_changes_answer (&changes, "", json_object (), result);
    }
  ow_runner_changes_clear (&changes);
}
