/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "session/ow-changes.h"
#include "tools/ow-tool-call.h"

/* A person's look at what a session changed, and the undo of some of it: one call, in the sandbox
 * that is there, or in one that is raised for it and goes with it. It is no part of the
 * conversation; of an undo the agent is told in one line. */

#define MAX_NAMES 8
#define MAX_NAME_CHARS 120

struct OwSessionReview
{
  char         *tool;      /* (owned) */
  json_t       *arguments; /* (owned) */
  json_t       *undoes;    /* (owned) (nullable) */
  GTask        *task;      /* (owned) (nullable) of a session that runs anyway */
  GCancellable *cancel;    /* (owned) */
  char         *call;      /* (owned) (nullable) */
  gboolean      alone;     /* the sandbox runs no other call meanwhile */
  OwToolResult *result;    /* (owned) (nullable) */
};

void
ow_session_review_free (OwSessionReview *review)
{
  g_free (review->tool);
  json_decref (review->arguments);
  json_decref (review->undoes);
  g_clear_object (&review->task);
  g_clear_object (&review->cancel);
  g_free (review->call);
  ow_tool_result_free (review->result);
  g_free (review);
}

/* --- what is told of it --- */

static void
append_names (GString      *line,
              const json_t *files,
              const char   *state,
              const char   *what)
{
  guint n = 0;

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t    *file = json_array_get (files, i);
      g_autofree char *visible = NULL;
      g_autofree char *name = NULL;

      if (g_strcmp0 (ow_json_get_string (file, "state", NULL), state) != 0 || n++ >= MAX_NAMES)
        continue;
      visible = ow_text_visible (ow_json_get_string (file, "path", ""));
      name = ow_text_shorten (visible, MAX_NAME_CHARS, TRUE);
      g_string_append_printf (line, "%s%s", n == 1 ? what : ", ", name);
    }
  if (n > MAX_NAMES)
    g_string_append_printf (line, " and %u more", n - MAX_NAMES);
}

/* (transfer full) (nullable) one line. */
static char *
describe_undo (const OwSessionReview *review)
{
  json_t  *files;
  GString *line;

  if (!ow_json_get_bool (review->arguments, "apply", FALSE) || review->result == NULL ||
      review->result->outcome != OW_OUTCOME_OK)
    return NULL;
  files = ow_changes_read_files (review->arguments, review->result->structured);
  line = g_string_new (NULL);
  append_names (line, files, "restored", " As they were before: ");
  append_names (line, files, "removed", line->len > 0 ? "; removed again: " : " Removed again: ");
  json_decref (files);
  if (line->len == 0)
    {
      g_string_free (line, TRUE);
      return NULL;
    }
  g_string_prepend (line, "The person undid changes.");
  g_string_append (line, ". Read such a file again before you change it.");
  return g_string_free (line, FALSE);
}

/* --- the call --- */

static void
return_result (OwSession       *self,
               OwSessionReview *review,
               GTask           *task)
{
  if (review->result != NULL)
    g_task_return_pointer (task, g_steal_pointer (&review->result),
                           (GDestroyNotify) ow_tool_result_free);
  else if (self->error != NULL)
    g_task_return_error (task, g_error_copy (self->error));
  else
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_INTERRUPTED,
                             "Nothing was done: the session is ending.");
}

static void
on_ended (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  OwSessionReview *review = self->review;
  g_autoptr (GTask) task = g_object_ref (review->task != NULL ? review->task : self->task);
  g_autofree char *notice = NULL;
  g_autoptr (GError) error = NULL;

  review->result = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (review->alone)
    ow_sandbox_give_back (self->sandbox);
  if (strcmp (review->tool, "settings") == 0)
    ow_session_settings_take (self, review->result,
                              json_object_get (review->arguments, "since") != NULL);
  notice = describe_undo (review);
  if (notice != NULL)
    ow_session_append_notice (self, notice);
  /* Of one that comes down it is known why. */
  if (review->result == NULL && self->phase < OW_SESSION_LEAVING)
    ow_session_fail (self, g_error_copy (error));
  if (review->task == NULL)
    {
      ow_session_take_down (self);
      return;
    }
  g_task_set_task_data (task, g_strdup (review->call), g_free);
  /* Who is told may ask for the next one at once. */
  self->review = NULL;
  if (review->result == NULL)
    g_task_return_error (task, g_steal_pointer (&error));
  else
    return_result (self, review, task);
  ow_session_review_free (review);
  if (self->phase == OW_SESSION_LEAVING)
    ow_session_take_down (self);
}

