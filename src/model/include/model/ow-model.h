/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "wire/ow-json.h"

/* A model that answers a conversation. History is neutral JSON, an array of
 *   {"role":"system"|"user","text":…}
 *   {"role":"assistant","text":…,"tool_calls":[{"id","name","arguments"}]}
 *   {"role":"tool","id":…,"name":…,"text":…}
 * The thread of the engine. A turn that was cut never carries a tool call. */

#define OW_TYPE_MODEL (ow_model_get_type ())
G_DECLARE_INTERFACE (OwModel, ow_model, OW, MODEL, GObject)

typedef struct {
  char   *text;        /* (owned) may be empty */
  json_t *tool_calls;  /* (owned) array of {"id","name","arguments"}; empty: the turn is done */
  char   *finish;      /* (owned) "stop", "tool_calls", "length", …; "cut" */
  char   *cut;         /* (owned) (nullable) why the answer is not whole, as a sentence */
  json_t *usage;       /* (owned) (nullable) {"input_tokens","output_tokens"} */
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
  gboolean     (*is_recorded)     (OwModel *self); /* (nullable) */
};
/* @tools: array of {"name","description","schema"}. @text (nullable) gets pieces as
 * they come. An answer that began and did not end well is a turn with "cut" set, what came of its
 * text and no tool call; an error is for one of which nothing came. */
void         ow_model_complete_async  (OwModel *self, const json_t *history, const json_t *tools,
                                       OwModelTextFunc text, gpointer text_data,
                                       GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data);
OwModelTurn *ow_model_complete_finish (OwModel *self, GAsyncResult *result, GError **error);

/* Asked when the session's task is done: FALSE when the model had more to say, which
 * only a recorded one can have. */
gboolean     ow_model_check_done      (OwModel *self, GError **error);
/* TRUE: its words are written down beforehand, so that nothing it is told changes them. */
gboolean     ow_model_is_recorded     (OwModel *self);

/* What it takes to reach a model; strings are borrowed and copied. */
typedef struct {
  const char *name;      /* "replay:FILE", "openai:NAME" */
  const char *base_url;  /* (nullable) of "openai:"; NULL: OpenAI's own */
  const char *key;       /* (nullable) never shown, logged or passed on; wiped when it goes */
  const char *ca_file;   /* (nullable) as in ow_http_new() */
  const char *proxy;     /* (nullable) likewise */
} OwModelOptions;

/* Anything else than the two names is a usage error that says what there is; a key for a plain
 * http address that is not a loopback one is refused (OW_ERROR_REFUSED). */
OwModel     *ow_model_new             (const OwModelOptions *options, GError **error);
/* The address that @name and @base_url mean, without a slash at its end; NULL for a recording
 * and for what is no address (with @error). (transfer full) */
char        *ow_model_find_base_url   (const char *name, const char *base_url, GError **error);
