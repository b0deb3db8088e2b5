/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-undo-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"

#define SESSIONS "sessions"
#define UNDO     "undo"

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static gboolean
fail (const char *path,
      const char *why,
      GError    **error)
{
  ow_error_setf (error, OW_ERROR_FAILED, "Check the free space and the rights there.",
                 "The folder for what can be undone, %s, cannot be made: %s", path, why);
  return FALSE;
}

/* A session's id becomes a name of a folder. */
static gboolean
check_session (const char *session,
               GError    **error)
{
  if (*session != '\0' && *session != '.' && strlen (session) <= NAME_MAX &&
      strchr (session, '/') == NULL)
    return TRUE;
  return fail (SESSIONS, "the session's id cannot be a folder's name", error);
}

/* A command inside cannot read the folder, and can take our own permissions for it away: its owner
 * may change its mode. Through a descriptor that cannot have followed a link. */
static int
open_closed (int         dir_fd,
             const char *name)
{
  int path_fd = openat (dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  char link[64];
  int fd = -1;

  if (path_fd < 0)
    return -1;
  g_snprintf (link, sizeof link, "/proc/self/fd/%d", path_fd);
  if (chmod (link, 0700) == 0)
    fd = openat (dir_fd, name, OPEN_FLAGS);
  close (path_fd);
  return fd;
}

/* The directory @name in @dir_fd, made where it is missing; never through a link. Returns: its
 * descriptor, -1 with errno. */
static int
open_below (int         dir_fd,
            const char *name)
{
  int fd;

  if (mkdirat (dir_fd, name, 0700) != 0 && errno != EEXIST)
    return -1;
  fd = openat (dir_fd, name, OPEN_FLAGS);
  return fd < 0 && errno == EACCES ? open_closed (dir_fd, name) : fd;
}

/* Also one that is there: the session may have had an owner's other group, or a looser mask. */
static gboolean
give_to (int   fd,
         uid_t uid,
         gid_t gid)
{
  struct stat st;

  if (fstat (fd, &st) != 0)
    return FALSE;
  if (st.st_uid != uid || (geteuid () == 0 && st.st_gid != gid))
    {
      if (geteuid () != 0)
        {
          errno = EPERM;
          return FALSE;
        }
      if (fchown (fd, uid, gid) != 0)
        return FALSE;
    }
  return (st.st_mode & 07777) == 0700 || fchmod (fd, 0700) == 0;
}

static gboolean
make_below (const char *data,
            const char *session,
            uid_t       uid,
            gid_t       gid)
{
  int data_fd = open (data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int sessions_fd = data_fd < 0 ? -1 : open_below (data_fd, SESSIONS);
  int session_fd = sessions_fd < 0 ? -1 : open_below (sessions_fd, session);
  int undo_fd = session_fd < 0 ? -1 : open_below (session_fd, UNDO);
  gboolean good = undo_fd >= 0 && give_to (undo_fd, uid, gid);
  int code = errno;
  const int fds[] = { data_fd, sessions_fd, session_fd, undo_fd };

  for (gsize i = 0; i < G_N_ELEMENTS (fds); i++)
    if (fds[i] >= 0)
      close (fds[i]);
  errno = code;
  return good;
}

char *
ow_undo_folder_make (const char *session,
                     uid_t       uid,
                     gid_t       gid,
                     GError    **error)
{
  g_autofree char *data = ow_paths_get_data_dir ();
  g_autofree char *path = NULL;

  g_return_val_if_fail (session != NULL, NULL);

  if (!check_session (session, error) || !ow_paths_ensure (data, error))
    return NULL;
  path = g_build_filename (data, SESSIONS, session, UNDO, NULL);
  if (!make_below (data, session, uid, gid))
    {
      fail (path, errno == ELOOP || errno == ENOTDIR ? "a link or a file stands in its way"
                                                     : g_strerror (errno), error);
      return NULL;
    }
  return g_steal_pointer (&path);
}

gboolean
ow_undo_folder_remove (const char *session,
                       GError    **error)
{
  g_autofree char *data = ow_paths_get_data_dir ();
  g_autofree char *sessions = g_build_filename (data, SESSIONS, NULL);
  g_autofree char *path = g_build_filename (sessions, session, NULL);
  struct stat st;

  g_return_val_if_fail (session != NULL, FALSE);

  if (!check_session (session, error))
    return FALSE;
  if (lstat (sessions, &st) != 0 && errno == ENOENT)
    return TRUE;
  if (lstat (sessions, &st) != 0 || !S_ISDIR (st.st_mode))
    return fail (path, "a link or a file stands in its way", error);
  return ow_file_remove_tree (path, error);
}
