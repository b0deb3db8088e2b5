/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-model-settings.h"
#include "model/ow-model.h"

/* From what a face calls a model to a model: its settings, its address, its key. */

typedef struct
{
  OwModel *model;    /* (owned) */
  char    *name;     /* (owned) for the record: "replay:FILE", "openai:NAME" */
  char    *base_url; /* (owned) (nullable) */
} OwEngineModel;

void           ow_engine_model_free        (OwEngineModel       *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEngineModel, ow_engine_model_free)

/* @name (nullable): the machine's default. The keyring is asked where there is an address; the
 * key ends in the model and nowhere else. */
void           ow_engine_model_find_async  (OwConfig            *config,
                                            const char          *name,
                                            const char          *base_url,
                                            GCancellable        *cancellable,
                                            GAsyncReadyCallback  callback,
                                            gpointer             user_data);
OwEngineModel *ow_engine_model_find_finish (GAsyncResult        *result,
                                            GError             **error);
