/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "session/ow-recording-place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"

struct _OwRecordingPlace {
  char *name; /* (owned) */
  int   dir;  /* (owned) */
};

void
ow_recording_place_free (OwRecordingPlace *place)
{
  if (place->dir >= 0)
    close (place->dir);
  g_free (place->name);
  g_free (place);
}

static gboolean
refuse (const char *path,
        const char *why,
        GError    **error)
{
  g_autofree char *shown = ow_text_visible (path);
  g_autofree char *what = g_strdup_printf ("The recording cannot be written to \"%s\"", shown);

  ow_error_set (error, OW_ERROR_USAGE, what, why, "Choose another file for --record.");
  return FALSE;
}

static gboolean
is_in (const char *path,
       const char *dir)
{
  gsize length = strlen (dir);

  return strncmp (path, dir, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* As it was named and as it is once links are resolved. */
static gboolean
is_in_folders (const char   *named,
               const char   *real,
               const json_t *folders)
{
  for (size_t i = 0; i < json_array_size (folders); i++)
    {
      const json_t *folder = json_array_get (folders, i);
      const char *path = ow_json_get_string (folder, "path", NULL);

      if (path != NULL && !ow_json_get_bool (folder, "read_only", FALSE) &&
          (is_in (named, path) || is_in (real, path)))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_in_own (const char *real)
{
  g_autofree char *config = ow_paths_get_config_file ();
  char *own[] = {
    g_path_get_dirname (config), ow_paths_get_data_dir (), ow_paths_get_state_dir (),
  };
  gboolean found = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (own); i++)
    {
      int fd = open (own[i], O_PATH | O_CLOEXEC);
      g_autofree char *there = fd >= 0 ? ow_fd_get_path (fd) : NULL;

      found = found || (there != NULL && is_in (real, there));
      if (fd >= 0)
        close (fd);
      g_free (own[i]);
    }
  return found;
}

static gboolean
check_file (const OwRecordingPlace *place,
            const char             *path,
            GError                **error)
{
  struct stat st;

  if (fstatat (place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || refuse (path, g_strerror (errno), error);
  if (S_ISLNK (st.st_mode))
    return refuse (path, "it is a link", error);
  return S_ISREG (st.st_mode) || refuse (path, "it is not a regular file", error);
}

OwRecordingPlace *
ow_recording_place_open (const char   *path,
                         const json_t *folders,
                         GError      **error)
{
  g_autoptr (OwRecordingPlace) place = g_new0 (OwRecordingPlace, 1);
  g_autofree char *named = g_canonicalize_filename (path, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *real = NULL;

  place->name = g_path_get_basename (path);
  place->dir = open (parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  real = place->dir >= 0 ? ow_fd_get_path (place->dir) : NULL;
  if (real == NULL || faccessat (place->dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
    {
      refuse (path, g_strerror (errno), error);
      return NULL;
    }
  if (is_in_folders (named, real, folders))
    {
      refuse (path, "the session may write there, and what runs in it could put a link to any "
              "of your files in its place", error);
      return NULL;
    }
  if (is_in_own (real))
    {
      refuse (path, "OpenWorker keeps its own files there", error);
      return NULL;
    }
  return check_file (place, path, error) ? g_steal_pointer (&place) : NULL;
}

gboolean
ow_recording_place_check (OwRecordingPlace *place,
                          const json_t     *folders,
                          GError          **error)
{
  g_autofree char *real = ow_fd_get_path (place->dir);

  if (real != NULL && !is_in_folders (real, real, folders))
    return TRUE;
  ow_error_set (error, OW_ERROR_REFUSED, "The folders were not changed",
                "the session's recording is written in one of them, and what runs in the session "
                "could put a link to any of your files in its place",
                "Choose a folder that does not hold it.");
  return FALSE;
}

gboolean
ow_recording_place_write (OwRecordingPlace *place,
                          GBytes           *content,
                          GError          **error)
{
  return ow_file_write_atomic_at (place->dir, place->name, content, 0600, error);
}
