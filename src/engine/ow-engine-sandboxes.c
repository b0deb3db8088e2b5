/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "config/ow-config-hosts.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "ow-engine-sandboxes-private.h"
#include "sandbox/ow-sandbox-list.h"

/* sandbox.list, .show, .delete, .reap and .allow. Listing takes nothing away: what a killed run
 * left is shown as that. */

OwEventList *
ow_engine_sandboxes_find_events (OwLocalEngine *self,
                                 const char    *session)
{
  OwEngineWork *work = g_hash_table_lookup (self->sessions, session);
  g_autofree char *path = ow_paths_get_store_file ();
  g_autoptr (OwStore) store = NULL;

  if (work != NULL)
    return g_object_ref (ow_session_get_events (work->session));
  if (self->store != NULL)
    return ow_store_load (self->store, session, NULL);
  /* Opened as the engine's own it would first put right what is to be shown. */
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return NULL;
  store = ow_store_open (path, NULL);
  return store == NULL ? NULL : ow_store_load (store, session, NULL);
}

OwEventList *
ow_engine_sandboxes_need_events (OwLocalEngine *self,
                                 const char    *session,
                                 GError       **error)
{
  OwEventList *events = ow_engine_sandboxes_find_events (self, session);
  g_autofree char *shown = ow_text_visible (session);
  g_autofree char *cut = ow_text_shorten (shown, 60, TRUE);

  if (events == NULL)
    ow_error_setf (error, OW_ERROR_USAGE, "See `openworker sessions list`.",
                   "There is no session %s", cut);
  return events;
}

const json_t *
ow_engine_sandboxes_find_member (OwEventList *events,
                                 const char  *member)
{
  const json_t *found = NULL;

  for (guint i = events != NULL ? ow_event_list_get_n (events) : 0; i > 0 && found == NULL; i--)
    found = json_object_get (ow_event_get_members (ow_event_list_get (events, i - 1)), member);
  return found;
}

/* By the id, the gateway's name or the session. */
static json_t *
find_item (const json_t *list,
           const char   *name)
{
  static const char * const members[] = { "id", "name", "session" };

  for (size_t i = 0; i < json_array_size (list); i++)
    for (guint m = 0; m < G_N_ELEMENTS (members); m++)
      if (strcmp (ow_json_get_string (json_array_get (list, i), members[m], ""), name) == 0)
        return json_array_get (list, i);
  return NULL;
}

static void
set_unknown (const char  *name,
             GError     **error)
{
  g_autofree char *shown = ow_text_visible (name);
  g_autofree char *cut = ow_text_shorten (shown, 60, TRUE);

  ow_error_setf (error, OW_ERROR_USAGE, "See “openworker sandbox list”.",
                 "There is no sandbox %s, and no session of that name has one", cut);
}

/* --- list --- */

static void
add_folders (OwLocalEngine *self,
             json_t        *list)
{
  for (size_t i = 0; i < json_array_size (list); i++)
    {
      json_t *item = json_array_get (list, i);
      g_autoptr (OwEventList) events = NULL;
      const json_t *folders;

      events = ow_engine_sandboxes_find_events (self, ow_json_get_string (item, "session", ""));
      folders = ow_engine_sandboxes_find_member (events, "folders");
      if (folders != NULL)
        json_object_set_new (item, "folders",
                             json_integer ((json_int_t) json_array_size (folders)));
    }
}

static void
on_listed (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  json_t *listed = ow_sandbox_list_finish (result, &error);

  if (listed == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  add_folders (g_task_get_source_object (task), json_object_get (listed, "sandboxes"));
  ow_engine_return_json (task, listed);
}

void
ow_engine_sandboxes_list (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  ow_sandbox_list_async (ow_json_get_bool (params, "all", FALSE), g_task_get_cancellable (task),
                         on_listed, g_object_ref (task));
}

/* --- one --- */

typedef void (*ItemFunc) (OwLocalEngine *self,
                          json_t        *item,
                          GTask         *task);

typedef struct
{
  GTask    *task; /* (owned) */
  char     *name; /* (owned) */
  ItemFunc  func;
} Search;

static void
search_free (Search *search)
{
  g_object_unref (search->task);
  g_free (search->name);
  g_free (search);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Search, search_free)

static void
on_searched (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Search) search = user_data;
  GError *error = NULL;
  json_t *listed = ow_sandbox_list_finish (result, &error);
  json_t *item = find_item (json_object_get (listed, "sandboxes"), search->name);

  if (listed != NULL && item == NULL)
    set_unknown (search->name, &error);
  if (item != NULL)
    search->func (g_task_get_source_object (search->task), item, search->task);
  else
    g_task_return_error (search->task, error);
  json_decref (listed);
}

