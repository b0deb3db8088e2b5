/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "model/ow-model.h"

/* A model of a server that speaks OpenAI's Chat Completions (docs/models.md). It asks again only
 * for as long as nothing of an answer has come: what was said once is never asked for twice. The
 * key is kept in one place, goes into one header, and is in no message. Final; the thread that
 * made it. */

#define OW_TYPE_OPENAI_MODEL (ow_openai_model_get_type ())
G_DECLARE_FINAL_TYPE (OwOpenaiModel, ow_openai_model, OW, OPENAI_MODEL, GObject)

/* @name: what follows "openai:". */
OwOpenaiModel *ow_openai_model_new (const char *name, const OwModelOptions *options,
                                    GError **error);

/* How long what is waited for may take, in ms. */
typedef struct {
  guint connect;
  guint first_byte;
  guint idle;         /* between bytes of an answer */
  guint chunk;        /* between its chunks, should only comments come */
  guint total;        /* of one answer */
  guint retry_base;   /* the first wait before asking again */
  guint retry_total;  /* from the first asking on: no further one begins later */
  guint max_tries;
} OwOpenaiTiming;

/* For tests, which cannot wait that long. */
void ow_openai_model_set_timing (OwOpenaiModel *self, const OwOpenaiTiming *timing);
