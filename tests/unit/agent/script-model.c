/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "script-model.h"

#include <stdarg.h>
#include <string.h>

#include "base/ow-error.h"

static void script_model_iface_init (OwModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (ScriptModel, script_model, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_MODEL, script_model_iface_init))

static void
script_model_finalize (GObject *object)
{
  ScriptModel *self = SCRIPT_MODEL (object);

  g_ptr_array_unref (self->turns);
  json_decref (self->history);
  G_OBJECT_CLASS (script_model_parent_class)->finalize (object);
}

static void
script_model_class_init (ScriptModelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = script_model_finalize;
}

static void
script_model_init (ScriptModel *self)
{
  self->turns = g_ptr_array_new_with_free_func (g_free);
}

ScriptModel *
script_model_new (const char *first,
                  ...)
{
  ScriptModel *self = g_object_new (SCRIPT_TYPE_MODEL, NULL);
  va_list turns;

  va_start (turns, first);
  for (const char *turn = first; turn != NULL; turn = va_arg (turns, const char *))
    g_ptr_array_add (self->turns, g_strdup (turn));
  va_end (turns);
  return self;
}

static OwModelTurn *
make_turn (const char *text)
{
  OwModelTurn *turn = g_new0 (OwModelTurn, 1);
  char message[OW_WIRE_ERROR_SIZE];

  if (text[0] == '[')
    turn->tool_calls = ow_json_parse (text, strlen (text), message);
  else
    turn->tool_calls = json_array ();
  g_assert_nonnull (turn->tool_calls);
  turn->text = g_strdup (text[0] == '[' ? "" : text);
  turn->finish = g_strdup (text[0] == '[' ? "tool_calls" : "stop");
  return turn;
}

static void
on_cancelled (GCancellable *cancellable,
              gpointer      user_data)
{
  g_task_return_new_error (user_data, G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled");
}

static void
script_model_complete_async (OwModel             *model,
                             const json_t        *history,
                             const json_t        *tools,
                             OwModelTextFunc      text,
                             gpointer             text_data,
                             GCancellable        *cancellable,
                             GAsyncReadyCallback  callback,
                             gpointer             user_data)
{
  ScriptModel *self = SCRIPT_MODEL (model);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_assert_cmpuint (json_array_size (tools), ==, 7);
  g_task_set_source_tag (task, script_model_complete_async);
  json_decref (self->history);
  self->history = json_deep_copy (history);
  self->asked = TRUE;
  if (self->hangs && !g_cancellable_is_cancelled (cancellable))
    {
      g_task_set_check_cancellable (task, FALSE);
      g_signal_connect_data (cancellable, "cancelled", G_CALLBACK (on_cancelled),
                             g_object_ref (task), (GClosureNotify) (GCallback) g_object_unref, 0);
      return;
    }
  if (self->next < self->turns->len)
    g_task_return_pointer (task, make_turn (g_ptr_array_index (self->turns, self->next++)),
                           (GDestroyNotify) ow_model_turn_free);
  else
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED, "The script is at its end");
}

static OwModelTurn *
script_model_complete_finish (OwModel       *model,
                              GAsyncResult  *result,
                              GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
script_model_iface_init (OwModelInterface *iface)
{
  iface->complete_async = script_model_complete_async;
  iface->complete_finish = script_model_complete_finish;
}
