/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-path-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ow-runner-args-private.h"
#include "ow-runner-descent-private.h"

/* Absolute links that may point from folder to folder. */
#define MAX_HOPS 8

/* Whether @path lies in @folder as far as its text goes; *@below is then the rest. */
static bool
below_folder (const char  *folder,
              const char  *path,
              const char **below)
{
  const char *part;
  const char *piece;
  size_t wanted;

  *below = path;
  while ((wanted = ow_runner_descent_component (&folder, &part)) > 0)
    {
      if (ow_runner_descent_component (below, &piece) != wanted ||
          memcmp (part, piece, wanted) != 0)
        return false;
    }
  return true;
}

static size_t
count_components (const char *path)
{
  const char *component;
  size_t n = 0;

  while (ow_runner_descent_component (&path, &component) > 0)
    n++;
  return n;
}

/* The folder that an absolute path is meant to lie in: the deepest one, so that a
 * read-only folder inside a writable one is itself. */
bool
ow_runner_path_choose (const OwRunnerRoots *roots,
                       const char          *path,
                       size_t              *root,
                       const char         **below)
{
  size_t deepest = 0;
  bool found = false;

  for (size_t i = 0; i < roots->n; i++)
    {
      size_t depth = count_components (roots->folders[i]);
      const char *rest;

      if ((found && depth < deepest) || !below_folder (roots->folders[i], path, &rest))
        continue;
      found = true;
      deepest = depth;
      *root = i;
      *below = rest;
    }
  return found;
}

char *
ow_runner_path_relative (const char *below)
{
  while (*below == '/')
    below++;
  return *below == '\0' ? ow_runner_buffer_copy (".", 1)
                        : ow_runner_buffer_copy (below, strlen (below));
}

int
ow_runner_path_open_in (const OwRunnerRoots *roots,
                        size_t              *root,
                        char               **below,
                        int                  flags)
{
  for (int hop = 0; hop < MAX_HOPS; hop++)
    {
      char *absolute = NULL;
      const char *rest;
      int fd = ow_runner_descent_kernel (roots->fds[*root], *below, flags);
      bool inside;

      if (fd >= 0 || (errno != EXDEV && errno != ELOOP && errno != ENOSYS && errno != EAGAIN))
        return fd;
      /* The walk finds out where a link that the kernel refused leads to. */
      fd = ow_runner_descent_walk (roots->fds[*root], *below, flags, &absolute);
      if (fd >= 0 || absolute == NULL)
        return fd;
      inside = ow_runner_path_choose (roots, absolute, root, &rest);
      if (inside)
        {
          free (*below);
          *below = ow_runner_path_relative (rest);
        }
      free (absolute);
      if (!inside)
        {
          errno = EXDEV;
          return -1;
        }
    }
  errno = ELOOP;
  return -1;
}

int
ow_runner_path_open (const OwRunnerPath  *self,
                     const OwRunnerRoots *roots,
                     int                  flags)
{
  size_t root = self->root;
  char *below = ow_runner_buffer_copy (self->below, strlen (self->below));
  int fd = ow_runner_path_open_in (roots, &root, &below, flags);

  free (below);
  return fd;
}

static char *
folder_names (const OwRunnerRoots *roots)
{
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, 16384);
  for (size_t i = 0; i < roots->n; i++)
    {
      char *name = ow_runner_buffer_name (roots->folders[i], strlen (roots->folders[i]));

      ow_runner_buffer_printf (&text, "%s%s%s", i > 0 ? ", " : "", name,
                               roots->read_only[i] ? " (read-only)" : "");
      free (name);
    }
  return ow_runner_buffer_steal (&text, NULL);
}

static void
fail_outside (const OwRunnerRoots *roots,
              const char          *shown,
              OwRunnerToolResult  *result)
{
  char *names = folder_names (roots);

  ow_runner_args_fail (result, "%s leads out of the folders of this session, so it was not "
                       "touched. Use a path inside: %s.", shown, names);
  free (names);
}

