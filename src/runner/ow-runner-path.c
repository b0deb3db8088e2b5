/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-path-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-args-private.h"

/* Links followed on the way to one file; the kernel's own limit. */
#define MAX_LINKS 40
/* Absolute links that may point from folder to folder. */
#define MAX_HOPS 8
/* Times that an open is tried again while directories move under it. */
#define MAX_RETRIES 64
/* Directories from a file up to its folder. */
#define MAX_DEPTH 65536

static bool use_openat2 = true;

void
ow_runner_path_set_openat2 (bool available)
{
  use_openat2 = available;
}

static void
close_keeping_errno (int fd)
{
  int saved = errno;

  if (fd >= 0)
    close (fd);
  errno = saved;
}

/* "a/b", the piece before empty or either empty. */
static char *
join (const char *before,
      const char *after)
{
  size_t first = strlen (before);
  size_t second = strlen (after);
  char *joined = ow_runner_buffer_alloc (first + second + 2);

  memcpy (joined, before, first);
  if (first > 0 && second > 0)
    joined[first++] = '/';
  memcpy (joined + first, after, second + 1);
  return joined;
}

/* Takes the next component off @rest; empty ones and "." are passed over. */
static size_t
next_component (const char **rest,
                const char **component)
{
  size_t length;

  for (;;)
    {
      while (**rest == '/')
        (*rest)++;
      *component = *rest;
      length = strcspn (*rest, "/");
      *rest += length;
      if (length != 1 || **component != '.')
        return length;
    }
}

/* The state of a walk of descriptors: what is resolved, and what is still to come. */
typedef struct {
  int    root;
  int    at;       /* (owned) O_PATH directory that @done names */
  char  *done;     /* (owned) components below the root, none of them a link */
  char  *rest;     /* (owned) */
  int    links;
} Walk;

static bool
walk_enter (Walk       *walk,
            const char *name,
            int         fd)
{
  char *done = join (walk->done, name);

  free (walk->done);
  walk->done = done;
  close (walk->at);
  walk->at = fd;
  if (strlen (done) <= OW_RUNNER_PATH_MAX * 2)
    return true;
  errno = ENAMETOOLONG;
  return false;
}

/* ".." is never given to the kernel: a directory that was moved meanwhile would lead
 * elsewhere. The walk goes down again from the folder instead. */
