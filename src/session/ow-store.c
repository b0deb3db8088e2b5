/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-store-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"

/* "OWst", so that another program's database is told from ours. */
#define APPLICATION_ID 0x4f577374
#define BUSY_TIMEOUT_MS 5000
#define RETRY_US 5000
#define MAX_TITLE_CHARS 120

struct _OwStore {
  GObject parent_instance;

  sqlite3 *database; /* (owned) */
  char    *path;     /* (owned) */
};

G_DEFINE_FINAL_TYPE (OwStore, ow_store, G_TYPE_OBJECT)

/* One step a version; a step, once released, is never changed. */
static const char * const migrations[] = {
  "CREATE TABLE sessions ("
  "  id TEXT PRIMARY KEY, started TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',"
  "  state TEXT NOT NULL, provider TEXT NOT NULL, level TEXT NOT NULL,"
  "  pid INTEGER NOT NULL, pid_start TEXT NOT NULL, boot_id TEXT NOT NULL);"
  "CREATE TABLE events ("
  "  session TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL,"
  "  json TEXT NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID;"
  "CREATE INDEX sessions_by_start ON sessions (started);",
  "ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT '';"
  "UPDATE sessions SET model = coalesce ((SELECT CASE WHEN json_valid (json)"
  "  THEN json_extract (json, '$.model') END FROM events"
  "  WHERE events.session = sessions.id AND seq = 1), '');",
};

static void
ow_store_finalize (GObject *object)
{
  OwStore *self = OW_STORE (object);

  sqlite3_close_v2 (self->database);
  g_free (self->path);
  G_OBJECT_CLASS (ow_store_parent_class)->finalize (object);
}

static void
ow_store_class_init (OwStoreClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_store_finalize;
}

static void
ow_store_init (OwStore *self)
{
}

void
ow_store_set_error (OwStore     *self,
                    const char  *what,
                    GError     **error)
{
  int              code = sqlite3_errcode (self->database) & 0xff;
  g_autofree char *shown = ow_text_visible (self->path);
  g_autofree char *full = g_strdup_printf ("%s (%s)", what, shown);
  const char      *next = NULL;
  OwErrorKind      kind = OW_ERROR_FAILED;

  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    {
      kind = OW_ERROR_DATA;
      next = "It was left as it is. Move the file away to begin with an empty store.";
    }
  else if (code == SQLITE_FULL || code == SQLITE_IOERR)
    next = "Make room on the disk, or see what is wrong with it.";
  else if (code == SQLITE_BUSY)
    next = "Another program is holding it. Try again when that is done.";
  ow_error_set (error, kind, full, sqlite3_errmsg (self->database), next);
}

gboolean
ow_store_exec (OwStore     *self,
               const char  *sql,
               GError     **error)
{
  if (sqlite3_exec (self->database, sql, NULL, NULL, NULL) == SQLITE_OK)
    return TRUE;
  ow_store_set_error (self, "The store of sessions could not be used", error);
  return FALSE;
}

sqlite3_stmt *
ow_store_prepare (OwStore     *self,
                  const char  *sql,
                  GError     **error)
{
  sqlite3_stmt *statement = NULL;

  if (sqlite3_prepare_v2 (self->database, sql, -1, &statement, NULL) == SQLITE_OK)
    return statement;
  ow_store_set_error (self, "The store of sessions could not be used", error);
  return NULL;
}

static gboolean
read_number (OwStore     *self,
             const char  *sql,
             gint64      *number,
             GError     **error)
{
  sqlite3_stmt *statement = ow_store_prepare (self, sql, error);
  gboolean      good;

  if (statement == NULL)
    return FALSE;
  good = sqlite3_step (statement) == SQLITE_ROW;
  if (good)
    *number = sqlite3_column_int64 (statement, 0);
  else
    ow_store_set_error (self, "The store of sessions could not be read", error);
  sqlite3_finalize (statement);
  return good;
}

static gboolean
run_migrations (OwStore  *self,
                GError  **error)
{
  gint64 version = 0;

  if (!read_number (self, "PRAGMA user_version", &version, error))
    return FALSE;
  for (gsize i = (gsize) version; i < G_N_ELEMENTS (migrations); i++)
    {
      g_autofree char *mark = g_strdup_printf ("PRAGMA application_id = %d;"
                                               "PRAGMA user_version = %d;",
                                               APPLICATION_ID, (int) i + 1);

      if (!ow_store_exec (self, migrations[i], error) || !ow_store_exec (self, mark, error))
        return FALSE;
    }
  return TRUE;
}

