/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* The tool calls of one answer, put together from their pieces. A piece belongs to the call of its
 * "index". Servers differ: some leave the index or the id out, some give every call the index 0,
 * some repeat the name or make a new id for every piece, some send arguments as an object. Where
 * a piece could belong to two calls it is added so that the arguments of none parse: then
 * nothing runs, instead of a wrong thing. One owner, one thread. */

/* Most calls that one answer may ask for. */
#define OW_OPENAI_CALLS_MAX 128

/* Most bytes of all arguments of one answer, also as they are written down: with the text
 * it stays below what a frame between engine and face holds. */
#define OW_OPENAI_CALLS_MAX_BYTES (4u * 1024u * 1024u)

typedef struct _OwOpenaiCalls OwOpenaiCalls;

OwOpenaiCalls *ow_openai_calls_new  (void);
void           ow_openai_calls_free (OwOpenaiCalls *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenaiCalls, ow_openai_calls_free)

guint          ow_openai_calls_get_n (const OwOpenaiCalls *self);

/* @pieces: a chunk's "tool_calls". NULL, or why the answer cannot be used, as the second half of
 * a sentence ("a tool call …", static). */
const char    *ow_openai_calls_add   (OwOpenaiCalls *self, const json_t *pieces);

/* New reference: [{"id","name","arguments"}], each with an id of its own and an object of
 * arguments; all of it can be stored and read again. NULL with @fault (static) when one of them
 * is not whole. */
json_t        *ow_openai_calls_make  (OwOpenaiCalls *self, const char **fault);
