/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Removing a tree whose content an agent has made: any depth, any modes, links and
 * mounts to anywhere. The way down is a list on the heap; only the upper levels keep
 * their descriptors, the others are found again through "..", whose identity must be
 * the one that was seen on the way down. */

#include "base/ow-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/ow-error.h"

#define KEPT_LEVELS 64
/* Something may still be writing: a folder that fills again is emptied this often. */
#define MAX_PASSES 8
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

typedef struct {
  guint64 dev;
  guint64 ino;
  guint64 mount;
} Identity;

typedef struct {
  DIR      *dir;   /* (nullable) closed while far below it */
  char     *name;  /* (owned) in its parent */
  Identity  identity;
  guint     passes;
} Level;

static void
level_clear (gpointer data)
{
  Level *level = data;

  if (level->dir != NULL)
    closedir (level->dir);
  g_free (level->name);
}

static gboolean
get_identity (int       fd,
              Identity *identity)
{
  struct statx stx = { 0 };

  if (statx (fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_MNT_ID, &stx) < 0)
    return FALSE;

  identity->dev = makedev (stx.stx_dev_major, stx.stx_dev_minor);
  identity->ino = stx.stx_ino;
  /* Before Linux 5.8 there is no mount id: then the device alone has to do. */
  identity->mount = (stx.stx_mask & STATX_MNT_ID) != 0 ? stx.stx_mnt_id : 0;
  return TRUE;
}

static gboolean
same_mount (const Identity *a,
            const Identity *b)
{
  return a->dev == b->dev && a->mount == b->mount;
}

/* A folder without our own permissions (mode 0, or 0555 as package caches are) is
 * given them, through a descriptor that cannot have followed a link. */
