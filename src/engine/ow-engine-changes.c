/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-folder-answer.h"
#include "session/ow-changes.h"
#include "session/ow-settings.h"

/* session.changes and session.undo: what a session changed, as one diff, and taking a call or a
 * turn of it back. An undo is shown first; what is done then is what was shown, told by the id of
 * the call that showed it, and nothing else. */

/* Of an answer's lists, and of its diff, as JSON: an answer has 8 MiB. */
#define LIST_BYTES (1u * 1024u * 1024u)
#define DIFF_BYTES (3u * 1024u * 1024u)

typedef struct {
  OwLocalEngine *engine;    /* (owned) */
  OwEventList   *events;    /* (owned) */
  OwChanges     *changes;   /* (owned) (nullable) */
  char          *id;        /* (owned) */
  json_t        *arguments; /* (owned) (nullable) of the call */
  json_t        *undoes;    /* (owned) (nullable) */
  json_t        *result;    /* (owned) what is known before the call */
  GTask         *task;      /* (owned) */
  gboolean       own_run;   /* the session is at work for this alone */
  gboolean       shows;     /* and undoes nothing */
} Ask;

static void
ask_free (Ask *ask)
{
  g_clear_object (&ask->engine);
  g_clear_object (&ask->events);
  g_clear_pointer (&ask->changes, ow_changes_free);
  g_clear_object (&ask->task);
  g_free (ask->id);
  json_decref (ask->arguments);
  json_decref (ask->undoes);
  json_decref (ask->result);
  g_free (ask);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ask, ask_free)

static Ask *
ask_new (OwLocalEngine *self,
         const json_t  *params,
         GTask         *task,
         GError       **error)
{
  g_autoptr (Ask) ask = g_new0 (Ask, 1);
  const char *id = ow_engine_params_need (params, "session", error);
  OwEngineWork *work = id != NULL ? g_hash_table_lookup (self->sessions, id) : NULL;

  ask->engine = g_object_ref (self);
  ask->task = g_object_ref (task);
  ask->id = g_strdup (id);
  ask->result = json_pack ("{s:s?}", "session", id);
  if (id == NULL)
    return NULL;
  if (g_hash_table_contains (self->resuming, id) && !g_hash_table_contains (self->looks, id))
    {
      ow_error_set (error, OW_ERROR_REFUSED, "Nothing was done", "the session is about to go on",
                    "Try again in a moment.");
      return NULL;
    }
  ask->events = ow_engine_sessions_find_events (self, id, error);
  if (ask->events == NULL)
    return NULL;
  ask->changes = ow_changes_read (ask->events, work != NULL
                                  ? ow_session_get_folders (work->session)
                                  : ow_engine_folders_stored (ask->events));
  return g_steal_pointer (&ask);
}

/* --- what is answered --- */

/* Takes @entry. FALSE: there is no room, and it was left out. */
static gboolean
append_entry (json_t *list,
              json_t *entry,
              gsize  *room)
{
  size_t length = 0;
  char  *text = ow_json_dump (entry, &length);

  free (text);
  if (text != NULL && length <= *room)
    {
      *room -= length;
      json_array_append_new (list, entry);
      return TRUE;
    }
  json_decref (entry);
  return FALSE;
}

/* @list (stolen) as member @key, as much of it as there is room for; the rest is counted. */
static void
set_list (Ask        *ask,
          const char *key,
          json_t     *list)
{
  g_autofree char *left_key = g_strconcat (key, "_left", NULL);
  json_t *kept = json_array ();
  gsize   room = LIST_BYTES;
  json_int_t left = 0;

  for (size_t i = 0; i < json_array_size (list); i++)
    left += left > 0 || !append_entry (kept, json_incref (json_array_get (list, i)), &room);
  json_decref (list);
  json_object_set_new (ask->result, key, kept);
  if (left > 0)
    json_object_set_new (ask->result, left_key, json_integer (left));
}

static void
set_diff (Ask        *ask,
          const char *text)
{
  json_t *diff = json_string (text != NULL ? text : "");
  size_t  length = 0;
  char   *dump = ow_json_dump (diff, &length);

  free (dump);
  /* Full of what JSON writes as six characters. */
  if (length > DIFF_BYTES)
    {
      g_autofree char *cut = ow_text_shorten (text, DIFF_BYTES / 6, FALSE);

      json_string_set (diff, cut);
      json_object_set_new (ask->result, "cut", json_true ());
    }
  json_object_set_new (ask->result, "diff", diff);
}