/* Another program's database, or one of a newer version of ours, is left alone. */
static gboolean
check_identity (OwStore  *self,
                gint64   *version,
                GError  **error)
{
  g_autofree char *shown = ow_text_visible (self->path);
  gint64 application = 0;
  gint64 tables = 0;

  if (!read_number (self, "PRAGMA application_id", &application, error) ||
      !read_number (self, "PRAGMA user_version", version, error) ||
      !read_number (self, "SELECT count(*) FROM sqlite_master", &tables, error))
    return FALSE;
  if (application != APPLICATION_ID && (application != 0 || *version != 0 || tables != 0))
    {
      ow_error_setf (error, OW_ERROR_DATA,
                     "It was left as it is. Move the file away to begin with an empty store.",
                     "%s is a database of another program", shown);
      return FALSE;
    }
  if (*version < 0 || *version > (gint64) G_N_ELEMENTS (migrations))
    {
      ow_error_setf (error, OW_ERROR_DATA, "Use the newer program, or move the file away.",
                     "%s was written by a newer version of this program", shown);
      return FALSE;
    }
  return TRUE;
}

/* Who is asked in one transaction sees one state: the marks of a file that somebody else is just
 * making are there with its tables, or neither is. */
static gboolean
check_identity_at_once (OwStore  *self,
                        gint64   *version,
                        GError  **error)
{
  gboolean good;

  if (!ow_store_exec (self, "BEGIN", error))
    return FALSE;
  good = check_identity (self, version, error);
  return ow_store_exec (self, "ROLLBACK", good ? error : NULL) && good;
}

/* sqlite waits for nobody while it changes the mode, where two who wait would wait for each other:
 * each of the programs that open a new file at once tries again. */
static gboolean
set_journal_mode (OwStore  *self,
                  GError  **error)
{
  gint64 deadline = g_get_monotonic_time () + BUSY_TIMEOUT_MS * G_TIME_SPAN_MILLISECOND;

  for (;;)
    {
      g_autoptr (GError) cause = NULL;

      if (ow_store_exec (self, "PRAGMA journal_mode = WAL", &cause))
        return TRUE;
      if ((sqlite3_errcode (self->database) & 0xff) != SQLITE_BUSY
          || g_get_monotonic_time () >= deadline)
        {
          g_propagate_error (error, g_steal_pointer (&cause));
          return FALSE;
        }
      g_usleep (RETRY_US);
    }
}

static gboolean
prepare_database (OwStore  *self,
                  GError  **error)
{
  gint64   version = 0;
  gboolean good;

  sqlite3_extended_result_codes (self->database, 1);
  sqlite3_busy_timeout (self->database, BUSY_TIMEOUT_MS);
  if (!check_identity_at_once (self, &version, error) || !set_journal_mode (self, error))
    return FALSE;
  /* NORMAL: a power cut may take the last events, never the file. The record that must
   * be on disk before an effect is the audit. */
  if (!ow_store_exec (self, "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
                      "PRAGMA trusted_schema = OFF;", error))
    return FALSE;
  if (version == (gint64) G_N_ELEMENTS (migrations))
    return TRUE;
  /* Two programs may get here at once: the second finds the first one's work done. */
  if (!ow_store_exec (self, "BEGIN IMMEDIATE", error))
    return FALSE;
  good = check_identity (self, &version, error) && run_migrations (self, error);
  if (good)
    return ow_store_exec (self, "COMMIT", error);
  ow_store_exec (self, "ROLLBACK", NULL);
  return FALSE;
}

/* Made here, not by sqlite, so that it is the owner's alone from its first byte and
 * nothing but a regular file is ever opened. One that is there is looked at through O_PATH:
 * closing any other descriptor of it would take away the locks that this process has on it. */
static gboolean
make_file (const char  *path,
           GError     **error)
{
  g_autofree char *directory = g_path_get_dirname (path);
  g_autofree char *shown = ow_text_visible (path);
  struct stat info = { 0 };
  gboolean good;
  int saved;
  int fd;

  if (!ow_paths_ensure (directory, error))
    return FALSE;
  fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    fd = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  good = fd >= 0 && fstat (fd, &info) == 0;
  saved = errno;
  if (fd >= 0)
    close (fd);
  if (!good)
    {
      ow_error_setf (error, OW_ERROR_FAILED, NULL,
                     "The store of sessions %s cannot be opened: %s", shown,
                     g_strerror (saved));
      return FALSE;
    }
  if (S_ISREG (info.st_mode) && access (path, R_OK | W_OK) == 0)
    return TRUE;
  if (S_ISREG (info.st_mode))
    ow_error_setf (error, OW_ERROR_FAILED, "Make it yours to read and write.",
                   "The store of sessions %s cannot be opened: %s", shown, g_strerror (errno));
  else if (S_ISLNK (info.st_mode))
    ow_error_setf (error, OW_ERROR_FAILED, NULL,
                   "The store of sessions %s cannot be opened: it is a symbolic link", shown);
  else
    ow_error_setf (error, OW_ERROR_DATA, "Move it away.",
                   "The store of sessions %s is no regular file", shown);
  return FALSE;
}

