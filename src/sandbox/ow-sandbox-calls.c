/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-sandbox-private.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-state.h"

/* A sandbox as a tool host, and the change of its folders, which comes between two calls: what is
 * mounted in a running sandbox is fixed, so the wall goes and another one is raised. */

/* A call that came while there is no wall. */
typedef struct
{
  GTask            *task;        /* (owned) */
  char             *call_id;     /* (owned) */
  char             *tool;        /* (owned) */
  json_t           *arguments;   /* (owned) */
  OwToolOutputFunc  output;
  gpointer          output_data;
  GSource          *cancelled;   /* (owned) (nullable) */
} Held;

void
ow_sandbox_held_free (gpointer data)
{
  Held *held = data;

  ow_source_clear (&held->cancelled);
  g_object_unref (held->task);
  g_free (held->call_id);
  g_free (held->tool);
  json_decref (held->arguments);
  g_free (held);
}

static OwLevel
ow_sandbox_host_get_level (OwToolHost *host)
{
  return ow_sandbox_get_level (OW_SANDBOX (host));
}

/* --- other folders --- */

static void
ow_sandbox_old_stopped (GObject      *source,
                        GAsyncResult *result,
                        gpointer      user_data)
{
  g_autoptr (OwSandbox) self = user_data;
  GError *error = NULL;

  ow_sandbox_instance_stop_finish (OW_SANDBOX_INSTANCE (source), result, &error);
  ow_state_reach ("old-wall-stopped");
  g_clear_object (&self->instance);
  /* What did not end may still write in its folders: they stay, for the reaper. */
  self->plan->abandoned = error != NULL;
  g_clear_pointer (&self->plan, ow_sandbox_plan_free);
  ow_state_reach ("old-wall-removed");
  if (error != NULL)
    ow_sandbox_fail (self, error);
  else
    ow_sandbox_begin (self);
}

static void
ow_sandbox_begin_change (OwSandbox *self)
{
  self->state = OW_SANDBOX_CHANGING;
  ow_state_reach ("changing");
  g_signal_handlers_disconnect_by_data (self->channel, self);
  ow_channel_close (self->channel);
  g_clear_object (&self->channel);
  g_signal_handlers_disconnect_by_data (self->instance, self);
  ow_sandbox_instance_stop_async (self->instance, ow_sandbox_old_stopped, g_object_ref (self));
}

/* Not from inside the channel's own answer. */
static gboolean
ow_sandbox_on_idle (gpointer user_data)
{
  OwSandbox *self = user_data;

  if (self->n_calls == 0 && self->changes->len > 0 && self->state == OW_SANDBOX_UP)
    ow_sandbox_begin_change (self);
  return G_SOURCE_REMOVE;
}

gboolean
ow_sandbox_is_busy (OwSandbox *self)
{
  return self->n_calls > 0;
}

gboolean
ow_sandbox_can_change (OwSandbox *self)
{
  return self->state == OW_SANDBOX_UP;
}

void
ow_sandbox_change_async (OwSandbox          *self,
                         GPtrArray          *folders,
                         GAsyncReadyCallback callback,
                         gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GPtrArray) owned = folders;
  GError *error = NULL;

  g_task_set_source_tag (task, ow_sandbox_change_async);
  if (!ow_sandbox_can_change (self))
    {
      ow_error_set (&error, OW_ERROR_REFUSED, "The folders were not changed",
                    "the session's sandbox is not up", "Try again when it is.");
      g_task_return_error (task, error);
      return;
    }
  /* One that has not begun yet goes on with the newer set. */
  g_clear_pointer (&self->folders, g_ptr_array_unref);
  self->folders = g_steal_pointer (&owned);
  g_ptr_array_add (self->changes, g_steal_pointer (&task));
  if (self->n_calls == 0)
    ow_sandbox_begin_change (self);
}

