/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-batch-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-search-private.h"
#include "ow-runner-tool-private.h"
#include "ow-runner-walk-private.h"
#include "ow-runner-wildcard-private.h"

#define MAX_CONTEXT 50
#define MAX_SECONDS 30

typedef struct {
  OwRunnerSearch      search;
  OwRunnerSearchDesk  desk;
  OwRunnerWalk        walk;
  OwRunnerPatternText text;
  OwRunnerBatches    *batches;    /* (owned) */
  OwRunnerWildcard   *only;       /* (owned) (nullable) names of files to look into */
  char               *prefix;     /* (owned) stands before a found path */
  size_t              unreadable; /* files */
} Grep;

static bool
look_into (const OwRunnerWalkEntry *entry,
           void                    *user_data)
{
  Grep *self = user_data;

  if (entry->type != DT_REG ||
      (self->only != NULL && !ow_runner_wildcard_match (self->only, entry->path)))
    return true;
  return ow_runner_batches_add (self->batches, entry);
}

static void
say_limits (Grep           *self,
            OwRunnerBuffer *text)
{
  const OwRunnerSearch *search = &self->search;

  if (search->full && search->gave_up > 0 && search->matches == 0)
    ow_runner_buffer_append (text, "[Cut: the pattern takes too many steps on this text, and the "
                             "search was given up. Use a simpler one.]\n");
  else if (search->full)
    ow_runner_buffer_printf (text, "[Cut after %zu matching lines: there may be more. Use a "
                             "narrower pattern, path or glob.]\n", search->matches);
  if (search->escaped)
    ow_runner_buffer_append (text, "[Lines with ! hold bytes that are not UTF-8 text; they stand "
                             "as \\xNN.]\n");
  if (search->notes.data != NULL)
    ow_runner_buffer_append (text, search->notes.data);
  if (search->notes.cut)
    ow_runner_buffer_append (text, "[There are more notes of this kind.]\n");
  if (self->unreadable > 0)
    ow_runner_buffer_printf (text, "[%zu file%s could not be opened.]\n", self->unreadable,
                             self->unreadable == 1 ? "" : "s");
  ow_runner_walk_notes (&self->walk, text);
}

static void
answer (Grep               *self,
        OwRunnerToolResult *result)
{
  OwRunnerSearch *search = &self->search;
  json_t *structured = json_object ();
  bool cut = search->full || search->partial || self->walk.limits != 0;

  search->text.max = OW_RUNNER_TEXT_MAX;
  search->text.cut = false;
  if (search->matches == 0)
    ow_runner_buffer_printf (&search->text, "No match in %zu file%s.\n", search->searched,
                             search->searched == 1 ? "" : "s");
  if (search->matches == 0 && self->walk.ignored > 0)
    ow_runner_buffer_printf (&search->text, "[%zu entr%s left out for .gitignore; name one as the "
                             "path to look into it.]\n", (size_t) self->walk.ignored,
                             self->walk.ignored == 1 ? "y was" : "ies were");
  if (search->matches == 0 && ow_runner_pattern_syntax (self->desk.pattern)->speaks_of_newline)
    ow_runner_buffer_append (&search->text, "[The pattern speaks of a newline, but each line is "
                             "looked at by itself, so that is never met. Look for one line of it, "
                             "with context.]\n");
  say_limits (self, &search->text);
  json_object_set_new (structured, "matches", json_integer ((json_int_t) search->matches));
  json_object_set_new (structured, "files", json_integer ((json_int_t) search->files));
  json_object_set_new (structured, "searched", json_integer ((json_int_t) search->searched));
  json_object_set_new (structured, "cut", json_boolean (cut));
  ow_runner_args_answer (result, &search->text, structured);
}

/* "src/" for "src", "" for ".", so that a found path can be given to other tools. */
static char *
make_prefix (const char *start,
             size_t      length)
{
  char *prefix;

  while (length > 1 && start[length - 1] == '/')
    length--;
  if (length == 1 && start[0] == '.')
    length = 0;
  prefix = ow_runner_buffer_alloc (length + 2);
  memcpy (prefix, start, length);
  if (length > 0 && prefix[length - 1] != '/')
    prefix[length++] = '/';
  prefix[length] = '\0';
  return prefix;
}

