/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-owner.h"
#include "base/ow-paths.h"
#include "base/ow-program.h"
#include "sandbox/ow-sandbox-provider.h"

/* A session that brought its engine down this often in a row is left alone. */
#define MAX_CRASHES     2
#define MAX_MARKS       16
#define MAX_MARKS_BYTES 65536
#define MARKS_NAME      "up.json"

/* Who the last engines were that `openworker up` was: what their sessions name as their
 * process. A session that was interrupted under another kind of engine is its person's to go on
 * with. More than the last one, because one may end before it has let anything go on. */
static char *
get_marks_file (void)
{
  g_autofree char *dir = ow_paths_get_state_dir ();

  return g_build_filename (dir, MARKS_NAME, NULL);
}

/* (new reference) an array, empty when there is none. */
static json_t *
read_marks (void)
{
  g_autofree char *path = get_marks_file ();
  g_autoptr (GBytes) bytes = ow_file_read (path, MAX_MARKS_BYTES, NULL);
  char why[OW_WIRE_ERROR_SIZE];
  gsize length = 0;
  const char *text = bytes == NULL ? NULL : g_bytes_get_data (bytes, &length);
  json_t *marks = text == NULL ? NULL : ow_json_parse (text, length, why);

  if (json_is_array (marks))
    return marks;
  json_decref (marks);
  return json_array ();
}

static gboolean
write_marks (const json_t  *old,
             GError       **error)
{
  g_autofree char *path = get_marks_file ();
  g_autofree char *boot = ow_owner_boot_id ();
  g_autofree char *start = NULL;
  g_autoptr (GBytes) bytes = NULL;
  json_t *marks = json_array ();
  size_t length = 0;
  char *text;

  for (size_t i = json_array_size (old) >= MAX_MARKS ? json_array_size (old) - MAX_MARKS + 1 : 0;
       i < json_array_size (old); i++)
    json_array_append (marks, json_array_get (old, i));
  start = g_strdup_printf ("%" G_GUINT64_FORMAT, ow_owner_process_start (getpid ()));
  json_array_append_new (marks, json_pack ("{s:i, s:s, s:s}", "pid", (int) getpid (),
                                           "pid_start", start, "boot_id", boot));
  text = ow_json_dump (marks, &length);
  json_decref (marks);
  bytes = g_bytes_new (text, length);
  free (text);
  return ow_file_write_atomic (path, bytes, 0600, error);
}

static gboolean
is_marked (const json_t  *marks,
           const OwEvent *run)
{
  const json_t *start = json_object_get (ow_event_get_members (run), "pid_start");
  g_autofree char *text = NULL;

  if (json_is_integer (start))
    text = g_strdup_printf ("%" JSON_INTEGER_FORMAT, json_integer_value (start));
  else
    text = g_strdup (json_string_value (start));
  for (size_t i = 0; i < json_array_size (marks); i++)
    {
      const json_t *mark = json_array_get (marks, i);

      if (ow_json_get_int (mark, "pid", -1) == ow_event_get_int (run, "pid", -2) &&
          g_strcmp0 (ow_json_get_string (mark, "pid_start", ""), text) == 0 &&
          g_strcmp0 (ow_json_get_string (mark, "boot_id", ""),
                     ow_event_get_string (run, "boot_id")) == 0)
        return TRUE;
    }
  return FALSE;
}

/* How a session ended, and what it left. */
typedef struct
{
  const OwEvent *run;         /* its last begin */
  gboolean       interrupted; /* its last end */
  gboolean       parked;
  guint          crashes;     /* runs in a row that ended with their engine */
  gboolean       looked_at;   /* the run was no part of the conversation */
} History;

static void
read_end (History       *history,
          const OwEvent *event)
{
  const char *outcome = ow_event_get_string (event, "outcome");

  history->interrupted = g_str_equal (outcome, "interrupted");
  history->parked = g_str_equal (outcome, "parked");
  history->crashes = history->interrupted ? history->crashes + 1 : 0;
}

static void
read_history (History     *history,
              OwEventList *events)
{
  for (guint i = 0; i < ow_event_list_get_n (events); i++)
    {
      const OwEvent *event = ow_event_list_get (events, i);

      switch (ow_event_get_kind (event))
        {
        case OW_EVENT_SESSION_STARTED:
        case OW_EVENT_SESSION_RESUMED:
          history->looked_at = ow_event_get_string (event, "purpose") != NULL;
          if (!history->looked_at)
            history->run = event;
          break;
        case OW_EVENT_SESSION_ENDED:
          if (!history->looked_at)
            read_end (history, event);
          break;
        case OW_EVENT_TURN_ENDED:
          history->crashes = 0;
          break;
        default:
          break;
        }
    }
}

static void
on_resumed (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  OwLocalEngine *self = OW_LOCAL_ENGINE (source);
  g_autofree char *id = user_data;
  g_autoptr (GError) error = NULL;
  json_t *answer = g_task_propagate_pointer (G_TASK (result), &error);

  json_decref (answer);
  if (error != NULL)
    ow_local_engine_add_notice (self, "Session %s could not go on: %s", id, error->message);
}

