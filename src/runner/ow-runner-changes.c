/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-changes-private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ow-runner-utf8-private.h"

#define NOTES_BYTES (96u * 1024u)
#define SPARE_BYTES (8u * 1024u)
#define BINARY_HEAD 8192u

static int64_t
now_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

bool
ow_runner_changes_late (const OwRunnerChanges *self)
{
  return now_s () >= self->deadline;
}

/* --- what is asked for --- */

/* A hash, null for no file, or nothing where it is not known. */
static bool
take_hash (const json_t       *change,
           const char         *key,
           size_t              i,
           const char        **hash,
           bool               *known,
           OwRunnerToolResult *result)
{
  const json_t *member = json_object_get (change, key);

  *hash = json_string_value (member);
  *known = member != NULL;
  if (member == NULL || json_is_null (member) ||
      (*hash != NULL && ow_runner_keep_is_hash (*hash)))
    return true;
  ow_runner_args_fail (result, "\"%s\" of the change number %zu is not a SHA-256 in lower-case "
                       "hexadecimal digits, nor null. Nothing was done.", key, i + 1);
  return false;
}

static bool
take_change (OwRunnerMerged     *merged,
             const json_t       *change,
             size_t              i,
             OwRunnerToolResult *result)
{
  const json_t *path = json_object_get (change, "path");
  json_int_t mode = ow_json_get_int (change, "mode", 0);

  memset (merged, 0, sizeof *merged);
  if (!json_is_string (path))
    {
      ow_runner_args_fail (result, "The change number %zu has no path. Nothing was done.", i + 1);
      return false;
    }
  merged->path = json_string_value (path);
  merged->path_length = json_string_length (path);
  merged->mode = (mode_t) (mode & 01777);
  return take_hash (change, "before", i, &merged->before, &merged->before_known, result) &&
         take_hash (change, "after", i, &merged->after, &merged->after_known, result);
}

static int
compare_paths (const void *one,
               const void *other)
{
  const OwRunnerMerged *a = one;
  const OwRunnerMerged *b = other;
  size_t shorter = a->path_length < b->path_length ? a->path_length : b->path_length;
  int order = memcmp (a->path, b->path, shorter);

  if (order != 0)
    return order;
  if (a->path_length != b->path_length)
    return a->path_length < b->path_length ? -1 : 1;
  return 0;
}

static bool
same_path (const OwRunnerMerged *a,
           const OwRunnerMerged *b)
{
  return a->path_length == b->path_length && memcmp (a->path, b->path, a->path_length) == 0;
}

static bool
same_hash (const char *a,
           const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp (a, b) == 0;
}

/* The earliest before and the last after of each path. */
static void
merge (OwRunnerChanges *self)
{
  size_t n = 0;

  for (size_t i = 0; i < self->n; i++)
    {
      OwRunnerMerged *next = &self->list[i];
      OwRunnerMerged *last = n > 0 ? &self->list[n - 1] : NULL;

      if (last == NULL || !same_path (last, next))
        {
          self->list[n++] = *next;
          continue;
        }
      last->between = last->between || !last->after_known || !next->before_known ||
                      !same_hash (last->after, next->before);
      last->after = next->after;
      last->after_known = next->after_known;
    }
  self->n = n;
}

/* Stable, and n log n for any order. */
static void
sort (OwRunnerMerged *list,
      OwRunnerMerged *spare,
      size_t          n)
{
  size_t half = n / 2;
  size_t i = 0;
  size_t j = half;

  if (n < 2)
    return;
  sort (list, spare, half);
  sort (list + half, spare, n - half);
  for (size_t k = 0; k < n; k++)
    {
      bool first = j == n || (i < half && compare_paths (&list[i], &list[j]) <= 0);

      spare[k] = first ? list[i++] : list[j++];
    }
  memcpy (list, spare, n * sizeof *list);
}

static bool
take_all (OwRunnerChanges    *self,
          const json_t       *changes,
          OwRunnerToolResult *result)
{
  size_t n = json_array_size (changes);
  OwRunnerMerged *spare;
  size_t bytes = 0;

  if (!json_is_array (changes) || n == 0)
    ow_runner_args_fail (result, "The argument \"changes\" must be a list of changes. Nothing was "
                         "done.");
  else if (n > OW_RUNNER_CHANGES_MAX)
    ow_runner_args_fail (result, "These are %zu changes, and one call takes %d. Nothing was done: "
                         "ask for fewer at once.", n, OW_RUNNER_CHANGES_MAX);
  if (result->is_error)
    return false;
  self->list = ow_runner_buffer_alloc (n * sizeof *self->list);
  for (; self->n < n; self->n++)
    {
      OwRunnerMerged *merged = &self->list[self->n];

      if (!take_change (merged, json_array_get (changes, self->n), self->n, result))
        return false;
      bytes += ow_json_string_size (merged->path, merged->path_length);
    }
  spare = ow_runner_buffer_alloc (n * sizeof *spare);
  sort (self->list, spare, n);
  free (spare);
  merge (self);
  if (bytes <= OW_RUNNER_CHANGES_PATHS_MAX)
    return true;
  ow_runner_args_fail (result, "The paths of these changes have %zu bytes, and one call takes %u. "
                       "Nothing was done: ask for fewer at once.", bytes,
                       OW_RUNNER_CHANGES_PATHS_MAX);
  return false;
}

