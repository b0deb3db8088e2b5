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

  /* (owned) texts: a JSON array of tool calls, the last words, or a JSON object with any of
   * "text", "tool_calls", "finish", "cut", "usage", "stream" (pieces of text, told before
   * anything else) and "error" (in place of an answer). */
  GPtrArray *turns;
  guint      next;
  gboolean   hangs;      /* answers only when cancelled, after the pieces of "stream" */
  gboolean   recorded;
  /* (nullable) called when asked, after the pieces. */
  void     (*on_asked)   (ScriptModel *self, gpointer data);
  gpointer   asked_data;
  gboolean   asked;
  json_t    *history;    /* (owned) (nullable) of the last request */
};

ScriptModel *script_model_new (const char *first, ...) G_GNUC_NULL_TERMINATED;
