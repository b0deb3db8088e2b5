/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-store-private.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/ow-paths.h"
#include "sandbox/ow-registry.h"
#include "sandbox/ow-undo-folder.h"

/* What a session kept for undo, and a program that was killed while it deleted the session left
 * (declared in session/ow-store.h). */

/* What a session is called: 16 hex digits. */
#define ID_CHARS 16
/* Nothing that is younger is taken for left over: a day in which whatever is not thought of here
 * may come to its end. */
#define MIN_AGE_S (24 * 60 * 60)
/* The rest waits for the next start. */
#define MAX_A_START 16

static gboolean
is_id (const char *name)
{
  return strlen (name) == ID_CHARS && strspn (name, "0123456789abcdef") == ID_CHARS;
}

/* A folder of that name that holds what we put there, and nothing else. */
static gboolean
is_ours (const char *path)
{
  struct stat info;
  DIR        *dir;
  gboolean    good = TRUE;

  if (lstat (path, &info) != 0 || !S_ISDIR (info.st_mode) ||
      info.st_mtime > time (NULL) - MIN_AGE_S)
    return FALSE;
  dir = opendir (path);
  if (dir == NULL)
    return FALSE;
  for (struct dirent *entry = readdir (dir); entry != NULL && good; entry = readdir (dir))
    good = strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0 ||
           strcmp (entry->d_name, "undo") == 0;
  closedir (dir);
  return good;
}

/* (transfer full) */
static GPtrArray *
find_folders (void)
{
  g_autofree char *data = ow_paths_get_data_dir ();
  g_autofree char *sessions = g_build_filename (data, "sessions", NULL);
  GPtrArray  *found = g_ptr_array_new_with_free_func (g_free);
  struct stat info;
  DIR        *dir = NULL;

  if (lstat (sessions, &info) == 0 && S_ISDIR (info.st_mode))
    dir = opendir (sessions);
  if (dir == NULL)
    return found;
  for (struct dirent *entry = readdir (dir); entry != NULL; entry = readdir (dir))
    {
      g_autofree char *path = g_build_filename (sessions, entry->d_name, NULL);

      if (is_id (entry->d_name) && is_ours (path))
        g_ptr_array_add (found, g_strdup (entry->d_name));
    }
  closedir (dir);
  return found;
}

/* Whether the store has it; where that cannot be told it has. @any (out): it has some. */
static gboolean
has_session (OwStore    *self,
             const char *session,
             gboolean   *any)
{
  static const char query[] = "SELECT count (*), coalesce (sum (id = ?1), 0) FROM sessions";
  sqlite3_stmt *statement = ow_store_prepare (self, query, NULL);
  gboolean      has = TRUE;

  *any = FALSE;
  if (statement == NULL)
    return TRUE;
  ow_store_bind_text (statement, 1, session);
  if (sqlite3_step (statement) == SQLITE_ROW)
    {
      *any = sqlite3_column_int64 (statement, 0) > 0;
      has = sqlite3_column_int64 (statement, 1) > 0;
    }
  sqlite3_finalize (statement);
  return has;
}

static gboolean
has_sandbox (const char *session)
{
  g_autoptr (GPtrArray) items = ow_registry_list ();

  for (guint i = 0; i < items->len; i++)
    if (g_strcmp0 (((const OwRegistryItem *) g_ptr_array_index (items, i))->session, session) == 0)
      return TRUE;
  return FALSE;
}

/* The folders are looked for first: a session is in the store before it has one. A store without
 * any session may be another one than the one that they belong to, such as a new one in the place
 * of one that was moved away. */
void
ow_store_remove_leftovers (OwStore *self)
{
  g_autoptr (GPtrArray) found = find_folders ();
  guint n = 0;

  g_return_if_fail (OW_IS_STORE (self));

  for (guint i = 0; i < found->len && n < MAX_A_START; i++)
    {
      const char *session = g_ptr_array_index (found, i);
      g_autoptr (GError) reason = NULL;
      gboolean any = FALSE;

      if (has_session (self, session, &any) || !any || has_sandbox (session))
        continue;
      n++;
      if (!ow_undo_folder_remove (session, &reason))
        g_debug ("Session %s: %s", session, reason->message);
    }
}
