/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-tool-private.h"
#include "ow-runner-walk-private.h"
#include "ow-runner-wildcard-private.h"

#define MAX_PATHS      1000
#define MAX_TEXT_BYTES (256u * 1024u)
#define MAX_SECONDS    20

typedef struct {
  char           *path; /* (owned) */
  struct timespec time;
} Found;

/* The newest matches, as a heap whose top is the oldest of them. */
typedef struct {
  const OwRunnerWildcard *wildcard;
  const OwRunnerWildcard *anywhere; /* (nullable) the same at any depth */
  bool                    slashed;  /* the pattern ends with a slash */
  Found                   found[MAX_PATHS];
  size_t                  n;
  size_t                  total;
  size_t                  deeper;   /* matches of @anywhere only */
} Search;

/* Newest first, then by name. */
static int
compare (const void *one,
         const void *other)
{
  const Found *a = one;
  const Found *b = other;

  if (a->time.tv_sec != b->time.tv_sec)
    return a->time.tv_sec > b->time.tv_sec ? -1 : 1;
  if (a->time.tv_nsec != b->time.tv_nsec)
    return a->time.tv_nsec > b->time.tv_nsec ? -1 : 1;
  return strcmp (a->path, b->path);
}

static void
sink (Search *self,
      size_t  at)
{
  for (;;)
    {
      size_t child = at * 2 + 1;
      Found swap;

      if (child >= self->n)
        return;
      if (child + 1 < self->n && compare (&self->found[child], &self->found[child + 1]) < 0)
        child++;
      if (compare (&self->found[at], &self->found[child]) >= 0)
        return;
      swap = self->found[at];
      self->found[at] = self->found[child];
      self->found[child] = swap;
      at = child;
    }
}

static void
keep (Search         *self,
      const char     *path,
      struct timespec time)
{
  Found found = { (char *) path, time };

  if (self->n == MAX_PATHS && compare (&found, &self->found[0]) >= 0)
    return;
  found.path = ow_runner_buffer_copy (path, strlen (path));
  if (self->n < MAX_PATHS)
    {
      self->found[self->n++] = found;
      for (size_t i = self->n == MAX_PATHS ? MAX_PATHS / 2 : 0; i > 0; i--)
        sink (self, i - 1);
      return;
    }
  free (self->found[0].path);
  self->found[0] = found;
  sink (self, 0);
}

