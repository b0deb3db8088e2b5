/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-scratch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
ow_runner_scratch_open (void)
{
  static const char *const folders[] = { "/tmp", "/var/tmp" };
  const char *home = getenv ("HOME");
  /* Sandboxes refuse this one, for a program could be run from it. */
  int fd = memfd_create ("shell", MFD_CLOEXEC);

  for (size_t i = 0; i < sizeof folders / sizeof folders[0] && fd < 0; i++)
    fd = open (folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && home != NULL)
    fd = open (home, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd;
}

bool
ow_runner_scratch_put (int         fd,
                       const char *data,
                       size_t      length)
{
  size_t at = 0;

  if (ftruncate (fd, 0) < 0)
    return false;
  while (at < length)
    {
      ssize_t n = pwrite (fd, data + at, length - at, (off_t) at);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return false;
      at += (size_t) n;
    }
  return true;
}

bool
ow_runner_scratch_copy (int    from,
                        int    to,
                        size_t max)
{
  struct stat status;
  char *data;
  bool copied;

  if (ftruncate (to, 0) < 0 || fstat (from, &status) < 0)
    return false;
  if ((size_t) status.st_size > max)
    {
      errno = E2BIG;
      return false;
    }
  data = malloc ((size_t) status.st_size + 1);
  if (data == NULL)
    return false;
  copied = pread (from, data, (size_t) status.st_size, 0) == (ssize_t) status.st_size
           && ow_runner_scratch_put (to, data, (size_t) status.st_size);
  free (data);
  if (!copied && ftruncate (to, 0) < 0)
    return false;
  return copied;
}
