/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "fake-host.h"

#include "base/ow-error.h"

static void fake_host_iface_init (OwToolHostInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (FakeHost, fake_host, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_TOOL_HOST, fake_host_iface_init))

static void
fake_host_finalize (GObject *object)
{
  g_free (FAKE_HOST (object)->text);
  G_OBJECT_CLASS (fake_host_parent_class)->finalize (object);
}

static void
fake_host_class_init (FakeHostClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fake_host_finalize;
}

static void
fake_host_init (FakeHost *self)
{
  self->level = OW_LEVEL_BUBBLEWRAP;
}

FakeHost *
fake_host_new (FakeMode    mode,
               const char *text)
{
  FakeHost *self = g_object_new (FAKE_TYPE_HOST, NULL);

  self->mode = mode;
  self->text = g_strdup (text);
  return self;
}

static OwLevel
fake_host_get_level (OwToolHost *host)
{
  return FAKE_HOST (host)->level;
}

static OwToolResult *
make_result (FakeHost      *self,
             OwToolOutcome  outcome,
             const char    *text)
{
  OwToolResult *result = ow_tool_result_new (outcome, text);

  result->state_lost = self->state_lost;
  result->exit_status = outcome == OW_OUTCOME_OK ? 0 : -1;
  return result;
}

static gboolean
answer_later (gpointer user_data)
{
  GTask    *task = user_data;
  FakeHost *self = g_task_get_source_object (task);

  self->n_running--;
  g_task_return_pointer (task, make_result (self, self->outcome, self->text),
                         (GDestroyNotify) ow_tool_result_free);
  return G_SOURCE_REMOVE;
}

static void
on_cancelled (GCancellable *cancellable,
              gpointer      user_data)
{
  GTask    *task = user_data;
  FakeHost *self = g_task_get_source_object (task);

  self->n_running--;
  g_task_return_pointer (task, make_result (self, OW_OUTCOME_CANCELLED, "stopped"),
                         (GDestroyNotify) ow_tool_result_free);
}

static void
fake_host_call_async (OwToolHost          *host,
                      const char          *call_id,
                      const char          *tool,
                      const json_t        *arguments,
                      OwToolOutputFunc     output,
                      gpointer             output_data,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  FakeHost *self = FAKE_HOST (host);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, fake_host_call_async);
  g_task_set_check_cancellable (task, FALSE);
  self->n_calls++;
  self->n_running++;
  self->max_running = MAX (self->max_running, self->n_running);
  self->kept_output = output;
  self->kept_data = output_data;
  if (self->output != NULL)
    output ("stdout", self->output, self->output_length, output_data);
  if (self->asked != NULL)
    self->asked (self, call_id, self->asked_data);
  if (self->mode == FAKE_ERROR)
    {
      self->n_running--;
      g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED, "The host is not there");
    }
  else if (self->mode == FAKE_ANSWER)
    g_idle_add_full (G_PRIORITY_DEFAULT, answer_later, g_object_ref (task), g_object_unref);
  else if (g_cancellable_is_cancelled (cancellable))
    on_cancelled (cancellable, task);
  else
    g_signal_connect_data (cancellable, "cancelled", G_CALLBACK (on_cancelled),
                           g_object_ref (task), (GClosureNotify) (GCallback) g_object_unref, 0);
}

static OwToolResult *
fake_host_call_finish (OwToolHost    *host,
                       GAsyncResult  *result,
                       GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
fake_host_iface_init (OwToolHostInterface *iface)
{
  iface->get_level = fake_host_get_level;
  iface->call_async = fake_host_call_async;
  iface->call_finish = fake_host_call_finish;
}

static gboolean
on_too_long (gpointer user_data)
{
  *(gboolean *) user_data = TRUE;
  return G_SOURCE_REMOVE;
}

void
fake_wait (const gboolean *done)
{
  gboolean too_long = FALSE;
  guint    source = g_timeout_add_seconds (20, on_too_long, &too_long);

  while (!*done && !too_long)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (*done);
  if (!too_long)
    g_source_remove (source);
}
