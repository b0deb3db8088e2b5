/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-file-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-utf8-private.h"

const char *
ow_runner_file_kind (mode_t mode)
{
  switch (mode & S_IFMT)
    {
    case S_IFREG:
      return "file";

    case S_IFDIR:
      return "folder";

    case S_IFLNK:
      return "symbolic link";

    case S_IFIFO:
      return "FIFO (named pipe)";

    case S_IFSOCK:
      return "socket";

    case S_IFCHR:
      return "character device";

    case S_IFBLK:
      return "block device";

    default:
      return "special file";
    }
}

bool
ow_runner_file_is_made_up (int          fd,
                           const char **name)
{
  static const struct {
    unsigned long magic;
    const char   *name;
  } systems[] = {
    { PROC_SUPER_MAGIC, "proc" },
    { SYSFS_MAGIC, "sysfs" },
    { DEBUGFS_MAGIC, "debugfs" },
    { TRACEFS_MAGIC, "tracefs" },
    { SECURITYFS_MAGIC, "securityfs" },
    { CGROUP_SUPER_MAGIC, "cgroup" },
    { CGROUP2_SUPER_MAGIC, "cgroup2" },
    { PSTOREFS_MAGIC, "pstore" },
    { BPF_FS_MAGIC, "bpf" },
    { NSFS_MAGIC, "nsfs" },
  };
  struct statfs system;

  if (fstatfs (fd, &system) < 0)
    return false;
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
    {
      if (systems[i].magic == ((unsigned long) system.f_type & 0xffffffffu))
        {
          *name = systems[i].name;
          return true;
        }
    }
  return false;
}

static bool
is_readable_kind (const OwRunnerPath *path,
                  int                 fd,
                  const struct stat  *status,
                  OwRunnerToolResult *result)
{
  const char *system;

  if (S_ISDIR (status->st_mode))
    ow_runner_args_fail (result, "%s is a folder, not a file. Use list to see what is in it.",
                         path->shown);
  else if (!S_ISREG (status->st_mode))
    ow_runner_args_fail (result, "%s is a %s, not a regular file, so it was not opened. Use the "
                         "shell with a timeout if it really is meant.", path->shown,
                         ow_runner_file_kind (status->st_mode));
  else if (ow_runner_file_is_made_up (fd, &system))
    ow_runner_args_fail (result, "%s is a file that the kernel makes up (%s), not a regular file, "
                         "so it was not opened. Use the shell with a timeout if it really is "
                         "meant.",
                         path->shown, system);
  else if (path->slashed)
    ow_runner_args_fail (result, "%s ends with a slash, but a file is there and not a folder. "
                         "Write it without the slash.", path->shown);
  return !result->is_error;
}

