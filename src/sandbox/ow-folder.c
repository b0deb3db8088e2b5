/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-program.h"
#include "base/ow-text.h"
#include "ow-folder-rules-private.h"
#include "ow-mount-table-private.h"

#define MAX_PATH_BYTES 4096

void
ow_folder_free (OwFolder *folder)
{
  if (folder == NULL)
    return;
  if (folder->fd >= 0)
    close (folder->fd);
  g_free (folder->path);
  g_free (folder);
}

static void
cannot_use (GError    **error,
            OwErrorKind kind,
            const char *path,
            const char *why,
            const char *next)
{
  g_autofree char *shown = ow_text_visible (path);
  g_autofree char *cut = ow_text_shorten (shown, 200, TRUE);

  ow_error_setf (error, kind, next, "The folder \"%s\" cannot be used: %s", cut, why);
}

/* "DIR", "DIR:ro" or "DIR:rw". A folder whose own name ends so is never taken for another one:
 * with a mode behind it, it can be given. */
static char *
split_text (const char *text,
            gboolean   *read_only,
            GError    **error)
{
  *read_only = g_str_has_suffix (text, ":ro");
  if (!*read_only && !g_str_has_suffix (text, ":rw"))
    return g_strdup (text);
  if (text[0] == '/' && g_file_test (text, G_FILE_TEST_IS_DIR))
    {
      cannot_use (error, OW_ERROR_USAGE, text, "its name ends as a mode does",
                  "Add \":rw\" or \":ro\" to the whole name.");
      return NULL;
    }
  return g_strndup (text, strlen (text) - 3);
}

static gboolean
check_name (const char *path,
            GError    **error)
{
  if (path[0] != '/')
    {
      cannot_use (error, OW_ERROR_USAGE, path, "its path is not absolute",
                  "Give the whole path, beginning with \"/\".");
      return FALSE;
    }
  if (strlen (path) > MAX_PATH_BYTES)
    {
      cannot_use (error, OW_ERROR_USAGE, path, "its path is longer than 4,096 bytes",
                  "Choose a folder with a shorter path.");
      return FALSE;
    }
  if (!g_utf8_validate (path, -1, NULL))
    {
      cannot_use (error, OW_ERROR_USAGE, "?", "its path is not valid UTF-8",
                  "Rename the folder and try again.");
      return FALSE;
    }
  return TRUE;
}

/* The directory itself must still be where its descriptor says: one that has been
 * removed keeps a path with a suffix that might name something else. */
static gboolean
is_at (const char        *path,
       const struct stat *st)
{
  struct stat there;

  return lstat (path, &there) == 0 && S_ISDIR (there.st_mode) && there.st_dev == st->st_dev &&
         there.st_ino == st->st_ino;
}

/* Root becomes the folder's owner, so only others can lack the rights; that a file
 * system is read-only holds for root too. */
static gboolean
check_access (const OwFolder *folder,
              GError        **error)
{
  int want = R_OK | X_OK | (folder->read_only ? 0 : W_OK);
  g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", folder->fd);

  if (access (name, want) == 0)
    return TRUE;
  if (errno == EROFS)
    {
      cannot_use (error, OW_ERROR_REFUSED, folder->path, "it lies on a read-only file system",
                  "Add \":ro\" to give it read-only, or choose another folder.");
      return FALSE;
    }
  if (geteuid () == 0)
    return TRUE;
  if (!folder->read_only && access (name, R_OK | X_OK) == 0)
    cannot_use (error, OW_ERROR_REFUSED, folder->path, "this account may not write in it",
                "Add \":ro\" to give it read-only, or choose another folder.");
  else
    cannot_use (error, OW_ERROR_REFUSED, folder->path, "this account may not read it",
                "Choose a folder of your own.");
  return FALSE;
}

