/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-descent-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ow-runner-buffer-private.h"
#include "ow-runner-path-private.h"

/* Links followed on the way to one file; the kernel's own limit. */
#define MAX_LINKS 40
/* Times that an open is tried again while directories move under it. */
#define MAX_RETRIES 64

static bool use_openat2 = true;

void
ow_runner_descent_set_openat2 (bool available)
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
char *
ow_runner_descent_join (const char *before,
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
size_t
ow_runner_descent_component (const char **rest,
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
  char *done = ow_runner_descent_join (walk->done, name);

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
  while (done && walk->at >= 0 && (length = ow_runner_descent_component (&rest, &component)) > 0)
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
  whole = ow_runner_descent_join (target, rest);
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

/* Goes into a component that is neither ".." nor the end of the path. Returns true
 * when the walk is over. */
static bool
walk_into (Walk              *walk,
           const char        *name,
           int                fd,
           const struct stat *status)
{
  if (S_ISDIR (status->st_mode))
    return !walk_enter (walk, name, fd);
  close (fd);
  errno = ENOTDIR;
  return true;
}

/* Opens the component that the path ends with. */
static int
walk_end (Walk              *walk,
          const char        *name,
          int                fd,
          const struct stat *status,
          bool               slashed,
          int                flags)
{
  int opened = -1;

  if (slashed && !S_ISDIR (status->st_mode))
    errno = ENOTDIR;
  else
    opened = walk_finish (walk, name, fd, flags);
  close_keeping_errno (fd);
  return opened;
}

/* Deals with one component; @rest is what follows it and is taken over. Returns true
 * when the walk is over, with *@opened the answer. */
static bool
walk_component (Walk       *walk,
                const char *name,
                char       *rest,
                int         flags,
                int        *opened,
                char      **absolute)
{
  const char *peek = rest;
  const char *next;
  struct stat status;
  bool over;
  int fd;

  fd = openat (walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &status) < 0)
    {
      close_keeping_errno (fd);
      free (rest);
      return true;
    }
  if (S_ISLNK (status.st_mode))
    {
      over = !walk_link (walk, fd, rest, absolute);
      close_keeping_errno (fd);
      free (rest);
      return over;
    }
  if (ow_runner_descent_component (&peek, &next) == 0)
    {
      *opened = walk_end (walk, name, fd, &status, *rest == '/', flags);
      free (rest);
      return true;
    }
  free (walk->rest);
  walk->rest = rest;
  return walk_into (walk, name, fd, &status);
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
  size_t length = ow_runner_descent_component (&rest, &component);
  char *name;
  char *left;
  bool over;

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
      over = !walk_up (walk);
    }
  else
    {
      over = walk_component (walk, name, left, flags, opened, absolute);
    }
  free (name);
  return over;
}

int
ow_runner_descent_walk (int         root_fd,
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

int
ow_runner_descent_kernel (int         root_fd,
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

/* Opens one component that is no link and not "..". */
static int
open_plain (int         at,
            const char *name,
            int         flags)
{
  struct stat status;
  int fd = -1;

  if (strcmp (name, "..") != 0)
    fd = openat (at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  else
    errno = ELOOP;
  if (fd < 0 || fstat (fd, &status) < 0)
    {
      close_keeping_errno (fd);
      return -1;
    }
  close (fd);
  if (S_ISLNK (status.st_mode))
    {
      errno = ELOOP;
      return -1;
    }
  /* A link that is put here now is refused by O_NOFOLLOW. */
  return openat (at, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* The walk for kernels without openat2. */
static int
plain_walk (int         root_fd,
            const char *below,
            int         flags)
{
  int at = openat (root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const char *component;
  size_t length = ow_runner_descent_component (&below, &component);

  while (at >= 0 && length > 0)
    {
      char *name = ow_runner_buffer_copy (component, length);
      int next;

      length = ow_runner_descent_component (&below, &component);
      next = open_plain (at, name, length > 0 ? O_PATH | O_DIRECTORY : flags);
      close_keeping_errno (at);
      free (name);
      at = next;
    }
  return at;
}

int
ow_runner_descent_plain (int         root_fd,
                         const char *below,
                         int         flags)
{
  struct open_how how = {
    .flags = (unsigned long long) (flags | O_CLOEXEC),
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
  };
  const char *rest = below;
  const char *component;
  size_t length;
  int fd = -1;

  while ((length = ow_runner_descent_component (&rest, &component)) > 0)
    {
      if (length == 2 && memcmp (component, "..", 2) == 0)
        {
          errno = ELOOP;
          return -1;
        }
    }
  errno = ENOSYS;
  for (int i = 0; use_openat2 && i < MAX_RETRIES; i++)
    {
      fd = (int) syscall (SYS_openat2, root_fd, below, &how, sizeof how);
      if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
        break;
    }
  return fd < 0 && errno == ENOSYS ? plain_walk (root_fd, below, flags) : fd;
}

int
ow_runner_descent_open (int         root_fd,
                        const char *below,
                        int         flags)
{
  char *absolute = NULL;
  int fd = ow_runner_descent_kernel (root_fd, below, flags);

  if (fd < 0 && errno == ENOSYS)
    {
      fd = ow_runner_descent_walk (root_fd, below, flags, &absolute);
      free (absolute);
    }
  return fd;
}