static const char *
state_name (OwChangeState state)
{
  static const char * const names[] = { "there", "undone", "not-kept", "outside", "unusable" };

  return names[state];
}

/* What cannot be taken back of @some, and why. */
static void
set_skipped (Ask       *ask,
             GPtrArray *some)
{
  json_t *skipped = json_array ();

  for (guint i = 0; i < some->len; i++)
    {
      const OwChange *change = g_ptr_array_index (some, i);

      if (change->state != OW_CHANGE_THERE)
        json_array_append_new (skipped, json_pack ("{s:s, s:s, s:s, s:s}", "call", change->call,
                                                   "path", change->path,
                                                   "state", state_name (change->state),
                                                   "reason", ow_change_state_why (change->state)));
    }
  set_list (ask, "skipped", skipped);
}

static void
set_commands (Ask *ask)
{
  OwChanges *changes = ask->changes;
  json_t *list = json_array ();

  for (guint i = 0; i < changes->commands->len; i++)
    {
      const OwCommandChange *change = g_ptr_array_index (changes->commands, i);

      json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:i}", "call", change->call,
                                              "path", change->path, "what", change->what,
                                              "turn", (int) change->turn));
    }
  set_list (ask, "commands", list);
  json_object_set_new (ask->result, "commands_total",
                       json_integer ((json_int_t) changes->commands_total));
  json_object_set_new (ask->result, "commands_cut", json_boolean (changes->commands_cut));
}

static void
set_calls (Ask *ask)
{
  OwChanges *changes = ask->changes;
  json_t *list = json_array ();

  for (guint i = 0; i < changes->changes->len; i++)
    {
      const OwChange *change = g_ptr_array_index (changes->changes, i);

      json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:i, s:s}", "call", change->call,
                                              "tool", change->tool, "path", change->path,
                                              "turn", (int) change->turn,
                                              "state", state_name (change->state)));
    }
  set_list (ask, "calls", list);
  if (changes->cut)
    json_object_set_new (ask->result, "calls_cut", json_true ());
}

/* --- the call --- */

static void
take_result (Ask                *ask,
             const OwToolResult *result,
             const char         *call)
{
  GError *error = NULL;

  if (result->outcome == OW_OUTCOME_OK)
    {
      json_object_set_new (ask->result, "call", json_string (call != NULL ? call : ""));
      set_diff (ask, result->text);
      set_list (ask, "files", ow_changes_read_files (ask->arguments, result->structured));
      ow_engine_return_json (ask->task, json_incref (ask->result));
      return;
    }
  if (result->outcome == OW_OUTCOME_CANCELLED)
    ow_error_set (&error, OW_ERROR_INTERRUPTED, "It was stopped", NULL, NULL);
  else
    ow_error_set (&error, OW_ERROR_FAILED, "The session's changes could not be looked at or undone",
                  result->text, NULL);
  g_task_return_error (ask->task, error);
}

static void
on_reviewed (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Ask) ask = user_data;
  OwSession *session = OW_SESSION (source);
  g_autoptr (OwToolResult) outcome = NULL;
  g_autofree char *call = NULL;
  GError *error = NULL;

  outcome = ow_session_review_finish (session, result, &call, &error);
  if (ask->own_run)
    ow_engine_work_drop (ask->engine, session);
  if (outcome == NULL)
    g_task_return_error (ask->task, error);
  else
    take_result (ask, outcome, call);
}

/* Takes @ask. Where there is nothing to ask for, no sandbox is raised for it. */
static void
ask_session (Ask        *ask,
             const char *tool)
{
  g_autoptr (Ask) owned = ask;
  OwLocalEngine *self = ask->engine;
  OwEngineWork *work = g_hash_table_lookup (self->sessions, ask->id);
  GError *error = NULL;

  if (json_array_size (json_object_get (ask->arguments, "changes")) == 0)
    {
      set_diff (ask, "");
      set_list (ask, "files", json_array ());
      ow_engine_return_json (ask->task, json_incref (ask->result));
      return;
    }
  if (work == NULL)
    {
      work = ow_engine_resume_review (self, ask->id, ask->events, &error);
      if (work == NULL)
        {
          g_task_return_error (ask->task, error);
          return;
        }
      ask->own_run = TRUE;
    }
  ow_session_review_async (work->session, tool, ask->arguments, ask->undoes, work->cancellable,
                           on_reviewed, g_steal_pointer (&owned));
  if (ask->own_run)
    ow_local_engine_tell_running (self);
}

