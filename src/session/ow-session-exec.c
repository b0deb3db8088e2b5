/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "tools/ow-tool-call.h"

/* What such a result begins with for an agent (ow-open-call.c). */
#define INTERRUPTED "Interrupted: "

/* A session of one call, without an agent. */

static void
read_exec_result (OwSession          *self,
                  const OwToolResult *result)
{
  GError *error = NULL;

  if (result->outcome == OW_OUTCOME_OK && (result->signal > 0 || result->exit_status >= 0))
    {
      self->status = result->signal > 0 ? 128 + result->signal : result->exit_status;
      return;
    }
  /* What the runner left out, or gave as no status at all, must not pass for success. */
  if (result->outcome == OW_OUTCOME_OK)
    ow_error_set (&error, OW_ERROR_FAILED, "It is not known how the command ended",
                  "the runner's answer holds no exit status", NULL);
  else if (result->outcome == OW_OUTCOME_DENIED)
    ow_error_set (&error, OW_ERROR_REFUSED, "The command did not run", result->text, NULL);
  else if (result->outcome == OW_OUTCOME_CANCELLED)
    ow_error_set (&error, OW_ERROR_INTERRUPTED, "The command was stopped", NULL, NULL);
  else if (result->outcome == OW_OUTCOME_INTERRUPTED)
    ow_error_set (&error, OW_ERROR_FAILED, "The command was interrupted",
                  g_str_has_prefix (result->text, INTERRUPTED)
                  ? result->text + strlen (INTERRUPTED) : result->text, NULL);
  else
    ow_error_set (&error, OW_ERROR_FAILED, "The command could not be run", result->text, NULL);
  ow_session_fail (self, error);
}

static void
on_exec_ended (GObject      *source,
               GAsyncResult *result,
               gpointer      user_data)
{
  g_autoptr (OwSession) self = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  GError *error = NULL;

  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (outcome == NULL)
    ow_session_fail (self, error);
  else
    read_exec_result (self, outcome);
  ow_session_take_down (self);
}

void
ow_session_exec_run (OwSession *self)
{
  g_autoptr (OwToolCall) call = NULL;
  json_t *arguments = json_object ();

  self->phase = OW_SESSION_WORKING;
  json_object_set (arguments, "argv", self->argv);
  json_object_set_new (arguments, "timeout_s", json_integer (0));
  call = ow_tool_call_new (self->events, self->consent, self->audit,
                           OW_TOOL_HOST (self->sandbox), "exec", arguments, NULL);
  json_decref (arguments);
  ow_tool_call_run_async (call, self->stop, on_exec_ended, g_object_ref (self));
}

void
ow_session_exec_async (OwSession           *self,
                       const char * const  *argv,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  GError   *error = NULL;
  gboolean  good = TRUE;

  g_return_if_fail (OW_IS_SESSION (self));
  g_return_if_fail (argv != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_session_exec_async);
  if (!ow_session_check_unused (self, task))
    return;
  self->argv = json_array ();
  for (gsize i = 0; argv[i] != NULL; i++)
    {
      json_t *word = json_string (argv[i]);

      good = good && word != NULL;
      json_array_append_new (self->argv, word);
    }
  if (!good || json_array_size (self->argv) == 0)
    {
      ow_error_set (&error, OW_ERROR_USAGE, "There is nothing to run",
                    good ? "no command was given" : "the command is not valid UTF-8",
                    "Give the command after --.");
      g_task_return_error (task, error);
      return;
    }
  ow_session_start (self, task, NULL);
}

gboolean
ow_session_exec_finish (OwSession     *self,
                        GAsyncResult  *result,
                        int           *status,
                        GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  if (status != NULL)
    *status = self->status;
  return g_task_propagate_boolean (G_TASK (result), error);
}
