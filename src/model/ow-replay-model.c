/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "model/ow-replay-model.h"

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-replay-file-private.h"

/* How much of a result stands in the error about it. */
#define MAX_SHOWN_CHARS 600

struct _OwReplayModel {
  GObject parent_instance;

  OwReplayFile *file; /* (owned) */
  guint         next; /* index of the turn to answer with, as the last conversation had it */
};

static void ow_replay_model_iface_init (OwModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (OwReplayModel, ow_replay_model, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (OW_TYPE_MODEL, ow_replay_model_iface_init))

static void
ow_replay_model_finalize (GObject *object)
{
  OwReplayModel *self = OW_REPLAY_MODEL (object);

  g_clear_pointer (&self->file, ow_replay_file_free);
  G_OBJECT_CLASS (ow_replay_model_parent_class)->finalize (object);
}

static void
ow_replay_model_class_init (OwReplayModelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_replay_model_finalize;
}

static void
ow_replay_model_init (OwReplayModel *self)
{
}

OwReplayModel *
ow_replay_model_new (const char  *path,
                     GError     **error)
{
  g_autoptr (OwReplayFile) file = ow_replay_file_read (path, error);
  OwReplayModel *self;

  if (file == NULL)
    return NULL;
  self = g_object_new (OW_TYPE_REPLAY_MODEL, NULL);
  self->file = g_steal_pointer (&file);
  return self;
}

static gboolean
check_result (OwReplayModel *self,
              const char    *id,
              const char    *text,
              GError       **error)
{
  const OwReplayCall *call = g_hash_table_lookup (self->file->calls, id);
  g_autofree char    *visible = NULL;
  g_autofree char    *shown = NULL;
  g_autofree char    *pattern = NULL;
  g_autoptr (GError) cause = NULL;

  if (call == NULL || text == NULL)
    {
      ow_error_setf (error, OW_ERROR_DATA, NULL,
                     "The replay does not fit: the recording has no call \"%.64s\"", id);
      return FALSE;
    }
  if (ow_replay_call_match (call, text, &cause))
    return TRUE;
  if (cause != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  visible = ow_text_visible (text);
  shown = ow_text_shorten (visible, MAX_SHOWN_CHARS, FALSE);
  pattern = ow_text_shorten (call->pattern, MAX_SHOWN_CHARS, FALSE);
  ow_error_setf (error, OW_ERROR_DATA, NULL,
                 "The replay does not fit: call \"%s\" (%s) was to give a result that matches "
                 "\"%s\", and gave \"%s\"", call->id, call->name, pattern, shown);
  return FALSE;
}

/* What came back since the model spoke last: a result for each call, and each fits. */
static gboolean
check_results (OwReplayModel *self,
               const json_t  *history,
               GError       **error)
{
  OwReplayTurn *turn;
  size_t        n = json_array_size (history);
  size_t        first = n;

  if (self->next == 0 || self->next > self->file->turns->len)
    return TRUE;
  turn = g_ptr_array_index (self->file->turns, self->next - 1);
  while (first > 0)
    {
      const json_t *entry = json_array_get (history, first - 1);

      if (g_str_equal (ow_json_get_string (entry, "role", ""), "assistant"))
        break;
      first--;
    }
  for (size_t i = 0; i < json_array_size (turn->tool_calls); i++)
    {
      const char *id = ow_json_get_string (json_array_get (turn->tool_calls, i), "id", "");
      const char *text = NULL;

      for (size_t j = first; j < n && text == NULL; j++)
        {
          const json_t *entry = json_array_get (history, j);

          if (g_str_equal (ow_json_get_string (entry, "role", ""), "tool") &&
              g_str_equal (ow_json_get_string (entry, "id", ""), id))
            text = ow_json_get_string (entry, "text", NULL);
        }
      if (text == NULL)
        {
          ow_error_setf (error, OW_ERROR_DATA, NULL,
                         "The replay does not fit: call \"%.64s\" has no result", id);
          return FALSE;
        }
      if (!check_result (self, id, text, error))
        return FALSE;
    }
  return TRUE;
}

/* The conversation itself says where it is, so that one that goes on after the program has
 * ended goes on at the right turn. What was cut short is none of the recording's. */
static guint
count_answers (const json_t *history)
{
  guint n = 0;

  for (size_t i = 0; i < json_array_size (history); i++)
    {
      const json_t *entry = json_array_get (history, i);

      if (g_str_equal (ow_json_get_string (entry, "role", ""), "assistant") &&
          !ow_json_get_bool (entry, "cut", FALSE))
        n++;
    }
  return n;
}

static OwModelTurn *
next_turn (OwReplayModel *self,
           const json_t  *history,
           GError       **error)
{
  OwReplayTurn *recorded;
  OwModelTurn  *turn;

  self->next = count_answers (history);
  if (!check_results (self, history, error))
    return NULL;
  if (self->next >= self->file->turns->len)
    {
      ow_error_setf (error, OW_ERROR_DATA, NULL,
                     "The replay does not fit: the recording has %u turns of the model, and "
                     "another one was asked for", self->file->turns->len);
      return NULL;
    }
  recorded = g_ptr_array_index (self->file->turns, self->next);
  self->next++;
  turn = g_new0 (OwModelTurn, 1);
  turn->text = g_strdup (recorded->text);
  turn->tool_calls = json_deep_copy (recorded->tool_calls);
  turn->finish = g_strdup (recorded->finish);
  return turn;
}

static void
ow_replay_model_complete_async (OwModel             *model,
                                const json_t        *history,
                                const json_t        *tools,
                                OwModelTextFunc      text,
                                gpointer             text_data,
                                GCancellable        *cancellable,
                                GAsyncReadyCallback  callback,
                                gpointer             user_data)
{
  OwReplayModel *self = OW_REPLAY_MODEL (model);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  OwModelTurn *turn;
  GError *error = NULL;

  g_task_set_source_tag (task, ow_replay_model_complete_async);
  if (g_task_return_error_if_cancelled (task))
    return;
  turn = next_turn (self, history, &error);
  if (turn == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  if (text != NULL && turn->text[0] != '\0')
    text (turn->text, text_data);
  g_task_return_pointer (task, turn, (GDestroyNotify) ow_model_turn_free);
}

static OwModelTurn *
ow_replay_model_complete_finish (OwModel       *model,
                                 GAsyncResult  *result,
                                 GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, model), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static gboolean
ow_replay_model_check_done (OwModel  *model,
                            GError  **error)
{
  OwReplayModel *self = OW_REPLAY_MODEL (model);

  if (self->next == self->file->turns->len)
    return TRUE;
  ow_error_setf (error, OW_ERROR_DATA, NULL,
                 "The replay does not fit: the session is done, and %u of the recording's %u turns "
                 "of the model are left over", self->file->turns->len - self->next,
                 self->file->turns->len);
  return FALSE;
}

static gboolean
ow_replay_model_is_recorded (OwModel *model)
{
  return TRUE;
}

static void
ow_replay_model_iface_init (OwModelInterface *iface)
{
  iface->complete_async = ow_replay_model_complete_async;
  iface->complete_finish = ow_replay_model_complete_finish;
  iface->check_done = ow_replay_model_check_done;
  iface->is_recorded = ow_replay_model_is_recorded;
}
