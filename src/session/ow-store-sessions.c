/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-store-private.h"

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "sandbox/ow-undo-folder.h"

#define MAX_NAME_CHARS 60

/* What is asked of stored sessions, and taking one off (declared in session/ow-store.h). */

json_t *
ow_store_list (OwStore  *self,
               GError  **error)
{
  static const char * const keys[] = { "session", "started", "title", "state", "provider",
                                       "level", "model" };
  static const char query[] =
    "SELECT id, started, title, state, provider, level, model FROM sessions"
    " ORDER BY started DESC, rowid DESC";
  sqlite3_stmt *statement;
  json_t *sessions;
  int status;

  g_return_val_if_fail (OW_IS_STORE (self), NULL);

  statement = ow_store_prepare (self, query, error);
  if (statement == NULL)
    return NULL;
  sessions = json_array ();
  while ((status = sqlite3_step (statement)) == SQLITE_ROW)
    {
      json_t *session = json_object ();

      for (int i = 0; i < (int) G_N_ELEMENTS (keys); i++)
        {
          const char      *value = (const char *) sqlite3_column_text (statement, i);
          g_autofree char *text = ow_text_from_bytes (value != NULL ? value : "", -1);

          json_object_set_new (session, keys[i], json_string (text));
        }
      json_array_append_new (sessions, session);
    }
  if (status != SQLITE_DONE)
    {
      ow_store_set_error (self, "The sessions could not be read", error);
      json_decref (sessions);
      sessions = NULL;
    }
  sqlite3_finalize (statement);
  return sessions;
}

/* One row into @list; what stands in the file is data. */
static gboolean
restore_row (OwEventList   *list,
             sqlite3_stmt  *statement,
             GError       **error)
{
  const char *text = (const char *) sqlite3_column_text (statement, 1);
  g_autoptr (OwEvent) event = NULL;

  event = ow_event_from_line (text != NULL ? text : "", sqlite3_column_bytes (statement, 1), error);
  if (event != NULL &&
      g_strcmp0 (ow_event_get_session (event), ow_event_list_get_session (list)) == 0 &&
      (sqlite3_int64) ow_event_get_seq (event) == sqlite3_column_int64 (statement, 0))
    return ow_event_list_restore (list, event, error);
  if (event != NULL)
    ow_error_set (error, OW_ERROR_DATA, "The event is of another session or number", NULL, NULL);
  g_prefix_error (error, "Event %lld of session %s cannot be read: ",
                  (long long) sqlite3_column_int64 (statement, 0),
                  ow_event_list_get_session (list));
  return FALSE;
}

static void
set_unknown (const char  *session,
             GError     **error)
{
  g_autofree char *shown = ow_text_visible (session);
  g_autofree char *name = ow_text_shorten (shown, MAX_NAME_CHARS, TRUE);

  ow_error_setf (error, OW_ERROR_USAGE, "See `openworker sessions list`.",
                 "There is no session %s", name);
}

OwEventList *
ow_store_load (OwStore     *self,
               const char  *session,
               GError     **error)
{
  static const char query[] = "SELECT seq, json FROM events WHERE session = ?1 ORDER BY seq";
  g_autoptr (OwEventList) list = NULL;
  sqlite3_stmt *statement;
  gboolean good = TRUE;
  int status = SQLITE_DONE;

  g_return_val_if_fail (OW_IS_STORE (self), NULL);
  g_return_val_if_fail (session != NULL, NULL);

  statement = ow_store_prepare (self, query, error);
  if (statement == NULL)
    return NULL;
  ow_store_bind_text (statement, 1, session);
  list = ow_event_list_new (session);
  while (good && (status = sqlite3_step (statement)) == SQLITE_ROW)
    good = restore_row (list, statement, error);
  if (good && status != SQLITE_DONE)
    {
      ow_store_set_error (self, "The session could not be read", error);
      good = FALSE;
    }
  sqlite3_finalize (statement);
  if (!good)
    return NULL;
  if (ow_event_list_get_n (list) > 0)
    return g_steal_pointer (&list);
  set_unknown (session, error);
  return NULL;
}

/* (transfer full) NULL without an error: there is no such session. */
static char *
read_state (OwStore     *self,
            const char  *session,
            GError     **error)
{
  static const char query[] = "SELECT state FROM sessions WHERE id = ?1";
  sqlite3_stmt *statement = ow_store_prepare (self, query, error);
  char *state = NULL;
  int   status;

  if (statement == NULL)
    return NULL;
  ow_store_bind_text (statement, 1, session);
  status = sqlite3_step (statement);
  if (status == SQLITE_ROW)
    state = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  else if (status != SQLITE_DONE)
    ow_store_set_error (self, "The session could not be read", error);
  sqlite3_finalize (statement);
  return state;
}

gboolean
ow_store_check_ended (OwStore     *self,
                      const char  *session,
                      const char  *what,
                      GError     **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *state = read_state (self, session, &cause);

  if (cause != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  if (state == NULL)
    {
      set_unknown (session, error);
      return FALSE;
    }
  if (!g_str_equal (state, "running"))
    return TRUE;
  ow_error_setf (error, OW_ERROR_REFUSED, "End it first, or wait for its end.",
                 "Session %s cannot be %s: it runs now", session, what);
  return FALSE;
}

static gboolean
delete_rows (OwStore     *self,
             const char  *sql,
             const char  *session,
             GError     **error)
{
  sqlite3_stmt *statement = ow_store_prepare (self, sql, error);

  if (statement == NULL)
    return FALSE;
  ow_store_bind_text (statement, 1, session);
  return ow_store_step_done (self, statement, "The session could not be deleted", error);
}

gboolean
ow_store_delete (OwStore     *self,
                 const char  *session,
                 GError     **error)
{
  g_return_val_if_fail (OW_IS_STORE (self), FALSE);
  g_return_val_if_fail (session != NULL, FALSE);

  if (!ow_store_exec (self, "BEGIN IMMEDIATE", error))
    return FALSE;
  if (ow_store_check_ended (self, session, "deleted", error) &&
      delete_rows (self, "DELETE FROM events WHERE session = ?1", session, error) &&
      delete_rows (self, "DELETE FROM sessions WHERE id = ?1", session, error) &&
      ow_store_exec (self, "COMMIT", error))
    {
      g_autoptr (GError) reason = NULL;

      /* The session is gone; what it kept is nobody's any more. */
      if (!ow_undo_folder_remove (session, &reason))
        g_debug ("Session %s: %s", session, reason->message);
      return TRUE;
    }
  ow_store_exec (self, "ROLLBACK", NULL);
  return FALSE;
}
