/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "base/ow-text.h"
#include "ow-session-events-private.h"
#include "ow-session-hosts-private.h"
#include "ow-session-resume-private.h"

/* A session's one run: the wall goes up, turns come one after the other, the wall comes
 * down, the end is told. What the person says is stored at once, whatever the session
 * does then, so that a program that is killed loses no words; a turn answers all that is
 * there when it begins. */

static void go_on (OwSession *self);

/* The last event is what faces wait for: one that the store does not take is announced
 * all the same. */
static void
append_end (OwSession *self)
{
  gboolean cut = self->parked && self->open_turn;
  json_t  *members = ow_session_resume_review_end (self->events);

  if (members == NULL)
    members = ow_session_events_ended (self->error, self->status, self->parked, cut);
  if (ow_session_append (self, OW_EVENT_SESSION_ENDED, members))
    return;
  ow_event_list_set_sink (self->events, NULL, NULL, NULL);
  ow_session_append (self, OW_EVENT_SESSION_ENDED,
                     ow_session_events_ended (self->error, self->status, FALSE, FALSE));
}

static void
end_session (OwSession *self)
{
  g_autoptr (GTask) task = g_steal_pointer (&self->task);
  GError *error = NULL;

  self->phase = OW_SESSION_ENDED;
  if (self->stop_handler != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), self->stop_handler);
  self->stop_handler = 0;
  if (self->record != NULL && !ow_recording_write (self->events, self->record, &error))
    ow_session_fail (self, g_steal_pointer (&error));
  /* Before the end is told, so that "done" is not said of what is not recorded. */
  if (!ow_audit_sync (self->audit, &error))
    ow_session_fail (self, g_steal_pointer (&error));
  append_end (self);
  if (!ow_audit_sync (self->audit, &error))
    ow_session_fail (self, g_steal_pointer (&error));
  ow_state_reach ("session-ended");
  if (self->review != NULL)
    ow_session_review_end (self, task);
  else if (self->error != NULL)
    g_task_return_error (task, g_error_copy (self->error));
  else
    g_task_return_boolean (task, TRUE);
}

static void
on_stopped (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  g_autoptr (GError) error = NULL;
  gboolean down;

  down = ow_sandbox_stop_finish (OW_SANDBOX (source), result, &error);
  ow_session_hosts_tell (self);
  if (self->wall_up || !down)
    ow_session_append (self, OW_EVENT_WALL,
                       ow_session_events_wall ("down", self->level,
                                               down ? NULL : error->message));
  self->wall_up = FALSE;
  if (!down)
    ow_session_fail (self, g_steal_pointer (&error));
  ow_session_drop_sandbox (self);
  end_session (self);
}

void
ow_session_take_down (OwSession *self)
{
  self->phase = OW_SESSION_LEAVING;
  /* Its end is told before the session's, and calls this again. */
  if (ow_session_review_stop (self) || ow_session_settings_look (self))
    return;
  ow_consent_close (self->consent);
  g_clear_object (&self->agent);
  ow_sandbox_stop_async (self->sandbox, on_stopped, g_object_ref (self));
}

static gboolean
on_leave (gpointer user_data)
{
  OwSession *self = user_data;

  if (self->phase == OW_SESSION_WAITING)
    ow_session_take_down (self);
  return G_SOURCE_REMOVE;
}

void
ow_session_leave_soon (OwSession *self)
{
  ow_source_idle (G_PRIORITY_DEFAULT, on_leave, g_object_ref (self), g_object_unref);
}

/* In a kept session a turn may fail without the session: the model was not to be reached,
 * a limit, a stop. What could not be recorded ends both. */
static void
take_turn_error (OwSession *self,
                 GError    *error)
{
  g_autoptr (GError) owned = error;

  if (ow_agent_is_broken (self->agent))
    ow_session_fail (self, g_steal_pointer (&owned));
  else if (self->parked)
    self->open_turn = self->open_turn || g_error_matches (error, OW_ERROR, OW_ERROR_INTERRUPTED);
  else if (!self->keep || self->ending)
    ow_session_fail (self, g_steal_pointer (&owned));
}

