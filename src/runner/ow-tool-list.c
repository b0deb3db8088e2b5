/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-tool-private.h"

#define MAX_ENTRIES    1000
/* No further entry is begun beyond; one has at most two escaped paths. */
#define MAX_TEXT_BYTES (256u * 1024u)

typedef struct {
  char *name; /* (owned) */
  bool  is_folder;
} Entry;

/* The first entries in order, as a heap whose top is the last of them: a folder of
 * any size takes the same memory. */
typedef struct {
  Entry  entries[MAX_ENTRIES];
  size_t n;
  size_t total;
} Listing;

static int
compare (const void *one,
         const void *other)
{
  const Entry *a = one;
  const Entry *b = other;

  if (a->is_folder != b->is_folder)
    return a->is_folder ? -1 : 1;
  return strcmp (a->name, b->name);
}

static void
sink (Listing *self,
      size_t   at)
{
  for (;;)
    {
      size_t child = at * 2 + 1;
      Entry swap;

      if (child >= self->n)
        return;
      if (child + 1 < self->n && compare (&self->entries[child], &self->entries[child + 1]) < 0)
        child++;
      if (compare (&self->entries[at], &self->entries[child]) >= 0)
        return;
      swap = self->entries[at];
      self->entries[at] = self->entries[child];
      self->entries[child] = swap;
      at = child;
    }
}

static void
add (Listing    *self,
     const char *name,
     bool        is_folder)
{
  Entry entry = { (char *) name, is_folder };

  self->total++;
  if (self->n == MAX_ENTRIES && compare (&entry, &self->entries[0]) >= 0)
    return;
  entry.name = ow_runner_buffer_copy (name, strlen (name));
  if (self->n < MAX_ENTRIES)
    {
      self->entries[self->n++] = entry;
      if (self->n == MAX_ENTRIES)
        {
          for (size_t i = MAX_ENTRIES / 2; i > 0; i--)
            sink (self, i - 1);
        }
      return;
    }
  free (self->entries[0].name);
  self->entries[0] = entry;
  sink (self, 0);
}

