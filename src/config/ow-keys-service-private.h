/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-keys.h"

G_BEGIN_DECLS

/* The Secret Service of the session, over a connection of its own: nothing of it outlives
 * the call, so that a keyring or bus that was restarted is found again, and the end of the
 * bus is not the end of the program. The thread-default context of the caller. */

typedef struct {
  OwKeyState  state;
  char       *key;  /* (owned) (nullable) */
} OwKeysFound;

void         ow_keys_found_free             (OwKeysFound          *found);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwKeysFound, ow_keys_found_free)

/* What is done for one address; ends in at most @ms. NULL with @error only when cancelled;
 * otherwise the state is KEYRING (found, stored, removed), NONE, LOCKED, ABSENT or SILENT. */
void       ow_keys_service_lookup_async   (const char           *address,
                                           guint                 ms,
                                           GCancellable         *cancellable,
                                           GAsyncReadyCallback   callback,
                                           gpointer              user_data);
OwKeysFound *ow_keys_service_lookup_finish (GAsyncResult         *result,
                                            GError              **error);

/* With @key NULL it removes; that there was none is success. */
void       ow_keys_service_store_async    (const char           *address,
                                           const char           *label,
                                           const char           *key,
                                           guint                 ms,
                                           GCancellable         *cancellable,
                                           GAsyncReadyCallback   callback,
                                           gpointer              user_data);
gboolean   ow_keys_service_store_finish   (GAsyncResult         *result,
                                           OwKeyState           *state,
                                           GError              **error);

G_END_DECLS