/* --- what other programs run later --- */

static void
set_settings (Ask *ask)
{
  gboolean cut = FALSE;

  set_list (ask, "settings", ow_settings_collect (ask->events, &cut));
  if (cut || ow_settings_get_due (ask->events).due)
    json_object_set_new (ask->result, "settings_cut", json_true ());
}

static void
on_settings_looked (GObject      *source,
                    GAsyncResult *result,
                    gpointer      user_data)
{
  g_autoptr (Ask) ask = user_data;
  OwSession *session = OW_SESSION (source);
  g_autoptr (OwToolResult) outcome = NULL;
  g_autofree char *call = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (OwEventList) events = NULL;

  outcome = ow_session_review_finish (session, result, &call, &error);
  if (ask->own_run)
    ow_engine_work_drop (ask->engine, session);
  ask->own_run = FALSE;
  /* The session's own list may have been another object. */
  events = ow_engine_sessions_find_events (ask->engine, ask->id, NULL);
  if (events != NULL)
    g_set_object (&ask->events, events);
  set_settings (ask);
  ask_session (g_steal_pointer (&ask), "changes");
}

/* Where it was not looked at that since something could have been made, it is first: also for a
 * session that was killed. What it cannot be asked is not known, and no more. */
static void
look_at_settings (Ask *ask)
{
  g_autoptr (Ask) owned = ask;
  OwSettingsDue due = ow_settings_get_due (ask->events);
  OwLocalEngine *self = ask->engine;
  OwEngineWork *work = g_hash_table_lookup (self->sessions, ask->id);
  json_t *arguments;

  if (due.due && work == NULL)
    {
      work = ow_engine_resume_review (self, ask->id, ask->events, NULL);
      ask->own_run = work != NULL;
      /* The sandbox of the look is younger than the run. */
      due = ow_settings_get_due_later (ask->events);
    }
  if (!due.due || work == NULL)
    {
      set_settings (ask);
      ask_session (g_steal_pointer (&owned), "changes");
      return;
    }
  arguments = ow_settings_for_look (&due);
  ow_session_review_async (work->session, "settings", arguments, NULL, work->cancellable,
                           on_settings_looked, g_steal_pointer (&owned));
  json_decref (arguments);
  if (ask->own_run)
    ow_local_engine_tell_running (self);
}

/* --- folders that answer --- */

/* Of an ended session, whose folders are asked for an answer. */
typedef struct
{
  OwLocalEngine *engine; /* (owned) */
  char          *id;     /* (owned) */
} Look;

static void
look_free (Look *look)
{
  g_object_unref (look->engine);
  g_free (look->id);
  g_free (look);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Look, look_free)

/* Takes @ask. */
static void
begin (Ask *ask)
{
  if (ask->shows)
    look_at_settings (ask);
  else
    ask_session (ask, "undo");
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Look) look = user_data;
  g_autoptr (GPtrArray) asks = NULL;
  g_autoptr (GError) error = NULL;

  g_hash_table_steal_extended (look->engine->looks, look->id, NULL, (gpointer *) &asks);
  g_hash_table_remove (look->engine->resuming, look->id);
  if (ow_folder_answer_finish (result, &error))
    while (asks->len > 0)
      begin (g_ptr_array_steal_index (asks, 0));
  for (guint i = 0; i < asks->len; i++)
    g_task_return_error (((Ask *) g_ptr_array_index (asks, i))->task, g_error_copy (error));
  ow_local_engine_tell_running (look->engine);
}

/* A session at work has its folders; for one that has ended they are opened again, and until then
 * nobody else takes it up or away. Takes @ask. */