/* The first folder when all files lie in it, so that the diff can be used there. */
static void
choose_base (OwRunnerChanges     *self,
             const OwRunnerRoots *roots)
{
  size_t length = strlen (roots->folders[0]);

  self->base = roots->folders[0];
  for (size_t i = 0; i < self->n; i++)
    {
      const OwRunnerMerged *merged = &self->list[i];

      if (merged->path_length <= length || memcmp (merged->path, self->base, length) != 0 ||
          merged->path[length] != '/')
        self->base = "/";
      if (self->base[1] == '\0')
        return;
    }
}

bool
ow_runner_changes_init (OwRunnerChanges     *self,
                        const OwRunnerRoots *roots,
                        const json_t        *arguments,
                        OwRunnerToolResult  *result)
{
  memset (self, 0, sizeof *self);
  ow_runner_buffer_init (&self->notes, NOTES_BYTES);
  ow_runner_buffer_init (&self->diff, OW_RUNNER_TEXT_MAX - NOTES_BYTES - SPARE_BYTES);
  self->files = json_array ();
  self->deadline = now_s () + OW_RUNNER_CHANGES_MAX_S;
  if (!take_all (self, json_object_get (arguments, "changes"), result))
    return false;
  choose_base (self, roots);
  return true;
}

void
ow_runner_changes_clear (OwRunnerChanges *self)
{
  free (self->list);
  ow_runner_buffer_clear (&self->diff);
  ow_runner_buffer_clear (&self->notes);
  json_decref (self->files);
  memset (self, 0, sizeof *self);
}

/* --- the diff --- */

static const char *
name_of (const OwRunnerChanges *self,
         const OwRunnerMerged  *merged)
{
  const char *name = merged->path + (self->base[1] == '\0' ? 0 : strlen (self->base));

  while (*name == '/')
    name++;
  return name;
}

/* A name as patch(1) and git read it: in quotes when it holds what ends a name. */
static void
put_name (OwRunnerBuffer *out,
          const char     *side,
          const char     *name)
{
  bool plain = true;

  for (const char *at = name; *at != '\0'; at++)
    plain = plain && (unsigned char) *at > ' ' && *at != '"' && *at != '\\' && *at != 0x7f;
  ow_runner_buffer_printf (out, "%s%s", plain ? "" : "\"", side);
  if (plain)
    ow_runner_buffer_append (out, name);
  for (const char *at = name; !plain && *at != '\0'; at++)
    {
      bool safe = (unsigned char) *at >= ' ' && (unsigned char) *at < 0x7f;

      /* In quotes each byte of what is not ASCII stands as one, too. */
      if (*at == '"' || *at == '\\')
        ow_runner_buffer_printf (out, "\\%c", *at);
      else if (safe)
        ow_runner_buffer_printf (out, "%c", *at);
      else
        ow_runner_buffer_printf (out, "\\%03o", (unsigned char) *at);
    }
  if (!plain)
    ow_runner_buffer_append (out, "\"");
}

static void
put_header (OwRunnerBuffer        *out,
            const char            *name,
            const OwRunnerContent *old,
            const OwRunnerContent *new,
            mode_t                 mode)
{
  bool executable = (mode & 0111) != 0;

  if (old == NULL || new == NULL)
    {
      ow_runner_buffer_append (out, "diff --git ");
      put_name (out, "a/", name);
      ow_runner_buffer_append (out, " ");
      put_name (out, "b/", name);
      ow_runner_buffer_printf (out, "\n%s file mode 100%s\n", old == NULL ? "new" : "deleted",
                               executable ? "755" : "644");
      /* Of a file without content git has only its hash to say, which patch(1) needs to
       * tell one that comes from one that goes. */
      if ((old == NULL ? new : old)->length == 0)
        {
          ow_runner_buffer_append (out, old == NULL ? "index 0000000..e69de29\n"
                                                    : "index e69de29..0000000\n");
          return;
        }
    }
  ow_runner_buffer_append (out, "--- ");
  if (old == NULL)
    ow_runner_buffer_append (out, "/dev/null");
  else
    put_name (out, "a/", name);
  ow_runner_buffer_append (out, "\n+++ ");
  if (new == NULL)
    ow_runner_buffer_append (out, "/dev/null");
  else
    put_name (out, "b/", name);
  ow_runner_buffer_append (out, "\n");
}

