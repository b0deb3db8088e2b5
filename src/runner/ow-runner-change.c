/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-change-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-utf8-private.h"

void
ow_runner_content_clear (OwRunnerContent *self)
{
  free (self->data);
  memset (self, 0, sizeof *self);
}

bool
ow_runner_content_read (OwRunnerContent     *self,
                        const OwRunnerPath  *path,
                        const OwRunnerPlace *place,
                        uint64_t             max,
                        OwRunnerToolResult  *result)
{
  int fd = ow_runner_file_open_at (place->parent, place->name, &self->status);
  size_t size;
  ssize_t got;

  self->data = NULL;
  self->length = 0;
  if (fd < 0 || (uint64_t) self->status.st_size > max)
    {
      if (fd < 0)
        ow_runner_args_fail (result, "%s could not be read: %s.", path->shown, strerror (errno));
      else
        ow_runner_args_fail (result, "%s has %lld bytes, more than are looked at.", path->shown,
                             (long long) self->status.st_size);
      if (fd >= 0)
        close (fd);
      return false;
    }
  size = (size_t) self->status.st_size;
  self->data = ow_runner_buffer_alloc (size + 1);
  got = ow_runner_file_read_all (fd, self->data, size);
  self->length = got > 0 ? (size_t) got : 0;
  self->data[self->length] = '\0';
  if (got < 0)
    ow_runner_args_fail (result, "%s could not be read to its end: %s.", path->shown,
                         strerror (errno));
  close (fd);
  if (got < 0)
    ow_runner_content_clear (self);
  return got >= 0;
}

static bool
keep (OwRunnerChange        *self,
      const OwRunnerRoots   *roots,
      const OwRunnerPath    *path,
      const OwRunnerContent *old,
      OwRunnerToolResult    *result)
{
  char error[OW_RUNNER_ERROR_SIZE];

  ow_runner_keep_hash (old->data, old->length, self->before);
  if (ow_runner_keep_put (roots->keep, old->data, old->length, self->before, true,
                          &self->dropped, error))
    return true;
  ow_runner_args_fail (result, "%s was not changed, because what it holds could not be kept for "
                       "undo: %s. Tell the person; until that is repaired no file can be changed "
                       "with this tool.", path->shown, error);
  return false;
}

/* Keeps what the file holds now. False: it must not be changed. *@status is then what it
 * is when it is replaced. */
static bool
keep_present (OwRunnerChange      *self,
              const OwRunnerRoots *roots,
              const OwRunnerPath  *path,
              const OwRunnerPlace *place,
              struct stat         *status,
              OwRunnerToolResult  *result)
{
  OwRunnerContent content = { NULL };
  bool kept;

  if ((uint64_t) place->status.st_size > roots->keep->max_one)
    {
      self->kept = false;
      self->too_large = true;
      return true;
    }
  if (!ow_runner_content_read (&content, path, place, roots->keep->max_one, result))
    {
      char *why = result->text;

      result->text = NULL;
      ow_runner_args_fail (result, "%s was not changed, because what it holds could not be kept "
                           "for undo: %s", path->shown, why);
      free (why);
      return false;
    }
  kept = keep (self, roots, path, &content, result);
  *status = content.status;
  ow_runner_content_clear (&content);
  return kept;
}

bool
ow_runner_change_replace (OwRunnerChange        *self,
                          const OwRunnerRoots   *roots,
                          const OwRunnerPath    *path,
                          const OwRunnerPlace   *place,
                          const OwRunnerContent *old,
                          const char            *content,
                          size_t                 length,
                          OwRunnerToolResult    *result)
{
  struct stat status = place->status;

  memset (self, 0, sizeof *self);
  if (!ow_runner_file_may_replace (path, place, result))
    return false;
  self->existed = place->exists;
  self->remains = true;
  self->path = ow_runner_place_path (place, roots);
  self->kept = roots->keep != NULL && self->path != NULL
               && ow_runner_utf8_is_valid (self->path, strlen (self->path));
  if (place->exists)
    {
      self->mode = place->status.st_mode & 07777;
      self->size = (uint64_t) place->status.st_size;
    }
  ow_runner_keep_hash (content, length, self->after);
  if (self->kept && place->exists && old != NULL && !keep (self, roots, path, old, result))
    return false;
  if (self->kept && place->exists && old == NULL
      && !keep_present (self, roots, path, place, &status, result))
    return false;
  return ow_runner_file_replace (path, place,
                                 old != NULL ? &old->status
                                 : self->kept && place->exists ? &status : NULL,
                                 content, length, result);
}

void
ow_runner_change_clear (OwRunnerChange *self)
{
  free (self->path);
  memset (self, 0, sizeof *self);
}

void
ow_runner_change_note (const OwRunnerChange *self,
                       const OwRunnerRoots  *roots,
                       OwRunnerBuffer       *out)
{
  char *size;

  if (roots->keep == NULL)
    return;
  if (self->too_large)
    {
      size = ow_runner_buffer_size (roots->keep->max_one);
      ow_runner_buffer_printf (out, " This cannot be undone: what it held was more than the %s "
                               "that are kept of one file.", size);
      free (size);
    }
  else if (!self->kept)
    {
      ow_runner_buffer_append (out, " This cannot be undone: its path is no text that could be "
                               "kept.");
    }
  if (self->dropped > 0)
    {
      size = ow_runner_buffer_size (roots->keep->max_all);
      ow_runner_buffer_printf (out, " To keep what it held, %u of the oldest former contents %s "
                               "dropped, for all together may have %s: those changes can no "
                               "longer be undone.", self->dropped,
                               self->dropped == 1 ? "was" : "were", size);
      free (size);
    }
}

static json_t *
hash_json (bool        there,
           const char *hash)
{
  return there ? json_string (hash) : json_null ();
}

json_t *
ow_runner_change_json (const OwRunnerChange *self)
{
  json_t *object = json_object ();

  if (self->path != NULL)
    {
      char *shown = ow_runner_utf8_is_valid (self->path, strlen (self->path))
                    ? ow_runner_buffer_copy (self->path, strlen (self->path))
                    : ow_runner_buffer_name (self->path, strlen (self->path));

      json_object_set_new (object, "path", json_string (shown));
      free (shown);
    }
  if (!self->existed || self->before[0] != '\0')
    json_object_set_new (object, "before", hash_json (self->existed, self->before));
  json_object_set_new (object, "after", hash_json (self->remains, self->after));
  if (self->existed)
    json_object_set_new (object, "mode", json_integer (self->mode));
  json_object_set_new (object, "size", json_integer ((json_int_t) self->size));
  json_object_set_new (object, "kept", json_boolean (self->kept));
  if (self->dropped > 0)
    json_object_set_new (object, "dropped", json_integer (self->dropped));
  return object;
}
