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

/* What a file is to be replaced by, and when. */
typedef struct {
  GBytes   *content;
  mode_t    mode;
  uid_t     uid;      /* (uid_t) -1: whoever writes it */
  gid_t     gid;
  gboolean  checked;  /* only when it still holds @old */
  GBytes   *old;      /* (nullable) it is not there */
} Replacement;

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
write_and_sync (int                fd,
                const Replacement *replacement)
{
  gsize length;
  gconstpointer data = g_bytes_get_data (replacement->content, &length);

  if ((replacement->uid != (uid_t) -1 && fchown (fd, replacement->uid, replacement->gid) < 0) ||
      fchmod (fd, replacement->mode) < 0 || !ow_fd_write_all (fd, data, length) || fsync (fd) < 0)
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

static gboolean
still_holds (int         dir_fd,
             const char *name,
             GBytes     *old)
{
  g_autoptr (GByteArray) content = g_byte_array_new ();
  gsize length;
  gconstpointer data = g_bytes_get_data (old, &length);
  int fd = openat (dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  gboolean same;

  if (fd < 0)
    return FALSE;

  same = check_readable (name, fd, length, NULL) && read_all (name, fd, length, content, NULL) &&
         content->len == length && (length == 0 || memcmp (content->data, data, length) == 0);
  close (fd);
  return same;
}

/* 0 or errno; EEXIST: it is not what it was. */
static int
put_in_place (int                dir_fd,
              const char        *temporary,
              const char        *name,
              const Replacement *replacement)
{
  struct stat st;
  int code;

  if (replacement->checked && replacement->old == NULL)
    {
      code = renameat2 (dir_fd, temporary, dir_fd, name, RENAME_NOREPLACE) < 0 ? errno : 0;
      /* Some file systems cannot do that. */
      if (code != EINVAL && code != ENOSYS)
        return code;
      if (fstatat (dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    }
  else if (replacement->checked && !still_holds (dir_fd, name, replacement->old))
    {
      return EEXIST;
    }

  return renameat (dir_fd, temporary, dir_fd, name) < 0 ? errno : 0;
}

/* 0 or errno. */
static int
replace_at (int                dir_fd,
            const char        *name,
            const Replacement *replacement)
{
  g_autofree char *temporary = NULL;
  int fd = create_beside (dir_fd, name, &temporary);
  int code;

  if (fd < 0)
    return errno;

  code = write_and_sync (fd, replacement);
  if (close (fd) < 0 && code == 0)
    code = errno;
  if (code == 0)
    code = put_in_place (dir_fd, temporary, name, replacement);
  if (code != 0)
    unlinkat (dir_fd, temporary, 0);
  else if (fsync (dir_fd) < 0)
    code = errno;

  return code;
}

/* Where @path really is: a link's target is replaced, not the link. @found is all zeros
 * when there is no file. */
static char *
resolve_target (const char   *path,
                struct stat  *found,
                GError      **error)
{
  g_autofree char *target = g_strdup (path);
  struct stat st;

  memset (found, 0, sizeof *found);
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

  *found = st;
  return g_steal_pointer (&target);
}

gboolean
ow_file_write_atomic_at (int          dir_fd,
                         const char  *name,
                         GBytes      *content,
                         int          mode,
                         GError     **error)
{
  const Replacement replacement = {
    .content = content, .mode = (mode_t) mode & 0777, .uid = (uid_t) -1,
  };
  int code = replace_at (dir_fd, name, &replacement);

  return code == 0 || fail (error, "write", name, code);
}

/* 0 or errno. */
static int
replace_target (const char        *target,
                const Replacement *replacement)
{
  g_autofree char *dir = g_path_get_dirname (target);
  g_autofree char *name = g_path_get_basename (target);
  int dir_fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int code;

  if (dir_fd < 0)
    return errno;

  code = replace_at (dir_fd, name, replacement);
  close (dir_fd);
  return code;
}

gboolean
ow_file_write_atomic (const char  *path,
                      GBytes      *content,
                      int          mode,
                      GError     **error)
{
  struct stat found;
  g_autofree char *target = resolve_target (path, &found, error);
  Replacement replacement = {
    .content = content, .mode = (mode_t) mode & 0777, .uid = (uid_t) -1,
  };
  int code;

  if (target == NULL)
    return FALSE;

  if (found.st_mode != 0)
    replacement.mode = found.st_mode & 0777;
  code = replace_target (target, &replacement);

  return code == 0 || fail (error, "write", path, code);
}

gboolean
ow_file_replace (const char  *path,
                 GBytes      *old,
                 GBytes      *content,
                 int          mode,
                 gboolean    *changed,
                 GError     **error)
{
  struct stat found;
  g_autofree char *target = resolve_target (path, &found, error);
  Replacement replacement = {
    .content = content, .mode = (mode_t) mode & 0777, .uid = (uid_t) -1, .checked = TRUE,
    .old = old,
  };
  int code;

  *changed = FALSE;
  if (target == NULL)
    return FALSE;

  if (found.st_mode != 0)
    {
      /* A rename needs rights to the directory only, and root has all of them. */
      if ((found.st_mode & 0200) == 0)
        return fail (error, "write", path, EACCES);
      if (faccessat (AT_FDCWD, target, W_OK, AT_EACCESS) < 0)
        return fail (error, "write", path, errno);
      replacement.mode = found.st_mode & 0777;
      replacement.uid = found.st_uid;
      replacement.gid = found.st_gid;
    }
  code = replace_target (target, &replacement);
  *changed = code == EEXIST;

  return code == 0 || fail (error, "write", path, code);
}