static bool
is_text (const OwRunnerContent *content)
{
  size_t head = content == NULL ? 0 : content->length < BINARY_HEAD ? content->length : BINARY_HEAD;

  return content == NULL || (ow_runner_file_binary_kind (content->data, head) == NULL &&
                             ow_runner_utf8_is_valid (content->data, content->length));
}

static void
note_binary (OwRunnerChanges       *self,
             const OwRunnerMerged  *merged,
             const OwRunnerContent *old,
             const OwRunnerContent *new)
{
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, 256);
  if (old == NULL || new == NULL)
    ow_runner_buffer_printf (&text, "%s, binary, %zu bytes", old == NULL ? "new" : "removed",
                             (old == NULL ? new : old)->length);
  else
    ow_runner_buffer_printf (&text, "binary, %zu bytes in place of %zu", new->length, old->length);
  ow_runner_changes_note (self, merged, text.data);
  ow_runner_buffer_clear (&text);
}

void
ow_runner_changes_diff (OwRunnerChanges       *self,
                        const OwRunnerMerged  *merged,
                        const OwRunnerContent *old,
                        const OwRunnerContent *new,
                        mode_t                 mode,
                        OwRunnerDiffLines     *lines)
{
  size_t start = self->diff.length;

  memset (lines, 0, sizeof *lines);
  if (!is_text (old) || !is_text (new))
    {
      note_binary (self, merged, old, new);
      return;
    }
  put_header (&self->diff, name_of (self, merged), old, new, mode);
  if (!self->diff.cut && ow_runner_diff_hunks (&self->diff, old == NULL ? "" : old->data,
                                               old == NULL ? 0 : old->length,
                                               new == NULL ? "" : new->data,
                                               new == NULL ? 0 : new->length, lines))
    return;
  self->diff.cut = false;
  self->diff.length = start;
  if (self->diff.data != NULL)
    self->diff.data[start] = '\0';
  self->left_out++;
  /* No file goes unnamed. */
  ow_runner_changes_note (self, merged, "its diff is too long to be shown here");
}

void
ow_runner_changes_note (OwRunnerChanges      *self,
                        const OwRunnerMerged *merged,
                        const char           *what)
{
  char *shown = ow_runner_buffer_name (merged->path, merged->path_length);
  size_t start = self->notes.length;

  ow_runner_buffer_printf (&self->notes, "[%s: ", shown);
  ow_runner_buffer_append (&self->notes, what);
  ow_runner_buffer_append (&self->notes, "]\n");
  free (shown);
  if (!self->notes.cut)
    return;
  self->notes.cut = false;
  self->notes.length = start;
  if (self->notes.data != NULL)
    self->notes.data[start] = '\0';
  self->unnoted++;
}

json_t *
ow_runner_changes_add (OwRunnerChanges      *self,
                       const OwRunnerMerged *merged,
                       const char           *state,
                       const char           *reason)
{
  json_t *file = json_object ();

  json_object_set_new (file, "path", json_stringn (merged->path, merged->path_length));
  json_object_set_new (file, "state", json_string (state));
  if (reason != NULL)
    json_object_set_new (file, "reason", json_string (reason));
  json_array_append_new (self->files, file);
  return file;
}

void
ow_runner_changes_answer (OwRunnerChanges    *self,
                          const char         *summary,
                          json_t             *structured,
                          OwRunnerToolResult *result)
{
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  if (self->diff.length > 0)
    ow_runner_buffer_append (&text, self->diff.data);
  if (self->notes.length > 0)
    ow_runner_buffer_append (&text, self->notes.data);
  if (self->unnoted > 0)
    ow_runner_buffer_printf (&text, "[%zu more notes are left out.]\n", self->unnoted);
  if (self->left_out > 0)
    ow_runner_buffer_printf (&text, "[The diff of %zu file%s is left out, because it is too long "
                             "to be shown here.]\n", self->left_out,
                             self->left_out == 1 ? "" : "s");
  ow_runner_buffer_append (&text, summary);
  json_object_set_new (structured, "base", json_string (self->base));
  json_object_set (structured, "files", self->files);
  json_object_set_new (structured, "left_out", json_integer ((json_int_t) self->left_out));
  ow_runner_args_answer (result, &text, structured);
}
