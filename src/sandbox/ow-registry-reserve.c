/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-registry-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"

/* Held for a few file operations; a process that was stopped in the middle of them holds
 * others up for this long at most. */
#define LOCK_NAME "reserve.lock"
#define TRIES     200
#define TRY_US    10000

/* -1 with @error. The caller closes it. */
static int
lock_all (GError **error)
{
  g_autofree char *dir = ow_paths_get_registry_dir ();
  g_autofree char *path = g_build_filename (dir, LOCK_NAME, NULL);
  int fd = ow_paths_ensure (dir, error)
             ? open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
  int code = errno;

  for (guint i = 0; fd >= 0 && i < TRIES; i++)
    {
      if (flock (fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
      code = errno;
      if (code != EWOULDBLOCK && code != EINTR)
        break;
      g_usleep (TRY_US);
    }
  if (fd >= 0)
    close (fd);
  if (error == NULL || *error == NULL)
    ow_error_setf (error, OW_ERROR_FAILED, "Try it again.",
                   "The session cannot be started: %s cannot be locked: %s", path,
                   g_strerror (code));
  return -1;
}

static guint
count_others (const OwRegistryEntry *entry)
{
  g_autoptr (GPtrArray) items = ow_registry_list ();
  guint count = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const OwRegistryItem *item = g_ptr_array_index (items, i);

      if (item->alive && strcmp (item->id, entry->id) != 0 &&
          strcmp (item->provider, entry->provider) == 0)
        count++;
    }
  return count;
}

gboolean
ow_registry_reserve (const OwRegistryEntry *entry,
                     guint                  max,
                     GError               **error)
{
  int fd = lock_all (error);
  gboolean good = FALSE;

  if (fd < 0)
    return FALSE;
  if (count_others (entry) < max)
    good = ow_registry_put (entry, error);
  else
    ow_error_setf (error, OW_ERROR_REFUSED,
                   "End a session; \"openworker sandbox list\" shows what runs and \"openworker "
                   "sandbox reap\" removes what a killed run left. OPENWORKER_SANDBOX_MAX sets "
                   "another number.",
                   "Sessions on this machine are refused: %u sandboxes run already, which is as "
                   "many as may", max);
  close (fd);
  return good;
}
