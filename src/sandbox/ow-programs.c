/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-text.h"
#include "ow-credential-scan-private.h"
#include "ow-mount-table-private.h"
#include "ow-programs-rules-private.h"

#define LOOK_S       10
#define MAX_FOLDERS  32
#define MAX_MISSING  32
#define MAX_LINKS    4096

/* One look at a folder. */
typedef struct {
  OwPrograms *self;
  char       *home;     /* (owned) resolved */
  GPtrArray  *folders;  /* (owned) of char: to be opened */
  gint64      deadline;
} Look;

void
ow_programs_free (OwPrograms *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->folders);
  g_ptr_array_unref (self->bins);
  g_ptr_array_unref (self->missing);
  g_free (self->path);
  g_free (self->why);
  g_free (self);
}

/* A folder that sandboxes may have. NULL with @why. */
static OwFolder *
open_folder (const Look  *look,
             const char  *path,
             char       **why)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwFolder) folder = ow_folder_open_shared (path, &error);
  struct stat st;

  if (folder == NULL)
    *why = g_strdup (error->message);
  else if (!ow_path_contains (look->home, folder->path) ||
           strcmp (look->home, folder->path) == 0)
    *why = g_strdup ("it does not lie in a folder of its own under the home");
  else if (folder->uid != geteuid () && folder->uid != 0)
    *why = g_strdup ("it belongs to another account");
  else if (fstat (folder->fd, &st) != 0 || (st.st_mode & 0002) != 0 ||
           ((st.st_mode & 0020) != 0 && st.st_gid != getegid ()))
    *why = g_strdup ("others can write in it");
  else
    *why = ow_credential_scan (folder->fd, geteuid (), look->deadline);
  return *why == NULL ? g_steal_pointer (&folder) : NULL;
}

static gboolean
has_folder (const Look *look,
            const char *path)
{
  for (guint i = 0; i < look->self->folders->len; i++)
    {
      const OwFolder *folder = g_ptr_array_index (look->self->folders, i);

      if (ow_path_contains (folder->path, path))
        return TRUE;
    }
  return FALSE;
}

static void
add_missing (const Look *look,
             const char *name,
             const char *why)
{
  g_autofree char *text = g_strdup_printf ("%s: %s", name, why);

  if (look->self->missing->len < MAX_MISSING)
    g_ptr_array_add (look->self->missing, ow_text_visible (text));
}

/* What the link leads to has to be shared too. TRUE: a folder more is. */
static gboolean
follow_link (const Look *look,
             const char *name,
             const char *path)
{
  g_autofree char *target = ow_programs_rules_resolve (path);
  g_autofree char *root = NULL;
  g_autofree char *why = NULL;
  OwFolder *folder;

  if (target == NULL)
    {
      add_missing (look, name, "a link that leads nowhere");
      return FALSE;
    }
  if (has_folder (look, target) || g_str_has_prefix (target, "/usr/") ||
      g_str_has_prefix (target, "/bin/"))
    return FALSE;
  root = ow_programs_rules_root (look->home, target);
  if (root == NULL || look->self->folders->len >= MAX_FOLDERS)
    {
      add_missing (look, name, ow_path_contains (look->home, target)
                               ? "it leads to a file that is in no place of programs"
                               : "it leads out of the home");
      return FALSE;
    }
  folder = open_folder (look, root, &why);
  if (folder == NULL)
    {
      add_missing (look, name, why);
      return FALSE;
    }
  g_ptr_array_add (look->self->folders, folder);
  return TRUE;
}

/* TRUE: a folder more is shared. */
static gboolean
follow_links (const Look *look,
              const char *bin)
{
  DIR *dir = opendir (bin);
  struct dirent *entry;
  gboolean more = FALSE;

  for (guint i = 0; dir != NULL && i < MAX_LINKS && (entry = readdir (dir)) != NULL; i++)
    {
      g_autofree char *path = g_build_filename (bin, entry->d_name, NULL);
      struct stat st;

      if (lstat (path, &st) == 0 && S_ISLNK (st.st_mode))
        more |= follow_link (look, entry->d_name, path);
    }
  if (dir != NULL)
    closedir (dir);
  return more;
}

