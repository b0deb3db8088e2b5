/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-change-private.h"
#include "ow-runner-diff-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-near-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-place-private.h"
#include "ow-runner-replace-private.h"
#include "ow-runner-tool-private.h"

typedef struct {
  const char *path;
  size_t      path_length;
  const char *old_text;
  size_t      old_length;
  const char *new_text;
  size_t      new_length;
  bool        all;
} Arguments;

static bool
take_arguments (Arguments          *self,
                const json_t       *arguments,
                OwRunnerToolResult *result)
{
  self->all = false;
  if (!ow_runner_args_string (arguments, "path", &self->path, &self->path_length, result) ||
      !ow_runner_args_string (arguments, "old_text", &self->old_text, &self->old_length, result) ||
      !ow_runner_args_string (arguments, "new_text", &self->new_text, &self->new_length, result) ||
      !ow_runner_args_bool (arguments, "replace_all", &self->all, result))
    return false;
  if (self->old_length == 0)
    ow_runner_args_fail (result, "old_text is empty, so there is nothing to replace. Give the text "
                         "to replace, or use write for a whole file.");
  else if (self->old_length == self->new_length &&
           memcmp (self->old_text, self->new_text, self->old_length) == 0)
    ow_runner_args_fail (result, "old_text and new_text are the same, so nothing was changed. Give "
                         "the text that shall stand there in new_text.");
  return !result->is_error;
}

/* (owned) the whole file, or NULL with the sentence in @result. */
static char *
read_whole (const OwRunnerPath *path,
            int                 fd,
            const struct stat  *status,
            size_t             *length,
            OwRunnerToolResult *result)
{
  size_t size = (size_t) status->st_size;
  char *data;
  ssize_t got;

  *length = 0;
  if (status->st_size > (off_t) OW_RUNNER_REPLACE_MAX_BYTES)
    {
      ow_runner_args_fail (result, "%s has %lld bytes, more than the 32 MiB that edit takes. "
                           "Change it with the shell (sed, a script).", path->shown,
                           (long long) status->st_size);
      return NULL;
    }
  data = ow_runner_buffer_alloc (size + 1);
  got = ow_runner_file_read_all (fd, data, size);
  if (got < 0)
    {
      ow_runner_args_fail (result, "%s could not be read to its end: %s. Try again, or look at it "
                           "with the shell.", path->shown, strerror (errno));
      free (data);
      return NULL;
    }
  *length = (size_t) got;
  data[*length] = '\0';
  return data;
}

static void
fail_absent (const OwRunnerPath *path,
             const Arguments    *arguments,
             const char         *data,
             size_t              length,
             OwRunnerToolResult *result)
{
  const char *kind = ow_runner_file_binary_kind (data, length < 8192 ? length : 8192);
  OwRunnerBuffer near;

  ow_runner_buffer_init (&near, 4096);
  if (kind != NULL)
    ow_runner_buffer_printf (&near, "The file is no plain text (%s).", kind);
  else
    ow_runner_near_describe (&near, data, length, arguments->old_text, arguments->old_length);
  ow_runner_args_fail (result, "%s was not changed: old_text does not stand in it exactly.%s%s "
                       "Read the file again and copy the text as it is there.", path->shown,
                       near.length > 0 ? " " : "", near.length > 0 ? near.data : "");
  ow_runner_buffer_clear (&near);
}

static void
fail_ambiguous (const OwRunnerPath    *path,
                const Arguments       *arguments,
                const char            *data,
                size_t                 length,
                const OwRunnerReplace *replace,
                OwRunnerToolResult    *result)
{
  OwRunnerBuffer places;

  ow_runner_buffer_init (&places, 1024);
  ow_runner_replace_places (&places, data, length, arguments->old_text, arguments->old_length);
  ow_runner_args_fail (result, "%s was not changed: old_text stands in it %zu times (line %s). "
                       "Give more of the text around the one that is meant, or set replace_all.",
                       path->shown, replace->found, places.data != NULL ? places.data : "?");
  ow_runner_buffer_clear (&places);
}

