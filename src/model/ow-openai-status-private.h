/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "base/ow-http.h"
#include "ow-openai-key-private.h"

/* What an answer that is not 2xx means, and what to do about it. */

/* Sets @error: refused (OW_ERROR_REFUSED) where a key is missing or not taken, else that it did
 * not work. @message (nullable) is what the server says, safe to show. @tries: how often it was
 * asked. */
void     ow_openai_status_set_error (GError **error, const OwHttpAnswer *answer,
                                     const char *message, const char *model, const char *base_url,
                                     gboolean has_key, guint tries);

/* What the server says in @answer, safe to show and short, without @key (nullable); NULL: nothing
 * that can be shown. (transfer full) */
char    *ow_openai_status_find_message (const OwHttpAnswer *answer, const OwOpenaiKey *key);

/* There is no credit left: asking again changes nothing. */
gboolean ow_openai_status_is_final     (const OwHttpAnswer *answer);
/* The server does not know the wish to be told about tokens. */
gboolean ow_openai_status_is_usage     (const OwHttpAnswer *answer);
