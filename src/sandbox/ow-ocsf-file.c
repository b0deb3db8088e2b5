/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-ocsf-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-paths.h"
#include "openshell/ow-openshell-logs.h"

#define MAX_BYTES (16 * 1024 * 1024)

struct OwOcsfFile {
  char  *path;  /* (owned) */
  int    fd;
  gint64 size;
};

char *
ow_ocsf_file_get_path (const char *session)
{
  g_autofree char *dir = ow_paths_get_ocsf_dir ();
  g_autofree char *name = g_strconcat (session, ".log", NULL);

  return g_build_filename (dir, name, NULL);
}

static gboolean
open_file (OwOcsfFile *self,
           GError    **error)
{
  struct stat status;

  self->fd = open (self->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                   0600);
  if (self->fd >= 0 && fstat (self->fd, &status) == 0 && S_ISREG (status.st_mode) &&
      status.st_uid == geteuid ())
    {
      self->size = status.st_size;
      return TRUE;
    }
  ow_error_setf (error, OW_ERROR_FAILED, "Check the free space and the rights there.",
                 "The log %s cannot be written: %s", self->path,
                 self->fd < 0 ? g_strerror (errno) : "it is not a file of this account");
  return FALSE;
}

OwOcsfFile *
ow_ocsf_file_open (const char *session,
                   GError    **error)
{
  g_autoptr (OwOcsfFile) self = g_new0 (OwOcsfFile, 1);
  g_autofree char *dir = ow_paths_get_ocsf_dir ();

  g_return_val_if_fail (session != NULL && strchr (session, '/') == NULL, NULL);

  self->fd = -1;
  self->path = ow_ocsf_file_get_path (session);
  if (!ow_paths_ensure (dir, error) || !open_file (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

/* The last 16 MiB at least are there. */
static gboolean
turn_over (OwOcsfFile *self,
           GError    **error)
{
  g_autofree char *old = g_strconcat (self->path, ".1", NULL);

  close (g_steal_fd (&self->fd));
  if (rename (self->path, old) == 0)
    return open_file (self, error);
  ow_error_setf (error, OW_ERROR_FAILED, "Check the rights there.",
                 "The log %s cannot be renamed: %s", self->path, g_strerror (errno));
  return FALSE;
}

gboolean
ow_ocsf_file_append (OwOcsfFile *self,
                     const char *line,
                     GError    **error)
{
  g_autofree char *text = g_strconcat (line, "\n", NULL);
  gsize length = strlen (text);

  g_return_val_if_fail (self != NULL, FALSE);

  /* A file that could not be opened again after it was turned over. */
  if (self->fd < 0 && !open_file (self, error))
    return FALSE;
  if (self->size + (gint64) length > MAX_BYTES && !turn_over (self, error))
    return FALSE;
  if (ow_fd_write_all (self->fd, text, length))
    {
      self->size += (gint64) length;
      return TRUE;
    }
  ow_error_setf (error, OW_ERROR_FAILED, "Check the free space.",
                 "The log %s cannot be written: %s", self->path, g_strerror (errno));
  return FALSE;
}

void
ow_ocsf_file_free (OwOcsfFile *self)
{
  if (self == NULL)
    return;
  if (self->fd >= 0)
    close (self->fd);
  g_free (self->path);
  g_free (self);
}

char *
ow_ocsf_file_get_refused (const char *line)
{
  g_autoptr (OwOpenshellRefusal) refusal = ow_openshell_refusal_from_line (line);

  return refusal == NULL ? NULL : g_strdup_printf ("%s:%u", refusal->host, refusal->port);
}
