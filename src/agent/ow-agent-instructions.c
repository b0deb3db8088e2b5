/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-agent-private.h"

#include "ow-agent-history-private.h"
#include "tools/ow-tool-call.h"

/* A project's own instructions. The program opens no file of a session's folder itself, so
 * this one is read like any other: by a call, behind the wall, recorded, for all to see. */

static void
on_read (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (OwToolResult) outcome = NULL;
  GError *error = NULL;

  /* What the file holds, and whether there is one, stands in the events. */
  outcome = ow_tool_call_run_finish (OW_TOOL_CALL (source), result, &error);
  if (outcome != NULL)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

void
ow_agent_read_instructions_async (OwAgent             *self,
                                  GCancellable        *cancellable,
                                  GAsyncReadyCallback  callback,
                                  gpointer             user_data)
{
  g_autoptr (GTask) task = NULL;
  g_autoptr (OwToolCall) call = NULL;
  json_t *arguments;

  g_return_if_fail (OW_IS_AGENT (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, ow_agent_read_instructions_async);
  g_task_set_check_cancellable (task, FALSE);
  if (ow_model_is_recorded (self->model))
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  arguments = json_object ();
  json_object_set_new (arguments, "path", json_string (OW_AGENT_INSTRUCTIONS_NAME));
  call = ow_tool_call_new (self->events, self->consent, self->audit, self->host, "read", arguments,
                           NULL);
  json_decref (arguments);
  ow_tool_call_set_purpose (call, OW_AGENT_INSTRUCTIONS_PURPOSE);
  ow_tool_call_run_async (call, cancellable, on_read, g_steal_pointer (&task));
}

gboolean
ow_agent_read_instructions_finish (OwAgent       *self,
                                   GAsyncResult  *result,
                                   GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
