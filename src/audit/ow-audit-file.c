/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-audit-file-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"

#define LOCK_WAIT_US  (10 * G_USEC_PER_SEC)
#define CHUNK_BYTES   65536
/* How far back the newest record is looked for: past any line and a run of damage. */
#define MAX_BACK_BYTES (4 * (gsize) OW_AUDIT_MAX_LINE_BYTES)
#define OPEN_FLAGS    (O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

static gboolean
fail (GError     **error,
      const char  *verb,
      const char  *path,
      int          code)
{
  ow_error_setf (error, OW_ERROR_FAILED,
                 code == ENOENT ? "It is made when the first session starts." : NULL,
                 "Cannot %s the audit record %s: %s", verb, path,
                 code == ELOOP ? "it is a symbolic link" : g_strerror (code));
  return FALSE;
}

static gboolean
check_file (const char   *path,
            int           fd,
            GError      **error)
{
  struct stat st;

  if (fstat (fd, &st) < 0)
    return fail (error, "open", path, errno);
  if (!S_ISREG (st.st_mode))
    {
      ow_error_setf (error, OW_ERROR_DATA, "Move it away and try again.",
                     "Cannot use the audit record %s: it is not a regular file", path);
      return FALSE;
    }
  if (st.st_uid != geteuid ())
    {
      ow_error_setf (error, OW_ERROR_DATA, "Move it away and try again.",
                     "Cannot use the audit record %s: it belongs to another user (uid %u)", path,
                     st.st_uid);
      return FALSE;
    }

  return TRUE;
}

/* A new file whose name is not on disk is gone after a power loss, whatever was synced
 * into it. */
static gboolean
sync_directory (const char  *path,
                GError     **error)
{
  g_autofree char *dir = g_path_get_dirname (path);
  int fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int code;

  if (fd < 0)
    return fail (error, "create", path, errno);
  code = fsync (fd) < 0 ? errno : 0;
  close (fd);

  return code == 0 || fail (error, "create", path, code);
}

static gboolean
prepare_for_writing (const char  *path,
                     int          fd,
                     GError     **error)
{
  if (fchmod (fd, 0600) < 0 || fsync (fd) < 0)
    return fail (error, "open", path, errno);

  return sync_directory (path, error);
}

int
ow_audit_file_open (const char  *path,
                    gboolean     create,
                    GError     **error)
{
  int fd = create ? open (path, OPEN_FLAGS | O_CREAT, 0600)
                  : open (path, (OPEN_FLAGS & ~(O_RDWR | O_APPEND)) | O_RDONLY);

  if (fd < 0)
    {
      fail (error, create ? "open" : "read", path, errno);
      return -1;
    }
  if (!check_file (path, fd, error) || (create && !prepare_for_writing (path, fd, error)))
    {
      close (fd);
      return -1;
    }

  return fd;
}

gboolean
ow_audit_file_lock (int      fd,
                    GError **error)
{
  gint64 end = g_get_monotonic_time () + LOCK_WAIT_US;
  gulong pause = 50;

  while (flock (fd, LOCK_EX | LOCK_NB) < 0)
    {
      if (errno != EWOULDBLOCK && errno != EINTR)
        {
          ow_error_set (error, OW_ERROR_FAILED, "Cannot lock the audit record",
                        g_strerror (errno), NULL);
          return FALSE;
        }
      if (g_get_monotonic_time () > end)
        {
          ow_error_set (error, OW_ERROR_TIMED_OUT, "Cannot lock the audit record",
                        "another program holds it", "End that program and try again.");
          return FALSE;
        }
      g_usleep (pause);
      pause = MIN (pause * 2, 2000);
    }

  return TRUE;
}

void
ow_audit_file_unlock (int fd)
{
  flock (fd, LOCK_UN);
}

static gboolean
read_at (int      fd,
         char    *buffer,
         gsize    length,
         off_t    offset)
{
  while (length > 0)
    {
      ssize_t n = pread (fd, buffer, length, offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          errno = n == 0 ? EIO : errno;
          return FALSE;
        }
      buffer += n;
      offset += n;
      length -= (gsize) n;
    }

  return TRUE;
}

/* Looks at the whole lines in @text from the last one back; @complete: the text begins
 * where a line begins. Returns how many bytes at its begin are still undecided, because
 * their line has more before them. */
