/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"

#define CHUNK_BYTES 65536

static gboolean
fail (GError     **error,
      const char  *verb,
      const char  *path,
      int          code)
{
  ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot %s %s: %s", verb, path,
                 g_strerror (code));
  return FALSE;
}

static gboolean
check_readable (const char   *path,
                int           fd,
                gsize         max_bytes,
                GError      **error)
{
  struct stat st;

  if (fstat (fd, &st) < 0)
    return fail (error, "read", path, errno);

  if (!S_ISREG (st.st_mode))
    {
      ow_error_setf (error, OW_ERROR_DATA, NULL, "Cannot read %s: it is not a regular file", path);
      return FALSE;
    }
  if ((guint64) st.st_size > max_bytes)
    {
      ow_error_setf (error, OW_ERROR_DATA, NULL,
                     "Cannot read %s: it is larger than %" G_GSIZE_FORMAT " bytes", path,
                     max_bytes);
      return FALSE;
    }

  return TRUE;
}

/* The size is looked at again while reading: a file can grow, and some say 0. */
static gboolean
read_all (const char  *path,
          int          fd,
          gsize        max_bytes,
          GByteArray  *content,
          GError     **error)
{
  g_autofree guint8 *chunk = g_malloc (CHUNK_BYTES);

  for (;;)
    {
      ssize_t n = read (fd, chunk, CHUNK_BYTES);

      if (n == 0)
        return TRUE;
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return fail (error, "read", path, errno);
      if (content->len + (gsize) n > max_bytes)
        {
          ow_error_setf (error, OW_ERROR_DATA, NULL,
                         "Cannot read %s: it is larger than %" G_GSIZE_FORMAT " bytes", path,
                         max_bytes);
          return FALSE;
        }
      g_byte_array_append (content, chunk, (guint) n);
    }
}

GBytes *
ow_file_read (const char  *path,
              gsize        max_bytes,
              GError     **error)
{
  g_autoptr (GByteArray) content = g_byte_array_new ();
  gboolean ok;
  int fd;

  g_return_val_if_fail (max_bytes < G_MAXUINT / 2, NULL);

  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    {
      fail (error, "read", path, errno);
      return NULL;
    }

  ok = check_readable (path, fd, max_bytes, error) &&
       read_all (path, fd, max_bytes, content, error);
  close (fd);
  if (!ok)
    return NULL;

  return g_byte_array_free_to_bytes (g_steal_pointer (&content));
}

/* 0 or errno. */
static int
write_and_sync (int     fd,
                GBytes *content,
                mode_t  mode)
{
  gsize length;
  gconstpointer data = g_bytes_get_data (content, &length);

  if (fchmod (fd, mode) < 0 || !ow_fd_write_all (fd, data, length) || fsync (fd) < 0)
    return errno;

  return 0;
}

/* The name's only duty is to be free: O_EXCL refuses one that exists. */
static int
create_beside (int          dir_fd,
               const char  *name,
               char       **temporary)
{
  for (int i = 0; i < 16; i++)
    {
      g_autofree char *candidate = g_strdup_printf (".%s.%08x.tmp", name, g_random_int ());
      int fd = openat (dir_fd, candidate, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       0600);

      if (fd >= 0)
        {
          *temporary = g_steal_pointer (&candidate);
          return fd;
        }
      if (errno != EEXIST)
        return -1;
    }

  return -1;
}

/* 0 or errno. */
static int
replace_at (int         dir_fd,
            const char *name,
            GBytes     *content,
            mode_t      mode)
{
  g_autofree char *temporary = NULL;
  int fd = create_beside (dir_fd, name, &temporary);
  int code;

  if (fd < 0)
    return errno;

  code = write_and_sync (fd, content, mode);
  if (close (fd) < 0 && code == 0)
    code = errno;
  if (code == 0 && renameat (dir_fd, temporary, dir_fd, name) < 0)
    code = errno;
  if (code != 0)
    unlinkat (dir_fd, temporary, 0);
  else if (fsync (dir_fd) < 0)
    code = errno;

  return code;
}

/* Where @path really is: a link's target is replaced, not the link. */
static char *
resolve_target (const char  *path,
                mode_t      *mode,
                GError     **error)
{
  g_autofree char *target = g_strdup (path);
  struct stat st;

  if (lstat (path, &st) < 0)
    {
      if (errno == ENOENT)
        return g_steal_pointer (&target);
      fail (error, "write", path, errno);
      return NULL;
    }

  if (S_ISLNK (st.st_mode))
    {
      char *real = realpath (path, NULL);

      if (real == NULL || lstat (real, &st) < 0)
        {
          int code = errno;

          free (real);
          fail (error, "write", path, code);
          return NULL;
        }
      g_free (target);
      target = g_strdup (real);
      free (real);
    }

  if (!S_ISREG (st.st_mode))
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot write %s: it is not a regular file",
                     path);
      return NULL;
    }

  *mode = st.st_mode & 0777;
  return g_steal_pointer (&target);
}

gboolean
ow_file_write_atomic_at (int          dir_fd,
                         const char  *name,
                         GBytes      *content,
                         int          mode,
                         GError     **error)
{
  int code = replace_at (dir_fd, name, content, (mode_t) mode & 0777);

  return code == 0 || fail (error, "write", name, code);
}

gboolean
ow_file_write_atomic (const char  *path,
                      GBytes      *content,
                      int          mode,
                      GError     **error)
{
  g_autofree char *target = NULL;
  g_autofree char *dir = NULL;
  g_autofree char *name = NULL;
  mode_t final_mode = (mode_t) mode & 0777;
  int dir_fd, code;

  target = resolve_target (path, &final_mode, error);
  if (target == NULL)
    return FALSE;

  dir = g_path_get_dirname (target);
  name = g_path_get_basename (target);
  dir_fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0)
    return fail (error, "write", path, errno);

  code = replace_at (dir_fd, name, content, final_mode);
  close (dir_fd);

  return code == 0 || fail (error, "write", path, code);
}
