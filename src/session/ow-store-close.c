/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-store-private.h"

#include "base/ow-error.h"
#include "base/ow-owner.h"
#include "ow-session-resume-private.h"

#define INTERRUPTED_TEXT \
  "The program ended while this call was open. Whether it had an effect is not known."

/* Puts right what a program that was killed left in the store (declared in
 * session/ow-store.h). One transaction a session: another program that starts at the
 * same time finds it either open and waits, or closed. */

static json_t *
interrupted_members (OwEventList   *list,
                     const OwEvent *started)
{
  static const char * const kept[] = { "call", "tool", "level" };
  const char *call = ow_event_get_string (started, "call");
  json_t     *members = json_object ();

  for (gsize i = 0; i < G_N_ELEMENTS (kept); i++)
    json_object_set (members, kept[i],
                     json_object_get (ow_event_get_members (started), kept[i]));
  for (guint i = 0; i < ow_event_list_get_n (list); i++)
    {
      const OwEvent *event = ow_event_list_get (list, i);
      const char    *id = ow_event_get_string (event, "model_call");

      if (ow_event_get_kind (event) == OW_EVENT_TOOL_ASKED && id != NULL &&
          g_strcmp0 (ow_event_get_string (event, "call"), call) == 0)
        json_object_set_new (members, "model_call", json_string (id));
    }
  json_object_set_new (members, "outcome", json_string ("interrupted"));
  json_object_set_new (members, "result", json_string (INTERRUPTED_TEXT));
  json_object_set_new (members, "duration_ms", json_integer (0));
  json_object_set_new (members, "bytes", json_integer (0));
  json_object_set_new (members, "state_lost", json_true ());
  return members;
}

/* Calls that were begun and have no end, in their order. One that was only asked for
 * did not run, and needs none. */
static GPtrArray *
find_open_calls (OwEventList *list)
{
  g_autoptr (GHashTable) ended = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *open = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_event_unref);
  guint      n = ow_event_list_get_n (list);

  for (guint i = 0; i < n; i++)
    {
      OwEvent *event = ow_event_list_get (list, i);

      if (ow_event_get_kind (event) == OW_EVENT_TOOL_ENDED)
        g_hash_table_add (ended, (gpointer) ow_event_get_string (event, "call"));
    }
  for (guint i = 0; i < n; i++)
    {
      OwEvent *event = ow_event_list_get (list, i);

      if (ow_event_get_kind (event) == OW_EVENT_TOOL_STARTED &&
          !g_hash_table_contains (ended, ow_event_get_string (event, "call")))
        g_ptr_array_add (open, ow_event_ref (event));
    }
  return open;
}

/* The program may have been killed between storing an end and recording it; then that
 * end is the last event. It goes into the record again, with the same session and
 * number: better twice than never. */
static gboolean
record_last_end (OwEventList *list,
                 OwAudit     *audit,
                 GError     **error)
{
  OwEvent *last = ow_event_list_get (list, ow_event_list_get_n (list) - 1);

  return ow_event_get_kind (last) != OW_EVENT_TOOL_ENDED ||
         ow_audit_append (audit, last, TRUE, error);
}

static gboolean
append_both (OwEventList *list,
             OwAudit     *audit,
             OwEventType  type,
             json_t      *members,
             GError     **error)
{
  g_autoptr (OwEvent) event = ow_event_list_append (list, type, members, error);

  if (event == NULL)
    return FALSE;
  return ow_audit_append (audit, event, TRUE, error);
}

static gboolean
close_session (OwStore     *self,
               OwAudit     *audit,
               const char  *session,
               GError     **error)
{
  g_autoptr (OwEventList) list = ow_store_load (self, session, error);
  g_autoptr (GPtrArray) open = NULL;
  json_t *ended;

  if (list == NULL)
    return FALSE;
  ow_store_attach (self, list);
  if (!record_last_end (list, audit, error))
    return FALSE;
  open = find_open_calls (list);
  for (guint i = 0; i < open->len; i++)
    {
      if (!append_both (list, audit, OW_EVENT_TOOL_ENDED,
                        interrupted_members (list, g_ptr_array_index (open, i)), error))
        return FALSE;
    }
  /* Of one that was only looked at nothing was interrupted. */
  ended = ow_session_resume_review_end (list);
  if (ended == NULL)
    ended = json_pack ("{s:s, s:i, s:s}", "outcome", "interrupted", "exit", 130,
                       "message", "The program ended before the session did.");
  return append_both (list, audit, OW_EVENT_SESSION_ENDED, ended, error);
}