gboolean
ow_sandbox_change_finish (OwSandbox    *self,
                          GAsyncResult *result,
                          GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

/* --- calls --- */

static void
ow_sandbox_called (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (OwSandbox) self = g_object_ref (g_task_get_source_object (task));
  GError *error = NULL;
  OwToolResult *answer = ow_channel_call_finish (OW_CHANNEL (source), result, &error);

  self->n_calls--;
  if (self->n_calls == 0 && self->changes->len > 0)
    ow_source_idle (G_PRIORITY_DEFAULT, ow_sandbox_on_idle, g_object_ref (self), g_object_unref);
  if (answer != NULL)
    g_task_return_pointer (task, answer, (GDestroyNotify) ow_tool_result_free);
  else
    g_task_return_error (task, error);
}

/* @task is moved in. */
static void
ow_sandbox_forward (OwSandbox        *self,
                    GTask            *task,
                    const char       *call_id,
                    const char       *tool,
                    const json_t     *arguments,
                    OwToolOutputFunc  output,
                    gpointer          output_data)
{
  g_autoptr (GTask) owned = task;
  GError *error = NULL;

  if (self->state == OW_SANDBOX_UP)
    {
      self->n_calls++;
      ow_channel_call_async (self->channel, call_id, tool, arguments, output, output_data,
                             g_task_get_cancellable (task), ow_sandbox_called,
                             g_steal_pointer (&owned));
      return;
    }
  ow_error_set (&error, OW_ERROR_FAILED, "The tool was not run",
                "the session's sandbox is not up", "Start the session again");
  g_task_return_error (task, error);
}

/* What waits has not run, and need not wait to be stopped. */
static gboolean
ow_sandbox_on_held_cancelled (gpointer user_data)
{
  Held *held = user_data;
  g_autoptr (GTask) task = g_object_ref (held->task);
  OwSandbox *self = g_task_get_source_object (task);

  g_ptr_array_remove (self->held, held);
  g_task_return_pointer (task, ow_tool_result_new (OW_OUTCOME_CANCELLED,
                                                   "The call was stopped before it ran."),
                         (GDestroyNotify) ow_tool_result_free);
  return G_SOURCE_REMOVE;
}

static void
ow_sandbox_hold (OwSandbox        *self,
                 GTask            *task,
                 const char       *call_id,
                 const char       *tool,
                 const json_t     *arguments,
                 OwToolOutputFunc  output,
                 gpointer          output_data)
{
  Held *held = g_new0 (Held, 1);

  held->task = task;
  held->call_id = g_strdup (call_id);
  held->tool = g_strdup (tool);
  held->arguments = json_deep_copy (arguments);
  held->output = output;
  held->output_data = output_data;
  g_ptr_array_add (self->held, held);
  held->cancelled = ow_source_cancelled (g_task_get_cancellable (task),
                                         ow_sandbox_on_held_cancelled, held, NULL);
}

/* @task is moved in. */
static void
ow_sandbox_take (OwSandbox        *self,
                 GTask            *task,
                 const char       *call_id,
                 const char       *tool,
                 const json_t     *arguments,
                 OwToolOutputFunc  output,
                 gpointer          output_data)
{
  gboolean up = self->state == OW_SANDBOX_UP || self->state == OW_SANDBOX_CHANGING;

  /* Also one that comes while another one runs: the change is between them. */
  if (self->changes->len > 0 ||
      (up && self->only != NULL && g_strcmp0 (self->only, call_id) != 0))
    ow_sandbox_hold (self, task, call_id, tool, arguments, output, output_data);
  else
    ow_sandbox_forward (self, task, call_id, tool, arguments, output, output_data);
}

static void
ow_sandbox_host_call_async (OwToolHost         *host,
                            const char         *call_id,
                            const char         *tool,
                            const json_t       *arguments,
                            OwToolOutputFunc    output,
                            gpointer            output_data,
                            GCancellable       *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer            user_data)
{
  OwSandbox *self = OW_SANDBOX (host);
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_sandbox_host_call_async);
  g_task_set_check_cancellable (task, FALSE);
  ow_sandbox_take (self, task, call_id, tool, arguments, output, output_data);
}

static OwToolResult *
ow_sandbox_host_call_finish (OwToolHost   *host,
                             GAsyncResult *result,
                             GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

void
ow_sandbox_host_init (OwToolHostInterface *iface)
{
  iface->get_level = ow_sandbox_host_get_level;
  iface->call_async = ow_sandbox_host_call_async;
  iface->call_finish = ow_sandbox_host_call_finish;
}

/* --- the end of a change --- */

/* Calls that waited run now, or are told why they never will. */
static void
ow_sandbox_release (OwSandbox *self)
{
  g_autoptr (GPtrArray) held = g_steal_pointer (&self->held);

  self->held = g_ptr_array_new_with_free_func (ow_sandbox_held_free);
  for (guint i = 0; i < held->len; i++)
    {
      Held *call = g_ptr_array_index (held, i);

      ow_sandbox_take (self, g_object_ref (call->task), call->call_id, call->tool,
                       call->arguments, call->output, call->output_data);
    }
}

gboolean
ow_sandbox_take_alone (OwSandbox  *self,
                       const char *call_id)
{
  if (self->n_calls > 0 || self->held->len > 0 || self->only != NULL)
    return FALSE;
  self->only = g_strdup (call_id);
  return TRUE;
}

void
ow_sandbox_give_back (OwSandbox *self)
{
  g_autoptr (OwSandbox) keep = g_object_ref (self);

  g_clear_pointer (&self->only, g_free);
  ow_sandbox_release (self);
}

void
ow_sandbox_changed (OwSandbox *self)
{
  g_autoptr (OwSandbox) keep = g_object_ref (self);
  g_autoptr (GPtrArray) changes = g_steal_pointer (&self->changes);

  self->changes = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < changes->len; i++)
    g_task_return_boolean (g_ptr_array_index (changes, i), TRUE);
  ow_sandbox_release (self);
}

void
ow_sandbox_change_failed (OwSandbox *self)
{
  g_autoptr (GPtrArray) changes = g_steal_pointer (&self->changes);

  self->changes = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < changes->len; i++)
    {
      if (self->failure != NULL)
        g_task_return_error (g_ptr_array_index (changes, i), g_error_copy (self->failure));
      else
        g_task_return_new_error (g_ptr_array_index (changes, i), OW_ERROR, OW_ERROR_INTERRUPTED,
                                 "The folders were not changed: the sandbox was stopped.");
    }
  ow_sandbox_release (self);
}
