/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "audit/ow-audit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "ow-audit-file-private.h"

struct _OwAudit
{
  GObject parent_instance;

  GMutex   mutex;
  char    *path;      /* (owned) */
  int      fd;
  gboolean unsynced;

  /* What the chain's end was when the file had @size bytes. */
  off_t    size;
  guint64  n;
  char     head[OW_AUDIT_HASH_CHARS + 1];
  gboolean torn;
};

G_DEFINE_FINAL_TYPE (OwAudit, ow_audit, G_TYPE_OBJECT)

static void
ow_audit_finalize (GObject *object)
{
  OwAudit *self = OW_AUDIT (object);

  if (self->fd >= 0)
    close (self->fd);
  g_mutex_clear (&self->mutex);
  g_free (self->path);

  G_OBJECT_CLASS (ow_audit_parent_class)->finalize (object);
}

static void
ow_audit_class_init (OwAuditClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_audit_finalize;
}

static void
ow_audit_init (OwAudit *self)
{
  g_mutex_init (&self->mutex);
  self->fd = -1;
  self->size = -1;
}

OwAudit *
ow_audit_open (const char  *path,
               GError     **error)
{
  g_autofree char *dir = g_path_get_dirname (path);
  g_autoptr (OwAudit) self = NULL;

  if (!ow_paths_ensure (dir, error))
    return NULL;

  self = g_object_new (OW_TYPE_AUDIT, NULL);
  self->path = g_strdup (path);
  self->fd = ow_audit_file_open (path, TRUE, error);

  return self->fd >= 0 ? g_steal_pointer (&self) : NULL;
}

static gboolean
fail (OwAudit     *self,
      const char  *why,
      GError     **error)
{
  g_autofree char *what = g_strdup_printf ("Cannot write to the audit record %s", self->path);

  ow_error_set (error, OW_ERROR_FAILED, what, why,
                "Nothing is done that cannot be recorded: put that right and try again.");
  return FALSE;
}

static const char *
describe (int code)
{
  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    return "the disk is full";
  return g_strerror (code);
}

/* Records that go into a file without a name would be lost. */
static gboolean
check_in_place (OwAudit            *self,
                const struct stat  *st,
                GError            **error)
{
  struct stat named;

  if (st->st_nlink > 0 && lstat (self->path, &named) == 0 && named.st_dev == st->st_dev &&
      named.st_ino == st->st_ino)
    return TRUE;

  return fail (self, "it was removed or replaced while in use; start the program again", error);
}

/* Under the lock: brings n, head and torn up to date. Only what others have appended
 * since costs a look. */
static gboolean
refresh (OwAudit  *self,
         GError  **error)
{
  OwAuditRecord record;
  struct stat st;

  if (fstat (self->fd, &st) < 0)
    return fail (self, g_strerror (errno), error);
  if (!check_in_place (self, &st, error))
    return FALSE;
  if (st.st_size == self->size)
    return TRUE;
  /* Whoever holds the lock takes back nothing but the part of a line that is its own, so records
   * are missing: a chain that began anew would hide that. */
  if (st.st_size < self->size)
    return fail (self, "it was cut short while in use; see \"openworker audit verify\"", error);

  if (!ow_audit_file_find_end (self->fd, st.st_size, &record, &self->torn, error))
    return FALSE;
  self->n = record.event != NULL ? record.n : 0;
  g_strlcpy (self->head, record.event != NULL ? record.hash : ow_audit_record_first_hash,
             sizeof self->head);
  self->size = st.st_size;
  ow_audit_record_clear (&record);

  return TRUE;
}

/* A part of a line would fuse with the next record, so it is taken back. */
static gboolean
write_line (OwAudit     *self,
            const char  *line,
            gsize        length,
            GError     **error)
{
  ssize_t written;
  int code;

  do
    written = write (self->fd, line, length);
  while (written < 0 && errno == EINTR);
  if (written == (ssize_t) length)
    return TRUE;

  code = written < 0 ? errno : ENOSPC;
  if (written > 0 && ftruncate (self->fd, self->size) < 0)
    self->size = -1;

  return fail (self, describe (code), error);
}

/* Under the lock. */
static gboolean
append_record (OwAudit  *self,
               json_t   *event,
               GError  **error)
{
  char hash[OW_AUDIT_HASH_CHARS + 1];
  g_autofree char *line = NULL;
  gsize length = 0;

  if (!refresh (self, error))
    return FALSE;
  line = ow_audit_record_make_line (self->n + 1, self->head, event, hash, &length);
  if (line == NULL)
    return fail (self, "the call is too large to be recorded", error);

  /* Nothing of another writer is taken away: its torn line is ended here and counts
   * as damaged. */
  if (self->torn)
    {
      char *joined = g_malloc (length + 2);

      joined[0] = '\n';
      memcpy (joined + 1, line, length + 1);
      g_free (line);
      line = joined;
      length++;
    }
  if (!write_line (self, line, length, error))
    return FALSE;

  self->size += (off_t) length;
  self->torn = FALSE;
  self->n++;
  memcpy (self->head, hash, sizeof self->head);

  return TRUE;
}

static gboolean
sync_data (OwAudit  *self,
           GError  **error)
{
  if (fdatasync (self->fd) < 0)
    return fail (self, describe (errno), error);
  self->unsynced = FALSE;

  return TRUE;
}

gboolean
ow_audit_append (OwAudit   *self,
                 OwEvent   *event,
                 gboolean   sync,
                 GError   **error)
{
  json_t *json;
  gboolean ok;

  g_return_val_if_fail (OW_IS_AUDIT (self), FALSE);

  if (!ow_audit_wants (ow_event_get_kind (event)))
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "A %s event does not belong in the audit record",
                     ow_event_kind_name (ow_event_get_kind (event)));
      return FALSE;
    }

  json = ow_audit_record_make_event (event);
  g_mutex_lock (&self->mutex);
  ok = ow_audit_file_lock (self->fd, error);
  if (ok)
    {
      ok = append_record (self, json, error);
      ow_audit_file_unlock (self->fd);
    }
  if (ok)
    {
      self->unsynced = TRUE;
      ok = !sync || sync_data (self, error);
    }
  g_mutex_unlock (&self->mutex);
  json_decref (json);

  return ok;
}

gboolean
ow_audit_sync (OwAudit  *self,
               GError  **error)
{
  gboolean ok;

  g_return_val_if_fail (OW_IS_AUDIT (self), FALSE);

  g_mutex_lock (&self->mutex);
  ok = !self->unsynced || sync_data (self, error);
  g_mutex_unlock (&self->mutex);

  return ok;
}