static bool
walk_up (Walk *walk)
{
  char *slash = strrchr (walk->done, '/');
  const char *component;
  const char *rest;
  size_t length;
  char *again;
  bool done = true;

  if (walk->done[0] == '\0')
    {
      errno = EXDEV;
      return false;
    }
  if (slash != NULL)
    *slash = '\0';
  else
    walk->done[0] = '\0';

  again = walk->done;
  walk->done = ow_runner_buffer_copy ("", 0);
  close (walk->at);
  walk->at = fcntl (walk->root, F_DUPFD_CLOEXEC, 3);
  rest = again;
  while (done && walk->at >= 0 && (length = next_component (&rest, &component)) > 0)
    {
      char *name = ow_runner_buffer_copy (component, length);
      int fd = openat (walk->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

      done = fd >= 0 && walk_enter (walk, name, fd);
      free (name);
    }
  free (again);
  return done && walk->at >= 0;
}

/* Puts a link's target before what is still to come. An absolute one ends the walk:
 * *@absolute is then the whole path that it leads to. */
static bool
walk_link (Walk        *walk,
           int          fd,
           const char  *rest,
           char       **absolute)
{
  char target[OW_RUNNER_PATH_MAX + 1];
  ssize_t length = readlinkat (fd, "", target, sizeof target - 1);
  char *whole;

  if (length <= 0 || ++walk->links > MAX_LINKS)
    {
      errno = ELOOP;
      return false;
    }
  target[length] = '\0';
  whole = join (target, rest);
  if (strlen (whole) > OW_RUNNER_PATH_MAX * 2)
    {
      free (whole);
      errno = ENAMETOOLONG;
      return false;
    }
  if (target[0] == '/')
    {
      *absolute = whole;
      errno = EXDEV;
      return false;
    }
  free (walk->rest);
  walk->rest = whole;
  return true;
}

static int
walk_finish (Walk       *walk,
             const char *name,
             int         found,
             int         flags)
{
  /* The kernel refuses a link put here since with ELOOP. */
  return (flags & O_PATH) != 0 && (flags & O_DIRECTORY) == 0
         ? fcntl (found, F_DUPFD_CLOEXEC, 3)
         : openat (walk->at, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* One step. Returns true when the walk is over, with *@opened the answer. */
static bool
walk_step (Walk  *walk,
           int    flags,
           int   *opened,
           char **absolute)
{
  const char *rest = walk->rest;
  const char *component;
  size_t length = next_component (&rest, &component);
  const char *peek = rest;
  const char *next;
  struct stat status;
  bool last = next_component (&peek, &next) == 0;
  char *name;
  char *left;
  int fd;
  bool over = true;

  *opened = -1;
  if (length == 0)
    {
      *opened = (flags & O_PATH) != 0
                ? fcntl (walk->at, F_DUPFD_CLOEXEC, 3)
                : openat (walk->at, ".", flags | O_CLOEXEC);
      return true;
    }
  name = ow_runner_buffer_copy (component, length);
  left = ow_runner_buffer_copy (rest, strlen (rest));
  if (strcmp (name, "..") == 0)
    {
      free (walk->rest);
      walk->rest = left;
      free (name);
      return !walk_up (walk);
    }

  fd = openat (walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &status) < 0)
    {
      close_keeping_errno (fd);
      free (left);
      free (name);
      return true;
    }
  if (S_ISLNK (status.st_mode))
    {
      over = !walk_link (walk, fd, rest, absolute);
      close_keeping_errno (fd);
      free (left);
    }
  else if (last && (!S_ISDIR (status.st_mode) || *rest == '\0'))
    {
      *opened = walk_finish (walk, name, fd, flags);
      if (*opened >= 0 && *rest == '/' && !S_ISDIR (status.st_mode))
        {
          close (*opened);
          *opened = -1;
          errno = ENOTDIR;
        }
      close_keeping_errno (fd);
      free (left);
    }
  else
    {
      free (walk->rest);
      walk->rest = left;
      if (S_ISDIR (status.st_mode))
        {
          over = !walk_enter (walk, name, fd);
        }
      else
        {
          close (fd);
          errno = ENOTDIR;
        }
    }
  free (name);
  return over;
}

static int
open_by_walk (int         root_fd,
              const char *below,
              int         flags,
              char      **absolute)
{
  Walk walk = { .root = root_fd };
  int opened = -1;

  walk.at = fcntl (root_fd, F_DUPFD_CLOEXEC, 3);
  if (walk.at < 0)
    return -1;
  walk.done = ow_runner_buffer_copy ("", 0);
  walk.rest = ow_runner_buffer_copy (below, strlen (below));
  while (!walk_step (&walk, flags, &opened, absolute))
    continue;
  close_keeping_errno (walk.at);
  free (walk.done);
  free (walk.rest);
  return opened;
}

static int
open_by_kernel (int         root_fd,
                const char *below,
                int         flags)
{
  struct open_how how = {
    .flags = (unsigned long long) (flags | O_CLOEXEC),
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
  };
  long fd = -1;

  if (!use_openat2)
    {
      errno = ENOSYS;
      return -1;
    }
  for (int i = 0; i < MAX_RETRIES; i++)
    {
      fd = syscall (SYS_openat2, root_fd, below, &how, sizeof how);
      if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
        break;
    }
  return (int) fd;
}

int
ow_runner_path_open_below (int         root_fd,
                           const char *below,
                           int         flags)
{
  char *absolute = NULL;
  int fd = open_by_kernel (root_fd, below, flags);

  if (fd < 0 && errno == ENOSYS)
    {
      fd = open_by_walk (root_fd, below, flags, &absolute);
      free (absolute);
    }
  return fd;
}

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
  while ((wanted = next_component (&folder, &part)) > 0)
    {
      if (next_component (below, &piece) != wanted || memcmp (part, piece, wanted) != 0)
        return false;
    }
  return true;
}

static size_t
count_components (const char *path)
{
  const char *component;
  size_t n = 0;

  while (next_component (&path, &component) > 0)
    n++;
  return n;
}

/* The folder that an absolute path is meant to lie in: the deepest one, so that a
 * read-only folder inside a writable one is itself. */
static bool
choose_folder (const OwRunnerRoots *roots,
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

static char *
relative_copy (const char *below)
{
  while (*below == '/')
    below++;
  return *below == '\0' ? ow_runner_buffer_copy (".", 1)
                        : ow_runner_buffer_copy (below, strlen (below));
}

static int
open_in_folders (const OwRunnerRoots *roots,
                 size_t              *root,
                 char               **below,
                 int                  flags)
{
  for (int hop = 0; hop < MAX_HOPS; hop++)
    {
      char *absolute = NULL;
      const char *rest;
      int fd = open_by_kernel (roots->fds[*root], *below, flags);
      bool inside;

      if (fd >= 0 || (errno != EXDEV && errno != ELOOP && errno != ENOSYS && errno != EAGAIN))
        return fd;
      /* The walk finds out where a link that the kernel refused leads to. */
      fd = open_by_walk (roots->fds[*root], *below, flags, &absolute);
      if (fd >= 0 || absolute == NULL)
        return fd;
      inside = choose_folder (roots, absolute, root, &rest);
      if (inside)
        {
          free (*below);
          *below = relative_copy (rest);
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
  int fd = open_in_folders (roots, &root, &below, flags);

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

  while (depth >= 0 && (length = next_component (&below, &component)) > 0)
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

bool
ow_runner_path_parse (OwRunnerPath        *self,
                      const OwRunnerRoots *roots,
                      const char          *path,
                      size_t               length,
                      OwRunnerToolResult  *result)
{
  const char *below = path;
  bool inside = true;

  memset (self, 0, sizeof *self);
  if (!well_formed (path, length, result))
    return false;

  self->shown = ow_runner_buffer_name (path, length);
  if (path[0] == '/')
    inside = choose_folder (roots, path, &self->root, &below);
  if (!inside || climbs_out (below))
    {
      fail_outside (roots, self->shown, result);
      ow_runner_path_clear (self);
      return false;
    }
  self->below = relative_copy (below);
  self->slashed = path[length - 1] == '/';
  return true;
}

void
ow_runner_path_clear (OwRunnerPath *self)
{
  free (self->below);
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

/* Goes up from a directory to the first folder of the session on the way, which is
 * the one whose rules hold there, by identity and not by name. False when there is
 * none: the directory was moved out since. */
static bool
governing_folder (const OwRunnerRoots *roots,
                  int                  directory,
                  bool                *read_only)
{
  int at = fcntl (directory, F_DUPFD_CLOEXEC, 3);
  bool found = false;

  for (int depth = 0; at >= 0 && depth < MAX_DEPTH && !found; depth++)
    {
      struct stat here;
      struct stat root;
      int up;

      if (fstat (at, &here) < 0)
        break;
      *read_only = false;
      for (size_t i = 0; i < roots->n; i++)
        {
          if (fstat (roots->fds[i], &root) < 0 || root.st_dev != here.st_dev ||
              root.st_ino != here.st_ino)
            continue;
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
      fd = ow_runner_path_open_below (roots->fds[root], path, O_PATH | O_DIRECTORY);
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
  place->parent = open_in_folders (roots, root, &folder, O_PATH | O_DIRECTORY);
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
      if (target[0] != '/' || choose_folder (roots, target, root, &rest))
        {
          char *whole = target[0] == '/' ? relative_copy (rest) : join (folder, target);

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
ow_runner_path_release (OwRunnerPlace *place)
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
  if (!governing_folder (roots, place->parent, &place->read_only))
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
ow_runner_path_locate (const OwRunnerPath  *self,
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
      ow_runner_path_release (place);
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
    ow_runner_path_release (place);
  return !result->is_error;
}