/* More ".." than there are components before them leads out whatever is on disk. */
static bool
climbs_out (const char *below)
{
  const char *component;
  size_t length;
  long depth = 0;

  while (depth >= 0 && (length = ow_runner_descent_component (&below, &component)) > 0)
    depth += length == 2 && memcmp (component, "..", 2) == 0 ? -1 : 1;
  return depth < 0;
}

static bool
well_formed (const char         *path,
             size_t              length,
             OwRunnerToolResult *result)
{
  if (length == 0)
    ow_runner_args_fail (result, "The path is empty. Name a file or folder; \".\" is the first "
                         "folder of the session.");
  else if (length > OW_RUNNER_PATH_MAX)
    ow_runner_args_fail (result, "The path has %zu bytes, more than the %d that a path may have. "
                         "Use a shorter one, relative to the first folder.", length,
                         OW_RUNNER_PATH_MAX);
  else if (memchr (path, '\0', length) != NULL)
    ow_runner_args_fail (result, "The path holds a NUL character, which no file name can. Send "
                         "the path without it.");
  return !result->is_error;
}

/* Takes @given. */
static bool
take (OwRunnerPath        *self,
      const OwRunnerRoots *roots,
      char                *given,
      size_t               length,
      OwRunnerToolResult  *result)
{
  const char *path = given;
  const char *below = given;
  bool inside = true;

  memset (self, 0, sizeof *self);
  self->given = given;
  if (!well_formed (path, length, result))
    {
      ow_runner_path_clear (self);
      return false;
    }
  self->shown = ow_runner_buffer_name (path, length);
  if (path[0] == '/')
    inside = ow_runner_path_choose (roots, path, &self->root, &below);
  if (!inside || climbs_out (below))
    {
      fail_outside (roots, self->shown, result);
      ow_runner_path_clear (self);
      return false;
    }
  self->below = ow_runner_path_relative (below);
  self->slashed = path[length - 1] == '/';
  return true;
}

bool
ow_runner_path_parse (OwRunnerPath        *self,
                      const OwRunnerRoots *roots,
                      const char          *path,
                      size_t               length,
                      OwRunnerToolResult  *result)
{
  char *given;

  memset (self, 0, sizeof *self);
  if (!well_formed (path, length, result))
    return false;
  given = ow_runner_buffer_unname (path, length, &length);
  return take (self, roots, given, length, result);
}

bool
ow_runner_path_parse_plain (OwRunnerPath        *self,
                            const OwRunnerRoots *roots,
                            const char          *path,
                            size_t               length,
                            OwRunnerToolResult  *result)
{
  return take (self, roots, ow_runner_buffer_copy (path, length), length, result);
}

void
ow_runner_path_clear (OwRunnerPath *self)
{
  free (self->below);
  free (self->given);
  free (self->shown);
  memset (self, 0, sizeof *self);
}

void
ow_runner_path_fail (const OwRunnerPath  *self,
                     const OwRunnerRoots *roots,
                     const char          *what,
                     int                  error,
                     OwRunnerToolResult  *result)
{
  switch (error)
    {
    case EXDEV:
      fail_outside (roots, self->shown, result);
      break;
    case ENOENT:
      ow_runner_args_fail (result, "There is nothing at %s, so it could not be %s. Use list or "
                           "glob to see what there is.", self->shown, what);
      break;
    case ENOTDIR:
      ow_runner_args_fail (result, "A part of %s is a file and not a folder, so it could not be "
                           "%s. Use list on the folder above to see what there is.", self->shown,
                           what);
      break;
    case ELOOP:
      ow_runner_args_fail (result, "%s goes through too many links or links that change, so it "
                           "could not be %s. Name the file that is meant itself.", self->shown,
                           what);
      break;
    case ENAMETOOLONG:
      ow_runner_args_fail (result, "A name in %s is longer than the file system allows, so it "
                           "could not be %s. Use shorter names.", self->shown, what);
      break;
    case EACCES:
    case EPERM:
      ow_runner_args_fail (result, "%s could not be %s: the file's permissions do not allow it. "
                           "Look at its mode with the shell (ls -l).", self->shown, what);
      break;
    default:
      ow_runner_args_fail (result, "%s could not be %s: %s. Look at it with the shell, or try "
                           "again.", self->shown, what, strerror (error));
      break;
    }
}
