/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* The keys of models: in the Secret Service (the only user of libsecret), each bound to the
 * address it is for, else from OPENWORKER_API_KEY. The thread of the engine; nothing waits
 * longer than 5 s for a keyring, and a keyring that is locked, absent or silent is a state,
 * not an error of the program: nothing is ever prompted for here. */

typedef enum {
  OW_KEY_NONE,         /* the keyring answered and has none */
  OW_KEY_KEYRING,
  OW_KEY_ENVIRONMENT,
  OW_KEY_LOCKED,
  OW_KEY_ABSENT,       /* no Secret Service on the session bus, or no bus */
  OW_KEY_SILENT,       /* it did not answer in time */
} OwKeyState;

const char *ow_key_state_to_string (OwKeyState state);
/* One sentence for a person, and what to do; for NONE and the found ones too. Static. */
const char *ow_key_state_describe  (OwKeyState state);

/* To be called first in main(), before any thread: takes OPENWORKER_API_KEY out of the
 * environment, and its bytes out of what /proc shows of it. */
void        ow_keys_take_environment (void);

/* Whether @key can be one: at most 8,192 printable ASCII characters and no space. FALSE with a
 * sentence (OW_ERROR_USAGE) that does not hold it. */
gboolean    ow_keys_check             (const char *key, GError **error);
/* FALSE with a sentence when what OPENWORKER_API_KEY held was none, and so is not used. */
gboolean    ow_keys_check_environment (GError **error);

/* The key for @base_url: the keyring's, else the environment's. @state says where it is from,
 * or why there is none from the keyring. (transfer full) (nullable) to be freed by
 * ow_keys_free(). NULL with @error only when cancelled. */
void        ow_keys_lookup_async   (const char *base_url, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
char       *ow_keys_lookup_finish  (GAsyncResult *result, OwKeyState *state, GError **error);
/* Stores (or with NULL removes) the key of @base_url. @label: what a keyring's own program shows.
 * A keyring that cannot be used is OW_ERROR_REFUSED with its sentence. */
void        ow_keys_store_async    (const char *base_url, const char *label, const char *key,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean    ow_keys_store_finish   (GAsyncResult *result, GError **error);
/* Wipes and frees. */
void        ow_keys_free           (char *key);
