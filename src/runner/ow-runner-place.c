/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-place-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-descent-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-keep-private.h"

/* Links followed from the last component; the kernel's own limit. */
#define MAX_LINKS 40
/* Directories from a file up to its folder. */
#define MAX_DEPTH 65536

/* Where a folder of the session holds the undo folder, that is none of it. */
static bool
is_undo_folder (const OwRunnerRoots *roots,
                const struct stat   *status)
{
  struct stat keep;

  return roots->keep != NULL && fstat (roots->keep->fd, &keep) == 0 &&
         keep.st_dev == status->st_dev && keep.st_ino == status->st_ino;
}

/* Goes up from a directory to the first folder of the session on the way, which is
 * the one whose rules hold there, by identity and not by name. False when there is
 * none: the directory was moved out since. */
static bool
governing_folder (const OwRunnerRoots *roots,
                  int                  directory,
                  bool                *read_only,
                  size_t              *governing)
{
  int at = fcntl (directory, F_DUPFD_CLOEXEC, 3);
  bool found = false;

  for (int depth = 0; at >= 0 && depth < MAX_DEPTH && !found; depth++)
    {
      struct stat here;
      struct stat root;
      int up;

      if (fstat (at, &here) < 0 || is_undo_folder (roots, &here))
        break;
      *read_only = false;
      for (size_t i = 0; i < roots->n; i++)
        {
          if (fstat (roots->fds[i], &root) < 0 || root.st_dev != here.st_dev ||
              root.st_ino != here.st_ino)
            continue;
          if (!found)
            *governing = i;
          found = true;
          *read_only = *read_only || roots->read_only[i];
        }
      up = found ? -1 : openat (at, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      close (at);
      at = up;
    }
  if (at >= 0)
    close (at);
  return found;
}

/* The first component of @below that is not there, for the sentence about it. */
static void
fail_missing_parent (const OwRunnerPath  *self,
                     const OwRunnerRoots *roots,
                     size_t               root,
                     const char          *below,
                     OwRunnerToolResult  *result)
{
  char *path = ow_runner_buffer_copy (below, strlen (below));
  char *shown;

  for (char *slash = path; slash != NULL; slash = strchr (slash + 1, '/'))
    {
      char *at = strchr (slash + 1, '/');
      int fd;

      if (at == NULL)
        break;
      *at = '\0';
      fd = ow_runner_descent_open (roots->fds[root], path, O_PATH | O_DIRECTORY);
      if (fd < 0)
        break;
      close (fd);
      *at = '/';
    }
  shown = ow_runner_buffer_name (path, strlen (path));
  ow_runner_args_fail (result, "%s was not written: its folder %s does not exist. Create it with "
                       "the shell (mkdir -p), then write again.", self->shown, shown);
  free (shown);
  free (path);
}

/* Makes one folder, in one that is there. */
static bool
make_folder (const OwRunnerRoots *roots,
             size_t               root,
             const char          *below,
             const char          *name)
{
  char *folder = ow_runner_buffer_copy (below, strlen (below));
  int parent = ow_runner_path_open_in (roots, &root, &folder, O_PATH | O_DIRECTORY);
  bool read_only = true;
  bool made = parent >= 0 && governing_folder (roots, parent, &read_only, &root) && !read_only &&
              mkdirat (parent, name, 0777) == 0;

  if (parent >= 0)
    close (parent);
  free (folder);
  return made;
}

size_t
ow_runner_place_make_folders (const OwRunnerPath  *self,
                              const OwRunnerRoots *roots)
{
  char *path = ow_runner_buffer_copy (self->below, strlen (self->below));
  const char *component;
  const char *rest = path;
  size_t length;
  size_t made = 0;
  bool going = true;

  /* ".." is told by what is there, and where something is missing nothing is. */
  while (going && (length = ow_runner_descent_component (&rest, &component)) > 0 &&
         strspn (rest, "/") < strlen (rest))
    {
      char *above = component == path ? ow_runner_buffer_copy (".", 1)
                                      : ow_runner_buffer_copy (path, (size_t) (component - path));
      char *name = ow_runner_buffer_copy (component, length);
      char *below = ow_runner_buffer_copy (path, (size_t) (component - path) + length);
      size_t root = self->root;
      int fd = ow_runner_path_open_in (roots, &root, &below, O_PATH | O_DIRECTORY);

      if (fd >= 0)
        close (fd);
      else
        going = errno == ENOENT && strcmp (name, "..") != 0 &&
                make_folder (roots, self->root, above, name);
      made += fd < 0 && going ? 1 : 0;
      free (above);
      free (name);
      free (below);
    }
  free (path);
  return made;
}

/* Splits @below at its last component. */
static void
split (const char *below,
       char      **folder,
       char      **name)
{
  size_t end = strlen (below);
  size_t start;

  while (end > 0 && below[end - 1] == '/')
    end--;
  start = end;
  while (start > 0 && below[start - 1] != '/')
    start--;
  *name = ow_runner_buffer_copy (below + start, end - start);
  *folder = start == 0 ? ow_runner_buffer_copy (".", 1) : ow_runner_buffer_copy (below, start - 1);
}

/* One round of locating: opens the folder of @below and looks at the last component.
 * Returns 1 for found, 0 when it was a link and *@below is now its target, -1 with
 * errno. */
static int
locate_round (const OwRunnerRoots *roots,
              size_t              *root,
              char               **below,
              OwRunnerPlace       *place)
{
  char target[OW_RUNNER_PATH_MAX + 1];
  char *folder;
  const char *rest = target;
  ssize_t length;
  int outcome = -1;

  split (*below, &folder, &place->name);
  place->parent = -1;
  if (strcmp (place->name, ".") == 0 || strcmp (place->name, "..") == 0 || place->name[0] == '\0')
    {
      errno = EISDIR;
      free (folder);
      return -1;
    }
  place->parent = ow_runner_path_open_in (roots, root, &folder, O_PATH | O_DIRECTORY);
  if (place->parent < 0)
    {
      /* The caller says which folder is missing. */
      free (*below);
      *below = folder;
      return -1;
    }
  if (fstatat (place->parent, place->name, &place->status, AT_SYMLINK_NOFOLLOW) < 0)
    {
      place->exists = false;
      outcome = errno == ENOENT ? 1 : -1;
    }
  else if (!S_ISLNK (place->status.st_mode))
    {
      place->exists = true;
      outcome = 1;
    }
  else if ((length = readlinkat (place->parent, place->name, target, sizeof target - 1)) > 0)
    {
      target[length] = '\0';
      if (target[0] != '/' || ow_runner_path_choose (roots, target, root, &rest))
        {
          char *whole = target[0] == '/' ? ow_runner_path_relative (rest)
                                         : ow_runner_descent_join (folder, target);

          free (*below);
          *below = whole;
          outcome = 0;
        }
      else
        {
          errno = EXDEV;
        }
    }
  free (folder);
  return outcome;
}

void
ow_runner_place_release (OwRunnerPlace *place)
{
  if (place->parent >= 0)
    close (place->parent);
  free (place->name);
  memset (place, 0, sizeof *place);
  place->parent = -1;
}

static bool
may_write (const OwRunnerPath  *self,
           const OwRunnerRoots *roots,
           OwRunnerPlace       *place,
           OwRunnerToolResult  *result)
{
  if (!governing_folder (roots, place->parent, &place->read_only, &place->root))
    ow_runner_path_fail (self, roots, "written", EXDEV, result);
  else if (place->read_only)
    ow_runner_args_fail (result, "%s was not written: it lies in a folder that this session may "
                         "only read. Write to a folder that is not read-only, or ask the person "
                         "to share this one for writing.", self->shown);
  else if (place->exists && S_ISDIR (place->status.st_mode))
    ow_runner_args_fail (result, "%s was not written: it is a folder. Name a file in it.",
                         self->shown);
  else if (self->slashed)
    ow_runner_args_fail (result, "%s was not written: it ends with a slash, which names a folder. "
                         "Name a file.", self->shown);
  return !result->is_error;
}

bool
ow_runner_place_locate (const OwRunnerPath  *self,
                        const OwRunnerRoots *roots,
                        OwRunnerPlace       *place,
                        OwRunnerToolResult  *result)
{
  size_t root = self->root;
  char *below = ow_runner_buffer_copy (self->below, strlen (self->below));
  int outcome = 0;

  memset (place, 0, sizeof *place);
  place->parent = -1;
  for (int links = 0; outcome == 0; links++)
    {
      ow_runner_place_release (place);
      errno = ELOOP;
      outcome = links < MAX_LINKS ? locate_round (roots, &root, &below, place) : -1;
    }
  if (outcome < 0 && errno == ENOENT)
    fail_missing_parent (self, roots, root, below, result);
  else if (outcome < 0 && errno == EISDIR)
    ow_runner_args_fail (result, "%s was not written: it is a folder. Name a file in it.",
                         self->shown);
  else if (outcome < 0)
    ow_runner_path_fail (self, roots, "written", errno, result);
  else
    may_write (self, roots, place, result);
  free (below);
  if (result->is_error)
    ow_runner_place_release (place);
  return !result->is_error;
}

/* Looks at what stands in the place itself. */
static void
look_plain (const OwRunnerPath  *self,
            const OwRunnerRoots *roots,
            OwRunnerPlace       *place,
            OwRunnerToolResult  *result)
{
  if (strcmp (place->name, ".") == 0 || strcmp (place->name, "..") == 0 || place->name[0] == '\0')
    {
      ow_runner_args_fail (result, "%s is a folder and no file.", self->shown);
      return;
    }
  place->exists = fstatat (place->parent, place->name, &place->status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!place->exists && errno != ENOENT)
    ow_runner_path_fail (self, roots, "looked at", errno, result);
  else if (place->exists && !S_ISREG (place->status.st_mode))
    ow_runner_args_fail (result, "A %s stands there now.",
                         ow_runner_file_kind (place->status.st_mode));
}

bool
ow_runner_place_locate_plain (const OwRunnerPath  *self,
                              const OwRunnerRoots *roots,
                              bool                 writing,
                              OwRunnerPlace       *place,
                              OwRunnerToolResult  *result)
{
  char *folder;

  memset (place, 0, sizeof *place);
  split (self->below, &folder, &place->name);
  place->parent = ow_runner_descent_plain (roots->fds[self->root], folder, O_PATH | O_DIRECTORY);
  free (folder);
  if (place->parent < 0 && (errno == ELOOP || errno == EXDEV))
    ow_runner_args_fail (result, "A symbolic link stands on the way to it now.");
  else if (place->parent < 0 && (errno == ENOENT || errno == ENOTDIR))
    ow_runner_args_fail (result, "Its folder is not there any more.");
  else if (place->parent < 0)
    ow_runner_path_fail (self, roots, "looked at", errno, result);
  else
    look_plain (self, roots, place, result);
  if (!result->is_error && writing)
    may_write (self, roots, place, result);
  if (result->is_error)
    ow_runner_place_release (place);
  return !result->is_error;
}

/* (owned, malloc) where the kernel says that a descriptor's directory is, or NULL. */
static char *
path_of (int fd)
{
  char name[40];
  char path[OW_RUNNER_PATH_MAX + 1];
  ssize_t length;

  snprintf (name, sizeof name, "/proc/self/fd/%d", fd);
  length = readlink (name, path, sizeof path - 1);
  return length > 0 && path[0] == '/' ? ow_runner_buffer_copy (path, (size_t) length) : NULL;
}

char *
ow_runner_place_path (const OwRunnerPlace *place,
                      const OwRunnerRoots *roots)
{
  const char *folder = roots->folders[place->root];
  char *root = path_of (roots->fds[place->root]);
  char *parent = path_of (place->parent);
  size_t length = root == NULL ? 0 : strlen (root);
  char *whole = NULL;

  if (length == 1)
    length = 0; /* "/" itself */
  if (root != NULL && parent != NULL && folder[0] == '/' && strncmp (root, parent, length) == 0
      && (parent[length] == '/' || parent[length] == '\0'))
    {
      const char *below = parent[length] == '/' ? parent + length + 1 : "";
      size_t end = strlen (folder);

      while (end > 0 && folder[end - 1] == '/')
        end--;
      if (asprintf (&whole, "%.*s/%s%s%s", (int) end, folder, below, below[0] == '\0' ? "" : "/",
                    place->name) < 0)
        abort ();
    }
  free (root);
  free (parent);
  return whole;
}
