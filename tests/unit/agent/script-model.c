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

/* New reference. */
static json_t *
parse (const char *text)
{
  char message[OW_WIRE_ERROR_SIZE];
  json_t *parsed;

  if (text[0] == '[')
    {
      g_autofree char *whole = g_strdup_printf ("{\"tool_calls\":%s}", text);

      parsed = ow_json_parse (whole, strlen (whole), message);
    }
  else if (text[0] == '{')
    parsed = ow_json_parse (text, strlen (text), message);
  else
    parsed = json_pack ("{s:s}", "text", text);
  g_assert_nonnull (parsed);
  return parsed;
}

static OwModelTurn *
make_turn (const json_t *parsed)
{
  OwModelTurn *turn = g_new0 (OwModelTurn, 1);
  json_t *calls = json_object_get (parsed, "tool_calls");

  turn->tool_calls = calls != NULL ? json_incref (calls) : json_array ();
  turn->text = g_strdup (ow_json_get_string (parsed, "text", ""));
  turn->finish = g_strdup (ow_json_get_string (parsed, "finish",
                                               calls != NULL ? "tool_calls" : "stop"));
  turn->cut = g_strdup (ow_json_get_string (parsed, "cut", NULL));
  turn->usage = json_incref (json_object_get (parsed, "usage"));
  return turn;
}

static void
answer (GTask        *task,
        const json_t *parsed)
{
  const char *error = ow_json_get_string (parsed, "error", NULL);

  if (error != NULL)
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED, "%s", error);
  else
    g_task_return_pointer (task, make_turn (parsed), (GDestroyNotify) ow_model_turn_free);
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
  json_t *parsed;
  json_t *piece;
  size_t  i;

  g_assert_cmpuint (json_array_size (tools), ==, 12);
  g_task_set_source_tag (task, script_model_complete_async);
  json_decref (self->history);
  self->history = json_deep_copy (history);
  self->asked = TRUE;
  parsed = self->next < self->turns->len ? parse (g_ptr_array_index (self->turns, self->next++))
                                         : NULL;
  json_array_foreach (json_object_get (parsed, "stream"), i, piece)
    text (json_string_value (piece), text_data);
  if (self->on_asked != NULL)
    self->on_asked (self, self->asked_data);
  if (self->hangs && !g_cancellable_is_cancelled (cancellable))
    {
      g_task_set_check_cancellable (task, FALSE);
      g_signal_connect_data (cancellable, "cancelled", G_CALLBACK (on_cancelled),
                             g_object_ref (task), (GClosureNotify) (GCallback) g_object_unref, 0);
    }
  else if (parsed != NULL)
    answer (task, parsed);
  else
    g_task_return_new_error (task, OW_ERROR, OW_ERROR_FAILED, "The script is at its end");
  json_decref (parsed);
}

static gboolean
script_model_is_recorded (OwModel *model)
{
  return SCRIPT_MODEL (model)->recorded;
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
  iface->is_recorded = script_model_is_recorded;
}
