/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-registry-private.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "ow-reaper-private.h"

#define MARK      "OPENWORKER_SANDBOX="
#define PASSES    100
#define PASS_US   20000

/* A pid may be another process by the time it is signalled; a pidfd may not. Start time
 * 0 means any. */
static gboolean
kill_process (GPid    pid,
              guint64 start)
{
  int fd = (int) syscall (SYS_pidfd_open, pid, 0);
  gboolean there;

  if (fd < 0)
    return FALSE;
  there = ow_owner_process_start (pid) != 0 &&
          (start == 0 || ow_owner_process_start (pid) == start);
  if (there)
    syscall (SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
  close (fd);
  return there;
}

static gboolean
carries_mark (GPid        pid,
              const char *mark)
{
  g_autofree char *name = g_strdup_printf ("/proc/%d/environ", pid);
  g_autofree char *text = NULL;
  gsize length = 0;
  gsize at = 0;

  if (!g_file_get_contents (name, &text, &length, NULL))
    return FALSE;
  while (at < length)
    {
      if (strcmp (text + at, mark) == 0)
        return TRUE;
      at += strlen (text + at) + 1;
    }
  return FALSE;
}

/* Kills what carries the mark of sandbox @id; returns how many were there. */
static guint
kill_marked (const char *id)
{
  g_autofree char *mark = g_strconcat (MARK, id, NULL);
  DIR *dir = opendir ("/proc");
  struct dirent *entry;
  guint found = 0;

  if (dir == NULL)
    return 0;
  while ((entry = readdir (dir)) != NULL)
    {
      guint64 pid = 0;
      guint64 start;

      if (!g_ascii_string_to_unsigned (entry->d_name, 10, 2, G_MAXINT, &pid, NULL) ||
          (GPid) pid == getpid ())
        continue;
      start = ow_owner_process_start ((GPid) pid);
      if (start != 0 && carries_mark ((GPid) pid, mark) && kill_process ((GPid) pid, start))
        found++;
    }
  closedir (dir);
  return found;
}

/* A process that forks while it is looked for is caught by the next pass. */
static gboolean
end_processes (const OwRegistryRecord *record,
               GError                **error)
{
  const OwRegistryEntry *entry = &record->entry;

  for (guint pass = 0; pass < PASSES; pass++)
    {
      guint left = 0;

      if (entry->main_pid > 1 && entry->main_start != 0 && entry->main_pid != getpid () &&
          kill_process (entry->main_pid, entry->main_start))
        left++;
      left += kill_marked (entry->id);
      if (left == 0)
        return TRUE;
      g_usleep (PASS_US);
    }
  ow_error_setf (error, OW_ERROR_FAILED, "It is tried again at the next start.",
                 "Processes of the killed session %s do not end", entry->session);
  return FALSE;
}

gboolean
ow_registry_is_dead (const OwRegistryRecord *record)
{
  return record->abandoned ||
         ow_owner_is_gone (record->owner_pid, record->owner_start, record->boot_id);
}

gboolean
ow_registry_remove_dead (const OwRegistryRecord *record,
                         GError                **error)
{
  const OwRegistryEntry *entry = &record->entry;
  g_autofree char *boot = ow_owner_boot_id ();
  g_autofree char *file = ow_registry_get_path (entry->id, ".json");
  g_autofree char *lock = ow_registry_get_path (entry->id, ".lock");

  /* After a restart of the machine no process of it is left, and the numbers are others'. */
  if (strcmp (boot, record->boot_id) == 0 && !end_processes (record, error))
    return FALSE;
  if (!ow_file_remove_tree (entry->run_dir, error) || !ow_file_remove_tree (entry->home, error))
    return FALSE;
  unlink (file);
  unlink (lock);
  return TRUE;
}

/* An entry that says nothing we could act on is kept for a person to look at, out of
 * the way. Its owner is dead, as its lock is ours, and the private home of that name may hold
 * copies of logins, which nobody else would remove. */
static void
move_aside (const char *id)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *home = g_build_filename (homes, id, NULL);
  g_autoptr (GError) reason = NULL;
  g_autofree char *file = ow_registry_get_path (id, ".json");
  g_autofree char *aside = ow_registry_get_path (id, ".json.damaged");
  g_autofree char *lock = ow_registry_get_path (id, ".lock");

  if (rename (file, aside) == 0)
    g_debug ("Registry entry %s is damaged and was moved to %s", file, aside);
  if (!ow_file_remove_tree (home, &reason))
    g_debug ("%s", reason->message);
  unlink (lock);
}

static gboolean
reap_one (const char *id,
          guint      *reaped,
          GError    **error)
{
  OwRegistryRecord record;
  g_autofree char *file = ow_registry_get_path (id, ".json");
  g_autofree char *lock = ow_registry_get_path (id, ".lock");
  gboolean good = TRUE;
  int fd = ow_registry_lock_dead (id);

  if (fd < 0)
    return TRUE; /* its owner lives */
  ow_registry_remove_unwritten (id);
  if (access (file, F_OK) != 0)
    {
      unlink (lock);
    }
  else if (!ow_registry_read (id, &record))
    {
      move_aside (id);
    }
  else
    {
      /* What only the gateway of OpenShell can end is ow-reaper.c's. */
      if (ow_registry_is_dead (&record) && !ow_reaper_is_remote (&record))
        {
          good = ow_registry_remove_dead (&record, error);
          if (good)
            (*reaped)++;
        }
      ow_registry_record_clear (&record);
    }
  close (fd);
  return good;
}

gboolean
ow_registry_reap (guint   *reaped,
                  GError **error)
{
  g_autoptr (GHashTable) ids = ow_registry_list_ids ();
  GHashTableIter iter;
  gpointer id;
  guint count = 0;
  gboolean good = TRUE;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      g_autoptr (GError) reason = NULL;

      /* One that cannot be cleared away must not keep the others from it. */
      if (!reap_one (id, &count, &reason))
        {
          if (good)
            g_propagate_error (error, g_steal_pointer (&reason));
          good = FALSE;
        }
    }
  if (reaped != NULL)
    *reaped = count;
  return good;
}
