/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "model/ow-model.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "model/ow-replay-model.h"

#define REPLAY_PREFIX "replay:"

G_DEFINE_INTERFACE (OwModel, ow_model, G_TYPE_OBJECT)

static void
ow_model_default_init (OwModelInterface *iface)
{
}

void
ow_model_turn_free (OwModelTurn *turn)
{
  if (turn == NULL)
    return;
  g_free (turn->text);
  json_decref (turn->tool_calls);
  g_free (turn->finish);
  g_free (turn->cut);
  json_decref (turn->usage);
  g_free (turn);
}

void
ow_model_complete_async (OwModel             *self,
                         const json_t        *history,
                         const json_t        *tools,
                         OwModelTextFunc      text,
                         gpointer             text_data,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  g_return_if_fail (OW_IS_MODEL (self));

  OW_MODEL_GET_IFACE (self)->complete_async (self, history, tools, text, text_data, cancellable,
                                             callback, user_data);
}

OwModelTurn *
ow_model_complete_finish (OwModel       *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  g_return_val_if_fail (OW_IS_MODEL (self), NULL);

  return OW_MODEL_GET_IFACE (self)->complete_finish (self, result, error);
}

gboolean
ow_model_check_done (OwModel  *self,
                     GError  **error)
{
  OwModelInterface *iface;

  g_return_val_if_fail (OW_IS_MODEL (self), FALSE);

  iface = OW_MODEL_GET_IFACE (self);
  return iface->check_done == NULL || iface->check_done (self, error);
}

gboolean
ow_model_is_recorded (OwModel *self)
{
  OwModelInterface *iface;

  g_return_val_if_fail (OW_IS_MODEL (self), FALSE);

  iface = OW_MODEL_GET_IFACE (self);
  return iface->is_recorded != NULL && iface->is_recorded (self);
}

OwModel *
ow_model_new (const OwModelOptions  *options,
              GError               **error)
{
  const char *name = options->name;
  g_autofree char *shown = NULL;

  g_return_val_if_fail (name != NULL, NULL);

  if (g_str_has_prefix (name, REPLAY_PREFIX) && name[strlen (REPLAY_PREFIX)] != '\0')
    return OW_MODEL (ow_replay_model_new (name + strlen (REPLAY_PREFIX), error));
  shown = ow_text_shorten (name, 64, TRUE);
  ow_error_setf (error, OW_ERROR_USAGE,
                 "Use replay:FILE, where FILE is a recorded conversation (docs/recordings.md).",
                 "There is no model \"%s\"", shown);
  return NULL;
}
