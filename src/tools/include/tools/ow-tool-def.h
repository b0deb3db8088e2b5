/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* The tools an agent has. The definitions are ours: what a runner or server lists is
 * not believed. Static data; any thread. */

typedef struct {
  const char *name;
  const char *description;  /* what the model reads */
  const char *schema;       /* JSON Schema of the arguments, as text */
  gboolean    read_only;    /* changes nothing: recorded, but synced once a turn */
  gboolean    for_model;    /* offered to the model; no call of a model's has another one */
} OwToolDef;

/* shell, list, read, write, edit, grep, glob, task_start, task_read, task_wait, task_stop,
 * task_list, exec, undo, changes. */
const OwToolDef *ow_tool_def_lookup (const char *name); /* NULL: no such tool */
const OwToolDef *ow_tool_def_list   (guint *n);

/* New reference: what a model is offered, an array of {"name","description","schema"}. */
json_t *ow_tool_def_for_model (void);

/* Checks @arguments against the tool's schema: an object, required members there, no
 * member that the schema does not know, types and sizes right. FALSE with a sentence
 * that the model can act on. */
gboolean ow_tool_def_check (const OwToolDef *def, const json_t *arguments, GError **error);