static OwToolCall *
make_call (OwSession *self)
{
  OwSessionReview *review = self->review;
  OwToolCall *call = ow_tool_call_new (self->events, self->consent, self->audit,
                                       OW_TOOL_HOST (self->sandbox), review->tool,
                                       review->arguments, NULL);

  ow_tool_call_set_commanded (call, review->undoes);
  review->call = g_strdup (ow_tool_call_get_id (call));
  return call;
}

void
ow_session_review_run (OwSession *self)
{
  g_autoptr (OwToolCall) call = make_call (self);

  self->phase = OW_SESSION_WORKING;
  ow_tool_call_run_async (call, self->stop, on_ended, g_object_ref (self));
}

gboolean
ow_session_review_stop (OwSession *self)
{
  if (self->review == NULL || self->review->task == NULL)
    return FALSE;
  g_cancellable_cancel (self->review->cancel);
  return TRUE;
}

void
ow_session_review_end (OwSession *self,
                       GTask     *task)
{
  g_task_set_task_data (task, g_strdup (self->review->call), g_free);
  return_result (self, self->review, task);
}

/* --- how it begins --- */

static gboolean
check_can_begin (OwSession *self,
                 GError   **error)
{
  if (self->review != NULL)
    ow_error_set (error, OW_ERROR_REFUSED, "Nothing was done",
                  "the session's changes are being looked at or undone just now",
                  "Try again in a moment.");
  else if (self->phase >= OW_SESSION_LEAVING || self->ending || self->error != NULL)
    ow_error_set (error, OW_ERROR_REFUSED, "Nothing was done", "the session is ending",
                  "Try again when it has ended.");
  else if (self->argv != NULL)
    ow_error_set (error, OW_ERROR_REFUSED, "Nothing was done", "the session runs a single command",
                  "Try again when it has ended.");
  else if (self->agent == NULL || !ow_sandbox_can_change (self->sandbox))
    ow_error_set (error, OW_ERROR_REFUSED, "Nothing was done",
                  "the session's sandbox is being made just now", "Try again in a moment.");
  else
    return TRUE;
  return FALSE;
}

static void
begin_beside (OwSession *self)
{
  OwSessionReview *review = self->review;
  g_autoptr (OwToolCall) call = make_call (self);
  GError *error = NULL;

  review->alone = ow_json_get_bool (review->arguments, "apply", FALSE);
  if (review->alone && !ow_sandbox_take_alone (self->sandbox, review->call))
    {
      g_autoptr (GTask) task = g_object_ref (review->task);

      g_clear_pointer (&self->review, ow_session_review_free);
      ow_error_set (&error, OW_ERROR_REFUSED, "Nothing was undone", "a call of the agent runs",
                    "Try again when it has ended, or stop it.");
      g_task_return_error (task, error);
      return;
    }
  ow_tool_call_run_async (call, review->cancel, on_ended, g_object_ref (self));
}

void
ow_session_review_async (OwSession           *self,
                         const char          *tool,
                         const json_t        *arguments,
                         const json_t        *undoes,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  gboolean whole;
  GError *error = NULL;

  g_return_if_fail (OW_IS_SESSION (self));
  g_return_if_fail (tool != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_review_async);
  g_task_set_check_cancellable (task, FALSE);
  whole = self->phase == OW_SESSION_NEW && self->resumed;
  if (!whole && !check_can_begin (self, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  self->review = g_new0 (OwSessionReview, 1);
  self->review->tool = g_strdup (tool);
  self->review->arguments = json_deep_copy (arguments);
  self->review->undoes = undoes != NULL ? json_deep_copy (undoes) : NULL;
  self->review->cancel = g_cancellable_new ();
  if (whole)
    {
      json_object_set_new (self->beginning, "purpose", json_string ("changes"));
      ow_session_start (self, task, NULL);
      return;
    }
  self->review->task = g_steal_pointer (&task);
  begin_beside (self);
}

OwToolResult *
ow_session_review_finish (OwSession     *self,
                          GAsyncResult  *result,
                          char         **call,
                          GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  *call = g_strdup (g_task_get_task_data (G_TASK (result)));
  return g_task_propagate_pointer (G_TASK (result), error);
}
