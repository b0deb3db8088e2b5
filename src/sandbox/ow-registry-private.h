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
  gboolean        abandoned;  /* its owner has left it to a reaper */
} OwRegistryRecord;

gboolean ow_registry_read         (const char *id, OwRegistryRecord *record);
void     ow_registry_record_clear (OwRegistryRecord *record);
/* (transfer full) set of the ids of all entries, of locks and of half written ones. */
GHashTable *ow_registry_list_ids  (void);
/* Removes what was being written of the entry @id; its lock is held. */
void     ow_registry_remove_unwritten (const char *id);
gboolean ow_registry_is_id        (const char *text);
/* ID and @suffix in the registry's folder. (transfer full) */
char    *ow_registry_get_path     (const char *id, const char *suffix);
/* Puts @entry where fewer than @max others of its provider have a living owner, counted under one
 * lock for all processes of this account; else OW_ERROR_REFUSED. */
gboolean ow_registry_reserve      (const OwRegistryEntry *entry, guint max, GError **error);
/* What of the sandbox is left is a reaper's from now on, also one of this process. */
void     ow_registry_abandon      (const char *id);
/* TRUE: nothing that lives has it, so what it names may be removed. */
gboolean ow_registry_is_dead      (const OwRegistryRecord *record);
/* Ends the processes of a dead entry, removes its folders, and then the entry itself. */
gboolean ow_registry_remove_dead  (const OwRegistryRecord *record, GError **error);
/* Takes the lock of an entry whose owner does not hold it, made if it is missing. -1 when the
 * owner, which may be ourselves, lives. The caller closes it. */
int      ow_registry_lock_dead    (const char *id);