static void
search_path (Grep                *self,
             const OwRunnerRoots *roots,
             const OwRunnerPath  *path,
             OwRunnerToolResult  *result)
{
  int fd = ow_runner_path_open (path, roots, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  struct stat status;

  if (fd >= 0)
    {
      self->batches = ow_runner_batches_new (&self->search, &self->desk, &self->text,
                                             self->prefix, &self->walk);
      ow_runner_walk_run (&self->walk, roots, path, fd);
      ow_runner_batches_finish (self->batches);
      self->unreadable = ow_runner_batches_closed (self->batches);
      ow_runner_batches_free (self->batches);
      close (fd);
    }
  else if (errno == ENOTDIR)
    {
      fd = ow_runner_file_open (path, roots, &status, result);
      if (fd < 0)
        return;
      ow_runner_search_file (&self->search, &self->desk, fd, status.st_size, "",
                             path->given);
      if (ow_runner_walk_late (&self->walk))
        self->walk.limits |= OW_RUNNER_WALK_TOO_LONG;
      close (fd);
    }
  else
    {
      ow_runner_path_fail (path, roots, "searched", errno, result);
      return;
    }
  answer (self, result);
}

static bool
make_filter (Grep               *self,
             const char         *glob,
             size_t              length,
             OwRunnerToolResult *result)
{
  bool deep = glob != NULL && memchr (glob, '/', length) == NULL;
  char *whole;

  if (glob == NULL || length == 0)
    return true;
  if (asprintf (&whole, "%s%.*s", deep ? "**/" : "", (int) (length < 65536 ? length : 65536),
                glob) < 0)
    abort ();
  self->only = ow_runner_wildcard_new (whole, strlen (whole), true);
  free (whole);
  if (self->only == NULL)
    ow_runner_args_fail (result, "The glob is too long, or its braces make more than 256 "
                         "alternatives. Use a shorter one.");
  return self->only != NULL;
}

typedef struct {
  OwRunnerPatternText text;
  const char         *start;
  size_t              start_length;
  const char         *glob;
  size_t              glob_length;
  json_int_t          context;
} Arguments;

static void
grep (const OwRunnerRoots *roots,
      const OwRunnerPath  *path,
      OwRunnerPattern     *pattern,
      const Arguments     *arguments,
      OwRunnerToolResult  *result)
{
  Grep self = { .text = arguments->text };

  if (!make_filter (&self, arguments->glob, arguments->glob_length, result))
    return;
  self.prefix = make_prefix (path->given, strlen (path->given));
  ow_runner_search_init (&self.search, (size_t) arguments->context);
  ow_runner_search_desk_init (&self.desk, pattern);
  ow_runner_walk_init (&self.walk, look_into, &self, MAX_SECONDS);
  ow_runner_pattern_set_deadline (pattern, &self.walk.deadline);
  search_path (&self, roots, path, result);
  ow_runner_search_clear (&self.search);
  ow_runner_search_desk_clear (&self.desk);
  ow_runner_wildcard_free (self.only);
  free (self.prefix);
}

void
ow_tool_grep (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  Arguments given = { .start = ".", .start_length = 1 };
  OwRunnerPattern *pattern;
  OwRunnerPath path;
  char *error = NULL;

  if (!ow_runner_args_string (arguments, "pattern", &given.text.text, &given.text.length,
                              result) ||
      !ow_runner_args_string_or (arguments, "path", &given.start, &given.start_length, result) ||
      !ow_runner_args_string_or (arguments, "glob", &given.glob, &given.glob_length, result) ||
      !ow_runner_args_bool (arguments, "ignore_case", &given.text.ignore_case, result) ||
      !ow_runner_args_int (arguments, "context", 0, MAX_CONTEXT, &given.context, result) ||
      !ow_runner_path_parse (&path, roots, given.start, given.start_length, result))
    return;
  pattern = ow_runner_pattern_new (given.text.text, given.text.length, given.text.ignore_case,
                                   &error);
  if (pattern != NULL)
    grep (roots, &path, pattern, &given, result);
  else
    ow_runner_args_fail (result, "%s", error);
  free (error);
  ow_runner_pattern_free (pattern);
  ow_runner_path_clear (&path);
}
