/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-program.h"

#include <stdlib.h>
#include <string.h>

static GMutex mutex;
static GHashTable *barred; /* set of paths; under mutex */

void
ow_program_bar (const char *folder)
{
  g_mutex_lock (&mutex);
  if (barred == NULL)
    barred = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_add (barred, g_strdup (folder));
  g_mutex_unlock (&mutex);
}

/* A barred folder that holds @path is one of its parents. */
static gboolean
is_barred (const char *path)
{
  g_autofree char *at = g_strdup (path);
  gboolean found = FALSE;

  g_mutex_lock (&mutex);
  while (barred != NULL && !found)
    {
      char *parent;

      found = g_hash_table_contains (barred, at);
      if (strcmp (at, "/") == 0)
        break;
      parent = g_path_get_dirname (at);
      g_free (at);
      at = parent;
    }
  g_mutex_unlock (&mutex);
  return found;
}

/* What cannot be resolved cannot be started either. */
static gboolean
leads_to_barred (const char *path)
{
  char *real = realpath (path, NULL);
  gboolean found = real == NULL || is_barred (real);

  free (real);
  return found;
}

gboolean
ow_program_is_good (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  /* A link in a barred folder leads where its owner wants it to by the time it is followed. */
  return g_path_is_absolute (path) && g_file_test (path, G_FILE_TEST_IS_REGULAR) &&
         g_file_test (path, G_FILE_TEST_IS_EXECUTABLE) && !leads_to_barred (folder) &&
         !leads_to_barred (path);
}

char *
ow_program_find (const char *name)
{
  const char *path = g_getenv ("PATH");
  g_auto (GStrv) folders = g_strsplit (path != NULL ? path : "", ":", -1);

  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *program = g_build_filename (folders[i], name, NULL);

      if (g_path_is_absolute (folders[i]) && ow_program_is_good (program))
        return g_steal_pointer (&program);
    }
  return NULL;
}
