/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-changes-private.h"
#include "ow-runner-place-private.h"
#include "ow-runner-tool-private.h"

/* Takes changes back: a file that holds exactly what the last of them left gets what it
 * held before the first of them, or goes if that one made it. What something else has
 * changed since is left as it is. */

/* So many files are brought to the disk one by one. For more that takes too long, and is
 * done for the whole file system when all are there: what is put back is in the undo
 * folder even if the machine stops before that. */
#define ONE_BY_ONE_MAX 32

typedef struct {
  OwRunnerChanges      changes;
  const OwRunnerRoots *roots;
  bool                 apply;
  size_t               restored;
  size_t               removed;
  size_t               skipped;
  size_t               unkept;  /* undone, and that cannot be undone itself */
  bool                 at_once; /* all of it is brought to the disk at its end */
} Undo;

/* One file that is worked on. */
typedef struct {
  const OwRunnerMerged *merged;
  OwRunnerPath          path;
  OwRunnerPlace         place;
  OwRunnerContent       now;
  OwRunnerContent       before;
} File;

static void
skip (Undo                 *self,
      const OwRunnerMerged *merged,
      const char           *reason)
{
  OwRunnerBuffer text;

  ow_runner_changes_add (&self->changes, merged, "skipped", reason);
  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_printf (&text, "skipped: %s", reason);
  ow_runner_changes_note (&self->changes, merged, text.data);
  ow_runner_buffer_clear (&text);
  self->skipped++;
}

/* Keeps what the undo takes away, so that it can be undone itself. It is done all the
 * same where that fails: a tool has made it, and the person wants it gone. */
static bool
keep_present (const Undo *self,
              const File *file)
{
  char error[OW_RUNNER_ERROR_SIZE];

  if (self->roots->keep == NULL)
    return false;
  return !file->place.exists || ow_runner_keep_put (self->roots->keep, file->now.data,
                                                    file->now.length, file->merged->after,
                                                    !self->at_once, NULL, error);
}

static void
add_done (Undo *self,
          File *file,
          bool  kept)
{
  const OwRunnerMerged *merged = file->merged;
  bool remains = merged->before != NULL;
  const char *state = remains ? (self->apply ? "restored" : "would restore")
                              : (self->apply ? "removed" : "would remove");
  json_t *entry = ow_runner_changes_add (&self->changes, merged, state, NULL);
  json_t *change;

  if (remains)
    self->restored++;
  else
    self->removed++;
  if (merged->between)
    {
      json_object_set_new (entry, "between", json_true ());
      ow_runner_changes_note (&self->changes, merged, "something else changed it between these "
                              "changes; that goes too");
    }
  if (!self->apply)
    return;
  self->unkept += !kept;
  change = json_object ();
  json_object_set_new (change, "before", file->place.exists ? json_string (merged->after)
                                                            : json_null ());
  json_object_set_new (change, "after", remains ? json_string (merged->before) : json_null ());
  if (file->place.exists)
    json_object_set_new (change, "mode", json_integer (file->place.status.st_mode & 07777));
  json_object_set_new (change, "size", json_integer ((json_int_t) file->now.length));
  json_object_set_new (change, "kept", json_boolean (kept));
  json_object_set_new (entry, "change", change);
}

static void
undo_file (Undo *self,
           File *file)
{
  const OwRunnerMerged *merged = file->merged;
  const OwRunnerContent *old = file->place.exists ? &file->now : NULL;
  const OwRunnerContent *new = merged->before != NULL ? &file->before : NULL;
  OwRunnerToolResult problem = { 0 };
  OwRunnerDiffLines lines;
  bool kept = false;
  bool done = true;

  if (self->apply)
    {
      kept = keep_present (self, file);
      file->place.mode = merged->mode;
      file->place.unsynced = self->at_once;
      done = new != NULL
             ? ow_runner_file_replace (&file->path, &file->place, old != NULL ? &old->status : NULL,
                                       new->data, new->length, &problem)
             : ow_runner_file_remove (&file->path, &file->place, &old->status, &problem);
    }
  if (done)
    {
      ow_runner_changes_diff (&self->changes, merged, old, new,
                              old != NULL ? old->status.st_mode : merged->mode, &lines);
      add_done (self, file, kept);
    }
  else
    {
      skip (self, merged, problem.text);
    }
  free (problem.text);
}

/* Why the file is not as the changes left it, or NULL. */
static const char *
changed_since (File *file)
{
  const OwRunnerMerged *merged = file->merged;
  char hash[OW_RUNNER_HASH_SIZE];

  if (!file->place.exists)
    {
      if (merged->after == NULL)
        return NULL;
      return merged->before == NULL ? "it is gone already"
                                    : "changed since: it was removed";
    }
  if (file->now.data == NULL)
    return "changed since: it is larger than what a tool writes";
  ow_runner_keep_hash (file->now.data, file->now.length, hash);
  if (merged->after != NULL && strcmp (hash, merged->after) == 0)
    return NULL;
  if (merged->before != NULL && strcmp (hash, merged->before) == 0)
    return "it holds what it held before already";
  return "changed since: it holds something else now";
}