static OwFolder *
open_path (const char *path,
           gboolean    read_only,
           GError    **error)
{
  g_autoptr (OwFolder) folder = g_new0 (OwFolder, 1);
  struct stat st;

  folder->read_only = read_only;
  folder->fd = -1;
  if (!check_name (path, error))
    return NULL;
  folder->fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder->fd < 0 || fstat (folder->fd, &st) != 0)
    {
      int code = errno;

      cannot_use (error, code == EACCES ? OW_ERROR_REFUSED : OW_ERROR_USAGE, path,
                  g_strerror (code), "Check that the folder is there and that you may open it.");
      return NULL;
    }
  folder->path = ow_fd_get_path (folder->fd);
  if (folder->path == NULL && access ("/proc/self/fd", F_OK) != 0)
    {
      cannot_use (error, OW_ERROR_REFUSED, path, "there is no /proc to tell where it is",
                  "Mount /proc, and see docs/testing.md about containers and chroots.");
      return NULL;
    }
  if (folder->path == NULL || !is_at (folder->path, &st))
    {
      cannot_use (error, OW_ERROR_REFUSED, path, "it has no path of its own (any more)",
                  "Check that the folder is there and was not removed.");
      return NULL;
    }
  if (!check_name (folder->path, error))
    return NULL;
  folder->dev = st.st_dev;
  folder->ino = st.st_ino;
  folder->uid = st.st_uid;
  folder->gid = st.st_gid;
  if (!ow_folder_rules_check (folder, error) || !check_access (folder, error))
    return NULL;
  return g_steal_pointer (&folder);
}

OwFolder *
ow_folder_open (const char *text,
                GError    **error)
{
  gboolean read_only;
  g_autofree char *path = split_text (text, &read_only, error);
  OwFolder *folder = path != NULL ? open_path (path, read_only, error) : NULL;

  if (folder != NULL)
    ow_program_bar (folder->path);
  return folder;
}

OwFolder *
ow_folder_look (const char *text,
                GError    **error)
{
  gboolean read_only;
  g_autofree char *path = split_text (text, &read_only, error);

  return path != NULL ? open_path (path, read_only, error) : NULL;
}

OwFolder *
ow_folder_open_shared (const char *path,
                       GError    **error)
{
  return open_path (path, TRUE, error);
}

gboolean
ow_folder_check (const OwFolder *folder,
                 GError        **error)
{
  g_autofree char *path = ow_fd_get_path (folder->fd);
  struct stat st;

  if (path == NULL || strcmp (path, folder->path) != 0 || fstat (folder->fd, &st) != 0 ||
      st.st_dev != folder->dev || st.st_ino != folder->ino || st.st_uid != folder->uid ||
      !is_at (folder->path, &st))
    {
      cannot_use (error, OW_ERROR_REFUSED, folder->path,
                  "it was moved, replaced or given away since it was chosen",
                  "Start the session again with the folder as it is now.");
      return FALSE;
    }
  return ow_folder_rules_check (folder, error);
}

gboolean
ow_folder_check_set (GPtrArray *folders,
                     GError   **error)
{
  const OwFolder *first;

  if (folders->len == 0)
    {
      ow_error_set (error, OW_ERROR_USAGE, "A session needs a folder", "none was given",
                    "Name at least one folder.");
      return FALSE;
    }
  first = g_ptr_array_index (folders, 0);
  for (guint i = 1; i < folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (folders, i);

      if (folder->uid != first->uid)
        {
          cannot_use (error, OW_ERROR_REFUSED, folder->path,
                      "it belongs to another account than the session's first folder",
                      "Use folders of one owner in one session.");
          return FALSE;
        }
      for (guint j = 0; j < i; j++)
        {
          const OwFolder *other = g_ptr_array_index (folders, j);

          if (other->dev == folder->dev && other->ino == folder->ino)
            {
              cannot_use (error, OW_ERROR_USAGE, folder->path, "it was given twice",
                          "Name each folder once.");
              return FALSE;
            }
        }
    }
  return TRUE;
}
