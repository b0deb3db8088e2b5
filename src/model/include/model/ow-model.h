/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "wire/ow-json.h"

/* A model that answers a conversation. History is neutral JSON, an array of
 *   {"role":"system"|"user","text":…}
 *   {"role":"assistant","text":…,"tool_calls":[{"id","name","arguments"}]}
 *   {"role":"tool","id":…,"name":…,"text":…}
 * Main thread. A turn that was cut never carries a tool call. */

#define OW_TYPE_MODEL (ow_model_get_type ())
G_DECLARE_INTERFACE (OwModel, ow_model, OW, MODEL, GObject)

typedef struct {
  char   *text;        /* (owned) may be empty */
  json_t *tool_calls;  /* (owned) array of {"id","name","arguments"}; empty: the turn is done */
  char   *finish;      /* (owned) "stop", "tool_calls", … */
} OwModelTurn;

void ow_model_turn_free (OwModelTurn *turn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwModelTurn, ow_model_turn_free)

typedef void (*OwModelTextFunc) (const char *text, gpointer user_data);

struct _OwModelInterface {
  GTypeInterface parent_iface;
  void         (*complete_async)  (OwModel *self, const json_t *history, const json_t *tools,
                                   OwModelTextFunc text, gpointer text_data,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
  OwModelTurn *(*complete_finish) (OwModel *self, GAsyncResult *result, GError **error);
  gboolean     (*check_done)      (OwModel *self, GError **error); /* (nullable) */
};
/* @tools: array of {"name","description","schema"}. @text (nullable) gets pieces as
 * they come. */
void         ow_model_complete_async  (OwModel *self, const json_t *history, const json_t *tools,
                                       OwModelTextFunc text, gpointer text_data,
                                       GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
OwModelTurn *ow_model_complete_finish (OwModel *self, GAsyncResult *result, GError **error);

/* Asked when the session's task is done: FALSE when the model had more to say, which
 * only a recorded one can have. */
gboolean     ow_model_check_done      (OwModel *self, GError **error);

/* "replay:FILE"; anything else is a usage error that names what there is. */
OwModel     *ow_model_for_name        (const char *name, GError **error);