static void
undo_in_place (Undo *self,
               File *file)
{
  char error[OW_RUNNER_ERROR_SIZE] = "nothing is kept for undo here";
  const OwRunnerMerged *merged = file->merged;
  OwRunnerToolResult problem = { 0 };
  const char *reason;

  if (file->place.exists && file->place.status.st_size <= OW_RUNNER_KEEP_ONE_MAX &&
      (!ow_runner_content_read (&file->now, &file->path, &file->place, OW_RUNNER_KEEP_ONE_MAX,
                                &problem) ||
       !ow_runner_file_may_replace (&file->path, &file->place, &problem)))
    {
      skip (self, merged, problem.text);
      free (problem.text);
      return;
    }
  reason = changed_since (file);
  if (reason == NULL && merged->before == NULL && merged->after == NULL)
    reason = "there was no file before and there is none";
  else if (reason == NULL && merged->before != NULL && merged->after != NULL &&
           strcmp (merged->before, merged->after) == 0)
    reason = "it holds what it held before already";
  if (reason == NULL && merged->before != NULL)
    {
      if (self->roots->keep != NULL)
        file->before.data = ow_runner_keep_get (self->roots->keep, merged->before,
                                                &file->before.length, error);
      if (file->before.data == NULL)
        reason = error;
    }
  if (reason != NULL)
    skip (self, merged, reason);
  else
    undo_file (self, file);
}

static void
undo_merged (Undo                 *self,
             const OwRunnerMerged *merged)
{
  OwRunnerToolResult problem = { 0 };
  File file = { .merged = merged };

  if (!merged->before_known || !merged->after_known)
    {
      skip (self, merged, "what it held was not kept");
      return;
    }
  if (ow_runner_changes_late (&self->changes))
    {
      skip (self, merged, "the time for one call was used up; ask again");
      return;
    }
  if (!ow_runner_path_parse_plain (&file.path, self->roots, merged->path,
                                   merged->path_length, &problem))
    {
      skip (self, merged, problem.text);
      free (problem.text);
      return;
    }
  if (ow_runner_place_locate_plain (&file.path, self->roots, true, &file.place, &problem))
    {
      undo_in_place (self, &file);
      ow_runner_place_release (&file.place);
      ow_runner_content_clear (&file.now);
      ow_runner_content_clear (&file.before);
    }
  else
    {
      skip (self, merged, problem.text);
    }
  ow_runner_path_clear (&file.path);
  free (problem.text);
}

static void
sync_all (const OwRunnerRoots *roots)
{
  for (size_t i = 0; i <= roots->n; i++)
    {
      int folder = i < roots->n ? roots->fds[i] : roots->keep != NULL ? roots->keep->fd : -1;
      int fd = folder < 0 || (i < roots->n && roots->read_only[i])
               ? -1 : openat (folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

      if (fd < 0)
        continue;
      syncfs (fd);
      close (fd);
    }
}

static void
answer (Undo               *self,
        OwRunnerToolResult *result)
{
  json_t *structured = json_object ();
  OwRunnerBuffer summary;

  ow_runner_buffer_init (&summary, 1024);
  ow_runner_buffer_printf (&summary, "[%s: %zu restored, %zu removed, %zu skipped.]\n",
                           self->apply ? "Undone" : "This would be undone", self->restored,
                           self->removed, self->skipped);
  if (self->unkept > 0)
    ow_runner_buffer_printf (&summary, "[For %zu of them this undo cannot be undone itself.]\n",
                             self->unkept);
  json_object_set_new (structured, "applied", json_boolean (self->apply));
  json_object_set_new (structured, "restored", json_integer ((json_int_t) self->restored));
  json_object_set_new (structured, "removed", json_integer ((json_int_t) self->removed));
  json_object_set_new (structured, "skipped", json_integer ((json_int_t) self->skipped));
  ow_runner_changes_answer (&self->changes, summary.data, structured, result);
  ow_runner_buffer_clear (&summary);
}

void
ow_tool_undo (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  Undo self = { .roots = roots };

  if (!ow_runner_args_bool (arguments, "apply", &self.apply, result))
    return;
  if (ow_runner_changes_init (&self.changes, roots, arguments, result))
    {
      self.at_once = self.changes.n > ONE_BY_ONE_MAX;
      for (size_t i = 0; i < self.changes.n; i++)
        undo_merged (&self, &self.changes.list[i]);
      if (self.apply && self.at_once)
        sync_all (roots);
      answer (&self, result);
    }
  ow_runner_changes_clear (&self.changes);
}