static bool
is_folder (int                  directory,
           const struct dirent *found)
{
  struct stat status;

  if (found->d_type != DT_UNKNOWN)
    return found->d_type == DT_DIR;
  return fstatat (directory, found->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
         S_ISDIR (status.st_mode);
}

static void
format_time (const struct stat *status,
             char               text[32])
{
  struct tm parts;

  if (gmtime_r (&status->st_mtim.tv_sec, &parts) == NULL ||
      strftime (text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    memcpy (text, "-", 2);
}

/* Where a link leads, as data: it is not followed. */
static void
add_target (OwRunnerBuffer *text,
            json_t       *entry,
            int           directory,
            const char   *name)
{
  char target[OW_RUNNER_PATH_MAX + 1];
  ssize_t length = readlinkat (directory, name, target, sizeof target);
  char *shown;

  if (length < 0)
    return;
  shown = ow_runner_buffer_name (target, (size_t) length);
  ow_runner_buffer_printf (text, " -> %s", shown);
  json_object_set_new (entry, "target", json_string (shown));
  free (shown);
}

static void
add_line (OwRunnerBuffer *text,
          json_t       *entries,
          int           directory,
          const Entry  *entry)
{
  json_t *object = json_object ();
  char *shown = ow_runner_buffer_name (entry->name, strlen (entry->name));
  struct stat status;
  const char *kind = "gone";
  char when[32] = "-";
  long long size = -1;

  if (fstatat (directory, entry->name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
    {
      kind = ow_runner_file_kind (status.st_mode);
      format_time (&status, when);
      if (S_ISREG (status.st_mode))
        size = (long long) status.st_size;
    }
  json_object_set_new (object, "name", json_string (shown));
  json_object_set_new (object, "type", json_string (kind));
  if (size >= 0)
    json_object_set_new (object, "size", json_integer (size));
  json_object_set_new (object, "mtime", json_string (when));
  if (strcmp (shown, entry->name) != 0)
    json_object_set_new (object, "escaped", json_true ());

  if (size >= 0)
    ow_runner_buffer_printf (text, "%12lld  %s  %s", size, when, shown);
  else
    ow_runner_buffer_printf (text, "%12s  %s  %s%s", "-", when, shown,
                             entry->is_folder ? "/" : "");
  if (strcmp (kind, "symbolic link") == 0)
    add_target (text, object, directory, entry->name);
  else if (size < 0 && !entry->is_folder)
    ow_runner_buffer_printf (text, "  [%s]", kind);
  ow_runner_buffer_append (text, "\n");
  json_array_append_new (entries, object);
  free (shown);
}

static void
answer (Listing            *self,
        int                 directory,
        const OwRunnerPath *path,
        OwRunnerToolResult *result)
{
  json_t *structured = json_object ();
  json_t *entries = json_array ();
  OwRunnerBuffer text;
  size_t shown = 0;
  bool cut;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  qsort (self->entries, self->n, sizeof self->entries[0], compare);
  ow_runner_buffer_printf (&text, "%s: %zu entr%s\n", path->shown, self->total,
                           self->total == 1 ? "y" : "ies");
  for (; shown < self->n && text.length < MAX_TEXT_BYTES; shown++)
    add_line (&text, entries, directory, &self->entries[shown]);
  cut = shown < self->total;
  if (cut)
    ow_runner_buffer_printf (&text, "[Cut: the first %zu of %zu entries are shown. Use glob with a "
                             "pattern for the others.]\n", shown, self->total);
  json_object_set_new (structured, "entries", entries);
  json_object_set_new (structured, "total", json_integer ((json_int_t) self->total));
  json_object_set_new (structured, "cut", json_boolean (cut));
  ow_runner_args_answer (result, &text, structured);
}

static void
list_directory (DIR                *directory,
                const OwRunnerPath *path,
                OwRunnerToolResult *result)
{
  Listing *listing = ow_runner_buffer_alloc (sizeof *listing);
  struct dirent *found;

  listing->n = 0;
  listing->total = 0;
  errno = 0;
  while ((found = readdir (directory)) != NULL)
    {
      if (strcmp (found->d_name, ".") != 0 && strcmp (found->d_name, "..") != 0)
        add (listing, found->d_name, is_folder (dirfd (directory), found));
      errno = 0;
    }
  if (errno != 0)
    ow_runner_args_fail (result, "%s could not be listed to its end: %s. Try again, or look at it "
                         "with the shell.", path->shown, strerror (errno));
  else
    answer (listing, dirfd (directory), path, result);
  for (size_t i = 0; i < listing->n; i++)
    free (listing->entries[i].name);
  free (listing);
}

/* For what is there but is no folder: names it in place of "a part is a file". */
static void
fail_to_open (const OwRunnerPath  *path,
              const OwRunnerRoots *roots,
              int                  error,
              OwRunnerToolResult  *result)
{
  int fd = error == ENOTDIR ? ow_runner_path_open (path, roots, O_PATH) : -1;
  struct stat status;

  if (fd >= 0 && fstat (fd, &status) == 0)
    ow_runner_args_fail (result, "%s is a %s, not a folder. %s", path->shown,
                         ow_runner_file_kind (status.st_mode),
                         S_ISREG (status.st_mode) ? "Use read to see what is in it."
                                                  : "List the folder that it is in.");
  else
    ow_runner_path_fail (path, roots, "listed", error, result);
  if (fd >= 0)
    close (fd);
}

void
ow_tool_list (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  const char *name = ".";
  size_t length = 1;
  OwRunnerPath path;
  DIR *directory;
  int fd;

  if (!ow_runner_args_string_or (arguments, "path", &name, &length, result) ||
      !ow_runner_path_parse (&path, roots, name, length, result))
    return;
  fd = ow_runner_path_open (&path, roots, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  directory = fd >= 0 ? fdopendir (fd) : NULL;
  if (directory != NULL)
    {
      list_directory (directory, &path, result);
      closedir (directory);
    }
  else
    {
      fail_to_open (&path, roots, errno, result);
      if (fd >= 0)
        close (fd);
    }
  ow_runner_path_clear (&path);
}