static void
on_turn_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GError *error = NULL;

  g_clear_object (&self->turn);
  if (!ow_agent_run_turn_finish (OW_AGENT (source), result, &error))
    take_turn_error (self, error);
  /* Of a recording that is gone on with only the rest was asked for. */
  else if (!self->keep && !self->resumed && !self->open_turn &&
           !ow_model_check_done (self->model, &error))
    ow_session_fail (self, error);
  go_on (self);
}

static void
begin_turn (OwSession *self)
{
  self->phase = OW_SESSION_WORKING;
  self->open_turn = FALSE;
  self->turn = g_cancellable_new ();
  ow_agent_run_turn_async (self->agent, NULL, self->turn, on_turn_ended, g_object_ref (self));
}

/* Nothing runs now. */
static void
go_on (OwSession *self)
{
  GError *error = NULL;

  if (self->ending && !self->parked && self->open_turn)
    {
      ow_error_set (&error, OW_ERROR_INTERRUPTED, "The session was stopped",
                    "before its turn began", NULL);
      ow_session_fail (self, error);
    }
  if (self->error != NULL || self->ending)
    ow_session_take_down (self);
  else if (self->open_turn)
    begin_turn (self);
  else if (self->keep)
    self->phase = OW_SESSION_WAITING;
  else
    ow_session_take_down (self);
}

static void
on_instructions_read (GObject      *source,
                      GAsyncResult *result,
                      gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GError *error = NULL;

  if (!ow_agent_read_instructions_finish (OW_AGENT (source), result, &error))
    ow_session_fail (self, error);
  go_on (self);
}

/* What the wall was raised with has those of the shared logins too. */
static json_t *
describe_hosts (OwSession *self)
{
  GPtrArray *hosts = ow_sandbox_get_hosts (self->sandbox);
  json_t *json = json_array ();

  if (hosts == NULL)
    {
      json_decref (json);
      return json_incref (json_object_get (self->beginning, "hosts"));
    }
  for (guint i = 0; i < hosts->len; i++)
    {
      g_autofree char *text = ow_host_to_text (g_ptr_array_index (hosts, i));

      json_array_append_new (json, json_string (text));
    }
  return json;
}

void
ow_session_project_looked (OwSession *self)
{
  ow_agent_read_instructions_async (self->agent, self->stop, on_instructions_read,
                                    g_object_ref (self));
}

char *
ow_session_describe_environment (OwSession *self)
{
  GPtrArray *bins = ow_sandbox_get_bins (self->sandbox);
  json_t *hosts = describe_hosts (self);
  json_t *wall = ow_session_events_wall_up (self->level, NULL,
                                            ow_sandbox_get_credentials (self->sandbox));
  g_autofree char *prompt =
    ow_agent_describe_environment (self->folders, self->level,
                                   ow_json_get_string (self->beginning, "profile", NULL), hosts,
                                   json_object_get (wall, "credentials"));
  g_autoptr (GString) list = g_string_new (NULL);

  json_decref (hosts);
  json_decref (wall);

  if (bins == NULL)
    return g_steal_pointer (&prompt);
  for (guint i = 0; i < bins->len; i++)
    {
      g_autofree char *path = ow_text_visible (g_ptr_array_index (bins, i));

      g_string_append_printf (list, "- %s\n", path);
    }
  return g_strdup_printf ("%s\nPrograms of the person's that are shared with you, read-only, first "
                          "on your PATH:\n%s", prompt, list->str);
}

static void
start_agent (OwSession *self)
{
  g_autofree char *prompt = ow_session_describe_environment (self);

  self->agent = ow_agent_new (self->events, self->consent, self->audit,
                              OW_TOOL_HOST (self->sandbox), self->model, prompt, NULL);
  self->phase = OW_SESSION_READING;
  ow_session_project_look (self);
}

/* Whatever a start that was stopped says, what happened is that a person stopped it. */
static void
take_start_error (OwSession *self,
                  GError    *error)
{
  g_autoptr (GError) owned = error;

  if (self->ending && self->parked)
    return;
  if (self->ending)
    {
      g_clear_error (&owned);
      ow_error_set (&owned, OW_ERROR_INTERRUPTED, "The session was stopped",
                    "before its sandbox was there", NULL);
    }
  ow_session_fail (self, g_steal_pointer (&owned));
}

