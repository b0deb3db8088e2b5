/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "model/ow-model.h"
#include "ow-openai-key-private.h"

/* A streamed answer of OpenAI's Chat Completions out of the bytes of its body, with no input or
 * output of its own. Each chunk is read strictly; text is handed on as it comes; tool calls are
 * held until the answer has said why it ends (a finish_reason) and that was its end ([DONE], or
 * the end of a body that is whole). An answer that ends otherwise is cut: its text is kept, its
 * tool calls are not.
 *
 * What the server says is data: bounded, and never part of a sentence of ours but shown as what
 * it said. One owner, one thread. */

typedef struct _OwOpenaiStream OwOpenaiStream;

/* Most bytes of one event, of the text of one answer. */
#define OW_OPENAI_STREAM_MAX_EVENT_BYTES (4u * 1024u * 1024u)
#define OW_OPENAI_STREAM_MAX_TEXT_BYTES (512u * 1024u)

/* @text (nullable) as in ow_model_complete_async(). */
OwOpenaiStream *ow_openai_stream_new  (OwModelTextFunc text, gpointer text_data);
void            ow_openai_stream_free (OwOpenaiStream *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenaiStream, ow_openai_stream_free)
/* @key (nullable) has to stay for as long; no message of the server's shows it then. */
void            ow_openai_stream_set_key (OwOpenaiStream *self, const OwOpenaiKey *key);

/* FALSE: enough, nothing that follows is looked at. */
gboolean        ow_openai_stream_feed (OwOpenaiStream *self, const char *data, gsize length);

/* A text or a piece of a tool call has come: asking anew would repeat it. */
gboolean        ow_openai_stream_has_begun  (const OwOpenaiStream *self);
/* The connection, not what was said on it, is what went wrong if it ends now. */
gboolean        ow_openai_stream_is_waiting (const OwOpenaiStream *self);
/* Chunks so far, for who watches that the answer goes on. */
guint64         ow_openai_stream_get_n_chunks (const OwOpenaiStream *self);

/* The body is at its end: @cause (nullable) says what ended it early. A turn, or NULL with
 * @error when it ended badly before anything of it came. To be called once. */
OwModelTurn    *ow_openai_stream_end (OwOpenaiStream *self, const GError *cause, GError **error);

/* What a server @said, made safe to show and short, without @key (nullable); NULL when it is
 * blank. (transfer full) */
char           *ow_openai_stream_show         (const char *said, const OwOpenaiKey *key);
/* What a server says in an error of @json (an answer's or an event's), shown likewise; NULL when
 * there is nothing that is known. (transfer full) */
char           *ow_openai_stream_find_message (const json_t *json, const OwOpenaiKey *key);