static bool
look_at (const OwRunnerWalkEntry *entry,
         void                    *user_data)
{
  Search *self = user_data;
  struct stat status;

  if (!ow_runner_wildcard_match (self->wildcard, entry->path))
    {
      if (self->anywhere != NULL && ow_runner_wildcard_match (self->anywhere, entry->path))
        self->deeper++;
      return true;
    }
  if (fstatat (entry->directory, entry->name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
    {
      self->total++;
      keep (self, entry->path, status.st_mtim);
    }
  return true;
}

static void *
split (void *user_data)
{
  const Search *self = user_data;
  Search *part = ow_runner_buffer_alloc (sizeof *part);

  memset (part, 0, sizeof *part);
  part->wildcard = self->wildcard;
  part->anywhere = self->anywhere;
  return part;
}

static void
join (void *user_data,
      void *data)
{
  Search *self = user_data;
  Search *part = data;

  self->total += part->total;
  self->deeper += part->deeper;
  for (size_t i = 0; i < part->n; i++)
    {
      keep (self, part->found[i].path, part->found[i].time);
      free (part->found[i].path);
    }
  free (part);
}

/* What a found path is called so that it can be given back to another tool. */
static char *
full_name (const char *start,
           const char *path)
{
  size_t first = strlen (start);
  size_t second = strlen (path);
  char *name = ow_runner_buffer_alloc (first + second + 2);

  while (first > 1 && start[first - 1] == '/')
    first--;
  if (first == 1 && start[0] == '.')
    first = 0;
  memcpy (name, start, first);
  if (first > 0 && name[first - 1] != '/')
    name[first++] = '/';
  memcpy (name + first, path, second + 1);
  return name;
}

static void
answer (Search             *self,
        const OwRunnerWalk *walk,
        const char         *start,
        OwRunnerToolResult *result)
{
  json_t *structured = json_object ();
  json_t *paths = json_array ();
  OwRunnerBuffer text;
  size_t shown = 0;
  bool cut;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  qsort (self->found, self->n, sizeof self->found[0], compare);
  for (; shown < self->n && text.length < MAX_TEXT_BYTES; shown++)
    {
      char *name = full_name (start, self->found[shown].path);
      char *safe = ow_runner_buffer_name (name, strlen (name));

      ow_runner_buffer_printf (&text, "%s\n", safe);
      json_array_append_new (paths, json_string (safe));
      free (safe);
      free (name);
    }
  cut = shown < self->total || walk->limits != 0;
  if (self->total == 0)
    ow_runner_buffer_append (&text, "No file matches.\n");
  if (self->total == 0 && self->deeper > 0)
    ow_runner_buffer_printf (&text, "[%zu would match further down: put **/ before the pattern.]\n",
                             self->deeper);
  if (self->total == 0 && self->slashed)
    ow_runner_buffer_append (&text, "[Only files are named: put ** behind the slash for those in "
                             "a folder, or list it.]\n");
  if (self->total == 0 && walk->ignored > 0)
    ow_runner_buffer_printf (&text, "[%zu entr%s left out for .gitignore; list shows them.]\n",
                             (size_t) walk->ignored, walk->ignored == 1 ? "y was" : "ies were");
  if (shown < self->total)
    ow_runner_buffer_printf (&text, "[Cut: the newest %zu of %zu are shown. Use a narrower "
                             "pattern.]\n", shown, self->total);
  ow_runner_walk_notes (walk, &text);
  json_object_set_new (structured, "paths", paths);
  json_object_set_new (structured, "total", json_integer ((json_int_t) self->total));
  json_object_set_new (structured, "cut", json_boolean (cut));
  ow_runner_args_answer (result, &text, structured);
}

static bool
make_wildcards (Search             *self,
                const char         *pattern,
                size_t              length,
                OwRunnerWildcard  **exact,
                OwRunnerWildcard  **anywhere,
                OwRunnerToolResult *result)
{
  char *deep;

  *exact = *anywhere = NULL;
  if (length == 0 || memchr (pattern, '\0', length) != NULL || pattern[0] == '/')
    {
      ow_runner_args_fail (result, "The pattern must be a relative one like src/**/*.c. Send the "
                           "call again with such a pattern, and the folder in path.");
      return false;
    }
  *exact = ow_runner_wildcard_new (pattern, length, true);
  if (*exact == NULL)
    {
      ow_runner_args_fail (result, "The pattern is too long, or its braces make more than 256 "
                           "alternatives. Use a shorter one.");
      return false;
    }
  if (memchr (pattern, '/', length) == NULL)
    {
      deep = full_name ("**", pattern);
      *anywhere = ow_runner_wildcard_new (deep, length + 3, true);
      free (deep);
    }
  self->wildcard = *exact;
  self->slashed = pattern[length - 1] == '/';
  self->anywhere = *anywhere;
  return true;
}

static void
search (const OwRunnerRoots *roots,
        const OwRunnerPath  *path,
        Search              *self,
        OwRunnerToolResult  *result)
{
  int fd = ow_runner_path_open (path, roots, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  OwRunnerWalk walk;

  if (fd < 0 && errno == ENOTDIR)
    {
      ow_runner_args_fail (result, "%s is no folder, so there is nothing to match below it. Give "
                           "its folder as the path.", path->shown);
      return;
    }
  if (fd < 0)
    {
      ow_runner_path_fail (path, roots, "searched", errno, result);
      return;
    }
  ow_runner_walk_init (&walk, look_at, self, MAX_SECONDS);
  walk.split = split;
  walk.join = join;
  ow_runner_walk_run (&walk, roots, path, fd);
  close (fd);
  answer (self, &walk, path->given, result);
  for (size_t i = 0; i < self->n; i++)
    free (self->found[i].path);
}

void
ow_tool_glob (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  const char *start = ".";
  size_t start_length = 1;
  const char *pattern;
  size_t length;
  OwRunnerPath path;
  OwRunnerWildcard *exact = NULL;
  OwRunnerWildcard *anywhere = NULL;
  Search *self = ow_runner_buffer_alloc (sizeof *self);

  memset (self, 0, sizeof *self);
  if (ow_runner_args_string (arguments, "pattern", &pattern, &length, result) &&
      ow_runner_args_string_or (arguments, "path", &start, &start_length, result) &&
      make_wildcards (self, pattern, length, &exact, &anywhere, result) &&
      ow_runner_path_parse (&path, roots, start, start_length, result))
    {
      search (roots, &path, self, result);
      ow_runner_path_clear (&path);
    }
  ow_runner_wildcard_free (exact);
  ow_runner_wildcard_free (anywhere);
  free (self);
}