static gsize
search_back (const char    *text,
             gsize          length,
             gboolean       complete,
             OwAuditRecord *record)
{
  while (length > 0)
    {
      const char *newline = memrchr (text, '\n', length);
      const char *line = newline != NULL ? newline + 1 : text;
      gsize bytes = (gsize) (text + length - line);

      if (newline == NULL && !complete)
        return length;
      if (bytes <= OW_AUDIT_MAX_LINE_BYTES && ow_audit_record_parse (record, line, bytes))
        {
          if (record->true_hash)
            return 0;
          ow_audit_record_clear (record);
        }
      if (newline == NULL)
        return 0;
      length = (gsize) (newline - text);
    }

  return 0;
}

gboolean
ow_audit_file_find_end (int             fd,
                        off_t           size,
                        OwAuditRecord  *record,
                        gboolean       *torn,
                        GError        **error)
{
  g_autoptr (GByteArray) held = g_byte_array_new ();
  gsize looked = 0;
  off_t begin = size;

  memset (record, 0, sizeof *record);
  *torn = FALSE;
  while (begin > 0 && looked < MAX_BACK_BYTES)
    {
      /* Twice as much each time, so that one long line is not joined quadratically. */
      gsize step = (gsize) MIN ((off_t) MAX (CHUNK_BYTES, held->len), begin);

      begin -= (off_t) step;
      g_byte_array_set_size (held, held->len + (guint) step);
      memmove (held->data + step, held->data, held->len - step);
      if (!read_at (fd, (char *) held->data, step, begin))
        {
          ow_error_set (error, OW_ERROR_FAILED, "Cannot read the audit record",
                        g_strerror (errno), NULL);
          return FALSE;
        }
      if (looked == 0)
        {
          *torn = held->data[held->len - 1] != '\n';
          if (!*torn)
            g_byte_array_set_size (held, held->len - 1);
        }
      looked += step;
      g_byte_array_set_size (held, (guint) search_back ((const char *) held->data, held->len,
                                                        begin == 0, record));
      if (record->event != NULL)
        return TRUE;
    }

  return TRUE;
}

typedef struct {
  OwAuditLineFunc  func;
  gpointer         user_data;
  GByteArray      *line;    /* (owned) what has come of it so far */
  gboolean         too_long;
} Lines;

/* FALSE: the function wants no more. */
static gboolean
end_line (Lines *lines)
{
  gboolean more = lines->too_long
                  ? lines->func (NULL, 0, lines->user_data)
                  : lines->func ((const char *) lines->line->data, lines->line->len,
                                 lines->user_data);

  g_byte_array_set_size (lines->line, 0);
  lines->too_long = FALSE;

  return more;
}

static gboolean
feed_lines (Lines      *lines,
            const char *data,
            gsize       length)
{
  while (length > 0)
    {
      const char *newline = memchr (data, '\n', length);
      gsize bytes = newline != NULL ? (gsize) (newline - data) : length;

      if (lines->line->len + bytes > OW_AUDIT_MAX_LINE_BYTES)
        lines->too_long = TRUE;
      if (!lines->too_long)
        g_byte_array_append (lines->line, (const guint8 *) data, (guint) bytes);
      if (newline == NULL)
        return TRUE;
      if (!end_line (lines))
        return FALSE;
      data = newline + 1;
      length -= bytes + 1;
    }

  return TRUE;
}

/* Only what is there under the lock is read: behind it a line may be half written. */
static off_t
get_size (int      fd,
          GError **error)
{
  struct stat st;
  int code;

  if (!ow_audit_file_lock (fd, error))
    return -1;
  code = fstat (fd, &st) < 0 ? errno : 0;
  ow_audit_file_unlock (fd);
  if (code != 0)
    {
      ow_error_set (error, OW_ERROR_FAILED, "Cannot read the audit record", g_strerror (code),
                    NULL);
      return -1;
    }

  return st.st_size;
}

gboolean
ow_audit_file_foreach (const char       *path,
                       OwAuditLineFunc   func,
                       gpointer          user_data,
                       GError          **error)
{
  g_autofree char *chunk = g_malloc (CHUNK_BYTES);
  Lines lines = { func, user_data, NULL, FALSE };
  int fd = ow_audit_file_open (path, FALSE, error);
  gboolean more = TRUE;
  off_t size, offset = 0;

  if (fd < 0)
    return FALSE;
  size = get_size (fd, error);
  lines.line = g_byte_array_new ();
  while (offset < size && more)
    {
      gsize step = (gsize) MIN ((off_t) CHUNK_BYTES, size - offset);

      if (!read_at (fd, chunk, step, offset))
        {
          fail (error, "read", path, errno);
          size = -1;
          break;
        }
      more = feed_lines (&lines, chunk, step);
      offset += (off_t) step;
    }
  if (size >= 0 && more && (lines.line->len > 0 || lines.too_long))
    end_line (&lines);
  g_byte_array_unref (lines.line);
  close (fd);

  return size >= 0;
}
