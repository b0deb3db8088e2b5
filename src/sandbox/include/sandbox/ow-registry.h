/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* What a killed run leaves is found by this: one file per sandbox in
 * ~/.local/state/coworker/registry, written before anything else of that sandbox
 * exists, naming its private home, run folder, processes and owner. Whose it is,
 * base/ow-owner.h tells apart. Any thread. */

typedef struct {
  char  *id;        /* (owned) sandbox id */
  char  *session;   /* (owned) */
  char  *provider;  /* (owned) */
  char  *home;      /* (owned) private home */
  char  *run_dir;   /* (owned) */
  char  *image;     /* (owned) (nullable) what it is made from, where there is such a thing */
  char  *gateway;   /* (owned) (nullable) of OpenShell, the name of the one that has it */
  GPid   main_pid;  /* the provider's main process, 0 before it is there */
  guint64 main_start; /* its start time, clock ticks since boot */
} OwRegistryEntry;

/* Writes or replaces the entry, owned by this process. */
gboolean ow_registry_put    (const OwRegistryEntry *entry, GError **error);
void     ow_registry_remove (const char *id);
/* Ends the processes and removes the folders of every entry whose owner is gone; the
 * entry goes last. Never touches one whose owner lives. @reaped (nullable) counts. */
gboolean ow_registry_reap   (guint *reaped, GError **error);

/* One entry, as it is shown to a person. */
typedef struct {
  char    *id;        /* (owned) */
  char    *session;   /* (owned) */
  char    *provider;  /* (owned) "" while it is being planned */
  char    *image;     /* (owned) (nullable) */
  GPid     owner_pid;
  gboolean alive;     /* its owner lives; one that does not is taken away by a reaper */
  gint64   since;     /* seconds since 1970 */
} OwRegistryItem;
void ow_registry_item_free (OwRegistryItem *item);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwRegistryItem, ow_registry_item_free)
/* (transfer full) array of OwRegistryItem, the oldest first: every entry, whoever owns it.
 * Takes no lock, so an entry may go while it is read. */
GPtrArray *ow_registry_list (void);