static void
await_folders (Ask *ask)
{
  OwLocalEngine *self = ask->engine;
  g_auto (GStrv) folders = ow_session_folders_texts (ow_engine_folders_stored (ask->events));
  GPtrArray *asks = g_hash_table_lookup (self->looks, ask->id);
  Look *look;

  if (g_hash_table_contains (self->sessions, ask->id))
    {
      begin (ask);
      return;
    }
  if (asks != NULL)
    {
      g_ptr_array_add (asks, ask);
      return;
    }
  look = g_new0 (Look, 1);
  look->engine = g_object_ref (self);
  look->id = g_strdup (ask->id);
  asks = g_ptr_array_new_with_free_func ((GDestroyNotify) ask_free);
  g_ptr_array_add (asks, ask);
  g_hash_table_insert (self->looks, g_strdup (ask->id), asks);
  g_hash_table_add (self->resuming, g_strdup (ask->id));
  ow_folder_answer_async ((const char * const *) folders, NULL, on_answered, look);
}

void
ow_engine_changes_show (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  GError *error = NULL;
  g_autoptr (Ask) ask = ask_new (self, params, task, &error);

  if (ask == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  set_calls (ask);
  set_commands (ask);
  ask->arguments = ow_changes_for_look (ask->changes);
  ask->shows = TRUE;
  await_folders (g_steal_pointer (&ask));
}

/* --- undo: what is meant --- */

static gboolean
is_known_call (Ask        *ask,
               const char *call)
{
  for (guint i = 0; i < ow_event_list_get_n (ask->events); i++)
    {
      const OwEvent *event = ow_event_list_get (ask->events, i);

      if (ow_event_get_kind (event) == OW_EVENT_TOOL_ASKED &&
          g_strcmp0 (ow_event_get_string (event, "call"), call) == 0)
        return TRUE;
    }
  return FALSE;
}

static GPtrArray *
find_call (Ask        *ask,
           const char *call,
           GError    **error)
{
  g_autoptr (GPtrArray) some = ow_changes_of_call (ask->changes, call);

  if (some->len > 0)
    return g_steal_pointer (&some);
  if (!is_known_call (ask, call))
    ow_error_set (error, OW_ERROR_USAGE, "There is no such call in this session", NULL,
                  "“openworker sessions changes” lists those that changed a file.");
  else
    ow_error_set (error, OW_ERROR_FAILED, "The call cannot be undone",
                  "only “write” and “edit” can be, where they changed a file; what a command "
                  "changed is not kept", NULL);
  return NULL;
}

static GPtrArray *
find_turn (Ask          *ask,
           const json_t *params,
           GError      **error)
{
  json_int_t wanted = ow_json_get_int (params, "turn", 0);
  guint turn = (guint) CLAMP (wanted, 0, G_MAXINT);
  g_autoptr (GPtrArray) some = NULL;
  OwChange *last = NULL;

  if (json_object_get (params, "turn") == NULL || wanted > 0)
    some = ow_changes_of_turn (ask->changes, &turn);
  if (some == NULL)
    {
      ow_error_setf (error, OW_ERROR_USAGE, NULL, "There is no such turn: the session has %u "
                     "messages of yours", ask->changes->turns);
      return NULL;
    }
  json_object_set_new (ask->result, "turn", json_integer (turn));
  if (some->len > 0)
    return g_steal_pointer (&some);
  if (ask->changes->changes->len > 0)
    last = g_ptr_array_index (ask->changes->changes, ask->changes->changes->len - 1);
  if (last != NULL)
    ow_error_setf (error, OW_ERROR_FAILED, NULL, "The turn of your message %u changed no file "
                   "that could be put back. The last one that did is that of message %u.", turn,
                   last->turn);
  else
    ow_error_setf (error, OW_ERROR_FAILED, NULL, "The turn of your message %u changed no file "
                   "that could be put back", turn);
  return NULL;
}

static gboolean
check_not_undone (GPtrArray *some,
                  GError   **error)
{
  for (guint i = 0; i < some->len; i++)
    if (((const OwChange *) g_ptr_array_index (some, i))->state != OW_CHANGE_UNDONE)
      return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "Nothing was undone",
                some->len > 0 ? "it is already undone"
                : "nothing of what was shown would have been put back", NULL);
  return FALSE;
}

