/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-registry-private.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-paths.h"

/* A file that is being written has a name of its own until it is whole: base/ow-file.c. */
static gboolean
is_temporary (const char *name)
{
  return name[0] == '.' && g_str_has_suffix (name, ".tmp");
}

/* Of what the file @name is a part; NULL when it is none of the registry's. */
static char *
get_id (const char *name)
{
  gboolean temporary = is_temporary (name);
  const char *start = temporary ? name + 1 : name;
  const char *dot = strchr (start, '.');
  g_autofree char *id = dot != NULL ? g_strndup (start, (gsize) (dot - start)) : NULL;
  gboolean part = dot != NULL && (temporary ? g_str_has_prefix (dot, ".json.")
                                            : strcmp (dot, ".json") == 0 ||
                                  strcmp (dot, ".lock") == 0);

  return part && ow_registry_is_id (id) ? g_steal_pointer (&id) : NULL;
}

void
ow_registry_remove_unwritten (const char *id)
{
  g_autofree char *path = ow_paths_get_registry_dir ();
  DIR *dir = opendir (path);
  struct dirent *entry;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      g_autofree char *owner = is_temporary (entry->d_name) ? get_id (entry->d_name) : NULL;

      if (g_strcmp0 (owner, id) == 0)
        unlinkat (dirfd (dir), entry->d_name, 0);
    }
  if (dir != NULL)
    closedir (dir);
}

GHashTable *
ow_registry_list_ids (void)
{
  g_autofree char *path = ow_paths_get_registry_dir ();
  GHashTable *ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  DIR *dir = opendir (path);
  struct dirent *entry;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      g_autofree char *id = get_id (entry->d_name);

      if (id != NULL)
        g_hash_table_add (ids, g_steal_pointer (&id));
    }
  if (dir != NULL)
    closedir (dir);
  return ids;
}

void
ow_registry_item_free (OwRegistryItem *item)
{
  if (item == NULL)
    return;
  g_free (item->id);
  g_free (item->session);
  g_free (item->provider);
  g_free (item->image);
  g_free (item);
}

/* The lock of an entry is made before it and never written: its time is the sandbox's. */
static gint64
get_since (const char *id)
{
  g_autofree char *lock = ow_registry_get_path (id, ".lock");
  g_autofree char *file = ow_registry_get_path (id, ".json");
  struct stat st;

  if (lstat (lock, &st) == 0 || lstat (file, &st) == 0)
    return st.st_mtim.tv_sec;
  return 0;
}

static int
compare_items (gconstpointer a,
               gconstpointer b)
{
  const OwRegistryItem *one = *(OwRegistryItem * const *) a;
  const OwRegistryItem *other = *(OwRegistryItem * const *) b;

  if (one->since != other->since)
    return one->since < other->since ? -1 : 1;
  return strcmp (one->id, other->id);
}

GPtrArray *
ow_registry_list (void)
{
  GPtrArray *items = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_registry_item_free);
  g_autoptr (GHashTable) ids = ow_registry_list_ids ();
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      OwRegistryRecord record;
      OwRegistryItem *item;

      if (!ow_registry_read (id, &record))
        continue;
      item = g_new0 (OwRegistryItem, 1);
      item->id = g_strdup (id);
      item->session = g_strdup (record.entry.session);
      item->provider = g_strdup (record.entry.provider);
      item->image = g_strdup (record.entry.image);
      item->owner_pid = record.owner_pid;
      item->alive = !ow_registry_is_dead (&record);
      item->since = get_since (id);
      ow_registry_record_clear (&record);
      g_ptr_array_add (items, item);
    }
  g_ptr_array_sort (items, compare_items);
  return items;
}
