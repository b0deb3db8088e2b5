/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A model's key as it goes out, in pages of its own (base/ow-secret.h). One owner. */

typedef struct _OwOpenaiKey OwOpenaiKey;

/* NULL with OW_ERROR_USAGE for what cannot be a key. No message holds any of it. */
OwOpenaiKey *ow_openai_key_new  (const char *key, GError **error);
void         ow_openai_key_free (OwOpenaiKey *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenaiKey, ow_openai_key_free)

/* "Bearer KEY", the value of the header. */
const char  *ow_openai_key_get_header (const OwOpenaiKey *self);

/* @text with the key taken out, should somebody have said it back. @self: (nullable);
 * (transfer full) */
char        *ow_openai_key_take_out   (const OwOpenaiKey *self, const char *text);