static void
on_started (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  GPtrArray *credentials;
  GError *error = NULL;

  if (!ow_sandbox_start_finish (OW_SANDBOX (source), result, &error))
    {
      take_start_error (self, error);
      ow_session_take_down (self);
      return;
    }
  self->wall_up = TRUE;
  credentials = ow_sandbox_get_credentials (self->sandbox);
  ow_session_append (self, OW_EVENT_WALL,
                     ow_session_events_wall_up (self->level, NULL, credentials));
  if (ow_sandbox_get_notice (self->sandbox) != NULL)
    ow_session_append_notice (self, ow_sandbox_get_notice (self->sandbox));
  if (self->error != NULL || self->ending)
    ow_session_take_down (self);
  else if (self->argv != NULL)
    ow_session_exec_run (self);
  else if (self->review != NULL)
    ow_session_review_run (self);
  else
    start_agent (self);
}

/* Ends what runs, for a session that is asked to end. */
static void
break_off (OwSession *self)
{
  self->ending = TRUE;
  switch (self->phase)
    {
    case OW_SESSION_STARTING:
    case OW_SESSION_READING:
      g_cancellable_cancel (self->stop);
      break;
    case OW_SESSION_WORKING:
      g_cancellable_cancel (self->turn != NULL ? self->turn : self->stop);
      break;
    case OW_SESSION_WAITING:
      ow_session_leave_soon (self);
      break;
    default:
      break;
    }
}

static void
on_cancelled (GCancellable *cancellable,
              OwSession    *self)
{
  GError *error = NULL;

  if (self->phase == OW_SESSION_WAITING)
    {
      ow_error_set (&error, OW_ERROR_INTERRUPTED, "The session was stopped", NULL, NULL);
      ow_session_fail (self, error);
    }
  break_off (self);
}

static gboolean
append_beginning (OwSession *self)
{
  g_autofree char *notice = NULL;

  if (!self->resumed)
    return ow_session_append (self, OW_EVENT_SESSION_STARTED, json_copy (self->beginning));
  if (self->review == NULL)
    notice = ow_session_resume_describe (self->events, self->level);
  if (!ow_session_append (self, OW_EVENT_SESSION_RESUMED, json_copy (self->beginning)))
    return FALSE;
  if (notice != NULL)
    ow_session_append_notice (self, notice);
  return TRUE;
}

void
ow_session_start (OwSession  *self,
                  GTask      *task,
                  const char *text)
{
  GCancellable *cancellable = g_task_get_cancellable (task);
  GError *error = NULL;

  g_task_set_check_cancellable (task, FALSE);
  self->phase = OW_SESSION_STARTING;
  if (!append_beginning (self))
    {
      /* Not stored: nothing was started, and there is nothing to end. */
      self->phase = OW_SESSION_ENDED;
      ow_session_drop_sandbox (self);
      g_task_return_error (task, g_error_copy (self->error));
      return;
    }
  ow_state_reach ("session-stored");
  self->task = g_object_ref (task);
  if (text != NULL &&
      !ow_event_list_append_text (self->events, OW_EVENT_USER_MESSAGE, text, &error))
    ow_session_fail (self, error);
  self->open_turn = (self->open_turn && self->review == NULL) || text != NULL;
  if (cancellable != NULL)
    self->stop_handler = g_signal_connect (cancellable, "cancelled",
                                           G_CALLBACK (on_cancelled), self);
  if (g_cancellable_is_cancelled (cancellable))
    break_off (self);
  if (self->error != NULL)
    {
      /* Stored but not recorded: nothing is started. */
      end_session (self);
      return;
    }
  ow_sandbox_start_async (self->sandbox, self->stop, on_started, g_object_ref (self));
}

gboolean
ow_session_check_unused (OwSession *self,
                         GTask     *task)
{
  GError *error = NULL;

  if (self->phase == OW_SESSION_NEW)
    return TRUE;
  ow_error_set (&error, OW_ERROR_FAILED, "The session was already used",
                "it is run once", "Start another session.");
  g_task_return_error (task, error);
  return FALSE;
}

