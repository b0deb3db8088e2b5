/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ow-runner-setup-private.h"

static bool
make_address (const char         *path,
              struct sockaddr_un *address,
              char                error[OW_RUNNER_ERROR_SIZE])
{
  memset (address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (*path == '\0' || strlen (path) >= sizeof address->sun_path)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "The socket path has %zu bytes; it must have 1 to "
                "%zu.", strlen (path), sizeof address->sun_path - 1);
      return false;
    }
  memcpy (address->sun_path, path, strlen (path));
  return true;
}

/* Connects to what lies at @path itself. The folder is the sandbox's, so the socket may have been
 * replaced by a link that leads to any socket of this machine, and we stand outside. */
static bool
connect_itself (int         fd,
                const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct stat info;
  bool connected;
  int place = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

  if (place < 0)
    return false;
  if (fstat (place, &info) < 0 || !S_ISSOCK (info.st_mode))
    {
      close (place);
      errno = ENOTSOCK;
      return false;
    }
  snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", place);
  connected = connect (fd, (struct sockaddr *) &address, sizeof address) == 0;
  close (place);
  return connected;
}

int
ow_runner_socket_connect (const char *path,
                          char        error[OW_RUNNER_ERROR_SIZE])
{
  struct sockaddr_un address;
  int fd;

  if (!make_address (path, &address, error))
    return -1;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect_itself (fd, path))
    return fd;
  snprintf (error, OW_RUNNER_ERROR_SIZE, "Nobody answers at \"%.300s\": %s.", path,
            strerror (errno));
  if (fd >= 0)
    close (fd);
  return -1;
}

/* Clears the way: a socket that nobody serves is removed, anything else is not. */
static bool
make_place (const char         *path,
            struct sockaddr_un *address,
            char                error[OW_RUNNER_ERROR_SIZE])
{
  struct stat info;
  bool live;
  int fd;

  if (lstat (path, &info) < 0)
    return true;
  if (!S_ISSOCK (info.st_mode))
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "\"%.300s\" is there already and is no socket.",
                path);
      return false;
    }
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return false;
  live = connect (fd, (struct sockaddr *) address, sizeof *address) == 0 || errno != ECONNREFUSED;
  close (fd);
  if (live)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "\"%.300s\" is served already by another process. "
                "End that one, or use another path.", path);
      return false;
    }
  return unlink (path) == 0;
}

static int
bind_and_listen (const char         *path,
                 struct sockaddr_un *address,
                 char                error[OW_RUNNER_ERROR_SIZE])
{
  mode_t mask;
  bool ok;
  int fd;

  error[0] = '\0';
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || !make_place (path, address, error))
    {
      if (fd >= 0)
        close (fd);
      if (error[0] == '\0')
        snprintf (error, OW_RUNNER_ERROR_SIZE, "No socket can be made at \"%.300s\": %s.", path,
                  strerror (errno));
      return -1;
    }
  mask = umask (0177);
  ok = bind (fd, (struct sockaddr *) address, sizeof *address) == 0 && listen (fd, 16) == 0;
  umask (mask);
  if (ok)
    return fd;
  snprintf (error, OW_RUNNER_ERROR_SIZE, "The socket \"%.300s\" cannot be made: %s.", path,
            strerror (errno));
  close (fd);
  return -1;
}

int
ow_runner_socket_listen (const char *path,
                         char        error[OW_RUNNER_ERROR_SIZE])
{
  struct sockaddr_un address;
  char *copy;
  int folder = -1;
  int fd;

  if (!make_address (path, &address, error))
    return -1;
  copy = strdup (path);
  if (copy != NULL)
    folder = open (dirname (copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free (copy);
  if (folder < 0)
    {
      snprintf (error, OW_RUNNER_ERROR_SIZE, "The folder of \"%.300s\" cannot be opened: %s.",
                path, strerror (errno));
      return -1;
    }
  /* Two that start at once must not both find the place free, or remove the other's. */
  flock (folder, LOCK_EX);
  fd = bind_and_listen (path, &address, error);
  close (folder);
  return fd;
}

void
ow_runner_socket_remove (const char *path)
{
  unlink (path);
}