int
ow_runner_file_open (const OwRunnerPath  *path,
                     const OwRunnerRoots *roots,
                     struct stat         *status,
                     OwRunnerToolResult  *result)
{
  /* O_PATH first: opening a device can have effects even when nothing is read. */
  int probe = ow_runner_path_open (path, roots, O_PATH);
  int fd = -1;

  if (probe < 0)
    {
      ow_runner_path_fail (path, roots, "read", errno, result);
      return -1;
    }
  if (fstat (probe, status) < 0)
    ow_runner_path_fail (path, roots, "read", errno, result);
  else if (is_readable_kind (path, probe, status, result))
    fd = ow_runner_path_open (path, roots, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  close (probe);
  if (result->is_error)
    return -1;

  if (fd < 0 || fstat (fd, status) < 0)
    ow_runner_path_fail (path, roots, "read", errno, result);
  else if (is_readable_kind (path, fd, status, result))
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

int
ow_runner_file_open_at (int          directory,
                        const char  *name,
                        struct stat *status)
{
  int fd = openat (directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0)
    return -1;
  if (fstat (fd, status) == 0 && S_ISREG (status->st_mode))
    return fd;
  close (fd);
  return -1;
}

ssize_t
ow_runner_file_read (int    fd,
                     char  *buffer,
                     size_t size)
{
  ssize_t got;

  do
    got = read (fd, buffer, size);
  while (got < 0 && errno == EINTR);
  return got;
}

ssize_t
ow_runner_file_read_all (int    fd,
                         char  *buffer,
                         size_t size)
{
  size_t length = 0;
  ssize_t got = 1;

  while (length < size && got > 0)
    {
      got = ow_runner_file_read (fd, buffer + length, size - length);
      length += got > 0 ? (size_t) got : 0;
    }
  return got < 0 ? -1 : (ssize_t) length;
}

static bool
is_text (const char *head,
         size_t      length)
{
  return ow_runner_utf8_is_valid (head, length - ow_runner_utf8_incomplete (head, length));
}

/* UTF-16 without a mark: of nearly all pairs of bytes one and the same is a NUL, and the
 * other never. */
static bool
looks_wide (const char *head,
            size_t      length)
{
  size_t nuls[2] = { 0, 0 };

  for (size_t i = 0; i < length; i++)
    nuls[i % 2] += head[i] == '\0' ? 1 : 0;
  return length >= 8 && ((nuls[0] == 0 && nuls[1] >= length * 2 / 5) ||
                         (nuls[1] == 0 && nuls[0] >= length * 2 / 5));
}

const char *
ow_runner_file_binary_kind (const char *head,
                            size_t      length)
{
  static const struct {
    const char *magic;
    size_t      length;
    size_t      at;
    const char *kind;
  } kinds[] = {
    { "\x89PNG\r\n\x1a\n", 8, 0, "PNG image" },
    { "\xff\xd8\xff", 3, 0, "JPEG image" },
    { "GIF87a", 6, 0, "GIF image" },
    { "GIF89a", 6, 0, "GIF image" },
    { "WEBP", 4, 8, "WebP image" },
    { "II*\0", 4, 0, "TIFF image" },
    { "MM\0*", 4, 0, "TIFF image" },
    { "\0\0\1\0", 4, 0, "icon image" },
    { "ftyp", 4, 4, "MP4, HEIF or AVIF media file" },
    { "OggS", 4, 0, "Ogg media file" },
    { "ID3", 3, 0, "MP3 audio file" },
    { "WAVE", 4, 8, "WAV audio file" },
    { "%PDF-", 5, 0, "PDF document" },
    { "PK\3\4", 4, 0, "ZIP archive or office document" },
    { "\x1f\x8b", 2, 0, "gzip archive" },
    { "BZh", 3, 0, "bzip2 archive" },
    { "\xfd" "7zXZ\0", 6, 0, "xz archive" },
    { "\x28\xb5\x2f\xfd", 4, 0, "zstd archive" },
    { "7z\xbc\xaf\x27\x1c", 6, 0, "7z archive" },
    { "\x7f" "ELF", 4, 0, "ELF program or library" },
    { "SQLite format 3\0", 16, 0, "SQLite database" },
    { "\0asm", 4, 0, "WebAssembly module" },
    { "\xca\xfe\xba\xbe", 4, 0, "Java class or Mach-O file" },
    { "\xff\xfe", 2, 0, "UTF-16 text" },
    { "\xfe\xff", 2, 0, "UTF-16 text" },
  };

  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    {
      if (length >= kinds[i].at + kinds[i].length &&
          memcmp (head + kinds[i].at, kinds[i].magic, kinds[i].length) == 0)
        /* Some begin with letters, and so may a text. */
        return is_text (head, length) ? NULL : kinds[i].kind;
    }
  /* Asked of every file that is searched, and nearly all hold none. */
  if (memchr (head, '\0', length) == NULL)
    return NULL;
  return looks_wide (head, length) ? "UTF-16 text" : "binary file";
}

int
ow_runner_file_write_all (int         fd,
                          const char *content,
                          size_t      length)
{
  while (length > 0)
    {
      ssize_t put = write (fd, content, length);

      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return -1;
      content += put;
      length -= (size_t) put;
    }
  return 0;
}

static bool
temporary_name (char name[40])
{
  unsigned char random[12];

  if (getrandom (random, sizeof random, 0) != (ssize_t) sizeof random)
    return false;
  memcpy (name, ".ow-write-", 10);
  for (size_t i = 0; i < sizeof random; i++)
    snprintf (name + 10 + i * 2, 3, "%02x", random[i]);
  return true;
}

/* Gives a nameless file its temporary name; without /proc that cannot be done. */
static int
name_nameless (int         fd,
               int         parent,
               const char *name)
{
  char self[40];

  snprintf (self, sizeof self, "/proc/self/fd/%d", fd);
  return linkat (AT_FDCWD, self, parent, name, AT_SYMLINK_FOLLOW);
}

/* Access lists and what programs noted on the file go over to the new one, as far as they
 * can be read and the file system takes them. */
static void
copy_attributes (const OwRunnerPlace *place,
                 int                  to)
{
  char names[4096];
  struct stat status;
  int from = ow_runner_file_open_at (place->parent, place->name, &status);
  ssize_t length = from >= 0 ? flistxattr (from, names, sizeof names) : 0;

  for (ssize_t at = 0; at < length; at += (ssize_t) strlen (names + at) + 1)
    {
      char value[4096];
      ssize_t size;

      if (strncmp (names + at, "user.", 5) != 0 &&
          strcmp (names + at, "system.posix_acl_access") != 0)
        continue;
      size = fgetxattr (from, names + at, value, sizeof value);
      if (size >= 0)
        fsetxattr (to, names + at, value, (size_t) size, 0);
    }
  if (from >= 0)
    close (from);
}

/* Writes the content to a file that has the temporary name at the end. A nameless
 * file leaves nothing behind when the call is killed while it writes; where there
 * are none the file has its name from the start. */
static int
write_temporary (const OwRunnerPlace *place,
                 const char          *name,
                 const char          *content,
                 size_t               length)
{
  mode_t mode = place->exists ? place->status.st_mode & 01777
                              : place->mode != 0 ? place->mode & 01777 : 0666;
  int fd = openat (place->parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode & 0666);
  bool nameless = fd >= 0;
  int outcome;

  if (nameless && access ("/proc/self/fd", X_OK) < 0)
    {
      close (fd);
      nameless = false;
    }
  if (!nameless)
    fd = openat (place->parent, name,
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0666);
  if (fd < 0)
    return -1;

  outcome = ow_runner_file_write_all (fd, content, length);
  if (outcome == 0 && place->exists)
    {
      /* The owner can be kept by root only; for others the file becomes theirs, as
       * with every editor that saves by rename. */
      if (fchown (fd, place->status.st_uid, place->status.st_gid) < 0)
        errno = 0;
      outcome = fchmod (fd, mode);
      copy_attributes (place, fd);
    }
  else if (outcome == 0 && place->mode != 0)
    {
      outcome = fchmod (fd, mode);
    }
  if (outcome == 0 && !place->unsynced)
    outcome = fsync (fd);
  if (outcome == 0 && nameless)
    outcome = name_nameless (fd, place->parent, name);
  if (outcome < 0 && !nameless)
    {
      int saved = errno;

      unlinkat (place->parent, name, 0);
      errno = saved;
    }
  close (fd);
  return outcome;
}

/* rename(2) onto a name that is free, where the file system can do that. */
static int
rename_free (int         parent,
             const char *from,
             const char *to)
{
  if (renameat2 (parent, from, parent, to, RENAME_NOREPLACE) == 0)
    return 0;
  return errno == EINVAL || errno == ENOSYS ? renameat (parent, from, parent, to) : -1;
}

static bool
still_same (const OwRunnerPlace *place,
            const struct stat   *before)
{
  struct stat now;

  return fstatat (place->parent, place->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
         now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

bool
ow_runner_file_may_replace (const OwRunnerPath  *path,
                            const OwRunnerPlace *place,
                            OwRunnerToolResult  *result)
{
  if (!place->exists)
    return true;
  if (!S_ISREG (place->status.st_mode))
    ow_runner_args_fail (result, "%s is a %s, not a regular file, so it was not written. Choose "
                         "another name.", path->shown, ow_runner_file_kind (place->status.st_mode));
  else if (faccessat (place->parent, place->name, W_OK, AT_EACCESS) < 0)
    ow_runner_args_fail (result, "%s was not written: its permissions do not allow it. Look at its "
                         "mode with the shell (ls -l), and change it there if that is meant.",
                         path->shown);
  return !result->is_error;
}

/* Best effort: what was done is already seen by everyone. */
static void
sync_folder (const OwRunnerPlace *place)
{
  int directory = place->unsynced ? -1 : openat (place->parent, ".",
                                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (directory < 0)
    return;
  fsync (directory);
  close (directory);
}

bool
ow_runner_file_replace (const OwRunnerPath  *path,
                        const OwRunnerPlace *place,
                        const struct stat   *unchanged,
                        const char          *content,
                        size_t               length,
                        OwRunnerToolResult  *result)
{
  char name[40];

  if (!ow_runner_file_may_replace (path, place, result))
    return false;
  if (!temporary_name (name) || write_temporary (place, name, content, length) < 0)
    {
      ow_runner_args_fail (result, "%s was not written: %s. What was there is unchanged. Look at "
                           "the folder and the free space with the shell.", path->shown,
                           strerror (errno));
      return false;
    }
  if (unchanged != NULL && !still_same (place, unchanged))
    {
      unlinkat (place->parent, name, 0);
      ow_runner_args_fail (result, "%s was changed by something else while this call ran, so it "
                           "was left as it is. Read it again, then edit.", path->shown);
      return false;
    }
  if ((place->exists ? renameat (place->parent, name, place->parent, place->name)
                     : rename_free (place->parent, name, place->name)) < 0)
    {
      int saved = errno;

      unlinkat (place->parent, name, 0);
      if (saved == EEXIST)
        {
          ow_runner_args_fail (result, "%s was made by something else while this call ran, so it "
                               "was left as it is. Read it, then write it again.", path->shown);
          return false;
        }
      ow_runner_args_fail (result, "%s was not written: %s. What was there is unchanged. Look at "
                           "it with the shell.", path->shown, strerror (saved));
      return false;
    }
  sync_folder (place);
  return true;
}

bool
ow_runner_file_remove (const OwRunnerPath  *path,
                       const OwRunnerPlace *place,
                       const struct stat   *unchanged,
                       OwRunnerToolResult  *result)
{
  char name[40];
  OwRunnerPlace moved = *place;
  int saved;

  if (!ow_runner_file_may_replace (path, place, result))
    return false;
  /* Out of everyone's way first: what is then looked at is what is removed. */
  moved.name = name;
  if (!temporary_name (name) || rename_free (place->parent, place->name, name) < 0)
    {
      ow_runner_args_fail (result, "%s was not removed: %s.", path->shown, strerror (errno));
      return false;
    }
  if (!still_same (&moved, unchanged))
    {
      if (rename_free (place->parent, name, place->name) == 0)
        ow_runner_args_fail (result, "%s was changed by something else while this call ran, so it "
                             "was left as it is.", path->shown);
      else
        ow_runner_args_fail (result, "%s was changed by something else while this call ran. What "
                             "was there is now called %s in its folder.", path->shown, name);
      return false;
    }
  saved = unlinkat (place->parent, name, 0) < 0 ? errno : 0;
  if (saved != 0)
    {
      rename_free (place->parent, name, place->name);
      ow_runner_args_fail (result, "%s was not removed: %s.", path->shown, strerror (saved));
      return false;
    }
  sync_folder (place);
  return true;
}