static int
open_for_removal (int         parent_fd,
                  const char *name)
{
  int fd = openat (parent_fd, name, OPEN_FLAGS);
  struct stat st;

  if (fd < 0 && errno == EACCES)
    {
      int path_fd = openat (parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      char link[64];

      if (path_fd < 0)
        return -1;
      g_snprintf (link, sizeof link, "/proc/self/fd/%d", path_fd);
      if (chmod (link, 0700) == 0)
        fd = openat (parent_fd, name, OPEN_FLAGS);
      close (path_fd);
    }
  if (fd >= 0 && fstat (fd, &st) == 0 && (st.st_mode & 0700) != 0700)
    fchmod (fd, 0700);

  return fd;
}

/* Goes into @name of @parent_fd. 0 or errno; EXDEV: a mount. */
static int
enter (GArray         *levels,
       int             parent_fd,
       const char     *name,
       const Identity *mount)
{
  Level level = { 0 };
  int fd = open_for_removal (parent_fd, name);

  if (fd < 0)
    return errno;
  if (!get_identity (fd, &level.identity) || !same_mount (&level.identity, mount))
    {
      close (fd);
      return EXDEV;
    }
  level.dir = fdopendir (fd);
  if (level.dir == NULL)
    {
      int code = errno;

      close (fd);
      return code;
    }

  level.name = g_strdup (name);
  g_array_append_val (levels, level);
  if (levels->len > KEPT_LEVELS)
    {
      Level *above = &g_array_index (levels, Level, levels->len - 2);

      closedir (above->dir);
      above->dir = NULL;
    }
  return 0;
}

/* Opens the level above the last one again, if it was closed. 0 or errno. */
static int
reopen_above (GArray *levels)
{
  Level *level = &g_array_index (levels, Level, levels->len - 1);
  Level *above = &g_array_index (levels, Level, levels->len - 2);
  Identity identity;
  int fd;

  if (above->dir != NULL)
    return 0;

  fd = openat (dirfd (level->dir), "..", OPEN_FLAGS);
  if (fd < 0)
    return errno;
  if (!get_identity (fd, &identity) || identity.ino != above->identity.ino ||
      !same_mount (&identity, &above->identity))
    {
      close (fd);
      return ESTALE;
    }
  above->dir = fdopendir (fd);
  if (above->dir == NULL)
    {
      int code = errno;

      close (fd);
      return code;
    }
  return 0;
}

/* Removes one entry, or goes into it. 0 or errno. */
static int
remove_entry (GArray              *levels,
              const struct dirent *entry,
              const Identity      *mount)
{
  int fd = dirfd (g_array_index (levels, Level, levels->len - 1).dir);
  int code;

  if (entry->d_type != DT_DIR)
    {
      if (unlinkat (fd, entry->d_name, 0) == 0 || errno == ENOENT)
        return 0;
      if (errno != EISDIR && errno != EPERM)
        return errno;
    }
  if (unlinkat (fd, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
    return 0;
  if (errno == ENOTDIR)
    return unlinkat (fd, entry->d_name, 0) == 0 || errno == ENOENT ? 0 : errno;

  code = enter (levels, fd, entry->d_name, mount);
  return code == ENOENT ? 0 : code;
}

/* The last level has no entries left: removes it. 0 or errno. */
static int
leave (GArray *levels,
       int     top_fd)
{
  Level *level = &g_array_index (levels, Level, levels->len - 1);
  int fd = top_fd;

  if (levels->len > 1)
    {
      int code = reopen_above (levels);

      if (code != 0)
        return code;
      fd = dirfd (g_array_index (levels, Level, levels->len - 2).dir);
    }

  if (unlinkat (fd, level->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
    {
      if ((errno != ENOTEMPTY && errno != EEXIST) || ++level->passes > MAX_PASSES)
        return errno;
      rewinddir (level->dir);
      return 0;
    }

  g_array_set_size (levels, levels->len - 1);
  return 0;
}

/* 0 or errno. */
static int
empty_levels (GArray         *levels,
              int             top_fd,
              const Identity *mount)
{
  int code = 0;

  while (levels->len > 0 && code == 0)
    {
      DIR *dir = g_array_index (levels, Level, levels->len - 1).dir;
      struct dirent *entry;

      errno = 0;
      entry = readdir (dir);
      if (entry == NULL)
        code = errno != 0 ? errno : leave (levels, top_fd);
      else if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
        code = remove_entry (levels, entry, mount);
    }

  return code;
}

static gboolean
fail (GError     **error,
      const char  *path,
      int          code)
{
  if (code == EXDEV)
    ow_error_setf (error, OW_ERROR_FAILED, "Unmount it and try again.",
                   "Cannot remove %s: something is mounted in it", path);
  else if (code == ESTALE)
    ow_error_setf (error, OW_ERROR_FAILED, "Try again when nothing works in it.",
                   "Cannot remove %s: its folders were moved meanwhile", path);
  else
    ow_error_setf (error, OW_ERROR_FAILED, NULL, "Cannot remove %s: %s", path,
                   g_strerror (code));
  return FALSE;
}

gboolean
ow_file_remove_tree (const char  *path,
                     GError     **error)
{
  g_autoptr (GArray) levels = g_array_new (FALSE, FALSE, sizeof (Level));
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  Identity mount;
  int top_fd, code;

  if (strcmp (name, ".") == 0 || strcmp (name, "..") == 0 || strcmp (name, "/") == 0)
    return fail (error, path, EINVAL);

  g_array_set_clear_func (levels, level_clear);
  top_fd = open (parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top_fd < 0)
    return errno == ENOENT || fail (error, path, errno);

  /* A mount on @path itself counts as one inside: what is under it was ours to
   * remove, not what somebody put over it. */
  code = get_identity (top_fd, &mount) ? enter (levels, top_fd, name, &mount) : errno;
  if (code == ENOENT)
    code = 0;
  else if (code == 0)
    code = empty_levels (levels, top_fd, &mount);
  close (top_fd);

  return code == 0 || fail (error, path, code);
}
