/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-copy-read-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/ow-fd.h"
#include "base/ow-text.h"

#define SHOWN_CHARS 200

char *
ow_credential_copy_show (const char *path)
{
  g_autofree char *text = ow_text_from_bytes (path, -1);
  g_autofree char *visible = ow_text_visible (text);
  g_autofree char *named = g_strconcat ("~/", visible, NULL);

  return ow_text_shorten (named, SHOWN_CHARS, TRUE);
}

void
ow_credential_copy_skip (OwCredentialCopy *self,
                         const char       *path,
                         const char       *why)
{
  g_autofree char *shown = ow_credential_copy_show (path);
  g_autofree char *text = g_strdup_printf ("%s (%s)", shown, why);

  for (guint i = 0; i < self->left_out->len; i++)
    if (strcmp (g_ptr_array_index (self->left_out, i), text) == 0)
      return;
  g_ptr_array_add (self->left_out, g_steal_pointer (&text));
}

/* What the kernel makes up is no file, whoever it says owns it: /proc/self/environ is the
 * program's own environment. */
static gboolean
is_made_up (int fd)
{
  static const guint32 kinds[] = {
    PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, NSFS_MAGIC, DEVPTS_SUPER_MAGIC,
    PSTOREFS_MAGIC, EFIVARFS_MAGIC, SELINUX_MAGIC, ANON_INODE_FS_MAGIC, PIPEFS_MAGIC,
  };
  struct statfs fs;

  if (fstatfs (fd, &fs) != 0)
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if ((guint32) fs.f_type == kinds[i])
      return TRUE;
  return FALSE;
}