/* A damaged session must not keep the program from starting, nor hide the others: it
 * is marked and stays as it is. */
static gboolean
mark_damaged (OwStore     *self,
              const char  *session,
              GError     **error)
{
  static const char update[] = "UPDATE sessions SET state = 'damaged' WHERE id = ?1";
  sqlite3_stmt *statement = ow_store_prepare (self, update, error);
  gboolean good;

  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text (statement, 1, session, -1, SQLITE_TRANSIENT);
  good = sqlite3_step (statement) == SQLITE_DONE;
  if (!good)
    ow_store_set_error (self, "The session could not be marked", error);
  sqlite3_finalize (statement);
  return good;
}

static gboolean
close_one (OwStore     *self,
           OwAudit     *audit,
           const char  *session,
           GError     **error)
{
  g_autoptr (GError) cause = NULL;

  if (!ow_store_exec (self, "SAVEPOINT close_one", error))
    return FALSE;
  if (close_session (self, audit, session, &cause))
    return ow_store_exec (self, "RELEASE close_one", error);
  if (!ow_store_exec (self, "ROLLBACK TO close_one", error))
    return FALSE;
  if (!g_error_matches (cause, OW_ERROR, OW_ERROR_DATA) &&
      !g_error_matches (cause, OW_ERROR, OW_ERROR_USAGE))
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  return mark_damaged (self, session, error) &&
         ow_store_exec (self, "RELEASE close_one", error);
}

/* Ids of running sessions whose owner is gone. */
static GPtrArray *
find_gone (OwStore  *self,
           GError  **error)
{
  static const char query[] =
    "SELECT id, pid, pid_start, boot_id FROM sessions WHERE state = 'running'";
  sqlite3_stmt *statement = ow_store_prepare (self, query, error);
  g_autoptr (GPtrArray) gone = g_ptr_array_new_with_free_func (g_free);
  int status;

  if (statement == NULL)
    return NULL;
  while ((status = sqlite3_step (statement)) == SQLITE_ROW)
    {
      const char *start = (const char *) sqlite3_column_text (statement, 2);
      const char *boot_id = (const char *) sqlite3_column_text (statement, 3);

      if (ow_owner_is_gone (sqlite3_column_int (statement, 1),
                            start != NULL ? g_ascii_strtoull (start, NULL, 10) : 0, boot_id))
        g_ptr_array_add (gone, g_strdup ((const char *) sqlite3_column_text (statement, 0)));
    }
  if (status != SQLITE_DONE)
    ow_store_set_error (self, "The sessions could not be read", error);
  sqlite3_finalize (statement);
  return status == SQLITE_DONE ? g_steal_pointer (&gone) : NULL;
}

static gboolean
close_all (OwStore  *self,
           OwAudit  *audit,
           GError  **error)
{
  g_autoptr (GPtrArray) gone = find_gone (self, error);

  if (gone == NULL)
    return FALSE;
  for (guint i = 0; i < gone->len; i++)
    {
      if (!close_one (self, audit, g_ptr_array_index (gone, i), error))
        return FALSE;
    }
  return TRUE;
}

gboolean
ow_store_close_interrupted (OwStore  *self,
                            OwAudit  *audit,
                            GError  **error)
{
  g_return_val_if_fail (OW_IS_STORE (self), FALSE);
  g_return_val_if_fail (OW_IS_AUDIT (audit), FALSE);

  if (!ow_store_exec (self, "BEGIN IMMEDIATE", error))
    return FALSE;
  if (close_all (self, audit, error) && ow_store_exec (self, "COMMIT", error))
    return TRUE;
  ow_store_exec (self, "ROLLBACK", NULL);
  return FALSE;
}