/* TRUE: it is one that this engine lets go on. */
static gboolean
wants_resume (OwLocalEngine *self,
              const json_t  *marks,
              const char    *id,
              const char    *state)
{
  g_autoptr (OwEventList) events = NULL;
  History history = { 0 };

  if (!g_str_equal (state, "parked") && !g_str_equal (state, "interrupted"))
    return FALSE;
  events = ow_store_load (self->store, id, NULL);
  if (events == NULL)
    return FALSE;
  read_history (&history, events);
  if (history.run == NULL || ow_event_get_string (history.run, "model") == NULL ||
      !ow_session_resume_is_cut (events))
    return FALSE;
  if (history.parked)
    return TRUE;
  if (!history.interrupted || !is_marked (marks, history.run))
    return FALSE;
  if (history.crashes <= MAX_CRASHES)
    return TRUE;
  ow_local_engine_add_notice (self, "Session %s was left as it is: the engine was lost %u times "
                              "while it ran.", id, history.crashes);
  return FALSE;
}

/* Lets what an earlier engine left go on; each on its own, so that one that cannot does not
 * hinder the others. */
static gboolean
resume_all (OwLocalEngine  *self,
            GError        **error)
{
  json_t *marks = read_marks ();
  json_t *list = NULL;

  if (ow_local_engine_open_records (self, error) && write_marks (marks, error))
    list = ow_store_list (self->store, error);
  for (size_t i = 0; i < json_array_size (list); i++)
    {
      const char *id = ow_json_get_string (json_array_get (list, i), "session", "");
      const char *state = ow_json_get_string (json_array_get (list, i), "state", "");
      g_autoptr (GTask) task = NULL;

      if (!wants_resume (self, marks, id, state))
        continue;
      task = g_task_new (self, NULL, on_resumed, g_strdup (id));
      g_task_set_source_tag (task, resume_all);
      ow_engine_resume_begin (self, id, NULL, FALSE, task, json_object ());
    }
  json_decref (marks);
  json_decref (list);
  return list != NULL;
}

static void
finish (GTask *task)
{
  GError *error = NULL;

  if (resume_all (g_task_get_source_object (task), &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

/* Whether what is set can be used. It holds either way; a wall that cannot be used refuses
 * sessions, and that is told from the start. */
static void
on_set_checked (GObject      *source,
                GAsyncResult *result,
                gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwLocalEngine *self = g_task_get_source_object (task);
  g_autoptr (GError) error = NULL;

  if (!ow_sandbox_provider_check_finish (OW_SANDBOX_PROVIDER (source), result, &error))
    ow_local_engine_add_notice (self, "%s", error->message);
  finish (task);
}

/* With nothing set, the best of these that can be used is it. */
static const OwProviderKind choices[] = { OW_PROVIDER_OPENSHELL, OW_PROVIDER_BUBBLEWRAP };

static void choose (GTask *task, guint index);

static void
on_choice_checked (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwLocalEngine *self = g_task_get_source_object (task);
  guint index = GPOINTER_TO_UINT (g_task_get_task_data (task));
  g_autoptr (GError) error = NULL;
  g_autofree char *openshell = ow_program_find ("openshell");

  if (ow_sandbox_provider_check_finish (OW_SANDBOX_PROVIDER (source), result, &error))
    {
      self->fallback = choices[index];
      finish (task);
      return;
    }
  /* Most machines have none, which is nothing to tell. */
  if (choices[index] == OW_PROVIDER_OPENSHELL && openshell != NULL)
    ow_local_engine_add_notice (self, "OpenShell is installed and cannot be used now. %s",
                                error->message);
  if (index + 1 < G_N_ELEMENTS (choices))
    {
      choose (task, index + 1);
      return;
    }
  self->fallback = OW_PROVIDER_DIRECT;
  ow_local_engine_add_notice (self, "NOT PROTECTED: commands run directly on this machine, with "
                              "the same access as your user account, because no sandbox can be "
                              "used here. %s", error->message);
  finish (task);
}

static void
choose (GTask *task,
        guint  index)
{
  g_autoptr (OwSandboxProvider) provider = ow_sandbox_provider_for_kind (choices[index], NULL);

  g_task_set_task_data (task, GUINT_TO_POINTER (index), NULL);
  ow_sandbox_provider_check_async (provider, NULL, on_choice_checked, g_object_ref (task));
}

void
ow_engine_up_async (OwLocalEngine       *self,
                    GAsyncReadyCallback  callback,
                    gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (OwSandboxProvider) provider = NULL;
  g_autoptr (OwConfig) config = NULL;
  OwProviderKind set;
  GError *error = NULL;

  g_task_set_source_tag (task, ow_engine_up_async);
  config = ow_local_engine_load_config (&error);
  if (config == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  set = ow_config_get_provider (config);
  if (set == OW_PROVIDER_UNSET)
    {
      choose (task, 0);
      return;
    }
  provider = ow_sandbox_provider_for_kind (set, NULL);
  ow_sandbox_provider_check_async (provider, NULL, on_set_checked, g_steal_pointer (&task));
}

gboolean
ow_engine_up_finish (OwLocalEngine  *self,
                     GAsyncResult   *result,
                     GError        **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}