static void
search (const json_t *params,
        GTask        *task,
        ItemFunc      func)
{
  GError *error = NULL;
  const char *name = ow_engine_params_need (params, "sandbox", &error);
  Search *found;

  if (name == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  found = g_new0 (Search, 1);
  found->task = g_object_ref (task);
  found->name = g_strdup (name);
  found->func = func;
  ow_sandbox_list_async (FALSE, g_task_get_cancellable (task), on_searched, found);
}

static void
show (OwLocalEngine *self,
      json_t        *item,
      GTask         *task)
{
  const char *id = ow_json_get_string (item, "id", NULL);
  g_autoptr (OwEventList) events = NULL;

  events = ow_engine_sandboxes_find_events (self, ow_json_get_string (item, "session", ""));
  if (id != NULL)
    {
      g_autofree char *homes = ow_paths_get_private_homes ();
      g_autofree char *home = g_build_filename (homes, id, NULL);

      json_object_set_new (item, "home", json_string (home));
    }
  ow_engine_sandboxes_describe (item, events);
  ow_engine_return_json (task, json_incref (item));
}

void
ow_engine_sandboxes_show (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  search (params, task, show);
}

/* --- reap --- */

static void
on_reaped (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  json_t *reaped = ow_sandbox_list_reap_finish (result, &error);

  if (reaped != NULL)
    ow_engine_return_json (task, reaped);
  else
    g_task_return_error (task, error);
}

void
ow_engine_sandboxes_reap (OwLocalEngine *self,
                          const json_t  *params,
                          GTask         *task)
{
  ow_sandbox_list_reap_async (g_task_get_cancellable (task), on_reaped, g_object_ref (task));
}

/* --- delete --- */

/* Of a session that ends: its task is told when it has. */
typedef struct
{
  GTask       *task;    /* (owned) */
  OwEventList *events;  /* (owned) */
  json_t      *item;    /* (owned) */
  char        *why;     /* (owned) (nullable) why its wall did not come down */
  gulong       handler;
} Ending;

static void
on_event (OwEventList *events,
          OwEvent     *event,
          Ending      *ending)
{
  const char *session = ow_event_list_get_session (events);
  GError *error = NULL;

  if (ow_event_get_kind (event) == OW_EVENT_WALL &&
      g_strcmp0 (ow_event_get_string (event, "state"), "down") == 0)
    {
      g_free (ending->why);
      ending->why = g_strdup (ow_event_get_string (event, "reason"));
    }
  if (ow_event_get_kind (event) != OW_EVENT_SESSION_ENDED)
    return;
  g_signal_handler_disconnect (ending->events, ending->handler);
  if (ending->why == NULL)
    {
      ow_engine_return_json (ending->task,
                             json_pack ("{s:s?, s:s, s:s}", "id",
                                        ow_json_get_string (ending->item, "id", NULL),
                                        "session", session, "what", "ended"));
    }
  else
    {
      ow_error_setf (&error, OW_ERROR_FAILED, "\"openworker sandbox reap\" tries it again.",
                     "Session %s is stopped, but its sandbox was not removed: %s", session,
                     ending->why);
      g_task_return_error (ending->task, error);
    }
  g_free (ending->why);
  g_object_unref (ending->task);
  g_object_unref (ending->events);
  json_decref (ending->item);
  g_free (ending);
}

static void
end_session (OwEngineWork *work,
             json_t       *item,
             GTask        *task)
{
  g_autoptr (GCancellable) cancellable = g_object_ref (work->cancellable);
  Ending *ending = g_new0 (Ending, 1);

  ending->task = g_object_ref (task);
  ending->events = g_object_ref (ow_session_get_events (work->session));
  ending->item = json_incref (item);
  ending->handler = g_signal_connect (ending->events, "appended", G_CALLBACK (on_event), ending);
  g_cancellable_cancel (cancellable);
}

static void
on_deleted (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  const char *id = g_object_get_data (G_OBJECT (task), "id");
  GError *error = NULL;
  json_t *reaped = ow_sandbox_list_reap_finish (result, &error);
  json_t *kept = find_item (json_object_get (reaped, "kept"), id);

  if (kept != NULL)
    ow_error_setf (&error, OW_ERROR_FAILED, NULL, "Sandbox %s was not removed: %s", id,
                   ow_json_get_string (kept, "why", "?"));
  if (error != NULL)
    g_task_return_error (task, error);
  else
    ow_engine_return_json (task, json_pack ("{s:s, s:s}", "id", id, "what", "removed"));
  json_decref (reaped);
}

static void
delete_item (OwLocalEngine *self,
             json_t        *item,
             GTask         *task)
{
  /* One that only the gateway knows of has a name and no id. */
  const char *id = ow_json_get_string (item, "id", ow_json_get_string (item, "name", "?"));
  OwEngineWork *work = g_hash_table_lookup (self->sessions,
                                            ow_json_get_string (item, "session", ""));
  GError *error = NULL;

  /* Its session may have gone on in another one since. */
  if (strcmp (ow_json_get_string (item, "state", ""), "left over") == 0)
    {
      g_object_set_data_full (G_OBJECT (task), "id", g_strdup (id), g_free);
      ow_sandbox_list_reap_async (g_task_get_cancellable (task), on_deleted, g_object_ref (task));
      return;
    }
  if (work != NULL)
    {
      end_session (work, item, task);
      return;
    }
  ow_error_setf (&error, OW_ERROR_REFUSED, "End that one, or stop what it does there.",
                 "The sandbox is not removed: it belongs to another program that runs (process "
                 "%" JSON_INTEGER_FORMAT ")", ow_json_get_int (item, "pid", 0));
  g_task_return_error (task, error);
}

void
ow_engine_sandboxes_delete (OwLocalEngine *self,
                            const json_t  *params,
                            GTask         *task)
{
  search (params, task, delete_item);
}
