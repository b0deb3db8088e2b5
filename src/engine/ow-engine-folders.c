/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-folder-answer.h"

/* session.folders: the folders of a session, and other ones for one that runs. */

static void
return_folders (GTask        *task,
                const json_t *folders,
                gboolean      pending)
{
  ow_engine_return_json (task, json_pack ("{s:O, s:b}", "folders", folders, "pending", pending));
}

static void
on_changed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwSession *session = OW_SESSION (source);
  gboolean pending = FALSE;
  GError *error = NULL;

  if (ow_session_change_folders_finish (session, result, &pending, &error))
    return_folders (task, ow_session_get_folders (session), pending);
  else
    g_task_return_error (task, error);
}

/* As the last event with folders has them. */
const json_t *
ow_engine_folders_stored (OwEventList *events)
{
  const json_t *folders = NULL;

  for (guint i = ow_event_list_get_n (events); i > 0 && folders == NULL; i--)
    folders = json_object_get (ow_event_get_members (ow_event_list_get (events, i - 1)),
                               "folders");
  return folders;
}

static void
list_stored (OwLocalEngine *self,
             const char    *id,
             GTask         *task)
{
  GError *error = NULL;
  g_autoptr (OwEventList) events = NULL;
  const json_t *folders = NULL;

  if (ow_local_engine_open_records (self, &error))
    events = ow_store_load (self->store, id, &error);
  if (events == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  folders = ow_engine_folders_stored (events);
  if (folders != NULL)
    {
      return_folders (task, folders, FALSE);
      return;
    }
  ow_error_set (&error, OW_ERROR_DATA, "The folders of the session are not known",
                "its beginning is not in the store", NULL);
  g_task_return_error (task, error);
}

static gboolean
is_changing (const json_t *params)
{
  return json_array_size (json_object_get (params, "add")) > 0 ||
         json_array_size (json_object_get (params, "remove")) > 0;
}

/* A change that waits for its folders to answer. */
typedef struct
{
  OwSession *session; /* (owned) */
  GTask     *task;    /* (owned) */
  char     **add;     /* (owned) (nullable) */
  char     **take;    /* (owned) (nullable) */
} Change;

static void
change_free (Change *change)
{
  g_clear_object (&change->session);
  g_clear_object (&change->task);
  g_strfreev (change->add);
  g_strfreev (change->take);
  g_free (change);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Change, change_free)

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  g_autoptr (Change) change = user_data;
  GError *error = NULL;

  if (ow_folder_answer_finish (result, &error))
    ow_session_change_folders_async (change->session, (const char * const *) change->add,
                                     (const char * const *) change->take, on_changed,
                                     g_object_ref (change->task));
  else
    g_task_return_error (change->task, error);
}

/* What is taken out need not answer: that may be why it is. */
static void
begin_change (OwEngineWork *work,
              const json_t *params,
              GTask        *task)
{
  static const char * const none[] = { NULL };
  g_autoptr (Change) change = g_new0 (Change, 1);
  const char * const *texts = none;
  GError *error = NULL;
  /* A sandbox is not made without settings, and this one would be gone for the new one. */
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);

  change->session = g_object_ref (work->session);
  change->task = g_object_ref (task);
  if (config == NULL || !ow_engine_params_read_folders (params, "add", &change->add, &error) ||
      !ow_engine_params_read_folders (params, "remove", &change->take, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (change->add != NULL)
    texts = (const char * const *) change->add;
  ow_folder_answer_async (texts, g_task_get_cancellable (task), on_answered,
                          g_steal_pointer (&change));
}

void
ow_engine_sessions_folders (OwLocalEngine *self,
                            const json_t  *params,
                            GTask         *task)
{
  GError *error = NULL;
  const char *id = ow_engine_params_need (params, "session", &error);
  OwEngineWork *work = id != NULL ? g_hash_table_lookup (self->sessions, id) : NULL;
  g_autoptr (OwEventList) events = NULL;

  if (id == NULL)
    g_task_return_error (task, error);
  else if (work != NULL && is_changing (params))
    begin_change (work, params, task);
  else if (work != NULL)
    return_folders (task, ow_session_get_folders (work->session), FALSE);
  else if (!is_changing (params))
    list_stored (self, id, task);
  else
    {
      if (ow_local_engine_open_records (self, &error))
        events = ow_store_load (self->store, id, &error);
      if (events != NULL)
        ow_error_set (&error, OW_ERROR_REFUSED, "The folders were not changed",
                      "the session does not run", "Take it up with “openworker sessions resume” "
                      "first, or start another session.");
      g_task_return_error (task, error);
    }
}