static gboolean
is_below (const char *folder,
          const char *path)
{
  gsize length = strlen (folder);

  return strncmp (folder, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

gboolean
ow_credential_copy_is_ours (OwCredentialCopy *self,
                            int               fd)
{
  g_autofree char *path = ow_fd_get_path (fd);

  if (path == NULL)
    return TRUE;
  for (guint i = 0; i < self->ours->len; i++)
    if (is_below (g_ptr_array_index (self->ours, i), path))
      return TRUE;
  return FALSE;
}

/* Links of /proc lead anywhere, without a name that could be looked at. */
static int
open_found (int         dir_fd,
            const char *name)
{
  struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };

  return (int) syscall (SYS_openat2, dir_fd, name, &how, sizeof how);
}

int
ow_credential_copy_find (OwCredentialCopy *self,
                         int               dir_fd,
                         const char       *name,
                         const char       *path,
                         struct stat      *st,
                         gboolean         *is_link)
{
  int fd;

  *is_link = fstatat (dir_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (st->st_mode);
  fd = open_found (dir_fd, name);
  if (fd >= 0 && fstat (fd, st) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  else if (errno == ENOENT && !*is_link)
    return -1;
  ow_credential_copy_skip (self, path, *is_link ? "a link that leads nowhere"
                                                : "it cannot be opened");
  return -1;
}

/* Root owns all of the system's, and a link to one of its secrets makes that no login of root's. */
static gboolean
is_systems (OwCredentialCopy *self,
            int               fd)
{
  static const char * const places[] = { "/etc", "/boot", "/run", "/var/lib", "/dev" };
  g_autofree char *path = ow_fd_get_path (fd);

  if (path == NULL)
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    if (is_below (places[i], path) && !is_below (self->person, path))
      return TRUE;
  return FALSE;
}

static const char *
filter (OwCredentialCopy *self,
        int               fd)
{
  g_autofree char *path = self->filter != NULL ? ow_fd_get_path (fd) : NULL;

  if (self->filter == NULL)
    return NULL;
  return path != NULL ? self->filter (self->person, path) : "it cannot be opened";
}

static const char *
kind_of (mode_t mode)
{
  if (S_ISSOCK (mode))
    return "a socket";
  if (S_ISFIFO (mode))
    return "a pipe";
  if (S_ISDIR (mode))
    return "a folder";
  return "a device";
}

gboolean
ow_credential_copy_may (OwCredentialCopy  *self,
                        int                fd,
                        const struct stat *st,
                        const char        *path)
{
  const char *why = NULL;

  if (!S_ISREG (st->st_mode))
    why = kind_of (st->st_mode);
  else if (is_made_up (fd))
    why = "the kernel's, and no file";
  /* A settings manager may keep them as the system's, where everybody can read them. */
  else if (st->st_uid != self->owner && !(st->st_uid == 0 && (st->st_mode & 0004) != 0))
    why = "another account's";
  else if (ow_credential_copy_is_ours (self, fd))
    why = "OpenWorker's own";
  else if ((st->st_mode & 0004) == 0 && is_systems (self, fd))
    why = "the system's";
  else if (st->st_size > OW_CREDENTIAL_FILE_BYTES)
    why = "larger than 16 MiB";
  else
    why = filter (self, fd);
  if (why != NULL)
    ow_credential_copy_skip (self, path, why);
  return why == NULL;
}

int
ow_credential_copy_open (OwCredentialCopy *self,
                         int               found_fd,
                         const char       *path,
                         int               flags)
{
  g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", found_fd);
  int fd = open (name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);

  if (fd < 0)
    ow_credential_copy_skip (self, path, errno == EACCES ? "it may not be read"
                                                         : "it cannot be opened");
  return fd;
}

/* A folder that holds the home, or is it, is far more than any entry. */
static const char *
why_no_folder (OwCredentialCopy *self,
               int               fd)
{
  g_autofree char *path = ow_fd_get_path (fd);

  if (path == NULL || is_below (path, self->person))
    return "it is the home itself, or holds it";
  if (!is_below (self->person, path))
    return "a link to a folder outside of the home";
  for (guint i = 0; i < self->ours->len; i++)
    if (is_below (g_ptr_array_index (self->ours, i), path) ||
        is_below (path, g_ptr_array_index (self->ours, i)))
      return "it holds OpenWorker's own files";
  return NULL;
}

int
ow_credential_copy_open_folder (OwCredentialCopy *self,
                                const char       *path)
{
  struct stat st;
  gboolean is_link;
  int found = ow_credential_copy_find (self, self->person_fd, path, path, &st, &is_link);
  const char *why = NULL;
  int fd = -1;

  if (found < 0)
    return -1;
  why = S_ISDIR (st.st_mode) ? why_no_folder (self, found) : kind_of (st.st_mode);
  if (why != NULL)
    ow_credential_copy_skip (self, path, why);
  else
    fd = ow_credential_copy_open (self, found, path, O_DIRECTORY);
  close (found);
  return fd;
}

OwCredentialKind
ow_credential_copy_look (OwCredentialCopy *self,
                         const char       *path)
{
  guint noted = self->left_out->len;
  struct stat st;
  gboolean is_link;
  int fd = ow_credential_copy_find (self, self->person_fd, path, path, &st, &is_link);
  gboolean file;
  gboolean good;

  if (fd < 0)
    return self->left_out->len == noted ? OW_CREDENTIAL_MISSING : OW_CREDENTIAL_UNUSABLE;
  file = !S_ISDIR (st.st_mode);
  good = file && ow_credential_copy_may (self, fd, &st, path);
  close (fd);
  if (file)
    return good ? OW_CREDENTIAL_FILE : OW_CREDENTIAL_UNUSABLE;
  fd = ow_credential_copy_open_folder (self, path);
  if (fd < 0)
    return OW_CREDENTIAL_UNUSABLE;
  close (fd);
  return OW_CREDENTIAL_FOLDER;
}

GBytes *
ow_credential_copy_read (OwCredentialCopy *self,
                         const char       *path,
                         gsize             max)
{
  struct stat st;
  gboolean is_link;
  int found = ow_credential_copy_find (self, self->person_fd, path, path, &st, &is_link);
  g_autofree char *data = NULL;
  gsize length = 0;
  int fd = -1;

  if (found >= 0 && ow_credential_copy_may (self, found, &st, path))
    fd = ow_credential_copy_open (self, found, path, 0);
  if (found >= 0)
    close (found);
  if (fd < 0)
    return NULL;
  data = g_malloc (max + 1);
  while (length <= max)
    {
      ssize_t n = read (fd, data + length, max + 1 - length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      length += (gsize) n;
    }
  close (fd);
  if (length <= max)
    return g_bytes_new_take (g_steal_pointer (&data), length);
  ow_credential_copy_skip (self, path, "too large");
  return NULL;
}

static int
compare_names (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char * const *) a, *(const char * const *) b);
}

GPtrArray *
ow_credential_copy_list (OwCredentialCopy *self,
                         const char       *path)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  int fd = ow_credential_copy_open_folder (self, path);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry;

  if (fd >= 0 && dir == NULL)
    close (fd);
  while (dir != NULL && self->names > 0 && (entry = readdir (dir)) != NULL)
    {
      self->names--;
      if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
        g_ptr_array_add (names, g_strdup (entry->d_name));
    }
  if (dir != NULL)
    closedir (dir);
  g_ptr_array_sort (names, compare_names);
  return names;
}
