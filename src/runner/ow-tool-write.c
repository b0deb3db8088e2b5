/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-change-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-place-private.h"
#include "ow-runner-tool-private.h"

/* Looked at of an old file for its line ends. */
#define SAMPLE_BYTES (256u * 1024u)
/* Nothing larger is made another. */
#define MAX_BYTES    (64u * 1024u * 1024u)

/* What the old file had that the new text says nothing of. Neither is shown by read, so
 * a text without them is no wish to be rid of them. */
typedef struct {
  char  *data;   /* (owned) (nullable) the content with both, NULL when it is as given */
  size_t length;
  bool   mark;   /* a byte-order mark was put in front */
  bool   crlf;   /* LF was made CRLF */
} Manner;

static size_t
count (const char *data,
       size_t      length,
       const char *what)
{
  size_t size = strlen (what);
  const char *at = data;
  size_t n = 0;

  while ((at = memmem (at, length - (size_t) (at - data), what, size)) != NULL)
    {
      at += size;
      n++;
    }
  return n;
}

static bool
begins_with_mark (const char *data,
                  size_t      length)
{
  return length >= 3 && memcmp (data, "\xef\xbb\xbf", 3) == 0;
}

/* Looks at the beginning of the old file. */
static void
look_at_old (Manner              *self,
             const OwRunnerPlace *place,
             const char          *content,
             size_t               length)
{
  struct stat status;
  int fd = ow_runner_file_open_at (place->parent, place->name, &status);
  char *sample = ow_runner_buffer_alloc (SAMPLE_BYTES);
  ssize_t got = fd >= 0 ? ow_runner_file_read (fd, sample, SAMPLE_BYTES) : 0;
  size_t size = got > 0 ? (size_t) got : 0;

  if (size > 0 && ow_runner_file_binary_kind (sample, size < 8192 ? size : 8192) == NULL)
    {
      size_t ends = count (sample, size, "\n");

      self->mark = begins_with_mark (sample, size) && !begins_with_mark (content, length);
      self->crlf = ends > 0 && count (sample, size, "\r\n") == ends &&
                   memchr (content, '\n', length) != NULL && memchr (content, '\r', length) == NULL;
    }
  free (sample);
  if (fd >= 0)
    close (fd);
}

static void
take_manner (Manner              *self,
             const OwRunnerPlace *place,
             const char          *content,
             size_t               length)
{
  char *to;

  memset (self, 0, sizeof *self);
  if (!place->exists || !S_ISREG (place->status.st_mode) || length > MAX_BYTES)
    return;
  look_at_old (self, place, content, length);
  if (!self->mark && !self->crlf)
    return;
  to = self->data = ow_runner_buffer_alloc (length * 2 + 4);
  if (self->mark)
    to = mempcpy (to, "\xef\xbb\xbf", 3);
  for (size_t i = 0; i < length; i++)
    {
      if (self->crlf && content[i] == '\n')
        *to++ = '\r';
      *to++ = content[i];
    }
  self->length = (size_t) (to - self->data);
}

static void
say_manner (const Manner   *self,
            OwRunnerBuffer *text)
{
  if (self->data == NULL)
    return;
  if (self->crlf && self->mark)
    ow_runner_buffer_append (text, " The byte-order mark and line ends CRLF were kept, as the file "
                             "had both; to change that use the shell.");
  else if (self->crlf)
    ow_runner_buffer_append (text, " Line ends were kept CRLF, as the file had them; to change "
                             "that use the shell.");
  else
    ow_runner_buffer_append (text, " The byte-order mark was kept, as the file had one; to change "
                             "that use the shell.");
}

static void
answer (const OwRunnerPath   *path,
        const OwRunnerRoots  *roots,
        const OwRunnerPlace  *place,
        const OwRunnerChange *change,
        const Manner         *manner,
        size_t                made,
        size_t                length,
        OwRunnerToolResult   *result)
{
  json_t *structured = json_object ();
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_printf (&text, "%s %s (%zu byte%s).", place->exists ? "Replaced" : "Created",
                           path->shown, length, length == 1 ? "" : "s");
  if (place->exists && place->status.st_nlink > 1)
    ow_runner_buffer_printf (&text, " The file had %lu names (hard links); the others keep what "
                             "they had.", (unsigned long) place->status.st_nlink);
  if (made > 0)
    ow_runner_buffer_printf (&text, " %zu folder%s made for it.", made,
                             made == 1 ? " was" : "s were");
  say_manner (manner, &text);
  ow_runner_change_note (change, roots, &text);
  json_object_set_new (structured, "change", ow_runner_change_json (change));
  json_object_set_new (structured, "bytes", json_integer ((json_int_t) length));
  json_object_set_new (structured, "created", json_boolean (!place->exists));
  ow_runner_args_answer (result, &text, structured);
}

void
ow_tool_write (const OwRunnerRoots *roots,
               const json_t        *arguments,
               OwRunnerToolResult  *result)
{
  const char *name;
  const char *content;
  size_t name_length;
  size_t length;
  size_t made;
  OwRunnerPath path;
  OwRunnerPlace place;

  if (!ow_runner_args_string (arguments, "path", &name, &name_length, result) ||
      !ow_runner_args_string (arguments, "content", &content, &length, result) ||
      !ow_runner_path_parse (&path, roots, name, name_length, result))
    return;
  made = path.slashed ? 0 : ow_runner_place_make_folders (&path, roots);
  if (ow_runner_place_locate (&path, roots, &place, result))
    {
      OwRunnerChange change;
      Manner manner;

      take_manner (&manner, &place, content, length);
      if (manner.data != NULL)
        {
          content = manner.data;
          length = manner.length;
        }
      if (ow_runner_change_replace (&change, roots, &path, &place, NULL, content, length, result))
        answer (&path, roots, &place, &change, &manner, made, length, result);
      ow_runner_change_clear (&change);
      free (manner.data);
      ow_runner_place_release (&place);
    }
  ow_runner_path_clear (&path);
}