void
ow_session_run_async (OwSession           *self,
                      const char          *task_text,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;
  gboolean good;

  g_return_if_fail (OW_IS_SESSION (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_run_async);
  if (!ow_session_check_unused (self, task))
    return;
  good = task_text != NULL ? *task_text != '\0' && g_utf8_validate (task_text, -1, NULL)
                           : self->resumed;
  if (self->model == NULL || !good)
    {
      ow_error_set (&error, OW_ERROR_USAGE, "There is nothing to run",
                    self->model == NULL ? "no model was given"
                                        : "the task is empty or not valid UTF-8",
                    "Give a task, and a model with --model.");
      g_task_return_error (task, error);
      return;
    }
  ow_session_start (self, task, task_text);
}

gboolean
ow_session_run_finish (OwSession     *self,
                       GAsyncResult  *result,
                       GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

gboolean
ow_session_is_working (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), FALSE);

  switch (self->phase)
    {
    case OW_SESSION_STARTING:
    case OW_SESSION_READING:
      return self->open_turn || self->argv != NULL;
    case OW_SESSION_WORKING:
      return TRUE;
    default:
      return FALSE;
    }
}

static gboolean
check_can_be_told (OwSession   *self,
                   const char  *text,
                   GError     **error)
{
  if (self->review != NULL && self->agent == NULL)
    ow_error_set (error, OW_ERROR_REFUSED, "The session cannot be told anything now",
                  "its changes are being looked at or undone", "Try again in a moment.");
  else if (self->model == NULL || self->argv != NULL)
    ow_error_set (error, OW_ERROR_USAGE, "The session cannot be told anything",
                  "it runs a single command and has no agent", NULL);
  else if (*text == '\0' || !g_utf8_validate (text, -1, NULL))
    ow_error_set (error, OW_ERROR_USAGE, "There is nothing to say",
                  "the text is empty or not valid UTF-8", NULL);
  else if (self->phase == OW_SESSION_NEW || self->ending || self->error != NULL ||
           self->phase >= OW_SESSION_LEAVING)
    ow_error_set (error, OW_ERROR_REFUSED, "The session cannot be told anything now",
                  "it is ending", "Wait for its end, then say it to go on with the session.");
  else
    return TRUE;
  return FALSE;
}

gboolean
ow_session_say (OwSession   *self,
                const char  *text,
                gboolean    *now,
                GError     **error)
{
  g_return_val_if_fail (OW_IS_SESSION (self), FALSE);
  g_return_val_if_fail (text != NULL, FALSE);

  if (!check_can_be_told (self, text, error))
    return FALSE;
  *now = self->agent != NULL && ow_agent_is_working (self->agent);
  if (*now)
    return ow_agent_steer (self->agent, text, error);
  if (!ow_event_list_append_text (self->events, OW_EVENT_USER_MESSAGE, text, error))
    return FALSE;
  self->open_turn = TRUE;
  if (self->phase == OW_SESSION_WAITING)
    begin_turn (self);
  return TRUE;
}

/* Before its turn has begun: nothing answers what was said so far. */
static void
drop_open_turn (OwSession *self)
{
  json_t *members = json_object ();

  self->open_turn = FALSE;
  json_object_set_new (members, "reason", json_string ("stopped"));
  json_object_set_new (members, "message", json_string ("The turn was stopped before it began."));
  ow_session_append (self, OW_EVENT_TURN_ENDED, members);
}

gboolean
ow_session_stop_turn (OwSession *self)
{
  g_return_val_if_fail (OW_IS_SESSION (self), FALSE);

  if (!ow_session_is_working (self))
    return FALSE;
  if (!self->keep || self->argv != NULL)
    break_off (self);
  else if (self->turn != NULL)
    g_cancellable_cancel (self->turn);
  else
    drop_open_turn (self);
  return TRUE;
}

void
ow_session_end (OwSession *self,
                gboolean   park)
{
  g_return_if_fail (OW_IS_SESSION (self));

  if (self->ending || self->phase == OW_SESSION_NEW || self->phase >= OW_SESSION_LEAVING)
    return;
  /* The one call of exec cannot be gone on with. */
  self->parked = park && self->argv == NULL;
  break_off (self);
}
