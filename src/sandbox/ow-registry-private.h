/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "sandbox/ow-registry.h"

/* What the reaper needs of the registry. */

typedef struct {
  OwRegistryEntry entry;
  GPid            owner_pid;
  guint64         owner_start;
  char           *boot_id;    /* (owned) */
} OwRegistryRecord;

gboolean ow_registry_read         (const char *id, OwRegistryRecord *record);
void     ow_registry_record_clear (OwRegistryRecord *record);
/* (transfer full) set of the ids of all entries and of locks left without one. */
GHashTable *ow_registry_list_ids  (void);
gboolean ow_registry_is_id        (const char *text);
/* ID and @suffix in the registry's folder. (transfer full) */
char    *ow_registry_get_path     (const char *id, const char *suffix);
/* Takes the lock of an entry whose owner does not hold it, made if it is missing. -1 when the
 * owner, which may be ourselves, lives. The caller closes it. */
int      ow_registry_lock_dead    (const char *id);
