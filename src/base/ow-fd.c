/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-fd.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

gboolean
ow_fd_write_all (int           fd,
                 gconstpointer data,
                 gsize         length)
{
  const char *p = data;

  while (length > 0)
    {
      ssize_t n = write (fd, p, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          errno = n == 0 ? EIO : errno;
          return FALSE;
        }
      p += n;
      length -= (gsize) n;
    }
  return TRUE;
}

char *
ow_fd_get_path (int fd)
{
  g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", fd);
  char buffer[PATH_MAX + 16];
  ssize_t length = readlink (name, buffer, sizeof buffer - 1);

  /* A path that fills the buffer may have been cut. */
  if (length <= 0 || (size_t) length >= sizeof buffer - 1 || buffer[0] != '/')
    return NULL;
  return g_strndup (buffer, (gsize) length);
}
