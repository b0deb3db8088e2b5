/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "wire/ow-json.h"

/* The body of a request for a streamed answer, out of a history and tools as ow-model.h has
 * them. Whatever the history holds, what comes out is a conversation that a strict server takes:
 * every tool call has arguments that parse, a name that may stand there and, right behind it, one
 * result of its id; a result that no call asked for, and a message without anything in it, are
 * left out. Of the messages that nobody said ("system") the first stands at the beginning; later
 * ones are told as the user's, as the templates of many local models take none elsewhere, and
 * messages of the user that follow each other are told as one.
 *
 * @ask_usage: also ask what the answer takes of tokens, which some servers refuse.
 * (transfer full) */
GBytes *ow_openai_request_make (const char *model, const json_t *history, const json_t *tools,
                                gboolean ask_usage);