/* sqlite, which is told to follow no link, means those on the way too; the way is the
 * person's, and homes lie behind links. */
static char *
find_real_path (const char *path)
{
  g_autofree char *directory = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  char *real = realpath (directory, NULL);
  char *found = real != NULL ? g_build_filename (real, name, NULL) : g_strdup (path);

  free (real);
  return found;
}

OwStore *
ow_store_open (const char  *path,
               GError     **error)
{
  g_autoptr (OwStore) self = NULL;
  g_autofree char *real = NULL;

  g_return_val_if_fail (path != NULL, NULL);

  if (!make_file (path, error))
    return NULL;
  self = g_object_new (OW_TYPE_STORE, NULL);
  self->path = g_strdup (path);
  real = find_real_path (path);
  if (sqlite3_open_v2 (real, &self->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
                       NULL) != SQLITE_OK)
    {
      ow_store_set_error (self, "The store of sessions cannot be opened", error);
      return NULL;
    }
  if (!prepare_database (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

gboolean
ow_store_step_done (OwStore       *self,
                    sqlite3_stmt  *statement,
                    const char    *what,
                    GError       **error)
{
  gboolean good = sqlite3_step (statement) == SQLITE_DONE;

  if (!good)
    ow_store_set_error (self, what, error);
  sqlite3_finalize (statement);
  return good;
}

void
ow_store_bind_text (sqlite3_stmt *statement,
                    int           index,
                    const char   *text)
{
  sqlite3_bind_text (statement, index, text != NULL ? text : "", -1, SQLITE_TRANSIENT);
}

/* Who runs a session, and how, as parameters 1 to 7. */
static void
bind_run (sqlite3_stmt  *statement,
          const OwEvent *event)
{
  g_autofree char *start = g_strdup_printf ("%" G_GINT64_FORMAT,
                                            ow_event_get_int (event, "pid_start", 0));

  ow_store_bind_text (statement, 1, ow_event_get_session (event));
  ow_store_bind_text (statement, 2, ow_event_get_string (event, "provider"));
  ow_store_bind_text (statement, 3, ow_event_get_string (event, "level"));
  sqlite3_bind_int64 (statement, 4, ow_event_get_int (event, "pid", 0));
  ow_store_bind_text (statement, 5, start);
  ow_store_bind_text (statement, 6, ow_event_get_string (event, "boot_id"));
  ow_store_bind_text (statement, 7, ow_event_get_string (event, "model"));
}

static gboolean
insert_session (OwStore  *self,
                OwEvent  *event,
                GError  **error)
{
  static const char insert[] =
    "INSERT INTO sessions (id, state, provider, level, pid, pid_start, boot_id, model, started)"
    " VALUES (?1, 'running', ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
  sqlite3_stmt *statement = ow_store_prepare (self, insert, error);
  json_t       *json;

  if (statement == NULL)
    return FALSE;
  json = ow_event_to_json (event);
  bind_run (statement, event);
  ow_store_bind_text (statement, 8, ow_json_get_string (json, "time", ""));
  json_decref (json);
  return ow_store_step_done (self, statement, "The session could not be stored", error);
}

/* The one place where it is decided who goes on with a session: whoever finds it ended,
 * within the transaction that makes it run again. */
static gboolean
reopen_session (OwStore  *self,
                OwEvent  *event,
                GError  **error)
{
  static const char update[] =
    "UPDATE sessions SET state = 'running', provider = ?2, level = ?3, pid = ?4, pid_start = ?5,"
    " boot_id = ?6, model = ?7 WHERE id = ?1 AND state NOT IN ('running', 'damaged')"
    " AND (SELECT max (seq) FROM events WHERE session = ?1) = ?8";
  sqlite3_stmt *statement = ow_store_prepare (self, update, error);

  if (statement == NULL)
    return FALSE;
  bind_run (statement, event);
  sqlite3_bind_int64 (statement, 8, (sqlite3_int64) ow_event_get_seq (event) - 1);
  if (!ow_store_step_done (self, statement, "The session could not be stored", error))
    return FALSE;
  if (sqlite3_changes (self->database) == 1)
    return TRUE;
  ow_error_set (error, OW_ERROR_REFUSED, "The session cannot go on here",
                "it was taken up or deleted by somebody else meanwhile",
                "See `openworker sessions list`.");
  return FALSE;
}

static gboolean
insert_event (OwStore  *self,
              OwEvent  *event,
              GError  **error)
{
  static const char insert[] = "INSERT INTO events (session, seq, json) VALUES (?1, ?2, ?3)";
  sqlite3_stmt *statement = ow_store_prepare (self, insert, error);
  g_autofree char *line = ow_event_to_line (event);
  g_autoptr (GError) cause = NULL;

  if (statement == NULL)
    return FALSE;
  ow_store_bind_text (statement, 1, ow_event_get_session (event));
  sqlite3_bind_int64 (statement, 2, (sqlite3_int64) ow_event_get_seq (event));
  ow_store_bind_text (statement, 3, line);
  if (ow_store_step_done (self, statement, "The event could not be stored", &cause))
    return TRUE;
  if (sqlite3_extended_errcode (self->database) != SQLITE_CONSTRAINT_FOREIGNKEY)
    g_propagate_error (error, g_steal_pointer (&cause));
  else
    ow_error_set (error, OW_ERROR_FAILED, "The session cannot go on",
                  "it was deleted from the store while it ran", "Start another one.");
  return FALSE;
}

static gboolean
update_session (OwStore     *self,
                const char  *sql,
                OwEvent     *event,
                const char  *value,
                GError     **error)
{
  sqlite3_stmt *statement = ow_store_prepare (self, sql, error);

  if (statement == NULL)
    return FALSE;
  ow_store_bind_text (statement, 1, value);
  ow_store_bind_text (statement, 2, ow_event_get_session (event));
  return ow_store_step_done (self, statement, "The session could not be stored", error);
}

/* The person's first words, or the command of a session that has none. */
static char *
make_title (OwEvent *event)
{
  g_autoptr (GString) title = g_string_new (ow_event_get_string (event, "text"));
  json_t *arguments = json_object_get (ow_event_get_members (event), "arguments");
  json_t *argv = json_object_get (arguments, "argv");

  for (size_t i = 0; i < json_array_size (argv) && title->len < MAX_TITLE_CHARS; i++)
    {
      const char *word = json_string_value (json_array_get (argv, i));

      g_string_append_printf (title, "%s%s", i > 0 ? " " : "", word != NULL ? word : "");
    }
  return ow_text_shorten (title->str, MAX_TITLE_CHARS, TRUE);
}

static gboolean
store_event (OwStore  *self,
             OwEvent  *event,
             GError  **error)
{
  OwEventType kind = ow_event_get_kind (event);

  if (kind == OW_EVENT_SESSION_STARTED && !insert_session (self, event, error))
    return FALSE;
  if (kind == OW_EVENT_SESSION_RESUMED && !reopen_session (self, event, error))
    return FALSE;
  if (!insert_event (self, event, error))
    return FALSE;
  if (kind == OW_EVENT_USER_MESSAGE || kind == OW_EVENT_TOOL_ASKED)
    {
      g_autofree char *title = make_title (event);

      return update_session (self, "UPDATE sessions SET title = ?1 WHERE id = ?2 AND title = ''",
                             event, title, error);
    }
  if (kind == OW_EVENT_SESSION_ENDED)
    return update_session (self, "UPDATE sessions SET state = ?1 WHERE id = ?2", event,
                           ow_event_get_string (event, "outcome"), error);
  return TRUE;
}

/* What goes into a file without a name, or beside the one that others open now, is lost. */
static gboolean
check_in_place (OwStore  *self,
                GError  **error)
{
  g_autofree char *shown = ow_text_visible (self->path);
  int moved = 0;

  if (sqlite3_file_control (self->database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
      moved == 0)
    return TRUE;
  ow_error_setf (error, OW_ERROR_FAILED, "Put it back or begin with an empty one, and start the "
                 "program again.", "The store of sessions %s cannot be used: it was removed or "
                 "replaced while in use", shown);
  return FALSE;
}

static gboolean
sink (OwEvent   *event,
      gpointer   user_data,
      GError   **error)
{
  OwStore *self = user_data;

  if (ow_event_kind_is_live (ow_event_get_kind (event)))
    return TRUE;
  /* Within a transaction already when closing interrupted sessions. */
  if (!sqlite3_get_autocommit (self->database))
    return store_event (self, event, error);
  if (!check_in_place (self, error) || !ow_store_exec (self, "BEGIN IMMEDIATE", error))
    return FALSE;
  if (store_event (self, event, error) && ow_store_exec (self, "COMMIT", error))
    return TRUE;
  ow_store_exec (self, "ROLLBACK", NULL);
  return FALSE;
}

void
ow_store_attach (OwStore     *self,
                 OwEventList *list)
{
  g_return_if_fail (OW_IS_STORE (self));

  ow_event_list_set_sink (list, sink, g_object_ref (self), g_object_unref);
}
