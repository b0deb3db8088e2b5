/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "ow-registry-private.h"
#include "wire/ow-json.h"

#define MAX_ENTRY_BYTES 65536
#define ID_LENGTH       12
#define NEW_TRIES       200
#define NEW_TRY_US      5000

/* An entry is ID.json; beside it ID.lock is held locked by its owner for as long as it
 * lives, which the kernel ends whatever way the owner goes. */
static GMutex mutex;
static GHashTable *locks; /* id → descriptor; under mutex */

gboolean
ow_registry_is_id (const char *text)
{
  return strlen (text) == ID_LENGTH && strspn (text, "0123456789abcdef") == ID_LENGTH;
}

char *
ow_registry_get_path (const char *id,
                      const char *suffix)
{
  g_autofree char *dir = ow_paths_get_registry_dir ();
  g_autofree char *name = g_strconcat (id, suffix, NULL);

  return g_build_filename (dir, name, NULL);
}

/* Opens and locks @path; -1 when another holds it (EWOULDBLOCK) or it cannot be made. A
 * lock on a file that a reaper has just unlinked would guard nothing. */
static int
take_lock (const char *path,
           int         flags)
{
  for (int tries = 0; tries < 100; tries++)
    {
      int fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
      struct stat opened;
      struct stat named;

      if (fd < 0)
        return -1;
      if (flock (fd, LOCK_EX | LOCK_NB) != 0)
        {
          int code = errno;

          close (fd);
          errno = code;
          return -1;
        }
      if (fstat (fd, &opened) == 0 && lstat (path, &named) == 0 &&
          opened.st_ino == named.st_ino && opened.st_dev == named.st_dev)
        return fd;
      close (fd);
    }
  errno = EAGAIN;
  return -1;
}

/* The lock of a new entry; -1 with errno. A reaper that finds the file before it is locked has it
 * for the moment that it takes to see that it belongs to nothing. */
static int
take_new_lock (const char *path)
{
  int fd = take_lock (path, O_CREAT);

  for (int tries = 0; fd < 0 && errno == EWOULDBLOCK && tries < NEW_TRIES; tries++)
    {
      g_usleep (NEW_TRY_US);
      fd = take_lock (path, O_CREAT);
    }
  return fd;
}

static gboolean
hold_lock (const char *id,
           GError    **error)
{
  g_autofree char *path = ow_registry_get_path (id, ".lock");
  gboolean held = TRUE;

  g_mutex_lock (&mutex);
  if (locks == NULL)
    locks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!g_hash_table_contains (locks, id))
    {
      int fd = take_new_lock (path);

      if (fd >= 0)
        {
          g_hash_table_insert (locks, g_strdup (id), GINT_TO_POINTER (fd));
        }
      else
        {
          ow_error_setf (error, OW_ERROR_FAILED, NULL, "The sandbox cannot be recorded in %s: %s",
                         path, g_strerror (errno));
          held = FALSE;
        }
    }
  g_mutex_unlock (&mutex);
  return held;
}

static void
drop_lock (const char *id)
{
  gpointer fd;

  g_mutex_lock (&mutex);
  if (locks != NULL && g_hash_table_lookup_extended (locks, id, NULL, &fd))
    {
      close (GPOINTER_TO_INT (fd));
      g_hash_table_remove (locks, id);
    }
  g_mutex_unlock (&mutex);
}

/* NULL when a part of it cannot be a text. */
static char *
entry_to_text (const OwRegistryEntry *entry,
               gboolean               abandoned)
{
  g_autofree char *boot = ow_owner_boot_id ();
  json_t *json = json_object ();
  size_t members = 10;
  char *text;

  json_object_set_new (json, "id", json_string (entry->id));
  json_object_set_new (json, "session", json_string (entry->session));
  json_object_set_new (json, "provider", json_string (entry->provider));
  json_object_set_new (json, "home", json_string (entry->home));
  json_object_set_new (json, "run_dir", json_string (entry->run_dir));
  if (entry->image != NULL)
    {
      members++;
      json_object_set_new (json, "image", json_string (entry->image));
    }
  if (entry->gateway != NULL)
    {
      members++;
      json_object_set_new (json, "gateway", json_string (entry->gateway));
    }
  if (abandoned)
    {
      members++;
      json_object_set_new (json, "abandoned", json_true ());
    }
  json_object_set_new (json, "main_pid", json_integer (entry->main_pid));
  json_object_set_new (json, "main_start", json_integer ((json_int_t) entry->main_start));
  json_object_set_new (json, "owner_pid", json_integer (getpid ()));
  json_object_set_new (json, "owner_start",
                       json_integer ((json_int_t) ow_owner_process_start (getpid ())));
  json_object_set_new (json, "boot_id", json_string (boot));
  text = json_object_size (json) == members ? ow_json_dump (json, NULL) : NULL;
  json_decref (json);
  return text;
}

static gboolean
write_entry (const OwRegistryEntry *entry,
             gboolean               abandoned,
             GError               **error)
{
  g_autofree char *path = ow_registry_get_path (entry->id, ".json");
  g_autoptr (GBytes) content = NULL;
  char *text = entry_to_text (entry, abandoned);

  if (text == NULL)
    {
      ow_error_set (error, OW_ERROR_DATA, "The sandbox cannot be recorded",
                    "a path or name of it is not valid UTF-8", NULL);
      return FALSE;
    }
  content = g_bytes_new_with_free_func (text, strlen (text), free, text);
  return ow_file_write_atomic (path, content, 0600, error);
}

