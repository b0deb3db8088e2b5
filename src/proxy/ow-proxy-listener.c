/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-listener-private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int
fail (char        error[OW_WIRE_ERROR_SIZE],
      const char *what,
      int         listener)
{
  snprintf (error, OW_WIRE_ERROR_SIZE, "The socket cannot be made: %s", what);
  if (listener >= 0)
    close (listener);
  return -1;
}

static bool
clear_path (const char *path,
            char        error[OW_WIRE_ERROR_SIZE])
{
  struct stat there;

  if (lstat (path, &there) < 0)
    {
      if (errno == ENOENT)
        return true;
      fail (error, strerror (errno), -1);
      return false;
    }
  if (!S_ISSOCK (there.st_mode) || there.st_uid != geteuid ())
    {
      fail (error, "something else is at its path", -1);
      return false;
    }
  if (unlink (path) == 0)
    return true;
  fail (error, strerror (errno), -1);
  return false;
}

int
ow_proxy_listener_open (const char *path,
                        char        error[OW_WIRE_ERROR_SIZE])
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  mode_t mask;
  int listener;
  int bound;

  if (path[0] == '\0' || strlen (path) >= sizeof address.sun_path)
    return fail (error, "its path is empty or too long", -1);
  memcpy (address.sun_path, path, strlen (path) + 1);
  if (!clear_path (path, error))
    return -1;

  listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0)
    return fail (error, strerror (errno), -1);
  mask = umask (0177);
  bound = bind (listener, (const struct sockaddr *) &address, sizeof address);
  umask (mask);
  if (bound < 0)
    return fail (error, strerror (errno), listener);
  if (listen (listener, 128) < 0)
    return fail (error, strerror (errno), listener);
  return listener;
}

void
ow_proxy_listener_close (int         listener,
                         const char *path)
{
  close (listener);
  unlink (path);
}
