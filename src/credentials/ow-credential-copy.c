/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-credential-copy-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-paths.h"
#include "base/ow-state.h"
#include "ow-credential-copy-read-private.h"

#define MAX_FILES   4000
#define MAX_NAMES   20000
#define MAX_BYTES   (64 * 1024 * 1024)
#define MAX_DEPTH   16
#define CHUNK_BYTES 65536

#define FULL "more than a sandbox gets a copy of"

/* What a program keeps there for speed only, and makes again. */
static const char * const caches[] = { ".kube/cache", ".kube/http-cache" };

static void
add_ours (OwCredentialCopy *self,
          char             *taken)
{
  g_autofree char *path = taken;
  g_autofree char *real = realpath (path, NULL);

  if (real != NULL)
    g_ptr_array_add (self->ours, g_strdup (real));
}

OwCredentialCopy *
ow_credential_copy_new (const char   *person,
                        const char   *home,
                        uid_t         uid,
                        gid_t         gid,
                        gint64        deadline,
                        GCancellable *cancellable,
                        GError      **error)
{
  g_autoptr (OwCredentialCopy) self = g_new0 (OwCredentialCopy, 1);
  g_autofree char *config = ow_paths_get_config_file ();
  struct stat st;

  self->named = g_strdup (person);
  self->home = g_strdup (home);
  self->uid = uid;
  self->gid = gid;
  self->deadline = deadline;
  self->cancellable = cancellable;
  self->files = MAX_FILES;
  self->names = MAX_NAMES;
  self->bytes = MAX_BYTES;
  self->ours = g_ptr_array_new_with_free_func (g_free);
  self->left_out = g_ptr_array_new_with_free_func (g_free);
  self->home_fd = home == NULL
                  ? -1 : open (home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  self->person_fd = open (person, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  self->person = self->person_fd >= 0 ? ow_fd_get_path (self->person_fd) : NULL;
  if ((home != NULL && self->home_fd < 0) || self->person == NULL ||
      fstat (self->person_fd, &st) != 0)
    {
      ow_error_setf (error, OW_ERROR_FAILED, "Check that both folders are there.",
                     "The settings of git and the logins cannot be copied: \"%s\" cannot be "
                     "opened: %s", self->person == NULL || home == NULL ? person : home,
                     g_strerror (errno));
      return NULL;
    }
  self->owner = st.st_uid;
  add_ours (self, g_path_get_dirname (config));
  add_ours (self, ow_paths_get_data_dir ());
  add_ours (self, ow_paths_get_state_dir ());
  return g_steal_pointer (&self);
}

void
ow_credential_copy_free (OwCredentialCopy *self)
{
  if (self == NULL)
    return;
  if (self->person_fd >= 0)
    close (self->person_fd);
  if (self->home_fd >= 0)
    close (self->home_fd);
  g_free (self->person);
  g_free (self->named);
  g_free (self->home);
  g_ptr_array_unref (self->ours);
  g_ptr_array_unref (self->left_out);
  g_clear_error (&self->failure);
  g_free (self);
}

gboolean
ow_credential_copy_is_over (OwCredentialCopy *self)
{
  if (self->failure != NULL)
    return TRUE;
  if (g_cancellable_is_cancelled (self->cancellable))
    ow_error_set (&self->failure, OW_ERROR_INTERRUPTED, "The sandbox was not started",
                  "it was stopped", NULL);
  else if (g_get_monotonic_time () > self->deadline)
    ow_error_set (&self->failure, OW_ERROR_TIMED_OUT, "The session cannot be started",
                  "copying the logins that are shared with it took too long",
                  "Look whether the disk of the home answers, or switch the credential off.");
  return self->failure != NULL;
}

/* --- writing --- */

static gboolean
fail_write (OwCredentialCopy *self,
            const char       *path)
{
  int code = errno;
  g_autofree char *shown = ow_credential_copy_show (path);

  if (self->failure == NULL)
    ow_error_setf (&self->failure, OW_ERROR_FAILED, "Check the free space there.",
                   "The session cannot be started: the copy of %s cannot be written into its "
                   "private home: %s", shown, g_strerror (code));
  return FALSE;
}

/* Makes @fd's file the owner's. Root's sandbox is another account's. */
static gboolean
give_away (OwCredentialCopy *self,
           int               fd)
{
  return geteuid () != 0 || fchown (fd, self->uid, self->gid) == 0;
}

/* The folder @name in @dir_fd, made where it is missing. */
static int
enter (OwCredentialCopy *self,
       int               dir_fd,
       const char       *name)
{
  gboolean made = mkdirat (dir_fd, name, 0700) == 0;
  int fd;

  if (!made && errno != EEXIST)
    return -1;
  fd = openat (dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  /* A mask of the process can only have taken away. */
  if (fd >= 0 && made && (!give_away (self, fd) || fchmod (fd, 0700) != 0))
    {
      close (fd);
      return -1;
    }
  if (made)
    ow_state_reach ("credential-folder");
  return fd;
}

/* The folder that @path is to lie in; -1: it cannot be made. */
static int
enter_parents (OwCredentialCopy *self,
               const char       *path)
{
  g_auto (GStrv) words = g_strsplit (path, "/", -1);
  int fd = openat (self->home_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  for (guint i = 0; fd >= 0 && words[i] != NULL && words[i + 1] != NULL; i++)
    {
      int next = enter (self, fd, words[i]);

      close (fd);
      fd = next;
    }
  return fd;
}

/* A new file that nobody but its owner can open, before it holds a byte. -1 with EEXIST: there is
 * one already. */
static int
make_file (OwCredentialCopy *self,
           int               dir_fd,
           const char       *name)
{
  int fd = openat (dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int code;

  if (fd < 0)
    return -1;
  ow_state_reach ("credential-made");
  if (give_away (self, fd) && fchmod (fd, 0600) == 0)
    return fd;
  code = errno;
  unlinkat (dir_fd, name, 0);
  close (fd);
  errno = code == EEXIST ? EIO : code;
  return -1;
}

static const char *
last_of (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? slash + 1 : path;
}

gboolean
ow_credential_copy_write (OwCredentialCopy *self,
                          const char       *path,
                          const char       *data,
                          gsize             length,
                          int               mode)
{
  int dir_fd;
  int fd = -1;
  gboolean good;

  if (ow_credential_copy_is_over (self))
    return FALSE;
  dir_fd = enter_parents (self, path);
  if (dir_fd >= 0)
    fd = make_file (self, dir_fd, last_of (path));
  if (fd < 0)
    {
      good = dir_fd >= 0 && errno == EEXIST;
      if (!good)
        fail_write (self, path);
    }
  else
    {
      good = ow_fd_write_all (fd, data, length) && (mode == 0600 || fchmod (fd, mode) == 0);
      if (!good)
        {
          fail_write (self, path);
          unlinkat (dir_fd, last_of (path), 0);
        }
      close (fd);
      ow_state_reach ("credential-written");
    }
  if (dir_fd >= 0)
    close (dir_fd);
  return good;
}

/* --- copying --- */

/* What has grown over what may be copied is taken away again. */
static gboolean
pump (OwCredentialCopy *self,
      int               from,
      int               to,
      const char       *path)
{
  g_autofree char *buffer = g_malloc (CHUNK_BYTES);
  guint64 left = MIN (self->bytes, OW_CREDENTIAL_FILE_BYTES);

  for (;;)
    {
      ssize_t n = read (from, buffer, CHUNK_BYTES);

      if (n < 0 && errno == EINTR)
        continue;
      if (n == 0)
        return TRUE;
      if (n < 0 || (guint64) n > left)
        {
          ow_credential_copy_skip (self, path, n < 0 ? "it cannot be read" : FULL);
          return FALSE;
        }
      if (!ow_fd_write_all (to, buffer, (gsize) n))
        return fail_write (self, path);
      left -= (guint64) n;
      self->bytes -= (guint64) n;
      ow_state_reach ("credential-part");
      if (ow_credential_copy_is_over (self))
        return FALSE;
    }
}

/* Copies what @from_fd (O_PATH) is to @path. Returns 1, or 0. */
static guint
copy_file (OwCredentialCopy *self,
           int               found_fd,
           int               dir_fd,
           const char       *path)
{
  const char *name = last_of (path);
  gboolean good = FALSE;
  int from;
  int to;

  if (self->files == 0)
    {
      ow_credential_copy_skip (self, path, FULL);
      return 0;
    }
  from = ow_credential_copy_open (self, found_fd, path, 0);
  if (from < 0)
    return 0;
  to = make_file (self, dir_fd, name);
  if (to < 0)
    {
      good = errno == EEXIST;
      if (!good)
        fail_write (self, path);
    }
  else
    {
      self->files--;
      good = pump (self, from, to, path);
      if (!good)
        unlinkat (dir_fd, name, 0);
      close (to);
      ow_state_reach ("credential-written");
    }
  close (from);
  return good ? 1 : 0;
}

static guint copy_folder (OwCredentialCopy *self,
                          int               from,
                          int               to,
                          const char       *path,
                          guint             depth);

static gboolean
is_cache (const char *path)
{
  for (gsize i = 0; i < G_N_ELEMENTS (caches); i++)
    if (strcmp (path, caches[i]) == 0)
      return TRUE;
  return FALSE;
}

/* The folder that was found at @path, below an entry. */
static guint
copy_below (OwCredentialCopy *self,
            int               found_fd,
            int               to,
            const char       *path,
            guint             depth)
{
  guint count = 0;
  int from;
  int below;

  if (ow_credential_copy_is_ours (self, found_fd))
    {
      ow_credential_copy_skip (self, path, "OpenWorker's own");
      return 0;
    }
  if (depth > MAX_DEPTH)
    {
      ow_credential_copy_skip (self, path, "too deep");
      return 0;
    }
  from = ow_credential_copy_open (self, found_fd, path, O_DIRECTORY);
  if (from < 0)
    return 0;
  below = enter (self, to, last_of (path));
  if (below < 0)
    fail_write (self, path);
  else
    count = copy_folder (self, from, below, path, depth);
  if (below >= 0)
    close (below);
  close (from);
  return count;
}

static guint
copy_entry (OwCredentialCopy *self,
            int               from,
            int               to,
            const char       *path,
            guint             depth)
{
  struct stat st;
  gboolean is_link;
  guint count = 0;
  int fd;

  if (is_cache (path))
    return 0;
  fd = ow_credential_copy_find (self, from, last_of (path), path, &st, &is_link);
  if (fd < 0)
    return 0;
  if (S_ISDIR (st.st_mode) && is_link)
    ow_credential_copy_skip (self, path, "a link to a folder");
  else if (S_ISDIR (st.st_mode))
    count = copy_below (self, fd, to, path, depth + 1);
  else if (ow_credential_copy_may (self, fd, &st, path))
    count = copy_file (self, fd, to, path);
  close (fd);
  return count;
}

static guint
copy_folder (OwCredentialCopy *self,
             int               from,
             int               to,
             const char       *path,
             guint             depth)
{
  int again = openat (from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = again >= 0 ? fdopendir (again) : NULL;
  struct dirent *entry;
  guint count = 0;

  if (dir == NULL)
    {
      if (again >= 0)
        close (again);
      ow_credential_copy_skip (self, path, "it cannot be read");
      return 0;
    }
  while (!ow_credential_copy_is_over (self) && (entry = readdir (dir)) != NULL)
    {
      g_autofree char *below = NULL;

      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      below = g_strconcat (path, "/", entry->d_name, NULL);
      if (self->names == 0)
        {
          ow_credential_copy_skip (self, path, FULL);
          break;
        }
      self->names--;
      count += copy_entry (self, dirfd (dir), to, below, depth);
    }
  closedir (dir);
  return count;
}

static guint
add_folder (OwCredentialCopy *self,
            const char       *path)
{
  int from = ow_credential_copy_open_folder (self, path);
  int parent;
  int to = -1;
  guint count = 0;

  if (from < 0)
    return 0;
  parent = enter_parents (self, path);
  if (parent >= 0)
    to = enter (self, parent, last_of (path));
  if (to < 0)
    fail_write (self, path);
  else
    count = copy_folder (self, from, to, path, 0);
  if (to >= 0)
    close (to);
  if (parent >= 0)
    close (parent);
  close (from);
  return count;
}

static guint
add_file (OwCredentialCopy *self,
          const char       *path)
{
  struct stat st;
  gboolean is_link;
  int found = ow_credential_copy_find (self, self->person_fd, path, path, &st, &is_link);
  int parent = -1;
  guint count = 0;

  if (found >= 0 && ow_credential_copy_may (self, found, &st, path))
    {
      parent = enter_parents (self, path);
      if (parent < 0)
        fail_write (self, path);
      else
        count = copy_file (self, found, parent, path);
    }
  if (parent >= 0)
    close (parent);
  if (found >= 0)
    close (found);
  return count;
}

guint
ow_credential_copy_add (OwCredentialCopy *self,
                        const char       *path)
{
  if (ow_credential_copy_is_over (self))
    return 0;
  switch (ow_credential_copy_look (self, path))
    {
    case OW_CREDENTIAL_FILE:
      return add_file (self, path);
    case OW_CREDENTIAL_FOLDER:
      return add_folder (self, path);
    default:
      return 0;
    }
}