/* --- undo: what was shown is done --- */

static const OwEvent *
find_event (Ask         *ask,
            OwEventType  kind,
            const char  *call)
{
  for (guint i = ow_event_list_get_n (ask->events); i > 0; i--)
    {
      const OwEvent *event = ow_event_list_get (ask->events, i - 1);

      if (ow_event_get_kind (event) == kind &&
          g_strcmp0 (ow_event_get_string (event, "call"), call) == 0)
        return event;
    }
  return NULL;
}

/* (transfer full) paths that the preview said it would put back; NULL: it is no preview. */
static GHashTable *
find_shown (const OwEvent *asked,
            const OwEvent *ended)
{
  const json_t *arguments;
  g_autoptr (GHashTable) shown = NULL;
  json_t *files;

  if (asked == NULL || ended == NULL || g_strcmp0 (ow_event_get_string (asked, "tool"), "undo") ||
      g_strcmp0 (ow_event_get_string (ended, "outcome"), "ok") != 0)
    return NULL;
  arguments = json_object_get (ow_event_get_members (asked), "arguments");
  if (json_object_get (ow_event_get_members (asked), "undoes") == NULL ||
      ow_json_get_bool (arguments, "apply", TRUE))
    return NULL;
  shown = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  files = ow_changes_read_files (arguments,
                                 json_object_get (ow_event_get_members (ended), "structured"));
  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (g_str_has_prefix (ow_json_get_string (file, "state", ""), "would "))
        g_hash_table_add (shown, g_strdup (ow_json_get_string (file, "path", "")));
    }
  json_decref (files);
  return g_steal_pointer (&shown);
}

/* The changes that the preview @call showed and would take back, as they stand now. */
static GPtrArray *
find_preview (Ask        *ask,
              const char *call,
              GError    **error)
{
  const OwEvent *asked = find_event (ask, OW_EVENT_TOOL_ASKED, call);
  g_autoptr (GHashTable) shown = find_shown (asked,
                                             find_event (ask, OW_EVENT_TOOL_ENDED, call));
  g_autoptr (GHashTable) meant = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) some = NULL;
  const json_t *undoes;

  if (shown == NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "Nothing was undone",
                    "“preview” names no call that showed what would be undone", NULL);
      return NULL;
    }
  some = g_ptr_array_new ();
  undoes = json_object_get (ow_event_get_members (asked), "undoes");
  for (size_t i = 0; i < json_array_size (undoes); i++)
    g_hash_table_add (meant, (gpointer) json_string_value (json_array_get (undoes, i)));
  for (guint i = 0; i < ask->changes->changes->len; i++)
    {
      OwChange *change = g_ptr_array_index (ask->changes->changes, i);

      if (g_hash_table_contains (meant, change->call) &&
          g_hash_table_contains (shown, change->path))
        g_ptr_array_add (some, change);
    }
  return g_steal_pointer (&some);
}

void
ow_engine_changes_undo (OwLocalEngine *self,
                        const json_t  *params,
                        GTask         *task)
{
  GError *error = NULL;
  g_autoptr (Ask) ask = ask_new (self, params, task, &error);
  const char *call = ow_json_get_string (params, "call", NULL);
  const char *preview = ow_json_get_string (params, "preview", NULL);
  gboolean turn = json_object_get (params, "turn") != NULL;
  g_autoptr (GPtrArray) some = NULL;

  if (ask != NULL && (call != NULL) + (preview != NULL) + turn > 1)
    ow_error_set (&error, OW_ERROR_USAGE, "Nothing was undone",
                  "only one of “call”, “turn” and “preview” can be given", NULL);
  else if (ask != NULL && preview != NULL)
    some = find_preview (ask, preview, &error);
  else if (ask != NULL && call != NULL)
    some = find_call (ask, call, &error);
  else if (ask != NULL)
    some = find_turn (ask, params, &error);
  if (some == NULL || !check_not_undone (some, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  set_skipped (ask, some);
  ask->arguments = ow_changes_for_undo (some, &ask->undoes);
  json_object_set_new (ask->arguments, "apply", json_boolean (preview != NULL));
  json_object_set_new (ask->result, "applied", json_boolean (preview != NULL));
  await_folders (g_steal_pointer (&ask));
}
