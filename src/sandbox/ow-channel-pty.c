/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-channel-pty-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "base/ow-error.h"

/* -1, with errno. */
static int
open_slave (int master)
{
  char path[PATH_MAX];
  struct termios raw;
  int error;
  int fd;

  if (grantpt (master) < 0 || unlockpt (master) < 0)
    return -1;
  error = ptsname_r (master, path, sizeof path);
  if (error != 0)
    {
      errno = error;
      return -1;
    }
  fd = open (path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  if (tcgetattr (fd, &raw) == 0)
    {
      cfmakeraw (&raw);
      if (tcsetattr (fd, TCSANOW, &raw) == 0)
        return fd;
    }
  error = errno;
  close (fd);
  errno = error;
  return -1;
}

gboolean
ow_channel_pty_open (int     *master,
                     int     *slave,
                     GError **error)
{
  int fd = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC);

  if (fd >= 0 && g_unix_set_fd_nonblocking (fd, TRUE, NULL))
    {
      *slave = open_slave (fd);
      *master = fd;
      if (*slave >= 0)
        return TRUE;
    }
  ow_error_set (error, OW_ERROR_FAILED, "No terminal could be made for the stream to the sandbox",
                g_strerror (errno), "Look at kernel.pty.max and at /dev/ptmx");
  if (fd >= 0)
    close (fd);
  return FALSE;
}