static void
answer (const OwRunnerPath    *path,
        const OwRunnerRoots   *roots,
        const OwRunnerPlace   *place,
        const OwRunnerChange  *change,
        const char            *data,
        size_t                 length,
        const OwRunnerReplace *replace,
        OwRunnerToolResult    *result)
{
  json_t *structured = json_object ();
  OwRunnerBuffer diff;
  OwRunnerBuffer text;
  bool escaped;

  ow_runner_buffer_init (&diff, OW_RUNNER_TEXT_MAX / 2);
  escaped = ow_runner_diff_unified (&diff, path->shown, data, length, replace->data,
                                    replace->length);
  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_printf (&text, "Replaced %zu place%s in %s.", replace->found,
                           replace->found == 1 ? "" : "s", path->shown);
  ow_runner_change_note (change, roots, &text);
  ow_runner_buffer_append (&text, "\n");
  if (place->status.st_nlink > 1)
    ow_runner_buffer_printf (&text, "The file had %lu names (hard links); the others keep what "
                             "they had.\n", (unsigned long) place->status.st_nlink);
  ow_runner_buffer_append (&text, diff.data);
  if (escaped)
    ow_runner_buffer_append (&text, "[Bytes that are not UTF-8 text stand as \\xNN.]\n");
  if (replace->crlf)
    ow_runner_buffer_append (&text, "[Line ends are CRLF, and so are those of the new text.]\n");
  json_object_set_new (structured, "change", ow_runner_change_json (change));
  json_object_set_new (structured, "replacements", json_integer ((json_int_t) replace->found));
  json_object_set_new (structured, "diff", json_stringn (diff.data, diff.length));
  ow_runner_buffer_clear (&diff);
  ow_runner_args_answer (result, &text, structured);
}

static void
edit (const OwRunnerPath  *path,
      const OwRunnerRoots *roots,
      const OwRunnerPlace *place,
      const Arguments     *arguments,
      char                *data,
      size_t               length,
      const struct stat   *status,
      OwRunnerToolResult  *result)
{
  const OwRunnerContent old = { data, length, *status };
  OwRunnerChange change;
  OwRunnerReplace replace;

  switch (ow_runner_replace_apply (&replace, data, length, arguments->old_text,
                                   arguments->old_length, arguments->new_text,
                                   arguments->new_length, arguments->all))
    {
    case OW_RUNNER_REPLACE_ABSENT:
      fail_absent (path, arguments, data, length, result);
      break;

    case OW_RUNNER_REPLACE_AMBIGUOUS:
      fail_ambiguous (path, arguments, data, length, &replace, result);
      break;

    case OW_RUNNER_REPLACE_TOO_LARGE:
      ow_runner_args_fail (result, "%s was not changed: it would have more than the 32 MiB that "
                           "edit writes. Change it with the shell (sed, a script).", path->shown);
      break;

    case OW_RUNNER_REPLACE_DONE:
      if (ow_runner_change_replace (&change, roots, path, place, &old, replace.data,
                                    replace.length, result))
        answer (path, roots, place, &change, data, length, &replace, result);
      ow_runner_change_clear (&change);
      break;
    }
  ow_runner_replace_clear (&replace);
}

/* Opens the very file that the place was found for. */
static int
open_place (const OwRunnerPath  *path,
            const OwRunnerPlace *place,
            struct stat         *status,
            OwRunnerToolResult  *result)
{
  const char *system;
  int fd;

  if (!place->exists)
    {
      ow_runner_args_fail (result, "There is no file %s to edit. Use write to create it, or list "
                           "and glob to find the one that is meant.", path->shown);
      return -1;
    }
  if (!S_ISREG (place->status.st_mode))
    {
      ow_runner_args_fail (result, "%s is a %s, not a regular file, so it was not opened. Name a "
                           "regular file.", path->shown,
                           ow_runner_file_kind (place->status.st_mode));
      return -1;
    }
  fd = ow_runner_file_open_at (place->parent, place->name, status);
  if (fd < 0)
    {
      ow_runner_args_fail (result, "%s could not be read: %s. Look at its mode with the shell "
                           "(ls -l).", path->shown, strerror (errno));
    }
  else if (ow_runner_file_is_made_up (fd, &system))
    {
      ow_runner_args_fail (result, "%s is a file that the kernel makes up (%s), not a regular "
                           "file, so it was not edited. Use the shell if it is meant.", path->shown,
                           system);
      close (fd);
      fd = -1;
    }
  return fd;
}

void
ow_tool_edit (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  Arguments given;
  OwRunnerPath path;
  OwRunnerPlace place;
  struct stat status;
  size_t length;
  char *data;
  int fd = -1;

  if (!take_arguments (&given, arguments, result) ||
      !ow_runner_path_parse (&path, roots, given.path, given.path_length, result))
    return;
  if (ow_runner_place_locate (&path, roots, &place, result))
    {
      fd = open_place (&path, &place, &status, result);
      data = fd >= 0 ? read_whole (&path, fd, &status, &length, result) : NULL;
      if (data != NULL)
        edit (&path, roots, &place, &given, data, length, &status, result);
      free (data);
      if (fd >= 0)
        close (fd);
      ow_runner_place_release (&place);
    }
  ow_runner_path_clear (&path);
}