static void
open_all (Look *look)
{
  OwPrograms *self = look->self;

  for (guint i = 0; i < look->folders->len && self->why == NULL; i++)
    {
      const char *path = g_ptr_array_index (look->folders, i);
      g_autofree char *why = NULL;
      OwFolder *folder = open_folder (look, path, &why);

      if (folder != NULL)
        g_ptr_array_add (self->folders, folder);
      else if (strcmp (path, self->path) == 0)
        self->why = g_steal_pointer (&why);
      else
        self->why = g_strdup_printf ("it needs %s, and %s", path, why);
    }
  for (guint i = 0; i < self->bins->len && self->why == NULL; i++)
    follow_links (look, g_ptr_array_index (self->bins, i));
  /* An environment's own programs are links to those of another one. */
  for (guint i = 0; i < self->folders->len && self->why == NULL; i++)
    {
      g_autofree char *bin = g_build_filename (((OwFolder *) self->folders->pdata[i])->path, "bin",
                                               NULL);

      if (g_file_test (bin, G_FILE_TEST_IS_DIR))
        follow_links (look, bin);
    }
  if (self->why != NULL)
    g_ptr_array_set_size (self->folders, 0);
}

OwPrograms *
ow_programs_look (const char *path)
{
  OwPrograms *self = g_new0 (OwPrograms, 1);
  g_autofree char *home = ow_programs_rules_resolve (g_get_home_dir ());
  g_autofree char *real = ow_programs_rules_resolve (path);
  Look look = {
    .self = self, .home = home, .deadline = g_get_monotonic_time () + LOOK_S * G_TIME_SPAN_SECOND,
  };

  self->path = g_strdup (real != NULL ? real : path);
  self->folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  self->bins = g_ptr_array_new_with_free_func (g_free);
  self->missing = g_ptr_array_new_with_free_func (g_free);
  if (real == NULL || home == NULL)
    self->why = g_strdup (real == NULL ? "it is not there" : "there is no home");
  else if (!g_file_test (real, G_FILE_TEST_IS_DIR))
    self->why = g_strdup ("it is no folder");
  else if (!ow_path_contains (home, real))
    self->why = g_strdup ("it leads out of the home");
  else if (strcmp (home, real) == 0)
    self->why = g_strdup ("it is the home itself");
  if (self->why != NULL)
    return self;
  look.folders = g_ptr_array_new_with_free_func (g_free);
  self->why = ow_programs_rules_layout (home, real, look.folders, self->bins);
  if (self->why == NULL)
    open_all (&look);
  g_ptr_array_unref (look.folders);
  return self;
}

GPtrArray *
ow_programs_list (const char *search_path)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *home = ow_programs_rules_resolve (g_get_home_dir ());
  g_auto (GStrv) words = g_strsplit (search_path != NULL ? search_path : "", ":", -1);

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_autofree char *real = g_path_is_absolute (words[i]) ? ow_programs_rules_resolve (words[i])
                                                            : NULL;
      gboolean known = FALSE;

      for (guint j = 0; real != NULL && j < paths->len; j++)
        known |= strcmp (g_ptr_array_index (paths, j), real) == 0;
      if (real != NULL && home != NULL && !known && ow_path_contains (home, real) &&
          strcmp (home, real) != 0 && g_file_test (real, G_FILE_TEST_IS_DIR))
        g_ptr_array_add (paths, g_steal_pointer (&real));
    }
  return paths;
}

static void
look_in_thread (GTask        *task,
                gpointer      source,
                gpointer      task_data,
                GCancellable *cancellable)
{
  GPtrArray *paths = task_data;
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_programs_free);

  for (guint i = 0; i < paths->len && !g_cancellable_is_cancelled (cancellable); i++)
    g_ptr_array_add (all, ow_programs_look (g_ptr_array_index (paths, i)));
  g_task_return_pointer (task, all, (GDestroyNotify) g_ptr_array_unref);
}

void
ow_programs_look_async (GPtrArray          *paths,
                        GCancellable       *cancellable,
                        GAsyncReadyCallback callback,
                        gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  GPtrArray *copy = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < paths->len; i++)
    g_ptr_array_add (copy, g_strdup (g_ptr_array_index (paths, i)));
  g_task_set_source_tag (task, ow_programs_look_async);
  g_task_set_task_data (task, copy, (GDestroyNotify) g_ptr_array_unref);
  g_task_run_in_thread (task, look_in_thread);
}

GPtrArray *
ow_programs_look_finish (GAsyncResult *result,
                         GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