gboolean
ow_registry_put (const OwRegistryEntry *entry,
                 GError               **error)
{
  g_autofree char *dir = ow_paths_get_registry_dir ();

  g_return_val_if_fail (entry->id != NULL && ow_registry_is_id (entry->id), FALSE);

  return ow_paths_ensure (dir, error) && hold_lock (entry->id, error) &&
         write_entry (entry, FALSE, error);
}

void
ow_registry_abandon (const char *id)
{
  OwRegistryRecord record;
  g_autoptr (GError) error = NULL;

  if (!ow_registry_read (id, &record))
    return;
  /* Where it cannot be written it is a reaper's once this process has ended. */
  if (write_entry (&record.entry, TRUE, &error))
    drop_lock (id);
  else
    g_debug ("Sandbox %s: %s", id, error->message);
  ow_registry_record_clear (&record);
}

void
ow_registry_remove (const char *id)
{
  g_autofree char *entry = NULL;
  g_autofree char *lock = NULL;

  g_return_if_fail (id != NULL && ow_registry_is_id (id));

  entry = ow_registry_get_path (id, ".json");
  lock = ow_registry_get_path (id, ".lock");
  unlink (entry);
  unlink (lock);
  drop_lock (id);
}

void
ow_registry_record_clear (OwRegistryRecord *record)
{
  g_free (record->entry.id);
  g_free (record->entry.session);
  g_free (record->entry.provider);
  g_free (record->entry.home);
  g_free (record->entry.run_dir);
  g_free (record->entry.image);
  g_free (record->entry.gateway);
  g_free (record->boot_id);
  memset (record, 0, sizeof *record);
}

/* A folder that may be removed is one that this program makes: named by the id, in a
 * place of ours. What a file says is not enough. */
static gboolean
is_ours (const char *path,
         const char *id,
         const char *parent,
         const char *other_parent)
{
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *dir = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autofree char *canonical = path != NULL ? g_canonicalize_filename (path, "/") : NULL;

  return path != NULL && strcmp (path, canonical) == 0 && strcmp (name, id) == 0 &&
         (strcmp (dir, parent) == 0 ||
          (other_parent != NULL && strcmp (dir, other_parent) == 0));
}

static gboolean
has_our_folders (const OwRegistryEntry *entry)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *runtime = ow_paths_get_runtime_dir ();
  g_autofree char *state = ow_paths_get_state_dir ();
  g_autofree char *fallback = g_build_filename (state, "run", NULL);
  g_autofree char *usual = g_strdup_printf ("/run/user/%u/coworker", geteuid ());

  return is_ours (entry->home, entry->id, homes, NULL) &&
         (is_ours (entry->run_dir, entry->id, runtime, fallback) ||
          is_ours (entry->run_dir, entry->id, usual, NULL));
}

/* Fills @record from a file; FALSE when it is not an entry of ours. */
gboolean
ow_registry_read (const char       *id,
                  OwRegistryRecord *record)
{
  g_autofree char *path = ow_registry_get_path (id, ".json");
  g_autoptr (GBytes) content = ow_file_read (path, MAX_ENTRY_BYTES, NULL);
  char error[OW_WIRE_ERROR_SIZE];
  json_t *json = NULL;
  gboolean good;

  memset (record, 0, sizeof *record);
  if (content != NULL)
    json = ow_json_parse (g_bytes_get_data (content, NULL), g_bytes_get_size (content), error);
  record->entry.id = g_strdup (ow_json_get_string (json, "id", ""));
  record->entry.session = g_strdup (ow_json_get_string (json, "session", ""));
  record->entry.provider = g_strdup (ow_json_get_string (json, "provider", ""));
  record->entry.home = g_strdup (ow_json_get_string (json, "home", NULL));
  record->entry.run_dir = g_strdup (ow_json_get_string (json, "run_dir", NULL));
  record->entry.image = g_strdup (ow_json_get_string (json, "image", NULL));
  record->entry.gateway = g_strdup (ow_json_get_string (json, "gateway", NULL));
  record->boot_id = g_strdup (ow_json_get_string (json, "boot_id", ""));
  record->abandoned = ow_json_get_bool (json, "abandoned", FALSE) != 0;
  record->entry.main_pid = (GPid) CLAMP (ow_json_get_int (json, "main_pid", 0), 0, G_MAXINT);
  record->entry.main_start = (guint64) MAX (ow_json_get_int (json, "main_start", 0), 0);
  record->owner_pid = (GPid) CLAMP (ow_json_get_int (json, "owner_pid", 0), 0, G_MAXINT);
  record->owner_start = (guint64) MAX (ow_json_get_int (json, "owner_start", 0), 0);
  good = json != NULL && strcmp (record->entry.id, id) == 0 && record->owner_pid > 0 &&
         record->boot_id[0] != '\0' && has_our_folders (&record->entry);
  json_decref (json);
  if (!good)
    ow_registry_record_clear (record);
  return good;
}

int
ow_registry_lock_dead (const char *id)
{
  g_autofree char *path = ow_registry_get_path (id, ".lock");
  int fd;

  g_mutex_lock (&mutex);
  fd = locks != NULL && g_hash_table_contains (locks, id) ? -1 : take_lock (path, O_CREAT);
  g_mutex_unlock (&mutex);
  return fd;
}
