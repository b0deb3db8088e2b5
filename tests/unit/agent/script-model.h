/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "model/ow-model.h"

/* A model that says what a test tells it to, turn by turn, and keeps what it was
 * given. */

#define SCRIPT_TYPE_MODEL (script_model_get_type ())
G_DECLARE_FINAL_TYPE (ScriptModel, script_model, SCRIPT, MODEL, GObject)

struct _ScriptModel {
  GObject parent_instance;

  GPtrArray *turns;      /* (owned) texts: a JSON array of tool calls, or the last words */
  guint      next;
  gboolean   hangs;      /* answers only when cancelled */
  gboolean   asked;
  json_t    *history;    /* (owned) (nullable) of the last request */
};

ScriptModel *script_model_new (const char *first, ...) G_GNUC_NULL_TERMINATED;
