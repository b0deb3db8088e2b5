/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-place-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"

#define LOCK_NAME     "engine.lock"
#define BACKLOG       128
#define MAX_LOCKS     8

void
ow_engine_place_free (OwEnginePlace *self)
{
  g_free (self->dir);
  g_free (self->lock);
  g_free (self->socket);
  g_free (self);
}

OwEnginePlace *
ow_engine_place_new (gboolean   create,
                     GError  **error)
{
  g_autoptr (OwEnginePlace) self = g_new0 (OwEnginePlace, 1);
  const struct sockaddr_un room;

  self->dir = ow_paths_get_runtime_dir ();
  self->lock = g_build_filename (self->dir, LOCK_NAME, NULL);
  self->socket = g_build_filename (self->dir, "engine", NULL);
  if (strlen (self->socket) >= sizeof room.sun_path)
    {
      g_autofree char *shown = ow_text_visible (self->socket);

      ow_error_setf (error, OW_ERROR_REFUSED, "Set XDG_RUNTIME_DIR to a shorter path.",
                     "The engine cannot listen: the path of its socket is longer than the %d "
                     "bytes that one can have: %s", (int) sizeof room.sun_path - 1, shown);
      return NULL;
    }
  if ((create || g_file_test (self->dir, G_FILE_TEST_EXISTS)) &&
      !ow_paths_ensure (self->dir, error))
    return NULL;
  return g_steal_pointer (&self);
}

static void
set_error (const char  *what,
           const char  *path,
           GError     **error)
{
  int saved = errno;
  g_autofree char *shown = ow_text_visible (path);

  ow_error_setf (error, OW_ERROR_FAILED, NULL, "%s %s: %s", what, shown,
                 saved == ELOOP ? "it is a symbolic link" : g_strerror (saved));
}

/* A lock on a file that has lost its name holds nobody off. */
static gboolean
has_name (const char *path,
          int         fd)
{
  struct stat named;
  struct stat open_file;

  return stat (path, &named) == 0 && fstat (fd, &open_file) == 0 &&
         named.st_ino == open_file.st_ino && named.st_dev == open_file.st_dev;
}

int
ow_engine_place_lock (const OwEnginePlace  *self,
                      GError              **error)
{
  for (guint i = 0; i < MAX_LOCKS; i++)
    {
      int fd = open (self->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                     0600);

      if (fd < 0)
        {
          set_error ("The engine's lock cannot be opened:", self->lock, error);
          return -1;
        }
      if (flock (fd, LOCK_EX | LOCK_NB) < 0)
        {
          if (errno != EWOULDBLOCK && errno != EINTR)
            set_error ("The engine's lock cannot be taken:", self->lock, error);
          close (fd);
          return -1;
        }
      if (has_name (self->lock, fd))
        return fd;
      close (fd);
    }
  return -1;
}

static struct sockaddr_un
get_address (const OwEnginePlace *self)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  g_strlcpy (address.sun_path, self->socket, sizeof address.sun_path);
  return address;
}

static gboolean
remove_stale (const OwEnginePlace  *self,
              GError              **error)
{
  struct stat info;

  if (lstat (self->socket, &info) < 0)
    {
      if (errno == ENOENT)
        return TRUE;
    }
  else if (!S_ISSOCK (info.st_mode))
    {
      g_autofree char *shown = ow_text_visible (self->socket);

      ow_error_setf (error, OW_ERROR_FAILED, "Move it away.",
                     "The engine cannot listen: %s is no socket", shown);
      return FALSE;
    }
  else if (unlink (self->socket) == 0)
    return TRUE;
  set_error ("The socket of an earlier engine cannot be removed:", self->socket, error);
  return FALSE;
}

int
ow_engine_place_listen (const OwEnginePlace  *self,
                        GError              **error)
{
  struct sockaddr_un address = get_address (self);
  int fd;

  if (!remove_stale (self, error))
    return -1;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* The name takes the mode that the socket has: nobody else's from the first moment on. */
  if (fd >= 0 && fchmod (fd, 0600) == 0 &&
      bind (fd, (struct sockaddr *) &address, sizeof address) == 0 && listen (fd, BACKLOG) == 0)
    return fd;
  set_error ("The engine cannot listen on", self->socket, error);
  if (fd >= 0)
    close (fd);
  return -1;
}

void
ow_engine_place_leave (const char *socket,
                       int         lock)
{
  g_autofree char *dir = g_path_get_dirname (socket);
  g_autofree char *path = g_build_filename (dir, LOCK_NAME, NULL);

  if (has_name (path, lock))
    unlink (socket);
}

gboolean
ow_engine_place_is_own (int fd)
{
  struct ucred peer;
  socklen_t length = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         length == sizeof peer && peer.uid == geteuid ();
}

int
ow_engine_place_connect (const OwEnginePlace  *self,
                         GError              **error)
{
  struct sockaddr_un address = get_address (self);
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd >= 0 && connect (fd, (struct sockaddr *) &address, sizeof address) == 0)
    {
      g_autofree char *shown = NULL;

      if (ow_engine_place_is_own (fd))
        return fd;
      close (fd);
      shown = ow_text_visible (self->socket);
      ow_error_setf (error, OW_ERROR_REFUSED, NULL,
                     "The engine at %s cannot be used: it runs as another user", shown);
      return -1;
    }
  /* Not there, nobody behind it any more, or more wait for it than it has room for. */
  if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
    set_error ("The engine cannot be reached at", self->socket, error);
  if (fd >= 0)
    close (fd);
  return -1;
}
